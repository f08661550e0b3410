"""Whether TiKV held writes back, from the text of its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from benchlab.engines.tidb import stalls
from benchlab.hosts.executor import Completed
from tests.builders import fakes

# As TiKV's encoder prints them (by tag: components/engine_rocks/src/rocks_metrics.rs,
# src/storage/metrics.rs). v4.0 has no flow control, and labels only what has been counted.
V4 = """# HELP tikv_engine_stall_micro_seconds Stall micros
# TYPE tikv_engine_stall_micro_seconds counter
tikv_engine_stall_micro_seconds{db="kv"} 250000
tikv_engine_stall_micro_seconds{db="raft"} 0
# TYPE tikv_engine_write_stall gauge
tikv_engine_write_stall{db="kv",type="write_stall_max"} 91000
"""
V8 = """# HELP tikv_engine_stall_micro_seconds Stall micros
# TYPE tikv_engine_stall_micro_seconds counter
tikv_engine_stall_micro_seconds{db="kv"} 0
# TYPE tikv_scheduler_discard_ratio gauge
tikv_scheduler_discard_ratio 4100000
# TYPE tikv_scheduler_throttle_duration_seconds histogram
tikv_scheduler_throttle_duration_seconds_bucket{le="0.0005"} 12
tikv_scheduler_throttle_duration_seconds_bucket{le="+Inf"} 40
tikv_scheduler_throttle_duration_seconds_sum 1.75
tikv_scheduler_throttle_duration_seconds_count 40
# TYPE tikv_scheduler_too_busy_total counter
tikv_scheduler_too_busy_total{type="prewrite"} 3
tikv_scheduler_too_busy_total{type="commit"} 1
"""


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (V4, 0.25),
        (V8, 5.75),
        (V8.replace('prewrite"} 3', 'prewrite"} 1e+03'), 1002.75),
        (V4.replace("250000", "0"), 0.0),
    ],
)
def test_what_only_grows_is_added_up(page: str, expected: float) -> None:
    """RocksDB's stalls in v4; from v5.2 on what flow control delayed or refused; no gauge."""
    assert stalls.read_counters(page) == pytest.approx(expected)


# A real one (v9.0.0-beta.2), shortened; with `server.simplify-metrics` it has no counter that is 0.
SIMPLE = """# TYPE tikv_scheduler_discard_ratio gauge
tikv_scheduler_discard_ratio 0
# TYPE tikv_server_info gauge
tikv_server_info{hash="",version="v9.0.0-beta.2"} 1795711943
"""


def test_a_counter_that_is_left_out_is_zero() -> None:
    """So the first stall of a run is seen: nothing before it, something after it."""
    first = SIMPLE + "tikv_scheduler_throttle_duration_seconds_sum 0.25\n"
    assert (stalls.read_counters(SIMPLE), stalls.read_counters(first)) == (0.0, 0.25)


@pytest.mark.parametrize(
    "page", ["", "<html>404</html>", "tidb_server_info 1\n", V8.replace("tikv_engine", "tikv_e")]
)
def test_what_is_not_known_to_be_tikvs_says_nothing(page: str) -> None:
    """No answer, another server, a page without anything that is always there: not zero."""
    assert stalls.read_counters(page) is None


def test_several_servers_are_asked_at_once() -> None:
    """One that refuses is missing, and the others are not."""

    class Host(fakes.FakeExecutor):
        def run(self, command: Sequence[str], **options: Any) -> Completed:
            first, second, third = command[5:]
            return Completed(0, f"url {first}\n{V4}url {second}\nurl {third}\n{V8}", "")

    urls = [f"http://10.0.0.{n}:20180/metrics" for n in (1, 2, 3)]
    assert [*stalls.ask(Host(), urls).values()] == [0.25, None, 5.75]
