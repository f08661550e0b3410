"""`benchlab reports`: what can be measured, and what that takes."""

from __future__ import annotations

from tests.builders.installation import Here


def test_a_new_user_sees_what_can_be_measured_here_first(here: Here) -> None:
    """By place, with minutes and dollars, and no line is wider than the terminal."""
    done = here.run("reports", COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "on this machine"
    assert lines[1].split()[0] == "sysbench_local"
    assert lines[1].endswith(" min")
    (rented,) = (line for line in lines if line.split()[:1] == ["sysbench_ec2"])
    assert rented.endswith(" dollars")
    assert max(map(len, lines)) <= 80
    names = {path.stem for path in (here.home.configs / "reports").glob("*.yaml")}
    assert {line.split()[0] for line in lines if line[:3].strip() and line[0] == " "} == names


def test_one_that_is_not_valid_is_named_and_the_others_are_listed(here: Here) -> None:
    """The fault is told, as `benchlab validate` tells it."""
    (here.home.configs / "reports" / "mine.yaml").write_text("report: mine\n")
    done = here.run("reports")
    assert "left out: " in done.stderr
    assert "mine.yaml: " in done.stderr
    assert "tpcc_local" in done.stdout
