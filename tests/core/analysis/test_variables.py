"""The configuration gate: what nobody asked for is found, between two like servers nothing."""

from __future__ import annotations

import pytest

from benchlab.analysis.gates import columns, variables
from benchlab.plan import quantities
from benchlab.plan.fields.engines import Parameters, SideSpec
from benchlab.plan.report_type import Side
from benchlab.results.records import SideFacts
from tests.builders import campaigns

SAME = ("v6.5.0", "v6.5.0")
OTHER = ("v6.1.0", "v6.5.0")


def undeclared(
    versions: tuple[str, str],
    baseline: dict[str, str],
    candidate: dict[str, str],
    *asked: Parameters,
) -> float | None:
    """The column, for sides of these versions with these variables.

    Args:
        asked: of both sides; or of the baseline, then of the candidate.
    """
    parameters = (*asked, *asked, {}, {})[:2]
    names: tuple[Side, Side] = ("baseline", "candidate")
    sides = {
        side: SideSpec(version=version, parameters=own)
        for side, version, own in zip(names, versions, parameters, strict=True)
    }
    facts: dict[Side, SideFacts] = {
        side: campaigns.side_facts(versions[n], variables=(baseline, candidate)[n])
        for n, side in enumerate(names)
    }
    return variables.undeclared(facts, sides)


def test_two_servers_of_one_version_may_differ_in_identity_only() -> None:
    """Ports, places and ids: a false alarm here would let no A/A campaign end."""
    here = {"port": "1", "datadir": "/a", "server_uid": "x", "max_connections": "100"}
    there = {"port": "2", "datadir": "/b", "server_uid": "y", "max_connections": "100"}
    assert undeclared(SAME, here, there) == 0
    assert undeclared(SAME, here, {**there, "max_connections": "101"}) == 1


def test_servers_that_exist_may_differ_in_anything() -> None:
    """Two of one version are compared for what their owners set; that is shown, and no fault."""
    facts: dict[Side, SideFacts] = {
        "baseline": campaigns.side_facts("8.0.36", variables={"sync_binlog": "1"}),
        "candidate": campaigns.side_facts("8.0.36", variables={"sync_binlog": "0"}),
    }
    given = {"baseline": "one", "candidate": "other"}
    assert (
        columns.configuration_columns(
            campaigns.campaign(facts=facts, target="existing", connections=given)
        )
        == {}
    )
    deployed = campaigns.campaign(facts=facts, sides="same")
    assert columns.configuration_columns(deployed) == {"undeclared_differences": 1.0}


def test_what_is_asked_to_differ_is_no_fault() -> None:
    """A campaign may compare two settings of one version; only other differences count."""
    asked: tuple[Parameters, Parameters] = ({"io-capacity": 100}, {"io-capacity": 200})
    here, there = {"io_capacity": "100", "x": "1"}, {"io_capacity": "200", "x": "1"}
    assert undeclared(SAME, here, there, *asked) == 0
    assert undeclared(SAME, here, {**there, "x": "2"}, *asked) == 1


def test_a_changed_default_between_two_versions_is_no_fault() -> None:
    """The report shows it. What was asked to be alike and is not counts there as well."""
    assert undeclared(OTHER, {"tls": "OFF"}, {"tls": "ON"}) == 0
    assert undeclared(OTHER, {"size": "1"}, {"size": "2"}, {"size": 1}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ON", "1"),
        ("off", "OFF"),
        ("true", "ON"),
        ("60s", "1m0s"),
        ("1GiB", "1024MB"),
        ("2", "2.0"),
    ],
)
def test_two_versions_may_write_one_value_in_two_ways(one: str, other: str) -> None:
    """What means the same is alike."""
    assert undeclared(OTHER, {"size": one}, {"size": other}, {"size": "asked"}) == 0


def test_without_both_sides_variables_nothing_is_known() -> None:
    """Sequential campaigns measure the first side before the second is there."""
    assert undeclared(SAME, {}, {"port": "1"}) is None
    sides: dict[Side, SideSpec] = {"baseline": SideSpec(version="v6.5.0")}
    facts: dict[Side, SideFacts] = {"baseline": campaigns.side_facts("v6.5.0")}
    assert variables.undeclared(facts, sides) is None
    assert variables.undeclared({}, {}) is None


def test_a_duration_is_no_size() -> None:
    """A minute is not a megabyte."""
    assert not quantities.same("1m", "1M")
    assert quantities.same("90s", "1m30s")
    assert not quantities.same("text", "text")


