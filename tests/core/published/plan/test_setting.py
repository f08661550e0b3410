"""What a published page says of hosts, versions, parameters, plan and commands is taken as is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.published.plan.setting import setting
from benchlab.published.reading.document import Document, Element, parse
from benchlab.published.reading.model import StatedSetting, ThreadList

SHARED = Path(__file__).parents[4].parent / "shared"

ENGLISH = r"""---
title: Some Sysbench test, v2.0 vs. v1.0
---
# Some Sysbench test, v2.0 vs. v1.0

## Version, time and place

TiDB version: v2.0.1 vs. v1.0.9

Time: May, 2020

Place: Somewhere, far away

## Environment

### Hardware

| Service | Type    | Count |
|---------|---------|-------|
| PD      | p1.tiny | 3     |
| Client  | c1.huge |       |

- Disk: two of them
- Sysbench version: 1.0.99

### Software version

| Service | Software version |
|---------|------------------|
| TiDB    | v1.0 and v2.0    |

### v2.0.1

| Component | GitHash |
|-----------|---------|
| TiDB      | abc123  |

### v1.0.9

| Component | GitHash |
|-----------|---------|
| TiDB      | def456  |

### Parameters of TiKV

```yaml
a.b: 1
```

### HAProxy configuration

```
listen db
   bind 0.0.0.0:3399   # not 4000
   server one 10.0.0.1:4000
listen admin
   bind *:8080
   stats enable
```

## Test plan

1. Load 8 tables, each with 2 million rows.
2. Through HAProxy, run `sysbench oltp_read_write --threads=4 --time=90 run`. Warm up for 1 minute;
   each test takes two minutes, with 16, 32, and 64 threads.

   ```sql
   set global tidb_x = 1;
   ```

   ```shell
   # this loads
   $ sysbench oltp_common \
       --mysql-host=$nlb_host \
       prepare --tables=8 --table-size=2000000
   sysbench oltp_insert --time=90 run
   total: 12
   ```

<!-- Use 99 tables. -->

## Results

| Version | Threads | TPS |
|---------|---------|-----|
| v2.0    | 16      | 10  |

It takes 5 minutes with 128, 256 threads and 77 tables through Nginx.
"""

CHINESE = """---
title: 某个 TPC-C 测试，v2.0 对比 v1.0
---
# 某个 TPC-C 测试，v2.0 对比 v1.0

## 测试时间、地点

时间：2020 年 5 月

地点：某地

## 测试环境

### 硬件配置

| 服务类型 | 类型 |
|----------|------|
| TiDB     | c1   |

### 软件版本

| 服务类型 | 软件版本 |
|----------|----------|
| TiDB     | v1.0、v2.0 |

## 测试方案

