"""What the verification of a bundle prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from benchlab.cli import reports
from benchlab.report.evidence import Difference, Verification
from tests.builders.evidence import as_json, by_another, files_of, forged, the_trial
from tests.builders.installation import PROGRAM

HOSTILE = "\x1b[2J\nthe bundle holds\r\u202e\x9b"


def test_what_a_bundle_says_cannot_reach_the_terminal(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Neither as an escape, nor as a line of its own, nor as half a character."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    one["samples"][0]["metric"] = HOSTILE
    for content in (
        forged(good, {"trials.json": as_json(trials)}),
        forged(good, {HOSTILE: b""}),
        forged(good, {f"report/{HOSTILE}": b""}),
    ):
        lines = verified(content).lines()
        assert [line for line in lines if "\\u202e" in line or "\\x1b" in line]
        assert "the bundle holds" not in lines
        assert all(line.isprintable() for line in lines)


def test_half_a_character_is_printed_by_its_number() -> None:
    """In whatever a line is made of."""
    found = Verification("\ud800", "\ud800", differences=[Difference("\ud800", HOSTILE)])
    found.not_recomputed.append("\ud800")
    lines = found.lines()
    assert (len(lines), lines[-1]) == (5, "the bundle does not hold")
    assert all(line.isprintable() for line in lines)


def test_letters_that_a_terminal_does_not_have_are_written_by_their_numbers(
    good: bytes, tmp_path: Path
) -> None:
    """Whatever it can show, the outcome is printed, and its exit code is given."""
    path = tmp_path / "测试.zip"
    path.write_bytes(forged(good, {"more": b""}))
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [PROGRAM, "verify", path], env=environment, capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"\u6d4b\u8bd5.zip: evidence of evident" in done.stdout
    assert done.stdout.endswith(b"the bundle does not hold\n")
    as_document = CliRunner().invoke(reports.app, ["verify", str(path), "--json"])
    assert as_document.stdout.isascii()
    document = json.loads(as_document.stdout)
    assert (document["bundle"], document["outcome"]) == (str(path), "differs")


def test_each_outcome_has_its_exit_code(good: bytes, tmp_path: Path) -> None:
    """0 holds, 1 differs, 2 not verified as a whole."""
    text = files_of(good)["report/report.md"] + b"\n"
    for code, content in (
        (0, good),
        (1, forged(good, {"report/report.md": text})),
        (2, by_another(good, {"report/report.md": text})),
    ):
        path = tmp_path / f"{code}.zip"
        path.write_bytes(content)
        assert CliRunner().invoke(reports.app, ["verify", str(path)]).exit_code == code
