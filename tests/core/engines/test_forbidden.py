"""Parameters that reach beyond the server are refused, under every name that a server takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign import fit
from benchlab.engines import forbidden
from benchlab.errors import SpecError
from benchlab.plan import report_type
from tests.builders import plans

REPORT = Path(__file__).parents[3] / "configs" / "reports" / "sysbench_hosts.yaml"


@pytest.mark.parametrize(
    "key",
    [
        *("general_log_file", "general-log-fil", "loose_general_log_file", "log_error"),
        *("loose-skip-grant-tables", "skip_gran", "plugin_load", "plugin-load-add", "tmpdir"),
        *("init_file", "wsrep_notify_cmd", "secure_file_priv", "log.file.filename", "plugin.dir"),
        *("security.ssl-ca", "storage.data-dir", "log-file", "data-dir", "enable_feedback_url"),
        *("version", "loose-version", "server-version"),
    ],
)
def test_what_reaches_beyond_the_server_may_not_be_set(key: str) -> None:
    """As the server spells it, abbreviates it and takes it with a prefix."""
    assert forbidden.why(key, "x", short_names=True) is not None
    engines: Any = plans.spec().model_dump(mode="json")["engines"]
    engines["mariadb"]["parameters"] = {key: "x"}
    with pytest.raises(SpecError, match=f"engines.mariadb: parameter {key} "):
        fit.check(plans.spec(engines=engines), "form")


@pytest.mark.parametrize(
    ("component", "key"),
    [
        *(
            ("tidb", "server-version"),
            ("tidb", "store"),
            ("tidb", "path"),
            ("pd", "name"),
            ("pd", "initial-cluster"),
        ),
        *(
            ("tidb", "log.file.filename"),
            ("tikv", "storage.data-dir"),
            ("tikv", "log.file.filename"),
        ),
    ],
)
@pytest.mark.parametrize(
    "under", ["components", "by_version", "by_workload", "candidate.components"]
)
def test_what_ties_a_server_to_its_cluster_may_not_be_set(
    component: str, key: str, under: str
) -> None:
    """For both sides, a range of versions, one workload or one side."""
    items: Any = {component: {key: "x"}}
    written = {
        "by_version": [{"since": "v6.0.0", "components": items}],
        "by_workload": {"oltp_point_select": items},
    }
    spec = report_type.load(REPORT).with_overrides(
        {f"engines.tidb.{under}": written.get(under, items)}
    )
    with pytest.raises(
        SpecError, match=f"engines.tidb: parameter {key} may not be set: it decides"
    ):
        fit.check(spec, "form")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("general_log", True), ("innodb_log_file_size", 1), ("sync_binlog", 1)),
        *(("default_time_zone", "Europe/Berlin"), ("innodb_flush_log_at_trx_commit", 2)),
        *(
            ("aria_sync_log_dir", "NEVER"),
            ("log_bin", "ON"),
            ("log_bin", "OFF"),
            ("skip_log_bin", 1),
        ),
        *(("binlog_commit_wait_count", 3), ("binlog_commit_wait_usec", 5), ("log_output", "FILE")),
        *(("innodb_flush_method", "O_DIRECT"), ("innodb_buffer_pool_size", 1), ("sql_mode", "")),
        *(("innodb_file_per_table", True), ("join_buffer_size", 1), ("tmp_table_size", 1)),
        *(("innodb_open_files", 9), ("slow_query_log", True), ("log_slow_verbosity", "innodb")),
        *(("log_warnings", 1), ("query_cache_type", 0), ("innodb_io_capacity", 1)),
    ],
)
def test_what_only_tunes_mariadb_may_be_set(key: str, value: object) -> None:
    """Names that merely look alike."""
    assert forbidden.why(key, value, short_names=True) is None


@pytest.mark.parametrize(
    "key", ["log.level", "log.slow-threshold", "tidb_mem_quota_query", "server.labels", "log", "s"]
)
def test_only_mariadb_takes_the_beginning_of_a_name(key: str) -> None:
    """TiDB refuses it itself."""
    assert forbidden.why(key, "x") is None


def test_a_value_that_is_a_path_may_not_be_set() -> None:
    """Whatever the parameter; a name in the server's own directory may."""
    for value in ("/tmp/x", "../x", "a\\b"):
        assert forbidden.why("log_bin", value, short_names=True) == "has a path for a value"
