"""What the sentences of a published plan say: times, sizes, thread counts, load balancers."""

from __future__ import annotations

import pytest

from benchlab.published.plan.planned import (
    ROWS,
    TABLES,
    WAREHOUSES,
    bound_ports,
    load_balancers,
    stated,
    stated_ports,
    stated_times,
    thread_lists,
)
from benchlab.published.reading.model import StatedStep


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The test takes 5 minutes.", (300, None)),
        ("For each concurrency, the test takes 30 minutes.", (1800, None)),
        ("A test lasts two hours after a warm-up of 90 seconds.", (7200, 90)),
        ("The warm-up takes 1 minute and the test takes half an hour.", (1800, 60)),
        ("单次测试 5 分钟", (300, None)),
        ("预热 1 分钟，每个并发测试持续两小时。", (7200, 60)),
        ("Wait 10 minutes, then run it for 5 minutes.", (300, None)),
        ("Loading takes about 2 hours.", (None, None)),
        ("Each test takes 5 minutes. Some tests take 20 minutes.", (None, None)),
        ("Results are printed every 10 seconds while the test runs.", (None, None)),
    ],
)
def test_stated_times(text: str, expected: tuple[int | None, int | None]) -> None:
    """Of a run and its warm-up; waiting, loading and intervals are neither."""
    assert stated_times([StatedStep(text, 1)]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Load 16 tables with 10,000,000 pieces of data each.", (16, 10_000_000, None)),
        ("Load 16 sysbench tables of 2.5 million rows.", (16, 2_500_000, None)),
        ("导入 16 张表，每张数据 1000 万。", (16, 10_000_000, None)),
        ("导入 32 个表和 10,000,000 行数据。", (32, 10_000_000, None)),
        ("Import the data of 5000 warehouses.", (None, None, 5000)),
        ("导入 1,000 个仓库。", (None, None, 1000)),
        ("Load 16 tables, later 32 tables.", (None, None, None)),
    ],
)
def test_stated_sizes(text: str, expected: tuple[int | None, int | None, int | None]) -> None:
    """Numbers with their scale, in both languages."""
    steps = [StatedStep(text, 1)]
    found = [stated(steps, *patterns) for patterns in (TABLES, ROWS, WAREHOUSES)]
    assert tuple(found) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with the ${THREAD} value of 100, 200, and 400. Next", [((100, 200, 400), ())]),
        ("使用 ${THREAD} 值为 50、100 和 200 进行测试", [((50, 100, 200), ())]),
        ("Thread counts: 8,16,32", [((8, 16, 32), ())]),
        ("at 64, 128 and 1,024 threads", [((64, 128, 1024), ())]),
        ("并发数分别为 64 * 4、128 * 4", [((256, 512), ())]),
        ("Run the test with 300 threads", [((300,), ())]),
        (
            "50 and 100 threads for point select, 200 and 400 threads for read write",
            [((50, 100), ("oltp_point_select",)), ((200, 400), ("oltp_read_write",))],
        ),
        ("Load the data with 16 threads", []),
        ("TiDB uses 20 threads for the coprocessor.", []),
        ("During the test TiKV has 20 threads for the coprocessor.", []),
        ("The client has 36 threads per host.", []),
        ("Each of them has 36 threads.", []),
        ("TiDB 使用 20 个线程处理协处理器请求", []),
        ("Point Select with 300 threads", [((300,), ("oltp_point_select",))]),
        ("压测并发数为 300", [((300,), ())]),
        ("from 50 to 1500 threads", []),
        ("threads from 50 to 1500", []),
        ("The threads are 50, 100, ...", []),
        ("For each concurrency 20 minutes", []),
        ("incremental concurrency", []),
    ],
)
def test_thread_lists(text: str, expected: list[tuple[tuple[int, ...], tuple[str, ...]]]) -> None:
    """Lists with their workloads; ranges, loads and other units are no lists."""
    assert [
        (planned.threads, planned.workloads) for planned in thread_lists([StatedStep(text, 1)])
    ] == expected


def test_load_balancers() -> None:
    """Those that are described; not a variable's name, nor one that is left out."""
    assert load_balancers("via AWS NLB or haproxy; HAProxy") == ("NLB", "HAProxy")
    assert load_balancers("通过HAProxy加压") == ("HAProxy",)
    assert load_balancers("--mysql-host=$aws_nlb_host on nlb_x") == ()
    assert load_balancers("without HAProxy, 不使用 NLB") == ()


def test_entry_ports() -> None:
    """Where the database is reached, not the balancer's own pages, nor the servers behind it."""
    text = "frontend db\n bind :33,10.0.0.1:44 # :55\nbackend x\n server a 10.0.0.2:66\n"
    assert bound_ports(text) == (33, 44)
    assert bound_ports("listen old 0.0.0.0:3390\n mode tcp") == (3390,)
    assert bound_ports("listen pages\n bind :80\n stats uri /") == ()
    assert stated_ports("HAProxy listens on port 3390. TiDB listens on port 4000.") == (3390,)
