"""`benchlab profiles`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from benchlab.cli import main
from benchlab.errors import SpecError
from benchlab.results.pprof import Stack
from tests.builders.profiles import RECORDED, profile_bytes

NAMES = ["main.run", "plan.cost", "exec.hash", "exec.hash2", "net.Write", "exec.Next"]
BEFORE: dict[Stack, int] = {
    ("main.run", "plan.cost"): 800,
    ("main.run", "exec.Next", "exec.hash"): 2000,
    ("main.run", "net.Write"): 7200,
}
AFTER: dict[Stack, int] = {
    ("main.run", "plan.cost"): 1200,
    ("main.run", "exec.Next", "exec.hash2"): 2000,
    ("main.run", "net.Write"): 7200,
}


def run(*arguments: object) -> Result:
    """The command, in this process."""
    command = ["profiles", *map(str, arguments)]
    return CliRunner().invoke(main.app, command, env={"COLUMNS": "140"}, catch_exceptions=False)


def side(folder: Path, weights: dict[Stack, int], count: int = 4) -> list[Path]:
    """Files of one side, which differ by chance."""
    rng = np.random.default_rng(len(folder.name))
    folder.mkdir()
    paths = []
    for number in range(count):
        samples = {
            tuple(NAMES.index(name) + 1 for name in reversed(stack)): int(rng.poisson(weight))
            for stack, weight in weights.items()
        }
        paths.append(folder / f"{number}.pb")
        paths[-1].write_bytes(profile_bytes(samples, [[name] for name in NAMES]))
    return paths


@pytest.fixture
def sides(tmp_path: Path) -> list[object]:
    """The options of two sides with four profiles each: one function dearer, one renamed."""
    before, after = side(tmp_path / "old", BEFORE), side(tmp_path / "newer", AFTER)
    return ["--baseline", *before, "--candidate", *after]


def test_the_command_says_what_became_dearer_and_what_moved(sides: list[object]) -> None:
    """With CPU per transaction, in microseconds; a renamed function is no change."""
    costs = [500, 505, 498, 502, 520, 523, 518, 522]
    shown = run(*sides, "--cpu-us-per-transaction", *costs).output
    assert "Profiles of cpu: 4 of the baseline, 4 of the candidate" in shown
    (line,) = [one for one in shown.splitlines() if one.startswith("plan.cost")]
    assert line.split()[1] == "own"
    assert line.endswith("dearer")
    assert "Moved, not dearer: below exec.Next the sum of these stayed" in shown
    assert "CPU per transaction: 501 µs → 521 µs, +19.5 µs (" in shown


def test_without_cpu_per_transaction_shares_are_told_as_shares(sides: list[object]) -> None:
    """A larger share is not called dearer, and why is said."""
    shown = run(*sides).output
    assert "larger share" in shown
    assert "dearer" not in shown.replace("Moved, not dearer", "")
    assert "where one function grows, the shares of the others shrink" in shown


def test_one_profile_of_each_side_shows_differences_and_calls_none_a_change(
    tmp_path: Path,
) -> None:
    """They may be chance; it says how many are needed."""
    before, after = side(tmp_path / "old", BEFORE, 1), side(tmp_path / "newer", AFTER, 1)
    shown = run("--baseline", *before, "--candidate", *after).output
    assert "Fewer than three profiles of a side: differences may be chance" in shown
    assert "exec.hash2" in shown
    assert "larger share" not in shown


def test_json_has_every_figure(sides: list[object]) -> None:
    """Shares of one, unrounded, with intervals; functions that did not change as well."""
    made = json.loads(run(*sides, "--json").output)
    (changed, *_) = [one for one in made["changed"] if one["name"] == "plan.cost"]
    assert (made["unit"], made["profiles"], made["decided"]) == ("share", [4, 4], True)
    assert changed["candidate"] - changed["baseline"] == pytest.approx(0.035, abs=0.01)
    assert changed["ci95"][0] > 0
    assert made["moved"][0]["caller"] == "exec.Next"
    assert {one["name"] for one in made["functions"]} >= {"plan.cost", "net.Write"}


def test_the_picture_shows_both_sides_and_what_is_gone(sides: list[object], tmp_path: Path) -> None:
    """One SVG file: every frame names the sides with their figures; what is gone is dashed."""
    path = tmp_path / "diff.svg"
    run(*sides, "--picture", path)
    root = ET.fromstring(path.read_bytes())  # noqa: S314 - our own drawing
    space = {"svg": "http://www.w3.org/2000/svg"}
    titles = [one.text or "" for one in root.findall(".//svg:title", space)]
    (gone,) = [one for one in root.iter() if (one.text or "").startswith("exec.hash\n")]
    assert (gone.text or "").endswith("%, gone from the candidate")
    (box,) = [group[1] for group in root.iter() if gone in [*group]]
    assert "alone" in box.get("class", "").split()
    assert "everything\nbaseline 100.00%, candidate 100.00%" in titles
    outlined = [one for one in root.iter() if "found" in one.get("class", "").split()]
    assert len(outlined) >= 2


@pytest.mark.parametrize("costs", [[], [500, 505, 498, 502, 520, 523, 518, 522]], ids=len)
def test_speedscope_gets_both_sides(
    sides: list[object], tmp_path: Path, costs: list[float]
) -> None:
    """Every stack with its mean, as shares or as microseconds; what a side lacks is left out."""
    path = tmp_path / "both.json"
    given = ["--cpu-us-per-transaction", *costs] if costs else []
    run(*sides, *given, "--speedscope", path)
    made = json.loads(path.read_text("utf-8"))
    names = [frame["name"] for frame in made["shared"]["frames"]]
    assert len(set(names)) == len(names)
    assert [one["name"] for one in made["profiles"]] == ["baseline", "candidate"]
    for one, total, lacking in zip(
        made["profiles"],
        [501.25, 520.75] if costs else [100, 100],
        ["exec.hash2", "exec.hash"],
        strict=True,
    ):
        assert (one["type"], one["unit"]) == ("sampled", "microseconds" if costs else "none")
        assert one["endValue"] - one["startValue"] == pytest.approx(sum(one["weights"]))
        assert one["endValue"] == pytest.approx(total)
        stacks = [[names[number] for number in stack] for stack in one["samples"]]
        assert len(stacks) == len(one["weights"]) == 3
        assert all(stack[0] == "main.run" and lacking not in stack for stack in stacks)


def test_recorded_profiles_are_written_for_speedscope(tmp_path: Path) -> None:
    """TiDB's own, inlined and recursive functions included: the same time by function."""
    recorded, path = RECORDED / "tidb_cpu.pb.gz", tmp_path / "both.json"
    shown = json.loads(
        run("--baseline", recorded, "--candidate", recorded, "--speedscope", path, "--json").output
    )
    made = json.loads(path.read_text("utf-8"))
    names = [frame["name"] for frame in made["shared"]["frames"]]
    own = dict.fromkeys(names, 0.0)
    baseline = made["profiles"][0]
    for stack, weight in zip(baseline["samples"], baseline["weights"], strict=True):
        own[names[stack[-1]]] += weight
    parts = [one for one in shown["functions"] if one["kind"] == "own"]
    assert len(parts) > 10
    assert all(own[one["name"]] == pytest.approx(100 * one["baseline"]) for one in parts)


def test_a_broken_file_and_a_bad_name_are_refused(tmp_path: Path) -> None:
    """The message names the file or the option."""
    text = tmp_path / "cpu.pb.gz"
    text.write_text("<html>not found</html>")
    with pytest.raises(SpecError, match=r"cpu\.pb\.gz: is not a profile in pprof's format"):
        run("--baseline", text, "--candidate", text)
    recorded = RECORDED / "tikv_cpu.pb"
    with pytest.raises(SpecError, match=r"--picture x\.png: must end in \.svg"):
        run("--baseline", recorded, "--candidate", recorded, "--picture", "x.png")
