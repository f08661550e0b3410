"""Which functions became dearer, from several profiles of each side.

Example:
    ``compare(baseline, candidate).changed[0].name``

A profile is a sample: taken again of the same server, every share of it differs. A function's own
and cumulative time are shares of a profile's samples, times CPU per transaction where that is
known. Each of them is tested over the replicates. With s its mean share and N the samples of a
profile, chance alone gives a share the variance s (1 - s) / N; replicates vary by phi times that.
The functions of a program are alike in phi, so each one's is moderated by those of all (Smyth 2004;
limma, and edgeR's quasi-likelihood), and is at least 1. CPU per transaction adds its own variance,
s^2 times that of its replicates (degrees of freedom by Satterthwaite).

p values are weighted (Genovese et al. 2006) before Benjamini and Hochberg's rule at 5 %: most of
the chances go to functions' own time, as callers, many and alike, would otherwise drown what they
call. A function is *changed* if it is found so and every replicate agrees.

What moved is no change in cost (cost shifts in FBDetect, SOSP 2024): where a caller's changed parts
go up and down and their sum stays, a function was renamed, split or inlined elsewhere.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from benchlab.analysis.cause.false_discoveries import adjusted
from benchlab.analysis.verdict.variances import Estimate, Variance, alike
from benchlab.arrays import Array, np
from benchlab.errors import SpecError
from benchlab.results.pprof import NAMELESS, Profile, SampleType, Stack

LEVEL = 0.05
"""Of Benjamini and Hochberg's rule."""
FEWEST = 3
"""Replicates of a side with which anything is called a change."""
# What is rarer is not tested: of all time, and in samples of all profiles together.
_LEAST_SHARE, _LEAST_SAMPLES = 0.01, 40
# The moderation needs so many parts, and weighs as much as so many replicates at most.
_FEWEST_ALIKE, _MOST_ALIKE = 3, 100.0
# A cumulative change is a callee's own if that accounts for so much of it.
_MOST_OF_IT = 0.8
# A sum stays if all its interval is within this part of what moved.
_STAYS = 0.5
# Caller and callee are one where a call has so much of both.
_SAME = 0.9
_Cost = Literal["CPU", "bytes"]
# The types of samples that are in proportion to it; the second one is that of folded stacks.
_TYPES: dict[_Cost, tuple[str, ...]] = {"CPU": ("cpu", "samples"), "bytes": ("alloc_space",)}
# A function is new or gone if one side has so little of what the other has.
_GONE = 0.1
NO_MODULE = "[no module]"

_NONE = Variance(0.0, 1.0)

Kind = Literal["own", "cumulative", "module"]
_Key: TypeAlias = tuple[Kind, str]
_CHANCES: dict[Kind, float] = {"own": 0.7, "cumulative": 0.25, "module": 0.05}


@dataclass(frozen=True)
class Part:
    """A function or a module: what it took in each profile, and by how much the sides differ.

    Attributes:
        kind: ``own``, ``cumulative``, with what it calls, or ``module``: own times of a module.
        shares: of each profile, the baseline's first.
        baseline, candidate: means, in shares or in microseconds per transaction.
        difference: the candidate's minus the baseline's; None with too few replicates.
        agree: whether all replicates show the difference's sign.
        q_value: adjusted p value; None where it was not tested.
    """

    name: str
    kind: Kind
    shares: Array
    baseline: float
    candidate: float
    difference: Estimate | None = None
    agree: bool = False
    q_value: float | None = None

    @property
    def change(self) -> float:
        """The candidate's mean minus the baseline's."""
        return self.candidate - self.baseline

    @property
    def changed(self) -> bool:
        """Whether the replicates show that it became dearer or cheaper."""
        return self.agree and self.q_value is not None and self.q_value <= LEVEL


@dataclass(frozen=True)
class Shift:
    """Cost that moved: parts below one caller, or its own time, whose sum stayed."""

    caller: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Compared:
    """Profiles of two sides, compared.

    Attributes:
        counts: how many profiles each side has.
        per_transaction: CPU per transaction, or what was allocated; None where all are shares.
        functions, modules: all that are large enough to be tested, the largest change first.
        changed: functions that changed; neither what moved, nor callers of what changed.
        nameless: the share of each side's time in functions without a name.
        stacks: mean of each stack, by side.
    """

    sample_type: SampleType
    counts: tuple[int, int]
    per_transaction: Part | None
    functions: tuple[Part, ...]
    modules: tuple[Part, ...]
    changed: tuple[Part, ...]
    moved: tuple[Shift, ...]
    nameless: tuple[float, float]
    stacks: Mapping[Stack, tuple[float, float]]

    @property
    def pairs(self) -> int:
        """How many profiles each side has at least."""
        return min(self.counts)

    @property
    def is_decided(self) -> bool:
        """Whether there are enough replicates to call anything a change."""
        return self.pairs >= FEWEST


