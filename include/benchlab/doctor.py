"""What is missing on this machine, and how to get it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from benchlab import catalog
from benchlab.errors import BenchlabError
from benchlab.executor import TAG, tagged
from benchlab.home import Home
from benchlab.lock import MachineLock
from benchlab.plan import GIB
from benchlab.spec import SIDES
from benchlab.targets.local import TOOLS


@dataclass(frozen=True)
class Finding:
    """One thing looked at; ``blocks``: no local campaign can run until it is mended."""

    what: str
    good: bool
    detail: str
    blocks: bool = False

    def __str__(self) -> str:
        mark = "ok  " if self.good else "MISS" if self.blocks else "note"
        return f"{mark}  {self.what}: {self.detail}"


def examine(home: Home) -> list[Finding]:
    """Look at tools, engines, report types, disk and what earlier campaigns left."""
    return [
        *_python(),
        *_tools(),
        *_engines(home),
        *_reports(home),
        *_disk(home),
        *_machine(),
    ]


def _python() -> Iterator[Finding]:
    good = sys.version_info >= (3, 11)
    yield Finding(
        "python", good, f"{sys.version.split()[0]} (3.11 or newer is needed)", blocks=not good
    )
    found = importlib.util.find_spec("airflow") is not None
    yield Finding(
        "airflow",
        found,
        "installed" if found else "not in this environment: `make setup`; the CLI works without",
    )


def _tools() -> Iterator[Finding]:
    for tool, package in TOOLS.items():
        path = shutil.which(tool)
        detail = path or f"not found; `make setup`, or `apt-get install {package}`"
        yield Finding(tool, path is not None, detail, blocks=path is None)


def _engines(home: Home) -> Iterator[Finding]:
    for path in catalog.report_files(home):
        try:
            spec = catalog.load(path)
        except BenchlabError:
            continue  # named by _reports
        for engine in spec.engines:
            for version in sorted({spec.side(engine, side).version for side in SIDES}):
                found = catalog.engines()[engine].availability(version, home.servers)
                yield Finding(f"{spec.report}: {engine} {version}", found.available, found.how)


def _reports(home: Home) -> Iterator[Finding]:
    for path in catalog.report_files(home):
        try:
            spec = catalog.load(path)
            engine, _ = catalog.choose_engine(spec, home)
            yield Finding(f"report type {spec.report}", True, f"can run, with {engine}")
        except BenchlabError as error:
            yield Finding(f"report type {path.stem}", False, str(error), blocks=True)


def _disk(home: Home) -> Iterator[Finding]:
    home.root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(home.root).free / GIB
    yield Finding("disk", free > 2, f"{free:.1f} GiB free under {home.root}")


def _machine() -> Iterator[Finding]:
    try:
        holder = MachineLock().holder()
    except BenchlabError as error:
        yield Finding("machine", False, str(error), blocks=True)
        return
    if holder is None:
        yield Finding("machine", True, "free: no campaign holds it")
    elif (gone := holder.left_behind()) is not None:
        yield Finding("machine", True, f"free: {holder} is over ({gone})")
    else:
        yield Finding("machine", False, f"held by {holder}")
    if left := list(tagged(f"{TAG}=")):
        yield Finding(
            "processes",
            False,
            f"{len(left)} processes of campaigns are running: {', '.join(map(str, left))}; "
            "`benchlab release <campaign>` ends one campaign's",
        )
