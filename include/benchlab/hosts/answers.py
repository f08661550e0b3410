"""Reads JSON from servers, mirrors and other programs, none of which is trusted.

Example:
    ``from_json('{"version": "v6.5.0"}')["version"]``
"""

from __future__ import annotations

import json
from typing import Any

# Ten times the depth of any answer of PD, TiDB, TiUP, S3 or TiDB Cloud.
_MOST_DEPTH = 100
_TOO_DEEP = "nested too deeply to be read"


def from_json(text: str | bytes) -> Any:
    """Parse JSON that is nested at most 100 levels deep, so that recursive readers are safe.

    Raises:
        ValueError: it is ``not JSON``, or ``nested too deeply to be read``.
    """
    try:
        found = json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    except ValueError:
        raise ValueError("not JSON") from None
    level = [found]
    for _ in range(_MOST_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return found
    raise ValueError(_TOO_DEEP)
