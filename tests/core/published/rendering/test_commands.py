"""The commands of a published page that is rendered anew work, and the steps are quoted."""

from __future__ import annotations

import re
from dataclasses import replace

from benchlab.language import load
from benchlab.published.audit.audit import audit
from benchlab.published.model import Command, PublishedReport, Said
from benchlab.published.rendering import bundle, plan
from benchlab.published.rendering.page import Page
from tests.builders.published_page import PAIRS, page, read
from tests.builders.recorded_page import NOTHING, RECORDED, markdown, report


def with_commands(*texts: str, sysbench: str = "") -> PublishedReport:
    """A page with these commands."""
    found = read(page(("Point Select", PAIRS)), "page.md")
    given = tuple(Command(text, 9) for text in texts)
    software = {"Sysbench": sysbench} if sysbench else {}
    return replace(found, setting=replace(found.setting, commands=given, software=software))


def rewritten(*texts: str, sysbench: str = "") -> plan.Rewritten:
    """The only command that is written of them."""
    (found,) = plan.rewritten(with_commands(*texts, sysbench=sysbench).setting)
    return found


def words(found: plan.Rewritten) -> list[str]:
    """Of its text."""
    return found.text.replace(" \\\n    ", " ").split()


def test_commands_are_written_anew_with_one_entry_point() -> None:
    """A wrong option, an address and a password of the source do not come back."""
    load_data = "sysbench oltp_common --threads=16 --warehouse=3 --mysql-host=10.0.0.9 prepare"
    run = "sysbench $t run --rand-type=uniform --report-interval=5 --mysql-password=hunter2"
    login = [
        *("--mysql-host=${HOST}", "--mysql-port=${PORT}"),
        *("--mysql-user=${USER}", "--mysql-password=${PASSWORD}"),
    ]
    one, other = plan.rewritten(with_commands(run, load_data).setting)
    assert words(one) == ["sysbench", "oltp_common", *login, "--threads=16", "prepare"]
    assert words(other) == [
        *("sysbench", "$t", *login, "--rand-type=uniform", "--report-interval=5", "run"),
    ]
    assert (one.left_out, other.left_out) == (("--warehouse",), ())


def test_go_tpc_has_its_own_options() -> None:
    """By their long names, and TiUP starts it if it did so; what a shell would divide is quoted."""
    found = rewritten(
        "tiup bench tpcc run --warehouses 5 -T 10 -p hunter2 -t 4 --ignore-error"
        " --conn-params 'a=1&b=%27x%27' --time 10m --warehouse 5"
    )
    assert found.text.startswith(
        "tiup bench tpcc run \\\n    --host ${HOST} \\\n    --port ${PORT}"
    )
    assert words(found)[12:] == [
        *("--warehouses", "5", "--threads", "10", "--acThreads", "4", "--ignore-error"),
        *("--conn-params", "'a=1&b=%27x%27'", "--time", "10m"),
    ]
    assert found.left_out == ("--warehouse",)


def test_what_is_not_written_is_named() -> None:
    """Unknown options and files by name, without their values; no secret at all."""
    found = rewritten(
        "sysbench --config-file=config $t --warehouse=3 --mysql-ssl-key=/etc/key --skip-trx run"
    )
    assert found.left_out == ("--config-file", "--warehouse", "--mysql-ssl-key")
    assert words(found)[-2:] == ["--skip-trx", "run"]
    secret = rewritten("go-tpc tpcc run --warehouses 5 --conn-params 'tls=x&sslpassword=hunter2'")
    assert secret.left_out == ("--conn-params",)
    assert "hunter2" not in secret.text


def test_an_option_that_the_named_sysbench_does_not_have_is_left_out() -> None:
    """A warm-up came with 1.1."""
    text = "sysbench oltp_read_only --warmup-time=60 --rate=5 run"
    assert rewritten(text, sysbench="1.0.20").left_out == ("--warmup-time",)
    assert rewritten(text, sysbench="1.1.0").left_out == ()


def test_commands_are_read_back() -> None:
    """With their options: no more is found wrong with the page than with its source."""
    one, other = "sysbench oltp_point_select run", "sysbench oltp_read_only --range-selects=off run"
    found = with_commands(one, other)
    text = bundle.markdown(Page(found, load("en")))
    back = read(text, "again.md")
    assert audit([back])[0].findings == audit([found])[0].findings == ()
    runs = [command.text for command in back.setting.commands]
    assert [("oltp_read_only" in run, "--range-selects=off" in run) for run in runs] == [
        (False, False),
        (True, True),
    ]


def test_the_page_names_what_is_left_out() -> None:
    """Below the command, in each language; nothing if nothing was left out."""
    found = with_commands("sysbench $t --warehouse=3 --config-file=config run")
    for code, sentence in {
        "en": "Options of the source's commands that are not in this one: --warehouse,",
        "zh": "原页命令的以下选项没有写入该命令：--warehouse、",
    }.items():
        text = bundle.markdown(Page(found, load(code)))
        assert re.search(f"```\n\n{sentence}", text)
        assert sentence not in bundle.markdown(Page(with_commands("sysbench $t run"), load(code)))


def test_no_command_is_made_up() -> None:
    """Where the source prints none that loads or runs."""
    assert "```bash" not in markdown(report(setting=RECORDED))


def test_steps_are_quoted_and_not_read_again() -> None:
    """With their lines; that one names another client is no finding of the page that quotes it."""
    said = Said("plan", "Test plan", "Use BenchmarkSQL via HAProxy: `tiup bench tpcc run`.", 9)
    text = markdown(report(setting=replace(NOTHING, said=(said,))))
    assert text.count("> “Use BenchmarkSQL via HAProxy: ") == 1
    assert "(line 9 of the source)" in text
    back = read(text, "again.md")
    assert not any("BenchmarkSQL" in one.text for one in back.setting.said)


def test_settings_are_kept_in_a_fence_that_they_cannot_close() -> None:
    """Even if they contain one."""
    assert "````yaml\na: <b>\n```\n\n````" in markdown(report(setting=RECORDED))
