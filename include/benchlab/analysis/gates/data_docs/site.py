"""The pages: each expectation as Great Expectations words it, in pages that stand alone.

Its own pages fetch their style, their scripts and their logo from elsewhere, and without these the
list of results stays empty. So only the results are rendered by it; the page around them has its
style within, no script, and every row that failed by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from benchlab.analysis.gates.data_docs.suites import Evaluated, GateOutcome, quiet
from benchlab.analysis.gates.data_docs.tables import NO_ATTEMPT, Check
from benchlab.language import templates

if TYPE_CHECKING:
    from great_expectations.core import ExpectationValidationResult

TITLES = {
    ("trials", "validity"): "Gates of validity, trial by trial",
    ("trials", "symptom"): "Gates of symptom, trial by trial",
    ("cells", "validity"): "Gates of validity, cell by cell",
    ("cells", "symptom"): "Gates of symptom, cell by cell",
}
# Samples of what failed, which it would show by value and cut after ten rows; the page has all.
_SAMPLES = ("partial_unexpected_list", "partial_unexpected_counts")


@dataclass(frozen=True)
class _Section:
    """One gate on a page; ``rows`` are those that failed, cell by cell of their table."""

    check: Check
    outcome: GateOutcome
    worded: Markup
    rows: list[list[str]]

    @property
    def state(self) -> str:
        if not self.check.evaluated:
            return "not evaluated"
        return "failed" if self.outcome.failed else "passed"


@dataclass(frozen=True)
class _Page:
    name: str
    title: str
    table: str
    kind: str
    rows: int
    columns: tuple[str, ...]
    sections: tuple[_Section, ...]
    all_have_values: Markup

    def in_state(self, state: str) -> list[_Section]:
        return [section for section in self.sections if section.state == state]


def pages(
    title: str, evaluated: Sequence[Evaluated], disagreements: Sequence[str]
) -> dict[str, bytes]:
    """The pages by relative path: the index, and one for each suite.

    Args:
        title: of the campaign.
        evaluated: the suites with what was found.
        disagreements: sentences.
    """
    import great_expectations as gx

    with quiet():
        made = [_page(each) for each in evaluated]
    environment = _environment()
    told = {"title": title, "version": gx.__version__, "disagreements": disagreements}
    texts = {"index.html": environment.get_template("index.html.j2").render(pages=made, **told)}
    for page in made:
        texts[page.name] = environment.get_template("suite.html.j2").render(page=page, **told)
    return {name: text.encode() for name, text in texts.items()}


def _page(each: Evaluated) -> _Page:
    suite = each.suite
    sections = tuple(
        _Section(
            check,
            outcome,
            _worded(each.results[check.gate.id], number) if check.evaluated else Markup(),
            [_row(each, check, row) for row in each.failed.get(check.gate.id, ())],
        )
        for number, (check, outcome) in enumerate(
            zip(suite.checks, each.outcomes, strict=True), start=1
        )
    )
    return _Page(
        f"{suite.table}-{suite.kind}.html",
        TITLES[suite.table, suite.kind],
        suite.table,
        suite.kind,
        len(suite.rows),
        (*(name for name in suite.key if name != "planned"), "found"),
        sections,
        _worded(each.all_have_values, len(sections) + 1),
    )


def _row(each: Evaluated, check: Check, number: int) -> list[str]:
    row = each.suite.rows[number]
    cells = [_text(name, row[name]) for name in each.suite.key if name != "planned"]
    value = check.values[number]
    return [*cells, _text("found", value)]


def _text(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "–"
    if name == "attempt" and value == NO_ATTEMPT:
        return "never tried"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) != float("inf") else "no finite number"
    return str(value)


def _worded(result: ExpectationValidationResult, number: int) -> Markup:
    """One result, rendered by Great Expectations.

    It escapes what is a parameter, and there is nothing else but texts of its own.
    """
    from great_expectations.render.renderer.column_section_renderer import (
        ValidationResultsColumnSectionRenderer,
    )

    shown = deepcopy(result)
    for name in _SAMPLES:
        shown.result.pop(name, None)
    section = ValidationResultsColumnSectionRenderer().render([shown])  # type: ignore[no-untyped-call]
    _, table = section.content_blocks
    rendered = _view().render(
        {"content_block": table.to_json_dict()},
        section_loop={"index": number},
        content_block_loop={"index": 1},
    )
    return Markup(rendered)


@cache
def _view() -> Any:
    """Great Expectations' renderer: one for all results, for each compiles its templates anew."""
    from great_expectations.render.view.view import DefaultJinjaComponentView

    return DefaultJinjaComponentView()


@cache
def _environment() -> jinja2.Environment:
    return templates.environment("benchlab.analysis.gates.data_docs")
