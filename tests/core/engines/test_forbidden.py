"""Parameters that reach beyond the server are refused, under every name that a server takes."""

from __future__ import annotations

from typing import Any

import pytest

from benchlab.campaign import fit
from benchlab.engines import forbidden
from benchlab.errors import SpecError
from tests.builders import plans


@pytest.mark.parametrize(
    "key",
    [
        *("general_log_file", "general-log-fil", "loose_general_log_file", "log_error"),
        *("loose-skip-grant-tables", "skip_gran", "plugin_load", "plugin-load-add", "tmpdir"),
        *("init_file", "wsrep_notify_cmd", "secure_file_priv", "log.file.filename", "plugin.dir"),
        *("security.ssl-ca", "storage.data-dir", "log-file", "data-dir", "enable_feedback_url"),
    ],
)
def test_what_reaches_beyond_the_server_may_not_be_set(key: str) -> None:
    """As the server spells it, abbreviates it and takes it with a prefix."""
    assert forbidden.why(key, "x") is not None
    engines: Any = plans.spec().model_dump(mode="json")["engines"]
    engines["mariadb"]["parameters"] = {key: "x"}
    with pytest.raises(SpecError, match=f"engines.mariadb: parameter {key} "):
        fit.check(plans.spec(engines=engines), "form")


@pytest.mark.parametrize(
    ("key", "value"),
    [("general_log", True), ("innodb_log_file_size", 1), ("default_time_zone", "Europe/Berlin")],
)
def test_what_only_tunes_the_server_may_be_set(key: str, value: object) -> None:
    """Names that merely look alike."""
    assert forbidden.why(key, value) is None
