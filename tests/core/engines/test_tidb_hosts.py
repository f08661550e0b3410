"""What a side removes from its hosts leaves everything else there as it is."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from pathlib import Path

from benchlab.engines.tidb.hosts import FORGET_LOGIN

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
