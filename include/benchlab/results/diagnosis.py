"""What diagnosis trials of a campaign took, as the store has it.

Diagnosis trials come after the verdict and are no part of it: they look closer at what changed.
What each of them found lies under the campaign's objects, in the folder :func:`folder`; this record
says which there are, and what was not looked at.

Example:
    ``found(campaign.environment).of("oltp_insert", "cpu")[0].objects``
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import TypeAdapter

from benchlab.language import Said
from benchlab.plan.report_type import Side

KEY = "diagnosis"
"""The key of a campaign's environment that has the record, as JSON."""
COUNTS = "counts.csv"
"""The file of a diagnosis trial with what a query took of its servers."""
Kind = Literal["statements", "cpu", "allocations"]
"""What a diagnosis trial looks at."""


@dataclass(frozen=True)
class Taken:
    """One diagnosis trial.

    Attributes:
        round: from 1, of its kind; both sides' trials of a round belong together.
        seconds: how long the trial took as a whole.
        tps: its throughput; None where its client did not measure any.
        objects: names of the objects with what it found, by name of the file.
        why_not: why it found nothing; None where it did.
        ended: the components of which a server ended meanwhile.
    """

    workload: str
    kind: Kind
    round: int
    side: Side
    threads: int
    seconds: float
    tps: float | None
    objects: Mapping[str, str]
    why_not: Said | None = None
    ended: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lack:
    """Something that was not looked at.

    Attributes:
        workload, kind: of what; None where it holds for all.
    """

    why: Said
    workload: str | None = None
    kind: Kind | None = None


@dataclass(frozen=True)
class Diagnosis:
    """The diagnosis trials of a campaign.

    Attributes:
        found: what all trials of a workload show together: by workload, names of objects by name
            of the file.
        lacking: what was not looked at, and why, beside trials that found nothing.
        ended: whether no more trials follow.
    """

    trials: tuple[Taken, ...] = ()
    found: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lacking: tuple[Lack, ...] = ()
    ended: bool = False

    def of(self, workload: str, kind: Kind) -> list[Taken]:
        """The trials of one kind in which something was found, in their order."""
        return [
            one
            for one in self.trials
            if (one.workload, one.kind) == (workload, kind) and one.why_not is None
        ]

    def has(self, workload: str, kind: Kind, round_number: int, side: Side) -> bool:
        """Whether a trial was made, whatever it found."""
        wanted = (workload, kind, round_number, side)
        return any((one.workload, one.kind, one.round, one.side) == wanted for one in self.trials)

    def objects(self) -> list[str]:
        """The names of all objects: what each trial found, then what they show together."""
        known = [one.objects for one in self.trials]
        return [name for files in (*known, *self.found.values()) for name in files.values()]

    def with_trial(self, taken: Taken) -> Diagnosis:
        """The record with one more trial."""
        return replace(self, trials=(*self.trials, taken))

    def without(
        self, why: Said, workload: str | None = None, kind: Kind | None = None
    ) -> Diagnosis:
        """The record with something more that was not looked at; each reason once."""
        lack = Lack(why, workload, kind)
        return self if lack in self.lacking else replace(self, lacking=(*self.lacking, lack))

    def why_not(self, kinds: Collection[Kind], workload: str | None = None) -> list[Said]:
        """Why one of these kinds was not looked at, of a workload or of any, each reason once."""
        lacking = [Lack(one.why_not, one.workload, one.kind) for one in self.trials if one.why_not]
        return [
            *dict.fromkeys(
                one.why
                for one in (*lacking, *self.lacking)
                if (one.kind is None or one.kind in kinds)
                and (workload is None or one.workload in (None, workload))
            )
        ]


_FORM: TypeAdapter[Diagnosis] = TypeAdapter(Diagnosis)


def folder(campaign: str) -> str:
    """Where the objects of a campaign's diagnosis trials lie: ``c1/diagnosis``."""
    return f"{campaign}/diagnosis"


def found(environment: Mapping[str, str]) -> Diagnosis | None:
    """The diagnosis trials of a campaign; None where it did not come to them."""
    text = environment.get(KEY)
    return None if text is None else _FORM.validate_json(text)


def as_text(diagnosis: Diagnosis) -> str:
    """The value of :data:`KEY` in a campaign's environment."""
    return _FORM.dump_json(diagnosis).decode()
