"""A store of 1,000 campaigns with 300,000 trials: how long the site's pages and commands take."""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from benchlab.home import Home
from benchlab.language import english
from benchlab.results.store import Store, open_store
from benchlab.site import (
    campaign,
    campaigns,
    findings,
    history,
    overview,
    side_by_side,
    two_versions,
)
from benchlab.site.campaigns import Filter
from benchlab.site.page import Page, Site, render
from tests import postgresql
from tools.bench import big_store
from tools.bench.row import Row, ratio

CAMPAIGNS, FEWER, TIMES = 1000, 10, 5
WORKLOAD = big_store.SLOWER_WORKLOAD
# Seconds in which the server makes a page as HTML, in a process that has been asked before.
PAGES = {"list": 0.2, "overview": 0.3, "findings": 0.3, "campaign": 0.3, "history": 0.5}
PAGES |= {"compare": 0.6, "versions": 1.0}
# CPU seconds of a command beside those of its import, and what it may have in memory.
COMMANDS = {"campaigns": 0.5, "compare": 1.0, "history": 2.0}
TARGET_GB, SIZE_GB = 0.3, 0.6
_IMPORTS = "import benchlab.cli.{0}, {1}, numpy, scipy.special"
# What SQLAlchemy imports when it opens such a store.
_DRIVERS = {
    "SQLite": "sqlalchemy.dialects.sqlite",
    "PostgreSQL": "sqlalchemy.dialects.postgresql.psycopg2, psycopg2",
}

_BYTES = {
    "SQLite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "PostgreSQL": "SELECT pg_database_size(current_database())",
}


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """SQLite always, and PostgreSQL where its server is installed."""
    count = 50 if quick else CAMPAIGNS
    rows = []
    for kind, url in _databases(work):
        if url is None:
            rows.append(Row.not_measured(f"store on {kind}", "its server is not installed"))
            continue
        with url as found:
            rows += _measure(home, work / "store", kind, found, count)
    return rows


def _databases(work: Path) -> Iterator[tuple[str, contextlib.AbstractContextManager[str] | None]]:
    yield "SQLite", _sqlite(work / "store")
    programs = postgresql.programs()
    yield "PostgreSQL", None if programs is None else postgresql.running(programs)


@contextlib.contextmanager
def _sqlite(directory: Path) -> Iterator[str]:
    """Half a gigabyte, which is not left behind."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "results.db"
    path.unlink(missing_ok=True)
    try:
        yield f"sqlite:///{path}"
    finally:
        shutil.rmtree(directory)


def _measure(home: Home, directory: Path, kind: str, url: str, count: int) -> list[Row]:
    """Of a tenth of the campaigns first, to see how much the others add."""
    directory.mkdir(parents=True, exist_ok=True)
    own = Home(home.project, directory)
    with _environment(url):
        fewer, _ = _pages(own, url, 0, count // FEWER)
        more, first = _pages(own, url, count // FEWER, count)
        commands = [
            row
            for name, target in COMMANDS.items()
            for row in _command(kind, name, target, count, _arguments(own, name))
        ]
        with open_store(own) as store, store.transaction() as connection:
            whole = int(connection.exec_driver_sql(_BYTES[kind]).scalar_one())
    pages = [
        row
        for name, target in PAGES.items()
        for row in (
            Row(
                name=f"{kind}, {count:,} campaigns: {name}",
                compared="seconds of a page as HTML, on the server",
                figure=statistics.median(more[name]),
                unit="s",
                target=target,
                seconds={name: more[name]},
            ),
            ratio(
                f"{kind}: {name}",
                (f"{count:,} campaigns", more[name]),
                (f"{count // FEWER:,}", fewer[name]),
            ),
        )
    ]
    kept = Row(
        name=f"{kind}: nothing kept",
        compared="CPU milliseconds for each campaign of the first history",
        figure=1000 * first / (count - count // FEWER),
        unit="ms",
    )
    size = Row(
        name=f"{kind}: its size",
        compared="gigabytes for 300,000 trials, decided counts and what is kept included",
        figure=whole / count * CAMPAIGNS / 1e9,
        unit="GB",
        target=SIZE_GB,
    )
    return [size, *pages, kept, *commands]


@contextlib.contextmanager
def _environment(url: str) -> Iterator[None]:
    before = os.environ.get("BENCHLAB_STORE_URL")
    os.environ["BENCHLAB_STORE_URL"] = url
    try:
        yield
    finally:
        if before is None:
            del os.environ["BENCHLAB_STORE_URL"]
        else:
            os.environ["BENCHLAB_STORE_URL"] = before


def _pages(home: Home, url: str, there: int, count: int) -> tuple[dict[str, list[float]], float]:
    """Seconds of every page, and CPU seconds of the first history of what was added."""
    big_store.fill(url, home.objects, home.configs, there, count)
    with open_store(home) as store:
        pages = _pages_of(store)
        began = time.process_time()
        _seconds(home, store, pages["history"])
        first = time.process_time() - began
        return {
            name: [_seconds(home, store, make) for _ in range(TIMES)]
            for name, make in pages.items()
        }, first


def _pages_of(store: Store) -> Mapping[str, Callable[[Site], Page]]:
    last, before, *_ = store.campaign_ids()
    versions = "10.1.0", store.campaign(last).plan.sides["baseline"].version
    asked = Filter(verdict="equivalent", page=2)
    return {
        "list": lambda site: campaigns.campaigns(site, asked),
        "overview": overview.overview,
        "findings": findings.findings,
        "campaign": lambda site: campaign.campaign(site, last),
        "history": lambda site: history.history(site, big_store.REPORT, WORKLOAD),
        "compare": lambda site: side_by_side.side_by_side(site, before, last),
        "versions": lambda site: two_versions.two_versions(site, "", *versions),
    }


def _seconds(home: Home, store: Store, make: Callable[[Site], Page]) -> float:
    """Of one answer, which shares nothing with the one before but what the store has kept."""
    began = time.monotonic()
    site = Site(home, store, english(), datetime.now(UTC))
    render(site, make(site))
    return time.monotonic() - began


def _arguments(home: Home, command: str) -> list[str]:
    with open_store(home) as store:
        return {
            "campaigns": [],
            "compare": [store.campaign_ids()[0]],
            "history": [WORKLOAD],
        }[command]


def _command(
    kind: str, name: str, target: float, count: int, arguments: list[str]
) -> Iterator[Row]:
    whole, peak = _child("-m", "benchlab.cli.main", name, *arguments)
    imported, _ = _child("-c", _IMPORTS.format(name, _DRIVERS[kind]))
    what = f"{kind}, {count:,} campaigns: benchlab {name}"
    yield Row(
        what, "CPU seconds over its import", whole - imported, "s", target,
        seconds={"whole": [whole], "import": [imported]},
    )  # fmt: skip
    yield Row(what, "memory at most", peak, "GB", TARGET_GB)


def _child(*arguments: str) -> tuple[float, float]:
    """CPU seconds and gigabytes of a Python process."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e9
