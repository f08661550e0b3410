"""How what campaigns show is kept as JSON: figures, doubts, and the squares of A/A campaigns.

Every number comes back to its last digit. Raise :data:`FORM` whenever any of it is computed or
written in another way: what was kept before is then computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Generic, TypeVar

from benchlab.analysis.verdict.calibration import Shown
from benchlab.analysis.verdict.calibration_checks import RoundMeans
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Squares
from benchlab.language import Message, Said

FORM = 2

T = TypeVar("T")
Reasons = Mapping[str, Sequence[Said]]
Doubted = tuple[Reasons, Reasons]
"""By workload, why no change can be concluded, and why it cannot be `equivalent`."""


@dataclass(frozen=True)
class Form(Generic[T]):
    """How one part of what is kept is written as JSON, and read back."""

    part: str
    to_json: Callable[[T], Any]
    from_json: Callable[[Any], T]


def _rounds_to_json(workloads: Sequence[Rounds]) -> list[dict[str, Any]]:
    return [
        {
            **vars(rounds),
            "rounds": list(rounds.rounds),
            "values": {metric: array.tolist() for metric, array in rounds.values.items()},
            "deployments": list(rounds.deployments),
        }
        for rounds in workloads
    ]


def _rounds_from_json(raw: Any) -> Sequence[Rounds]:
    import numpy as np

    return [
        Rounds(
            **{
                **rounds,
                "threads": tuple(rounds["threads"]),
                "sides": tuple(rounds["sides"]),
                "values": {metric: np.array(found) for metric, found in rounds["values"].items()},
            }
        )
        for rounds in raw
    ]


def _shown_to_json(shown: Shown) -> list[Any]:
    return [
        [[workload, metric, sorted(threads), kind], [float(one) for one in astuple(squares)]]
        for (workload, metric, threads, kind), squares in shown.items()
    ]


def _shown_from_json(raw: Any) -> Shown:
    import numpy as np

    return {
        (workload, metric, frozenset(threads), kind): Squares(*map(np.asarray, squares))
        for (workload, metric, threads, kind), squares in raw
    }


def _means_to_json(found: RoundMeans) -> list[Any]:
    return [
        [[workload, metric, sorted(threads), kind], list(means)]
        for (workload, metric, threads, kind), means in found.items()
    ]


def _means_from_json(raw: Any) -> RoundMeans:
    return {
        (workload, metric, frozenset(threads), kind): means
        for (workload, metric, threads, kind), means in raw
    }


def _doubts_to_json(doubted: Doubted) -> list[Any]:
    return [
        {workload: [said_to_json(one) for one in reasons] for workload, reasons in found.items()}
        for found in doubted
    ]


def _doubts_from_json(raw: Any) -> Doubted:
    unstable, not_equivalent = (
        {workload: [said_from_json(one) for one in reasons] for workload, reasons in found.items()}
        for found in raw
    )
    return unstable, not_equivalent


def said_to_json(said: Said) -> Any:
    """A sentence in no language yet, or recorded text, as JSON."""
    if isinstance(said, str):
        return said
    values = [
        [name, {"message": said_to_json(value)} if isinstance(value, Message) else value]
        for name, value in said.values
    ]
    return {"id": said.id, "values": values, "fallback": said.fallback}


def said_from_json(raw: Any) -> Said:
    """The inverse of :func:`said_to_json`."""
    return raw if isinstance(raw, str) else _message(raw)


def _message(raw: Mapping[str, Any]) -> Message:
    values = (
        (name, _message(value["message"]) if isinstance(value, Mapping) else value)
        for name, value in raw["values"]
    )
    return Message(raw["id"], tuple(values), raw["fallback"])


FIGURES = Form[Sequence[Rounds]]("figures", _rounds_to_json, _rounds_from_json)
MEANS = Form[RoundMeans]("round_means", _means_to_json, _means_from_json)
SQUARES = Form[Shown]("squares", _shown_to_json, _shown_from_json)
DOUBTS = Form[Doubted]("doubts", _doubts_to_json, _doubts_from_json)
