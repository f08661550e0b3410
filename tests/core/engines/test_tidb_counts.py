"""What TiDB, TiKV and PD count, from pages as their servers served them, shortened.

In ``tests/golden/prometheus``: pages of TiDB v6.5.0 and v8.5.3, PD v8.5.3 and TiKV v9.0.0-beta.2;
the names in the sources by version; and what counters of one cluster (TiDB and PD v8.5.3, TiKV
v9.0.0-beta.2) grew by in a run and the rest of 12 s after it, with a few queries more.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchlab.engines.counts import (
    Count,
    Counted,
    Counters,
    added_up,
    grown,
    happened,
    labels_of,
)
from benchlab.engines.given import GivenTiDB
from benchlab.engines.tidb import Engine, counts
from benchlab.engines.tidb.cluster import Cluster
from benchlab.engines.tidb.counts import CHANGES, COUNTS, QUERIES, WHOLE, command, read
from tests.core.engines import test_tidb, test_tidb_cluster

GOLDEN = Path(__file__).parents[2] / "golden" / "prometheus"


def golden(name: str) -> str:
    """A recorded file."""
    return lzma.decompress((GOLDEN / f"{name}.xz").read_bytes()).decode()


PAGES = {
    "tidb v6.5.0": golden("tidb_v6.5.0_unistore.txt"),
    "tidb v8.5.3": golden("tidb_v8.5.3_cluster.txt"),
    "pd v8.5.3": golden("pd_v8.5.3_cluster.txt"),
    "tikv v9.0.0-beta.2": golden("tikv_v9.0.0-beta.2.txt"),
}
TIDB, TIKV = PAGES["tidb v8.5.3"], PAGES["tikv v9.0.0-beta.2"]
ALL = (*COUNTS, QUERIES, *CHANGES)


def answer(page: str) -> str:
    """A page as the command hands it on, were nothing of it left out."""
    return f"{page}\n{WHOLE}\n\n"


def values(role: str, page: str) -> dict[str, float | None]:
    """The counts of one server since its start, in the counters' units."""
    return counts_in(role, read(role, answer(page)))


def counts_in(role: str, counters: Counters) -> dict[str, float | None]:
    """The counts of one server since its start."""
    found = {role: {"one": counters}}
    return {count.name: added_up(count, found) for count in ALL if count.role == role}


def lacking(role: str, page: str) -> set[str]:
    """The counts that a page does not have."""
    return {name for name, value in values(role, page).items() if value is None}


KV = {count.name for count in COUNTS if count.name.startswith("kv_")}


@pytest.mark.parametrize(
    ("of", "absent"),
    [
        # Its own storage answers no requests; `processed_keys` came with v8.5.
        ("tidb v6.5.0", {*KV, "keys_processed"}),
        ("tidb v8.5.3", {"region_errors"}),
        ("pd v8.5.3", set()),
        (
            "tikv v9.0.0-beta.2",
            {"write_conflicts", "throttle_time", "refused_writes", "swept_versions"},
        ),
    ],
)
def test_a_page_has_all_counts_but_those_without_any_event_yet(of: str, absent: set[str]) -> None:
    """They are missing, not zero."""
    assert lacking(of.split()[0], PAGES[of]) == absent


def versions_with(names: str) -> Mapping[str, list[str]]:
    """The versions of a role whose sources have a family, by the family."""
    rows = (line.split("\t") for line in golden(names).splitlines())
    return {name: versions.split() for name, versions in rows}


@pytest.mark.parametrize(
    ("role", "versions", "absent"),
    [
        (
            "tidb",
            ("v6.1.0", "v6.5.0", "v7.5.5", "v8.1.2", "v8.5.3", "master"),
            {
                "affected_rows": {"v6.1.0"},
                "keys_processed": {"v6.1.0", "v6.5.0", "v7.5.5", "v8.1.2"},
            },
        ),
        (
            "tikv",
            ("v6.1.0", "v6.5.0", "v7.5.5", "v8.1.2", "v8.5.3"),
            {name: {"v6.1.0", "v6.5.0", "v7.5.5"} for name in ("applied_keys", "applied_bytes")},
        ),
    ],
)
def test_every_version_has_the_counters_under_one_of_their_names(
    role: str, versions: tuple[str, ...], absent: Mapping[str, set[str]]
) -> None:
    """Those of other sources (client-go, PD's client, raft-engine, Go) are on the pages above."""
    known = versions_with(f"names_{role}.tsv")
    elsewhere = re.compile(r"tidb_tikvclient_|pd_client_|raft_engine_|go_|process_|tikv_thread_")
    found: dict[str, set[str]] = {}
    for count in ALL:
        for counter in count.counters if count.role == role else ():
            families = [labels_of(name)[0] for name in counter.split("|")]
            if not elsewhere.match(families[0]):
                declared = [re.sub("_(sum|count)$", "", family) for family in families]
                having = {version for name in declared for version in known.get(name, ())}
                found.setdefault(count.name, set()).update({*versions} - having)
    assert {name: versions for name, versions in found.items() if versions} == absent


