"""What a side removes from its hosts leaves everything else there as it is."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from benchlab.engines.tidb.hosts import FORGET_LOGIN, SideOnHosts
from benchlab.engines.tidb.topology import Ports
from benchlab.hosts.fleet import Fleet, FleetHost
from tests.builders import fakes

TIUP = "ssh-rsa AAAAtiup tiup"
OWNER = "ssh-ed25519 AAAAowner owner"


def test_a_key_that_is_let_in_while_a_login_is_forgotten_stays(tmp_path: Path) -> None:
    """Both replace the file, under the lock of its directory: the second sees what the first did.

    Here the test is the first (:data:`benchlab.hosts.logins.AUTHORISE` takes the same lock).
    """
    keys = tmp_path / "authorized_keys"
    keys.write_text(f"{TIUP}\n")
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with subprocess.Popen(
        ["sh", "-c", f'{FORGET_LOGIN}\nforget_login "$1"', "sh", str(keys)],
        env={"PATH": os.environ["PATH"], "key": "AAAAtiup"},
    ) as process:
        time.sleep(0.2)
        assert keys.read_text() == f"{TIUP}\n", "it waits"
        keys.write_text(f"{TIUP}\n{OWNER}\n")
        os.close(folder)
        assert process.wait(120) == 0
    assert keys.read_text() == f"{OWNER}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["authorized_keys"]


RESTARTED = """ActiveState=active
ActiveEnterTimestamp=Thu 2026-11-26 18:53:19 UTC
ActiveExitTimestamp=
log=IDENTIFIED BY 'hunter2-hunter2'
"""
WAITS = """ActiveState=activating
ActiveExitTimestamp=Thu 2026-11-26 18:53:04 UTC
"""


@pytest.mark.parametrize(
    ("printed", "how", "log"),
    [
        (
            RESTARTED,
            "did not answer or was restarted, but systemd on its host has no record that it ended",
            "IDENTIFIED BY '(redacted)'",
        ),
        (
            WAITS,
            "ended at 2026-11-26 18:53:04 UTC; systemd had not restarted it yet when asked",
            "none could be read",
        ),
    ],
)
def test_of_a_server_that_is_counted_as_ended_no_more_is_said_than_is_known(
    printed: str, how: str, log: str
) -> None:
    """One that is slow has not ended, and a log that cannot be read may have lines."""

    def answer(command: Sequence[str], stdin: str) -> str:
        return printed

    host = FleetHost("kv-1", ("tikv",), "10.0.0.1", "", "admin", "", Path("/data"))
    executor = fakes.FakeExecutor(answer)
    side = SideOnHosts(Fleet((host,)), lambda _: executor, PurePosixPath("c1/baseline"), Ports())
    (said,) = side.how_ended([("tikv", host)], ["hunter2-hunter2"])
    assert str(said) == f"tikv on kv-1 {how}; the last lines of its log: {log}"
