"""A change of throughput is split exactly, whatever a query takes of which servers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.cause import split as module
from benchlab.analysis.cause.split import COUNTS, QUERIES, Split, counted, logarithmic_mean, split
from benchlab.analysis.verdict.rounds import Figure, Rounds, collect
from benchlab.engines import mariadb_counts
from benchlab.engines.tidb import counts as tidb_counts
from benchlab.language import Message
from benchlab.plan.metric import THROUGHPUT
from benchlab.plan.report_type import SIDES, Side
from benchlab.workloads import sysbench

METRICS = [metric for metric in sysbench.METRICS if metric.family == THROUGHPUT]
WHOLES = ("tidb_cpu", "tikv_cpu", "pd_cpu", "server_cpu")
Taken = Mapping[str, float | None]


def rounds(
    figures: list[Figure], count: int, threads: list[int], deployments: list[int] | None = None
) -> Rounds:
    """The throughput of one workload, as its verdict has it."""
    known = [(n, t, side, {"tps": found[QUERIES]}) for n, t, side, found in figures]
    numbers = list(range(1, count + 1))
    return collect("oltp_insert", METRICS, numbers, threads, SIDES, known, deployments or ())


def found(figures: list[Figure], count: int, threads: list[int], **options: object) -> Split:
    """The split of a workload that has one."""
    own = rounds(figures, count, threads, **options)  # type: ignore[arg-type]
    made = split(own, counted(own, figures))
    assert isinstance(made, Split), made
    return made


def both(baseline: Taken, candidate: Taken, count: int = 6, *, noise: float = 0.0) -> list[Figure]:
    """Figures of each side, the same in all rounds but for noise."""
    sides: dict[Side, Taken] = {"baseline": baseline, "candidate": candidate}
    factor = {name: 1 + noise * math.sin(place + 1) for place, name in enumerate(COUNTS)}
    return [
        (
            number,
            4,
            side,
            {k: v and v * factor[k] ** ((-1) ** number) for k, v in own.items()},
        )
        for number in range(1, count + 1)
        for side, own in sides.items()
    ]


@st.composite
def measured(draw: st.DrawFn) -> tuple[list[Figure], int, list[int], list[int]]:
    """Any trials: zeros, pools that are greater than their server's whole, several deployments."""
    count, threads = draw(st.integers(3, 5)), draw(st.sampled_from([[4], [4, 300]]))
    names = draw(st.lists(st.sampled_from(COUNTS[1:]), unique=True))
    names = [*dict.fromkeys([*names, draw(st.sampled_from(WHOLES))])]
    taken = st.one_of(st.just(0.0), st.floats(1e-3, 1e5))
    figures: list[Figure] = [
        (
            number,
            thread,
            side,
            {QUERIES: draw(st.floats(1, 1e6)), **{name: draw(taken) for name in names}},
        )
        for number in range(1, count + 1)
        for thread in threads
        for side in SIDES
    ]
    deployments = sorted(draw(st.lists(st.integers(1, 3), min_size=count, max_size=count)))
    return figures, count, threads, deployments


@given(measured())
def test_the_parts_add_up_to_the_change_of_throughput(
    case: tuple[list[Figure], int, list[int], list[int]],
) -> None:
    """To the last digits, whatever is zero; or it is said why there is no split."""
    figures, count, threads, deployments = case
    own = rounds(figures, count, threads, deployments)
    made = split(own, counted(own, figures))
    if isinstance(made, Message):
        assert made.id in ("split-few", "split-without")
        return
    waits, cpu, whole = made.waits.effect.mean, made.cpu.effect.mean, made.throughput.mean
    parts = math.fsum(part.effect.mean for part in made.parts)
    assert waits + cpu == pytest.approx(whole, abs=1e-12)
    assert parts == pytest.approx(cpu, abs=1e-12)
    for side in SIDES:
        total = math.fsum(getattr(part, side) for part in made.parts)
        assert total == pytest.approx(getattr(made.cpu, side), rel=1e-12)
    if made.rounds == count and made.threads == made.verdict_threads:
        means = [one.mean() for one in own.by_deployment(THROUGHPUT)]
        assert whole == pytest.approx(float(np.mean(means)), abs=1e-12)


@given(st.floats(1e-6, 1e9), st.floats(1e-6, 1e9))
def test_the_logarithmic_mean_lies_between_its_numbers(a: float, b: float) -> None:
    """Also of two that hardly differ, or do not."""
    mean = float(logarithmic_mean(np.array(a), np.array(b)))
    assert min(a, b) * (1 - 1e-12) <= mean <= max(a, b) * (1 + 1e-12)
    assert float(logarithmic_mean(np.array(b), np.array(a))) == pytest.approx(mean, rel=1e-9)


def test_a_part_has_the_logarithmic_mean_weight_of_its_definition() -> None:
    """L(c', c) / L(C', C) * ln(c' / c), with the sign of throughput."""
    before = {QUERIES: 1000.0, "tidb_cpu": 300.0, "tikv_cpu": 200.0, "tikv_cpu_sched": 80.0}
    after = {QUERIES: 900.0, "tidb_cpu": 310.0, "tikv_cpu": 260.0, "tikv_cpu_sched": 130.0}
    made = found(both(before, after), 6, [4])
    effects = {part.name: part.effect.mean for part in made.parts}
    assert list(effects) == ["tidb_cpu", "tikv_cpu_rest", "tikv_cpu_sched"]

    def mean(a: float, b: float) -> float:
        return (a - b) / math.log(a / b)

    assert effects["tikv_cpu_sched"] == pytest.approx(
        -mean(130, 80) / mean(570, 500) * math.log(130 / 80)
    )
    assert made.waits.effect.mean == pytest.approx(math.log(900 * 570 / (1000 * 500)))
    assert (made.waits.baseline, made.waits.candidate) == pytest.approx((0.5, 0.513))


