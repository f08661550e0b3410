"""A parameter that a version does not know is named before a host is rented."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchlab.campaign import fit, report_types
from benchlab.engines import tidb
from benchlab.engines.tidb import rules
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan.fields.engines import Parameters

# As the reports of v5.2.0 and v5.4.0 were published.
TIDB: Parameters = {
    "log.level": "error",
    "performance.max-procs": 20,
    "prepared-plan-cache.enabled": True,
    "tikv-client.max-batch-wait-time": 2_000_000,
    "tidb_hashagg_final_concurrency": 1,
    "tidb_hashagg_partial_concurrency": 1,
    "tidb_enable_async_commit": 1,
    "tidb_enable_1pc": 1,
    "tidb_guarantee_linearizability": 0,
    "tidb_enable_clustered_index": 1,
}
SYSBENCH_TIKV: Parameters = {
    "storage.scheduler-worker-pool-size": 5,
    "raftstore.store-pool-size": 3,
    "raftstore.apply-pool-size": 3,
    "rocksdb.max-background-jobs": 8,
    "raftdb.max-background-jobs": 4,
    "raftdb.allow-concurrent-memtable-write": True,
    "server.grpc-concurrency": 6,
    "readpool.unified.min-thread-count": 5,
    "readpool.unified.max-thread-count": 20,
    "readpool.storage.normal-concurrency": 10,
    "pessimistic-txn.pipelined": True,
    "server.enable-request-batch": False,
}
TPCC_TIKV: Parameters = {
    "pessimistic-txn.pipelined": True,
    "raftdb.allow-concurrent-memtable-write": True,
    "raftdb.max-background-jobs": 4,
    "raftstore.apply-max-batch-size": 2048,
    "raftstore.apply-pool-size": 3,
    "raftstore.store-max-batch-size": 2048,
    "raftstore.store-pool-size": 3,
    "readpool.storage.normal-concurrency": 10,
    "readpool.unified.max-thread-count": 20,
    "readpool.unified.min-thread-count": 5,
    "rocksdb.max-background-jobs": 8,
    "server.grpc-concurrency": 6,
    "storage.scheduler-worker-pool-size": 20,
}
V21_TIKV: Parameters = {
    "readpool.storage.normal-concurrency": 8,
    "server.grpc-concurrency": 8,
    "raftstore.sync-log": False,
    "rocksdb.defaultcf.block-cache-size": "60GB",
    "rocksdb.writecf.block-cache-size": "20GB",
}


@pytest.mark.parametrize(
    ("version", "parameters", "tikv"),
    [
        ("v5.1.1", TIDB, SYSBENCH_TIKV),
        ("v5.2.0", TIDB, SYSBENCH_TIKV),
        ("v5.1.1", TIDB, TPCC_TIKV),
        ("v5.2.0", TIDB, TPCC_TIKV),
        ("v5.3.0", TIDB, TPCC_TIKV),
        ("v5.4.0", TIDB, TPCC_TIKV),
        ("v2.0.11", {}, V21_TIKV),
        ("v2.1.0", {}, V21_TIKV),
    ],
)
def test_what_was_published_passes(version: str, parameters: Parameters, tikv: Parameters) -> None:
    """On the machines of the reports, of 16 vCPU."""
    assert tidb.Engine.parameter_faults(version, parameters, {"tikv": tikv}, storage_vcpu=16) == []


@pytest.mark.parametrize("version", ["v6.1.0", "v7.1.0"])
def test_what_was_published_is_refused_by_later_versions(version: str) -> None:
    """Each parameter with its value, the version, the rule and what to do."""
    unified = {"readpool.unified.max-thread-count": 16}  # from v6.0.0 to v6.5.0 no more
    tikv = {"tikv": TPCC_TIKV | unified}
    plan_cache, pool = rules.faults(version, TIDB, tikv, storage_vcpu=16)
    for part in (
        "tidb: prepared-plan-cache.enabled = ON",
        version,
        "gone from v6.1.0 on",
        "tidb_enable_prepared_plan_cache",
    ):
        assert part in plan_cache
    for part in (
        "tikv: storage.scheduler-worker-pool-size = 20",
        version,
        "at most 16",
        "from v6.0.0 on",
        "16 vCPU",
    ):
        assert part in pool


@pytest.mark.parametrize(
    ("version", "component", "key", "value", "refused"),
    [
        ("v4.0.16", "tikv", "raftstore.sync-log", False, None),
        ("v5.0.0", "tikv", "raftstore.sync-log", False, "gone from v5.0.0"),
        ("v6.6.0", "tikv", "raft-engine.prefill-for-recycle", True, "known from v7.0.0"),
        ("v7.0.0", "tikv", "raft-engine.prefill-for-recycle", True, None),
        ("v3.1.2", "tikv", "server.enable-request-batch", False, "known from v4.0.0"),
        ("v4.0.0", "tikv", "server.enable-request-batch", False, None),
        ("v8.5.3", "tikv", "server.enable-request-batch", False, None),
        ("v9.0.0-beta.2", "tikv", "server.enable-request-batch", False, None),
        ("v6.0.0", "tidb", "prepared-plan-cache.enabled", True, None),
        ("v6.1.0", "tidb", "prepared-plan-cache.enabled", True, "gone from v6.1.0"),
        ("v5.4.0", "variable", "tidb_enable_prepared_plan_cache", True, "known from v6.1.0"),
        ("v4.0.0", "variable", "tidb_enable_async_commit", 1, "known from v5.0.0"),
        ("v4.0.0", "variable", "tidb_enable_1pc", 1, "known from v5.0.0"),
        ("v4.0.0", "variable", "tidb_guarantee_linearizability", 0, "known from v5.0.0"),
        ("v5.0.0", "variable", "tidb_enable_clustered_index", "INT_ONLY", None),
        ("v5.0.0", "variable", "tidb_enable_clustered_index", "on", None),
        ("v5.0.0", "variable", "tidb_enable_clustered_index", True, None),
        ("v5.0.0", "variable", "tidb_enable_clustered_index", 2, "takes ON, OFF, INT_ONLY"),
        ("v5.0.0", "variable", "tidb_some_other_variable", 2, None),
    ],
)
def test_a_rule_holds_from_its_version_to_its_version(
    version: str, component: str, key: str, value: str | int | bool, refused: str | None
) -> None:
    """And says nothing of parameters that it does not know."""
    parameters: Parameters = {key: value} if component in ("variable", "tidb") else {}
    components: dict[str, Parameters] = {} if parameters else {component: {key: value}}
    found = rules.faults(version, parameters, components)
    assert [bool(refused and refused in fault) for fault in found] == ([True] if refused else [])


@pytest.mark.parametrize(("version", "column"), [("v6.5.0", 2), ("v8.5.3", 3)])
def test_the_rules_agree_with_what_real_servers_had(version: str, column: int) -> None:
    """Each variable and item of TiDB that has a rule: refused where the server did not have it."""
    lines = (GOLDEN / "tidb_known_parameters.tsv").read_text().splitlines()
    known = [line.split("\t") for line in lines if not line.startswith("#")]
    ruled = {(one.component, one.key) for one in rules.rules() if one.component in KINDS}
    assert ruled == {(component, key) for component, key, *_ in known}
    for component, key, *had in known:
        refused = rules.faults(version, {key: 1}, {})
        assert bool(refused) == (had[column - 2] == "no"), (component, key, refused)


KINDS = ("variable", "tidb")
GOLDEN = Path(__file__).parents[2] / "golden" / "tiup"


@pytest.mark.parametrize(
    ("vcpu", "size", "refused"), [(16, 16, False), (16, 17, True), (2, 4, False), (None, 99, False)]
)
def test_the_size_of_a_pool_is_measured_by_the_host(
    vcpu: int | None, size: int, refused: bool
) -> None:
    """Four threads are always allowed; where the host is not known nothing can be said."""
    pool: dict[str, Parameters] = {"tikv": {"storage.scheduler-worker-pool-size": size}}
    assert bool(rules.faults("v6.5.0", {}, pool, storage_vcpu=vcpu)) == refused
    assert not rules.faults("v5.4.0", {}, pool, storage_vcpu=vcpu)


@pytest.mark.parametrize(
    ("version", "refused"),
    [("v5.4.0", False), ("v6.0.0", True), ("v6.5.0", True), ("v6.5.1", False)],
)
def test_the_limit_of_the_read_pool_came_and_went(version: str, refused: bool) -> None:
    """TiKV took more threads than cores before v6.0.0, and takes them again from v6.5.1 on."""
    pool: dict[str, Parameters] = {"tikv": {"readpool.unified.max-thread-count": 20}}
    assert bool(rules.faults(version, {}, pool, storage_vcpu=16)) == refused


RENTED = ("sysbench_ec2", "sysbench_ec2_first", "sysbench_ec2_weekly", "tpcc_ec2")


@pytest.mark.parametrize("report", RENTED)
def test_a_shipped_report_type_suits_every_version_on_its_hosts(report: str) -> None:
    """Every version of the calendar that TiUP can deploy, on the hosts of the topology."""
    here = find()
    spec = report_types.load(here.configs / "reports" / f"{report}.yaml")
    for release in report_types.releases_of(here, spec):
        version = release.version.text
        if rules.not_deployable(version) is None and not release.version.is_prerelease:
            sides = {"sides": "same", "engines.tidb.baseline.version": version}
            fit.check(spec.with_overrides({**sides, "design": "fixed"}), version)


# By pkg/config/config.go of each tag.
VERSIONS_OF_TMP: dict[str, set[str]] = {
    "v3.1.2": set(),
    "v4.0.0": {"tmp-storage-path"},
    "v5.2.4": {"tmp-storage-path"},
    "v5.3.0": {"tmp-storage-path", "socket"},
    "v6.2.0": {"tmp-storage-path", "socket"},
    "v6.3.0": {"tmp-storage-path", "socket", "temp-dir"},
    "v9.0.0-beta.2.pre-nightly": {"tmp-storage-path", "socket", "temp-dir"},
}


def test_a_pool_too_large_for_the_hosts_of_the_topology_is_refused() -> None:
    """Found where the report type is read: TiKV would end an hour later, on a rented fleet."""
    spec = report_types.load(find().configs / "reports" / "tpcc_ec2.yaml")
    pool = {"engines.tidb.components": {"tikv": {"storage.scheduler-worker-pool-size": 20}}}
    with pytest.raises(SpecError, match=r"worker-pool-size = 20 with v6\.1\.0.*at most 16"):
        fit.check(spec.with_overrides(pool), "here")


def test_a_pool_has_to_fit_the_smallest_hosts_that_may_be_rented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without capacity for the preferred type, smaller hosts are rented."""
    shutil.copytree(find().configs, tmp_path / "configs")
    file = tmp_path / "configs/topologies/ec2_published.yaml"
    text = file.read_text().replace("i3.4xlarge,", "i3.4xlarge, or_types: [i3.2xlarge],")
    file.write_text(text)
    spec = report_types.load(find().configs / "reports" / "tpcc_ec2.yaml")
    pool = {"engines.tidb.components": {"tikv": {"storage.scheduler-worker-pool-size": 12}}}
    fit.check(spec.with_overrides(pool), "here")
    monkeypatch.setenv("BENCHLAB_PROJECT", str(tmp_path))
    with pytest.raises(SpecError, match=r"worker-pool-size = 12 with .*at most 8"):
        fit.check(spec.with_overrides(pool), "here")


