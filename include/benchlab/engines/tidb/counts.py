"""What TiDB, TiKV and PD count of their work: the counters of their ``/metrics``, by version.

Names and labels are those of pages as they were served: TiDB v6.5.0 and v8.5.3, PD v8.5.3, TiKV
v9.0.0-beta.2. The names of TiDB (``metrics``, later ``pkg/metrics``) and TiKV (``metrics.rs``) were
compared with their sources by tag, v6.1.0 to v8.5.3; ``tidb_tikvclient_*`` are in client-go's
``metrics/metrics.go``.

* Late: most of TiKV's counters wait in its threads for up to 10 s; RocksDB's appear after up to
  20 s. Up to date are TiDB, PD, ``raft_engine_*``, the sizes in ``*_apply_*``, and CPU time.
* ``raft_engine_log_entry_count`` goes up and down, and ``tidb_distsql_scan_keys_num`` stands still:
  neither is here.

Example:
    ``read("tidb", answer)['tidb_server_packet_io_bytes{type="Out"}']`` is ``109379020.0``, where
    the answer is what ``command("tidb", "http://10.0.0.1:10080/metrics")`` printed.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from benchlab.engines.counts import Count, Counters, labels_of

if TYPE_CHECKING:
    from prometheus_client.samples import Sample

CONNECT_LIMIT_S, ASK_LIMIT_S = 3, 8
# No answer and no line of one is as long, even of a large cluster.
MOST_BYTES, LONGEST_LINE = 1_000_000, 1_000
# The last line of an answer: of a page that was cut, sums would be too small.
WHOLE = "# whole"
THREADS = "tikv_thread_cpu_seconds_total"
# A thread belongs to the first pool whose name its own begins with: `grpc_server_0` to grpc,
# `unified_read_po_2` (in newer versions `unified_read_pool_2`) to unified_read.
POOLS = ("grpc", "unified_read", "sched", "raftstore", "store_write", "apply", "rocksdb")
_KV, _TXN = "tidb_tikvclient_request_seconds_count", "tidb_tikvclient_txn_write"
_KV_TYPES = (
    "get batch_get scan cop pessimistic_lock pessimistic_rollback prewrite commit batch_rollback "
    "resolve_lock check_txn_status check_secondary_locks txn_heart_beat"
)
_STATEMENTS = "select insert replace update delete begin commit rollback"
_MESSAGES = "get batch_get scan pessimistic_lock prewrite commit"
_GRPC = "tikv_grpc_msg_duration_seconds_count"
_COMMAND = "tikv_scheduler_command_duration_seconds_count"


def _of(family: str, /, **labels: str) -> str:
    """Samples of a family; their labels have to be in alphabetical order."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{family}{{{inside}}}" if inside else family


def _asked(family: str, scope: str, **labels: str) -> str:
    """Without the bursts of what TiDB writes for itself (statistics, DDL), in versions that tell.

    Its own reads, which are steady, have the scope of a client's.
    """
    return f"{_of(family, scope=scope, **labels)}|{_of(family, **labels)}"


def _tidb(name: str, *counters: str, unit: str = "1") -> Count:
    # Allocations were seen to vary by 0.5 % from run to run of one deployment, requests by 0.1 %.
    return Count(name, "tidb", counters, unit, side_sd=0.002)


def _tikv(name: str, *counters: str, unit: str = "1", late: bool = True) -> Count:
    return Count(name, "tikv", counters, unit, late=late)


def _rocksdb(name: str, family: str, kind: str, unit: str = "1") -> Count:
    counter = _of(f"tikv_engine_{family}", db="kv", type=kind)
    return Count(f"rocksdb_{name}", "tikv", (counter,), unit, late=True, background=True)


def _perf(name: str, metric: str) -> Count:
    parts = ("coprocessor", "storage")
    return _tikv(name, *(_of(f"tikv_{part}_rocksdb_perf", metric=metric) for part in parts))


def _time(name: str, role: str, counter: str, *, background: bool = False) -> Count:
    return Count(
        *(name, role, (counter,), "us", 1e6), background=background, of_load=True, side_sd=0.01
    )


def _pd(name: str, method: str) -> Count:
    # A member that does not lead has no family of its own for these.
    counter = _of("grpc_server_msg_received_total", grpc_method=method)
    return Count(name, "pd", (counter,), background=True)


