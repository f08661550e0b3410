"""Hosts that a campaign loses while it measures: noticed, replaced, and both sides prepared anew.

EC2 takes spot hosts away, and any host may die. What is known of it is in ``recoveries.json`` in
the campaign's directory, so that a recovery that was interrupted goes on in another process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchlab.errors import BenchlabError, TryFailedError
from benchlab.plan.steps import PlanStep

# So often hosts are replaced in one campaign, and so often each of that is tried.
MOST = 2
TRIES = 3
PREPARING = frozenset({"provision", "prepare", "deploy", "load", "analyze", "check", "back up"})


@dataclass(frozen=True)
class Recovery:
    """One time that hosts were lost.

    Attributes:
        hosts: why each was lost, by its name.
        after: how many trials had been measured.
        tries: how often it was begun to replace them.
        done: whether both sides are ready on the new hosts.
    """

    hosts: dict[str, str]
    after: int
    tries: int = 0
    done: bool = False


class Recoveries:
    """The recoveries of one campaign: ``Recoveries(home.campaign("c1")).pending``."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "recoveries.json"

    @property
    def all(self) -> list[Recovery]:
        """In order."""
        if not self._file.exists():
            return []
        return [Recovery(**raw) for raw in json.loads(self._file.read_text(encoding="utf-8"))]

    @property
    def pending(self) -> Recovery | None:
        """The one that is not done; None if there is none."""
        return next((found for found in self.all if not found.done), None)

    def lose(self, hosts: Mapping[str, str], after: int) -> None:
        """Note that hosts were lost; those lost while others are replaced are part of that."""
        *done, last = self.all or [Recovery({}, after, done=True)]
        if last.done:
            self._write([*self.all, Recovery(dict(hosts), after)])
        else:
            self._write([*done, replace(last, hosts={**last.hosts, **hosts})])

    def settle(self) -> None:
        """A campaign that begins anew has a whole fleet, and prepares both sides in any case."""
        if self.pending is not None:
            self._write([replace(one, done=True) for one in self.all])

    def go_on(self, redo: Callable[[], Collection[str]]) -> Recovery | None:
        """Try to finish what is pending.

        Args:
            redo: returns the names of the hosts that are others than before: where a zone has no
                capacity for one, the whole fleet is rented in another.

        Returns:
            The recovery that is done now; None if it was tried too often, or is one too many.

        Raises:
            TryFailedError: this try failed; the next one may succeed.
        """
        *earlier, last = self.all
        if last.tries >= TRIES or len(earlier) >= MOST:
            return None
        last = replace(last, tries=last.tries + 1)
        self._write([*earlier, last])
        try:
            others = redo()
        except BenchlabError as error:
            lost = ", ".join(last.hosts)
            raise TryFailedError(
                f"{lost}: lost, and could not be replaced, try {last.tries} of {TRIES}: {error}"
            ) from error
        with_it = dict.fromkeys(others, "replaced with the others")
        last = replace(last, hosts={**with_it, **last.hosts}, done=True)
        self._write([*earlier, last])
        return last

    def _write(self, every: list[Recovery]) -> None:
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps([asdict(one) for one in every]), encoding="utf-8")
        part.replace(self._file)

    def told(self) -> str:
        """Those that are done, as :data:`REPLACED` has them for the report: ``5: tikv-2, pd-1``."""
        done = (one for one in self.all if one.done)
        return "; ".join(f"{one.after}: {', '.join(sorted(one.hosts))}" for one in done)


def minutes(steps: tuple[PlanStep, ...]) -> float:
    """Minutes until both sides are ready on other hosts."""
    first = next((n for n, step in enumerate(steps) if step.stage == "measure"), len(steps))
    return sum(step.minutes for step in steps[:first] if step.stage in PREPARING)
