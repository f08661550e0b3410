"""The commands on reports: render, publish, verify, import, audit, history."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from markdown_it import MarkdownIt

from benchlab.published import page as published
from benchlab.results.rows import PUBLISHED_REPORTS
from benchlab.results.store import open_store
from tests.builders import campaigns
from tests.builders.installation import Here

PAGE = """---
title: TiDB Sysbench Performance Test Report -- v7.1.0 vs. v7.0.0
---

# TiDB Sysbench Performance Test Report -- v7.1.0 vs. v7.0.0

## Test results

### Point Select performance

| Threads | v7.0.0 QPS | v7.1.0 QPS | QPS improvement |
|:----|:----|:----|:----|
| 100 | 1,000 | 1,100 | 10.00% |
| 200 | 2,000 | 2,100 | 5.00% |

Compared with v7.0.0, the Point Select performance of v7.1.0 is improved by 9.5%.
"""
ID = "sysbench-v7.1.0-vs-v7.0.0-en"


@pytest.fixture
def page(here: Here) -> Path:
    """A published page whose headline is wrong."""
    path = here.path / "page.md"
    path.write_text(PAGE)
    return path


# ---------------------------------------------------------------- render and publish


def test_a_report_is_rendered_in_another_language(stored: Here) -> None:
    """With the same figures; the error on an unknown language names the known ones."""
    english, chinese = (stored.run("render", "c1", "--lang", code).stdout for code in ("en", "zh"))
    assert "性能对比测试报告" in chinese
    assert "-20.00%" in english
    assert "-20.00%" in chinese
    assert "known: en, zh" in stored.refused("render", "c1", "--lang", "xx")


def test_a_report_is_rendered_in_the_layout_of_published_documents(
    stored: Here, page: Path
) -> None:
    """An imported page has no other layout than its own."""
    own, laid_out = (
        stored.run("render", "c1", "--layout", layout).stdout for layout in ("own", "published")
    )
    assert stored.run("render", "c1").stdout == own
    assert (own.count("QPS improvement"), laid_out.count("| QPS improvement |") > 0) == (0, True)
    stored.run("import", page)
    assert "imported page" in stored.refused("render", ID, "--layout", "own")
    assert stored.run("render", ID, "--layout", "published").returncode == 0


def test_all_files_of_a_report_are_written_into_a_directory(stored: Here) -> None:
    """Pages with their charts; one path per line is printed."""
    done = stored.run("render", "c1", "--to", stored.path / "out")
    assert done.returncode == 0, done.stderr
    assert (stored.path / "out" / "charts" / "overview.svg").exists()
    assert str(stored.path / "out" / "report.html") in done.stdout.splitlines()


def test_a_published_report_comes_with_evidence(stored: Here) -> None:
    """Always the same bytes; verifying them needs nothing from the installation.

    Nothing differs, but this campaign has no raw outputs: exit code 2.
    """
    assert stored.run("publish", "c1").returncode == 0
    bundle = stored.home.reports / "c1" / "evidence.zip"
    first = bundle.read_bytes()
    assert stored.run("publish", "c1").returncode == 0
    assert bundle.read_bytes() == first
    done = stored.run("verify", bundle, BENCHLAB_HOME=str(stored.path / "elsewhere"))
    assert done.returncode == 2, done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.endswith("nothing differs, but 32 of its parts could not be compared")


def test_a_changed_byte_fails_and_its_file_is_named(stored: Here) -> None:
    """With exit code 1, for people and as JSON."""
    stored.run("publish", "c1")
    bundle = stored.home.reports / "c1" / "evidence.zip"
    content = bytearray(bundle.read_bytes())
    content[content.index(b"report/trials.csv") + 60] ^= 1
    bundle.write_bytes(content)
    done = stored.run("verify", bundle)
    assert done.returncode == 1
    assert "report/trials.csv" in done.stdout
    document = json.loads(stored.run("verify", bundle, "--json").stdout)
    assert document["differences"]


def test_a_report_is_published_even_if_its_evidence_cannot_be_made(stored: Here) -> None:
    """The command fails, and says why and what to do."""
    password = stored.home.campaign("c1") / "password"
    password.parent.mkdir(parents=True, exist_ok=True)
    password.write_text("baseline")  # which every bundle has in it
    said = stored.refused("publish", "c1")
    assert "the report is without evidence.zip" in said
    assert "has a password" in said
    assert "`benchlab publish c1` repeats what failed" in said
    assert (stored.home.reports / "c1" / "report.md").exists()
    assert not (stored.home.reports / "c1" / "evidence.zip").exists()


def test_only_the_destinations_of_a_measured_campaign_can_change(stored: Here) -> None:
    """What was measured cannot be changed by publishing it."""
    assert "only `publish` can change" in stored.refused("publish", "c1", "--set", "rounds=9")
    assert "is not published to 's3', but to: files" in stored.refused(
        "publish", "c1", "--to", "s3"
    )


def test_a_failed_publication_elsewhere_names_the_whole_command(stored: Here) -> None:
    """The named command does the same again; without `--set`, the report type's apply."""
    other = "publish=[{to: s3, bucket: my-reports, region: eu-west-1}]"
    said = stored.refused("publish", "c1", "--set", other, AWS_ENDPOINT_URL="foo")
    assert "not published to s3://my-reports: " in said
    assert "Invalid endpoint: foo" in said
    named = said.rpartition("; `")[2].partition("`")[0]
    program, *words = shlex.split(named)
    assert (program, words[:3]) == ("benchlab", ["publish", "c1", "--set"])
    assert stored.refused(*words, AWS_ENDPOINT_URL="foo") == said
    done = stored.run("publish", "c1")
    assert (done.returncode, done.stdout.split()) == (
        0,
        [str(stored.home.reports / "c1" / "report.html")],
    )