def test_names_are_told_once_and_late_ones_are_late() -> None:
    """RocksDB's counters are never of the queries alone; what TiDB and PD count is never late."""
    assert len({count.name for count in ALL}) == len(ALL)
    assert {count.role for count in ALL if count.late} == {"tikv"}
    prompt = {count.name for count in COUNTS if count.role == "tikv" and not count.late}
    cpu = {"tikv_cpu", *(f"tikv_cpu_{pool}" for pool in counts.POOLS)}
    logged = {"raft_log_bytes", "raft_log_writes", "applied_keys", "applied_bytes"}
    assert prompt == {*cpu, *logged, "throttle_time"}
    of_rocksdb = [count for count in COUNTS if "tikv_engine_" in count.counters[0]]
    assert len(of_rocksdb) == 11
    assert all(count.late and count.background for count in of_rocksdb)


GROWTH = json.loads(golden("growth_v8.5.3.json"))


def pages_of(run: str) -> dict[str, tuple[str, str]]:
    """The pages of each role before and after a run, as far as they were kept."""
    found = {}
    for role, growth in GROWTH[run].items():
        families = {re.sub("_(sum|count)$", "", labels_of(name)[0]) for name in growth}
        types = "".join(f"# TYPE {family} untyped\n" for family in sorted(families))
        before = {name: 1000.0 + 7 * number for number, name in enumerate(growth)}
        after = {name: value + growth[name] for name, value in before.items()}
        found[role] = (_page(types, before), _page(types, after))
    return found


def _page(types: str, samples: Counters) -> str:
    return types + "".join(f"{name} {value}\n" for name, value in samples.items())


def readings(pages: Mapping[str, tuple[str, str]]) -> tuple[Counted, Counted]:
    """What is read of them, one server of each role."""
    before, after = (
        {role: {role: read(role, answer(both[at]))} for role, both in pages.items()}
        for at in (0, 1)
    )
    return Counted(0.0, before), Counted(20.0, after)


def per_query(run: str) -> dict[str, float | None]:
    """The counts of a run, of a query."""
    growth = grown(*readings(pages_of(run)))
    queries = added_up(QUERIES, growth)
    assert queries is not None
    totals = {count: added_up(count, growth) for count in COUNTS}
    return {
        count.name: None if total is None else count.factor * total / queries
        for count, total in totals.items()
    }


def test_what_a_query_takes() -> None:
    """A point select gets one key, an update gets and prewrites one; TiDB and TiKV agree."""
    select, mixed = per_query("point select"), per_query("read write")
    update = per_query("update, 1PC")
    assert select["kv_get"] == pytest.approx(1, abs=0.005)
    assert (update["kv_get"], update["kv_prewrite"]) == pytest.approx((1, 1), abs=0.005)
    # Ten point selects, four scans, three locks of 20 queries.
    assert mixed["kv_get"] == pytest.approx(10 / 20, abs=0.005)
    assert mixed["kv_pessimistic_lock"] == pytest.approx(3 / 20, abs=0.005)
    assert mixed["statements_select"] == pytest.approx(14 / 20, abs=0.005)
    for run in (select, mixed, update):
        assert run["grpc_get"] == pytest.approx(run["kv_get"], rel=0.01)
    assert update["grpc_prewrite"] == pytest.approx(update["kv_prewrite"], rel=0.01)
    assert select["tidb_allocated_bytes"] == pytest.approx(19317.6, abs=0.1)
    assert select["bytes_sent"] == pytest.approx(197.3, abs=0.1)
    assert update["raft_log_bytes"] == pytest.approx(371.3, abs=0.1)
    assert update["applied_bytes"] == pytest.approx(243.5, abs=0.1)
    assert (update["affected_rows"], update["statements_update"]) == (1.0, 1.0)


def test_a_request_that_does_not_happen_is_zero_and_found_when_it_does() -> None:
    """With 1PC there is no commit, and its label is on no page."""
    one_phase = per_query("update, 1PC")
    two_phase = per_query("update, without async commit and 1PC")
    assert (one_phase["kv_commit"], two_phase["kv_commit"]) == (0.0, 1.0)
    assert two_phase["timestamps"] == pytest.approx(2.13, abs=0.01)
    assert one_phase["timestamps"] == pytest.approx(1.1, abs=0.01)
    assert two_phase["kv_prewrite"] == pytest.approx(one_phase["kv_prewrite"], rel=0.001)


