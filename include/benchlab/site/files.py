"""The files of a campaign that the site hands out: its report, raw outputs and series.

Nothing else can be named: a name is looked up among those that there are, and never made a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchlab.errors import StoreError
from benchlab.language import message
from benchlab.results.records import TrialResult
from benchlab.site.page import NoSuchPage, Site

# As files, the site has no file that is larger: evidence of long campaigns is.
MOST_BYTES = 10_000_000
# What is kept of a trial under the object root, by the folder in which the site has it.
_OF_TRIAL = {"raw": ".txt", "series": ".csv", "hosts": ".csv"}


@dataclass(frozen=True)
class FileOnSite:
    """One file: its name below the campaign's ``files/``, and its size in bytes."""

    name: str
    size: int


def of_report(site: Site, campaign: str) -> list[FileOnSite]:
    """The files of the report as it was published on this machine; empty where it was not.

    Where the site is written as files, large ones stay where they are.
    """
    found = [
        FileOnSite(name, path.stat().st_size)
        for name, path in _report(site.home.reports / campaign)
    ]
    return [one for one in found if not site.as_files or one.size <= MOST_BYTES]


def of_trial(result: TrialResult) -> dict[str, str]:
    """The names of what is kept of a trial, by kind: ``raw``, ``series``, ``hosts``."""
    return {
        kind: f"{kind}/{result.trial.id}.{result.attempt}{suffix}"
        for kind, suffix in _OF_TRIAL.items()
        if getattr(result, kind) is not None
    }


def read(site: Site, campaign: str, name: str) -> bytes:
    """A file's content.

    Raises:
        NoSuchPage: the campaign has no such file, or the reader may not see the campaign.
        StoreError: it is recorded, but cannot be read.
    """
    try:
        report = site.store.campaign(campaign).plan.report
    except StoreError as error:
        raise NoSuchPage(message("site-no-campaign", campaign=campaign)) from error
    if not site.shows(report):
        raise NoSuchPage(message("site-no-campaign", campaign=campaign))
    kind, _, rest = name.partition("/")
    if kind in _OF_TRIAL:
        trial, _, attempt = rest.removesuffix(_OF_TRIAL[kind]).rpartition(".")
        is_one = re.fullmatch("[1-9][0-9]?", attempt)
        result = site.store.trial(campaign, trial, int(attempt)) if is_one else None
        if result is not None and of_trial(result).get(kind) == name:
            return site.store.read_bytes(getattr(result, kind))
    else:
        for known, path in _report(site.home.reports / campaign):
            if known == name:
                return path.read_bytes()
    raise NoSuchPage(message("site-no-file", campaign=campaign, name=name))


def _report(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files below a folder, without links to elsewhere."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path
