"""A client's host beside a server that exists: over a real sshd, and clean afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.builders import given_server
from tests.builders.given_server import GivenServer
from tests.hosts.namespaces import USER, NamespaceHost, new_key, unused
from tests.machine import Machine, machine_in, servers

__all__ = ["servers"]  # a fixture

CLI = "benchlab.cli.main"
PASSWORD = "p;#%@\"'\\ü=/?$"
SMALL = (
    *("workloads=oltp_update_index", "threads=2", "rounds=2", "seconds=1", "warmup_seconds=0"),
    *("dataset.tables=1", "dataset.table_size=500", "client.connection=loader"),
)
SETTINGS = [part for value in SMALL for part in ("--set", value)]
# What there is of a campaign on the host: files, processes, keys beside the owner's.
LEFT = f"""
ls -d /var/tmp/benchlab*/* 2> /dev/null | grep -v '\\.lock$'
grep -lsz '^BENCHLAB_CAMPAIGN=' /proc/[0-9]*/environ
cat /home/{USER}/.ssh/authorized_keys 2> /dev/null
"""


@dataclass
class Lent:
    """A server, a machine that reaches it, and another host for the client."""

    machine: Machine
    server: GivenServer
    host: NamespaceHost

    def left(self) -> str:
        """What is on the client's host of a campaign."""
        return self.host.run(LEFT, check=False).stdout

    def connect(self, **changed: str | None) -> None:
        """Define the host's Connection, with changes of its extra fields."""
        known = json.loads(self.machine.environment["AIRFLOW_CONN_LOADER"])
        extra = {name: value for name, value in (known["extra"] | changed).items() if value}
        self.machine.environment["AIRFLOW_CONN_LOADER"] = json.dumps(known | {"extra": extra})


@pytest.fixture
def lent(tmp_path: Path, servers: Path) -> Iterator[Lent]:
    """The client's host lets its owner in, and knows nothing of the campaign."""
    private, public = new_key("owner")
    (folder := tmp_path / "given").mkdir()
    with (
        unused(tmp_path / "network") as namespaces,
        given_server.running(servers, folder, "10.11.5", address=namespaces.gateway) as server,
        machine_in(tmp_path, servers) as machine,
    ):
        host = namespaces.add(f"{namespaces.network.rsplit('.', 1)[0]}.31", public)
        server.account("bench", PASSWORD)
        address = f"{namespaces.gateway}:{server.port}"
        machine.environment |= {
            "AIRFLOW_CONN_BENCHLAB_CLUSTER": f"mysql://bench:{quote(PASSWORD, safe='')}@{address}",
            "AIRFLOW_CONN_LOADER": json.dumps(
                {
                    "conn_type": "ssh",
                    "host": host.address,
                    "login": USER,
                    "extra": {"private_key": private, "host_key": host.host_key},
                }
            ),
        }
        yield Lent(machine, server, host)


def test_the_client_runs_on_the_host_that_a_connection_leads_to(lent: Lent) -> None:
    """Nothing of the campaign is left there, nor on the server."""
    schemas = lent.server.sql("SHOW DATABASES")
    run = lent.machine.start(CLI, "run", "sysbench_existing", "--campaign", "lent", *SETTINGS)
    lent.machine.wait_for("lent", "run")
    assert "/var/tmp/benchlab/lent" in lent.left()
    printed, _ = run.communicate(timeout=300)
    assert run.returncode == 0, printed
    campaign, trials = lent.machine.outcome("lent")
    assert campaign.state == "complete"
    assert [result.valid for result in trials] == [True, True], [t.reasons for t in trials]
    assert campaign.environment["client_hosts"].startswith("1 x ")
    assert {one.host for result in trials for one in result.host_figures} == {"client"}
    assert lent.server.sql("SHOW DATABASES") == schemas
    assert lent.left() == ""
    written = (path for path in lent.machine.here.root.rglob("*") if path.is_file())
    assert not [path for path in written if PASSWORD.encode() in path.read_bytes()]


def test_an_interrupted_campaign_is_given_back(lent: Lent) -> None:
    """From the machine that drove it: processes, files and keys on the host, the schema."""
    run = lent.machine.start(CLI, "run", "sysbench_existing", "--campaign", "cut", *SETTINGS)
    lent.machine.wait_for("cut", "run")
    run.kill()
    run.communicate()
    said = lent.machine.run(CLI, "give-back", "cut")
    assert "the client's host cleaned" in said
    assert lent.left() == ""
    assert "sbtest" not in lent.server.sql("SHOW DATABASES")


def test_a_host_is_known_by_the_key_in_its_connection_only(lent: Lent) -> None:
    """Without one it is not asked, and with another one not believed."""
    run = (CLI, "run", "sysbench_existing", "--campaign", "wrong", *SETTINGS)
    lent.connect(host_key=new_key()[1])
    assert "host key" in lent.machine.run(*run, code=1)
    lent.connect(host_key=None)
    assert "connection loader: extra.host_key: missing" in lent.machine.run(*run, code=1)
    assert lent.left() == ""
