"""The files of a campaign that the site serves: its report, raw outputs, series and profiles.

Nothing else can be reached: a name is looked up among existing ones, never used as a path.

>>> read(site, "c1", "report.json")[:1]
b'{'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchlab.errors import StoreError
from benchlab.language import message
from benchlab.results import diagnosis
from benchlab.results.records import Campaign, TrialResult
from benchlab.site.page import NoSuchPage, Site

# A site of files leaves out larger files, such as the evidence of long campaigns.
MOST_BYTES = 10_000_000
# The folders of the site for objects of trials, with the suffix of their files.
_OF_TRIAL = {"raw": ".txt", "series": ".csv", "hosts": ".csv", "counts": ".csv"}


# The folder for what diagnosis trials found.
_DIAGNOSIS = "diagnosis"


@dataclass(frozen=True)
class FileOnSite:
    """A file: its name below the campaign's ``files/``, and its size in bytes."""

    name: str
    size: int


def of_report(site: Site, campaign: str) -> list[FileOnSite]:
    """The files of a report published on this machine; empty if it was not.

    A site of files leaves out those above :data:`MOST_BYTES`.
    """
    found = [
        FileOnSite(name, path.stat().st_size)
        for name, path in _report(site.home.reports / campaign)
    ]
    return [one for one in found if not site.as_files or one.size <= MOST_BYTES]


def of_trial(result: TrialResult) -> dict[str, str]:
    """The names of a trial's files by kind: ``raw``, ``series``, ``hosts``, ``counts``."""
    return {
        kind: f"{kind}/{result.trial.id}.{result.attempt}{suffix}"
        for kind, suffix in _OF_TRIAL.items()
        if getattr(result, kind) is not None
    }


def of_diagnosis(campaign: Campaign) -> dict[str, str]:
    """The objects that diagnosis trials found, by their names on the site."""
    known = diagnosis.found(campaign.environment)
    prefix = f"{diagnosis.folder(campaign.id)}/"
    names = known.objects() if known else ()
    return {f"{_DIAGNOSIS}/{name.removeprefix(prefix)}": name for name in names}


def left_of_diagnosis(site: Site, campaign: Campaign) -> dict[str, str]:
    """The same without objects that are gone: `benchlab prune` removes profiles."""
    found = of_diagnosis(campaign)
    there = site.store.objects_below(diagnosis.folder(campaign.id)) if found else {}
    return {name: of for name, of in found.items() if of in there}


def read(site: Site, campaign: str, name: str) -> bytes:
    """Read a file of a campaign.

    Raises:
        NoSuchPage: the campaign has no such file, or the reader may not see the campaign.
        StoreError: the file is recorded but cannot be read.
    """
    try:
        record = site.store.campaign(campaign)
    except StoreError as error:
        raise NoSuchPage(message("site-no-campaign", campaign=campaign)) from error
    if not site.shows(record.plan.report):
        raise NoSuchPage(message("site-no-campaign", campaign=campaign))
    kind, _, rest = name.partition("/")
    if kind in _OF_TRIAL:
        trial, _, attempt = rest.removesuffix(_OF_TRIAL[kind]).rpartition(".")
        is_one = re.fullmatch("[1-9][0-9]?", attempt)
        result = site.store.trial(campaign, trial, int(attempt)) if is_one else None
        if result is not None and of_trial(result).get(kind) == name:
            return site.store.read_bytes(getattr(result, kind))
    elif kind == _DIAGNOSIS:
        if (found := of_diagnosis(record).get(name)) is not None:
            return site.store.read_bytes(found)
    else:
        for known, path in _report(site.home.reports / campaign):
            if known == name:
                return path.read_bytes()
    raise NoSuchPage(message("site-no-file", campaign=campaign, name=name))


def _report(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files below a folder, except symbolic links."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(folder).as_posix(), path
