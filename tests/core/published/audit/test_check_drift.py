"""The same version in two reports: a difference beyond the threshold is found."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from benchlab.published.audit.audit import audit
from benchlab.published.model import PublishedReport
from tests.audited import (
    OLD,
    page,
    row,
    workload,
)
from tests.builders.discrepancies import kinds


def two_reports(later: str, **values: Any) -> list[PublishedReport]:
    """Two reports that share v5.1.1; ``later`` is its TPS in the second."""
    first = page(
        workload([row(4, {"tps": "900"}, {"tps": "1000"}, versions=("v5.0", OLD))],
                 versions=("v5.0", OLD)),
        versions=("v5.0", OLD), source="first.md",
    )  # fmt: skip
    rows = [row(4, {"tps": later}, {"tps": "1000"}), row(8, {"tps": "1"}, {"tps": "1"})]
    return [first, page(workload(rows), source="second.md", **values)]


@pytest.mark.parametrize(("later", "drift"), [("1050", "5"), ("900", "-10"), ("1015", None)])
def test_a_version_that_two_reports_measured_apart_is_found(later: str, drift: str | None) -> None:
    """Beyond 2 %, in the later report, over the threads that both have."""
    first, second = audit(two_reports(later))
    assert first.discrepancies == ()
    assert [(discrepancy.kind, discrepancy.recomputed) for discrepancy in second.discrepancies] == (
        [("same_version_drift", Decimal(drift))] if drift else []
    )


def test_one_page_alone_has_no_drift() -> None:
    """There is nothing to compare it with."""
    assert kinds(two_reports("2000")[1]) == []


def test_the_cloud_is_another_place() -> None:
    """TiDB Cloud is not compared with own hosts, but with other pages about TiDB Cloud."""
    own, other = two_reports("2000")
    cloud = replace(own, title=f"TiDB Cloud: {own.title}")
    assert kinds(cloud, other) == []
    assert kinds(cloud, replace(other, title=cloud.title)) == ["same_version_drift"]


def test_languages_of_one_report_are_not_compared() -> None:
    """A Chinese page repeats the English one."""
    english = two_reports("1050")[1]
    chinese = two_reports("1050.0", language="zh")[1]
    assert kinds(english, chinese) == []
    both = audit([*two_reports("1050"), chinese])
    assert [len(audited.discrepancies) for audited in both] == [0, 1, 0]


def test_more_exact_names_keep_versions_apart() -> None:
    """v5.1 of one page was v5.1.0, of the other v5.1.4."""
    first = page(
        workload([row(4, {"tps": "900"}, {"tps": "1000"}, versions=("v5.0", "v5.1"))],
                 versions=("v5.0", "v5.1")),
        versions=("v5.0", "v5.1"), exact=("v5.0.0", "v5.1.0"),
    )  # fmt: skip
    for exact, expected in (("v5.1.4", []), ("v5.1.0", ["same_version_drift"])):
        second = page(
            workload([row(4, {"tps": "2000"}, {"tps": "3000"}, versions=("v5.1", "v5.2"))],
                     versions=("v5.1", "v5.2")),
            versions=("v5.1", "v5.2"), exact=(exact, "v5.2.0"),
        )  # fmt: skip
        assert kinds(first, second) == expected
