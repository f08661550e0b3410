"""A page of strangers is read in a time that grows as its size does, not as the square of it."""

from __future__ import annotations

import resource

import pytest

from benchlab.errors import PublishedPageError
from benchlab.published import page

PAGE = """---
title: TiDB Sysbench Performance Test Report -- v5.2.0 vs. v5.1.1
---

## Test plan

{text}

## Point Select

| Threads | v5.1.1 TPS | v5.2.0 TPS |
| --- | --- | --- |
| 150 | 1000 | 1100 |
"""
SIZE = 15_000
LINES = 2_400


def cpu_s(text: str) -> float:
    """The CPU seconds in which a page with this text is read; the quicker of two times."""
    found = []
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        page.read(PAGE.format(text=text).encode(), "page.md")
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return min(found)


@pytest.mark.parametrize(
    ("before", "again", "behind"),
    [
        ("", "!", "a"),
        ("", "?!", '"a'),
        ("", "performance improved by 5% ", "a"),
        ("", "v1.1.1.1 vs. ", "a"),
        ("", "!\u201d", "a"),
        ("```\n", "\n", "a\n```"),
        ("```\nset global ", ".", "\n```"),
        ("```\nset ", "\n", "\n```"),
    ],
)
def test_four_times_as_long_takes_about_four_times_as_long(
    before: str, again: str, behind: str
) -> None:
    """The square would be sixteen: 26 KB of exclamation marks took 200 seconds."""
    few = LINES if again == "\n" else SIZE // len(again)
    short, long = (before + again * count + behind for count in (few, 4 * few))
    assert cpu_s(long) < 8 * cpu_s(short) + 0.4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\n" * 10_000, "page.md, line 10001: 10013 lines, more than 10000"),
        ("a\r" * 10_000, "page.md, line 10001: 10012 lines, more than 10000"),
        ("a" * page.MOST_BYTES, "longer than 250 KB"),
    ],
)
def test_a_page_beyond_its_budget_is_refused(text: str, told: str) -> None:
    """Before it is read: the error names the page, the line and the limit."""
    with pytest.raises(PublishedPageError, match=told):
        page.read(PAGE.format(text=text).encode(), "page.md")


def test_comments_that_never_end_do_not_nest() -> None:
    """Everything below the first is a comment, so that nothing of the page is left to read."""
    with pytest.raises(PublishedPageError, match="not a performance test report"):
        page.read(PAGE.format(text="<!-- " * SIZE).encode(), "page.md")
