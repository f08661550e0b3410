"""Differential flame graphs: widths add up, and nothing is lost."""

from __future__ import annotations

import re
import sys

from benchlab.charts.flame import Labels, flame

LABELS = Labels(
    "Title",
    "Remark",
    ("1", "2", "3", "4", "5", "6"),
    "all",
    lambda baseline, candidate: f"{baseline:g} > {candidate:g}",
    lambda count: f"{count} narrower",
    "Find",
    "{count} found: {baseline}, {candidate}",
)


def frames(stacks: dict[tuple[str, ...], tuple[float, float]]) -> dict[str, tuple[float, str]]:
    """Width in pixels and CSS class of each frame, by its title."""
    drawn = flame(stacks, LABELS, {"work"}).file().decode()
    pattern = r'<title>(.*?)</title>\s*<rect class="(.*?)".*?width="(.*?)"'
    found = re.findall(pattern, drawn, re.DOTALL)
    return {title.replace("\n", ": "): (float(width), css) for title, css, width in found}


def test_a_frames_width_is_the_mean_of_both_sides() -> None:
    """What is gone keeps a place of half its width, what is new gets one."""
    found = frames({("main", "work"): (75, 75), ("main", "old"): (25, 0), ("main", "new"): (0, 25)})
    whole = found["all: 100 &gt; 100"][0]
    assert found["work: 75 &gt; 75"] == (0.75 * whole, "frame same found")
    assert found["old: 25 &gt; 0"] == (0.125 * whole, "frame down much alone")
    assert found["new: 0 &gt; 25"] == (0.125 * whole, "frame up much alone")


def test_narrow_frames_are_one_and_their_number_is_said() -> None:
    """Below a thousandth of everything; their sum is kept."""
    rare: dict[tuple[str, ...], tuple[float, float]] = {
        ("main", f"rare{number}"): (0.02, 0.03) for number in range(50)
    }
    found = frames({("main", "work"): (99, 98.5), **rare})
    (title,) = [one for one in found if "narrower" in one]
    assert title == "50 narrower: 1 &gt; 1.5"


def test_a_name_is_text_and_a_deep_stack_is_drawn() -> None:
    """Generic and C++ functions have angle brackets; recursion may go deep."""
    deep = ("<T as X>::f",) * (2 * sys.getrecursionlimit())
    assert any("&lt;T as X&gt;::f" in title for title in frames({deep: (1.0, 1.0)}))
