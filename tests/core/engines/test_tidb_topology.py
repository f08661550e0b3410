"""What TiUP is given of a cluster: every server in its place, and no two in one."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from benchlab.engines.tidb.topology import Places, Ports, configuration, render
from benchlab.errors import TargetError
from benchlab.hosts.fleet import Fleet, FleetHost, Role
from benchlab.plan.fields.engines import Parameters

GOLDEN = Path(__file__).parents[2] / "golden" / "tiup"
PUBLISHED: Parameters = {
    "log.level": "error",
    "performance.max-procs": 20,
    "prepared-plan-cache.enabled": True,
    "tikv-client.max-batch-wait-time": 2_000_000,
    "tidb_enable_async_commit": 1,
}
PUBLISHED_TIKV: Parameters = {
    "storage.scheduler-worker-pool-size": 5,
    "raftdb.allow-concurrent-memtable-write": True,
    "readpool.unified.max-thread-count": 20,
}


def host(name: str, *roles: Role, number: int) -> FleetHost:
    """One host of a fleet."""
    address, data = f"10.0.0.{number}", Path("/data/benchlab")
    return FleetHost(name, roles, address, address, "admin", "ssh-ed25519 AAAA", data)


def fleet(*hosts: FleetHost) -> Fleet:
    """The hosts and a client."""
    return Fleet((*hosts, host("client-1", "client", number=99)))


ROLES: tuple[Role, ...] = ("pd", "tikv", "tidb")
PUBLISHED_FLEET = fleet(
    *(
        host(f"{role}-{n}", role, number=10 * place + n)
        for place, role in enumerate(ROLES, start=1)
        for n in (1, 2, 3)
    )
)
# One host with everything, two with TiDB and TiKV: as the document of v2.1 has it.
MIXED_FLEET = fleet(
    host("kv-1", "pd", "tikv", "tidb", number=1),
    host("kv-2", "tikv", "tidb", number=2),
    host("kv-3", "tikv", "tidb", number=3),
)


def rendered(of: Fleet, side: Any = "baseline", **fields: Any) -> str:
    """The topology of one side."""
    made: dict[str, Any] = {
        "user": "admin",
        "subdirectory": PurePosixPath("c1") / side,
        "ports": Ports.of_set(side == "candidate"),
        "configs": configuration(PUBLISHED, {"tikv": PUBLISHED_TIKV}),
    }
    return render(of, **(made | fields))


@pytest.mark.parametrize(
    ("name", "of", "side"),
    [
        ("published", PUBLISHED_FLEET, "baseline"),
        ("mixed_hosts", MIXED_FLEET, "candidate"),
    ],
)
def test_the_topology_is_as_agreed(name: str, of: Fleet, side: str) -> None:
    """TiUP 1.16 reads both files as they are."""
    assert rendered(of, side) == (GOLDEN / f"{name}.yaml").read_text()


@pytest.mark.parametrize("of", [PUBLISHED_FLEET, MIXED_FLEET])
def test_two_sides_share_hosts_and_nothing_else(of: Fleet) -> None:
    """No port and no directory of one side is the other's, nor is one in the other."""
    documents = [yaml.safe_load(rendered(of, side)) for side in ("baseline", "candidate")]
    ports, directories = [], []
    for document in documents:
        servers = [entry for key in document if key.endswith("_servers") for entry in document[key]]
        ports.append(
            {
                (s["host"], value)
                for s in servers
                for key, value in s.items()
                if key.endswith("port")
            }
            - {(s["host"], 22) for s in servers}
        )
        directories.append({document["global"][key] for key in ("deploy_dir", "data_dir")})
    assert not ports[0] & ports[1]
    for one in directories[0]:
        for other in directories[1]:
            assert not Path(one).is_relative_to(other)
            assert not Path(other).is_relative_to(one)


def test_no_port_is_taken_twice_on_a_host_with_every_role() -> None:
    """All eight ports of both port sets are different ones."""
    ports = [port for number in (0, 1) for port in vars(Ports.of_set(number)).values()]
    assert len(set(ports)) == len(ports) == 16
    assert vars(Ports.of_set(0)) == vars(Ports())


def test_parameters_reach_the_component_they_belong_to() -> None:
    """Items with a dot or a hyphen are configuration; variables are for SQL and left out."""
    document = yaml.safe_load(rendered(PUBLISHED_FLEET))
    assert document["server_configs"]["tikv"] == PUBLISHED_TIKV
    tidb = {key: value for key, value in PUBLISHED.items() if key != "tidb_enable_async_commit"}
    assert document["server_configs"]["tidb"] == tidb
    assert "tidb_enable_async_commit" not in rendered(PUBLISHED_FLEET)


def test_without_parameters_there_is_no_configuration() -> None:
    """A server then has its own defaults, all of them."""
    text = rendered(PUBLISHED_FLEET, configs=configuration({}, {}))
    assert "server_configs" not in text


def test_nothing_runs_beside_the_servers() -> None:
    """No exporters, no monitoring, and no load balancer, which TiUP does not know."""
    document = yaml.safe_load(rendered(PUBLISHED_FLEET))
    servers = {key for key in document if key.endswith("_servers")}
    assert servers == {"pd_servers", "tikv_servers", "tidb_servers"}
    assert all(entry["ignore_exporter"] for key in servers for entry in document[key])


def test_a_fleet_without_a_role_is_refused() -> None:
    """The missing role is named."""
    with pytest.raises(TargetError, match="role tidb"):
        rendered(fleet(host("kv-1", "pd", "tikv", number=1)))


def test_data_and_snapshot_are_on_one_file_system() -> None:
    """Both in the side's own directory, so that their files can share blocks."""
    places = Places(MIXED_FLEET.hosts[0].data / "c1/baseline", Ports())
    assert places.data.parent == places.snapshot.parent == Path("/data/benchlab/c1/baseline")
