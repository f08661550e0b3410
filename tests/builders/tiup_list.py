"""A stand-in for ``tiup list COMPONENT [--all]``, which prints and refuses as TiUP 1.16.5 does.

From TiUP's ``cmd/list.go`` (columns, order, the line of the nightly build, errors),
``pkg/tui/tui.go`` (two spaces between columns, none at the end of a line, a line of dashes) and
``pkg/repository/v1_repository.go`` (a component that its mirror does not have).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

_PROGRAM = """
import json
import sys
from pathlib import Path

mirror = json.loads(Path(__file__).with_name("mirror.json").read_text())

def fail(words):
    print(f"\\x1b[31mError: {words}\\x1b[0m", file=sys.stderr)
    sys.exit(1)

def cells(row, widths):
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()

if sys.argv[1:2] != ["list"]:
    fail(f'unknown component {sys.argv[1:2]}')
options = [word for word in sys.argv[2:] if word.startswith("-")]
for option in set(options) - {"--all", "--installed", "--verbose"}:
    fail(f"unknown flag: {option}")
if mirror["fault"]:
    fail(mirror["fault"])
(component,) = [word for word in sys.argv[2:] if not word.startswith("-")]
if component != "tidb":
    fail("failed to fetch component: unknown component")
rows = [["Version", "Installed", "Release", "Platforms"], *mirror["rows"]]
rows.insert(1, ["-" * len(name) for name in rows[0]])
widths = [max(map(len, column)) for column in zip(*rows)]
print(f"Available versions for {component}:")
for row in rows:
    print(cells(row, widths))
"""
PLATFORMS = "darwin/arm64,linux/amd64"


def install(folder: Path, versions: Sequence[tuple[str, str]], fault: str = "") -> Path:
    """Put it into a folder, as ``tiup``; returns its path.

    Args:
        versions: each with what TiUP prints under ``Release``, in semantic order.
        fault: what it refuses to list any component with.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = [[name, "YES" if name == "v8.5.7" else "", day, PLATFORMS] for name, day in versions]
    (folder / "mirror.json").write_text(json.dumps({"rows": rows, "fault": fault}))
    path = folder / "tiup"
    path.write_text(f"#!{sys.executable}\n{_PROGRAM}")
    path.chmod(0o755)
    return path