# A prepared statement counts when it is executed, several statements in one text as one.
QUERIES = _tidb(
    "queries", *(_of("tidb_server_query_total", type=kind) for kind in ("Query", "StmtExecute"))
)
COUNTS: tuple[Count, ...] = (
    _time("tidb_cpu", "tidb", "process_cpu_seconds_total"),
    _time("tidb_gc_cpu", "tidb", "go_cpu_classes_gc_total_cpu_seconds_total", background=True),
    _tidb("tidb_allocated_bytes", "go_memstats_alloc_bytes_total", unit="B"),
    _tidb("tidb_allocated_objects", "go_memstats_mallocs_total"),
    _tidb("kv_requests", _asked(_KV, "false")),
    *(
        _tidb(f"kv_{of}", _asked(_KV, "false", type=of.title().replace("_", "")))
        for of in _KV_TYPES.split()
    ),
    _tidb("cop_cache_hits", _of("tidb_distsql_copr_cache", type="hit")),
    _tidb("keys_processed", "tidb_server_query_statement_processed_keys_sum"),
    replace(_tidb("timestamps", "pd_client_request_handle_tso_batch_size_sum"), of_load=True),
    _tidb("written_keys", _asked(f"{_TXN}_kv_num_sum", "general")),
    _tidb("written_bytes", _asked(f"{_TXN}_size_bytes_sum", "general"), unit="B"),
    _tidb("one_phase_commits", _of("tidb_tikvclient_one_pc_txn_counter", type="ok")),
    _tidb("async_commits", _of("tidb_tikvclient_async_commit_txn_counter", type="ok")),
    _tidb("backoffs", "tidb_tikvclient_backoff_seconds_count"),
    _tidb("region_errors", "tidb_tikvclient_region_err_total"),
    _tidb("locks_resolved", _of("tidb_tikvclient_lock_resolver_actions_total", type="resolve")),
    _tidb("transaction_retries", "tidb_session_retry_num_sum"),
    _tidb("pessimistic_retries", "tidb_session_statement_pessimistic_retry_count_sum"),
    _tidb("plan_cache_hits", "tidb_server_plan_cache_total"),
    _tidb("plan_cache_misses", "tidb_server_plan_cache_miss_total"),
    _tidb("statements", "tidb_executor_statement_total"),
    *(
        _tidb(f"statements_{of}", _of("tidb_executor_statement_total", type=of.title()))
        for of in _STATEMENTS.split()
    ),
    _tidb("affected_rows", "tidb_server_affected_rows|tidb_executor_affected_rows"),
    # By older versions, and by newer ones: of the two labels a server has one.
    *(
        _tidb(name, *(_of("tidb_server_packet_io_bytes", type=way) for way in ways), unit="B")
        for name, ways in {"bytes_received": ("read", "In"), "bytes_sent": ("write", "Out")}.items()
    ),
    # TiKV's process_cpu_seconds_total goes by whole seconds.
    _time("tikv_cpu", "tikv", THREADS),
    *(_time(f"tikv_cpu_{pool}", "tikv", _of(THREADS, name=pool)) for pool in POOLS),
    *(
        replace(_tikv(f"grpc_{name}", _of(_GRPC, type=of)), of_load=True)
        for name, of in (*((of, f"kv_{of}") for of in _MESSAGES.split()), 2 * ("coprocessor",))
    ),
    _tikv("scheduler_commands", "tikv_scheduler_commands_pri_total"),
    _tikv("scheduler_pessimistic_lock", _of(_COMMAND, type="acquire_pessimistic_lock")),
    _tikv("scheduler_prewrite", _of(_COMMAND, type="prewrite")),
    _tikv("scheduler_commit", _of(_COMMAND, type="commit")),
    _tikv("write_conflicts", "tikv_storage_mvcc_conflict_counter"),
    replace(_tikv("raft_proposals", "tikv_raftstore_propose_log_size_count"), of_load=True),
    Count("raft_log_bytes", "tikv", ("raft_engine_write_size_sum",), "B", of_load=True),
    Count("raft_log_writes", "tikv", ("raft_engine_write_size_count",), of_load=True),
    _tikv("applied_keys", "tikv_raftstore_apply_key_size_count", late=False),
    _tikv(
        "applied_bytes",
        *(f"tikv_raftstore_apply_{part}_size_sum" for part in ("key", "value")),
        unit="B",
        late=False,
    ),
    _tikv("coprocessor_bytes", "tikv_coprocessor_response_bytes", unit="B"),
    _tikv("keys_scanned", _of("tikv_coprocessor_scan_keys_sum", kind="total")),
    _tikv("keys_returned", _of("tikv_coprocessor_scan_keys_sum", kind="processed_keys")),
    _perf("keys_skipped", "internal_key_skipped_count"),
    _perf("tombstones_skipped", "internal_delete_skipped_count"),
    _perf("blocks_read", "block_read_count"),
    _rocksdb("gets", "flow_bytes", "keys_read"),
    _rocksdb("seeks", "locate", "number_db_seek"),
    _rocksdb("nexts", "locate", "number_db_next"),
    _rocksdb("read_bytes", "flow_bytes", "bytes_read", "B"),
    _rocksdb("scanned_bytes", "flow_bytes", "iter_bytes_read", "B"),
    _rocksdb("written_bytes", "flow_bytes", "bytes_written", "B"),
    _rocksdb("flushed_bytes", "flow_bytes", "flush_write_bytes", "B"),
    _rocksdb("compaction_read_bytes", "compaction_flow_bytes", "bytes_read", "B"),
    _rocksdb("compaction_written_bytes", "compaction_flow_bytes", "bytes_written", "B"),
    _rocksdb("block_cache_misses", "cache_efficiency", "block_cache_miss"),
    replace(
        _tikv("stall_time", _of("tikv_engine_stall_micro_seconds", db="kv"), unit="us"),
        background=True,
    ),
    _time("throttle_time", "tikv", "tikv_scheduler_throttle_duration_seconds_sum", background=True),
    _tikv("refused_writes", "tikv_scheduler_too_busy_total"),
    _time("pd_cpu", "pd", "process_cpu_seconds_total"),
    Count("tso_requests", "pd", ("pd_server_handle_tso_duration_seconds_count",), of_load=True),
    _pd("region_heartbeats", "RegionHeartbeat"),
    _pd("store_heartbeats", "StoreHeartbeat"),
)

