"""Data docs: all gates of a campaign once more, by Great Expectations, as pages beside the report.

A trial's validity is decided while it is measured, by the pure predicates of
:mod:`benchlab.analysis.gates.gates`. Here the same definitions become suites of Great Expectations,
which run once over all trials and cells of a campaign. Where the two disagree, the pages say so.
``planned_once`` needs all trials at once and is evaluated here only.

Importing Great Expectations takes about ten seconds, so it is imported where it is used. Nothing
is written or fetched; the pages are returned as bytes and need no other file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchlab.analysis.gates.data_docs import site, suites, tables
from benchlab.analysis.gates.data_docs.suites import GateOutcome
from benchlab.analysis.gates.data_docs.tables import CellRow
from benchlab.errors import BenchlabError
from benchlab.results.records import TrialResult

if TYPE_CHECKING:
    from benchlab.analysis.gates.gates import Gate

__all__ = ["CellRow", "DataDocsError", "GateOutcome", "Validation", "build", "guarded", "summary"]


class DataDocsError(BenchlabError):
    """The gates could not be evaluated once more, or their pages not be made."""


@dataclass(frozen=True)
class Validation:
    """What Great Expectations found.

    Attributes:
        files: the pages by relative path, ``index.html`` first.
        outcomes: one for each gate, in the order of the definitions.
        disagreements: sentences; where it does not find what is stored.
    """

    files: dict[str, bytes]
    outcomes: tuple[GateOutcome, ...]
    disagreements: tuple[str, ...]


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Whatever fails within is a :class:`DataDocsError`, which a campaign survives."""
    try:
        yield
    except DataDocsError:
        raise
    except Exception as error:
        raise DataDocsError(
            f"validate: no data docs: {type(error).__name__}: {error}\n"
            "What was measured and the verdicts do not depend on them. Where a gate is named, see "
            "to its definition."
        ) from error


@guarded()
def build(
    gates: Sequence[Gate],
    trials: Sequence[TrialResult],
    used: Collection[tuple[str, int]],
    planned: Collection[str],
    cells: Sequence[CellRow],
    title: str,
) -> Validation:
    """Evaluate all gates over all trials and cells, and make the pages.

    Args:
        gates: those for the campaign's metric, so that an id is there once in a table.
        trials: all of them with every attempt, the invalid ones too.
        used: id and attempt of the trials whose figures are used.
        planned: the ids of the planned trials.
        cells: the gates' results of each cell and side.
        title: of the campaign, for the pages.

    Raises:
        DataDocsError: a definition does not fit the data, or Great Expectations failed; says at
            which gate, where that is known.
    """
    made = [
        *tables.suites_of_trials(gates, trials, used, planned),
        *tables.suites_of_cells(gates, cells),
    ]
    evaluated = suites.evaluate(made)
    disagreements = (
        *tables.undefined(gates, trials, cells),
        *(sentence for each in evaluated for sentence in each.disagreements()),
    )
    files = site.pages(title, evaluated, disagreements)
    outcomes = tuple(outcome for each in evaluated for outcome in each.outcomes)
    return Validation(files, outcomes, disagreements)


def summary(outcomes: Sequence[GateOutcome]) -> str:
    """How many gates failed, passed and were not evaluated, in a line."""
    failed = sum(each.failed > 0 for each in outcomes)
    idle = sum(each.passed + each.failed == 0 for each in outcomes)
    return (
        f"{len(outcomes)} gates: {failed} failed at least once, {idle} could not be evaluated, "
        f"{len(outcomes) - failed - idle} passed"
    )
