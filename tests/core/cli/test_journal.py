"""`benchlab journal`: who deleted, pruned and gave back what."""

from __future__ import annotations

import json
import os
import pwd
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab.results import journal
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.installation import Here


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """Its store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def test_who_deleted_pruned_and_gave_back_is_kept_and_shown(
    here: Here, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The latest first, by the account whatever its environment says; not what was refused."""
    assert here.run("journal").stdout.startswith("Nobody has deleted")
    for name in ("gone", "stays"):
        store.add_campaign(campaigns.campaign(id=name))
        store.finish(name, "failed")
    log = here.home.root / "logs" / "old.log"
    log.parent.mkdir(parents=True)
    log.write_text("x")
    os.utime(log, (time.time() - 100 * 86400,) * 2)
    here.environment.pop("SUDO_USER", None)
    for name in ("USER", "LOGNAME"):
        monkeypatch.setitem(here.environment, name, "somebody-else")

    here.run("campaigns", "delete", "gone", "--yes")
    here.refused("campaigns", "delete", "nowhere", "--yes")
    here.run("prune", "--older-than", "90d")
    here.run("prune", "--older-than", "90d", "--yes")
    here.run("give-back", "stays")

    kept = json.loads(here.run("journal", "--json").stdout)
    assert [one["act"] for one in kept] == ["give-back", "prune", "campaigns delete"]
    assert [one["of"] for one in kept] == ["stays", kept[1]["of"], "gone"]
    assert kept[1]["of"].startswith("logs of ")
    assert {one["by"] for one in kept} == {pwd.getpwuid(os.getuid()).pw_name}
    said = here.run("journal").stdout.splitlines()
    assert "give-back" in said[2]
    assert "gone" in said[4]


def test_the_journal_is_private_and_in_backups(here: Here, store: Store, tmp_path: Path) -> None:
    """Only its account reads it; a backup has it without being told to."""
    store.add_campaign(campaigns.campaign(id="c1"))
    journal.write(here.home, "campaigns delete", "c0")
    (file,) = (here.home.root / journal.FOLDER).iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    here.run("backup", tmp_path / "monday")
    copies = list((tmp_path / "monday").rglob(file.name))
    assert [copy.read_bytes() for copy in copies] == [file.read_bytes()]


def test_what_cannot_be_written_down_is_not_done(here: Here, store: Store) -> None:
    """The campaign stays, and the file is named."""
    store.add_campaign(campaigns.campaign(id="kept"))
    store.finish("kept", "failed")
    (here.home.root / journal.FOLDER).write_text("a file where the folder should be")
    refused = here.refused("campaigns", "delete", "kept", "--yes")
    assert "campaigns delete was not begun" in refused
    assert "kept" in store.campaign_ids()


def test_a_line_that_a_crash_cut_short_is_left_out(here: Here) -> None:
    """The others are shown."""
    journal.write(here.home, "give-back", "c1")
    (file,) = (here.home.root / journal.FOLDER).iterdir()
    with file.open("a") as written:
        written.write('{"at": "2026-')
    assert [act.of for act in journal.read(here.home)] == ["c1"]
    journal.write(here.home, "give-back", "c2")
    assert [act.of for act in journal.read(here.home)] == ["c1", "c2"]