def short(function: str) -> str:
    """A function's name without the path of its Go package: ``planner.optimize``."""
    path = re.split(r"[\[({<]", function, maxsplit=1)[0]
    return function[path.rfind("/") + 1 :]


def module_of(function: str) -> str:
    """A function's Go package, Rust module or C++ namespace.

    Example:
        ``module_of("github.com/pingcap/tidb/pkg/executor.(*ExecStmt).Exec")`` ends in
        ``/executor``; ``module_of("<tikv::storage::Txn as core::ops::Drop>::drop")`` is
        ``tikv::storage``.
    """
    if "::" in function:
        path = re.split(r"[<( ]", function.lstrip("<&*("), maxsplit=1)[0].split("::")
        inner = [part for part in path[:-1] if part]
        types = [place for place, part in enumerate(inner) if part[:1] in "{_" or part[0].isupper()]
        return "::".join(inner[: types[0] if types else None]) or path[0]
    path_of = re.split(r"[\[(]", function, maxsplit=1)[0]
    dot = path_of.find(".", path_of.rfind("/") + 1)
    return path_of[:dot] if dot > 0 else NO_MODULE


def compare(
    baseline: Sequence[Profile],
    candidate: Sequence[Profile],
    *,
    sample_type: str = "",
    per_transaction: Sequence[float] = (),
    of: _Cost = "CPU",
    paired: bool = False,
) -> Compared:
    """Compare the profiles of two sides.

    Args:
        sample_type: such as ``alloc_space``; empty: what the first profile shows by default.
        per_transaction: microseconds of CPU, or bytes, one for each profile, the baseline's first;
            empty: the profiles are compared by shares.
        of: what a transaction takes: CPU, or memory that is allocated.
        paired: whether the profiles of both sides belong together, in their order.

    Raises:
        SpecError: the profiles do not fit together, or not with the other arguments.
    """
    profiles = [*baseline, *candidate]
    position = profiles[0].position(sample_type or profiles[0].default)
    chosen = profiles[0].types[position]
    values = [one.values(chosen) for one in profiles]
    if paired and len(baseline) != len(candidate):
        raise SpecError(
            f"paired: found {len(baseline)} profiles of the baseline and {len(candidate)} of the "
            "candidate; give as many of each, in the order of the pairs"
        )
    if per_transaction and chosen.name not in _TYPES[of]:
        raise SpecError(
            f"{of} per transaction: goes with profiles of {_TYPES[of][0]}, not of {chosen.name}"
        )
    if len(per_transaction) not in (0, len(profiles)) or not all(
        math.isfinite(one) and one > 0 for one in per_transaction
    ):
        raise SpecError(
            f"{of} per transaction: found {', '.join(f'{one:g}' for one in per_transaction)}; give "
            f"{len(profiles)} values above 0, one for each profile, the baseline's first"
        )
    stacks: dict[Stack, Array] = {}
    for column, of_one in enumerate(values):
        total = sum(of_one.values())
        for stack, value in of_one.items():
            stacks.setdefault(stack, np.zeros(len(profiles)))[column] = value / total
    samples = np.array([one.samples(chosen) for one in profiles])
    costs = np.array(per_transaction or [1.0] * len(profiles))
    made = _Comparison(stacks, samples, costs, len(baseline), paired)
    return made.compared(chosen, has_costs=bool(per_transaction))


