"""Front matter, YAML between two lines ``---`` at the head of a page: its title and summary."""

from __future__ import annotations

import re
from collections.abc import Sequence

import yaml

from benchlab.published.model import Unread

_FENCE = "---"
_FIELD = re.compile(r"(title|summary)\s*:\s*(.*?)\s*$")
_MOST_LINES = 200  # one that is longer is no front matter; YAML's reader is slow


def end(lines: Sequence[str]) -> int:
    """How many lines the front matter takes; 0: there is none."""
    if lines[0].rstrip() != _FENCE:
        return 0
    for number, line in enumerate(lines[1:_MOST_LINES], start=2):
        if line.rstrip() == _FENCE:
            return number
    return 0


def read(
    lines: Sequence[str],
) -> tuple[dict[str, tuple[str, int]], list[Unread]]:
    """Title and summary with their lines, by name.

    Front matter that is no YAML (a colon in an unquoted title is enough) is read line by line and
    listed.
    """
    inside = lines[1 : max(end(lines) - 1, 1)]
    try:
        # Composed, not constructed: a title that looks like a date or a number is a text here.
        root = yaml.compose("\n".join(inside), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as e:
        mark = getattr(e, "problem_mark", None)
        line = (mark.line if mark else 0) + 2
        found: dict[str, tuple[str, int]] = {}
        for number, text in enumerate(inside, start=2):
            if match := _FIELD.match(text):
                found.setdefault(match[1], (match[2].strip("'\""), number))
        return found, [Unread(line, "the front matter is no YAML; read line by line")]
    if not isinstance(root, yaml.MappingNode):
        return {}, []
    return {
        key.value: (" ".join(value.value.split()), key.start_mark.line + 2)
        for key, value in root.value
        if isinstance(key, yaml.ScalarNode)
        and isinstance(value, yaml.ScalarNode)
        and key.value in ("title", "summary")
    }, []