def differences(baseline: dict[str, str], candidate: dict[str, str]) -> variables.Differences:
    """Of two sides with these effective variables; one difference is declared."""
    shared = {"sort_buffer_size": 1}
    sides: dict[Side, SideSpec] = {
        "baseline": SideSpec(version="10.2.11", parameters={**shared, "innodb-io-capacity": 100}),
        "candidate": SideSpec(version="10.11.5", parameters={**shared, "innodb-io-capacity": 200}),
    }
    facts: dict[Side, SideFacts] = {
        "baseline": campaigns.side_facts("10.2.11", variables=baseline),
        "candidate": campaigns.side_facts("10.11.5", variables=candidate),
    }
    return variables.differences(facts, sides)


def test_a_changed_default_is_listed_and_a_declared_difference_is_not() -> None:
    """Only what nobody asked for is listed; what was asked alike and differs is marked."""
    base = {"innodb_io_capacity": "100", "tls": "OFF", "sort_buffer_size": "1", "same": "1"}
    other = {"innodb_io_capacity": "200", "tls": "ON", "sort_buffer_size": "2", "same": "1"}
    found = differences({**base, "old": ""}, {**other, "new_a": "", "new_b": ""})
    assert [(d.name, d.asked) for d in found.changed] == [
        ("sort_buffer_size", True),
        ("tls", False),
    ]
    assert found.only == {"baseline": ("old",), "candidate": ("new_a", "new_b")}


def test_what_differs_between_any_two_servers_is_left_out_and_counted() -> None:
    """Versions, ports, paths, identities and clocks are no findings."""
    base = {
        "version": "10.2.11-MariaDB",
        "version_comment": "a",
        "innodb_version": "5.7",
        "port": "1",
        "socket": "/a/s",
        "datadir": "/a/",
        "plugin_dir": "/a/p",
        "server_uid": "x",
        "hostname": "a",
        "timestamp": "1.5",
        "gtid_binlog_pos": "0-1-2",
        "lc_messages_dir": "/a/share",
        "some_file": "/a/b",
    }
    other = {name: value.replace("a", "b") + "9" for name, value in base.items()}
    other |= {"some_file": "/c/d", "socket": "/b/s"}
    found = differences(base, other)
    assert found.changed == ()
    assert found.trivial == len(base)
    kept = {"protocol_version": "10", "tls_version": "1.1", "table_cache": "2000"}
    changed = differences(kept, {name: f"{value}0" for name, value in kept.items()}).changed
    assert [d.name for d in changed] == sorted(kept)


def test_two_tidbs_of_v8_5_on_other_ports_differ_in_nothing() -> None:
    """What v8.5.3 reports of its place, and what changes by itself, is nobody's doing."""
    config = (
        '{"advertise-address": "127.0.0.%d", "host": "127.0.0.%d", "port": 2400%d, '
        '"path": "/d/%d", "log": {"slow-query-file": "/d/%d/slow.log"}, "temp-dir": "/d/%d/tmp", '
        '"status": {"status-host": "127.0.0.%d", "status-port": 2408%d}, '
        '"tmp-storage-path": "/d/%d/tmp/0_tidb/MTI3/tmp-storage"}'
    )
    both = [
        {
            "version_comment": f"TiDB Server (Apache License 2.0) Community Edition {number}",
            "hostname": f"tidb-{number}",
            "port": f"2400{number}",
            "pid_file": f"/d/{number}/pid",
            "datadir": f"/d/{number}",
            "tidb_config": config % ((number,) * config.count("%d")),
            "last_insert_id": str(number),
            "tidb_current_ts": str(number),
            "tidb_last_ddl_info": f'{{"query": "{number}", "seq_num": {number}}}',
            "tidb_last_query_info": f'{{"start_ts": {number}}}',
            "tidb_last_txn_info": f'{{"commit_ts": {number}}}',
            "tidb_server_memory_limit": "80%",
        }
        for number in (1, 2)
    ]
    assert differences(*both).changed == ()


def test_a_configuration_within_a_variable_is_taken_apart() -> None:
    """`tidb_config` holds a whole configuration: its keys are compared one by one."""
    before = '{\\n\\t"port": 1,\\n\\t"security": {\\n\\t\\t"auto-tls": false}}'
    after = '{"port": 2, "security": {"auto-tls": true}}'
    found = differences({"tidb_config": before}, {"tidb_config": after})
    assert [(d.name, d.baseline, d.candidate) for d in found.changed] == [
        ("tidb_config.security.auto-tls", "false", "true")
    ]
