"""Runs the suites in Great Expectations, and renders what it finds."""

from __future__ import annotations

import contextlib
import gc
import logging
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from benchlab.analysis.gates.data_docs.tables import ROW, WITHOUT_VALUE, Check, Suite
from benchlab.analysis.gates.gates import Gate
from benchlab.errors import BenchlabError
from benchlab.results.records import GateKind

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )
    from great_expectations.expectations.expectation import Expectation

# How many rows a disagreement names.
SHOWN = 3
# Great Expectations lets a null pass, so lost values are checked for here.
VALUES_ARE_THERE = Gate.model_validate(
    {
        "id": WITHOUT_VALUE,
        "sentence": "every gate that was evaluated has a value",
        "column": WITHOUT_VALUE,
        "class": "validity",
        "max": 0,
        "min": 0,
    }
)


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
    """One gate as Great Expectations found it.

    Attributes:
        failed: the numbers of the rows in which it failed.
        worded: the result in Great Expectations' words; empty where no row was evaluated.
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
    """A suite with what Great Expectations found.

    Attributes:
        gates: those of the suite, in its order.
        all_have_values: whether every gate that was evaluated has a value, worded.
    """

    suite: Suite
    gates: tuple[Judged, ...]
    all_have_values: Markup

    def disagreements(self) -> Iterator[str]:
        """Where this differs from what was found during measurement, gate by gate."""
        for judged in self.gates:
            check, gate = judged.check, judged.check.gate
            rows: dict[str, list[int]] = {}
            for number, status in enumerate(check.stored):
                if check.has_lost_value(number):
                    rows.setdefault(f"stored as {status}, but without a value", []).append(number)
                elif (status == "fail") != (number in judged.failed):
                    found = "failed" if number in judged.failed else "passed"
                    what = f"stored as {status}, found {found} by Great Expectations"
                    rows.setdefault(what, []).append(number)
            for what, numbers in rows.items():
                named = "; ".join(map(self.suite.name_of, numbers[:SHOWN]))
                more = f"; and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
                yield f"gate {gate.id}: {what} (allowed {gate.bounds()}): {named}{more}"


def load() -> None:
    """Import Great Expectations, so that :func:`evaluate` need not."""
    with _quiet(), _uncollected():
        import great_expectations.expectations.core.expect_column_values_to_be_between  # noqa: F401


def evaluate(suites: Sequence[Suite]) -> list[Evaluated]:
    """Run every suite over its table.

    Raises:
        BenchlabError: an expectation could not be evaluated; names the gate.
    """
    with _quiet():
        context = _context()
        return [_evaluate(context, suite) for suite in suites]


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


def _evaluate(context: EphemeralDataContext, suite: Suite) -> Evaluated:
    import great_expectations as gx

    name = f"{suite.table}-{suite.kind}"
    gates = [*(check.gate for check in suite.checks if check.evaluated), VALUES_ARE_THERE]
    batch = context.data_sources.add_pandas(name).read_dataframe(_frame(suite))
    found = batch.validate(
        gx.ExpectationSuite(name=name, expectations=[_expectation(gate) for gate in gates]),
        result_format={
            "result_format": "COMPLETE",
            "unexpected_index_column_names": [ROW],
            "return_unexpected_index_query": False,
        },
    )
    results = {_column(result): result for result in found.results}
    judged = tuple(
        _judged(suite, check, results.get(check.gate.id), number)
        for number, check in enumerate(suite.checks, start=1)
    )
    return Evaluated(suite, judged, _worded(results[WITHOUT_VALUE], len(judged) + 1))


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
        meta={"gate": gate.id, "class": gate.kind},
        severity=FailureSeverity.CRITICAL if gate.kind == "validity" else FailureSeverity.WARNING,
    )


def _frame(suite: Suite) -> pd.DataFrame:
    import pandas as pd

    numbers = range(len(suite.rows))
    columns: dict[str, Any] = {ROW: numbers}
    for check in suite.checks:
        if check.evaluated:
            columns[check.gate.id] = pd.Series(check.values, dtype=float)
    lost = [sum(check.has_lost_value(row) for check in suite.checks) for row in numbers]
    return pd.DataFrame({**columns, WITHOUT_VALUE: lost})


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
    rows: tuple[int, ...] = ()
    missing, failed, worded = len(suite.rows), 0, Markup()
    if result is not None:
        missing = int(result.result["missing_count"])
        failed = int(result.result["unexpected_count"])
        rows = tuple(int(row[ROW]) for row in result.result.get("unexpected_index_list") or ())
        worded = _worded(result, number)
    passed = len(suite.rows) - missing - failed
    gate = check.gate
    outcome = GateOutcome(gate.id, suite.table, gate.kind, gate.sentence, passed, failed, missing)
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