# What changes the state that later queries meet, and with it what they take. The names were
# compared with the sources by tag, v6.1.0 to v8.5.3. Not here:
# * DDL: `tidb_ddl_*` have no line before the first job, and SQL knows all (`background_jobs`).
# * Splits of regions: they follow from what a transaction inserts, and change hardly anything.
# * `tikv_raftstore_admin_cmd_total`: waits in its thread for another command, however long.
# * RocksDB's compactions: there are always some, and most of them sweep nothing.
CHANGES: tuple[Count, ...] = (
    # A histogram without labels, so it is there from the start. Failed ones have worked as well;
    # `tidb_statistics_auto_analyze_total` has no line before the first one.
    _tidb("auto_analyses", "tidb_statistics_auto_analyze_duration_seconds_count"),
    # PD decided to merge two regions. Before v7.5 only a member that has led has the family.
    Count(
        "region_merges",
        "pd",
        (_of("pd_checker_event_count", name="new-operator", type="merge_checker"),),
        sporadic=True,
    ),
    # Both ways of it: compactions that know the safe point, and TiKV's GC worker. No line before
    # a first version was swept.
    Count("swept_versions", "tikv", ("tikv_storage_mvcc_gc_delete_versions_sum",), sporadic=True),
)


def command(role: str, url: str) -> str:
    """The shell's command line that prints the counters of a server.

    A page has up to 2.3 MB. What is needed of it, some kilobytes, is picked on the host that asks.

    Args:
        url: ``http://10.0.0.1:10080/metrics``.
    """
    limits = ["--connect-timeout", str(CONNECT_LIMIT_S), "--max-time", str(ASK_LIMIT_S)]
    ask = ["curl", "--silent", "--fail", "--compressed", "--noproxy", "*", *limits, url]
    return (
        f"{{ {shlex.join(ask)} && printf '\\n{WHOLE}\\n'; }} "
        f"| LC_ALL=C grep -E {shlex.quote(_pattern(role))} | head -c {MOST_BYTES}"
    )


