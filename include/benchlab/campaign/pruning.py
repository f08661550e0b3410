"""What an installation can forget after a time: profiles, jobs, builds and logs.

Results, series and reports stay. Everything stays of a campaign that is at work or holds something,
that shows a finding which nobody has settled, or by which others are calibrated.

>>> pruning = Pruning(home, store, before)
>>> for one in pruning.found(KINDS): pruning.remove(one)
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from benchlab.analysis.verdict.estimates import LATEST_EARLIER
from benchlab.campaign import removal, report_types
from benchlab.campaign.outcome import Comparer
from benchlab.engines import builds
from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.results import diagnosis
from benchlab.results.findings import FindingState, Sought
from benchlab.results.store import Store

Kind = Literal["profiles", "jobs", "builds", "logs"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OF_CAMPAIGNS: tuple[Kind, ...] = ("profiles", "jobs")
# States of findings in which somebody may still look for the reason.
_UNSETTLED: tuple[FindingState, ...] = ("new", "known")
_PROFILES = (".pb.gz", ".folded.gz")
# In a campaign's directory: what clients, servers and samplers wrote; and what is being removed.
_LEFT = ("jobs", "server-logs", "pruned-*")
_PRUNED = "pruned-"


@dataclass(frozen=True)
class Prunable:
    """Files of one kind that can be removed.

    Attributes:
        of: a campaign's id, the name of a build's directory, or of one of logs, below the home.
        size: in bytes.
    """

    kind: Kind
    of: str
    files: int
    size: int


class Pruning:
    """What can be removed of before a moment: ``Pruning(home, store, before).found(KINDS)``.

    Several processes may prune at once: each removes what it still finds.

    Args:
        before: campaigns that ended, builds that were kept, and logs that were written then.
        report: only campaigns of this report type; None: of all.
    """

    def __init__(
        self, home: Home, store: Store, before: datetime, report: str | None = None
    ) -> None:
        self.home, self.store, self.before, self.report = home, store, before, report

    def found(self, kinds: Collection[Kind]) -> list[Prunable]:
        """What can be removed, kind by kind; removes nothing.

        Raises:
            StoreError: the store or its objects cannot be read.
        """
        found = [
            one
            for kind in OF_CAMPAIGNS
            if kind in kinds
            for campaign in self._forgettable
            if (one := self._of_campaign(kind, campaign)).files
            and not any(removal.held(self.home, self.store, campaign))
        ]
        if "builds" in kinds:
            found += self._builds()
        if "logs" in kinds:
            found += [one for name in self._log_folders() if (one := self._logs(name)).files]
        return found

    def remove(self, one: Prunable) -> None:
        """Remove what was found, as far as it is still there and nothing uses it by now.

        Raises:
            TargetError: a campaign is at work by now, or a build is used.
            StoreError, OSError: something cannot be removed.
        """
        if one.kind in OF_CAMPAIGNS:
            removal.refuse(self.home, self.store, one.of)
        match one.kind:
            case "profiles":
                self.store.remove_objects(self._profiles(one.of))
            case "jobs":
                for path in self._left_of(one.of):
                    _remove(path)
            case "builds":
                self._remove_build(one.of)
            case "logs":
                _remove_files(self.home.root / one.of, self._old_files(one.of))

    @cached_property
    def kept(self) -> dict[str, str]:
        """Why campaigns keep everything, whatever their age, by id."""
        found: dict[str, str] = {}
        for finding in self.store.findings.found(Sought(states=_UNSETTLED)):
            found |= dict.fromkeys(finding.campaigns, "an open finding")
        comparer = Comparer(self.home, self.store)
        for report in self.store.report_names():
            latest: defaultdict[str, list[str]] = defaultdict(list)
            for one in comparer.outlines(report):
                if one.calibrates:
                    found.setdefault(one.id, "calibration")
                elif one.state == "complete" and (one.shows_deployments or one.screening_rounds):
                    latest[json.dumps(one.setting, sort_keys=True)].append(one.id)
            for ids in latest.values():
                for name in ids[-LATEST_EARLIER:]:
                    found.setdefault(name, "calibration")
        return found

    @cached_property
    def _forgettable(self) -> list[str]:
        """The ids of campaigns that are over for long enough, and are not kept."""
        return [
            one.id
            for one in self.store.listing.summaries()
            if self.report in (None, one.report)
            and one.state != "running"
            and (one.ended_at or one.started_at) < self.before
            and one.id not in self.kept
        ]

    def _of_campaign(self, kind: Kind, campaign: str) -> Prunable:
        if kind == "profiles":
            sizes = [*self._profiles(campaign).values()]
            return Prunable(kind, campaign, len(sizes), sum(sizes))
        return _counted(kind, campaign, _files_in(self._left_of(campaign)))

    def _profiles(self, campaign: str) -> dict[str, int]:
        there = self.store.objects_below(diagnosis.folder(campaign))
        return {name: size for name, size in there.items() if name.endswith(_PROFILES)}

    def _left_of(self, campaign: str) -> list[Path]:
        directory = self.home.campaign(campaign)
        return [path for name in _LEFT for path in directory.glob(name)]

    def _builds(self) -> Iterator[Prunable]:
        """Builds that nothing uses, and what interrupted processes left of builds."""
        names = [
            one.sha256
            for one in builds.all_kept(self.home)
            if datetime.fromisoformat(one.kept_at) < self.before and not self._uses(one.sha256)
        ]
        left = [path for name in ("part-*", "pruned-*") for path in self.home.builds.glob(name)]
        names += [path.name for path in left if path.stat().st_mtime < self.before.timestamp()]
        for name in names:
            yield _counted("builds", name, _files_in([self.home.builds / name]))

    def _uses(self, sha256: str) -> bool:
        """Whether a report type names a build, or a campaign that is not forgettable has it."""
        files = (*report_types.report_files(self.home), *report_types.published_files(self.home))
        return not self.store.naming(sha256) <= {*self._forgettable} or any(
            sha256 in path.read_text(encoding="utf-8", errors="replace") for path in files
        )

    def _remove_build(self, name: str) -> None:
        if builds.is_kept(self.home, name):
            for computed in ("_forgettable", "kept"):  # a campaign may have begun with it
                vars(self).pop(computed, None)
            if self._uses(name):
                raise TargetError(f"build {name}: a campaign or report type uses it by now")
        _remove(self.home.builds / name)
        for path in self.home.builds.glob("*.built"):
            if path.read_text(encoding="utf-8").strip() == name:
                path.unlink(missing_ok=True)

    def _log_folders(self) -> list[str]:
        found = (self.home.root / "logs", *self.home.root.glob("airflow*/logs"))
        return [str(path.relative_to(self.home.root)) for path in found if path.is_dir()]

    def _logs(self, name: str) -> Prunable:
        return _counted("logs", name, self._old_files(name))

    def _old_files(self, name: str) -> list[Path]:
        return [
            path
            for path in _files_in([self.home.root / name])
            if path.lstat().st_mtime < self.before.timestamp()
        ]


def _files_in(places: Iterable[Path]) -> list[Path]:
    return [
        path for place in places for path in place.rglob("*") if path.is_file() or path.is_symlink()
    ]


def _counted(kind: Kind, of: str, files: Iterable[Path]) -> Prunable:
    sizes = []
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # another process removes it, too
            sizes.append(path.lstat().st_size)
    return Prunable(kind, of, len(sizes), sum(sizes))


def _remove(directory: Path) -> None:
    """Remove a directory, which is gone at once under its own name; a kill leaves another one."""
    doomed = directory
    if not directory.name.startswith(_PRUNED):
        doomed = directory.with_name(f"{_PRUNED}{secrets.token_hex(4)}")
        try:
            directory.rename(doomed)
        except FileNotFoundError:
            return  # another process was quicker
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(doomed)


def _remove_files(root: Path, files: Iterable[Path]) -> None:
    """Remove files, and the directories that are empty without them."""
    folders = set[Path]()
    for path in files:
        path.unlink(missing_ok=True)
        folders |= {folder for folder in path.parents if folder.is_relative_to(root)} - {root}
    for folder in sorted(folders, reverse=True):
        with contextlib.suppress(OSError):  # something else is in it
            folder.rmdir()
