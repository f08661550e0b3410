"""Whatever others wrote is read, or refused in plain words: no traceback, no endless work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.engines import mariadb_counts
from benchlab.engines.tidb import leaders, mirror, tiup, topology
from benchlab.errors import CommandError, EngineError, SpecError
from benchlab.results import pprof

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "mutations", [200, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(21_600)])]
)
def test_mutations_of_real_inputs_are_read_or_refused(tmp_path: Path, mutations: int) -> None:
    """Within 5 s and 500 MB each; zip bombs and names that lead out of a backup among them."""
    asked = ["--mutations", str(mutations), "--to", str(tmp_path)]
    command = [sys.executable, "-m", "tests.fuzzing", *asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("read", "error", "match"),
    [
        pytest.param(
            lambda: pprof.parse("cpu", b"main;work " + b"1" * 5000 + b"\n"),
            SpecError,
            "does not end in a number",
            id="a count of 5,000 digits",
        ),
        pytest.param(
            lambda: leaders.read_regions(
                "http://pd", {"regions": [{"id": 2, "start_key": "74x", "peers": []}]}
            ),
            EngineError,
            "http://pd: the field start_key has to be hexadecimal, and is '74x'",
            id="a region's key that is none",
        ),
        pytest.param(
            lambda: topology.with_configs("- host: [", {}), SpecError, "not YAML", id="no YAML"
        ),
        pytest.param(
            lambda: topology.with_configs("server_configs: [1]", {}),
            SpecError,
            "`tiup cluster show-config`: prints no topology",
            id="no topology",
        ),
        pytest.param(
            lambda: tiup.read_list('{"clusters": ' + "[" * 5000), CommandError, "no JSON", id="deep"
        ),
    ],
)
def test_what_fuzzing_found_is_refused_in_plain_words(
    read: Callable[[], object], error: type[Exception], match: str
) -> None:
    """Each was a traceback."""
    with pytest.raises(error, match=match):
        read()


def test_a_process_that_cannot_be_read_has_no_figures() -> None:
    """The server's own counters are known nevertheless."""
    found = mariadb_counts.read("Questions\t12\nticks: 100\n1 (mariadbd) S " + "x " * 50)
    assert found == {"Questions": 12.0, "client_statements": 12.0}


def test_a_line_of_a_list_of_versions_that_was_cut_is_a_name() -> None:
    """TiUP shows the nightly as a link to what it stands for, which may be missing."""
    listed = f"{'  '.join(mirror.COLUMNS)}\nnightly ->\n"
    assert mirror.read(listed).others == ("nightly",)


def test_a_version_whose_day_is_none_is_not_dated() -> None:
    """Its name is kept, as of other builds without a day."""
    listed = f"{'  '.join(mirror.COLUMNS)}\nv8.5.3  YES  2025-99-14T02:33:25Z  linux/amd64\n"
    assert mirror.read(listed) == mirror.Mirror((), ("v8.5.3",))
