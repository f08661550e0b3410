"""The scripts and options that sysbench has, by its version.

From ``sysbench --help`` and ``sysbench <script> help`` of 1.0.20; for 1.1 from the SB_OPT tables in
src/*.c and src/drivers, and from src/lua, of its repository.

Example:
    ``"rand-zipfian-exp" in options_of("oltp_insert", "1.0.20")`` is False.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSBENCH_SCRIPTS = _names(
    "oltp_common oltp_delete oltp_insert oltp_point_select oltp_read_only oltp_read_write"
    " oltp_update_index oltp_update_non_index oltp_write_only"
)
"""sysbench's own scripts, which have the options below and no others."""

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

_OF_ONE_SCRIPT = {
    "select_random_points": _names("random-points"),
    "select_random_ranges": _names("number-of-ranges delta"),
}
"""What a script has beside the options of all."""

_RAND_TYPES = ("uniform", "gaussian", "special", "pareto")


def options_of(script: str, version: str | None) -> frozenset[str]:
    """The options that a script of sysbench has; ``version`` None: Debian's 1.0.20."""
    of_all = SYSBENCH_1_1 if _is_1_1(version) else SYSBENCH_1_0
    return of_all | _OF_ONE_SCRIPT.get(script, frozenset())


def rand_types_of(version: str | None) -> tuple[str, ...]:
    """The values of ``--rand-type`` (src/sb_rand.c)."""
    return (*_RAND_TYPES, "zipfian") if _is_1_1(version) else _RAND_TYPES


def _is_1_1(version: str | None) -> bool:
    return version is not None and version.startswith("1.1.")
