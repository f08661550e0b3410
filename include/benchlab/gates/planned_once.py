"""Every planned trial is used once: none is missing, counts twice, or is of another plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

ID = "planned_once"
SENTENCE = "every planned trial is present exactly once among those whose figures are used"
KIND = "validity"
TABLE = "trials"
UNSTABLE_FROM = None


def passes(rows: Sequence[Mapping[str, Any]]) -> list[bool | None]:
    """Whether a row's trial is used once; one that nobody planned must not be used at all.

    Attempts that another one has replaced share its answer.

    Args:
        rows: with ``trial``, its id; ``planned`` and ``used``. A planned trial that was never
            executed needs a row, too, to be found missing.
    """
    used = Counter(row["trial"] for row in rows if row["used"])
    return [used[row["trial"]] == (1 if row["planned"] else 0) for row in rows]
