"""The release calendar is brought up to date from TiUP's mirror, and nothing in it is replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchlab.engines.tidb import mirror
from benchlab.errors import UnavailableError
from tests.builders import tiup_list
from tests.builders.installation import Here

NIGHTLY = "v9.0.0-beta.2.pre-nightly"
VERSIONS = (
    (f"nightly -> {NIGHTLY}", "2026-11-22T16:10:01Z"),
    ("v3.0.0", "2020-04-16T16:58:06+08:00"),
    ("v6.1.0-20221206", "2022-12-06T12:00:00Z"),
    ("v8.5.7", "2026-07-09T02:10:01Z"),
    ("v8.5.8", "2026-11-20T02:10:01+08:00"),
    ("v9.0.0-beta.1", "2025-05-27T02:10:01Z"),
    (NIGHTLY, "2026-11-22T16:10:01Z"),
    ("v9.1.0", "2026-11-21T02:10:01Z"),
)


def with_tiup(here: Here, *arguments: str, fault: str = "") -> str:
    """What `benchlab releases ...` says where there is a TiUP, with its errors."""
    folder = here.path / "bin"
    tiup_list.install(folder, VERSIONS, fault)
    done = here.run("releases", *arguments, PATH=f"{folder}{os.pathsep}{os.environ['PATH']}")
    return done.stdout + done.stderr


def days(here: Here) -> dict[str, str]:
    """The calendar's days and types, by version."""
    lines = here.home.releases.read_text().splitlines()
    return {line.split(",")[0]: line.partition(",")[2] for line in lines}


def test_what_is_new_on_the_mirror_is_added_with_its_day(here: Here) -> None:
    """Patches and betas; what is no release is named, and nothing else changes."""
    before = days(here)
    said = with_tiup(here, "update", "--from", "tiup")
    assert {name: day for name, day in days(here).items() if name not in before} == {
        "v8.5.8": "2026-11-20,patch",
        "v9.0.0-beta.1": "2025-05-27,pre-release",
        "v9.1.0": "2026-11-21,GA",
    }
    assert days(here).items() >= before.items()
    assert "added: v8.5.8 of 2026-11-20 (patch)" in said
    assert f"left out, because they are not releases: {NIGHTLY}, v6.1.0-20221206" in said
    assert "0 added" in with_tiup(here, "update", "--from", "tiup"), "once"


def test_what_the_mirror_does_not_know_is_said_with_the_command_that_corrects_it(
    here: Here,
) -> None:
    """Patches of v9.1 get campaigns of their own only if it is an LTS."""
    said = with_tiup(here, "update", "--from", "tiup")
    assert "v9.1.0 is entered as GA" in said
    assert "`benchlab releases type v9.1.0 LTS` (or DMR) corrects it" in said
    corrected = with_tiup(here, "type", "v9.1.0", "LTS")
    assert "changed: tidb  2026-11-21  v9.1.0           LTS; before: 2026-11-21  GA" in corrected
    assert days(here)["v9.1.0"] == "2026-11-21,LTS"
    assert "v9.1.0 is LTS already" in with_tiup(here, "type", "v9.1.0", "LTS")
    assert "type: 'patch' cannot be the type of v9.1.0" in with_tiup(
        here, "type", "v9.1.0", "patch"
    )
    assert "v9.9.9: not in the calendar" in with_tiup(here, "type", "v9.9.9", "LTS")


def test_days_of_publishing_do_not_replace_days_of_release(here: Here) -> None:
    """TiUP's mirror got v3.0.0 ten months after it was released."""
    said = with_tiup(here, "update", "--from", "tiup")
    assert "the calendar keeps its own: v3.0.0 2019-06-28 (2020-04-16)\n" in said
    assert days(here)["v3.0.0"] == "2019-06-28,GA"


def test_where_nobody_can_be_asked_the_reason_is_said(here: Here) -> None:
    """And the calendar stays as it is: no TiUP, a mirror out of reach."""
    before = here.home.releases.read_bytes()
    assert "`tiup` is neither on the PATH" in here.refused(
        "releases", "update", "--from", "tiup", PATH=""
    )
    fault = "failed to fetch component: dial tcp: lookup mirror: no such host"
    said = with_tiup(here, "update", "--from", "tiup", fault=fault)
    assert "`tiup list tidb` failed: " in said
    assert "no such host" in said
    assert here.home.releases.read_bytes() == before
    assert "either a FILE.csv or --from tiup" in here.refused("releases", "update")


def test_a_calendar_that_cannot_be_written_is_named(here: Here) -> None:
    """Here because something else has the name of its part."""
    here.home.releases.with_name("releases.csv.part").mkdir()
    said = with_tiup(here, "update", "--from", "tiup")
    assert f"error: {here.home.releases}: cannot be written: it is a directory" in said


def test_another_table_is_refused(tmp_path: Path) -> None:
    """As TiUP without a component's name prints: no version is guessed from it."""
    with pytest.raises(
        UnavailableError, match="Version, Installed, Release, Platforms, but: Avail"
    ):
        mirror.read("Available components:\nName  Owner  Description\n")
    with pytest.raises(UnavailableError, match="but: nothing"):
        mirror.read("")
    assert mirror.read("Version  Installed  Release  Platforms\nv8.5.9\n").others == ("v8.5.9",)
