"""What is rendered reads back as what it was rendered from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.plan.document_tables import Metric, Shape
from benchlab.published.model import (
    Block,
    Claim,
    Fact,
    Printed,
    Row,
    Said,
    StatedChange,
    Unread,
)
from tests.builders.recorded_page import (
    COLUMNS,
    LANGUAGES,
    NEW,
    OLD,
    RECORDED,
    ROWS,
    assert_reproduced,
    printed,
    report,
    side,
    workload,
)


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("shape", [*COLUMNS, None])
@pytest.mark.parametrize(
    "name", ["oltp_read_write", "oltp_update_non_index", "oltp_insert", "tpcc"]
)
def test_every_shape_is_read_back_equal(name: str, shape: Shape | None, code: str) -> None:
    """In each language, with no finding."""
    rates: Mapping[str, Metric] = {"tpcc": "tpmc"}
    metric = rates.get(name, "qps")
    made = [
        Row(
            row.threads,
            {
                version: side(**{metric: printed["tps"].text}, p95_ms="4000")
                for version, printed in row.sides.items()
                if shape != "single_version" or version == NEW
            },
            None,
            row.line,
        )
        for row in ROWS
    ]
    claim = Claim(
        "It got worse.", 40, "section", (OLD, NEW), (StatedChange(name, None, Printed("4"), -1),)
    )
    assert_reproduced(
        report(workload(made, shape=shape, name=name, metric=metric, claims=[claim])), code
    )


@st.composite
def any_rows(draw: st.DrawFn) -> list[Row]:
    """Rows of one workload whose latencies are plausible."""
    counts = draw(st.lists(st.integers(1, 5000), min_size=1, max_size=6, unique=True))
    return [
        Row(
            threads,
            {
                version: side(tps=draw(printed(5, 2e6)), p95_ms=draw(printed(1e6, 2e6)))
                for version in (OLD, NEW)
            },
            None,
            1,
        )
        for threads in sorted(counts)
    ]


@settings(max_examples=25)
@given(
    made=any_rows(),
    shape=st.sampled_from([s for s in COLUMNS if s != "single_version"]),
    code=st.sampled_from(LANGUAGES),
)
def test_random_figures_are_read_back_equal(made: list[Row], shape: Shape, code: str) -> None:
    """Whatever they are, no finding is possible."""
    assert_reproduced(report(workload(made, shape=shape)), code)


recorded = st.text(
    st.one_of(st.sampled_from("|`*_#<>[]()!-:%~$&\\\n 1"), st.characters(exclude_categories=["C"])),
    max_size=40,
)


@settings(max_examples=40)
@given(texts=st.lists(recorded, min_size=7, max_size=7), code=st.sampled_from(LANGUAGES))
def test_recorded_texts_do_not_disturb_the_figures(texts: list[str], code: str) -> None:
    """Markdown, HTML and percentages in names and settings stay what they are."""
    name, cell, heading, block, place, version, said = texts
    setting = replace(
        RECORDED,
        hardware={name: {"EC2 type": cell}},
        software={name: version},
        parameters=(Block(heading, name, block, 5),),
        facts=(Fact(heading, name, place, 6),),
        said=(Said("plan", heading, said, 7), Said("results", heading, said, 8)),
    )
    found = replace(
        report(setting=setting), unread=(Unread(3, "", "sentence", {"sentence": said}),)
    )
    assert_reproduced(found, code)
