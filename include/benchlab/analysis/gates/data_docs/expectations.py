"""Runs the suites of a whole campaign in Great Expectations, and renders what it finds."""

from __future__ import annotations

import contextlib
import gc
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup

from benchlab.analysis.gates.data_docs.tables import ROW, Check, Suite
from benchlab.analysis.gates.gates import Consequence, Gate
from benchlab.errors import BenchlabError
from benchlab.results.records import GateKind

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )
    from great_expectations.expectations.expectation import Expectation


# How grave a failure is to Great Expectations, by what becomes of the verdict.
SEVERITIES: Mapping[Consequence, Literal["critical", "warning", "info"]] = {
    "unstable": "critical",
    "not equivalent": "warning",
    "note": "info",
}


@dataclass(frozen=True)
class GateOutcome:
    """How often a gate passed, failed and was not evaluated, in rows of its table."""

    gate: str
    table: str
    kind: GateKind
    sentence: str
    passed: int
    failed: int
    not_evaluated: int


@dataclass(frozen=True)
class Judged:
    """What one gate found.

    Attributes:
        failed: the numbers of the rows in which it failed.
        worded: the result in Great Expectations' words; empty where it did not evaluate it.
    """

    check: Check
    outcome: GateOutcome
    failed: tuple[int, ...]
    worded: Markup

    @property
    def state(self) -> str:
        """For the pages: not evaluated, failed or passed."""
        if not self.check.evaluated:
            return "not evaluated"
        return "failed" if self.failed else "passed"


@dataclass(frozen=True)
class Evaluated:
    """A suite with what was found; ``gates`` in its order."""

    suite: Suite
    gates: tuple[Judged, ...]


def load() -> None:
    """Import Great Expectations, so that :func:`evaluate` need not."""
    with _quiet(), _uncollected():
        import great_expectations.expectations.core.expect_column_values_to_be_between  # noqa: F401


def evaluate(suites: Sequence[Suite]) -> list[Evaluated]:
    """Judge every suite: those of a whole campaign by Great Expectations, others as stored.

    Raises:
        BenchlabError: an expectation could not be evaluated; names the gate.
    """
    if not any(_expected(suite) for suite in suites):
        return [_evaluated(suite, {}) for suite in suites]
    with _quiet():
        context = _context()
        return [
            _evaluated(suite, _validate(context, suite) if _expected(suite) else {})
            for suite in suites
        ]


def _expected(suite: Suite) -> list[Gate]:
    """The definitions that Great Expectations evaluates."""
    return [check.definition for check in suite.checks if check.evaluated and check.definition]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the warnings of its imports, and its log except for errors."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector: an import makes objects that stay, and it would look at each of
    them many times, a quarter of the whole time that Great Expectations takes to be imported.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def _context() -> EphemeralDataContext:
    """In memory alone: without a directory, usage statistics and progress bars."""
    load()
    import great_expectations as gx
    from great_expectations.data_context.types.base import (
        DataContextConfig,
        InMemoryStoreBackendDefaults,
        ProgressBarsConfig,
    )

    return gx.get_context(
        mode="ephemeral",
        project_config=DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
            analytics_enabled=False,
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
        ),
    )


def _validate(
    context: EphemeralDataContext, suite: Suite
) -> dict[str, ExpectationValidationResult]:
    """The results by gate."""
    import great_expectations as gx

    name = f"{suite.table}-{suite.kind}"
    batch = context.data_sources.add_pandas(name).read_dataframe(_frame(suite))
    expectations = [_expectation(gate) for gate in _expected(suite)]
    found = batch.validate(
        gx.ExpectationSuite(name=name, expectations=expectations),
        result_format={
            "result_format": "COMPLETE",
            "unexpected_index_column_names": [ROW],
            "return_unexpected_index_query": False,
        },
    )
    return {_column(result): result for result in found.results}


def _evaluated(suite: Suite, results: Mapping[str, ExpectationValidationResult]) -> Evaluated:
    return Evaluated(
        suite,
        tuple(
            _judged(suite, check, results.get(check.gate), number)
            for number, check in enumerate(suite.checks, start=1)
        ),
    )


def _expectation(gate: Gate) -> Expectation:
    from great_expectations.expectations.core.expect_column_values_to_be_between import (
        ExpectColumnValuesToBeBetween,
    )
    from great_expectations.expectations.metadata_types import FailureSeverity

    return ExpectColumnValuesToBeBetween(
        column=gate.id,
        min_value=gate.min,
        max_value=gate.max,
        notes=gate.sentence,
        meta={"gate": gate.id, "then": gate.then},
        severity=FailureSeverity(SEVERITIES[gate.then or "note"]),
    )


def _frame(suite: Suite) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {ROW: range(len(suite.rows))}
    for check in suite.checks:
        if check.evaluated:
            columns[check.gate] = pd.Series(check.values, dtype=float)
    return pd.DataFrame(columns)


def _column(result: ExpectationValidationResult) -> str:
    asked = result.expectation_config
    if asked is None:
        raise BenchlabError("a result does not say which gate it is of")
    column = str(asked.kwargs["column"])
    if "unexpected_count" not in result.result:
        raise BenchlabError(f"gate {column}: not evaluated: {result.exception_info}")
    return column


def _judged(
    suite: Suite, check: Check, result: ExpectationValidationResult | None, number: int
) -> Judged:
    missing = check.stored.count("not evaluated")
    if result is None:
        rows = tuple(row for row, status in enumerate(check.stored) if status == "fail")
        worded = Markup()
    else:
        rows = tuple(int(row[ROW]) for row in result.result.get("unexpected_index_list") or ())
        worded = _worded(result, number)
    counts = len(suite.rows) - missing - len(rows), len(rows), missing
    outcome = GateOutcome(check.gate, suite.table, suite.kind, check.sentence, *counts)
    return Judged(check, outcome, rows, worded)


def _worded(result: ExpectationValidationResult, number: int) -> Markup:
    """One result, rendered by Great Expectations: its own texts, with escaped parameters.

    Without the samples of what failed, which it would show by value and cut after ten rows: the
    page has all rows.
    """
    from great_expectations.render.renderer.column_section_renderer import (
        ValidationResultsColumnSectionRenderer,
    )

    for name in ("partial_unexpected_list", "partial_unexpected_counts"):
        result.result.pop(name, None)
    section = ValidationResultsColumnSectionRenderer().render([result])  # type: ignore[no-untyped-call]
    _, table = section.content_blocks
    rendered = _view().render(
        {"content_block": table.to_json_dict()},
        section_loop={"index": number},
        content_block_loop={"index": 1},
    )
    return Markup(rendered)


@cache
def _view() -> Any:
    """Great Expectations' renderer: a single one, because each compiles its templates anew."""
    from great_expectations.render.view.view import DefaultJinjaComponentView

    return DefaultJinjaComponentView()
