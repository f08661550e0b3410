"""Shows a campaign's progress: one live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from dataclasses import replace
from typing import Self, TextIO

from benchlab.campaign.progress import ProgressLog, ProgressNote, TimeLeft

PAUSE_S = 0.25
# Without a terminal these phases get no line of their own: one line per trial is enough.
_QUIET_PHASES = frozenset(
    {"stop", "restore", "start", "ready", "check dataset", "warm-up", "run", "collect"}
)


class ProgressView:
    """Follows a progress log in a thread: ``with ProgressView(log, 600, sys.stderr): ...``.

    Args:
        log: the progress log, which another process may write.
        planned_s: the plan's estimate in seconds, used until the campaign shows its own pace.
    """

    def __init__(self, log: ProgressLog, planned_s: float, stream: TextIO) -> None:
        self._log, self._stream = log, stream
        self._left = TimeLeft(planned_s)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._last: ProgressNote | None = None
        self._shown_width = 0
        self._offset = log.read()[1]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        with contextlib.suppress(OSError):  # a terminal that is gone must not end the campaign
            self._take()
            if self._stream.isatty() and self._last is not None:
                self._show_live()
                self._stream.write("\n")
                self._stream.flush()

    def _follow(self) -> None:
        with contextlib.suppress(OSError):
            while not self._stop.wait(PAUSE_S):
                self._take()
                if self._stream.isatty():
                    self._show_live()

    def _take(self) -> None:
        steps, self._offset = self._log.read(self._offset)
        for step in steps:
            self._left.see(step)
            if not self._stream.isatty() and self._is_news(step):
                # It is the trial's only line, so it does not name the phase.
                shown = replace(step, phase="") if step.phase in _QUIET_PHASES else step
                print(shown.line(self._left.seconds()), file=self._stream, flush=True)
            self._last = step

    def _is_news(self, step: ProgressNote) -> bool:
        last = self._last
        same_trial = last is not None and (step.trial, step.note) == (last.trial, last.note)
        return step.trial is None or step.phase not in _QUIET_PHASES or not same_trial

    def _show_live(self) -> None:
        if self._last is None:
            return
        width = shutil.get_terminal_size().columns - 1
        elapsed = max(0.0, time.time() - self._last.at)
        left_s = self._left.seconds()
        text = f"{self._last.line(left_s)} · {elapsed:.0f} s in this phase"
        if len(text) > width:
            text = self._last.line(left_s, width)[:width]
        self._stream.write("\r" + text.ljust(self._shown_width))
        self._shown_width = len(text)
        self._stream.flush()
