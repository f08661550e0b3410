"""Checks tables with Great Expectations, in memory: nothing is written, sent or shown.

Importing Great Expectations takes seconds, so it is imported where it is used.
"""

from __future__ import annotations

import contextlib
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Any

from benchlab.report.model.validation import Failure, TableResult, Validation
from benchlab.report.validation.tables import ANY, NEAR, Fact, Table, key_of

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)
_ENGINE, _PLACE = "great_expectations", "place"
_COLUMNS = (_PLACE, "row", "column", "number", "least", "most", "apart", "text", "expected text")
_AT_LEAST = "expect_column_pair_values_a_to_be_greater_than_b"
_LIMIT = {"or_equal": True, "ignore_row_if": "either_value_is_missing"}
_TEXTS = {"column_A": "text", "column_B": "expected text"}
# The expectations: name, arguments, and the wording of what was expected.
_EXPECTED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("expect_table_row_count_to_equal", {}, ""),
    ("expect_compound_columns_to_be_unique", {"column_list": ["row", "column"]}, "× 1"),
    (
        "expect_column_pair_values_to_be_equal",
        {**_TEXTS, "ignore_row_if": "both_values_are_missing"},
        "= {expected}",
    ),
    (
        "expect_column_values_to_be_between",
        {"column": "apart", "min_value": 0.0, "max_value": NEAR},
        "= {expected}",
    ),
    (_AT_LEAST, {"column_A": "number", "column_B": "least", **_LIMIT}, "≥ {least}"),
    (_AT_LEAST, {"column_A": "most", "column_B": "number", **_LIMIT}, "≤ {most}"),
)


def check(tables: Sequence[Table]) -> Validation:
    """Check tables; an expectation that cannot be evaluated counts as failed.

    Example:
        ``check(of_report(report, files)).failures`` is empty.
    """
    with _quiet():
        context = _context()
        found = [(table, _failures(context, table)) for table in tables]
    return Validation(
        key=key_of(tables),
        made_with=f"{_ENGINE} {metadata.version(_ENGINE)}",
        tables=tuple(
            TableResult(table.name, len(table.facts), len(failures), sum(map(bool, failures)))
            for table, failures in found
        ),
        failures=tuple(one for _, failures in found for of_one in failures for one in of_one),
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress all warnings, and Great Expectations' log except for errors."""
    logger = logging.getLogger(_ENGINE)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _context() -> Any:
    """A context in memory: without a directory, usage statistics or progress bars."""
    import great_expectations as gx
    import great_expectations.expectations.core
    from great_expectations.data_context.types import base

    config = base.DataContextConfig(
        store_backend_defaults=base.InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=base.ProgressBarsConfig(globally=False, metric_calculations=False),
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def _failures(context: Any, table: Table) -> list[list[Failure]]:
    """The failures of a table, a list for each expectation."""
    import great_expectations as gx
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    asked = [
        ExpectationConfiguration(
            name, kwargs or {"value": table.count}, meta={_PLACE: number}
        ).to_domain_obj()
        for number, (name, kwargs, _) in enumerate(_EXPECTED)
    ]
    batch = context.data_sources.add_pandas(table.name).read_dataframe(_frame(table))
    shown = {"result_format": "COMPLETE", "unexpected_index_column_names": [_PLACE]}
    judged = batch.validate(
        gx.ExpectationSuite(name=table.name, expectations=asked),
        result_format={**shown, "return_unexpected_index_query": False},
    )
    by_number = {one.expectation_config.meta[_PLACE]: one for one in judged.results}
    return [
        [] if by_number[number].success else [*_of_result(table, by_number[number], name, meant)]
        for number, (name, _, meant) in enumerate(_EXPECTED)
    ]


def _of_result(table: Table, result: Any, name: str, meant: str) -> Iterator[Failure]:
    """The facts that fail an expectation; ``*`` where it concerns the table as a whole."""
    places = result.result.get("unexpected_index_list")
    if places is None:
        counted = result.result.get("observed_value")
        if counted is None:
            log.error("%s: %s: %s", table.name, name, result.exception_info)
        found, wanted = ("?", name) if counted is None else (str(counted), f"= {table.count}")
        yield Failure(table.name, "*", "*", found, wanted)
        return
    for place in sorted(int(one[_PLACE]) for one in places):
        fact = table.facts[place]
        shown = {column: _text(value) for column, value in fact._asdict().items()}
        yield Failure(table.name, fact.row, fact.column, shown["found"], meant.format_map(shown))


def _frame(table: Table) -> pd.DataFrame:
    """The facts as a data frame; values that are not numbers are compared as text."""
    import pandas as pd

    rows = [(place, *fact[:2], *_compared(fact)) for place, fact in enumerate(table.facts)]
    frame = pd.DataFrame(rows, columns=[*_COLUMNS])
    return frame.astype(dict.fromkeys(("number", "least", "most", "apart"), float))


def _compared(fact: Fact) -> tuple[Any, ...]:
    """A fact's number and limits, its relative error, and the texts to compare instead."""
    number = fact.found if _is_number(fact.found) else None
    limits = (number, fact.least, fact.most)
    if fact.expected == ANY:
        return (*limits, None, None, None)
    if number is None or not _is_number(fact.expected):
        return (*limits, None, _text(fact.found), _text(fact.expected))
    return (*limits, abs(number - fact.expected) / max(abs(fact.expected), 1.0), None, None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return "n/a" if value is None else str(value)
