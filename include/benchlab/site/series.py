"""What one trial did second by second, from the objects that the store keeps of it.

Example:
    ``read(content)["tikv-1"]["cpu_busy"]`` is ``[(1.0, 0.42), (2.0, 0.45), ...]``; a client's
    series is under :data:`CLIENT`.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from benchlab.errors import BenchlabError
from benchlab.site.charts import Line

CLIENT = ""
# More points than pixels show nothing: neighbours are averaged.
_MOST_POINTS = 450
# Half an hour of ten hosts is a fifth of it.
_MOST_BYTES = 8 * 2**20

Series = dict[str, dict[str, Line]]
"""By host and column."""


class UnreadableSeriesError(BenchlabError):
    """An object of a trial is no series; the message says why."""


def read(content: bytes) -> Series:
    """The columns of a series, or of the samples of several hosts.

    Raises:
        UnreadableSeriesError: it is too large for a page, or no such table.
    """
    if len(content) > _MOST_BYTES:
        raise UnreadableSeriesError(f"{len(content)} bytes; a page shows at most {_MOST_BYTES}")
    columns: dict[str, dict[str, list[tuple[float, float | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    try:
        rows = csv.DictReader(content.decode().splitlines(), strict=True)
        for row in rows:
            host, t = row.pop("host", CLIENT), float(row.pop("t"))
            for name, text in row.items():
                columns[host][name].append((t, _number(text)))
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise UnreadableSeriesError("it is not the table that Benchlab writes") from error
    return {
        host: {name: _thinned(points) for name, points in of_host.items()}
        for host, of_host in columns.items()
    }


def read_object(
    read_bytes: Callable[[str], bytes], name: str | None
) -> tuple[Series, BenchlabError | None]:
    """An object's series, and why there are none; both are empty where nothing was kept."""
    if name is None:
        return {}, None
    try:
        return read(read_bytes(name)), None
    except BenchlabError as error:
        return {}, error


def _number(text: str) -> float | None:
    value = float(text) if text else math.nan
    return value if math.isfinite(value) else None


def _thinned(points: Sequence[tuple[float, float | None]]) -> Line:
    """Means of neighbours, so that there are at most as many points as can be seen."""
    size = math.ceil(len(points) / _MOST_POINTS)
    if size == 1:
        return points
    thinned: list[tuple[float, float | None]] = []
    for start in range(0, len(points), size):
        part = points[start : start + size]
        known = [value for _, value in part if value is not None]
        thinned.append((part[-1][0], math.fsum(known) / len(known) if known else None))
    return thinned
