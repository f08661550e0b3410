"""What ``tiup cluster deploy`` is given of one side: hosts, ports, directories, configuration.

Both sides may lie on the same hosts, one of them running at a time: each has ports and
directories of its own. HAProxy is no component of TiUP and monitoring would only disturb, so
neither is in it.

Format: TiUP's "Topology Configuration File for TiDB Deployment".
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

import yaml

from benchlab.errors import TargetError
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.plan.report_type import Parameters, Side

Component = Literal["pd", "tikv", "tidb"]
COMPONENTS: tuple[Component, ...] = ("pd", "tikv", "tidb")
# What keeps data; a TiDB server holds none.
STORAGE: tuple[Component, ...] = ("pd", "tikv")
SIDE_STEP = 100


@dataclass(frozen=True)
class Ports:
    """Where one side's servers listen, the same on every host; the defaults are TiDB's own."""

    pd: int = 2379
    pd_peer: int = 2380
    tikv: int = 20160
    tikv_status: int = 20180
    tidb: int = 4000
    tidb_status: int = 10080

    @classmethod
    def for_side(cls, side: Side) -> Self:
        """TiDB's own ports for the baseline, each 100 higher for the candidate."""
        step = SIDE_STEP if side == "candidate" else 0
        return cls(**{field.name: getattr(cls, field.name) + step for field in fields(cls)})

    def main(self, component: Component) -> int:
        """The port by which TiUP names a server of this component."""
        return {"pd": self.pd, "tikv": self.tikv, "tidb": self.tidb}[component]

    def status(self, component: Component) -> int:
        """The port on which a server of this component answers HTTP."""
        return {"pd": self.pd, "tikv": self.tikv_status, "tidb": self.tidb_status}[component]


@dataclass(frozen=True)
class Places:
    """Where one side lies on a host.

    Attributes:
        root: everything of this side on the host.
    """

    root: Path
    ports: Ports

    @property
    def deploy(self) -> Path:
        """Binaries, configuration and logs, a directory a server."""
        return self.root / "deploy"

    @property
    def data(self) -> Path:
        """Data of PD and TiKV, a directory a server: ``pd-2379``, ``tikv-20160``."""
        return self.root / "data"

    @property
    def snapshot(self) -> Path:
        """The copy of :attr:`data`, on the same file system so that blocks can be shared."""
        return self.root / "snapshot"

    @property
    def snapshot_id(self) -> Path:
        """The file that says which backup the snapshot is of; without it there is none."""
        return self.root / "snapshot.id"

    def log(self, component: Component) -> Path:
        """The log file of a server."""
        name = f"{component}-{self.ports.main(component)}"
        return self.deploy / name / "log" / f"{component}.log"

    def units(self) -> list[str]:
        """The systemd units that TiUP makes for this side."""
        return [f"{name}-{self.ports.main(name)}.service" for name in COMPONENTS]


def configuration(
    parameters: Parameters, components: dict[str, Parameters]
) -> dict[Component, Parameters]:
    """Configuration items by component; those among the parameters are TiDB's own."""
    items = {name: dict(components.get(name, {})) for name in COMPONENTS}
    items["tidb"] |= {key: value for key, value in parameters.items() if is_config(key)}
    return items


def is_config(key: str) -> bool:
    """A configuration item has a dot or a hyphen in its name, a global variable has not."""
    return "." in key or "-" in key


def render(
    fleet: Fleet,
    *,
    user: str,
    subdirectory: PurePosixPath,
    ports: Ports,
    configs: dict[Component, Parameters],
) -> str:
    """The topology file of one side.

    Raises:
        TargetError: a role has no host.
    """
    for role in COMPONENTS:
        if not fleet.with_role(role):
            raise TargetError(f"the fleet has no host of the role {role}, a cluster needs one")
    # One for all hosts, as in the topology of the fleet.
    places = Places(fleet.with_role("tikv")[0].data / subdirectory, ports)
    document: dict[str, Any] = {
        "global": {
            "user": user,
            "deploy_dir": str(places.deploy),
            "data_dir": str(places.data),
        },
        "server_configs": {name: dict(items) for name, items in configs.items() if items},
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
    if not document["server_configs"]:
        del document["server_configs"]
    return yaml.safe_dump(document, sort_keys=False, width=100)


def _server(host: FleetHost) -> dict[str, Any]:
    # Exporters would be two more processes on every host.
    return {"host": host.address, "ssh_port": host.ssh_port, "ignore_exporter": True}
