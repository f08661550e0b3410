"""The state of a running campaign: one value in one file, and its permitted transitions.

Example:
    ``StateFile(home.campaign("c1")).read().sides["baseline"].stage`` is ``"ready"``.

Stages may run in any process, be killed at any moment and be repeated. So each stage first records
that it begins, which revokes what it is about to destroy, and at its end what holds from then on;
:data:`TRANSITIONS` has both. Apart from what the report shows, which is in the store, nothing else
is remembered between stages.

All processes of a campaign share the file: a task that outlived its worker and its retry, both
halves of a trial, a person's commands. So the file is replaced as a whole, and each change reads,
checks and replaces it under a lock that the kernel drops when its process ends. Reading needs no
lock. Workers on several machines share the installation's directory, and so both files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pydantic

from benchlab.errors import NotMeasuredError, StoreError, naming
from benchlab.hosts.lock import fence
from benchlab.language import Said
from benchlab.plan.report_type import Side

# After this many failed tries a trial counts as not executable; after this many such trials in a
# row the campaign is given up. Deployments and replacements of hosts have as many tries.
TRIES = 3
MOST_RECOVERIES = 2

# A change takes milliseconds, somewhat more on a busy disk.
LOCK_LIMIT_S = 60.0


@dataclass(frozen=True)
class Begun:
    """A trial whose client has been started.

    Attributes:
        attempt: which measurement of its block it belongs to.
        started_at: when the trial began, as ISO 8601.
        running_since: when the client was started, in seconds since the epoch.
        until: the latest time by which the client should have ended, in seconds since the epoch.
        phases: seconds spent so far, by phase.
        columns: what the first half found for the gates.
        adopted: whether a task that died had started the client.
        unsampled: why a host is not sampled while the client runs, by host.
    """

    trial: str
    attempt: int
    job: str
    started_at: str
    running_since: float
    until: float
    phases: dict[str, float]
    columns: dict[str, float | None]
    adopted: bool = False
    unsampled: dict[str, Said] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The form in which Airflow passes it from one half of a trial to the other."""
        return asdict(self)


@dataclass(frozen=True)
class Loss:
    """One loss of hosts, and the progress of replacing them.

    Attributes:
        hosts: why each was lost, by name.
        after: how many trials had been measured before.
        tries: how often replacing them was begun.
        done: whether both sides are ready on the new hosts.
    """

    hosts: dict[str, str]
    after: int
    tries: int = 0
    done: bool = False


@dataclass(frozen=True)
class SideState:
    """The state of one side.

    Attributes:
        deployment: the number of the deployment that its data belong to, from 1; 0 if it was never
            deployed.
        compared: whether its dataset has been compared with the snapshot's since it was loaded.
        measured: whether its data are as a finished trial left them.
    """

    stage: Literal["absent", "deployed", "loaded", "analyzed", "ready"] = "absent"
    deployment: int = 0
    compared: bool = False
    measured: bool = False


@dataclass(frozen=True)
class TrialState:
    """The trial that is being measured, or was measured last.

    Attributes:
        tries: how often it was tried, including this try; without those that a store that was
            away has ended.
        client: its client, if one was started.
    """

    trial: str
    attempt: int
    stage: Literal["untried", "tried", "begun", "measured"] = "untried"
    tries: int = 0
    client: Begun | None = None


