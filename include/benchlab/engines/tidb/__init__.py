"""TiDB: one server with embedded storage on this machine, or a cluster on a fleet."""

from benchlab.engines.tidb.cluster import Cluster
from benchlab.engines.tidb.instance import ClusterInstance
from benchlab.engines.tidb.server import Engine
from benchlab.engines.tidb.topology import Ports

__all__ = ["Cluster", "ClusterInstance", "Engine", "Ports"]
