"""Tells whether TiKV held writes back, by counters on its status port.

RocksDB delays or stops writes while flushes and compactions fall behind:
``tikv_engine_stall_micro_seconds``, the time that writers waited. From v5.2 on the scheduler does
it first (flow control): it lets writes wait (``tikv_scheduler_throttle_duration_seconds``) or
refuses them (``tikv_scheduler_too_busy_total``, which older versions count for a full queue). All
three only grow while a server runs. TiKV by tag, v3.0.20 to v9.0.0-beta.1:
``components/engine_rocks/src/rocks_metrics.rs``, ``src/storage/metrics.rs``,
``src/storage/txn/scheduler.rs``. The gauges beside them (``tikv_engine_write_stall`` and its
reasons, ``tikv_scheduler_discard_ratio``) show one moment only, and are not asked.

With ``server.simplify-metrics`` (from v6.2 on) a counter that is 0 is left out, a gauge never
(``dump_to`` in ``components/tikv_util/src/metrics/mod.rs``).

TiKV updates RocksDB's counter every :data:`LAG_S` seconds, the others at once. With flow control,
RocksDB's own stalls are off except for RaftDB's memtables. Otherwise the counter is read that long
after a run that writes, so that a stall in the run's last seconds counts; one in the last seconds
of the warm-up may count as well.

Example:
    ``read_counters(text)`` is 0.25 after writes have waited for 250 ms; None if the text is not
    TiKV's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from benchlab.engines.tidb.status import ASK_LIMIT_S, CONNECT_LIMIT_S
from benchlab.hosts.executor import Executor

STALLED = "tikv_engine_stall_micro_seconds"
# A gauge, by which the page is known to be TiKV's even if counters are left out.
ALWAYS_THERE = "tikv_server_info"
LAG_S = 10.0
# What turns a counter into seconds, or into a number of refusals.
_UNITS = {
    STALLED: 1e-6,
    "tikv_scheduler_throttle_duration_seconds_sum": 1.0,
    "tikv_scheduler_too_busy_total": 1.0,
}
_NAMES = "|".join([*_UNITS, ALWAYS_THERE])
_SAMPLE = re.compile(rf"({_NAMES})(?:\{{[^}}]*\}})? (\S+)")
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
    pattern = f"^({_NAMES})[{{ ]"
    done = executor.run(
        ["sh", "-c", _ASK, "stalls", pattern, *urls], timeout_s=ASK_LIMIT_S * len(urls) + 20
    )
    pages = dict(re.findall(r"^url (\S+)\n((?:(?!url ).*\n?)*)", done.stdout, re.MULTILINE))
    return {url: read_counters(pages.get(url, "")) for url in urls}


def read_counters(page: str) -> float | None:
    """A number that grows whenever a server holds writes back: seconds and refusals, added up.

    Only its growth means something. None: the server did not answer, or not as TiKV.
    """
    found = [match.groups() for match in map(_SAMPLE.fullmatch, page.splitlines()) if match]
    if not {STALLED, ALWAYS_THERE} & {name for name, _ in found}:
        return None
    return sum(float(value) * _UNITS.get(name, 0.0) for name, value in found)
