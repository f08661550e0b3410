"""The topology file of one side for ``tiup cluster deploy``: hosts, ports, directories, settings.

Both sides may be on the same hosts, one of them running at a time; each has its own directories,
and one of two port sets, which the plan draws. HAProxy is not a component of TiUP, and monitoring
would only disturb: the file has neither, except for two ports of monitoring.

Format: TiUP's "Topology Configuration File for TiDB Deployment".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

import yaml

from benchlab.errors import SpecError, TargetError
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.plan.documents import from_yaml
from benchlab.plan.fields.engines import Parameters

Component = Literal["pd", "tikv", "tidb"]
COMPONENTS: tuple[Component, ...] = ("pd", "tikv", "tidb")
# The components that keep data; a TiDB server keeps none.
STORAGE: tuple[Component, ...] = ("pd", "tikv")
PORT_SET_STEP = 100
_SHOWN = "`tiup cluster show-config`"


@dataclass(frozen=True)
class Ports:
    """The ports of one side's servers, the same on every host.

    The defaults are TiDB's own, except for the exporters'.
    """

    pd: int = 2379
    pd_peer: int = 2380
    tikv: int = 20160
    tikv_status: int = 20180
    tidb: int = 4000
    tidb_status: int = 10080
    # Of exporters, which are never started; see `render`.
    node_exporter: int = 19100
    blackbox_exporter: int = 19115

    @classmethod
    def of_set(cls, number: int) -> Self:
        """The default ports for port set 0, each 100 higher for 1: ``of_set(1).tidb`` is 4100."""
        step = PORT_SET_STEP * number
        return cls(**{field.name: getattr(cls, field.name) + step for field in fields(cls)})

    def main(self, component: Component) -> int:
        """The port in TiUP's name for a server of this component."""
        return {"pd": self.pd, "tikv": self.tikv, "tidb": self.tidb}[component]

    def status(self, component: Component) -> int:
        """The port on which a server of this component answers HTTP."""
        return {"pd": self.pd, "tikv": self.tikv_status, "tidb": self.tidb_status}[component]


@dataclass(frozen=True)
class Places:
    """Where one side is on a host.

    Attributes:
        root: the directory of everything of this side.
    """

    root: Path
    ports: Ports

    @property
    def deploy(self) -> Path:
        """Binaries, configuration and logs, one directory per server."""
        return self.root / "deploy"

    @property
    def data(self) -> Path:
        """Data of PD and TiKV, one directory per server: ``pd-2379``, ``tikv-20160``."""
        return self.root / "data"

    @property
    def snapshot(self) -> Path:
        """The copy of :attr:`data`, on the same file system so that blocks can be shared."""
        return self.root / "snapshot"

    @property
    def snapshot_id(self) -> Path:
        """The file with the name of the snapshot's backup; without it there is no snapshot."""
        return self.root / "snapshot.id"

    def deploy_of(self, component: Component) -> Path:
        """Binary, configuration and log of a server."""
        return self.deploy / f"{component}-{self.ports.main(component)}"

    def data_of(self, component: Component) -> Path:
        """The data of a server; a TiDB server has none."""
        return self.data / f"{component}-{self.ports.main(component)}"

    def log(self, component: Component) -> Path:
        """The log file of a server."""
        return self.deploy_of(component) / "log" / f"{component}.log"

    def units(self) -> list[str]:
        """The systemd units that TiUP makes for this side."""
        return [self.unit(name) for name in COMPONENTS]

    def unit(self, component: Component) -> str:
        """The systemd unit of a server."""
        return f"{component}-{self.ports.main(component)}.service"


def configuration(
    parameters: Parameters, components: dict[str, Parameters]
) -> dict[Component, Parameters]:
    """Configuration items by component; those among ``parameters`` are TiDB's.

    Example:
        ``configuration({"token-limit": 99, "tidb_mem_quota_query": 1}, {})["tidb"]`` is
        ``{"token-limit": 99}``.
    """
    items = {name: dict(components.get(name, {})) for name in COMPONENTS}
    items["tidb"] |= {key: value for key, value in parameters.items() if is_config(key)}
    return items


def is_config(key: str) -> bool:
    """Whether this names a configuration item: only these have a dot or a hyphen in the name."""
    return "." in key or "-" in key


def with_configs(shown: str, configs: dict[Component, Parameters]) -> str:
    """Replace components' configuration items in the topology that TiUP shows of a cluster.

    Args:
        shown: what ``tiup cluster show-config`` prints.

    Raises:
        SpecError: it is no topology.
    """
    document = from_yaml(shown, _SHOWN) or {}
    before = document.get("server_configs") or {} if isinstance(document, dict) else None
    if not isinstance(before, dict):
        raise SpecError(f"{_SHOWN}: prints no topology, but: {shown[:200]!r}")
    document["server_configs"] = {**before, **configs}
    return yaml.safe_dump(document, sort_keys=False, width=100)


def render(
    fleet: Fleet,
    *,
    user: str,
    subdirectory: PurePosixPath,
    ports: Ports,
    configs: dict[Component, Parameters],
) -> str:
    """The text of one side's topology file.

    Raises:
        TargetError: a role has no host.
    """
    for role in COMPONENTS:
        if not fleet.with_role(role):
            raise TargetError(f"the fleet has no host of the role {role}, a cluster needs one")
    # The same on all hosts, as in the topology of the fleet.
    places = Places(fleet.with_role("tikv")[0].data / subdirectory, ports)
    configured = {name: dict(items) for name, items in configs.items() if items}
    document = {
        "global": {
            "user": user,
            "deploy_dir": str(places.deploy),
            "data_dir": str(places.data),
        },
        # `destroy` removes the exporters of these ports from every host, even if all are ignored
        # (DestroyMonitored in TiUP's pkg/cluster/operation/destroy.go), and by default 9100 and
        # 9115, which may be the owner's. Then it waits until nothing listens there.
        "monitored": {
            "node_exporter_port": ports.node_exporter,
            "blackbox_exporter_port": ports.blackbox_exporter,
        },
        **({"server_configs": configured} if configured else {}),
        "pd_servers": [
            _server(host) | {"client_port": ports.pd, "peer_port": ports.pd_peer}
            for host in fleet.with_role("pd")
        ],
        "tikv_servers": [
            _server(host) | {"port": ports.tikv, "status_port": ports.tikv_status}
            for host in fleet.with_role("tikv")
        ],
        "tidb_servers": [
            _server(host) | {"port": ports.tidb, "status_port": ports.tidb_status}
            for host in fleet.with_role("tidb")
        ],
    }
    return yaml.safe_dump(document, sort_keys=False, width=100)


def _server(host: FleetHost) -> dict[str, Any]:
    # Exporters would be two more processes on every host.
    return {"host": host.address, "ssh_port": host.ssh_port, "ignore_exporter": True}
