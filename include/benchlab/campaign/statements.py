"""Looks at statements in diagnosis trials: what each takes of a transaction, and by which plan.

Example:
    ``Diagnosing(campaign, state, sequence, [StatementObserver()])``
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter

from benchlab.analysis.cause.statements import FILE, FORM, Observed, compared
from benchlab.campaign.deployment import TrialSetup
from benchlab.engines.statements import Statements, StatementSummary
from benchlab.errors import EngineError
from benchlab.language import Said, message
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.diagnosis import Kind, Taken
from benchlab.workloads.client import program_of

MOST_REPLAYERS = 5
REPLAYER = "plan-replayer-{}.zip"
# From this share of what all statements of a transaction take, a change is worth a replayer.
_WORTH = 0.05


@dataclass(frozen=True)
class _Seen:
    """What a trial saw, as it is stored.

    Attributes:
        round: of the trial.
        transactions: see :class:`Observed`.
        otherwise: see :class:`Compared`.
        replayed: the statements of which there is a replayer, in the order of their files.
    """

    round: int
    seen: Statements
    transactions: int | None
    has_plans: bool
    otherwise: bool
    replayed: tuple[str, ...] = ()


_SEEN = TypeAdapter(_Seen)


class StatementObserver:
    """The observer of statements; see :class:`benchlab.campaign.diagnosing.Observer`."""

    kind: ClassVar[Kind] = "statements"
    rounds: ClassVar[int] = 2

    def lacking(self, setup: TrialSetup, side: Side) -> Said | None:
        """See :class:`Observer`."""
        engine = setup.deployment.engine(side)
        if (summary := engine.statements()) is None:
            return message("statements-none", engine=engine.title)
        program = program_of(setup.campaign.client.program, setup.workload.PROGRAMS)
        return summary.lacking(program.words[0])

    def setup(self, setup: TrialSetup) -> TrialSetup:
        """See :class:`Observer`: what the summaries need of servers and client."""
        summary = _summary(setup, SIDES[0])
        spec = setup.campaign.report_type
        options = {**spec.client.options, **summary.client_options}
        client = spec.client.model_copy(update={"options": options})
        campaign = dataclasses.replace(
            setup.campaign, report_type=spec.model_copy(update={"client": client})
        )
        return dataclasses.replace(setup, campaign=campaign, items=summary.items)

    def watch(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
        """See :class:`Observer`."""
        _summary(setup, trial.side).begin()

    def collect(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> Mapping[str, bytes]:
        """See :class:`Observer`; of the last round also what is needed to see plans again."""
        summary = _summary(setup, trial.side)
        output = setup.workload.parse(setup.deployment.executor.job_output(job))
        found = _Seen(
            trial.round,
            summary.read(),
            output.transactions,
            summary.keeps_plans,
            otherwise=bool(summary.items or summary.client_options),
        )
        if not found.seen.statements:
            raise EngineError(
                f"{trial.side}: the servers kept no statement in the schema "
                f"{setup.workload.DATABASE} while the client ran"
            )
        files = {FILE: b""}
        for number, text in enumerate(wanted := _to_replay(setup, trial, found), 1):
            if (archive := summary.replayer(text)) is not None:
                files[REPLAYER.format(number)] = archive
        found = dataclasses.replace(found, replayed=tuple(wanted))
        files[FILE] = _SEEN.dump_json(found)
        # For the trials that follow, which another process may make.
        setup.deployment.executor.put(_place(setup, trial, trial.side), files[FILE].decode())
        return files

    def put_back(self, setup: TrialSetup, trial: PlannedTrial) -> None:
        """See :class:`Observer`."""
        _summary(setup, trial.side).end()

    def conclude(
        self, workload: str, taken: Sequence[Taken], read: Callable[[str], bytes]
    ) -> Mapping[str, bytes]:
        """See :class:`Observer`: one file, a :class:`Compared`."""
        seen = [(one, _SEEN.validate_json(read(one.objects[FILE]))) for one in taken]
        found = compared(
            [Observed(one.side, own.seen, own.transactions) for one, own in seen],
            has_plans=all(own.has_plans for _, own in seen),
            otherwise=any(own.otherwise for _, own in seen),
        )
        if found is None:  # why there is no trial of the other side is recorded
            return {}
        known: dict[str, dict[Side, str]] = {}
        for one, own in seen:
            for number, text in enumerate(own.replayed, 1):
                if name := one.objects.get(REPLAYER.format(number)):
                    known.setdefault(text, {})[one.side] = name
        return {FILE: FORM.dump_json(found.with_replayers(known))}


def _summary(setup: TrialSetup, side: Side) -> StatementSummary:
    engine = setup.deployment.engine(side)
    if (summary := engine.statements()) is None:
        raise EngineError(message("statements-none", engine=engine.title))
    return summary


def _place(setup: TrialSetup, trial: PlannedTrial, side: Side) -> Path:
    """The file on the client's host with what a side's last trial of the workload saw."""
    directory = setup.deployment.engine(side).instance.directory
    return directory / f"statements-{trial.workload}.json"


def _to_replay(setup: TrialSetup, trial: PlannedTrial, found: _Seen) -> Sequence[str]:
    """The statements of which this side needs a replayer: once, and the same on both sides."""
    executor, last = setup.deployment.executor, dict[Side, _Seen]()
    for side in SIDES:
        done = executor.run(["cat", str(_place(setup, trial, side))], check=False)
        if done.stdout:
            last[side] = _SEEN.validate_json(done.stdout)
    own = last.pop(trial.side, None)
    if not last or (own is not None and own.replayed and own.round != trial.round):
        return ()
    ((side, other),) = last.items()
    looks = [Observed(trial.side, found.seen, found.transactions)]
    both = compared([*looks, Observed(side, other.seen, other.transactions)])
    if other.replayed or both is None:
        return other.replayed
    whole = sum(both.seconds.values()) / len(both.seconds)
    worth = [one for one in both.changes if one.plan or abs(one.more_s) > _WORTH * whole]
    first = sorted(worth, key=lambda one: one.plan is None)  # stable: the largest change first
    return [one.text for one in first[:MOST_REPLAYERS]]
