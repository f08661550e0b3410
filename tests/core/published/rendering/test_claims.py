"""What a page claims is listed beside what its figures give."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from benchlab import language
from benchlab.published.model import (
    Claim,
    Printed,
    StatedChange,
)
from benchlab.published.rendering.page import Page
from tests.builders.recorded_page import LANGUAGES, NEW, OLD, markdown, report, rows, workload


def test_claims_are_listed_as_claims_beside_what_the_figures_give() -> None:
    """All of them, contradicting ones too; no sentence asserts one."""
    change = StatedChange("oltp_point_select", None, Printed("9.99"), -1)
    other = replace(change, pct=Printed("8.88"), threads=50, direction=1)
    claim = Claim("Lookups are worse.", 12, "section", ("v9.9.9",), (change, other))
    text = markdown(report(workload(claims=[claim])))
    assert rows(text, "Line")[1:] == [
        ["12", "Point Select", "all", "v9.9.9", "-9.99%", "+2.50%"],
        ["12", "Point Select", "50", "v9.9.9", "+8.88%", "+10.00%"],
    ]
    for once in ("v9.9.9", "9.99", "8.88"):
        assert text.count(once) == text[text.index("| Line |") :].count(once)
    assert "Lookups are worse" not in text


def test_a_claim_is_about_the_results_that_it_stands_beside() -> None:
    """One that names no workload; in the overview of a page with several it is about none."""
    change = StatedChange(None, 50, Printed("9.99"), 1)
    claim = Claim("It is better.", 12, "section", (), (change,))
    found = report(workload(claims=[claim]), workload(name="oltp_insert"))
    before = replace(claim, place="overview", line=3, changes=(replace(change, threads=100),))
    found = replace(found, claims=(before,))
    assert rows(markdown(found), "Line")[1:] == [
        ["3", "n/a", "100", "n/a", "+9.99%", "n/a"],
        ["12", "Point Select", "50", "n/a", "+9.99%", "+10.00%"],
    ]


def chart_only(*claims: Claim, code: str = "en") -> str:
    """What is said in place of the figures of a workload that has none."""
    page = Page(report(workload(shape=None, claims=claims)), language.load(code))
    return page.without_figures(page.sections[0])


def change(pct: str, direction: Literal[-1, 1]) -> StatedChange:
    """Over all thread counts."""
    return StatedChange("oltp_point_select", None, Printed(pct), direction)


@pytest.mark.parametrize(
    ("direction", "en", "zh"),
    [
        (1, f"of {NEW} is 2% higher than that of {OLD}.", "提升了 2%"),
        (-1, f"of {NEW} is 2% lower than that of {OLD}.", "下降了 2%"),
    ],
)
def test_a_claim_keeps_its_direction(direction: Literal[-1, 1], en: str, zh: str) -> None:
    """In either language."""
    claim = Claim("A claim.", 12, "section", (OLD, NEW), (change("2", direction),))
    assert en in chart_only(claim)
    assert zh in chart_only(claim, code="zh")


@pytest.mark.parametrize(
    ("versions", "told"),
    [((), True), ((NEW,), True), (("v3.2", OLD), True), (("v2.1", "v2.0"), False)],
)
def test_a_claim_about_other_versions_is_not_taken_for_the_page_s(
    versions: tuple[str, ...], told: bool
) -> None:
    """It is listed with its versions at the end."""
    claim = Claim("It is better by 7.7%.", 12, "section", versions, (change("7.7", 1),))
    text = chart_only(claim)
    assert ("7.7%" in text) is told
    assert text.endswith("What it claims stands at the end.") is not told


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_list_of_claims_is_referred_to_only_where_there_is_one(code: str) -> None:
    """Of a workload without figures and without a claim that is said."""
    at_the_end = {"en": "at the end", "zh": "文末"}[code]
    assert at_the_end not in chart_only(code=code)
    of_another = Claim(
        "Better.", 3, "overview", (), (StatedChange("oltp_insert", None, Printed("3"), 1),)
    )
    of_it = replace(of_another, changes=(StatedChange("oltp_point_select", 8, Printed("3"), 1),))
    for claim, listed in ((of_another, False), (of_it, True)):
        found = report(workload(shape=None), workload(name="oltp_insert"))
        text = markdown(replace(found, claims=(claim,)), code)
        assert (at_the_end in text) is listed
