"""Puts the stand-in for TiUP on the client host of a test fleet.

To run the engine against a real TiUP instead, leave this out, install TiUP on the client host,
and name a mirror in ``TIUP_MIRRORS`` there: the public one, or the directory of a local one made
with ``tiup mirror clone`` that has the versions' pd, tikv, tidb, ctl and br. The hosts then need
systemd and about 8 GB of memory each.
"""

from __future__ import annotations

import json
import shutil
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchlab import home
from tests.builders import go_tpc
from tests.hosts.namespaces import NamespaceHost
from tests.machine import VERSIONS

# Which versions of TiDB there are; behind each is the same MariaDB.
RELEASES = ("v5.1.1", "v5.2.0", "v5.3.0", "v5.4.0", "nightly")
MARIADB = VERSIONS[-1]
HERE = Path(__file__).parent
PLACE = Path("usr/local/lib/standin-tiup")

_PROGRAM = """\
#!/bin/sh
PYTHONPATH={packages} exec /usr/bin/python3 -S -W ignore /{place}/standin_tiup.py "$@"
"""


def install(
    client: NamespaceHost,
    *,
    imdsv2_only: bool = False,
    pauses_ms: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """Make ``tiup`` a command of a host; versions that are not in :data:`RELEASES` are unknown.

    Args:
        imdsv2_only: whether TiKV's hosts offer the second metadata service alone.
        pauses_ms: how long TiDB waits before each statement, by version: in its first deployment
            from this host, in the next one, and so on; the last one holds for those that follow.
    """
    place = client.root / PLACE
    place.mkdir(parents=True, exist_ok=True)
    for name in ("standin_tiup.py", "standin_server.py", "standin_systemctl.sh"):
        shutil.copy(HERE / name, place / name)
    program = client.root / "usr/local/bin/tiup"
    program.write_text(_PROGRAM.format(packages=sysconfig.get_path("purelib"), place=PLACE))
    program.chmod(0o755)
    go_tpc.install(place / "go-tpc")
    settings = {
        "base": str((home.find().servers / "mariadb" / MARIADB).resolve()),
        "versions": RELEASES,
        "imdsv2_only": imdsv2_only,
        "pauses_ms": {version: [*each] for version, each in (pauses_ms or {}).items()},
    }
    (client.root / "etc/standin-tiup.json").write_text(json.dumps(settings))
