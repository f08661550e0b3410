"""All promises of the decision rule, simulated: the rows of this folder's modules ``*_rows``."""

from __future__ import annotations

import importlib
import pkgutil
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tools.study.bounds import PROCESSES, Row, Share

SEED = 20270601
# So many campaigns of a row are simulated at a time.
PORTION = 250
_SUFFIX = "_rows"


@dataclass(frozen=True)
class Kept:
    """A promise, and what became of it."""

    row: Row
    share: Share

    @property
    def holds(self) -> bool:
        return self.row.holds(self.share)

    def __str__(self) -> str:
        sign = "at most" if self.row.at_most else "at least"
        return (
            f"{self.row.world}: {self.row.counted} in {100 * self.share.value:.1f} % of "
            f"{self.share.count:,}, where {sign} {self.row.bound:g} % are promised"
        )


@cache
def rows() -> tuple[Row, ...]:
    """All rows, by the names of their modules; one is added by adding a module.

    Raises:
        ValueError: two rows have the same name.
    """
    here = [found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)])]
    modules = [f"tools.study.{name}" for name in sorted(here) if name.endswith(_SUFFIX)]
    collected = tuple(row for name in modules for row in importlib.import_module(name).ROWS)
    names = [name_of(row) for row in collected]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"rows of tools/study with the same name: {', '.join(twice)}")
    return collected


def name_of(row: Row) -> str:
    """What the row is about, in words; no two have the same."""
    return f"{row.world}: {row.counted}"


def study() -> list[Kept]:
    """Simulate all rows, in portions that two processes share."""
    tasks = [
        (index, start, campaigns)
        for index, row in enumerate(rows())
        for start, campaigns in enumerate(_portions(row.campaigns))
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        shares = pool.map(_simulated, *zip(*tasks, strict=True))
        done = [(index, share) for (index, _, _), share in zip(tasks, shares, strict=True)]
    return [
        Kept(row, _total(share for number, share in done if number == index))
        for index, row in enumerate(rows())
    ]


def simulated(row: Row, campaigns: int, portion: int = 0) -> Share:
    """One portion of a row; its numbers do not depend on which other rows there are."""
    name = zlib.crc32(name_of(row).encode())
    return row.count(campaigns, np.random.default_rng([SEED, name, portion]))


def broken(found: Sequence[Kept]) -> list[Kept]:
    """The promises that do not hold."""
    return [one for one in found if not one.holds]


def page(found: Sequence[Kept]) -> str:
    """A table of all promises in Markdown, and why some fall short of what was wanted."""
    lines = ["| campaigns | what is counted | % | bound |", "| --- | --- | ---: | ---: |"]
    for one in found:
        bound = f"{'≤' if one.row.at_most else '≥'} {one.row.bound:g}{_standing(one)}"
        lines.append(f"| {one.row.world} | {one.row.counted} | {one.share} | {bound} |")
    short = [
        f"- {row.world}: {row.counted} in {one.share}, where {row.wanted:g} were wanted: {row.why}."
        for one in found
        if (row := one.row).wanted is not None
    ]
    return "\n".join([*lines, "", "Wanted, and not promised:", "", *short, ""])


def _standing(one: Kept) -> str:
    """What a reader should know of a bound beside its number."""
    if not one.holds:
        return " **broken**"
    wanted = f" (wanted: {one.row.wanted:g})" if one.row.wanted is not None else ""
    return f"{wanted}{' within its error' if one.row.is_beyond(one.share) else ''}"


def _portions(campaigns: int) -> list[int]:
    return [min(PORTION, campaigns - start) for start in range(0, campaigns, PORTION)]


def _simulated(index: int, portion: int, campaigns: int) -> Share:
    return simulated(rows()[index], campaigns, portion)


def _total(shares: Iterable[Share]) -> Share:
    counted = [(share.hits, share.count) for share in shares]
    return Share(*(sum(column) for column in zip(*counted, strict=True)))