def test_an_item_of_tidb_is_found_wherever_it_is_written() -> None:
    """Among the parameters or under its component."""
    item: Parameters = {"prepared-plan-cache.enabled": True}
    assert rules.faults("v6.1.0", item, {}) == rules.faults("v6.1.0", {}, {"tidb": item})


def test_a_component_that_does_not_exist_is_named() -> None:
    """With those that do."""
    (fault,) = rules.faults("v6.1.0", {}, {"tiflash": {"a.b": 1}})
    assert fault == "tiflash: there is no such component; known: pd, tikv, tidb"


def test_versions_before_tiup_cannot_be_deployed() -> None:
    """The reason and the two ways out are said."""
    for version in ("v2.0.11", "v2.1.0-rc.2", "v2.1.19"):
        why = rules.not_deployable(version)
        assert why is not None
        for part in (version, "v3.0.0", "already runs it", "import"):
            assert part in why
    assert rules.not_deployable("v3.0.0") is None
    assert rules.not_deployable("v5.2.0") is None


def test_every_rule_says_what_to_do() -> None:
    """And no parameter has two rules of one kind."""
    table = rules.rules()
    assert all(len(rule.sentence) > 20 for rule in table)
    keys = [(rule.component, rule.key, bool(rule.vcpu)) for rule in table]
    assert len(set(keys)) == len(keys)


def test_nothing_of_a_server_stays_in_tmp_and_no_version_is_given_what_it_does_not_know() -> None:
    """Giving back removes the directory of a side; an unknown item is refused."""
    known = {version: set(rules.out_of_tmp(version, Path("/d"))) for version in VERSIONS_OF_TMP}
    assert known == VERSIONS_OF_TMP
    assert rules.out_of_tmp("v8.5.3", Path("/d")) == {
        "tmp-storage-path": "/d/tmp-storage",
        "socket": "",
        "temp-dir": "/d/tmp",
    }
