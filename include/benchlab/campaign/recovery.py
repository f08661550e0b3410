"""Hosts that a campaign loses while it measures: noticed, replaced, and both sides prepared anew.

EC2 takes spot hosts away, and any host may die. What is known of it is in the campaign's state, so
that a recovery that was interrupted goes on in another process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from benchlab.campaign.state import Recovery, StateFile
from benchlab.errors import BenchlabError, TryFailedError
from benchlab.plan.steps import PlanStep

# So often hosts are replaced in one campaign, and so often each of that is tried.
MOST = 2
TRIES = 3
PREPARING = frozenset({"provision", "prepare", "deploy", "load", "analyze", "check", "back up"})


class Recoveries:
    """The recoveries of one campaign: ``Recoveries(StateFile(home.campaign("c1"))).pending``."""

    def __init__(self, state: StateFile) -> None:
        self._state = state

    @property
    def all(self) -> Sequence[Recovery]:
        """In order."""
        return self._state.read().recoveries

    @property
    def pending(self) -> Recovery | None:
        """The one that is not done; None if there is none."""
        return next((found for found in self.all if not found.done), None)

    def lose(self, hosts: Mapping[str, str], after: int) -> None:
        """Note that hosts were lost; those lost while others are replaced are part of that."""
        state = self._state.read()
        *done, last = state.recoveries or [Recovery({}, after, done=True)]
        if last.done:
            every = (*self.all, Recovery(dict(hosts), after))
        else:
            every = (*done, replace(last, hosts={**last.hosts, **hosts}))
        # A client that was started has gone with them: it is neither waited for nor adopted.
        trial = state.trial and replace(state.trial, client=None)
        self._state.to("lose hosts", recoveries=every, trial=trial)

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
        self._state.to("replace hosts", recoveries=(*earlier, last))
        try:
            others = redo()
        except BenchlabError as error:
            lost = ", ".join(last.hosts)
            raise TryFailedError(
                f"{lost}: lost, and could not be replaced, try {last.tries} of {TRIES}: {error}"
            ) from error
        with_it = dict.fromkeys(others, "replaced with the others")
        last = replace(last, hosts={**with_it, **last.hosts}, done=True)
        # What was seen of the fleet as it was says nothing of this one.
        self._state.to(
            "have replaced hosts",
            recoveries=(*earlier, last),
            registered_at=time.time(),
            calm=False,
            probed=False,
        )
        return last

    def told(self) -> str:
        """Those that are done, as :data:`REPLACED` has them for the report: ``5: tikv-2, pd-1``."""
        done = (one for one in self.all if one.done)
        return "; ".join(f"{one.after}: {', '.join(sorted(one.hosts))}" for one in done)


def minutes(steps: tuple[PlanStep, ...]) -> float:
    """Minutes until both sides are ready on other hosts."""
    first = next((n for n, step in enumerate(steps) if step.stage == "measure"), len(steps))
    return sum(step.minutes for step in steps[:first] if step.stage in PREPARING)
