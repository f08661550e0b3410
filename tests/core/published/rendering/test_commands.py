"""The commands of a published page that is rendered anew: the workload's options are kept."""

from __future__ import annotations

import re
from dataclasses import replace

from benchlab.language import load
from benchlab.published.audit.audit import audit
from benchlab.published.reading.model import Command, PublishedReport
from benchlab.published.rendering import bundle, plan
from benchlab.published.rendering.page import Page
from tests.builders.published_page import PAIRS, page, read


def _page(*texts: str, tool: str = "sysbench", sysbench: str = "") -> PublishedReport:
    """A page with these commands."""
    found = read(page(("Point Select", PAIRS)), "page.md")
    given = tuple(Command(tool, text, 9, True) for text in texts)
    setting = replace(
        found.setting,
        tables=4,
        table_size=1000,
        warehouses=7,
        seconds=90,
        commands=given,
        software={"sysbench": sysbench} if sysbench else {},
    )
    return replace(found, setting=setting)


def _rebuilt(*texts: str, tool: str = "sysbench", sysbench: str = "") -> plan.Rebuilt:
    """The only command that is written of them."""
    (found,) = plan.rebuilt(_page(*texts, tool=tool, sysbench=sysbench))
    return found


def _words(found: plan.Rebuilt) -> list[str]:
    return found.text.replace(" \\\n    ", " ").split()


def test_options_of_the_workload_are_kept() -> None:
    """All that sysbench knows, also with underscores; connection and size are the plan's."""
    found = _rebuilt(
        "sysbench $t --tables=9 --table_size=5 --mysql-host=h --mysql-password=hunter2"
        " --point-selects=1 --range_selects=off --index-updates=5 --warmup-time=60 --rate=100"
        " --rand-type=uniform run"
    )
    assert _words(found)[8:] == [
        *("--tables=4", "--table-size=1000", "--threads=${THREADS}"),
        *("--point-selects=1", "--range-selects=off", "--index-updates=5", "--warmup-time=60"),
        *("--rate=100", "--rand-type=uniform", "--time=90", "run"),
    ]
    assert found.left_out == ()


def test_options_of_go_tpc_are_kept() -> None:
    """By their long names; what a shell would take apart is quoted."""
    found = _rebuilt(
        "tiup bench tpcc run --warehouses 5 -T 10 -p hunter2 -t 4 --isolation 2 --ignore-error"
        " --conn-params 'a=1&b=%27x%27' --time 10m",
        tool="tiup bench tpcc",
    )
    assert _words(found)[4:] == [
        *("--host", "${HOST}", "--port", "${PORT}", "--user", "${USER}", "--password"),
        *("${PASSWORD}", "--db", "tpcc", "--warehouses", "7", "--threads", "${THREADS}"),
        *("--acThreads=4", "--isolation=2", "--ignore-error", "--conn-params='a=1&b=%27x%27'"),
        *("--time", "90s"),
    ]
    assert found.left_out == ()


def test_what_is_not_written_is_named() -> None:
    """Unknown options, files and placeholders by name, without their values; no secret at all."""
    found = _rebuilt(
        "sysbench --config-file=config $t --warehouse=3 --rand_type=${TYPE} --pgsql-password=pw"
        " --mysql-ssl-key=/etc/key --skip-trx oltp_read_only run"
    )
    assert found.left_out == ("--config-file", "--warehouse", "--rand-type", "--mysql-ssl-key")
    assert "pgsql" not in found.text
    assert _words(found)[-3:] == ["--skip-trx", "--time=90", "run"]


def test_a_secret_within_a_value_is_not_written() -> None:
    """Only the option's name is."""
    found = _rebuilt(
        "go-tpc tpcc run --warehouses 5 --conn-params 'tls=x&sslpassword=hunter2'", tool="go-tpc"
    )
    assert found.left_out == ("--conn-params",)
    assert "hunter2" not in found.text


def test_an_option_that_the_named_sysbench_does_not_have_is_left_out() -> None:
    """A warm-up came with 1.1."""
    text = "sysbench oltp_read_only --warmup-time=60 --rate=5 run"
    assert _rebuilt(text, sysbench="1.0.20").left_out == ("--warmup-time",)
    assert _rebuilt(text, sysbench="1.1.0").left_out == ()


def test_workloads_with_other_options_have_each_its_own_command() -> None:
    """None has the options of another; nothing is left out."""
    found = _rebuilt(
        "sysbench oltp_point_select --rand-type=uniform --rate=5 run",
        "sysbench oltp_read_only --rand-type=uniform --range-selects=off run",
    )
    one, other = (text.split(" \\\n    ") for text in found.text.split("\n\n"))
    assert (one[0], *one[-4:-1]) == (
        *("sysbench oltp_point_select", "--rand-type=uniform", "--rate=5", "--time=90"),
    )
    assert (other[0], *other[-4:-1]) == (
        *("sysbench oltp_read_only", "--rand-type=uniform", "--range-selects=off", "--time=90"),
    )
    assert found.left_out == ()


def test_commands_of_each_workload_are_read_back() -> None:
    """With their options: no more is found wrong with the page than with its source."""
    one, other = "sysbench oltp_point_select run", "sysbench oltp_read_only --range-selects=off run"
    found = _page(one, other)
    text = bundle.markdown(Page(found, load("en")))
    back = read(text, "again.md")
    assert audit([back])[0].findings == audit([found])[0].findings == ()
    runs = [command.text for command in back.setting.commands]
    assert [("oltp_read_only" in run, "--range-selects=off" in run) for run in runs] == [
        (False, False),
        (True, True),
    ]


def test_options_that_differ_and_are_of_no_named_workload_are_left_out() -> None:
    """Nothing says which of the two values is whose."""
    found = _rebuilt(
        "sysbench $t --rand-type=uniform --rate=5 run",
        "sysbench $t --rand-type=uniform --rate=6 --range-size=9 run",
    )
    assert "sysbench ${WORKLOAD}" in found.text
    assert "--rand-type=uniform" in found.text
    assert "--rate" not in found.text
    assert found.left_out == ("--rate", "--range-size")


def test_the_page_names_what_is_left_out() -> None:
    """Below the command, in each language; nothing if nothing was left out."""
    found = _page("sysbench $t --warehouse=3 --config-file=config run")
    for code, sentence in {
        "en": "Options of the source's commands that are not in this one: --warehouse,",
        "zh": "原页命令的以下选项没有写入该命令：--warehouse、",
    }.items():
        text = bundle.markdown(Page(found, load(code)))
        assert re.search(f"```\n\n{sentence}", text)
        assert sentence not in bundle.markdown(Page(_page("sysbench $t run"), load(code)))
