"""Steps and commands of the plan are written anew from what is recorded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchlab.published.reading.model import (
    Command,
    StatedStep,
)
from tests.builders.published_page import read
from tests.builders.recorded_page import LANGUAGES, NOTHING, RECORDED, markdown, report, workload


def test_commands_are_written_anew_with_one_entry_point() -> None:
    """A wrong option, an address and a password of the source do not come back."""
    load = "sysbench oltp_common --threads=16 --warehouse=3 --mysql-host=10.0.0.9 prepare"
    run = "sysbench $t run --rand-type=uniform --report-interval 5 --mysql-password=hunter2"
    commands = tuple(Command("sysbench", text, 9, True) for text in (load, run))
    text = markdown(report(setting=replace(RECORDED, commands=commands)))
    blocks = re.findall(r"```bash\n(.*?)\n```", text, re.DOTALL)
    assert [block.replace(" \\\n    ", " ").split() for block in blocks] == [
        [
            *("sysbench", "oltp_common", "--db-driver=mysql", "--mysql-host=${HOST}"),
            *("--mysql-port=${PORT}", "--mysql-user=${USER}", "--mysql-password=${PASSWORD}"),
            *("--mysql-db=sbtest", "--tables=4", "--table-size=1000", "--threads=16", "prepare"),
        ],
        [
            *("sysbench", "${WORKLOAD}", "--db-driver=mysql", "--mysql-host=${HOST}"),
            *("--mysql-port=${PORT}", "--mysql-user=${USER}", "--mysql-password=${PASSWORD}"),
            *("--mysql-db=sbtest", "--tables=4", "--table-size=1000", "--threads=${THREADS}"),
            *("--rand-type=uniform", "--report-interval=5", "--time=90", "run"),
        ],
    ]


def test_options_are_read_as_everywhere() -> None:
    """Quotes are understood, and the action is not the value of an option."""
    text = "sysbench $t --rand-type='uniform' --percentile \"99\" --skip-trx run"
    commands = (Command("sysbench", text, 9, True),)
    shown = markdown(report(setting=replace(RECORDED, commands=commands)))
    for option in ("--rand-type=uniform", "--percentile=99", "--skip-trx"):
        assert f"    {option} \\\n" in shown


def test_go_tpc_has_its_own_options() -> None:
    """It is started by TiUP if the source does so."""
    wrong = Command("tiup bench tpcc", "tiup bench tpcc run --warehouse 5 -p 4000", 9, False)
    found = report(workload(name="tpcc"), setting=replace(RECORDED, commands=(wrong,)))
    text = markdown(found)
    assert "tiup bench tpcc run \\\n    --host ${HOST} \\\n    --port ${PORT}" in text
    assert "--warehouses 7" in text
    assert "--time 90s" in text
    assert "4000" not in text


def test_the_client_is_the_one_that_was_used() -> None:
    """By its commands; by the steps where there are no commands, and so no other name beside it."""
    step = (StatedStep("BenchmarkSQL is started.", 9),)
    run = (Command("tiup bench tpcc", "tiup bench tpcc run", 9, False),)
    tpcc = workload(name="tpcc")
    named = markdown(report(tpcc, setting=replace(RECORDED, steps=step)))
    assert "The load comes from BenchmarkSQL." in named
    used = markdown(report(tpcc, setting=replace(RECORDED, steps=step, commands=run)))
    assert "The load comes from tiup bench." in used
    assert "BenchmarkSQL" not in used


def test_no_command_is_made_up() -> None:
    """If the source prints none, or not how long it ran, there is none."""
    assert "sysbench " not in markdown(report(setting=RECORDED))
    run = (Command("sysbench", "sysbench $t run", 9, True),)
    untimed = replace(RECORDED, seconds=None, commands=run)
    assert "sysbench $" not in markdown(report(setting=untimed))


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_plan_shows_statistics_backup_and_restores_in_the_order_of_a_run(code: str) -> None:
    """In words that say the same when they are read again."""
    setting = replace(NOTHING, acts=("analyze", "back_up", "restore"), warehouses=10, seconds=60)
    text = markdown(report(workload(), setting=setting), code)
    assert read(text, "again.md").setting.acts == setting.acts
    if code == "en":
        found = [line.partition(". ")[2] for line in text.splitlines() if re.match(r"\d+\. ", line)]
        assert found[1:3] == [
            "Statistics of the tables are collected before the tests.",
            "The loaded data is backed up.",
        ]
        assert found[-1] == "Between tests the data is restored from the backup."


def test_settings_are_kept_in_a_fence_that_they_cannot_close() -> None:
    """Even if they contain one."""
    assert "````yaml\na: <b>\n```\n\n````" in markdown(report(setting=RECORDED))


def test_two_durations_are_both_named() -> None:
    """The one of the command and the one of the text."""
    text = markdown(report(setting=replace(RECORDED, stated_seconds=1200)))
    assert "90 seconds by the command of the source, 1,200 seconds by its text" in text