@dataclass(frozen=True)
class _Comparison:
    """The shares of all stacks, by profile, and how their parts are tested.

    Attributes:
        samples, costs: of each profile: how many it has, and CPU per transaction, or 1.
        first: how many profiles are the baseline's.
    """

    stacks: Mapping[Stack, Array]
    samples: Array
    costs: Array
    first: int
    paired: bool

    def compared(self, sample_type: SampleType, *, has_costs: bool) -> Compared:
        """Test all parts, and tell what moved from what changed."""
        parts = sorted(self._tested(), key=_size, reverse=True)
        functions = tuple(one for one in parts if one.kind != "module")
        changed = [one for one in functions if one.changed]
        moved = tuple(self._moved({one.name for one in changed}))
        of_moved = {part.name for shift in moved for part in shift.parts}
        changed = [one for one in changed if one.name not in of_moved]
        nameless = [row for stack, row in self.stacks.items() if stack[-1].startswith(NAMELESS)]
        everything = self._part(("cumulative", ""), np.ones_like(self.costs))
        return Compared(
            sample_type,
            (self.first, len(self.costs) - self.first),
            everything if has_costs else None,
            functions,
            tuple(one for one in parts if one.kind == "module"),
            tuple(one for one in changed if not self._is_a_callees(one, changed)),
            moved,
            self._means(np.sum([0 * self.costs, *nameless], axis=0)),
            {stack: self._means(row * self.costs) for stack, row in self.stacks.items()},
        )

    @cached_property
    def _rows(self) -> dict[_Key, Array]:
        """The shares of functions and modules, in each profile."""
        places = defaultdict[_Key, list[Array]](list)
        for stack, row in self.stacks.items():
            places["own", stack[-1]].append(row)
            places["module", module_of(stack[-1])].append(row)
            # A recursive function is counted once.
            for name in dict.fromkeys(stack):
                places["cumulative", name].append(row)
        return {key: np.sum(rows, axis=0) for key, rows in places.items()}

    @cached_property
    def _edges(self) -> dict[str, dict[str, Array]]:
        """What each function takes itself, and in each function it calls."""
        places = defaultdict[str, dict[str, list[Array]]](dict)
        for stack, row in self.stacks.items():
            calls = [pair for pair in itertools.pairwise(stack) if pair[0] != pair[1]]
            for caller, name in dict.fromkeys([*calls, (stack[-1], stack[-1])]):
                places[caller].setdefault(name, []).append(row)
        return {
            caller: {name: np.sum(rows, axis=0) for name, rows in edges.items()}
            for caller, edges in places.items()
        }

    def _is_one_with_a_callee(self, function: str) -> bool:
        """Whether a function hardly does more than call one that nothing else calls."""
        whole = self._share(self._rows["cumulative", function])
        return any(
            (share := self._share(row)) >= _SAME * whole
            and share >= _SAME * self._share(self._rows["cumulative", name])
            for name, row in self._edges[function].items()
        )

    def _tested(self) -> list[Part]:
        """The parts that are large enough, and are not everything, tested."""
        least = max(_LEAST_SHARE, _LEAST_SAMPLES / float(self.samples.sum()))
        rows = {
            (kind, name): row
            for (kind, name), row in self._rows.items()
            if least <= self._share(row) <= 1 - _LEAST_SHARE
            and not (kind == "cumulative" and self._is_one_with_a_callee(name))
        }
        if min(self.first, len(self.costs) - self.first) < FEWEST:
            return [self._part(key, row) for key, row in rows.items()]
        parts = list[Part]()
        p_values = list[float]()
        for kind, chances in _CHANCES.items():
            of_kind = {key: row for key, row in rows.items() if key[0] == kind}
            for (key, row), variance in zip(of_kind.items(), self._variances(of_kind), strict=True):
                part = self._part(key, row, variance)
                if part.difference is not None:
                    parts.append(part)
                    p_values.append(part.difference.p_value * len(of_kind) / chances)
        q_values = adjusted(p_values)
        return [replace(one, q_value=q) for one, q in zip(parts, q_values, strict=True)]

    @cached_property
    def _halves(self) -> Array:
        """The weights of profiles in a mean of both sides' means."""
        sizes = [self.first] * self.first + [len(self.costs) - self.first] * len(self.costs)
        return 0.5 / np.array(sizes[: len(self.costs)])

    def _means(self, row: Array) -> tuple[float, float]:
        return float(row[: self.first].mean()), float(row[self.first :].mean())

    def _share(self, row: Array) -> float:
        """A part's share of both sides alike, so that the choice knows nothing of a change."""
        return float(row @ self._halves)

    def _square(self, rows: Array) -> tuple[Array, float]:
        """Mean squares between replicates, for rows of profiles, and their degrees of freedom."""
        first, second = rows[..., : self.first], rows[..., self.first :]
        if self.paired:
            return (second - first).var(-1, ddof=1) / 2, self.first - 1.0
        squares = sum(((one - one.mean(-1, keepdims=True)) ** 2).sum(-1) for one in (first, second))
        df = rows.shape[-1] - 2.0
        return np.asarray(squares / df), df

    def _variances(self, rows: Mapping[_Key, Array]) -> list[Variance]:
        """Of the shares of parts of one kind, moderated over all of them."""
        if not rows:
            return []
        square, df = self._square(np.array([*rows.values()]))
        share = np.array([self._share(row) for row in rows.values()])
        binomial = np.maximum(share * (1 - share), np.finfo(float).eps)
        chance = binomial * (1 / self.samples).mean()
        expected = chance
        # Replicates that differ by more than chance do so by a part of each share.
        if (square / chance).mean() > 1 + 2 * math.sqrt(2 / (df * len(rows))):
            spread = float(((square - chance) / binomial).sum() / binomial.sum())
            expected = chance + max(spread, 0.0) * binomial**2
        phi, d0 = square / expected, 0.0
        if (varies := phi > 0).sum() >= _FEWEST_ALIKE:
            common, s0 = alike(phi[varies], np.full(varies.sum(), df), _MOST_ALIKE)
            d0 = float(common[0])
            phi = (d0 * s0 + df * phi) / (d0 + df)
        return [Variance(float(one), df + d0) for one in np.maximum(phi * expected, chance)]

    def _part(self, key: _Key, row: Array, variance: Variance = _NONE) -> Part:
        """A part's means, and their difference with the variance of shares and of costs."""
        kind, name = key
        means = self._means(row * self.costs)
        sizes = (self.first, len(row) - self.first)
        if min(sizes) < FEWEST:
            return Part(name, kind, row, *means)
        each = [1 / size for size in sizes]
        scale = sum(c**2 * n for c, n in zip(self._means(self.costs), each, strict=True))
        square, cost_df = self._square(self.costs)
        of_costs = Variance(float(self._share(row) ** 2 * square * sum(each)), cost_df)
        of_both = Variance(variance.value * scale, variance.df) + of_costs
        difference = Estimate(means[1] - means[0], of_both)
        return Part(name, kind, row, *means, difference, self._agree(row * self.costs))

    def _agree(self, row: Array) -> bool:
        """Whether each pair, or each profile against the other side's mean, has the same sign."""
        first, second = row[: self.first], row[self.first :]
        apart = [second - first.mean(), second.mean() - first]
        signs = np.sign(second - first if self.paired else np.concatenate(apart))
        return bool(signs[0] and (signs == signs[0]).all())

    def _is_a_callees(self, part: Part, changed: Sequence[Part]) -> bool:
        """Whether a cumulative change is mostly that of one smaller part at or below it."""
        stacks = [stack for stack in self.stacks if part.name in stack]
        below = {name for stack in stacks for name in stack[stack.index(part.name) :]}
        return part.kind == "cumulative" and any(
            other.name in below
            and other.change * part.change > 0
            and _size(other) >= _MOST_OF_IT * _size(part)
            and self._share(other.shares) < self._share(part.shares)
            for other in changed
        )

    def _moved(self, changed: set[str]) -> Iterator[Shift]:
        """What went from one part of a caller to another one, each part in one shift only."""
        for caller, edges in self._edges.items():
            parts = []
            for name in changed & edges.keys():
                key: _Key = ("own" if name == caller else "cumulative", name)
                part, whole = self._part(key, edges[name]), self._part(key, self._rows[key])
                # Only where nearly all of what changed lies below this caller.
                if _size(part) >= _MOST_OF_IT * _size(whole):
                    parts.append(part)
            if _is_exchange(parts) and self._stays(parts):
                changed = changed - {one.name for one in parts}
                yield Shift(caller, tuple(sorted(parts, key=_size, reverse=True)))

    def _stays(self, parts: Sequence[Part]) -> bool:
        """Whether the sum of parts stayed, by its interval, within half of what moved."""
        key: _Key = ("cumulative", "")
        row = np.sum([one.shares for one in parts], axis=0)
        total = self._part(key, row, *self._variances({key: row})).difference
        ends = total.interval(1 - LEVEL) if total else ()
        return bool(ends) and max(map(abs, ends)) <= _STAYS * max(map(_size, parts))


def _is_exchange(parts: Sequence[Part]) -> bool:
    """Whether parts go both ways, and most of one way are functions that are new or gone.

    Shares always add up to one: where a function only grows, the others seem to shrink.
    """
    for sign in (1, -1):
        way = [one for one in parts if one.change * sign > 0]
        new_or_gone = [
            one
            for one in way
            if min(one.baseline, one.candidate) <= _GONE * max(one.baseline, one.candidate)
        ]
        if len(way) < len(parts) and sum(map(_size, new_or_gone)) > _MOST_OF_IT * sum(
            map(_size, way)
        ):
            return True
    return False


def _size(part: Part) -> float:
    return abs(part.change)
