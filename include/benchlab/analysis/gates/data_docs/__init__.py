"""Data docs: what Great Expectations finds over a whole campaign, as pages beside the report.

A trial's validity is decided once, while it is measured, by the pure predicates of
:mod:`benchlab.analysis.gates.gates`; the pages show what was found then. What no trial can show by
itself (failures by side, headroom of the client, balance of the order, completeness, how well A/A
campaigns fit) are tables with a row a workload. Their gates become suites of Great Expectations,
which explains them here. The comparison reads the same definitions, so that a verdict does not
depend on whether this has run.

Great Expectations' own pages fetch style, scripts and logo from elsewhere, and without these the
list of results stays empty. So it renders only the results; the page around them is Benchlab's own:
it contains its style, has no script, and lists every row that failed.

Importing Great Expectations takes about ten seconds, so it is imported where it is used. Nothing
is written or fetched; the pages are returned as bytes and need no other file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchlab.analysis.gates.data_docs import tables
from benchlab.analysis.gates.data_docs.expectations import Evaluated, GateOutcome, Judged, evaluate
from benchlab.analysis.gates.data_docs.tables import CampaignRow, CellRow
from benchlab.errors import BenchlabError
from benchlab.language import templates
from benchlab.results.records import TrialResult

if TYPE_CHECKING:
    from benchlab.analysis.gates.gates import Gate

__all__ = [
    "CampaignRow",
    "CellRow",
    "DataDocsError",
    "GateOutcome",
    "Validation",
    *("build", "guarded", "summary"),
]


class DataDocsError(BenchlabError):
    """The gates of a campaign could not be evaluated, or the pages could not be made."""


@dataclass(frozen=True)
class Validation:
    """What Great Expectations found.

    Attributes:
        files: the pages by relative path, ``index.html`` first.
        outcomes: one for each gate, in the order of the definitions.
        warnings: sentences: which gates of the whole campaign failed, and what follows.
    """

    files: dict[str, bytes]
    outcomes: tuple[GateOutcome, ...]
    warnings: tuple[str, ...]


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn any exception inside into a :class:`DataDocsError`, which a campaign survives."""
    try:
        yield
    except DataDocsError:
        raise
    except Exception as error:
        raise DataDocsError(
            f"validate: no data docs: {type(error).__name__}: {error}\n"
            "Measurements and verdicts do not depend on them. If a gate is named, check its "
            "definition."
        ) from error


@guarded()
def build(
    gates: Sequence[Gate],
    trials: Sequence[TrialResult],
    used: Collection[tuple[str, int]],
    cells: Sequence[CellRow],
    campaign: Sequence[CampaignRow],
    title: str,
) -> Validation:
    """Evaluate the gates of the whole campaign, and make the pages.

    Example:
        ``build(gates, trials, {("t1", 1)}, [], [], "c1").files["index.html"]``

    Args:
        gates: the definitions for the campaign's metric, so that an id occurs once in a table.
        trials: all of them with every attempt, including invalid ones.
        used: id and attempt of the trials whose figures are used.
        cells: the gates' results of each cell and side.
        campaign: what is to be evaluated of each workload.
        title: of the campaign, for the pages.

    Raises:
        DataDocsError: a definition does not fit the data, or Great Expectations failed; names the
            gate where it is known.
    """
    pages = evaluate(
        [
            *tables.suites_of_campaign(gates, campaign),
            *tables.suites_of_trials(trials, used),
            *tables.suites_of_cells(cells),
        ]
    )
    outcomes = tuple(judged.outcome for page in pages for judged in page.gates)
    warnings = tuple(sentence for page in pages for sentence in _warnings(page))
    return Validation(_files(title, pages), outcomes, warnings)


def _warnings(page: Evaluated) -> Iterator[str]:
    """A sentence for each row of the whole campaign in which a gate failed."""
    for judged in page.gates:
        if gate := judged.check.definition:
            for number in judged.failed:
                row = page.suite.rows[number]
                failure = gate.failure(judged.check.values[number])
                yield f"{row['workload']}, {row['metric']}: {failure}; {gate.then}"


def summary(outcomes: Sequence[GateOutcome]) -> str:
    """How many gates failed, passed and were not evaluated, in a line."""
    failed = sum(gate.failed > 0 for gate in outcomes)
    idle = sum(gate.passed + gate.failed == 0 for gate in outcomes)
    return (
        f"{len(outcomes)} gates: {failed} failed at least once, {idle} could not be evaluated, "
        f"{len(outcomes) - failed - idle} passed"
    )


def _files(title: str, pages: Sequence[Evaluated]) -> dict[str, bytes]:
    """The pages by relative path: the index, and one for each suite."""
    version = metadata.version("great_expectations")
    environment = templates.environment(__name__)
    environment.globals.update(title=title, version=version, failed_rows=_failed_rows)
    index, suite = map(environment.get_template, ("index.html.j2", "suite.html.j2"))
    texts = {"index.html": index.render(pages=pages)}
    for page in pages:
        texts[f"{page.suite.table}-{page.suite.kind}.html"] = suite.render(page=page)
    return {name: text.encode() for name, text in texts.items()}


def _failed_rows(page: Evaluated, judged: Judged) -> list[dict[str, str]]:
    """The rows in which a gate failed, by column, as they are shown."""
    return [
        {
            name: _text(value)
            for name, value in {
                **page.suite.rows[number],
                "found": judged.check.values[number],
            }.items()
        }
        for number in judged.failed
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) != float("inf") else "no finite number"
    return str(value)
