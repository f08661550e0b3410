"""The script that installs TiUP: its hash is shown, and a changed one is said, or refused."""

from __future__ import annotations

import hashlib
import http.server
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import CommandError, TargetError
from benchlab.home import Home, find
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.plan.topology import Ec2Topology
from benchlab.targets import rented
from benchlab.targets.ec2 import installer, rental_file
from benchlab.targets.ec2.rental_file import RentalFile
from benchlab.targets.fleet import FleetTarget
from tests.builders import campaigns, plans

INSTALL = (
    b"#!/bin/sh\nmkdir -p ~/.tiup/bin && touch ~/.tiup/bin/tiup && chmod +x ~/.tiup/bin/tiup\n"
)
OTHER = INSTALL + b"echo changed\n"
# As curl of a client's host: what it is to fetch is beside it; without that it fails.
CURL = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp "$0.script" "$2"\n'


def sha256(script: bytes) -> str:
    """Its hash."""
    return hashlib.sha256(script).hexdigest()


@pytest.fixture
def served() -> Iterator[tuple[str, dict[str, bytes]]]:
    """The address of a script on this machine, and what is there."""
    there = {"/install.sh": INSTALL}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = there.get(self.path)
            self.send_response(404 if body is None else 200)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/install.sh", there
        server.shutdown()


def topology(**fields: Any) -> Ec2Topology:
    """A fleet, whatever the script's address."""
    return plans.ec2_topology().model_copy(update=fields)


def test_the_doctor_says_which_script_it_is_and_when_it_has_changed(
    served: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    """The first is noted, and shown in plans; another one is named with the day of the first."""
    address, there = served
    home, wanted = Home(find().project, tmp_path), topology(tiup=address)
    assert "this machine has not seen yet" in installer.planned(home, wanted)
    for _ in range(2):
        found = installer.look(home, wanted)
        assert (found.good, found.detail) == (
            True,
            f"{address} is a script, sha256 {sha256(INSTALL)}",
        )
    assert f"sha256 was {sha256(INSTALL)}" in installer.planned(home, wanted)
    assert "the new one is run anyway" in installer.planned(home, wanted)
    assert "covers the script alone" in installer.planned(home, wanted)
    there["/install.sh"] = OTHER
    found = installer.look(home, wanted)
    assert found.good is None
    assert f"sha256 {sha256(OTHER)}; {address} has changed: on 20" in found.detail
    assert found.detail.endswith(sha256(INSTALL))
    pinned = topology(tiup=address, tiup_sha256=sha256(INSTALL))
    assert installer.look(home, pinned).good is False
    assert f"has to be {sha256(INSTALL)}" in installer.planned(home, pinned)
    there["/install.sh"] = INSTALL + bytes(installer.SCRIPT_BYTES)
    assert "is not a script" in installer.look(home, wanted).detail
    there.clear()
    assert "answers 404" in installer.look(home, wanted).detail


def test_notes_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """With the file, and what to do."""
    (tmp_path / installer.FILE).write_text("[]")
    with pytest.raises(TargetError, match=r"tiup_installers\.json: .* remove the file"):
        installer.last_seen(Home(tmp_path, tmp_path), "https://example.org/install.sh")


class Client(rented.Target):
    """A fleet whose client's host is this machine."""

    @property
    def executor(self) -> Executor:
        return LocalExecutor(self.state, self.campaign)

    @property
    def directory(self) -> Path:
        return self.state


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """It has rented, and is to install TiUP."""
    (bin_ := tmp_path / "bin").mkdir()
    (bin_ / "curl").write_text(CURL)
    (bin_ / "curl").chmod(0o755)
    (bin_ / "curl.script").write_bytes(INSTALL)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(FleetTarget, "provision", lambda self, say: None)
    made = campaigns.fleet_campaign(id="c1", environment={})
    home = Home(find().project, tmp_path)
    found = Client(home, "c1", made.plan, made.report_type, Access())
    wanted = topology(tiup="https://mirrors.example.org/install.sh")
    rental = RentalFile(
        mark="m",
        region="us-west-2",
        created_at=datetime.now(UTC),
        lifetime_minutes=60,
        topology=wanted,
    )
    rental_file.write(found.state, rental)
    return found


def installed(client: Client) -> list[str]:
    """What is said while TiUP is installed; the script is new to the host."""
    (Path.home() / ".tiup/bin/tiup").unlink(missing_ok=True)
    said: list[str] = []
    client.provision(said.append)
    return said


def test_a_campaign_records_the_script_and_says_that_it_has_changed(
    client: Client, tmp_path: Path
) -> None:
    """For the report; a repeated call installs nothing again."""
    assert installed(client) == ["TiUP"]
    kept = rental_file.read(client.state)
    assert kept is not None
    assert kept.installer == {
        "tiup_script": "https://mirrors.example.org/install.sh",
        "tiup_script_sha256": sha256(INSTALL),
    }
    again: list[str] = []
    client.provision(again.append)
    assert again == []
    (tmp_path / "bin/curl.script").write_bytes(OTHER)
    _, changed = installed(client)
    assert changed.startswith("https://mirrors.example.org/install.sh has changed: on 20")
    kept = rental_file.read(client.state)
    assert kept is not None
    assert kept.installer["tiup_script_before"].endswith(f" {sha256(INSTALL)}")


def test_a_script_that_the_topology_does_not_want_is_not_run(client: Client) -> None:
    """Both hashes are named."""
    kept = rental_file.read(client.state)
    assert kept is not None
    assert kept.topology is not None
    pinned = kept.topology.model_copy(update={"tiup_sha256": "0" * 64})
    rental_file.write(client.state, kept.model_copy(update={"topology": pinned}))
    with pytest.raises(TargetError, match=rf"{sha256(INSTALL)}, and the topology wants 0000"):
        installed(client)
    assert not (Path.home() / ".tiup/bin/tiup").exists()


def test_a_host_that_cannot_download_it_is_told_what_to_do(client: Client, tmp_path: Path) -> None:
    """The host, the command, and the way out."""
    (tmp_path / "bin/curl.script").unlink()
    with pytest.raises(CommandError, match=r"has to reach https://mirrors\.example\.org/.* image"):
        installed(client)
