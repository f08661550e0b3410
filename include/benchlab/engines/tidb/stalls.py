"""Whether TiKV held writes back, by the counters of its status port.

RocksDB delays or stops writes while flushes and compactions fall behind:
``tikv_engine_stall_micro_seconds``, the time that writers waited. From v5.2 on the scheduler does
it first (flow control): it lets writes wait (``tikv_scheduler_throttle_duration_seconds``) or
refuses them (``tikv_scheduler_too_busy_total``, which older versions count for a full queue). All
three only grow while a server runs. TiKV by tag, v3.0.20 to v9.0.0-beta.1:
``components/engine_rocks/src/rocks_metrics.rs``, ``src/storage/metrics.rs``,
``src/storage/txn/scheduler.rs``. The gauges beside them (``tikv_engine_write_stall`` and its
reasons, ``tikv_scheduler_discard_ratio``) show one moment only, and are not asked.

RocksDB's counter is brought up to date every 10 s, and first 10 s after a start, so that a stall in
the last seconds of a run may be missed, and one in the last seconds before it may be counted.

Example:
    ``read_counters(text)`` is 0.25 after writes have waited for 250 ms; None if the text lacks the
    counter that every version has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchlab.engines.tidb.status import ASK_LIMIT_S, CONNECT_LIMIT_S
from benchlab.hosts.executor import Executor

ALWAYS_THERE = "tikv_engine_stall_micro_seconds"
# What turns a counter into seconds, or into a number of refusals.
_UNITS = {
    ALWAYS_THERE: 1e-6,
    "tikv_scheduler_throttle_duration_seconds_sum": 1.0,
    "tikv_scheduler_too_busy_total": 1.0,
}
_SAMPLE = re.compile(rf"({'|'.join(_UNITS)})(?:\{{[^}}]*\}})? (\S+)")
# A page has some megabytes, of which a few lines are needed: they are picked on the host.
_ASK = f"""
pattern=$1; shift
for url; do
    echo "url $url"
    curl --silent --fail --noproxy '*' --connect-timeout {CONNECT_LIMIT_S} \\
        --max-time {ASK_LIMIT_S} "$url" | grep -E "$pattern"
done
exit 0
"""


def ask(executor: Executor, urls: Sequence[str]) -> Mapping[str, float | None]:
    """:func:`read_counters` of several servers' ``/metrics``, asked on one host, by URL.

    Raises:
        CommandError: the host cannot be asked.
    """
    pattern = f"^({'|'.join(_UNITS)})[{{ ]"
    done = executor.run(
        ["sh", "-c", _ASK, "stalls", pattern, *urls], timeout_s=ASK_LIMIT_S * len(urls) + 20
    )
    pages = dict(re.findall(r"^url (\S+)\n((?:(?!url ).*\n?)*)", done.stdout, re.MULTILINE))
    return {url: read_counters(pages.get(url, "")) for url in urls}


def read_counters(page: str) -> float | None:
    """A number that grows whenever a server holds writes back: seconds and refusals, added up.

    Only whether it has grown says something. None: the server did not answer, or not as TiKV.
    """
    found = [match.groups() for match in map(_SAMPLE.fullmatch, page.splitlines()) if match]
    if ALWAYS_THERE not in {name for name, _ in found}:
        return None
    return sum(float(value) * _UNITS[name] for name, value in found)