def test_the_queries_of_clients_are_counted_whatever_their_protocol() -> None:
    """As many as sysbench sent; not what TiDB executes for itself, nor prepares."""
    grown_by = grown(*readings(pages_of("read write")))
    sent_in_the_rest = 400
    assert added_up(QUERIES, grown_by) == 6400 + sent_in_the_rest
    assert values("tidb", TIDB)["queries"] == 100973 + 26


def test_a_server_that_was_started_again_says_nothing_of_the_run() -> None:
    """Its counters fell; those of the others are known."""
    pages = pages_of("read write")
    pages["tidb"] = (pages["tidb"][1], pages["tidb"][0])
    growth = grown(*readings(pages))
    assert [added_up(count, growth) for count in (QUERIES, *of("kv_get", "timestamps"))] == [
        None
    ] * 3
    (of_tikv,) = of("raft_log_bytes")
    assert added_up(of_tikv, growth) == 1294350


def of(*names: str) -> list[Count]:
    """Counts by their names."""
    return [next(count for count in COUNTS if count.name == name) for name in names]


def test_a_store_that_does_not_answer_makes_the_sum_unknown() -> None:
    """Not smaller."""
    page = read("tikv", answer(TIKV))
    (count,) = of("raft_log_bytes")
    assert added_up(count, {"tikv": {"one": page, "two": page}}) == 2 * 1844369
    assert added_up(count, {"tikv": {"one": page, "two": read("tikv", "")}}) is None


def test_zero_counters_that_tikv_leaves_out_are_zero_where_their_family_is_there() -> None:
    """With ``server.simplify-metrics``; a family of which nothing is left is missing."""
    lines = [line for line in TIKV.splitlines() if not line.endswith(" 0")]
    kept = {re.sub("_(sum|count)$", "", re.split("[{ ]", line)[0]) for line in lines}
    there = [line for line in lines if not line.startswith("#") or line.split()[2] in kept]
    whole, simple = values("tikv", TIKV), values("tikv", "\n".join(there))
    assert whole["tikv_cpu_rocksdb"] == simple["tikv_cpu_rocksdb"] == 0
    assert whole["grpc_pessimistic_lock"] == simple["grpc_pessimistic_lock"] == 0
    gone = {name for name, value in whole.items() if value != simple[name]}
    assert gone == {"raft_proposals", "stall_time"}
    assert simple["raft_proposals"] is simple["stall_time"] is None


def test_a_member_of_pd_that_does_not_lead_counts_no_heartbeats() -> None:
    """Zero, so that the sum over all members is known."""
    page = PAGES["pd v8.5.3"]
    follower = "\n".join(line for line in page.splitlines() if "Heartbeat" not in line)
    found = {"pd": {"pd-1": read("pd", answer(page)), "pd-2": read("pd", answer(follower))}}
    by_name = {count.name: added_up(count, found) for count in COUNTS if count.role == "pd"}
    assert (by_name["region_heartbeats"], by_name["store_heartbeats"]) == (5, 132)


# ---------------------------------------------------------------- what changes the state

ANALYSES = "tidb_statistics_auto_analyze_duration_seconds_count"
MERGES = 'pd_checker_event_count{name="new-operator",type="merge_checker"}'
SWEPT = "tikv_storage_mvcc_gc_delete_versions"
PD = PAGES["pd v8.5.3"]
# Of v6.5 and older: each event has a line from the first time on; a follower has no such family.
OLD_LEADER = "\n".join(line for line in PD.splitlines() if not line.startswith(MERGES))
FOLLOWER = "\n".join(line for line in PD.splitlines() if "pd_checker" not in line)


def changes(role: str, before: Sequence[str], after: Sequence[str]) -> dict[str, float | None]:
    """What happened between two pages of each server of a role."""
    first, last = (
        Counted(at, {role: {str(n): read(role, answer(page)) for n, page in enumerate(pages)}})
        for at, pages in ((0.0, before), (9.0, after))
    )
    own = [change for change in CHANGES if change.role == role]
    return happened(own, first, last)


@pytest.mark.parametrize("page", [PAGES["tidb v6.5.0"], TIDB])
def test_an_analyze_that_tidb_ran_by_itself_is_counted(page: str) -> None:
    """On whichever server; the counter is there before the first one."""
    two = page.replace(f"{ANALYSES} 0", f"{ANALYSES} 2")
    assert changes("tidb", [page, page], [page, page]) == {"auto_analyses": 0}
    assert changes("tidb", [page, page], [page, two]) == {"auto_analyses": 2}
    lacking = page.replace("auto_analyze", "other")
    assert changes("tidb", [lacking], [lacking]) == {"auto_analyses": None}


