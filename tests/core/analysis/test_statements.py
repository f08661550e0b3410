"""Statements of both sides compared: shares of the change, what stands out, plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from benchlab.analysis.cause.statements import FORM, Compared, Observed, compared
from benchlab.engines.statements import Executed, Plan, PlanLine, Statements
from benchlab.plan.report_type import Side

BY_INDEX: Plan = (
    PlanLine("IndexLookUp", "root", ""),
    PlanLine("├─IndexRangeScan(Build)", "cop[tikv]", "table:sbtest?, index:k_?(k), range:[?]"),
    PlanLine("└─TableRowIDScan(Probe)", "cop[tikv]", "table:sbtest?"),
)
WHOLE: Plan = (
    PlanLine("TableReader", "root", "data:Selection"),
    PlanLine("└─TableFullScan", "cop[tikv]", "table:sbtest?, keep order:false"),
)
WORDED: Plan = tuple(line._replace(info=f"{line.info}, stats:pseudo") for line in WHOLE)


def look(
    side: Side,
    seconds: float,
    *,
    rows: float = 1.0,
    plans: Sequence[tuple[Plan, float]] = (),
    others: Sequence[Executed] = (),
    transactions: int | None = 100,
    untold: float = 0,
) -> Observed:
    """A trial with one update, executed 200 times; ``rows``: of an execution."""
    update = Executed("update", 200, seconds, {"rows_examined": 200 * rows}, tuple(plans))
    return Observed(side, Statements((update, *others), untold), transactions)


def of(looks: Sequence[Observed], **options: bool) -> Compared:
    """What they show, as it is read back from the store."""
    found = compared(looks, **options)
    assert found is not None
    assert FORM.validate_json(FORM.dump_json(found)) == found
    return found


def outstanding(looks: Sequence[Observed]) -> Mapping[str, bool]:
    """Which figures of the update stand out."""
    return {one.name: one.stands_out for one in of(looks).changes[0].figures}


def test_what_is_farther_apart_than_the_trials_of_a_side_stands_out() -> None:
    """In every pair; a difference as large as that between repeats does not."""
    clear = [look("baseline", 1.0), look("candidate", 1.5), look("candidate", 1.6)]
    found = outstanding([*clear, look("baseline", 1.1)])
    assert found == {"seconds": True, "executions": False, "rows_examined": False}
    assert not outstanding([*clear, look("baseline", 1.4)])["seconds"]
    assert not outstanding([*clear, look("baseline", 1.7)])["seconds"]


def test_a_tiny_difference_of_steady_figures_does_not_stand_out() -> None:
    """Below one per cent; above it, it does."""
    steady = [look("baseline", 1.0), look("baseline", 1.0)]
    assert not outstanding([*steady, *[look("candidate", 1.0, rows=1.005)] * 2])["rows_examined"]
    assert outstanding([*steady, *[look("candidate", 1.0, rows=1.02)] * 2])["rows_examined"]


def test_one_pair_shows_no_repeats() -> None:
    """Nothing stands out, whatever the difference."""
    found = of([look("baseline", 1.0), look("candidate", 9.0)])
    assert found.trials == 1
    assert not any(one.stands_out for one in found.changes[0].figures)


def test_statements_have_their_share_of_what_a_transaction_takes() -> None:
    """The largest change first, also of one that only one side executes."""
    begin = Executed("begin", 100, 0.5, {})
    new = Executed("select new", 100, 3.0, {})
    found = of([look("baseline", 1.0, others=[begin]), look("candidate", 1.2, others=[begin, new])])
    assert [one.text for one in found.changes] == ["select new", "update", "begin"]
    assert found.changes[0].seconds == {"candidate": pytest.approx(0.03)}
    assert found.changes[0].figures == ()
    assert found.changes[1].more_s == pytest.approx(0.002)
    assert found.seconds == {"baseline": pytest.approx(0.015), "candidate": pytest.approx(0.047)}
    time, executions = found.changes[1].figures[:2]
    assert time.name == "seconds"
    assert time.pct == pytest.approx(20)
    assert executions.sides == {"baseline": 2.0, "candidate": 2.0}


def test_a_client_that_counts_no_transactions_has_executions() -> None:
    """Of which each statement has a share."""
    found = of(
        [look("baseline", 1.0, transactions=None), look("candidate", 2.0, transactions=None)]
    )
    assert found.seconds == {"baseline": pytest.approx(1 / 200), "candidate": pytest.approx(0.01)}


def test_a_side_without_trials_is_not_compared() -> None:
    """One side alone shows no change."""
    assert compared([look("baseline", 1.0)]) is None
    assert compared([]) is None


def test_another_plan_is_shown_line_by_line() -> None:
    """With the operators that are gone and those that are new."""
    found = of(
        [
            look("baseline", 1.0, plans=[(BY_INDEX, 200)]),
            look("candidate", 9.0, plans=[(WHOLE, 200)]),
        ]
    )
    (changed,) = found.plans
    assert changed.plan is not None
    assert changed.plan.share == pytest.approx(1.0)
    assert changed.plan.gone == ("IndexLookUp", "IndexRangeScan", "TableRowIDScan")
    assert changed.plan.new == ("TableReader", "TableFullScan")
    assert "- IndexLookUp root" in changed.plan.lines
    assert "+ └─TableFullScan cop[tikv] table:sbtest?, keep order:false" in changed.plan.lines


@pytest.mark.parametrize(
    ("candidate", "changed"),
    [
        ([(WORDED, 200)], False),
        ([(WHOLE, 190), (BY_INDEX, 10)], False),
        ([(WHOLE, 170), (BY_INDEX, 30)], True),
        ([], False),
    ],
    ids=["reworded", "one in twenty", "one in six", "none"],
)
def test_a_plan_changed_if_a_tenth_of_the_executions_has_another(
    candidate: Sequence[tuple[Plan, float]], changed: bool
) -> None:
    """Not if a version words the same plan otherwise, or keeps none."""
    found = of(
        [look("baseline", 1.0, plans=[(WHOLE, 200)]), look("candidate", 1.0, plans=candidate)]
    )
    assert bool(found.plans) == changed


def test_a_plan_that_one_trial_alone_has_did_not_change() -> None:
    """Every pair has to show it."""
    looks = [
        look("baseline", 1.0, plans=[(WHOLE, 200)]),
        look("candidate", 1.0, plans=[(BY_INDEX, 200)]),
        look("candidate", 1.0, plans=[(WHOLE, 200)]),
        look("baseline", 1.0, plans=[(WHOLE, 200)]),
    ]
    assert of(looks).plans == ()


def test_what_servers_did_not_tell_apart_is_added_up_by_side() -> None:
    """It is in no row."""
    found = of(
        [look("baseline", 1.0, untold=3), look("candidate", 1.0), look("candidate", 1.0, untold=4)]
    )
    assert found.untold == {"baseline": 3, "candidate": 4}
