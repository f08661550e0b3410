"""The command that writes the benchmark site as plain files."""

from __future__ import annotations

import re
from pathlib import Path

from tests.builders.installation import Here


def test_the_site_is_written_and_renewed(stored: Here, tmp_path: Path) -> None:
    """In the language that was asked for; a second time at most what says when it was written."""
    to = tmp_path / "www"
    first = stored.run("site", "--to", to, "--language", "zh")
    assert first.stdout.startswith(f"{to}: files written "), first.stderr
    assert 'lang="zh' in (to / "index.html").read_text("utf-8")
    assert (to / "campaigns" / "c1" / "index.html").is_file()
    again = stored.run("site", "--to", to, "--language", "zh")
    # None, if it is written again within the same second.
    assert re.match(r".*: files written [01], unchanged \d\d", again.stdout), again.stdout


def test_an_unknown_report_type_is_refused_before_anything_is_written(
    stored: Here, tmp_path: Path
) -> None:
    """A site without it would look as if it had never been measured."""
    said = stored.refused("site", "--to", tmp_path / "www", "--report", "nope")
    assert said == "error: --report 'nope': there is no campaign of it\n"
    assert not (tmp_path / "www").exists()
