"""What a TiDB does in the background: DDL and ANALYZE jobs, those at work told from the others."""

from __future__ import annotations

import pytest

from benchlab.engines.database import BackgroundJobs
from benchlab.engines.tidb import jobs


def answering(ddl: tuple[str, str], analyze: tuple[str, str]) -> list[str]:
    """Statements that were asked; the answers are what is found, and how many are at work."""
    asked: list[str] = []

    def sql(statement: str) -> list[list[str]]:
        asked.append(statement)
        return [list(ddl), list(analyze)]

    found = jobs.counted(sql, "v6.5.0")
    return [*asked, repr(found)]


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
    statement, said = answering(ddl, analyze)
    assert said == repr(found)
    assert "information_schema.ddl_jobs" in statement
    assert "mysql.analyze_jobs" in statement


@pytest.mark.parametrize("version", ["v5.2.0", "v6.0.0", "v2.1.0-rc.2"])
def test_an_older_version_is_not_asked(version: str) -> None:
    """Its servers remember some of their own ANALYZE jobs, and cannot say that there was none."""

    def refuse(statement: str) -> list[list[str]]:
        raise AssertionError(statement)

    assert jobs.counted(refuse, version) is None
