"""A person who waits for a campaign sees how far it is and when it will end."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.campaign.progress import ProgressLog, ProgressNote, TimeLeft
from benchlab.cli.progress_view import ProgressView

TRIAL = "round 2 · candidate · point_select · 300 threads"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Always."""
        return True


@pytest.fixture
def log(tmp_path: Path) -> ProgressLog:
    """A log whose directory does not exist yet."""
    return ProgressLog(tmp_path / "c1" / "progress.jsonl")


def step(
    phase: str = "run", done: int | None = None, at: float = 0.0, **fields: object
) -> ProgressNote:
    """A step of a trial if ``done`` is given, else of a stage."""
    if done is None:
        return ProgressNote(at, "prepare", phase, **fields)  # type: ignore[arg-type]
    return ProgressNote(at, "trial", phase, done, 48, f"trial {done}", **fields)  # type: ignore[arg-type]


# ---------------------------------------------------------------- the log


def test_steps_are_read_as_they_were_written(log: ProgressLog) -> None:
    """In order, from where the reader left off."""
    steps = [step("deploy", note="ünï\nand more"), step("run", 3, at=12.5)]
    assert log.read() == ([], 0)
    log.write(steps[0])
    first, offset = log.read()
    log.write(steps[1])
    second, end = log.read(offset)
    assert [*first, *second] == steps
    assert log.read(end) == ([], end)


def test_half_a_line_is_read_once_it_is_whole(log: ProgressLog) -> None:
    """A reader that meets half a line reads it next time."""
    log.write(step("deploy"))
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + whole[:20])
    steps, offset = log.read()
    assert (steps, offset) == ([step("deploy")], len(whole))
    log.path.write_bytes(whole + whole)
    assert log.read(offset)[0] == [step("deploy")]


@pytest.mark.fault(
    "a full disk cuts off a line of a campaign's progress",
    promise="the next steps are shown",
    of="disks",
)
def test_a_damaged_line_does_not_stop_a_campaign(log: ProgressLog) -> None:
    """A line that a full disk cut off is skipped, and the next steps are shown."""
    log.write(step("deploy"))
    with log.path.open("ab") as file:
        file.write(b'{"at": 1\n[]\n{"other": 1}\n\xff\n\n')
    log.write(step("load"))
    assert log.read()[0] == [step("deploy"), step("load")]


def test_concurrent_writers_do_not_mix(log: ProgressLog) -> None:
    """Two processes that write long notes at once lose no step."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.campaign.progress import *\n"
        "log = ProgressLog(Path(sys.argv[1]))\n"
        "note = ProgressNote(0.0, sys.argv[2], 'x', note=sys.argv[2] * 30_000)\n"
        "for n in range(100): log.write(note)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, log.path, name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    steps, _ = log.read()
    assert len(steps) == 200
    assert all(s.note == s.stage * 30_000 for s in steps)


# ---------------------------------------------------------------- time left


def test_before_the_second_trial_the_plan_says_how_long(log: ProgressLog) -> None:
    """The plan's estimate minus the time since the first step."""
    left = TimeLeft(600)
    assert left.seconds(0) is None
    left.see(step("deploy", at=1000.0))
    assert left.seconds(1000) == 600
    left.see(step("run", 0, at=1090.0))
    assert left.seconds(1100) == 500
    assert left.seconds(9999) == 0


def test_then_the_campaigns_own_pace_says_how_long() -> None:
    """After 12 of 48 trials in two minutes, six minutes are left, whatever was planned."""
    left = TimeLeft(10_000)
    left.see(step("run", 0, at=1000.0))
    for done in range(1, 13):
        left.see(step("restore", done, at=1000.0 + 10 * done))
        left.see(step("run", done, at=1000.0 + 10 * done + 5))
    assert left.seconds(1120) == pytest.approx(360)
    assert left.seconds(1125) == pytest.approx(355)


def test_a_resumed_campaign_goes_by_its_new_pace() -> None:
    """Trials from before it was resumed took no time of this run."""
    left = TimeLeft(10_000)
    left.see(step("run", 40, at=1000.0))
    left.see(step("run", 42, at=1020.0))
    assert left.seconds(1020) == pytest.approx(60)