1. 导入 1,200 个仓库：`tiup bench tpcc prepare --warehouse 1200 -p 4000`。
2. 通过 NLB 加压，预热 2 分钟，单次测试 10 分钟，并发数为 50、100 和 64 * 4。
"""


def read(text: str, kind: Any = "sysbench") -> StatedSetting:
    """The setting of a page."""
    return setting(parse(text), kind)


# ---------------------------------------------------------------- whole pages


def test_an_english_page() -> None:
    """Each thing is found where it stands, and nothing in results or comments is taken for it."""
    found = read(ENGLISH)
    assert found.hardware == {
        "PD": {"Type": "p1.tiny", "Count": "3"},
        "Client": {"Type": "c1.huge"},
        "Hardware": {"Disk": "two of them"},
    }
    assert found.software == {"TiDB": "v2.0.1 vs. v1.0.9", "Sysbench": "1.0.99"}
    assert found.git_hashes == {"v2.0.1": {"TiDB": "abc123"}, "v1.0.9": {"TiDB": "def456"}}
    assert [(b.heading, b.language, b.text.splitlines()[0]) for b in found.parameters] == [
        ("Parameters of TiKV", "yaml", "a.b: 1"),
        ("HAProxy configuration", "", "listen db"),
        ("Test plan", "sql", "set global tidb_x = 1;"),
    ]
    assert len(found.steps) == 2
    assert found.load_balancers == ("HAProxy",)
    assert found.entry_ports == (3399,)
    assert found.thread_lists == (ThreadList((16, 32, 64), (), found.steps[1].line),)
    assert (found.tables, found.table_size, found.warehouses) == (8, 2_000_000, None)
    assert (found.seconds, found.stated_seconds, found.warmup_seconds) == (90, 120, 60)
    assert (found.measured, found.place) == ("May, 2020", "Somewhere, far away")
    lines = ENGLISH.split("\n")
    assert [(c.tool, c.in_code_block, lines[c.line - 1].strip()[:24]) for c in found.commands] == [
        ("sysbench", False, "2. Through HAProxy, run "),
        ("sysbench", True, "$ sysbench oltp_common \\"),
        ("sysbench", True, "sysbench oltp_insert --t"),
    ]
    assert found.commands[1].text == (
        "sysbench oltp_common --mysql-host=$nlb_host prepare --tables=8 --table-size=2000000"
    )


def test_a_chinese_page() -> None:
    """The same in Chinese; a misspelt option still says how many warehouses."""
    found = read(CHINESE, "tpcc")
    assert found.hardware == {"TiDB": {"类型": "c1"}}
    assert found.software == {"TiDB": "v1.0、v2.0"}
    assert [c.text for c in found.commands] == ["tiup bench tpcc prepare --warehouse 1200 -p 4000"]
    assert found.commands[0].tool == "tiup bench tpcc"
    assert found.load_balancers == ("NLB",)
    assert found.thread_lists == (ThreadList((50, 100, 256), (), found.steps[1].line),)
    assert (found.tables, found.table_size, found.warehouses) == (None, None, 1200)
    assert (found.seconds, found.stated_seconds, found.warmup_seconds) == (None, 600, 120)
    assert (found.measured, found.place) == ("2020 年 5 月", "某地")


def test_an_empty_page_says_nothing() -> None:
    """What is not there is None or empty."""
    found = read("")
    assert not any(getattr(found, name) for name in found.__dataclass_fields__)
    assert found.seconds is None
    assert found.measured is None


@pytest.mark.parametrize(
    ("times", "expected"),
    [(("90", "90"), 90), (("90", "300"), None), (("1m30s", "90s"), 90), (("$time",), None),
     (("2h0m0s",), 7200)],
)  # fmt: skip
def test_a_number_needs_all_commands_to_agree(times: tuple[str, ...], expected: int | None) -> None:
    """Two commands that contradict each other say nothing."""
    body = "\n".join(f"sysbench oltp_insert --time={time} run" for time in times)
    assert read(f"# T\n\n## Test plan\n\n```bash\n{body}\n```\n").seconds == expected


def test_contradicting_commands_are_not_outvoted_by_sentences() -> None:
    """Where the commands differ, what the sentences say is not taken instead."""
    body = "sysbench a --tables=4 run\nsysbench a --tables=8 run"
    page = f"# T\n\n## Test plan\n\nUse 4 tables.\n\n```bash\n{body}\n```\n"
    assert read(page).tables is None
    assert read(page.replace("--tables=8", "--tables=4")).tables == 4
    assert read("# T\n\n## Test plan\n\nUse 4 tables.\n").tables == 4


def test_the_time_of_loading_is_not_that_of_a_run() -> None:
    """Only commands that run a test say how long one is."""
    page = "# T\n\n## Test plan\n\n```bash\ngo-tpc tpcc prepare --time 2h\n```\n"
    assert read(page, "tpcc").seconds is None
    assert read(page.replace("prepare", "run"), "tpcc").seconds == 7200


# ---------------------------------------------------------------- any page

TEXTS = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            *(
                "TiDB version: v1.2.3 Time: May",
                "Place: here",
                "时间：5 月",
                "16 张表 每张 1000 万",
            ),
            *("sysbench a --tables=5 --time=9 run", "tiup bench tpcc run --warehouses 12 -p 4000"),
            *("8, 16 threads for 5 minutes", "bind :99999\nbind :1", "listen x\n bind *:3390"),
            *("sysbench a \\\n --time=1h", "预热 1 分钟", "1" * 30 + " rows", "$ sysbench '"),
            *("set a = 1;", "NLB"),
        ]
    ),
)
NAMES = st.sampled_from(
    [
        *("Test plan", "测试方案", "Environment", "硬件", "Software version", "TiKV configuration"),
        *("Results", "GitHash", "Version", "Threads", "Machine IP", "haproxy.cfg", "v1.2.3"),
    ]
)
CELLS = st.one_of(NAMES, TEXTS)
ELEMENTS = st.builds(
    Element,
    kind=st.sampled_from(["heading", "paragraph", "item", "table", "code", "comment"]),
    line=st.integers(1, 99),
    text=TEXTS,
    language=st.sampled_from(["", "bash", "yaml", "sql"]),
    table=st.lists(st.lists(CELLS, max_size=4).map(tuple), max_size=4).map(tuple),
    code_spans=st.lists(TEXTS, max_size=2).map(tuple),
    headings=st.lists(NAMES, max_size=3).map(tuple),
)


@given(elements=st.lists(ELEMENTS, max_size=8), kind=st.sampled_from(["sysbench", "tpcc"]))
def test_nothing_is_invented(elements: list[Element], kind: Any) -> None:
    """Whatever the elements: an answer, and every text of it stands in them."""
    found = setting(Document("", 0, "", 0, tuple(elements)), kind)
    printed = [s for e in elements for s in (e.text, *e.code_spans, *e.headings)]
    printed += [cell for e in elements for row in e.table for cell in row]
    texts = [*found.software, *found.software.values(), *found.hardware]
    texts += [s for row in found.hardware.values() for pair in row.items() for s in pair]
    texts += [s for row in found.git_hashes.values() for pair in row.items() for s in pair]
    texts += [s for block in found.parameters for s in (block.heading, block.text)]
    texts += [step.text for step in found.steps]
    texts += [word for command in found.commands for word in command.text.split()]
    texts += [text for text in (found.measured, found.place) if text is not None]
    for text in texts:
        assert any(text in line for line in printed), text
    whole = "\n".join(printed).lower()
    assert all(name.lower() in whole for name in found.load_balancers)
    assert all(str(port) in whole and 0 < port < 65536 for port in found.entry_ports)


@given(text=st.lists(TEXTS | NAMES.map("\n\n## {}\n\n".format), max_size=20).map("\n".join))
def test_any_page_has_a_setting(text: str) -> None:
    """Whatever the page: no traceback."""
    read(text, "tpcc")


@pytest.mark.parametrize(
    "piece", ["50 threads, ", "5, ", "5 minutes ", "--a b ", "Time: x ", "\\\n"]
)
def test_long_texts_are_read(piece: str) -> None:
    """A paragraph and a block of one word, thousands of times, end."""
    text = piece * 3000
    headings = ("Test plan",)
    step = Element("item", 1, text=text, headings=headings)
    block = Element("code", 2, text="sysbench " + text, headings=headings)
    line = Element("paragraph", 3, text=text, headings=("Environment",))
    setting(Document("", 0, "", 0, (step, block, line)), "sysbench")


# ---------------------------------------------------------------- published pages


def prepared() -> list[dict[str, Any]]:
    """What was prepared of all published pages; none without the folder."""
    path = SHARED / "published" / "tables.json"
    return json.loads(path.read_text()) if path.is_file() else []


def seconds(stated: list[str]) -> set[int]:
    """Durations as ``5 minutes``, ``20 分钟``, ``two hours``."""
    units = {"minute": 60, "分钟": 60, "hour": 3600}
    return {
        int(number.split()[0].replace("two", "2")) * size
        for number in stated
        for unit, size in units.items()
        if unit in number
    }


@pytest.mark.skipif(
    not prepared(),
    reason="without ../shared: that the pages' own sentences on hosts and plan are understood; "
    "tests/golden/test_published_pages.py has what they say",
)
@pytest.mark.parametrize("page", prepared(), ids=lambda page: page["source"])
def test_settings_of_the_published_pages(page: dict[str, Any]) -> None:
    """Hosts, versions, parameters and plan are those that were prepared."""
    text = (SHARED / "published" / "pages" / page["source"]).read_text()
    found = setting(parse(text), page["kind"])
    plan = page["plan"]
    for name, cells in page["hardware"].items():
        row = found.hardware.get(name) or found.hardware[page_executor(found)]
        words = re.split(r" x(?=\d)|, N/A|, 1000", cells)
        assert words[0] in row.values(), name
        if count := re.search(r" x(\d+)", cells):
            assert count[1] in row.values(), name
    hashes = found.git_hashes.values()
    for name, version in page["software"].items():
        assert found.software.get(name) == version or version in [h.get(name) for h in hashes]
    assert set(found.git_hashes) == set(page.get("versions_exact") or ())
    blocks: dict[str, list[str]] = {}
    for block in found.parameters:
        if "HAProxy" not in block.heading:
            blocks.setdefault(block.heading, []).append(unindented(block.text))
    assert blocks == {k: [unindented(b) for b in v] for k, v in page["params"].items()}
    assert found.tables == plan["tables"] or plan["tables"] is None
    assert found.table_size == plan["table_size"] or plan["table_size"] is None
    # prepared are those of English sentences and of options that are spelt right
    assert not plan["warehouses"] or [str(found.warehouses)] == plan["warehouses"]
    assert [list(planned.threads) for planned in found.thread_lists] == plan["threads_stated"]
    balancers = {name.removeprefix("AWS ") for name in plan["load_balancer"]}
    assert set(found.load_balancers) == balancers - {"Private Endpoint"}  # that is no balancer
    assert (found.stated_seconds in seconds(plan["duration_stated"])) or not plan["duration_stated"]
    assert (found.warmup_seconds == 60) == bool(plan["warm_up"])
    assert (found.seconds is not None) == bool(plan["time_flags"])
    named = [word.split("=")[0] for c in found.commands for word in c.text.split()]
    assert all(flag in named for flag in plan["warehouse_flag"])
    assert all(flag.split()[0] in named for flag in plan["port_flag"])


def page_executor(found: StatedSetting) -> str:
    """The heading under which a page lists its client's host."""
    return next(name for name in found.hardware if name in ("Benchmark executor", "基准测试执行器"))


def unindented(text: str) -> str:
    """Settings without the spaces before and behind their lines."""
    return "\n".join(line.strip() for line in text.strip().split("\n"))
