"""Workloads at equal load: their names, rates, places in a plan and metrics."""

from __future__ import annotations

from typing import Any

import pytest

from benchlab.engines.mariadb_counts import COUNTS
from benchlab.errors import SpecError
from benchlab.plan.metric import kinds
from benchlab.plan.open_loop import Rate, metrics_of, rate_of, saturated
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads.sysbench import METRICS
from tests.builders import plans

READ = "oltp_point_select"


@pytest.mark.parametrize(
    ("rate", "name", "found"),
    [
        ("60 %", "oltp_insert_at_60pct", Rate(share=0.6)),
        ("5%", "oltp_insert_at_5pct", Rate(share=0.05)),
        (400, "oltp_insert_at_400tps", Rate(per_s=400)),
    ],
)
def test_a_workload_at_a_rate_is_one_more_that_its_name_tells(
    rate: Any, name: str, found: Rate
) -> None:
    """It follows the one that it is of, and keeps what was written apart from it."""
    spec = plans.spec(workloads=["oltp_insert"], rate=rate)
    assert spec.workloads == ("oltp_insert", name)
    assert spec.as_written == ("oltp_insert",)
    assert (rate_of(name), saturated(name)) == (found, "oltp_insert")
    assert rate_of("oltp_insert") is None


def test_a_rate_is_of_the_slower_side() -> None:
    """And never none at all."""
    assert Rate(share=0.6).of(1000) == 600
    assert Rate(share=0.01).of(3) == 1
    assert Rate(per_s=400).of(1) == 400


def test_a_rate_survives_writing_and_can_be_taken_away() -> None:
    """The added workloads are never written; they follow from the rate."""
    spec = plans.spec(rate="60 %")
    written = spec.model_dump(mode="json")
    assert written["workloads"] == [READ, "oltp_update_index"]
    assert ReportSpec.model_validate(written) == spec
    assert spec.with_overrides({"rate": None}) == plans.spec()
    assert spec.with_overrides({"rate": 90}).workloads[1] == f"{READ}_at_90tps"


@pytest.mark.parametrize("rate", ["0 %", "100 %", "60", "60.5 %", 0, -1, 1.5, "all", True])
def test_a_rate_that_is_none_is_refused(rate: Any) -> None:
    """At all that a side can do, its queue grows without end."""
    with pytest.raises(SpecError, match="rate"):
        plans.spec().with_overrides({"rate": rate})


def test_a_share_needs_both_sides_throughput_first() -> None:
    """One after the other, the candidate's is not known when the baseline is measured."""
    with pytest.raises(SpecError, match="rate: 60 %: with `placement: sequential`"):
        plans.spec().with_overrides({"rate": "60 %", "placement": "sequential"})
    assert plans.spec(rate=90, placement="sequential").rate == 90


def test_trials_at_a_rate_follow_those_that_it_depends_on() -> None:
    """In every round and on both sides, at the most threads alone."""
    plan = plans.plan(plans.spec(rate="60 %", rounds=4))
    at_rate = f"{READ}_at_60pct"
    threads = {trial.threads for trial in plan.trials if trial.workload == at_rate}
    assert threads == {8}
    for number in range(1, 5):
        places: dict[str, list[int]] = {READ: [], at_rate: []}
        for trial in plan.trials:
            if trial.round == number and trial.workload in places:
                places[trial.workload].append(trial.index)
        assert max(places[READ]) + 1 == min(places[at_rate])


def test_reads_at_a_rate_leave_the_data_as_they_are() -> None:
    """And need no restore after them, like those without one."""
    spec = plans.spec(workloads=[READ], rate="60 %", restore="after_writes")
    restored = [trial.side for trial in plans.plan(spec).trials if trial.restore]
    assert sorted(restored) == ["baseline", "candidate"], "each once, after its load"


def test_latencies_are_decided_at_a_rate_and_throughput_is_not() -> None:
    """What both are sent is no finding; three percentiles are decided each by itself."""
    decided = kinds(metrics_of(f"{READ}_at_60pct", METRICS))
    assert decided == ("latency", "p50_ms", "p99_ms")
    assert kinds(metrics_of(READ, METRICS)) == ("throughput", "latency")


def test_counts_that_depend_on_the_load_are_decided_at_equal_load_alone() -> None:
    """A log is written in whole blocks of the commits that meet; CPU has idle times in it."""
    read = [one.metric() for one in COUNTS if one.name in ("rows_read", "redo_bytes", "server_cpu")]
    assert kinds(metrics_of(READ, read)) == ("rows_read",)
    at_rate = kinds(metrics_of(f"{READ}_at_60pct", read))
    assert set(at_rate) == {"rows_read", "redo_bytes", "server_cpu"}
