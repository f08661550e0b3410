"""A Connection is read as Airflow reads it, and what is said of a faulty one has no secret."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.server_login import Tls, from_text


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=1000))
def test_any_password_is_read_from_a_uri(password: str) -> None:
    """Percent-encoded as Airflow asks for; it is in no repr."""
    found = from_text("db", f"mysql://be%40nch:{quote(password, safe='')}@db.example.com:4000/x")
    assert found.password == password
    assert (found.user, found.host, found.port) == ("be@nch", "db.example.com", 4000)
    assert found.tls is None
    assert "password" not in repr(found)


def test_json_and_a_uri_say_the_same(tmp_path: Path) -> None:
    """With TLS in the extra fields of Airflow's MySQL provider."""
    (ca := tmp_path / "ca.pem").touch()
    fields = {
        "conn_type": "mysql",
        "host": "db",
        "login": "u",
        "password": "p",
        "extra": {"ssl_mode": "verify_identity", "ssl": {"ca": str(ca)}},
    }
    query = f"ssl_mode=VERIFY_IDENTITY&ssl={quote(json.dumps({'ca': str(ca)}))}"
    from_json = from_text("db", json.dumps(fields))
    assert from_json == from_text("db", f"mysql://u:p@db?{query}")
    assert from_json.tls == Tls(ca)
    assert from_json.port == 3306
    assert from_text("db", "mysql://u:p@db?ssl_mode=REQUIRED").tls == Tls()


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("hunter2", "AIRFLOW_CONN_DB is neither a URI nor JSON"),
        ("{hunter2", "AIRFLOW_CONN_DB is neither a URI nor JSON"),
        ("mysql://u:hunter2@", "host: missing"),
        ("mysql://db", "login: missing"),
        ("mysql://u%0Atee=x:hunter2@db", "login: has a line break or another control character"),
        ("mysql://u:hunter2%0D%0Aplugin-dir=x@db", "password: has a line break or another"),
        ("mysql://u:hunter2%1Bx@db", "password: has a line break or another"),
        ("mysql://u:hunter2@d%0Ab", "host: has a line break"),
        (f"mysql://u:hunter2{'x' * 4096}@db", "password: is longer than 1,000 characters"),
        ("mysql://u:hunter2@db:port", "port: not a number from 1 to 65535"),
        ("mysql://u:hunter2@db:" + "1" * 5000, "port: not a number from 1 to 65535"),
        ("mysql://u:hunter2@d%3Bb", "host: not a host name or an address"),
        ("mysql://u:hunter2@db?ssl_mode=PREFERRED", "write DISABLED, REQUIRED or VERIFY_IDENTITY"),
        ("mysql://u:hunter2@db?ssl_mode=VERIFY_IDENTITY", "extra.ssl.ca: missing"),
        ('mysql://u:hunter2@db?ssl={"ca":"/nowhere.pem"}', "there is no file /nowhere.pem"),
        ('mysql://u:hunter2@db?ssl={"key":"/k"}', "extra.ssl.key: sysbench cannot log in with"),
    ],
)
def test_a_faulty_connection_is_refused_by_its_field(text: str, refused: str) -> None:
    """The message names Connection and field, and quotes no password."""
    with pytest.raises(TargetError) as error:
        from_text("db", text)
    assert str(error.value).startswith("connection db: ")
    assert refused in str(error.value)
    assert "hunter2" not in str(error.value)


def test_a_missing_connection_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the command line and for Airflow."""
    monkeypatch.delenv("AIRFLOW_CONN_MY_TIDB", raising=False)
    with pytest.raises(TargetError, match=r"my_tidb: there is none.*AIRFLOW_CONN_MY_TIDB=mysql://"):
        Access().server("my_tidb")
    monkeypatch.setenv("AIRFLOW_CONN_MY_TIDB", "mysql://u:p@localhost:4000")
    assert Access().server("my_tidb").host == "127.0.0.1", "not a socket file"