@given(st.lists(st.tuples(st.none() | st.integers(0, 47), st.floats(0, 1e6))))
def test_the_time_left_is_never_negative(seen: list[tuple[int | None, float]]) -> None:
    """Even with repeated trials and clocks that jump."""
    left = TimeLeft(100)
    for done, at in seen:
        left.see(step("run", done, at=at))
        seconds = left.seconds(at)
        assert seconds is not None
        assert seconds >= 0


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (61, "1 min 01 s"),
        (3599.6, "1 h 00 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_a_step_is_shown_in_one_line(seconds: float, shown: str) -> None:
    """Trial k of n, side, workload, threads, phase, time left."""
    line = ProgressNote(0, "trial", "warm-up", 6, 48, TRIAL).line(seconds)
    assert line == f"trial 7 of 48 · {TRIAL} · warm-up · {shown} left"
    assert (
        ProgressNote(0, "prepare", "load baseline", note="x").line(None)
        == "prepare · load baseline · x"
    )


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize(("done", "total"), [(6, 48), (111, 144)])
def test_a_narrow_line_keeps_the_trial_number_and_the_time_left(
    width: int, done: int, total: int
) -> None:
    """The parts in between are shortened, the longest first: a workload's name, a tool's output."""
    title = "round 2 · candidate · oltp_update_non_index · 4 threads"
    for phase, note in (("warm-up", ""), ("check dataset", ""), ("failed", "why\n" * 500)):
        line = ProgressNote(0, "trial", phase, done, total, title, note).line(4000, width)
        assert len(line) <= width
        assert line.startswith(f"trial {done + 1} of {total} · candidate · oltp_")
        assert line.endswith(" · 1 h 06 min left")
    line = ProgressNote(0, "trial", "warm-up", 6, 48, title).line(725, 79)
    assert line == "trial 7 of 48 · candidate · oltp_upda… · 4 threads · warm-up · 12 min 05 s left"
    line = ProgressNote(0, "provision", "failed", note="Maven said: " * 40).line(725, width)
    assert line.startswith("provision · failed · Maven said: ")
    assert line.endswith("… · 12 min 05 s left")


def test_a_step_is_one_line_however_long_its_note_is() -> None:
    """The full output of a tool is in the log and in the report of the failure."""
    line = ProgressNote(0, "failed", "provision", note="first\n" + "and more\n" * 500).line(60)
    assert line.startswith("failed · provision · first and more and more")
    assert line.endswith("… · 1 min 00 s left")
    assert len(line) < 500
    assert "\n" not in line


# ---------------------------------------------------------------- the view


def test_without_a_terminal_lines_are_plain_and_few(log: ProgressLog) -> None:
    """A line per stage and per trial, no control characters, nothing of an earlier run."""
    log.write(step("of an earlier run"))
    out = io.StringIO()
    with ProgressView(log, 600, out):
        log.write(step("deploy baseline"))
        for done in (0, 1):
            for phase in ("restore", "start", "ready", "warm-up", "run", "collect"):
                log.write(step(phase, done, at=time.time()))
        log.write(step("failed", 1, note="why"))
    lines = out.getvalue().splitlines()
    assert [line.split(" · ")[:2] for line in lines] == [
        ["prepare", "deploy baseline"],
        ["trial 1 of 48", "trial 0"],
        ["trial 2 of 48", "trial 1"],
        ["trial 2 of 48", "trial 1"],
    ]
    assert "why" in lines[-1]
    assert all(line.endswith(" left") for line in lines)
    assert "\r" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_on_a_terminal_one_line_is_updated(
    log: ProgressLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is overwritten in place and fits the width; other output begins on a new line."""
    monkeypatch.setenv("COLUMNS", "60")
    out = Terminal()
    with ProgressView(log, 600, out):
        log.write(ProgressNote(time.time(), "trial", "restore", 0, 48, TRIAL))
        while "restore" not in out.getvalue() and "…" not in out.getvalue():
            time.sleep(0.01)
        log.write(ProgressNote(time.time(), "verdict", "done"))
    shown = out.getvalue()
    assert shown.endswith("\n")
    assert shown.count("\n") == 1
    assert all(len(part) < 60 for part in shown.strip("\n").split("\r"))
    assert shown.split("\r")[-1].startswith("verdict · done")


@pytest.mark.parametrize("width", [80, 60])
def test_the_time_left_is_seen_on_a_narrow_terminal(
    log: ProgressLog, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """As the README promises; the seconds in the phase are dropped first."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = Terminal()
    with ProgressView(log, 600, out):
        log.write(ProgressNote(time.time(), "trial", "restore", 0, 48, f"round 1 · {TRIAL}"))
    last = out.getvalue().strip("\n").split("\r")[-1].rstrip()
    assert len(last) < width
    assert last.startswith("trial 1 of 48 · ")
    assert last.endswith(" s left")


def test_a_short_line_erases_a_longer_one(
    log: ProgressLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the old line stays visible after the new one."""
    monkeypatch.setenv("COLUMNS", "200")
    out = Terminal()
    with ProgressView(log, 600, out):
        log.write(ProgressNote(time.time(), "trial", "restore", 0, 48, TRIAL))
        while TRIAL not in out.getvalue():
            time.sleep(0.01)
        log.write(ProgressNote(time.time(), "verdict", "x"))
    screen = ""
    for part in out.getvalue().strip("\n").split("\r"):
        screen = part + screen[len(part) :]
    assert "point_select" not in screen


def test_a_campaign_without_steps_shows_nothing(log: ProgressLog) -> None:
    """Not even an empty line."""
    for out in (io.StringIO(), Terminal()):
        with ProgressView(log, 600, out):
            pass
        assert out.getvalue() == ""


def test_an_error_in_the_campaign_is_passed_on(log: ProgressLog) -> None:
    """The view ends, and the error is raised."""
    out = Terminal()
    view = ProgressView(log, 600, out)
    log.write(step("deploy"))
    with pytest.raises(ZeroDivisionError), view:
        raise ZeroDivisionError
    assert out.getvalue().endswith("\n")
