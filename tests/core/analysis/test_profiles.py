"""Which functions became dearer, from several profiles of each side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from benchlab.analysis.cause.profiles import NO_MODULE, Compared, compare, module_of
from benchlab.errors import SpecError
from benchlab.results.pprof import Profile, Stack, read
from tests.builders.profiles import RECORDED, drawn

BEFORE: dict[Stack, float] = {
    ("main.run", "plan.Optimize", "plan.cost"): 8,
    ("main.run", "plan.Optimize", "plan.rules"): 12,
    ("main.run", "exec.Next", "exec.hash"): 20,
    ("main.run", "exec.Next", "runtime.memmove"): 10,
    ("main.run", "net.Write"): 25,
    ("runtime.gcBgMarkWorker", "runtime.scanObject"): 15,
    ("main.run", "exec.Next"): 10,
}


def side(weights: Mapping[Stack, float], count: int = 4, seed: int = 1) -> list[Profile]:
    """Profiles of 10,000 samples drawn from the weights of stacks."""
    rng = np.random.default_rng(seed)
    return [drawn(weights, 10_000, rng, f"{seed}-{number}.pb.gz") for number in range(count)]


def after(**changed: float) -> dict[Stack, float]:
    """The stacks with other weights of some innermost functions, as ``plan_cost=12``."""
    return {
        stack: changed.get(stack[-1].replace(".", "_"), weight) for stack, weight in BEFORE.items()
    }


def found(compared: Compared) -> list[tuple[str, str, bool]]:
    """What changed: name, kind, and whether it became more."""
    return [(one.name, one.kind, one.change > 0) for one in compared.changed]


def costs(before: float, later: float, count: int = 4) -> list[float]:
    """CPU per transaction of the profiles of both sides, which scatter by 1 %."""
    rng = np.random.default_rng(3)
    return [level * (1 + rng.normal(0, 0.01)) for level in [before] * count + [later] * count]


def test_a_function_that_became_dearer_is_named_in_microseconds() -> None:
    """Half as much again of 8 %: 4 % of the CPU, and no other function is blamed for it."""
    made = compare(side(BEFORE), side(after(plan_cost=12), seed=2), per_transaction=costs(500, 520))
    assert found(made) == [("plan.cost", "own", True)]
    (part,) = made.changed
    assert (part.baseline, part.candidate) == pytest.approx((40, 60), rel=0.05)
    assert part.difference is not None
    low, high = part.difference.interval(0.95)
    assert low < 20 < high
    assert made.per_transaction is not None
    assert made.per_transaction.candidate == pytest.approx(520, rel=0.02)


def test_what_all_functions_have_in_common_is_seen_in_cpu_per_transaction_alone() -> None:
    """Every function takes a tenth more: shares are the same, microseconds are not."""
    sides = side(BEFORE), side(BEFORE, seed=2)
    assert not compare(*sides).changed
    dearer = compare(*sides, per_transaction=costs(500, 550)).changed
    assert dearer
    assert all(one.change > 0 for one in dearer)


def test_a_change_that_is_spread_over_many_functions_is_the_callers() -> None:
    """No function below it changed by enough to be found alone."""
    spread: dict[Stack, float] = {
        ("main.run", "plan.Optimize", f"plan.rule{number}"): 0.4 for number in range(40)
    }
    rest = {stack: weight for stack, weight in BEFORE.items() if "plan.Optimize" not in stack}
    more = {stack: 1.12 * weight for stack, weight in spread.items()}
    made = compare(side({**rest, **spread}), side({**rest, **more}, seed=2))
    assert ("plan.Optimize", "cumulative", True) in found(made)


def test_a_function_that_only_one_profile_shows_is_not_called_a_change() -> None:
    """A hiccup in one of four replicates: they do not agree."""
    candidate = [*side(BEFORE, 3, seed=2), *side(after(net_Write=60), 1, seed=4)]
    assert not compare(side(BEFORE), candidate).changed


@pytest.mark.parametrize("count", [1, 2])
def test_with_fewer_than_three_profiles_of_a_side_nothing_is_a_change(count: int) -> None:
    """However large the difference is."""
    made = compare(side(BEFORE, count), side(after(plan_cost=40), count, seed=2))
    assert not made.is_decided
    assert not made.changed
    assert not any(one.changed for one in (*made.functions, *made.modules))
    assert made.functions[0].change > 0.2


def test_pairs_are_compared_within_each_pair() -> None:
    """What scatters from pair to pair, as garbage collection does, hides nothing."""
    levels = (5, 15, 30, 50)
    pairs = [
        (after(runtime_scanObject=level), after(runtime_scanObject=level, plan_cost=10.5))
        for level in levels
    ]
    first = [side(one, 1, seed=n)[0] for n, (one, _) in enumerate(pairs)]
    second = [side(one, 1, seed=n + 10)[0] for n, (_, one) in enumerate(pairs)]
    assert ("plan.cost", "own", True) in found(compare(first, second, paired=True))
    assert not compare(first, second).changed


@pytest.mark.parametrize(
    "renamed",
    [
        {("main.run", "exec.Next", "exec.hash2"): 20.0},
        {("main.run", "exec.Next", "exec.hashA"): 9, ("main.run", "exec.Next", "exec.hashB"): 11},
        {("main.run", "exec.Next"): 30},
    ],
    ids=["renamed", "split", "inlined"],
)
def test_a_function_that_was_renamed_split_or_inlined_is_not_dearer(
    renamed: dict[Stack, float],
) -> None:
    """Its cost is found below the same caller, and all of it is one finding."""
    rest = {stack: weight for stack, weight in BEFORE.items() if stack[-1] != "exec.hash"}
    made = compare(side(BEFORE), side({**rest, **renamed}, seed=2))
    assert not made.changed
    (shift,) = made.moved
    assert shift.caller == "exec.Next"
    names = {one.name for one in shift.parts}
    assert names == {"exec.hash", *(stack[-1] for stack in renamed)}


def test_where_one_grows_and_one_shrinks_nothing_moved() -> None:
    """Shares always add up to one: without a new or vanished function it is a change."""
    made = compare(side(BEFORE), side(after(plan_cost=16, plan_rules=4), seed=2))
    assert not made.moved
    assert {("plan.cost", "own", True), ("plan.rules", "own", False)} <= {*found(made)}


def test_modules_have_what_their_functions_take_themselves() -> None:
    """A Go package, with the same test."""
    made = compare(side(BEFORE), side(after(plan_cost=14), seed=2), per_transaction=costs(500, 530))
    modules = {one.name: one for one in made.modules}
    assert modules["plan"].changed
    assert modules["plan"].baseline == pytest.approx(100, rel=0.05)
    assert not modules["exec"].changed


@pytest.mark.parametrize(
    ("function", "module"),
    [
        ("github.com/a/tidb/pkg/executor.(*ExecStmt).Exec", "github.com/a/tidb/pkg/executor"),
        ("slices.SortFunc[go.shape.[]github.com/a/b.T,x.y]", "slices"),
        ("gopkg.in/yaml%2ev3.(*parser).peek", "gopkg.in/yaml%2ev3"),
        ("runtime.memmove", "runtime"),
        ("cmpbody", NO_MODULE),
        ("tikv::storage::mvcc::MvccReader<S>::seek", "tikv::storage::mvcc"),
        ("<tikv::storage::Txn as core::ops::Drop>::drop", "tikv::storage"),
        ("tikv::server::run::{{closure}}", "tikv::server::run"),
        ("rocksdb::DBImpl::Get(rocksdb::ReadOptions const&)", "rocksdb"),
        ("[thread raftstore]", NO_MODULE),
    ],
)
def test_a_functions_module(function: str, module: str) -> None:
    """As Go, Rust and C++ write names."""
    assert module_of(function) == module


def test_the_share_without_names_is_told() -> None:
    """A stripped build's functions are one, and not dearer by themselves."""
    stripped = {
        (*stack[:-1], "[no name, in tikv-server]"): weight for stack, weight in BEFORE.items()
    }
    assert compare(side(BEFORE), side(stripped, seed=2)).nameless == pytest.approx((0, 1))


