"""Converts computed figures of campaigns to JSON, in which the store keeps them, and back.

Numbers are restored exactly. Raise :data:`FORM` whenever any of them is computed or written
differently: everything kept before is then computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from benchlab.analysis.cause.causes import Causes
from benchlab.analysis.verdict.calibration_checks import RoundMeans
from benchlab.analysis.verdict.estimates import Shown
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Squares
from benchlab.arrays import np
from benchlab.language import Said
from benchlab.plan.metric import Metric

FORM = 6

T = TypeVar("T")
V = TypeVar("V")
Reasons = Mapping[str, Sequence[Said]]
Doubted = tuple[Reasons, Reasons]
"""Why no change can be concluded, and why a workload cannot be `equivalent`; each by workload."""


@dataclass(frozen=True)
class Form(Generic[T]):
    """How one kept part is converted to JSON values and back."""

    part: str
    to_json: Callable[[T], Any]
    from_json: Callable[[Any], T]


def validated(part: str, adapter: TypeAdapter[T]) -> Form[T]:
    """A form that Pydantic converts and validates."""
    to_json = partial(adapter.dump_python, mode="json")
    return Form(part, to_json, adapter.validate_python)


def _rounds_to_json(workloads: Sequence[Rounds]) -> list[dict[str, Any]]:
    return [
        {
            **{one.name: getattr(rounds, one.name) for one in fields(rounds)},
            "metrics": [vars(metric) for metric in rounds.metrics],
            "rounds": list(rounds.rounds),
            "values": {metric: array.tolist() for metric, array in rounds.values.items()},
            "deployments": list(rounds.deployments),
        }
        for rounds in workloads
    ]


def _rounds_from_json(raw: Any) -> Sequence[Rounds]:
    return [
        Rounds(
            **{
                **rounds,
                "metrics": tuple(Metric(**metric) for metric in rounds["metrics"]),
                "threads": tuple(rounds["threads"]),
                "sides": tuple(rounds["sides"]),
                "values": {metric: np.array(found) for metric, found in rounds["values"].items()},
            }
        )
        for rounds in raw
    ]


def _by_key(part: str, to_json: Callable[[V], Any], from_json: Callable[[Any], V]) -> Form[Any]:
    """A form for values by workload, metric, thread counts and kind of variation."""
    return Form[Mapping[Any, V]](
        part,
        lambda values: [
            [[workload, metric, sorted(threads), kind], to_json(value)]
            for (workload, metric, threads, kind), value in values.items()
        ],
        lambda raw: {
            (workload, metric, frozenset(threads), kind): from_json(value)
            for (workload, metric, threads, kind), value in raw
        },
    )


def _squares(raw: Any) -> Squares:
    return Squares(*map(np.asarray, raw))


FIGURES = Form[Sequence[Rounds]]("figures", _rounds_to_json, _rounds_from_json)
MEANS: Form[RoundMeans] = _by_key("round_means", list, list)
SQUARES: Form[Shown] = _by_key("squares", lambda of: [float(one) for one in astuple(of)], _squares)
DOUBTS = validated("doubts", TypeAdapter(Doubted))
CAUSES = validated("causes", TypeAdapter(Causes))
