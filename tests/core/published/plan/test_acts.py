"""What a published plan says of statistics, backup and restores, in both languages."""

from __future__ import annotations

import pytest

from benchlab.published.plan.planned import acts
from benchlab.published.reading.model import Act
from tests.audited import step
from tests.builders.published_page import read

SQL = "CREATE DATABASE bench;\n  ANALYZE TABLE stock;"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run `analyze table` for every table.", "analyze"),
        ("All tables are analyzed.", "analyze"),
        ("Then collect the statistics.", "analyze"),
        ("加载之后收集统计信息。", "analyze"),
        ("Back up what was loaded.", "back_up"),
        ("After the load a full backup is taken.", "back_up"),
        ("导入之后备份数据。", "back_up"),
        ("Restore the data before each run.", "restore"),
        ("Stop all servers and overwrite their files with the backup.", "restore"),
        ("After writes the dataset is restored.", "restore"),
        ("每次写入之后，用备份覆盖数据。", "restore"),
        ("写入之后恢复数据。", "restore"),
    ],
)
def test_a_sentence_says_what_is_done(text: str, expected: Act) -> None:
    """Each act has its own words; one is not taken for another."""
    assert acts([step(text)], []) == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        "The data is not restored between runs.",
        "We ran it without `analyze table`.",
        "The servers' statistics page was open.",
        "Nobody backs the result up with a theory, and performance is restored in v9.1.",
        "测试之间没有恢复数据。",
        "未备份数据。",
        "Import 16 tables of 10 million rows.",
    ],
)
def test_what_is_not_done_is_not_recorded(text: str) -> None:
    """Neither what a clause denies nor words that only look like it."""
    assert acts([step(text)], []) == ()


def test_a_comma_ends_a_denial() -> None:
    """What stands in the next clause is done."""
    assert acts([step("The cluster is not moved, then restore the data.")], []) == ("restore",)


def test_acts_are_in_the_order_of_a_run_each_once() -> None:
    """However the page orders and repeats them; SQL that is shown counts."""
    steps = [step("Restore the data."), step("Back up the data. Make a backup once more.")]
    assert acts(steps, [SQL]) == ("analyze", "back_up", "restore")


def test_only_the_plan_counts() -> None:
    """A backup that is mentioned beside results or parameters is no step of the plan."""
    found = read(PAGE, "page.md").setting.acts
    assert found == ("analyze",)


PAGE = """\
# TiDB Sysbench Performance Test Report -- v9.2.0 vs. v9.1.0

## Parameter configuration

Restore the data with these settings.

## Test plan

1. Load 16 tables.

```sql
ANALYZE TABLE sbtest1;
```

## Test results

### Point Select performance

Back up the data before you read on.

| Threads | v9.1.0 QPS | v9.1.0 95% latency (ms) | v9.2.0 QPS | v9.2.0 95% latency (ms) |
|---|---|---|---|---|
| 50 | 100 | 1 | 110 | 1 |
"""