@pytest.mark.parametrize("leader", [PD, OLD_LEADER])
@pytest.mark.parametrize("follower", [PD, FOLLOWER])
def test_a_merge_of_regions_is_counted_whoever_leads(leader: str, follower: str) -> None:
    """A member that never led is at zero where the leader shows that there is such a counter."""
    types, samples = leader.split("\npd_checker_event_count{", 1)
    later = f"{types}\n{MERGES} 3\npd_checker_event_count{{{samples}"
    later = later.replace(f"{MERGES} 0\n", "")
    assert changes("pd", [leader, follower], [leader, follower]) == {"region_merges": 0}
    assert changes("pd", [leader, follower], [later, follower]) == {"region_merges": 3}
    # Who does not answer may be the one that leads.
    assert changes("pd", [leader, follower], [later, ""]) == {"region_merges": None}
    assert changes("pd", [FOLLOWER], [FOLLOWER]) == {"region_merges": None}


@pytest.mark.parametrize("labels", ["", '{key_mode="txn"}'])
def test_versions_are_swept_from_the_first_line_on(labels: str) -> None:
    """Before it TiKV has none; v6.1 has no label. Compactions that sweep nothing do not count."""
    swept = f"{TIKV}\n# TYPE {SWEPT} histogram\n{SWEPT}_sum{labels} %d\n{SWEPT}_count{labels} 4\n"
    compacted = re.sub(r"(tikv_engine_compaction_flow_bytes\S+) \d+", r"\1 999999999", TIKV)
    assert changes("tikv", [TIKV], [TIKV]) == {"swept_versions": None}
    assert changes("tikv", [TIKV, TIKV], [swept % 5000, compacted]) == {"swept_versions": 5000}
    assert changes("tikv", [swept % 10, TIKV], [swept % 40, TIKV]) == {"swept_versions": 30}
    assert changes("tikv", [swept % 10], [swept % 10]) == {"swept_versions": 0}


def test_threads_are_added_up_by_pool() -> None:
    """Whatever the version calls them; all together they are the server's CPU time."""
    found = read("tikv", answer(TIKV))
    cpu = {
        dict(labels_of(name)[1])["name"]: found[name] for name in found if counts.THREADS in name
    }
    assert {*cpu} == {*counts.POOLS, "other"}
    assert cpu["grpc"] == pytest.approx(0.92)
    assert sum(cpu.values()) == pytest.approx(3.84) == values("tikv", TIKV)["tikv_cpu"]
    older = re.sub("unified_read_pool", "unified_read_po", TIKV)
    assert values("tikv", older) == values("tikv", TIKV)


def test_what_tidb_does_for_itself_is_left_out_where_it_tells() -> None:
    """Versions without the scope of a request have all of them; nothing becomes zero."""
    unscoped = re.sub(r'scope="\w+",?', "", TIDB)
    assert values("tidb", TIDB)["kv_commit"] == 188
    assert values("tidb", unscoped)["kv_commit"] == 188 + 706
    own = "\n".join(line for line in TIDB.splitlines() if 'scope="false"' not in line)
    assert values("tidb", own)["kv_commit"] == values("tidb", own)["kv_requests"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        WHOLE,
        f"<html><body>404</body></html>\n{WHOLE}",
        f"curl: (7) Failed to connect\n{WHOLE}",
        answer(PAGES["pd v8.5.3"]),
        answer(TIKV),
        answer("process_cpu_seconds_total 4\ngo_memstats_mallocs_total 5\n"),
        # Half a page, to the end of a line and within one.
        TIDB,
        answer(TIDB)[:-2000],
    ],
)
def test_what_is_no_whole_page_of_tidb_is_empty(text: str) -> None:
    """Not zero: sums over half a page would be too small."""
    assert read("tidb", text) == {}


STATEMENTS = "tidb_executor_statement_total"


@pytest.mark.parametrize(
    "sample",
    [
        *(
            f'{STATEMENTS}{{type="Select"}} {value}'
            for value in ("NaN", "-1", "+Inf", "", "1_0", "x")
        ),
        f'{STATEMENTS}{{type="Select" 3',
        f"{STATEMENTS}{{type=Select}} 3",
        f"{STATEMENTS} {'9' * 500}",
        f'{STATEMENTS}{{type="{"x" * 9_000_000}"}} 3',
        STATEMENTS,
    ],
)
def test_of_a_family_with_a_sample_that_cannot_be_read_nothing_is_known(sample: str) -> None:
    """Neither its sum nor that a label is zero; all others are."""
    names = {
        "statements",
        *(count.name for count in COUNTS if count.name.startswith("statements_")),
    }
    assert len(names) == 9
    assert lacking("tidb", f"{TIDB}{sample}\n") == {"region_errors", *names}


