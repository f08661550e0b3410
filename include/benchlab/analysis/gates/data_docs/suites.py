"""The suites in Great Expectations: built from the gates' definitions, run once."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchlab.analysis.gates.data_docs.tables import ROW, WITHOUT_VALUE, Check, Suite
from benchlab.errors import BenchlabError
from benchlab.results.records import GateKind

if TYPE_CHECKING:
    import pandas as pd
    from great_expectations.core import ExpectationValidationResult
    from great_expectations.data_context.data_context.ephemeral_data_context import (
        EphemeralDataContext,
    )
    from great_expectations.expectations.expectation import Expectation

    from benchlab.analysis.gates.gates import Gate

# Rows that a disagreement names.
SHOWN = 3


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
class Evaluated:
    """A suite with what Great Expectations found.

    Attributes:
        outcomes: one for each gate of the suite, in its order.
        results: by gate, of those that were evaluated in one row at least.
        failed: by gate, the numbers of the rows in which it failed.
        all_have_values: whether every gate that was evaluated has a value.
    """

    suite: Suite
    outcomes: tuple[GateOutcome, ...]
    results: Mapping[str, ExpectationValidationResult]
    failed: Mapping[str, tuple[int, ...]]
    all_have_values: ExpectationValidationResult

    def disagreements(self) -> Iterator[str]:
        """Where this is not what was found when it was measured, gate by gate."""
        for check in self.suite.checks:
            gate, failed = check.gate, set(self.failed.get(check.gate.id, ()))
            rows: dict[str, list[int]] = {}
            for number, status in enumerate(check.stored):
                if status != "not evaluated" and check.values[number] is None:
                    rows.setdefault(f"stored as {status}, but without a value", []).append(number)
                elif (status == "fail") != (number in failed):
                    found = "failed" if number in failed else "passed"
                    what = f"stored as {status}, found {found} by Great Expectations"
                    rows.setdefault(what, []).append(number)
            for what, numbers in rows.items():
                yield f"gate {gate.id}: {what} (allowed {gate.bounds()}): {self._named(numbers)}"

    def _named(self, numbers: Sequence[int]) -> str:
        named = "; ".join(self.suite.name_of(number) for number in numbers[:SHOWN])
        more = len(numbers) - SHOWN
        return f"{named}; and {more} more" if more > 0 else named


def evaluate(suites: Sequence[Suite]) -> list[Evaluated]:
    """Run every suite over its table.

    Raises:
        BenchlabError: an expectation could not be evaluated; names the gate.
    """
    with quiet():
        context = _context()
        return [_evaluate(context, suite) for suite in suites]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of its imports, and without its log but for errors."""
    logger = logging.getLogger("great_expectations")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _context() -> EphemeralDataContext:
    """In memory alone: without a directory, usage statistics and progress bars."""
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
    source = context.data_sources.add_pandas(name)
    batch = source.add_dataframe_asset(suite.table).add_batch_definition_whole_dataframe("all")
    judged = [check for check in suite.checks if check.evaluated]
    expectations = [*(_expectation(check.gate) for check in judged), _values_are_there()]
    definition = gx.ValidationDefinition(
        name=name,
        data=batch,
        suite=context.suites.add(gx.ExpectationSuite(name=name, expectations=expectations)),
    )
    found = context.validation_definitions.add(definition).run(
        batch_parameters={"dataframe": _frame(suite, judged)},
        result_format={
            "result_format": "COMPLETE",
            "unexpected_index_column_names": [ROW, *suite.key],
            "return_unexpected_index_query": False,
        },
    )
    by_column = {_column(result): result for result in found.results}
    for column, result in by_column.items():
        _refuse_broken(column, result)
    results = {check.gate.id: by_column[check.gate.id] for check in judged}
    failed = {gate: _failed_rows(result) for gate, result in results.items()}
    outcomes = tuple(_outcome(suite, check, results.get(check.gate.id)) for check in suite.checks)
    return Evaluated(suite, outcomes, results, failed, by_column[WITHOUT_VALUE])


def _column(result: ExpectationValidationResult) -> str:
    asked = result.expectation_config
    if asked is None:
        raise BenchlabError("a result does not say which gate it is of")
    return str(asked.kwargs["column"])


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


def _values_are_there() -> Expectation:
    """Great Expectations lets a null pass, so that a lost value has to be looked for."""
    from great_expectations.expectations.core.expect_column_values_to_be_between import (
        ExpectColumnValuesToBeBetween,
    )

    return ExpectColumnValuesToBeBetween(
        column=WITHOUT_VALUE,
        min_value=0,
        max_value=0,
        notes="every gate that was evaluated has a value",
    )


def _frame(suite: Suite, judged: Sequence[Check]) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, pd.Series[Any]] = {
        name: pd.Series([row[name] for row in suite.rows], dtype=object) for name in suite.key
    }
    for check in judged:
        columns[check.gate.id] = pd.Series(list(check.values), dtype=float)
    without = [
        sum(
            check.stored[number] != "not evaluated" and check.values[number] is None
            for check in suite.checks
        )
        for number in range(len(suite.rows))
    ]
    return pd.DataFrame({ROW: range(len(suite.rows)), **columns, WITHOUT_VALUE: without})


def _refuse_broken(column: str, result: ExpectationValidationResult) -> None:
    """What could not be evaluated has no count, and counts for nothing."""
    if "unexpected_count" not in result.result:
        raise BenchlabError(f"gate {column}: not evaluated: {result.exception_info}")


def _failed_rows(result: ExpectationValidationResult) -> tuple[int, ...]:
    return tuple(int(each[ROW]) for each in result.result.get("unexpected_index_list") or ())


def _outcome(suite: Suite, check: Check, result: ExpectationValidationResult | None) -> GateOutcome:
    total, missing, failed = len(suite.rows), len(suite.rows), 0
    if result is not None:
        total = int(result.result["element_count"])
        missing = int(result.result["missing_count"])
        failed = int(result.result["unexpected_count"])
    passed = total - missing - failed
    gate = check.gate
    return GateOutcome(gate.id, suite.table, gate.kind, gate.sentence, passed, failed, missing)