def test_recorded_allocations_compared_with_themselves_show_no_change() -> None:
    """Any type of value can be compared; nothing varies, and nothing is divided by zero."""
    profiles = [read(RECORDED / "pd_allocs.pb.gz")] * 3
    for name in ("alloc_space", "alloc_objects", "inuse_space"):
        made = compare(profiles, profiles, sample_type=name)
        assert not made.changed
        assert made.sample_type.name == name


CPU, SPACE = "tikv_cpu.pb", "pd_allocs.pb.gz"


@pytest.mark.parametrize(
    ("files", "options", "said"),
    [
        ((CPU, SPACE), {}, "pd_allocs.pb.gz: has no samples of cpu; it has: alloc_objects"),
        (
            (CPU, CPU),
            {"sample_type": "x"},
            "tikv_cpu.pb: has no samples of x; it has: samples, cpu",
        ),
        ((SPACE, SPACE), {"per_transaction": [1, 1]}, "goes with profiles of cpu, not of alloc_"),
        ((CPU, CPU), {"per_transaction": [5]}, "found 5; give 2 values above 0, one for each"),
        ((CPU, CPU), {"per_transaction": [5, 0]}, "found 5, 0; give 2 values above 0"),
        ((CPU, CPU, CPU), {"paired": True}, "found 1 profiles of the baseline and 2 of the cand"),
    ],
)
def test_profiles_that_do_not_fit_together_are_refused(
    files: Sequence[str], options: dict[str, object], said: str
) -> None:
    """The message names the file or the figure, and what to give."""
    first, *others = (read(RECORDED / name) for name in files)
    with pytest.raises(SpecError, match=said):
        compare([first], others, **options)  # type: ignore[arg-type]