def test_no_page_is_too_broken_to_be_read() -> None:
    """Bytes that are gone, doubled or others: never an error, never a negative or endless value."""
    draw, page = random.Random(7), answer(TIDB)[:6000] + f"\n{WHOLE}"
    for _ in range(300):
        broken = list(page)
        for _ in range(draw.randrange(1, 40)):
            at = draw.randrange(len(broken))
            broken[at] = draw.choice(
                ["", broken[at] * 2, "\n", '"', "{", "\\", "\0", "#", " ", "é"]
            )
        found = read("tidb", "".join(broken))
        assert all(0 <= value < 1e300 for value in found.values())


Served = Callable[[bytes, str, str], str]


@pytest.fixture
def served() -> Iterator[Served]:
    """What the command of a role prints of a server that answers with these bytes."""
    said: list[bytes] = []

    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The page; of `/cut` not all of it."""
            self.send_response(404 if self.path == "/gone" else 200)
            short = self.path == "/cut"
            self.send_header("Content-Length", str(len(said[0]) + 500 * short))
            if said[0].startswith(b"\x1f\x8b"):
                assert "gzip" in self.headers["Accept-Encoding"]
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(said[0])

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def printed(page: bytes, path: str, role: str) -> str:
        said[:] = [page]
        url = f"http://127.0.0.1:{server.server_port}{path}"
        done = subprocess.run(
            ["sh", "-c", command(role, url)],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        return done.stdout

    yield printed
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("of_page", [*PAGES])
def test_the_lines_that_are_picked_say_as_much_as_the_page(served: Served, of_page: str) -> None:
    """And are a few kilobytes, compressed on the wire or not."""
    role, page = of_page.split()[0], PAGES[of_page]
    printed = served(page.encode(), "/metrics?a=1&b='2'", role)
    assert len(printed) < 20_000
    assert printed == served(gzip.compress(page.encode()), "/metrics", role)
    assert counts_in(role, read(role, f"{printed}\n")) == values(role, page)


@pytest.mark.parametrize("path", ["/gone", "/cut"])
def test_an_answer_that_is_an_error_or_ends_early_is_empty(served: Served, path: str) -> None:
    """Curl says so, and then the last line is missing."""
    assert read("tidb", served(TIDB.encode(), path, "tidb")) == {}


def test_a_page_without_end_is_cut() -> None:
    """So that no server fills the host's disk, or this machine's memory."""
    assert f"| head -c {counts.MOST_BYTES}" in command("tidb", "http://10.0.0.1:10080/metrics")


def test_every_server_of_a_fleet_is_a_source() -> None:
    """On its status port, though one host may have several; the URL is quoted."""
    side = test_tidb_cluster.cluster(test_tidb_cluster.Log())
    sources = side.counter_sources()
    assert [(source.server, source.role) for source in sources] == [
        ("pd kv-1", "pd"),
        ("tikv kv-1", "tikv"),
        ("tidb kv-1", "tidb"),
    ]
    for source, port in zip(sources, (2379, 20180, 10080), strict=True):
        assert f" http://10.0.0.1:{port}/metrics " in source.command
    assert "'http://10.0.0.1:1/a b'" in command("tidb", "http://10.0.0.1:1/a b")


def test_one_server_counts_what_tidb_counts() -> None:
    """There is no TiKV or PD that could be asked."""
    server = test_tidb.asked("v8.5.3")
    server.instance = replace(server.instance, host="127.0.0.2", status_port=10099)
    (source,) = server.counter_sources()
    assert (source.server, source.role) == ("server", "tidb")
    assert "http://127.0.0.2:10099/metrics" in source.command
    assert {count.role for count in Engine.counts} == {"tidb"}
    found = server.read_counters("tidb", answer(PAGES["tidb v6.5.0"]))
    assert found == read("tidb", answer(PAGES["tidb v6.5.0"]))


def test_servers_that_are_only_given_are_not_asked() -> None:
    """Their hosts are out of reach."""
    assert (Cluster.counts, Cluster.queries, Cluster.idle_s) == (COUNTS, QUERIES, 60.0)
    assert (GivenTiDB.counts, GivenTiDB.queries, GivenTiDB.idle_s) == ((), None, 0.0)
