"""Parses what a TPC-C client prints besides its figures: errors, lost connections, how it ended.

The lines are go-tpc's (``execute`` in ``cmd/go-tpc/misc.go``) and those of its database driver::

    [2024-01-02 03:04:05] execute run failed, err exec UPDATE district ... failed Error 1213 ...
    [2024-01-02 03:04:05] run worker 1 stopped due to timeout: exec ... context deadline exceeded
    [mysql] 2024/01/02 03:04:05 statement.go:54: invalid connection

``tpcc.lua`` prints errors in the form of the first line, and ``FATAL: ...`` when it has to stop.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

from benchlab.workloads.output import quoted

_STAMP = r"\[([0-9-]{10} [0-9:]{8})\] "
_STOPPED = re.compile(rf"{_STAMP}run worker [0-9]{{1,9}} stopped due to timeout( after |: )(.*)")
_ERROR = re.compile(rf"(?:{_STAMP})?execute run failed, err (.*)")
# Some statements span several lines, and the error comes after them.
_STATEMENT = re.compile(
    rf"(?:{_STAMP})?(?:run worker [0-9]{{1,9}} stopped|execute run failed).* exec "
)
_LINES_OF_A_STATEMENT = 16
_ANOTHER_LINE = ("[", "execute ", "Finished", "tpmC: ")
_DRIVER = re.compile(r"\[mysql\] ([0-9/]{10} [0-9:]{8}) ")
# When the time is up, a worker's transaction is cancelled; go-tpc 1.0.12 calls that an error.
_TIME_IS_UP = "context deadline exceeded"
# Cancelled before a transaction began, so this is no cancelled transaction.
_BETWEEN_TRANSACTIONS = ("ping-based connection refresh", "automatic connection refresh", "panic")
_SIGNAL = re.compile(r"Got signal \[[^\]]{1,40}\]")
SERVER_ERROR = re.compile(r"\bError ([0-9]{1,5})\b")
LOST_CONNECTION = re.compile(
    r"invalid connection|bad connection|connection refused|connection reset|broken pipe"
    r"|unexpected EOF|i/o timeout|no route to host|failed to ping db"
)
_CAUSE = re.compile(
    r"failed to |Failed to |panic: |Error: |fatal error: |check prepare failed|"
    r"execute (?:prepare|check|cleanup) failed|prepare statement error"
)
_OTHER_ACTION = re.compile(r"begin to check |creating table |load to ")
_EMBEDDED = "benchlab tpcc.lua"
_FATAL = "FATAL: "


def lines_of(text: str) -> Iterator[str]:
    """The lines of an output, with an error that spans several lines joined into one.

    Example:
        ``list(lines_of("Finished"))`` is ``["Finished"]``.
    """
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if " exec " in line and " failed " not in line and _STATEMENT.match(line):
            end = number + _LINES_OF_A_STATEMENT
            while number < min(end, len(lines)) and not lines[number].startswith(_ANOTHER_LINE):
                line = f"{line} {lines[number]}"
                number += 1
                if " failed " in line:
                    break
        yield line


class Messages:
    """The messages of one run, sorted line by line.

    Attributes:
        causes: lines that may say why a run went wrong.
        signals: messages about signals that ended the run from outside.
        error_numbers: how often the run survived each of the server's error numbers.
        cancelled: how many transactions the end of the run cut off.
        other_action: whether the text comes from an action other than a run.
    """

    def __init__(self) -> None:
        self.causes: list[str] = []
        self.signals: list[str] = []
        self.error_numbers: Counter[str] = Counter()
        self.cancelled = 0
        self.other_action = False
        self._client = "go-tpc"
        self._died: list[str] = []
        self._fatal: list[str] = []
        self._lost: list[str] = []
        self._driver: list[tuple[str, str]] = []
        self._first_stop: str | None = None

    def take_error(self, line: str) -> bool:
        """Read a line about a transaction's error or a worker's end; False if it is neither."""
        if match := _STOPPED.fullmatch(line):
            self._first_stop = min(self._first_stop or match[1], match[1])
            self._count_cancelled(match[3] if match[2] == ": " else None)
        elif match := _ERROR.fullmatch(line):
            self._read_error(line, match[2], stamped=match[1] is not None)
        else:
            return False
        return True

    def take_other(self, line: str) -> bool:
        """Read a line with another kind of message; False if it has none."""
        if match := _SIGNAL.match(line):
            self.signals.append(match[0])
        elif line.startswith(_EMBEDDED):
            self._client = "tpcc.lua"
        elif line.startswith(_FATAL):
            self._fatal.append(line)
        elif LOST_CONNECTION.search(line):
            if match := _DRIVER.match(line):
                self._driver.append((match[1], line))
            else:
                self._lost.append(line)
        elif _CAUSE.search(line):
            self.causes.append(line)
        elif _OTHER_ACTION.match(line):
            self.other_action = True
        else:
            return False
        return True

    def deaths(self) -> list[str]:
        """Reasons why the run measured nothing: workers that died or connections that were lost."""
        reasons = quoted(self._client, self._fatal)
        if self._died:
            reasons.append(
                f"Workers that ended before the run did, by an error: {len(self._died)}."
            )
            reasons += quoted(self._client, self._died)
        lost = [*self._lost, *(line for stamp, line in self._driver if not self._at_end(stamp))]
        if lost:
            reasons.append(f"Messages about a connection that was lost or refused: {len(lost)}.")
            reasons += quoted(self._client, lost)
        return list(dict.fromkeys(reasons))

    def possible_causes(self) -> list[str]:
        """Reasons that quote :attr:`causes`."""
        return quoted(self._client, self.causes)

    def _at_end(self, stamp: str) -> bool:
        """Whether the driver closed the connection because the time was up.

        It closes the connection of a cancelled transaction, and may print so before the worker
        does. If the server went away instead, transactions fail with errors.
        """
        if self._first_stop is None:
            return False
        with contextlib.suppress(ValueError):
            said = datetime.fromisoformat(stamp.replace("/", "-"))
            return said >= datetime.fromisoformat(self._first_stop) - timedelta(seconds=1)
        return False

    def _read_error(self, line: str, message: str, *, stamped: bool) -> None:
        """Read a transaction's error; one without a time stamp ended its worker."""
        if message.endswith(_TIME_IS_UP):
            if stamped:
                self._count_cancelled(message)
            return
        if not stamped:
            self._died.append(line)
            return
        if number := SERVER_ERROR.search(message):
            self.error_numbers[number[1]] += 1
        if LOST_CONNECTION.search(message):
            self._lost.append(message)

    def _count_cancelled(self, message: str | None) -> None:
        if message is not None and not message.startswith(_BETWEEN_TRANSACTIONS):
            self.cancelled += 1