# ---------------------------------------------------------------- published pages


def test_an_audit_says_what_is_wrong(here: Here, page: Path) -> None:
    """For people and as JSON; a discrepancy is a result, so the exit code is 0."""
    done = here.run("audit", page)
    assert (done.returncode, "headline_mismatch" in done.stdout) == (0, True)
    document = json.loads(here.run("audit", page, "--json").stdout)
    assert [one["kind"] for one in document["discrepancies"]] == ["headline_mismatch"]
    assert document["workloads"][0]["headline_pct"] == 7.5
    several = json.loads(here.run("audit", page, page, "--json").stdout)
    assert [audit["report"] for audit in several] == [ID, ID]


def test_a_page_is_imported_rendered_and_in_the_history(here: Here, page: Path) -> None:
    """The rendered page has the right headline, and so no discrepancy."""
    assert f"{ID}: imported" in here.run("import", page).stdout
    assert f"{ID}: there already" in here.run("import", page).stdout
    rendered = here.run("render", ID).stdout
    assert "7.50%" in rendered
    again = here.path / "again.md"
    again.write_text(rendered)
    assert json.loads(here.run("audit", again, "--json").stdout)["discrepancies"] == []
    assert here.run("render", ID, "--format", "csv").stdout.startswith("workload,threads,version")
    assert "md, csv or json" in here.refused("render", ID, "--format", "html")
    listed = here.run("history", "point_select", "--picture", here.path / "h.svg").stdout
    assert "+7.50%" in listed
    assert (here.path / "h.svg").read_text().startswith("<?xml")


def test_a_page_that_cannot_be_read_does_not_affect_the_others(here: Here, page: Path) -> None:
    """It is named, with exit code 1."""
    bad = here.path / "bad.md"
    bad.write_text("# A cake\n\nFlour.\n")
    done = here.run("import", bad, page, here.path / "nosuch.md")
    assert done.returncode == 1
    assert f"{ID}: imported" in done.stdout
    assert "bad.md" in done.stderr
    assert "nosuch.md" in done.stderr
    assert "Traceback" not in done.stderr
    assert here.run("render", ID).returncode == 0


def test_pages_are_imported_though_nobody_reads_on(here: Here, page: Path) -> None:
    """`benchlab import A B | head -0` imports both."""
    (here.path / "next.md").write_text(PAGE.replace("7.1.0", "7.2.0"))
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "benchlab.cli.main", "import"]
    command += [str(page), str(here.path / "next.md")]
    done = subprocess.run(
        command, cwd=here.path, env={**os.environ, **here.environment}, stdout=write, check=False
    )
    os.close(write)
    assert done.returncode == 1
    with open_store(here.home) as store, store.transaction() as connection:
        names = connection.execute(sa.select(PUBLISHED_REPORTS.c.id)).scalars().all()
    assert sorted(names) == [ID, ID.replace("7.1.0", "7.2.0")]


