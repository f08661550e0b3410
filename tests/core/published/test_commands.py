"""The calls of clients in a page, and what they ask for."""

from __future__ import annotations

import pytest

from benchlab.published import commands
from benchlab.published.document import parse
from benchlab.published.model import Command


def found_in(text: str) -> list[tuple[str, int]]:
    """The commands of a page with their lines."""
    return [(one.text, one.line) for one in commands.commands(parse(text).elements)]


def test_commands_of_code_blocks_and_sentences() -> None:
    """A line that ends with a backslash goes on; a name without options is none."""
    text = (
        "# A\n\nRun `sysbench run` as `go-tpc tpcc run -T 8`.\n\n"
        "```bash\nmysql -u root\nsysbench oltp_insert \\\n    --threads=4 \\\n    run\n\n"
        "tiup bench tpcc prepare --warehouses 5\ntiup bench tpch run --sf 1\n```\n"
    )
    assert found_in(text) == [
        ("go-tpc tpcc run -T 8", 3),
        ("sysbench oltp_insert --threads=4 run", 7),
        ("tiup bench tpcc prepare --warehouses 5", 11),
    ]


@pytest.mark.parametrize("language", ["yaml", "sql", ""])
def test_a_block_that_is_no_shell_s_has_no_commands(language: str) -> None:
    """It has settings or output."""
    assert found_in(f"# A\n\n```{language}\nsysbench oltp_insert --threads=4 run\n```\n") == []


def test_a_command_that_cannot_be_parsed_is_none() -> None:
    """A quotation mark is missing: nobody can say what its options are."""
    assert found_in("# A\n\n```bash\nsysbench 'oltp_insert --threads=4 run\n```\n") == []


@pytest.mark.parametrize(
    ("text", "client", "script", "action", "address"),
    [
        ("sysbench oltp_insert --mysql-host=h --mysql-port=4000 run", "sysbench", "oltp_insert",
         "run", ("h", "4000")),
        ("sysbench $t prepare --mysql_host=h", "sysbench", "$t", "prepare", ("h", "")),
        ("go-tpc tpcc -H h --warehouses 5 run", "go-tpc tpcc", "", "run", ("h", "4000")),
        ("tiup bench:v1.9.0 tpcc run -P 3390", "tiup bench tpcc", "", "run", ("127.0.0.1", "3390")),
        ("tiup bench tpcc --warehouses 5", "tiup bench tpcc", "", "", ("127.0.0.1", "4000")),
    ],
)  # fmt: skip
def test_what_a_command_asks_for(
    text: str, client: str, script: str, action: str, address: tuple[str, str]
) -> None:
    """Client, script, action and where it connects to; go-tpc has addresses of its own."""
    line = commands.read(Command(text, 1))
    assert (line.client, line.script, line.action, line.address) == (
        client,
        script,
        action,
        address,
    )
    assert line.unknown == {}
