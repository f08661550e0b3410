"""Which texts of a published page are commands, and what they ask for."""

from __future__ import annotations

import pytest

from benchlab.published.plan import command_line
from benchlab.published.plan.command_line import CommandLine
from benchlab.published.plan.commands import commands
from benchlab.published.plan.setting import setting
from benchlab.published.reading.document import Element, parse
from benchlab.published.reading.model import Command


def read_line(text: str) -> CommandLine:
    """A command of one of the clients."""
    line = command_line.read(Command("client", text, 1, in_code_block=True))
    assert line is not None
    return line


def code(text: str, language: str = "bash") -> list[tuple[str, str, int]]:
    """Commands of a code block whose first line is 10."""
    found = commands([Element("code", 10, text=text, language=language)])
    return [(c.tool, c.text, c.line) for c in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sysbench a \\\n  --b=1 \\\n  run", [("sysbench", "sysbench a --b=1 run", 10)]),
        ("sysbench a\n  --b=1\n  --c=2", [("sysbench", "sysbench a --b=1 --c=2", 10)]),
        ("\nsudo go-tpc tpcc run", [("go-tpc tpcc", "sudo go-tpc tpcc run", 11)]),
        ("go-tpc tpch run", [("go-tpc tpch", "go-tpc tpch run", 10)]),
        ("tiup bench:v1.9.0 tpcc run", [("tiup bench tpcc", "tiup bench:v1.9.0 tpcc run", 10)]),
        ("tiup cluster:v1.9.0 list", [("tiup cluster", "tiup cluster:v1.9.0 list", 10)]),
        ("/usr/local/bin/sysbench a run", [("sysbench", "/usr/local/bin/sysbench a run", 10)]),
        ("./sysbench a run", [("sysbench", "./sysbench a run", 10)]),
        ("A='b c' sudo -u me nohup time -p /opt/sysbench a run",
         [("sysbench", "A='b c' sudo -u me nohup time -p /opt/sysbench a run", 10)]),
        ("numactl -C 0-7 ./go-tpc tpcc run",
         [("go-tpc tpcc", "numactl -C 0-7 ./go-tpc tpcc run", 10)]),
        ("taskset -c 0-7 timeout 600 sysbench a run",
         [("sysbench", "taskset -c 0-7 timeout 600 sysbench a run", 10)]),
        ("/opt/own run", []),
        ("[me@host ~]$ go-tpc --x\nme@host:~# tiup cluster start x",
         [("go-tpc", "go-tpc --x", 10), ("tiup cluster", "tiup cluster start x", 11)]),
        ("# sysbench is a tool", []),
        ("General statistics:\n  total time: 5s", []),
        ("for i in 1 2; do sysbench a --threads=$i run; done",
         [("sysbench", "for i in 1 2; do sysbench a --threads=$i run; done", 10)]),
        ("./runBenchmark.sh p", [("./runBenchmark.sh", "./runBenchmark.sh p", 10)]),
    ],
)  # fmt: skip
def test_commands_of_a_block(text: str, expected: list[tuple[str, str, int]]) -> None:
    """Lines that continue one are joined; output and comments are no commands."""
    assert code(text) == expected


def test_a_block_of_settings_has_no_commands() -> None:
    """What is no shell's is not searched, but a block without a language is."""
    text = "sysbench a run"
    assert code(text, "yaml") == []
    assert code(text, "") == code(text, "sh") == [("sysbench", text, 10)]


def test_a_name_in_a_sentence_is_no_command() -> None:
    """Inline code is a command where it has an option."""
    spans = ("sysbench run", "tiup bench tpcc", "sysbench a  --b=1 run", "create database --x")
    found = commands([Element("item", 4, text="t", code_spans=spans)])
    assert [c.text for c in found] == ["sysbench a --b=1 run"]


def test_options_of_a_command() -> None:
    """Both ways to give a value; a subcommand is none; a quote left open does not matter."""
    line = read_line("go-tpc tpcc --ignore-error run -P 4000 --db=x --time 5s -T ${N} --x")
    assert list(line.options.items()) == [
        ("ignore-error", None), ("port", "4000"), ("db", "x"), ("time", "5s"),
        ("threads", "${N}"), ("x", None),
    ]  # fmt: skip
    assert line.action == "run"
    assert read_line("sysbench --a='b run").options == {"a": "'b"}


@pytest.mark.parametrize("program", ["sysbench", "sudo sysbench", "/opt/bin/sysbench"])
def test_sysbench_takes_underscores(program: str) -> None:
    """Its options are the same with hyphens; those of go-tpc are not."""
    text = f"{program} oltp_insert --table_size=5 --rand_type=uniform --max_time=90 run"
    assert list(read_line(text).options.items()) == [
        ("table-size", "5"), ("rand-type", "uniform"), ("max-time", "90"),
    ]  # fmt: skip
    assert read_line("go-tpc tpcc --no_check run").options == {"no_check": None}
    page = parse(f"# T\n\n## Test plan\n\n```bash\n{text}\n```\n")
    found = setting(page, "sysbench")
    assert (found.table_size, found.seconds) == (5, 90)


@pytest.mark.parametrize(
    "text",
    [
        "sudo sysbench oltp_insert --bogus=1 --threads=4 run",
        "./sysbench oltp_insert --bogus=1 --threads=4 run | tee a.log",
        "for i in 1 2; do /opt/sysbench oltp_insert --bogus=1 --threads=4 run; done",
        "tiup bench:v1.9.0 tpcc --bogus --threads 4 run",
        "LANG=C nohup go-tpc tpcc --bogus --threads 4 run &",
    ],
)
def test_a_client_is_read_however_it_is_started(text: str) -> None:
    """Its options are checked, and what it does is known."""
    (found,) = commands([Element("code", 1, text=text, language="bash")])
    line = command_line.read(found)
    assert line is not None
    assert (line.action, tuple(line.unknown.values())) == ("run", ("--bogus",))
    assert line.options["threads"] == "4"


def test_a_command_of_any_length_is_answered() -> None:
    """A placeholder that is not closed is none; what is too long is no command."""
    whole = "sysbench oltp_insert --threads={{ n }} --mysql-host=${HOST} run"
    assert read_line(whole).options["threads"] == "{{n}}"
    unclosed = "sysbench x " + "{{" * 100_000
    assert read_line(unclosed).client == "sysbench"
    assert commands([Element("code", 1, text=unclosed, language="bash")]) == ()
    assert commands([Element("item", 1, text="t", code_spans=(unclosed + " --a",))]) == ()
