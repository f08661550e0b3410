"""A restored data directory is the snapshot, to the byte and to the file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchlab.errors import CommandError
from benchlab.hosts import snapshot
from benchlab.hosts.executor import LocalExecutor


@pytest.fixture
def executor(tmp_path: Path) -> LocalExecutor:
    """This machine."""
    return LocalExecutor(tmp_path, "test-snapshot")


def look(root: Path) -> dict[str, tuple[object, ...]]:
    """Everything that makes up a directory: names, kinds, contents, modes, times."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        content = (
            str(path.readlink())
            if path.is_symlink()
            else path.read_bytes()
            if path.is_file()
            else None
        )
        times = None if path.is_dir() or path.is_symlink() else info.st_mtime_ns
        found[str(path.relative_to(root))] = (info.st_mode, content, times)
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with the kinds of files that databases have."""
    root = tmp_path / "data"
    (root / "sb test" / "deep").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o700)
    (root / "ibdata1").write_bytes(os.urandom(300_000))
    (root / "sb test" / "sbtest1.ibd").write_bytes(bytes(200_000))
    (root / "sb test" / "deep" / "ünï'$x").write_text("x")
    (root / ".hidden").write_text("")
    (root / "link").symlink_to("ibdata1")
    (root / "ibdata1").chmod(0o640)
    return root


def test_a_restore_makes_equal_whatever_a_trial_did(
    executor: LocalExecutor, data: Path, tmp_path: Path
) -> None:
    """Changed in place, grown, cut, deleted, added, replaced by a directory: all is undone."""
    kept = tmp_path / "snapshot"
    snapshot.copy(executor, data, kept)
    before = look(kept)
    assert before == look(data)
    with (data / "ibdata1").open("r+b") as file:  # same size, other content
        file.seek(1000)
        file.write(b"changed")
    with (data / "sb test" / "sbtest1.ibd").open("ab") as file:
        file.write(b"grown")
    (data / "sb test" / "deep" / "ünï'$x").unlink()
    (data / ".hidden").unlink()
    (data / ".hidden").mkdir()
    (data / ".hidden" / "inside").write_text("x")
    (data / "new" / "dir").mkdir(parents=True)
    (data / "new" / "dir" / "undo001").write_bytes(bytes(1000))
    (data / "link").unlink()
    (data / "empty").rmdir()
    assert look(kept) == before, "the snapshot must not change with the data"
    snapshot.copy(executor, kept, data)
    assert look(data) == before
    assert look(kept) == before


def test_a_lost_data_directory_is_restored_as_a_whole(
    executor: LocalExecutor, data: Path, tmp_path: Path
) -> None:
    """The destination need not exist."""
    kept = tmp_path / "snapshot"
    snapshot.copy(executor, data, kept)
    executor.run(["rm", "-rf", str(data)])
    snapshot.copy(executor, kept, data)
    assert look(data) == look(kept)


def test_nothing_is_left_beside_the_copies(
    executor: LocalExecutor, data: Path, tmp_path: Path
) -> None:
    """The probe of the file system leaves no file behind."""
    snapshot.copy(executor, data, tmp_path / "snapshot")
    assert {path.name for path in tmp_path.iterdir()} == {"data", "snapshot"}


def test_a_copy_that_fails_is_an_error(executor: LocalExecutor, tmp_path: Path) -> None:
    """A missing snapshot never passes for a restore."""
    with pytest.raises(CommandError, match="nothing"):
        snapshot.copy(executor, tmp_path / "nothing", tmp_path / "data")
