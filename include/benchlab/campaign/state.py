"""What a campaign that runs has done so far: one value, in one file, and what may follow it.

Example:
    ``StateFile(home.campaign("c1")).read().sides["baseline"].stage`` is ``"ready"``.

Stages may run in any process, be killed at any moment and be repeated. So each first writes that it
begins, which takes back what it is about to destroy, and at its end what holds from then on;
:data:`TRANSITIONS` has both. Between two writes nothing is remembered anywhere else, apart from
what the report shows, which is in the store.

All processes of a campaign share the file: a task that outlived its worker and the one that repeats
it, both halves of a trial, the commands of a person. So it is replaced as a whole, and each change
reads, checks and replaces it under a lock that the kernel drops when its process ends. Who only
reads needs no lock. Workers on several machines share the installation's directory, and with it
both files.
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

from benchlab.errors import NotMeasuredError, StoreError
from benchlab.hosts.lock import fence
from benchlab.language import Said
from benchlab.plan.report_type import Side

# After this many failed tries a trial counts as one that cannot be executed; after this many such
# trials in a row the campaign is given up. A deployment, and replacing hosts, are tried as often.
TRIES = 3
MOST_RECOVERIES = 2

# A change takes milliseconds, with a disk that is busy somewhat more.
LOCK_LIMIT_S = 60.0


@dataclass(frozen=True)
class Begun:
    """A trial whose client has been started.

    Attributes:
        attempt: which measurement of its pair of blocks it belongs to.
        started_at: when the trial began, as ISO 8601.
        running_since: when the client was started, in seconds since the epoch.
        until: when the client should have ended at the latest, in seconds since the epoch.
        phases: seconds spent so far, by phase.
        columns: what the first half found for the gates.
        adopted: the client was started by a task that died.
        unsampled: why nothing samples a host while the client runs, by host.
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
        """The form in which it goes from one half of a trial to the other."""
        return asdict(self)


@dataclass(frozen=True)
class Loss:
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


@dataclass(frozen=True)
class SideState:
    """How far one side is.

    Attributes:
        deployment: of which deployment its data are, from 1; 0: it was never deployed.
        compared: whether its dataset was compared with the snapshot's since then.
        measured: whether its data are what a trial left that was finished.
    """

    stage: Literal["absent", "deployed", "loaded", "analyzed", "ready"] = "absent"
    deployment: int = 0
    compared: bool = False
    measured: bool = False


@dataclass(frozen=True)
class TrialState:
    """The trial that is measured now, or was measured last.

    Attributes:
        tries: how often it was tried, with this try.
        client: its client, if one was started.
    """

    trial: str
    attempt: int
    stage: Literal["untried", "tried", "begun", "measured"] = "untried"
    tries: int = 0
    client: Begun | None = None


@dataclass(frozen=True)
class RunState:
    """A campaign's state; a new campaign has just this one.

    Attributes:
        stage: ``idle`` before it has taken its target, and after it was given back.
        registered_at: when it last took its target, in seconds since the epoch.
        resumed: whether it was interrupted, so that its stages take other times than usual.
        calm: whether its hosts were waited for to be calm.
        failed_deployments: how often preparing the current deployment has failed.
        began: when each stage began; None: what it takes is no example for later plans.
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
        """How far one side is."""
        return self.sides.get(side, SideState())

    def is_ready(self, sides: Collection[Side], deployment: int) -> bool:
        """Whether all sides have the data of a deployment, and their snapshots."""
        of = (self.side(side) for side in sides)
        return all((one.stage, one.deployment) == ("ready", deployment) for one in of)

    def tried(self, trial: str, attempt: int) -> TrialState:
        """How far one trial is that has no result yet."""
        found = self.trial
        same = found is not None and (found.trial, found.attempt) == (trial, attempt)
        return found if found is not None and same else TrialState(trial, attempt)

    def then(self, transition: str, side: Side | None = None, **facts: Any) -> RunState:
        """The state after a transition.

        Args:
            side: whose transition it is; of a trial: on which side it is measured.
            facts: what else holds afterwards: fields of what the transition is of.

        Raises:
            NotMeasuredError: the campaign is not at a stage from which it is permitted.
        """
        row = TRANSITIONS[transition]
        if row.of == "campaign" or side is None:
            self._refuse_unless(transition, self.stage, row.before)
            return replace(self, **{**facts, "stage": row.after or self.stage})
        self._refuse_unless(f"{transition} {side}", self.stage, HAS_HOSTS)
        one = self.side(side)
        if row.of == "side":
            self._refuse_unless(f"{transition} {side}", one.stage, row.before)
            # Its data are going to be, or are, others.
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
    """What must hold before a transition, and what holds after it.

    Attributes:
        of: what changes its stage: the campaign, one of its sides (for which the campaign has to be
            provisioned), or a trial (for which its side has to be ready besides).
        before: the permitted stages before.
        after: the stage after; None: the same.
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
    """The state of one campaign: ``state.json`` in its directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "state.json"

    def read(self) -> RunState:
        """As it is now; a campaign that has not begun has a new one.

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
        """Make a transition; see :meth:`RunState.then`."""
        with fence(self.path.with_suffix(".lock"), LOCK_LIMIT_S):
            state = self.read().then(transition, side, **facts)
            self.write(state, transition)
        return state

    def register(self) -> None:
        """Note that the campaign has taken its target: it prepares its sides from the start."""
        before = self.read()
        anew = RunState(
            registered_at=time.time(),
            resumed=before.resumed or bool(before.began),
            # Its fleet is whole.
            losses=tuple(replace(one, done=True) for one in before.losses),
        )
        self.to("register", **vars(anew))

    def give_back(self) -> None:
        """Note that the campaign has nothing of its target any more; a complete one stays so."""
        if self.read().stage != "complete":
            self.to("give back")

    def begin(self, stage: str, side: Side | None = None, **facts: Any) -> bool:
        """Note that a stage begins; False if an earlier try of it had begun."""
        with fence(self.path.with_suffix(".lock"), LOCK_LIMIT_S):
            state = self.read().then(f"begin {stage}", side, **facts)
            clock = _clock(state, stage, side)
            is_first = clock not in state.began
            began = time.time() if is_first and not state.resumed else None
            self.write(replace(state, began={**state.began, clock: began}), f"begin {stage}")
        return is_first

    def took(self, stage: str, side: Side | None = None) -> float | None:
        """Seconds since a stage began; None if that is no example for later plans."""
        state = self.read()
        began = state.began.get(_clock(state, stage, side))
        return None if began is None else max(time.time() - began, 0.0)

    def write(self, state: RunState, transition: str) -> None:
        """Replace the file, on the disk before anything else is done.

        Args:
            transition: that led to the state.
        """
        part = self.path.with_suffix(".part")
        with part.open("wb") as file:
            file.write(_adapter().dump_json(state, indent=1))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self.path)


def _clock(state: RunState, stage: str, side: Side | None) -> str:
    return stage if side is None else f"{stage} {side} {state.side(side).deployment}"


@cache
def _adapter() -> pydantic.TypeAdapter[RunState]:
    return pydantic.TypeAdapter(RunState)
