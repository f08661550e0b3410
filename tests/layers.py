"""Runs the tests layer by layer and ends with one summary line, as pytest would print it.

    .venv/bin/python -m tests.layers [--long] [PYTEST ARGUMENT...]

A layer is a folder of tests/ with a test file in it. The layers run one by one, most of them with
two workers, because much of what they do is waiting: for servers to start, for hosts to boot. Tests
marked `alone` measure something that a neighbour would disturb; they run afterwards, one by one.
Tests marked `long` run only with `--long`, that is, in `make test-long`. A failed layer does not
keep the next one from running.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parent
ROOT = TESTS.parent
RESULTS = ROOT / ".benchlab" / "tests"
# The quickest answers first. Layers that are not named here run between these and `browser`.
FIRST = ("core", "golden", "airflow")
LAST = ("browser",)
# Tests of a file share what is slow to start: a scheduler, a fleet, a server. With three workers,
# two cores are busy all the time, and what waits waits longer than the third worker saves.
BY_FILE = ("-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
# How a layer runs: the tests that are meant, as a marker expression, and pytest's options.
Passes = dict[str, tuple[str, ...]]
PASSES: dict[str, Passes] = {
    "core": {"": ("-n", "2")},
    "golden": {"": ("-n", "2")},
    "airflow": {"": BY_FILE},
    "hosts": {"": BY_FILE},
    "integration": {"not alone": BY_FILE, "alone": ()},
    "browser": {"": BY_FILE},
}
ALL_AT_ONCE: Passes = {"": ()}
LONG = "--long"
NO_TESTS_COLLECTED = 5


@dataclass
class Outcome:
    """What one layer's run of pytest said."""

    layer: str
    seconds: float
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    culprits: list[str] = field(default_factory=list)


def layers() -> list[str]:
    """The names of all layers, in the order in which they run."""
    found = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.glob("*/**/test_*.py")}
    middle = sorted(found - set(FIRST) - set(LAST))
    return [name for name in (*FIRST, *middle, *LAST) if name in found]


def longest_first(items: list[pytest.Item], longest: Sequence[str]) -> None:
    """Order a layer's tests so that all workers end at about one time.

    Args:
        items: the tests, in pytest's order.
        longest: the names of the files that take minutes, the longest first.
    """
    items.sort(key=lambda item: [*longest, item.path.stem].index(item.path.stem))


class Spread(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a worker a whole file at a time, or one test of a file whose tests share nothing.

    pytest-xdist's own `loadgroup` cannot do this: it marks tests in their ids in a way that pytest
    does not look at any more.
    """

    def __init__(
        self, config: pytest.Config, log: Producer | None, separate: Collection[str]
    ) -> None:
        super().__init__(config, log)
        self._separate = separate

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if Path(file).stem in self._separate else file


def run(layer: str, arguments: list[str], *, long: bool = False) -> Outcome:
    """Run one layer with pytest, whose output goes to the terminal."""
    print(f"\n######## {layer}", flush=True)
    outcome = Outcome(layer, 0.0)
    codes = set()
    for marked, options in PASSES.get(layer, ALL_AT_ONCE).items():
        expression = " and ".join(filter(None, [marked, "" if long else "not long"]))
        report = RESULTS / f"{layer}{marked and f' {marked}'}.xml".replace(" ", "-")
        codes.add(_pytest(outcome, report, ["-m", expression, *options, *arguments]))
    # Arguments may deselect a whole layer; without any, a layer that tests nothing is a mistake.
    if codes == {NO_TESTS_COLLECTED} and not arguments:
        outcome.errors += 1
        outcome.culprits.append(f"ERROR tests/{layer} (it has no tests)")
    return outcome


def _pytest(outcome: Outcome, report: Path, options: list[str]) -> int:
    """Run tests of a layer and add up what became of them; pytest's exit code."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", str(TESTS / outcome.layer), f"--junitxml={report}"]
    # Campaigns are hundreds of Python processes, each of which would compile Benchlab anew.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.monotonic()
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, check=False)
    outcome.seconds += time.monotonic() - began
    known = outcome.failed + outcome.errors
    if report.exists():
        # Cut short where the disk is full: what pytest ended with then counts as an error.
        with contextlib.suppress(ET.ParseError):
            _count(report, outcome)
    unexplained = outcome.failed + outcome.errors == known
    if unexplained and done.returncode not in (0, NO_TESTS_COLLECTED):
        outcome.errors += 1
        ended = f"pytest ended with exit code {done.returncode}"
        outcome.culprits.append(f"ERROR tests/{outcome.layer} ({ended})")
    return done.returncode


def _count(report: Path, outcome: Outcome) -> None:
    """Add up pytest's JUnit report."""
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 (written by pytest just now)
        name = f"{case.get('classname')}::{case.get('name')}"
        if case.find("failure") is not None:
            outcome.failed += 1
            outcome.culprits.append(f"FAILED {name}")
        elif case.find("error") is not None:
            outcome.errors += 1
            outcome.culprits.append(f"ERROR {name}")
        elif case.find("skipped") is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1


def summary(outcomes: list[Outcome]) -> str:
    """The table of the layers, the tests that failed, and pytest's summary line over all."""
    lines = [
        f"{'layer':<12} {'passed':>7} {'failed':>7} {'errors':>7} {'skipped':>8} {'seconds':>8}"
    ]
    lines += [
        f"{o.layer:<12} {o.passed:>7} {o.failed:>7} {o.errors:>7} {o.skipped:>8} {o.seconds:>8.1f}"
        for o in outcomes
    ]
    lines += [culprit for o in outcomes for culprit in o.culprits]
    total = {
        "failed": sum(o.failed for o in outcomes),
        "passed": sum(o.passed for o in outcomes),
        "skipped": sum(o.skipped for o in outcomes),
        "errors": sum(o.errors for o in outcomes),
    }
    counts = ", ".join(f"{n} {what}" for what, n in total.items() if n) or "no tests ran"
    seconds = sum(o.seconds for o in outcomes)
    return "\n".join([*lines, f" {counts} in {seconds:.2f}s ".center(80, "=")])


def main(arguments: list[str]) -> int:
    """Run all layers; return 0 if something was tested and nothing failed."""
    long = LONG in arguments
    arguments = [argument for argument in arguments if argument != LONG]
    RESULTS.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    try:
        for layer in layers():
            outcomes.append(run(layer, arguments, long=long))
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    print(f"\n{summary(outcomes)}", flush=True)
    failed = any(o.failed or o.errors for o in outcomes)
    return 1 if failed or not any(o.passed for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