def test_an_import_that_is_cut_short_has_said_what_it_imported(
    here: Here, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page is printed once it is in the store, not when all have been read."""
    load = published.load

    def interrupted(path: Path) -> Any:
        if path != page:
            raise KeyboardInterrupt
        return load(path)

    monkeypatch.setattr(published, "load", interrupted)
    done = here.run("import", page, here.path / "next.md")
    assert done.returncode != 0
    assert f"{ID}: imported" in done.stdout


def test_a_second_page_of_the_same_versions_is_kept_under_a_name(here: Here, page: Path) -> None:
    """The error names both ways out; two pages cannot have one name."""
    here.run("import", page)
    again = here.path / "again.md"
    again.write_text(PAGE.replace("1,100", "1,200").replace("10.00%", "20.00%"))
    said = here.refused("import", again)
    assert "--replace" in said
    assert "--as NAME" in said
    assert "rerun: imported" in here.run("import", again, "--as", "rerun").stdout
    assert "rerun: there already" in here.run("import", again, "--as", "rerun").stdout
    assert "20.00%" in here.run("render", "rerun").stdout
    listed = here.run("history", "point_select").stdout
    assert "rerun" in listed
    assert ID in listed
    assert "one by one" in here.refused("import", page, again, "--as", "both")
    assert "letters, digits" in here.refused("import", page, "--as", "../up")


def test_what_is_stored_is_what_was_read(here: Here, page: Path) -> None:
    """A byte order mark and Windows line ends stay: the file has the hash that is printed."""
    raw = b"\xef\xbb\xbf" + PAGE.replace("\n", "\r\n").encode()
    page.write_bytes(raw)
    report = json.loads(here.run("import", page, "--json").stdout)[0]
    (kept,) = (here.path / "state").rglob("published/*.md")
    assert kept.read_bytes() == raw
    assert hashlib.sha256(raw).hexdigest() == report["sha256"]


def test_text_that_was_not_understood_cannot_control_the_terminal(here: Here, page: Path) -> None:
    """A page's cells are printed without control characters."""
    page.write_text(PAGE.replace("| 200 | 2,000 |", "| 200 | \x1b[2J\x1b]0;x\x07 |"))
    for command in ("import", "audit"):
        done = here.run(command, page)
        assert "only numbers and versions are understood" in " ".join(
            (done.stdout + done.stderr).split()
        )
        assert "\x1b" not in done.stdout + done.stderr
        assert "\x07" not in done.stdout + done.stderr


def test_a_page_with_a_table_that_is_not_understood_is_audited_and_not_imported(
    here: Here, page: Path
) -> None:
    """The refusal names the table; the audit has the rest, and the table with its place."""
    odd = "\n### Bulk insert\n\n| Threads | v7.0.0 QPS |\n|---|---|\n| 8 | 9 |\n"
    page.write_text(PAGE + odd)
    refused = here.run("import", page)
    assert refused.returncode == 1
    assert "not imported, as it is not understood whole" in refused.stderr
    assert "below 'Bulk insert'" in refused.stderr
    audited = json.loads(here.run("audit", page, "--json").stdout)
    assert [one["name"] for one in audited["workloads"]] == ["oltp_point_select"]
    (unread,) = audited["unread"]
    assert unread["heading"] == "Bulk insert"
    assert here.run("render", ID).returncode != 0


def test_an_audit_of_several_pages_shows_those_that_can_be_read(here: Here, page: Path) -> None:
    """Errors come after them, with exit code 1; JSON remains a list."""
    bad = here.path / "bad.md"
    bad.write_text("# A cake\n\nFlour.\n")
    done = here.run("audit", bad, page, here.path / "nosuch.md")
    assert done.returncode == 1
    assert "headline_mismatch" in done.stdout
    assert "bad.md" in done.stderr
    assert "nosuch.md" in done.stderr
    done = here.run("audit", page, bad, "--json")
    assert done.returncode == 1
    assert [audit["report"] for audit in json.loads(done.stdout)] == [ID]
    assert "bad.md" in done.stderr
    done = here.run("audit", bad, "--json")
    assert (done.returncode, done.stdout) == (1, "")


def test_the_history_leaves_out_what_another_benchlab_stored(here: Here, page: Path) -> None:
    """It says so, and lists the rest."""
    here.run("import", page)
    here.run("import", page, "--as", "old")
    with open_store(here.home) as store, store.transaction() as connection:
        connection.execute(
            PUBLISHED_REPORTS.update()
            .where(PUBLISHED_REPORTS.c.id == "old")
            .values(report="{}", page="published/gone.md")
        )
    done = here.run("history", "point_select")
    assert done.returncode == 0
    assert ID in done.stdout
    assert "left out: published report old" in done.stderr
    assert "import page.md again" in done.stderr
    assert "import page.md again" in here.refused("render", "old")


def test_the_history_of_campaigns_is_kept_apart(stored: Here) -> None:
    """With their verdicts; an unknown workload is refused."""
    assert "regression" in stored.run("history", "update_index").stdout
    assert "known: oltp_" in stored.refused("history", "tpcc")


# ---------------------------------------------------------------- for a pipeline


def test_a_pipeline_fails_on_what_it_asks_for(stored: Here) -> None:
    """Exit code 3 for a verdict that is there, 0 for one that is not; the table comes anyway."""
    done = stored.run("compare", "c1", "--fail-on", "regression")
    assert done.returncode == 3
    assert "Update Index" in done.stdout
    assert "oltp_update_index, tps: regression" in done.stderr
    assert stored.run("compare", "c1", "--fail-on", "improvement").returncode == 0
    both = ("--fail-on", "improvement", "--fail-on", "regression")
    assert stored.run("compare", "c1", *both).returncode == 3
    unknown = stored.run("compare", "c1", "--fail-on", "slow")
    assert unknown.returncode == 2
    assert "must be one of regression" in " ".join(unknown.stderr.replace("│", " ").split())


def test_a_false_alarm_fails_no_pipeline(here: Here) -> None:
    """The sides of an A/A campaign are the same, whatever it finds."""
    made = campaigns.campaign(rounds=4, sides="same")
    with open_store(here.home) as store:
        store.add_campaign(made)
        change = campaigns.known_change({"oltp_update_index": -0.2}, 0.002)
        for result in campaigns.results_of(made.plan, change):
            store.add_trial(made.id, result)
    done = here.run("compare", "c1", "--fail-on", "regression")
    assert "false alarm" in done.stdout
    assert done.returncode == 0


def test_a_comparison_is_markdown_for_github(stored: Here) -> None:
    """A heading, the answer, a table whose rows have all cells, and the reasons folded."""
    text = stored.run("compare", "c1", "--format", "github").stdout
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    assert page.startswith("<h3>MariaDB Sysbench Performance Test Report")
    assert "10.11.5 is slower at Update Index" in page
    (table,) = re.findall(r"<table>.*?</table>", page, re.DOTALL)
    rows = table.split("<tr>")[2:]
    assert len(rows) == 2 * 2
    assert {row.count("<td>") for row in rows} == {6}
    assert "<td>▼ regression</td>" in table
    assert "<details>" in page
    assert "not both" in stored.refused("compare", "c1", "--format", "github", "--json")


def test_a_report_is_opened_in_the_browser(stored: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its path is printed in any case; a report that was never made is named with what makes it."""
    shown = []

    class Browser:
        def open(self, address: str) -> bool:
            shown.append(address)
            return True

    monkeypatch.setattr(webbrowser, "get", lambda: Browser())
    assert "`benchlab publish c1` makes it" in stored.refused("open", "c1")
    stored.run("publish", "c1")
    page = stored.home.reports / "c1" / "report.html"
    assert stored.run("open", "c1").stdout == f"{page}\n"
    assert shown == [page.as_uri()]
    assert "has no such page" in stored.refused("open", "c1", "--lang", "zh")

    def none() -> None:
        raise webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(webbrowser, "get", none)
    done = stored.run("open", "c1")
    assert (done.returncode, done.stdout) == (0, f"{page}\n")
    assert "this machine has no browser" in done.stderr
