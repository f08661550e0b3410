"""How a host's login is read on the command line, and refused where something is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.ssh_login import from_text

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlbv0QUGMJSz0nYHlDJ8cWJ7gMFEnmiqXWmDwFCWKzS"


def test_a_connection_is_read_as_airflow_writes_it(tmp_path: Path) -> None:
    """As a URI, with extra fields as its query; the comment of a host key is left out."""
    (file := tmp_path / "key").write_text("secret")
    text = f"ssh://bench@10.0.0.7:2222?key_file={file}&host_key={HOST_KEY.replace(' ', '+')}+root"
    login = from_text("loader", text)
    assert (login.host, login.port, login.user) == ("10.0.0.7", 2222, "bench")
    assert (login.key, login.host_key) == ("secret", HOST_KEY)
    assert "secret" not in repr(login)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mysql://bench@10.0.0.7", "its type is mysql"),
        ("ssh://10.0.0.7", "login: missing"),
        ("ssh://bench@10.0.0.7:0x", "port: not a number"),
        ("ssh://bench@10.0.0.7?private_key=a", "extra.host_key: missing"),
        ("ssh://bench@10.0.0.7?private_key=a&host_key=AAAA", "extra.host_key: missing, or without"),
        (f"ssh://bench@10.0.0.7?host_key={HOST_KEY}", "has neither `private_key` nor `key_file`"),
        (f"ssh://bench@10.0.0.7?key_file=/no&host_key={HOST_KEY}", "its key_file /no: cannot"),
        ("{", "AIRFLOW_CONN_LOADER is neither a URI nor JSON"),
    ],
)
def test_what_is_missing_is_named(text: str, why: str) -> None:
    """A host key above all: it is never learned from the first connection."""
    with pytest.raises(TargetError, match="connection loader: ") as refused:
        from_text("loader", text)
    assert why in str(refused.value)


def test_without_the_variable_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Owned hosts are reached with its key as well, before the file of BENCHLAB_SSH_KEY."""
    with pytest.raises(TargetError, match="AIRFLOW_CONN_LOADER"):
        Access().ssh("loader")
    uri = f"ssh://bench@10.0.0.7?private_key=mine&host_key={HOST_KEY}"
    monkeypatch.setenv("AIRFLOW_CONN_LOADER", uri)
    assert Access().ssh_key("loader") == "mine"
