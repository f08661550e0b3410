"""TiDB: one server with embedded storage on this machine, or a cluster on a fleet."""

from benchlab.engines.tidb.server import Engine as Engine