def read(role: str, answer: str) -> Counters:
    """The counters in what :func:`command` printed; empty where it is not a whole page of the role.

    Samples are added up over the labels that no count asks for. Of a family with a sample that
    cannot be read nothing is known. A server begins to count under a label with the first such
    event: where the family is there without the label, it is zero.
    """
    *lines, last = answer.strip().split("\n")
    found, unreadable = _added_up(role, (line for line in lines if not line.startswith("#")))
    if last != WHOLE or not any(name.startswith(f"{role}_") for name in found):
        return {}
    types = [line.split()[2] for line in lines if re.match(r"# TYPE \S", line)]
    declared = {_declared_as(family) for family in types}
    declared -= {_declared_as(family) for family in unreadable}
    return {**dict.fromkeys(_not_yet(role, declared, found), 0.0), **found}


@cache
def _names(role: str) -> Set[str]:
    """The counters of a role, under all of their names."""
    own = [count for count in (*COUNTS, QUERIES, *CHANGES) if count.role == role]
    return {name for count in own for names in count.counters for name in names.split("|")}


@cache
def _families(role: str) -> Mapping[str, Set[str]]:
    """The families of these counters, with the labels by which counts tell samples apart."""
    found = defaultdict[str, set[str]](set)
    for family, labels in map(labels_of, _names(role)):
        found[family] |= dict(labels).keys()
    return found


def _pattern(role: str) -> str:
    """Which lines of a page are needed: samples, and which families with labels it has."""
    samples = defaultdict[str, list[str]](list)
    for family, labels in map(labels_of, sorted(_names(role))):
        samples[family].append(".*".join(f'{key}="{value}"' for key, value in sorted(labels)))
    wanted = [
        rf"{family}\{{.*({'|'.join(labels)})" if all(labels) else rf"{family}[{{ ]"
        for family, labels in samples.items()
    ]
    declared = "|".join(_declared_as(family) for family, labels in samples.items() if any(labels))
    return f"^({'|'.join(wanted)}|# TYPE ({declared})(_sum|_count)? |{WHOLE})"


def _declared_as(family: str) -> str:
    """A histogram's name, of its ``_sum`` or ``_count``; a counter may be called so itself."""
    return re.sub("_(sum|count)$", "", family)


def _added_up(role: str, lines: Iterable[str]) -> tuple[dict[str, float], set[str]]:
    """The counters, and the families with a sample that cannot be read."""
    families, found, unreadable = _families(role), defaultdict[str, float](float), set()
    for line in lines:
        if (sample := _sample(line)) is None:
            unreadable.add(re.split(r"[{\s]", line, maxsplit=1)[0])
        elif sample.name in families:
            found[_name(sample, families[sample.name])] += sample.value
    readable = (name for name in found if labels_of(name)[0] not in unreadable)
    return {name: found[name] for name in readable}, unreadable


def _sample(line: str) -> Sample | None:
    # Takes 70 ms to import, which every DAG file would wait for.
    from prometheus_client.parser import text_string_to_metric_families

    if len(line) > LONGEST_LINE:
        return None
    try:
        ((sample,),) = (family.samples for family in text_string_to_metric_families(line))
        return sample if math.isfinite(sample.value) and sample.value >= 0 else None
    except (ValueError, LookupError, OverflowError):
        return None


def _name(sample: Sample, asked_for: Set[str]) -> str:
    """The name under which a sample is added up."""
    labels = sample.labels
    if sample.name == THREADS:
        thread = labels.get("name", "")
        labels = {"name": next((pool for pool in POOLS if thread.startswith(pool)), "other")}
    return _of(sample.name, **{key: labels[key] for key in sorted(asked_for & labels.keys())})


def _not_yet(role: str, declared: Set[str], found: Counters) -> Iterator[str]:
    """The counters with labels under which nothing was counted yet."""
    there = [*map(labels_of, found)]
    for name in _names(role):
        family, labels = labels_of(name)
        samples = [own for of, own in there if of == family]
        alike = [own for own in samples if dict(labels).keys() <= dict(own).keys()]
        is_known = alike or (not samples and _declared_as(family) in declared)
        if labels and is_known and not any(labels <= own for own in alike):
            yield name
