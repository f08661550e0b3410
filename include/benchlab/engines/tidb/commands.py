"""The commands by which a cluster is deployed, filled, backed up and restored, to be shown.

They are made by what makes them for a campaign; ``benchlab plan --commands`` prints them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from benchlab.command import Command, shell
from benchlab.engines.tidb import accounts, tiup
from benchlab.engines.tidb.topology import Places, Ports, configuration, render
from benchlab.fleet import Fleet
from benchlab.spec import Side, SideSpec

PASSWORD = "<password>"
REGION = "<region>"


class ClusterCommands:
    """One side on a fleet.

    Args:
        fleet: its hosts; addresses may be placeholders.
        directory: the campaign's, on every host's data directory.
    """

    def __init__(self, fleet: Fleet, side: Side, of: SideSpec, directory: PurePosixPath) -> None:
        self.fleet, self.side, self.of = fleet, side, of
        self.ports = Ports.of(side)
        self._subdirectory = directory / side
        self._name = f"benchlab-{side}"
        self._file = f"{fleet.client.data / self._subdirectory}/topology.yaml"
        self._places = Places.on(fleet.of("tikv")[0], self._subdirectory, self.ports)

    @property
    def port(self) -> int:
        """Where its TiDB servers answer SQL."""
        return self.ports.tidb

    def deploy(self) -> list[Command]:
        """From nothing to a running, empty cluster with the client's account."""
        user = self.fleet.client.user
        configs = configuration(self.of.parameters, self.of.components)
        topology = render(
            self.fleet,
            user=user,
            subdirectory=self._subdirectory,
            ports=self.ports,
            configs=configs,
        )
        login = ["--user", user, "--identity_file", "<tiup_key>"]
        sql = accounts.first_statements(self.of.parameters, PASSWORD)
        return [
            Command("deploy", "client", f"topology.yaml of the {self.side}", topology),
            self._tiup("deploy", "deploy", self._name, self.of.version, self._file, *login),
            self._tiup("deploy", "disable", self._name),
            self._tiup("deploy", "start", self._name),
            Command("deploy", "client", "SQL, as root", sql.replace(";", ";\n").rstrip()),
        ]

    def seed(self, url: str, database: str) -> Command:
        """Fill the database from a dataset snapshot."""
        return self._br("restore", url, database, "instead of loading, where there is a snapshot")

    def keep(self, url: str, database: str) -> Command:
        """Keep what was loaded as a dataset snapshot."""
        return self._br("backup", url, database, "keep the dataset, where there is none yet")

    def back_up(self) -> list[Command]:
        """Stop the cluster and copy its data."""
        return [
            self._tiup("back up", "stop", self._name),
            *self._copied("back up", self._places.data, self._places.snapshot),
        ]

    def restore(self) -> list[Command]:
        """Lay the copy back and start the cluster."""
        return [
            self._tiup("measure", "stop", self._name),
            *self._copied("measure", self._places.snapshot, self._places.data),
            Command(
                "measure", "each storage host", "forget caches", "echo 3 > /proc/sys/vm/drop_caches"
            ),
            self._tiup("measure", "start", self._name),
        ]

    def release(self) -> list[Command]:
        """Remove the cluster."""
        return [self._tiup("release", "destroy", self._name)]

    def _tiup(self, stage: str, *arguments: str) -> Command:
        text = shell(["tiup", *tiup.cluster_arguments(arguments)])
        return Command(stage, "client", f"{arguments[0]} the {self.side}", text)

    def _br(self, action: str, url: str, database: str, purpose: str) -> Command:
        pd = f"{self.fleet.of('pd')[0].address}:{self.ports.pd}"
        words = tiup.br_arguments(self.of.version, action, pd, url, database, REGION)
        stage = "load" if action == "restore" else "analyze"
        return Command(stage, "client", purpose, shell(["tiup", *words]))

    def _copied(self, stage: str, source: object, destination: object) -> Iterable[Command]:
        where, copy = "each storage host", ["cp", "-a", "--reflink=always"]
        yield Command(stage, where, "remove", shell(["rm", "-rf", str(destination)]))
        yield Command(
            stage, where, "copy, on all at once", shell([*copy, str(source), str(destination)])
        )
