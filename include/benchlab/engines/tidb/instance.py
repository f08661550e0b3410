"""One side's cluster as a campaign wants it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benchlab.engines.tidb.topology import Ports
from benchlab.plan.report_type import Parameters, Side


@dataclass(frozen=True)
class ClusterInstance:
    """One side's cluster.

    Attributes:
        parameters: configuration items of TiDB (a dot or a hyphen in the name) and global
            variables (any other).
        components: configuration items of ``pd``, ``tikv`` and ``tidb``.
        cluster_name: under which TiUP knows it.
        directory: of this side on the client host: topology, client's option file, notes.
        subdirectory: of every host's data directory; everything of the side is in it.
        host: address of the TiDB server that answers Benchlab's own SQL.
        database: the schema that holds the dataset.
        max_connections: how many the client opens at most; TiDB's default is no limit.
        password: of the account that the client uses; made for this campaign.
        tiup_key: path of the private key on the client host, by which TiUP logs in as ``user``.
    """

    side: Side
    version: str
    parameters: Parameters
    components: dict[str, Parameters]
    cluster_name: str
    directory: Path
    subdirectory: PurePosixPath
    ports: Ports
    host: str
    max_connections: int
    database: str
    password: str = field(repr=False)
    tiup_key: Path
    user: str

    @property
    def port(self) -> int:
        """Where a TiDB server answers SQL."""
        return self.ports.tidb