@dataclass(frozen=True)
class RunState:
    """A campaign's state; the defaults are those of a new campaign.

    Attributes:
        stage: ``idle`` before it has taken its target, and after it was given back.
        registered_at: when it last took its target, in seconds since the epoch; set anew once lost
            hosts are replaced.
        resumed: whether it was interrupted, so that the times of its stages are not typical.
        calm: whether it has already waited for its hosts to be calm.
        failed_deployments: how often preparing the current deployment has failed.
        began: when each stage began; None if later plans must not learn from its time.
    """

    stage: Literal["idle", "registered", "provisioned", "complete"] = "idle"
    registered_at: float = 0.0
    resumed: bool = False
    calm: bool = False
    failed_deployments: int = 0
    losses: tuple[Loss, ...] = ()
    sides: dict[Side, SideState] = field(default_factory=dict)
    trial: TrialState | None = None
    began: dict[str, float | None] = field(default_factory=dict)

    def side(self, side: Side) -> SideState:
        """The state of one side."""
        return self.sides.get(side, SideState())

    def is_ready(self, sides: Collection[Side], deployment: int) -> bool:
        """Whether all sides have the data and snapshots of a deployment."""
        of = (self.side(side) for side in sides)
        return all((one.stage, one.deployment) == ("ready", deployment) for one in of)

    def tried(self, trial: str, attempt: int) -> TrialState:
        """The state of a trial that has no result yet."""
        found = self.trial
        same = found is not None and (found.trial, found.attempt) == (trial, attempt)
        return found if found is not None and same else TrialState(trial, attempt)

    def then(self, transition: str, side: Side | None = None, **facts: Any) -> RunState:
        """The state after a transition.

        Example:
            ``state.then("end load", "baseline").side("baseline").stage`` is ``"loaded"``.

        Args:
            side: whose transition it is; for a trial, the side on which it is measured.
            facts: fields to set, of the campaign, side or trial that the transition changes.

        Raises:
            NotMeasuredError: the transition is not permitted from the present stage.
        """
        row = TRANSITIONS[transition]
        if row.of == "campaign" or side is None:
            self._refuse_unless(transition, self.stage, row.before)
            return replace(self, **{**facts, "stage": row.after or self.stage})
        self._refuse_unless(f"{transition} {side}", self.stage, HAS_HOSTS)
        one = self.side(side)
        if row.of == "side":
            self._refuse_unless(f"{transition} {side}", one.stage, row.before)
            # Its data are about to change, or have changed.
            one = SideState(deployment=one.deployment) if row.after in _EMPTY else one
            one = replace(one, stage=row.after, **facts)
            return replace(self, sides={**self.sides, side: one})
        self._refuse_unless(f"{transition} {side}", one.stage, ("ready",))
        trial = self.tried(facts["trial"], facts["attempt"])
        self._refuse_unless(f"{transition} {trial.trial}", trial.stage, row.before)
        trial = replace(trial, stage=row.after, **facts)
        one = replace(one, measured=row.after == "measured")
        return replace(self, trial=trial, sides={**self.sides, side: one}, failed_deployments=0)

    @staticmethod
    def _refuse_unless(transition: str, stage: str, before: Collection[str]) -> None:
        if stage not in before:
            raise NotMeasuredError(
                f"{transition}: refused, as the stage is {stage!r} and not "
                f"{' or '.join(map(repr, before))}: begin with the stage register again (in "
                "Airflow clear that task and all after it; else run the campaign again by its id)"
            )


class Transition(NamedTuple):
    """The stages before and after a transition: ``TRANSITIONS["end load"].after`` is ``"loaded"``.

    Attributes:
        of: what changes: the campaign, one of its sides (the campaign must be provisioned), or a
            trial (its side must be ready, too).
        before: the permitted stages before.
        after: the stage after; None if it does not change.
    """

    of: Literal["campaign", "side", "trial"]
    before: Collection[str]
    after: Any


