"""How what campaigns show is kept as JSON: figures, doubts, and the squares of A/A campaigns.

Every number comes back to its last digit. Raise :data:`FORM` whenever any of it is computed or
written in another way: what was kept before is then computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from benchlab.analysis.verdict.calibration import Shown
from benchlab.analysis.verdict.calibration_checks import RoundMeans
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Squares
from benchlab.arrays import np
from benchlab.language import Said
from benchlab.plan.metric import Metric

FORM = 2

T = TypeVar("T")
Reasons = Mapping[str, Sequence[Said]]
Doubted = tuple[Reasons, Reasons]
"""By workload, why no change can be concluded, and why it cannot be `equivalent`."""
_DOUBTED: TypeAdapter[Doubted] = TypeAdapter(Doubted)


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


def _shown_to_json(shown: Shown) -> list[Any]:
    return [
        [[workload, metric, sorted(threads), kind], [float(one) for one in astuple(squares)]]
        for (workload, metric, threads, kind), squares in shown.items()
    ]


def _shown_from_json(raw: Any) -> Shown:
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


FIGURES = Form[Sequence[Rounds]]("figures", _rounds_to_json, _rounds_from_json)
MEANS = Form[RoundMeans]("round_means", _means_to_json, _means_from_json)
SQUARES = Form[Shown]("squares", _shown_to_json, _shown_from_json)
DOUBTS = Form[Doubted](
    "doubts", lambda found: _DOUBTED.dump_python(found, mode="json"), _DOUBTED.validate_python
)
