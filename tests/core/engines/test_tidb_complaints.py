"""Where a side does not start, the server that is to blame is quoted, whoever was waited for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.engines.tidb import complaints

GOLDEN = Path(__file__).parents[2] / "golden" / "tiup"
# TiKV v9.0.0-beta.2 on a disk without its reserve, and the TiDB that did not start on it.
FULL = (GOLDEN / "tikv_disk_full.log").read_text().splitlines()
WAITED = (GOLDEN / "tidb_on_full_tikv.log").read_text().splitlines()
PASSWORD = "hunter2-hunter2"


def test_a_full_disk_of_tikv_is_blamed_and_not_the_tidb_that_waited_for_it() -> None:
    """Though only TiDB has a line of level ERROR, on a cgroup that does not matter."""
    found = complaints.culprit({"tikv on kv-1": FULL, "pd on pd-1": [], "tidb on db-1": WAITED})
    assert found is not None
    server, lines = found
    assert server == "tikv on kv-1"
    assert len(lines) == 2
    assert "no enough disk space left" in lines[0]
    assert "disk usage Normal->AlreadyFull" in lines[1]


@pytest.mark.parametrize(
    ("lines", "blamed"),
    [
        (['[FATAL] [server.rs:1] ["failed to start node"]'], "tidb on db-1"),
        (['[WARN] [x.rs:1] ["Too many open files"]'], "tidb on db-1"),
        (['[WARN] [x.rs:1] ["slow"]'], "tikv on kv-1"),
        ([], "tikv on kv-1"),
    ],
)
def test_the_worst_line_of_all_servers_decides(lines: list[str], blamed: str) -> None:
    """A known cause before FATAL, that before ERROR and WARN; of two alike TiKV's."""
    found = complaints.culprit({"tikv on kv-1": ["[ERROR] [y.rs:1]"], "tidb on db-1": lines})
    assert found is not None
    assert found[0] == blamed


def test_what_all_servers_wrote_is_kept_without_secrets(tmp_path: Path) -> None:
    """Each under its name; neither the campaign's password nor one in an address is in it."""
    line = f"[ERROR] [\"IDENTIFIED BY '{PASSWORD}' at mysql://bench:another-one@10.0.0.1\"]"
    place = tmp_path / "server-logs" / "baseline.log"
    said = complaints.told_of({"tikv on kv-1": [], "tidb on db-1": [line]}, {}, place, [PASSWORD])
    kept = place.read_text()
    assert kept.startswith("== tikv on kv-1\n== tidb on db-1\n[ERROR]")
    for text in (said, kept):
        assert PASSWORD not in text
        assert "another-one" not in text
        assert "IDENTIFIED BY '(redacted)' at mysql://bench:(redacted)@10.0.0.1" in text
    assert said.endswith(f"the last warnings and errors of all servers are in {place}")


def test_a_host_that_cannot_be_read_is_named_and_not_blamed(tmp_path: Path) -> None:
    """Why it cannot is no line of a log, whatever words are in it."""
    place, unread = tmp_path / "a.log", {"tikv on kv-1": "permission denied"}
    said = complaints.told_of({"tidb on db-1": ["[WARN] slow"]}, unread, place, [])
    assert said.startswith(
        "tidb on db-1 wrote:\n[WARN] slow\ntikv on kv-1 could not be read: permission denied\n"
    )
    assert place.read_text().endswith(
        "[WARN] slow\n== tikv on kv-1 (not read: permission denied)\n"
    )


@pytest.mark.parametrize(
    ("unread", "said"),
    [
        ({}, "no server wrote a warning or an error"),
        (
            {"tikv on kv-1": "silent"},
            (
                "no server that could be read wrote a warning or an error\n"
                "tikv on kv-1 could not be read: silent"
            ),
        ),
    ],
)
def test_where_no_server_complained_no_file_is_said_to_have_it(
    unread: dict[str, str], said: str, tmp_path: Path
) -> None:
    """Only that none did, and of whom it is not known."""
    assert complaints.told_of({"tidb on db-1": []}, unread, tmp_path / "a.log", []) == said
    assert [*tmp_path.iterdir()] == []


def test_that_nothing_could_be_kept_hides_no_error(tmp_path: Path) -> None:
    """What failed before is what matters."""
    (tmp_path / "file").write_text("")
    said = complaints.told_of({"tikv on kv-1": FULL}, {}, tmp_path / "file" / "a.log", [])
    assert "AlreadyFull" in said
    assert "could not be kept: " in said
