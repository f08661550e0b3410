"""A file that a person names can be anything: none fills the memory or blocks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab import bounded
from benchlab.bounded import read_bytes, read_text
from benchlab.errors import SpecError, TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.ssh_login import key_of
from benchlab.plan.documents import read_csv


def ssh_key(path: Path) -> str:
    """The key of the command line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCHLAB_SSH_KEY", str(path))
        return Access().ssh_key("tikv-1")


def key_file(path: Path) -> str:
    """The key that a Connection names."""
    return key_of("loader", {"key_file": str(path)})


READERS = [read_bytes, read_text, read_csv, ssh_key, key_file]


@pytest.mark.parametrize("read", READERS)
def test_what_does_not_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    """Before it has filled the memory, or while nobody writes to it."""
    monkeypatch.setattr(bounded, "MOST_BYTES", 1 << 20)
    with pytest.raises((SpecError, TargetError), match=r"/dev/zero.*: it is larger than 1 MB"):
        read(Path("/dev/zero"))
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises((SpecError, TargetError), match=f"{pipe}.*: it is a pipe; name a file"):
        read(pipe)


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_text_or_not_there_is_named(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    """Each with its reason."""
    with pytest.raises((SpecError, TargetError), match=f"{tmp_path}/none.*: it does not exist"):
        read(tmp_path / "none")
    (binary := tmp_path / "binary").write_bytes(b"\xff\xfe")
    if read is not read_bytes:
        with pytest.raises((SpecError, TargetError), match=f"{binary}.*: it is not a text"):
            read(binary)


def test_a_pipe_of_the_shell_is_read() -> None:
    """As in `benchlab validate <(generate)`."""
    with subprocess.Popen(["echo", "rounds: 2"], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert read_text(Path(f"/dev/fd/{writer.stdout.fileno()}")) == "rounds: 2\n"
