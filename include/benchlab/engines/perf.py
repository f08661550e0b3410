"""Profiles of a server on this machine by ``perf``, where the kernel allows them.

Example:
    ``fault(executor)`` is None where ``perf record`` works.
"""

from __future__ import annotations

import shlex

from benchlab.errors import CommandError
from benchlab.hosts.executor import Executor
from benchlab.language import Said, message
from benchlab.results.pprof import NAMELESS

TRY_LIMIT_S = 20.0
# So often in a second, as TiKV does: no multiple of what servers do by the clock.
HERTZ = 99
# `perf script` prints a sample as the program, a line for each frame, the innermost first
# (`  7f12 name(arguments) (/usr/sbin/mariadbd)`), and an empty line. Arguments are left out: they
# differ between versions where the function is the same.
_FOLD = r"""
function named(line,    program) {
    sub(/ \(deleted\)\)$/, ")", line)
    program = line; sub(/^.* \(/, "", program); sub(/\)$/, "", program); sub(/^.*\//, "", program)
    sub(/^[ \t]*[0-9a-f]+ /, "", line); sub(/ \([^()]*\)$/, "", line)
    if (line ~ /^\[unknown\]/) return nameless " in " program "]"
    gsub(/\(anonymous namespace\)/, "{anonymous}", line); sub(/operator\(\)/, "operator{}", line)
    sub(/\(.*/, "", line); sub(/\+0x[0-9a-f]+$/, "", line); gsub(/;/, ":", line)
    return line
}
/^[^ \t]/ { stack = ""; next }
/^[ \t]+[0-9a-f]+ / { stack = named($0) (stack == "" ? "" : ";" stack); next }
/^$/ && stack != "" { seen[stack]++; stack = "" }
END { if (stack != "") seen[stack]++; for (stack in seen) print stack, seen[stack] }
"""


def fault(executor: Executor) -> Said | None:
    """Why servers cannot be profiled on a host; None if they can."""
    try:
        command = ["perf", "record", "-q", "-F", str(HERTZ), "-g", "-o", "/dev/null", "--", "true"]
        executor.run(command, timeout_s=TRY_LIMIT_S)
    except CommandError as error:
        lines = [line.strip() for line in error.output.splitlines() if line.strip()]
        return message("profiles-no-perf", why=(lines or [str(error)])[0])
    return None


def command(job: str, seconds: int) -> str:
    """The shell's command line that prints a profile as folded stacks, gzipped, in base64.

    Args:
        job: that of the server, beside the one in whose directory this runs.
    """
    record = f'perf record -q -F {HERTZ} -g -o stacks -p "$(cat ../{shlex.quote(job)}/pid)"'
    fold = shlex.join(["awk", "-v", f"nameless={NAMELESS}", _FOLD])
    return (
        f"{{ {record} -- sleep {seconds} > said 2>&1 "
        f"&& perf script -i stacks -F comm,ip,sym,dso 2> said | {fold} | sort "
        "|| cat said; rm -f stacks said; } | gzip -n | base64 -w 0"
    )