HAS_HOSTS = ("provisioned",)
_TAKEN = ("registered", "provisioned")
_EMPTY = ("absent", "deployed")
_DEPLOYED = ("deployed", "loaded", "analyzed", "ready")
_TRIED = ("tried", "begun", "measured")
TRANSITIONS: Mapping[str, Transition] = {
    # Nothing leads out of `complete`.
    "register": Transition("campaign", ("idle", *_TAKEN), "registered"),
    "begin provision": Transition("campaign", _TAKEN, "registered"),
    "end provision": Transition("campaign", ("registered",), "provisioned"),
    "begin deploy": Transition("side", ("absent", *_DEPLOYED), "absent"),
    "end deploy": Transition("side", ("absent",), "deployed"),
    "begin load": Transition("side", _DEPLOYED, "deployed"),
    "end load": Transition("side", ("deployed",), "loaded"),
    "begin analyze": Transition("side", ("loaded", "analyzed", "ready"), "loaded"),
    "end analyze": Transition("side", ("loaded",), "analyzed"),
    "begin check after load": Transition("side", ("analyzed", "ready"), "analyzed"),
    "begin back up": Transition("side", ("analyzed", "ready"), "analyzed"),
    "end back up": Transition("side", ("analyzed",), "ready"),
    "forget times": Transition("campaign", HAS_HOSTS, None),
    "fail to deploy": Transition("campaign", HAS_HOSTS, None),
    "wait for calm": Transition("campaign", HAS_HOSTS, None),
    "try": Transition("trial", ("untried", *_TRIED), "tried"),
    "forget client": Transition("trial", ("tried",), "tried"),
    "start client": Transition("trial", ("tried",), "begun"),
    "compare dataset": Transition("side", ("ready",), "ready"),
    "measure": Transition("trial", _TRIED, "measured"),
    "lose hosts": Transition("campaign", _TAKEN, None),
    "replace hosts": Transition("campaign", _TAKEN, None),
    "have replaced hosts": Transition("campaign", HAS_HOSTS, None),
    "begin check after last trial": Transition("side", ("ready",), "ready"),
    "complete": Transition("campaign", ("idle", *_TAKEN, "complete"), "complete"),
    "give back": Transition("campaign", ("idle", *_TAKEN), "idle"),
}
"""Every change of a campaign's state, in about the order of a run."""


class StateFile:
    """Reads and changes the state of one campaign, ``state.json`` in its directory.

    Example:
        ``StateFile(home.campaign("c1")).to("end load", "baseline")``
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "state.json"

    def read(self) -> RunState:
        """The present state; that of a new campaign if there is no file.

        Raises:
            StoreError: the file cannot be read; says what to do.
        """
        try:
            return _adapter().validate_json(self.path.read_bytes())
        except FileNotFoundError:
            return RunState()
        except (OSError, ValueError) as error:
            raise StoreError(
                f"{self.path}: cannot be read as the state of a campaign: remove it, and run the "
                "campaign again with its id; its results are in the store"
            ) from error

    def to(self, transition: str, side: Side | None = None, **facts: Any) -> RunState:
        """Make a transition and write it to the file; see :meth:`RunState.then`."""
        with fence(self.path.with_suffix(".lock"), LOCK_LIMIT_S):
            state = self.read().then(transition, side, **facts)
            self.write(state, transition)
        return state

    def register(self) -> None:
        """Record that the campaign has taken its target, and prepares its sides from scratch."""
        before = self.read()
        anew = RunState(
            registered_at=time.time(),
            resumed=before.resumed or bool(before.began),
            # Hosts lost before were replaced when the fleet was provisioned.
            losses=tuple(replace(one, done=True) for one in before.losses),
        )
        self.to("register", **vars(anew))

    def give_back(self) -> None:
        """Record that the campaign holds nothing of its target any more, unless it is complete."""
        if self.read().stage != "complete":
            self.to("give back")

    def begin(self, stage: str, side: Side | None = None, **facts: Any) -> bool:
        """Record that a stage begins; False if an earlier try of it had already begun."""
        with fence(self.path.with_suffix(".lock"), LOCK_LIMIT_S):
            state = self.read().then(f"begin {stage}", side, **facts)
            clock = _clock(state, stage, side)
            is_first = clock not in state.began
            began = time.time() if is_first and not state.resumed else None
            self.write(replace(state, began={**state.began, clock: began}), f"begin {stage}")
        return is_first

    def took(self, stage: str, side: Side | None = None) -> float | None:
        """Seconds since a stage began; None if later plans must not learn from it."""
        state = self.read()
        began = state.began.get(_clock(state, stage, side))
        return None if began is None else max(time.time() - began, 0.0)

    def write(self, state: RunState, transition: str) -> None:
        """Replace the file; it is flushed to disk first.

        Args:
            transition: the one that led to the state.
        """
        part = self.path.with_suffix(".part")
        with naming(self.path), part.open("wb") as file:
            file.write(_adapter().dump_json(state, indent=1))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)


def _clock(state: RunState, stage: str, side: Side | None) -> str:
    return stage if side is None else f"{stage} {side} {state.side(side).deployment}"


@cache
def _adapter() -> pydantic.TypeAdapter[RunState]:
    return pydantic.TypeAdapter(RunState)
