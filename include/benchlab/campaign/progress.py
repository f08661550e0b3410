"""The progress of a campaign: a file with one JSON line per step.

The stages write it, and any process may read it: a terminal can follow a campaign that Airflow
runs in other processes.
"""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from benchlab.errors import naming
from benchlab.language import Message, Said
from benchlab.plan.steps import Stage

_BETWEEN = " · "
# At this many characters a part can still be recognized: `candidate`, `12 threads`, `oltp_upd…`.
_SHORTEST = 9
_WAITS = ("wait for approval", "wait until it is free")
# Characters of a note that are shown; the log has a tool's full output.
_LONGEST_NOTE = 400


@dataclass(frozen=True)
class ProgressNote:
    """One step.

    Attributes:
        at: when it began, in seconds since the epoch.
        stage: its stage, or ``failed``; then ``phase`` says what failed.
        phase: the part of the stage: ``deploy``, ``load``, ``restore``, ``run``, ...
        done, total: trials finished and planned; None outside trials.
        trial: the trial's title; None outside trials.
        note: further text, in English; may be empty.
        said: the note as a message; None if it is only text.
    """

    at: float
    stage: Stage | Literal["failed"]
    phase: str
    done: int | None = None
    total: int | None = None
    trial: str | None = None
    note: str = ""
    said: Message | None = None

    @property
    def remark(self) -> Said:
        """The note, as a message if there is one, else as English text."""
        return self.said or self.note

    @property
    def is_wait(self) -> bool:
        """Whether the campaign waits for a person, or for another campaign."""
        return self.phase in _WAITS

    def line(self, left_s: float | None, width: int | None = None) -> str:
        """The step as one line for people: ``trial 3 of 8 · candidate · run · 5 min 02 s left``.

        Args:
            left_s: the estimated seconds left; None to leave them out.
            width: the most characters; only the middle is shortened, not the beginning and the
                time left. None for no limit.
        """
        head: str = self.stage
        left = f"{_duration(left_s)} left" if left_s is not None else ""
        if self.total is not None and self.done is not None:
            head = f"trial {min(self.done + 1, self.total)} of {self.total}"
        title = self.trial.split(_BETWEEN) if self.trial else []
        note = textwrap.shorten(self.note, _LONGEST_NOTE, placeholder=" …")
        middle = [part for part in (*title, self.phase, note) if part]
        if width is None:
            return _joined(head, *middle, left)
        room = width - len(_joined(head, "", left)) - len(_BETWEEN)
        if len(_shortened(middle, room)) > room and title:
            middle = middle[1:]  # drop the round, which follows roughly from the trial's number
        return _joined(head, _cut(_shortened(middle, room), room), left)


_SAID: TypeAdapter[Message | None] = TypeAdapter(Message | None)


class ProgressLog:
    """Writes and reads the steps of a campaign: ``ProgressLog(path).note("publish", "report")``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, stage: Stage | Literal["failed"], phase: str, note: Said = "") -> None:
        """Append a step that happens now."""
        said = note if isinstance(note, Message) else None
        self.write(ProgressNote(time.time(), stage, phase, note=str(note), said=said))

    def write(self, step: ProgressNote) -> None:
        """Append a step in a single write, so that lines of concurrent writers do not mix."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with naming(self.path), self.path.open("ab", buffering=0) as file:
            file.write(json.dumps(asdict(step)).encode() + b"\n")

    def read(self, offset: int = 0) -> tuple[list[ProgressNote], int]:
        """The steps after byte ``offset``, and the offset for the next call."""
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return [], offset
        whole = data[: data.rfind(b"\n") + 1]
        steps = [step for line in whole.splitlines() if (step := _read(line))]
        return steps, offset + len(whole)


class TimeLeft:
    """Estimates the time left, from the plan until a trial has finished, then from the pace so far.

    Example:
        After ``see`` of a step at 0 s with no trial of 4 done, and of one at 60 s with one done,
        ``seconds(60.0)`` is 180.

    Args:
        planned_s: the plan's estimate in seconds.
    """

    def __init__(self, planned_s: float) -> None:
        self._planned_s = planned_s
        self._begin: float | None = None
        self._first: tuple[float, int] | None = None
        self._latest: tuple[float, int, int] | None = None

    def see(self, step: ProgressNote) -> None:
        """Take a step into account."""
        if step.is_wait:  # nobody knows how long; the plan's time begins afterwards
            self._begin = None
        elif self._begin is None:
            self._begin = step.at
        if step.done is None or step.total is None:
            return
        if self._first is None:
            self._first = (step.at, step.done)
        if self._latest is None or step.done != self._latest[1]:
            self._latest = (step.at, step.done, step.total)

    def seconds(self, now: float | None = None) -> float | None:
        """Seconds left at ``now`` (since the epoch); None before the first step, and in a wait."""
        now = time.time() if now is None else now
        if self._begin is None:
            return None
        first, latest = self._first, self._latest
        # If the clock was set back, there is no pace.
        if first and latest and latest[0] > first[0] and latest[1] > first[1]:
            at, done, total = latest
            pace = (at - first[0]) / (done - first[1])
            return max(0.0, pace * (total - done) - (now - at))
        return max(0.0, self._planned_s - (now - self._begin))


def _read(line: bytes) -> ProgressNote | None:
    """Read a line; None if it is damaged, for example because the disk was full."""
    try:
        fields = json.loads(line)
        return ProgressNote(**{**fields, "said": _SAID.validate_python(fields.get("said"))})
    except (TypeError, ValueError):
        return None


def _joined(*parts: str) -> str:
    return _BETWEEN.join(part for part in parts if part)


def _shortened(parts: Sequence[str], room: int) -> str:
    """Shorten the longest part one letter at a time, but none below ``_SHORTEST``."""
    left = list(parts)
    while len(text := _joined(*left)) > room:
        longest = max(left, key=len)
        if len(longest) <= _SHORTEST:
            break
        left[left.index(longest)] = f"{longest.removesuffix('…')[:-1]}…"
    return text


def _cut(text: str, room: int) -> str:
    if len(text) <= room:
        return text
    return f"{text[: room - 1].rstrip(' ·…')}…" if room > 1 else ""


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
