"""The options that the clients of published commands know.

sysbench: ``sysbench --help`` and ``sysbench oltp_read_write help`` of 1.0.20; the SB_OPT tables of
src/*.c and src/drivers and src/lua/oltp_common.lua of its repository for 1.1. An unknown option
ends it with "invalid option".

go-tpc: cmd/go-tpc/main.go and cmd/go-tpc/tpcc.go of pingcap/go-tpc. ``tiup bench tpcc`` is the same
client (components/bench of pingcap/tiup, and go-tpc itself from TiUP 1.9 on), older ones with fewer
options. An unknown option ends it with "unknown flag"; an option is never known by a part of its
name.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSBENCH_SCRIPTS = _names(
    "oltp_common oltp_delete oltp_insert oltp_point_select oltp_read_only oltp_read_write"
    " oltp_update_index oltp_update_non_index oltp_write_only"
)
"""Its own scripts, that have the options below and no others."""

SYSBENCH_1_0 = _names(
    """
    threads events time forced-shutdown thread-stack-size rate report-interval report-checkpoints
    debug validate help version config-file tx-rate max-requests max-time num-threads
    rand-type rand-spec-iter rand-spec-pct rand-spec-res rand-seed rand-pareto-h
    verbosity percentile histogram
    db-driver db-ps-mode db-debug
    mysql-host mysql-port mysql-socket mysql-user mysql-password mysql-db mysql-ssl
    mysql-ssl-cipher mysql-compression mysql-debug mysql-ignore-errors mysql-dry-run
    pgsql-host pgsql-port pgsql-user pgsql-password pgsql-db
    auto-inc create-secondary delete-inserts distinct-ranges index-updates mysql-storage-engine
    non-index-updates order-ranges pgsql-variant point-selects range-selects range-size secondary
    simple-ranges skip-trx sum-ranges table-size tables
    """
)

SYSBENCH_1_1 = SYSBENCH_1_0 | _names(
    """
    warmup-time thread-init-timeout luajit-cmd rand-zipfian-exp mysql-ssl-key mysql-ssl-ca
    mysql-ssl-cert mysql-compression-algorithms pgsql-sslmode create-table-options reconnect
    """
)

# By letter: the long name.
GO_TPC_LETTERS = {
    "D": "db", "H": "host", "U": "user", "p": "password", "P": "port", "S": "statusPort",
    "T": "threads", "t": "acThreads", "d": "driver", "h": "help",
}  # fmt: skip
_GO_TPC_VALUES = _names(
    "max-procs pprof metrics-addr db host user password port statusPort threads acThreads driver"
    " time count interval isolation conn-params output targets ssl-ca ssl-cert ssl-key parts"
    " partition-type warehouses"
)
_GO_TPC_SWITCHES = _names("dropdata ignore-error silence check-all help")
# Of an action beside those of all: with a value, and without.
_GO_TPC_ACTIONS = {
    "prepare": (
        _names("output-type output-dir tables retry-count retry-interval"),
        _names("no-check use-fk use-clustered-index"),
    ),
    "run": (_names("max-measure-latency weight conn-refresh-interval"), _names("wait")),
}
GO_TPC_PORT = "4000"
"""Where it connects when no port is given; the host is then 127.0.0.1."""
GO_TPC_HOST = "127.0.0.1"
ACTIONS = _names("prepare run cleanup check warmup prewarm help")
"""What a client can be asked to do."""


def go_tpc_options(action: str | None) -> tuple[frozenset[str], frozenset[str]]:
    """Options of go-tpc that take a value, and those that do not; None: of any action."""
    own = list(_GO_TPC_ACTIONS.values()) if action is None else []
    if action in _GO_TPC_ACTIONS:
        own = [_GO_TPC_ACTIONS[action]]
    return (
        _GO_TPC_VALUES.union(*(valued for valued, _ in own)),
        _GO_TPC_SWITCHES.union(*(switches for _, switches in own)),
    )
