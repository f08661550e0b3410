"""What a page says of how it was measured, and what its commands ask for."""

from __future__ import annotations

import pytest

from benchlab.published.document import parse as parse_page
from benchlab.published.model import Procedure
from benchlab.published.procedure import parse, procedure


def read(text: str) -> Procedure:
    """What is read of a page."""
    return procedure(parse_page(text).elements)


def test_commands_of_code_blocks_and_sentences() -> None:
    """A line that ends with a backslash goes on; a name without options is none."""
    text = (
        "# A\n\nRun `sysbench run` as `go-tpc tpcc run -T 8`.\n\n"
        "```bash\nmysql -u root\nsysbench oltp_insert \\\n    --threads=4 \\\n    run\n\n"
        "tiup bench tpcc prepare --warehouses 5\ntiup bench tpch run --sf 1\n```\n"
    )
    assert [(one.line, one.client, one.action) for one in read(text).commands] == [
        (3, "go-tpc tpcc", "run"),
        (7, "sysbench", "run"),
        (11, "tiup bench tpcc", "prepare"),
    ]


@pytest.mark.parametrize("language", ["yaml", "sql", ""])
def test_a_block_that_is_no_shell_s_has_no_commands(language: str) -> None:
    """It has settings or output."""
    assert read(f"# A\n\n```{language}\nsysbench oltp_insert --threads=4 run\n```\n") == Procedure()


def test_a_command_that_cannot_be_parsed_is_none() -> None:
    """A quotation mark is missing: nobody can say what its options are."""
    assert parse("sysbench 'oltp_insert --threads=4 run", 1) is None


@pytest.mark.parametrize(
    ("text", "client", "action", "address"),
    [
        ("sysbench oltp_insert --mysql-host=h --mysql-port=4000 run", "sysbench", "run",
         ("h", "4000")),
        ("sysbench $t prepare --mysql_host=h", "sysbench", "prepare", ("h", "")),
        ("go-tpc tpcc -H h --warehouses 5 run", "go-tpc tpcc", "run", ("h", "4000")),
        ("tiup bench:v1.9.0 tpcc run -P 3390", "tiup bench tpcc", "run", ("127.0.0.1", "3390")),
        ("tiup bench tpcc --warehouses 5", "tiup bench tpcc", "", ("127.0.0.1", "4000")),
    ],
)  # fmt: skip
def test_what_a_command_asks_for(
    text: str, client: str, action: str, address: tuple[str, str]
) -> None:
    """Client, action and where it connects to; go-tpc has addresses of its own."""
    command = parse(text, 1)
    assert command is not None
    assert (command.client, command.action) == (client, action)
    assert ((command.host, command.port), command.unknown) == (address, ())


@pytest.mark.parametrize(
    "text",
    [
        "Three tests with the ${THREAD} value of 100, 200, and 400.",
        "本文档使用 ${THREAD} 值为 100、200 和 400 进行三次测试。",
    ],
)
def test_thread_counts_are_planned_in_these_forms(text: str) -> None:
    """Other numbers beside threads are none of the plan."""
    page = f"# A\n\n{text}\n\nUse 16 threads of TiDB, 100 and 200 of TiKV.\n"
    assert read(page).threads == ((3, (100, 200, 400)),)


@pytest.mark.parametrize("text", ["Test TiDB via HAProxy.", "通过 HAProxy 加压。"])
def test_the_entry_point_is_a_balancer_and_its_port(text: str) -> None:
    """A balancer that is only mentioned is not measured through."""
    page = (
        f"# A\n\n{text} See the pages of NLB.\n\n"
        "```yaml\nlisten tidb\n   bind 0.0.0.0:3390   # the port\n   server a 10.0.0.1:4000\n```\n"
    )
    found = read(page)
    assert (found.balancers, found.entry_ports) == (("HAProxy",), (3390,))


def test_another_client_is_one_that_a_step_names_beside_its_command() -> None:
    """As it was left from an older page; what is only mentioned is not used."""
    page = "# A\n\n1. Load with BenchmarkSQL: `go-tpc tpcc prepare -T 8`.\n\nSee BenchmarkSQL.\n"
    assert read(page).other_tools == ((3, "BenchmarkSQL"),)
