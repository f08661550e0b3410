"""What a TiDB does in the background: DDL and ANALYZE jobs, begun and ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchlab.engines.database import BackgroundJobs
from benchlab.engines.tidb import Engine
from benchlab.errors import UnavailableError
from tests.builders import fakes
from tests.builders.summaries import INSTANCE


class Asked(Engine):
    """A server that answers with what is found, and how many are at work."""

    answers: tuple[tuple[str, str], ...] = ()
    sent: tuple[str, ...] = ()

    def sql(self, statement: str, **options: Any) -> list[list[str]]:
        """See :class:`benchlab.engines.database.Database`."""
        self.sent += (statement,)
        return [list(answer) for answer in self.answers]


def asked(version: str, *answers: tuple[str, str]) -> Asked:
    """A server of this version."""
    instance = replace(INSTANCE, version=version, database="sbtest")
    made = Asked(fakes.FakeExecutor(), instance, Path("/servers"))
    made.answers = answers
    return made


@pytest.mark.parametrize(
    ("ddl", "analyze", "found"),
    [
        (("40", "0"), ("16", "0"), BackgroundJobs(56, 56)),
        (("40", "1"), ("16", "2"), BackgroundJobs(56, 53)),
        (("0", "0"), ("0", "0"), BackgroundJobs(0, 0)),
    ],
)
def test_ddl_and_analyze_jobs_are_counted_together(
    ddl: tuple[str, str], analyze: tuple[str, str], found: BackgroundJobs
) -> None:
    """In one question; those at work have begun and not ended."""
    server = asked("v6.5.0", ddl, analyze)
    assert server.background_jobs() == found
    (statement,) = server.sent
    assert "information_schema.ddl_jobs" in statement
    assert "mysql.analyze_jobs" in statement


@pytest.mark.parametrize("version", ["v5.2.0", "v6.0.0", "v2.1.0-rc.2"])
def test_an_older_version_is_not_asked(version: str) -> None:
    """Its servers remember some of their own ANALYZE jobs, and cannot say that there was none."""
    server = asked(version)
    assert server.background_jobs() is None
    assert server.sent == ()


VERSION = (
    "Release Version: v9.0.0-beta.2.pre-1122-g5da5f2a\\nEdition: Community\\n"
    "Git Commit Hash: 5da5f2a4fd8e8a6235fc452b2c211b437cbec86a\\nGit Branch: HEAD\\n"
    "UTC Build Time: 2026-01-26 16:06:02\\nGoVersion: go1.25.6\\nRace Enabled: false"
)


def test_a_server_says_how_it_was_built() -> None:
    """As the client prints `tidb_version()`, whose line feeds it escapes."""
    server = asked("v6.5.0", (VERSION, ""))
    assert server.git_hash() == "5da5f2a4fd8e8a6235fc452b2c211b437cbec86a"
    assert server.about() == {
        "Edition": "Community",
        "Git Branch": "HEAD",
        "UTC Build Time": "2026-01-26 16:06:02",
    }


def test_a_build_runs_in_place_of_its_versions_server(tmp_path: Path) -> None:
    """And a kept build that was deleted is named, before a campaign's server is started."""
    server = asked("v6.5.0")
    server.instance = replace(server.instance, build=tmp_path)
    with pytest.raises(UnavailableError, match="the binary is gone"):
        server.server_command()
    (tmp_path / "tidb-server").write_text("")
    assert server.server_command()[0][0] == str(tmp_path / "tidb-server")
