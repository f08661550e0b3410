"""What was read of published pages, for tests."""

from __future__ import annotations

import re

from benchlab.published.model import Workload
from tests.builders.published_page import (
    read,
)

Figures = dict[str, dict[str, list[tuple[int, str]]]]


def only(text: str) -> Workload:
    """The one workload of a page."""
    (workload,) = read(text, "page.md").workloads
    return workload


def printed(workload: Workload) -> Figures:
    """Its figures as texts with their threads, by version and metric."""
    found: Figures = {}
    for row in workload.rows:
        for version, metrics in row.sides.items():
            for metric, figure in metrics.items():
                column = found.setdefault(version, {}).setdefault(metric, [])
                column.append((row.threads, figure.text))
    return found


def improvements(workload: Workload) -> list[str | None]:
    """Of each row, as text."""
    return [row.improvement.text if row.improvement else None for row in workload.rows]


def listed(text: str) -> list[str]:
    """Why tables and sentences are not understood, with the text of the line."""
    lines = re.split(r"\r\n|\r|\n", text)
    return [f"{unread.id} @ {lines[unread.line - 1]}" for unread in read(text, "page.md").unread]