def test_a_dearer_pool_is_found_and_waiting_is_not_blamed() -> None:
    """With as many CPUs busy, and 30 us more in one pool."""
    before = {QUERIES: 1000.0, "tidb_cpu": 300.0, "tikv_cpu": 200.0, "tikv_cpu_apply": 40.0}
    after = {**before, "tikv_cpu": 230.0, "tikv_cpu_apply": 70.0, QUERIES: 1000 * 500 / 530}
    made = found(both(before, after, noise=0.002), 6, [4])
    largest = max(made.parts, key=lambda part: abs(part.effect.mean))
    assert largest.name == "tikv_cpu_apply"
    assert largest.effect.interval(0.95)[1] < 0
    assert largest.candidate - largest.baseline == pytest.approx(30, abs=0.1)
    low, high = made.waits.effect.interval(0.95)
    assert low < 0 < high


def test_pure_waiting_is_found_and_no_part_is_blamed() -> None:
    """A query takes what it took, and the CPUs are busy 20 % less."""
    before = {QUERIES: 1000.0, "server_cpu": 90.0, "server_cpu_system": 30.0}
    made = found(both(before, {**before, QUERIES: 800.0}, noise=0.002), 6, [4])
    assert made.waits.effect.mean == pytest.approx(math.log(0.8))
    assert made.waits.effect.interval(0.95)[1] < 0
    for part in (made.cpu, *made.parts):
        low, high = part.effect.interval(0.95)
        assert low < 0 < high
    assert [part.name for part in made.parts] == ["server_cpu_rest", "server_cpu_system"]


def test_a_small_part_has_a_small_interval() -> None:
    """What a deployment may shift of PD's CPU is little of a query; together it is 1 % a side."""
    before = {QUERIES: 1000.0, "tidb_cpu": 990.0, "pd_cpu": 10.0}
    made = found(both(before, before, noise=1e-5), 6, [4])
    tidb, pd = made.parts
    assert pd.effect.error == pytest.approx(made.cpu.effect.error / 10, rel=0.01)
    assert math.hypot(tidb.effect.error, pd.effect.error) == pytest.approx(
        made.cpu.effect.error, rel=0.01
    )


def test_a_deployment_does_not_pass_for_the_version() -> None:
    """Six equal rounds of one deployment leave what deploying a side may shift."""
    before = {QUERIES: 1000.0, "server_cpu": 90.0}
    made = found(both(before, before, noise=1e-5), 6, [4])
    assert made.waits.effect.error == pytest.approx(math.sqrt(2) * 0.01, rel=0.01)


def test_a_pool_that_one_version_lacks_stays_in_the_rest() -> None:
    """TiDB v6.1 does not count its garbage collection."""
    before = {QUERIES: 1000.0, "tidb_cpu": 300.0, "tidb_gc_cpu": None}
    after = {QUERIES: 1000.0, "tidb_cpu": 300.0, "tidb_gc_cpu": 30.0}
    (part,) = found(both(before, after), 6, [4]).parts
    assert (part.name, part.effect.mean) == ("tidb_cpu", 0.0)


def test_a_split_needs_the_cpu_of_every_server_that_counts() -> None:
    """Without TiKV's on one side, more of it would look like waiting."""
    before: dict[str, float | None] = {QUERIES: 1000.0, "tidb_cpu": 300.0, "tikv_cpu": 200.0}
    figures = both(before, {**before, "tikv_cpu": None})
    own = rounds(figures, 6, [4])
    why = split(own, counted(own, figures))
    assert str(why) == "no trial of one side, or of both, has the CPU time of TiKV"
    assert str(split(own, {})) == "there are no counts of the servers"


def test_rounds_and_threads_without_counts_are_left_out_and_said() -> None:
    """Two rounds lack a trial's counts, and one thread count has hardly any."""
    taken = {QUERIES: 1000.0, "server_cpu": 90.0}
    figures: list[Figure] = [
        (number, threads, side, dict(taken))
        for number in range(1, 7)
        for threads in (4, 16)
        for side in SIDES
    ]
    own = rounds(figures, 6, [4, 16])
    kept = [
        one
        for one in figures
        if (one[0], one[1], one[2]) not in {(1, 4, "baseline"), (2, 4, "candidate")}
        and (one[1] == 4 or one[0] < 4)
    ]
    made = split(own, counted(own, kept))
    assert isinstance(made, Split)
    assert (made.rounds, made.threads) == (4, (4,))
    assert (made.verdict_rounds, made.verdict_threads) == (6, (4, 16))
    few = split(own, counted(own, [one for one in figures if one[0] < 3]))
    assert str(few) == (
        "too few rounds have comparable counts on both sides (2; at least 3 are needed)"
    )


def test_every_count_of_a_split_is_one_that_servers_have() -> None:
    """A pool that is renamed would be missing from the split."""
    known = {count.name for count in (*mariadb_counts.COUNTS, *tidb_counts.COUNTS)}
    assert set(COUNTS) - {QUERIES} <= known
    assert {mariadb_counts.QUERIES.name, tidb_counts.QUERIES.name} == {QUERIES}
    pools = {name for name in known if name.startswith("tikv_cpu_")}
    assert pools <= set(COUNTS)
    assert module.REST not in "".join(COUNTS)
