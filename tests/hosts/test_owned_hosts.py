"""Whole campaigns on hosts that somebody owns, by the command line, and what is left on them.

One host has every server role, as in the mixed topology of the published v2.1 vs. v2.0 report.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from benchlab import targets
from benchlab.campaign import overrides, report_types
from benchlab.errors import LockHeldError, TargetError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import FleetHost, Role
from benchlab.hosts.lock import Holder, RemoteLock
from benchlab.results import ended_servers
from benchlab.targets import fleet_files
from benchlab.targets.owned import Target, lock_of
from tests.builders import campaigns
from tests.hosts import standin
from tests.hosts.namespaces import USER, NamespaceHost, Namespaces, new_key, unused
from tests.hosts.rented import TOPOLOGY, project_in, settings, write_topology
from tests.machine import LIMIT_S, LOOK_AGAIN_S, Machine, machine_in, servers

__all__ = ["servers"]  # a fixture

CLI = "benchlab.cli.main"
# The report type's are for later versions.
NONE = "{}"
DATA = "/data/benches"
LOCK = f"{DATA}/benchlab/campaign.lock"
ROLES: dict[str, tuple[Role, ...]] = {
    "host-1": ("client",),
    "host-2": ("tidb", "pd", "tikv"),
    "host-3": ("tidb", "tikv"),
    "host-4": ("tikv",),
}
# What there is of a campaign on a host. Servers do not carry its tag, but lie in its directories.
LOOK = f"""
ls -d {DATA}/benchlab/* /home/{USER}/.tiup/storage/cluster/clusters/* | grep -v '\\.lock$'
grep -lsz '^BENCHLAB_CAMPAIGN=' /proc/[0-9]*/environ
find /proc -mindepth 2 -maxdepth 2 -name cwd -lname '{DATA}/*'
find /tmp -maxdepth 1 '(' -name '*tidb*' -o -name '*_TIKV_*' -o -name 'br.log*' ')'
cat {LOCK}
"""
# What lets an account in, whatever `AuthorizedKeysFile` holds for all others.
LET_IN = f"Match User {USER}\\nAuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys/%u"
MIRROR = "https://mirror.example.org/tiup"  # which the stand-in for TiUP never asks
LOGINS = f"cat /etc/ssh/authorized_keys/{USER} /home/{USER}/.ssh/authorized_keys"


@dataclass
class Owned:
    """A machine with Benchlab on it, and the hosts that it may use."""

    machine: Machine
    hosts: dict[str, NamespaceHost]
    owners_key: str
    namespaces: Namespaces

    def start(self, campaign: str, **changed: object) -> list[str]:
        """The command line of the small campaign."""
        own = settings(engines__tidb__parameters=NONE, **changed)
        return [CLI, "run", "sysbench_hosts", *own, "--campaign", campaign]

    def target(self, campaign: str, **changed: object) -> Target:
        """A campaign that is planned and has taken nothing yet."""
        here = self.machine.here
        own = settings(engines__tidb__parameters=NONE, **changed)
        changes = overrides.parse_assignments(own[1::2])
        spec = overrides.override(
            report_types.load(report_types.find_report(here, "sysbench_hosts")), changes
        )
        with self.machine.store() as store:
            return cast(
                Target,
                campaigns.begin(here, store, spec, campaign).target,
            )

    def end(self, campaign: str) -> str:
        """What `benchlab give-back` does."""
        return targets.give_back(self.machine.here, campaign, Access())

    def works(self) -> dict[str, str]:
        """Files and processes of campaigns, and the lock's holder, by host."""
        looked = {
            name: host.run(f"({LOOK}) 2> /dev/null", check=False).stdout
            for name, host in self.hosts.items()
        }
        return {name: text for name, text in looked.items() if text}

    def logins(self) -> dict[str, list[str]]:
        """Keys that are let in beside the owner's, by host."""
        looked = {
            name: host.run(f"({LOGINS}) 2> /dev/null", check=False).stdout.splitlines()
            for name, host in self.hosts.items()
        }
        found = {n: [line for line in ls if line != self.owners_key] for n, ls in looked.items()}
        return {name: lines for name, lines in found.items() if lines}

    def left(self) -> dict[str, str]:
        """What is on the hosts beside what their owner put there."""
        works, logins = self.works(), self.logins()
        return {
            name: works.get(name, "") + "".join(logins.get(name, []))
            for name in works.keys() | logins.keys()
        }


@pytest.fixture
def owned(tmp_path: Path, servers: Path) -> Iterator[Owned]:
    """Four hosts that let their owner in; nothing of them is left afterwards."""
    private, public = new_key("owner")
    key = tmp_path / "owners_key"
    key.touch(mode=0o600)
    key.write_text(private)
    project = project_in(tmp_path)
    with (
        unused(tmp_path / "network") as namespaces,
        machine_in(tmp_path, servers, project, BENCHLAB_SSH_KEY=str(key)) as machine,
    ):
        hosts = _hosts(namespaces, public)
        write_topology(project, _topology(hosts))
        yield Owned(machine, hosts, public, namespaces)


def _hosts(namespaces: Namespaces, public: str) -> dict[str, NamespaceHost]:
    network = namespaces.network.rsplit(".", 1)[0]
    hosts = {
        name: namespaces.add(f"{network}.{number}", public)
        for number, name in enumerate(ROLES, start=31)
    }
    standin.install(hosts["host-1"])
    return hosts


def _topology(hosts: dict[str, NamespaceHost]) -> dict[str, object]:
    return {
        "kind": "hosts",
        "ssh": "test_hosts",
        "user": USER,
        "data": DATA,
        "tiup_mirror": MIRROR,
        "hosts": [
            {
                "name": name,
                "address": host.address,
                "host_key": host.host_key,
                "roles": list(ROLES[name]),
            }
            for name, host in hosts.items()
        ],
    }


def test_a_campaign_measures_and_leaves_the_hosts_as_they_were(owned: Owned) -> None:
    """Beside the report nothing is left; meanwhile nobody else gets onto the hosts. What the
    workload has alone is in effect on both sides, and the report says so.
    """
    machine = owned.machine
    own = "{oltp_update_index: {tikv: {server.grpc-concurrency: 3}}}"
    run = machine.start(*owned.start("owner", engines__tidb__by_workload=own))
    machine.wait_for("owner", "run")
    # Its id begins another's: what is taken away of it must not be the other's.
    said = machine.run(*owned.start("own"), code=1)
    assert "host-1" in said
    assert "is held by campaign owner" in said
    assert "benchlab give-back owner" in said
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, output
    campaign, trials = machine.outcome("owner")
    assert campaign.state == "complete"
    assert [t.valid for t in trials] == [True, True], [t.reasons for t in trials]
    assert campaign.environment["client_hosts"].startswith("1 x ")
    assert campaign.environment["tikv_hosts"].startswith("3 x ")
    assert campaign.environment["tiup_mirror"] == MIRROR
    for trial in trials:
        assert trial.phases["configure"] > 0
        assert ("parameters", "pass") in [(gate.gate, gate.status) for gate in trial.gates]
    assert (machine.here.reports / "owner" / "report.html").exists()
    page = (machine.here.reports / "owner" / "report.md").read_text()
    assert "while Update Index is measured" in page
    assert f"| TiUP's mirror | {MIRROR} |" in page.replace("\\", "")
    assert "server.grpc-concurrency: 3" in page
    assert "not set: only TiDB Cloud's support" not in page
    assert not machine.here.campaign("own").exists(), "what finds them held leaves nothing"
    assert owned.left() == {}
    for name in ("owner", "own"):
        for secret in ("ssh_key", "password", "fleet.json"):
            assert not (machine.here.campaign(name) / secret).exists()


@pytest.mark.fault(
    "a TiKV server is killed while data are loaded, and another one in a trial",
    promise="host and time are named; the load counts if all rows are there, the trial does not",
    of="servers",
)
def test_a_tikv_that_is_killed_is_named_in_the_load_and_in_a_trial(owned: Owned) -> None:
    """With its host, when it ended, and whether systemd has started it again. The load goes on, as
    its rows are all there, and the report says so; the trial is measured again.
    """
    machine = owned.machine
    run = machine.start(*owned.start("named", seconds=5, dataset__table_size=50_000))
    for act in ("prepare", "run"):
        at_work = f"grep -lszxF {act} /proc/[0-9]*/cmdline"  # the client's
        while not owned.hosts["host-1"].run(at_work, check=False).stdout:
            assert run.poll() is None, run.communicate()[0]
            time.sleep(LOOK_AGAIN_S)
        owned.hosts["host-4"].run(f"kill -9 $(cat {DATA}/benchlab/named/*/deploy/tikv-*/pid)")
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, output
    campaign, trials = machine.outcome("named")
    ended = r"tikv on host-4 ended at 20[-0-9]+ [:0-9]+ UTC"
    noted = str(ended_servers.noted(campaign.environment)[0])
    assert re.match(rf"load \((baseline|candidate)\): {ended}", noted), noted
    bad = [trial for trial in trials if not trial.valid]
    assert bad, "one was killed in a trial"
    gate, named, *_ = map(str, bad[0].reasons)
    assert gate.startswith("gate server_alive failed: found 1, allowed at most 0")
    waits = "; systemd had not restarted it yet when asked; the last lines of its log: "
    assert re.match(ended + waits + ".*server is ready to serve", named), named
    page = (machine.here.reports / "named" / "report.md").read_text().replace("\\", "")
    assert "a stage that prepares or checks the data (1): load (" in page
    assert page.count("tikv on host-4 ended at") >= 2, "and the trial's"
    assert machine.verified("named").outcome == "holds"
    with machine.store() as store:
        learned = [time.step for _, time in store.step_times(TOPOLOGY, "tidb")]
    assert learned.count("analyze") == 2
    assert learned.count("load") == 1, "the other side's, which is loaded alone"
    assert owned.left() == {}


@pytest.mark.fault(
    "a campaign on owned hosts is killed in a trial",
    promise="its hosts stay held until they are given back; then nothing of it is left",
    of="processes",
)
def test_a_killed_campaign_is_given_back_and_leaves_nothing(owned: Owned) -> None:
    """Its process was SIGKILLed in a trial: until it is given back its hosts stay held."""
    machine = owned.machine
    run = machine.start(*owned.start("killed", seconds=20))
    machine.wait_for("killed", "run")
    os.kill(run.pid, signal.SIGKILL)
    run.communicate(timeout=LIMIT_S)
    assert {*owned.left()} == {*ROLES}
    said = machine.run(*owned.start("after-it"), code=1)
    assert "is held by campaign killed" in said
    assert "4 hosts cleaned" in machine.run(CLI, "give-back", "killed")
    assert owned.left() == {}
    campaign, trials = machine.outcome("killed")
    assert campaign.state == "failed"
    assert trials == []
    assert not (machine.here.campaign("killed") / "ssh_key").exists()
    machine.run(CLI, "give-back", "killed")  # and again, when there is nothing any more


@pytest.mark.fault(
    "an owned host is down while a campaign is given back",
    promise="it is named, the others are cleaned, and giving back again does the rest",
    of="hosts",
)
@pytest.mark.long  # waits for a silent host; test_cluster has the same for a deployment
@pytest.mark.parametrize("down", ["host-1", "host-3"])
def test_a_host_that_is_down_keeps_no_other_from_being_cleaned(owned: Owned, down: str) -> None:
    """The client's or a server's: it is named, and giving back again does the rest."""
    target = owned.target("halfdown")
    target.acquire("test")
    target.provision(lambda text: None)
    target.engine("baseline").deploy()
    assert {*owned.works()} == {*ROLES}
    target.close()
    owned.namespaces.set_link(owned.hosts[down].address, False)
    with pytest.raises(TargetError) as caught:
        owned.end("halfdown")
    assert f"{down}: end processes: {down} ({owned.hosts[down].address})" in str(caught.value)
    assert f"{down}: remove files: " in str(caught.value)
    assert "benchlab give-back halfdown" in str(caught.value)
    others = {*ROLES} - {down}
    assert not [fault for fault in str(caught.value).splitlines() if fault[:6] in others]
    lock = {"host-1"}  # nobody gets in as long as something is left
    assert {*owned.works()} == {down} | lock
    client = owned.works()["host-1"] if down != "host-1" else ""
    assert f"{DATA}/benchlab/halfdown" not in client
    owned.namespaces.set_link(owned.hosts[down].address, True)
    assert "4 hosts cleaned" in owned.end("halfdown")
    assert owned.left() == {}
    assert not (owned.machine.here.campaign("halfdown") / "ssh_key").exists()


def test_a_campaign_that_waits_changes_no_host(owned: Owned) -> None:
    """It learns by whom the hosts are held, however often it asks."""
    first, second = owned.target("owner"), owned.target("waiting")
    first.acquire("test")
    look = f"cd /home/{USER}; stat -c '%n %i %y %z' .ssh .ssh/*; cat .ssh/*; ls {DATA}/benchlab"
    before = {name: host.run(look).stdout for name, host in owned.hosts.items()}
    for _ in range(2):
        with pytest.raises(LockHeldError, match="is held by campaign owner"):
            second.acquire("test")
        assert {name: host.run(look).stdout for name, host in owned.hosts.items()} == before
    assert not (owned.machine.here.campaign("waiting") / "ssh_key").exists()
    first.close()
    owned.end("owner")
    second.acquire("test")
    second.close()
    owned.end("waiting")
    assert owned.left() == {}


@pytest.mark.fault(
    "a campaign is killed while its key is let in on owned hosts",
    promise="giving back removes the key from every host",
    of="processes",
)
def test_a_campaign_that_was_killed_while_it_opened_the_hosts_leaves_no_key(
    owned: Owned, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that had let its key in and of those that had not."""
    let_in: Callable[[Target, FleetHost, str], None] = Target._let_in

    def killed(target: Target, host: FleetHost, public: str) -> None:
        if host.name in ("host-2", "host-4"):
            let_in(target, host, public)
        raise KeyboardInterrupt

    monkeypatch.setattr(Target, "_let_in", killed)
    target = owned.target("opening")
    with pytest.raises(KeyboardInterrupt):
        target.acquire("test")
    target.close()
    assert {*owned.logins()} == {"host-2", "host-4"}
    owned.end("opening")
    assert owned.left() == {}


def test_what_another_home_has_under_the_same_id_stays_on_the_hosts(owned: Owned) -> None:
    """Between the look at the lock and its taking another home's campaign came first: giving back
    this one ends none of its processes, and leaves its lock, files and keys.
    """
    elsewhere = Home(owned.machine.here.project, owned.machine.here.root / "elsewhere")
    key = f"ssh-ed25519 AAAAtheirs {fleet_files.key_mark(elsewhere.campaign('same'))}"
    into = f"/home/{USER}/.ssh/authorized_keys"
    owned.hosts["host-3"].run(f"su {USER} -c 'mkdir -p ~/.ssh; echo {key} >> {into}'")
    target = owned.target("same")
    target.acquire("test")
    target.provision(lambda text: None)
    job = target.executors()["host-3"]
    job.start_job("server", ["sleep", "1000"])
    lock = lock_of(target.executor, target.fleet, target.state)
    theirs = RemoteLock(target.executor, lock.path, Path("/elsewhere"))
    assert lock.release("same")
    theirs.acquire("same", "test")
    with pytest.raises(LockHeldError, match=r"held by campaign same .*:/elsewhere"):
        lock.acquire("same", "test")
    before = owned.works()
    assert {*before} >= {"host-1", "host-3"}
    target.close()
    owned.end("same")
    assert owned.works() == before
    assert owned.logins() == {"host-3": [key]}
    owned.hosts["host-3"].run(f"rm {into}")


@pytest.mark.fault(
    "a campaign on owned hosts died and was never given back",
    promise="the next one removes what it left before it begins",
    of="processes",
)
def test_nothing_is_measured_beside_a_dead_campaign(owned: Owned) -> None:
    """What it left is removed before another begins, at the second try if not at the first."""
    dead, next_one = owned.target("expired"), owned.target("after-it")
    dead.acquire("test")
    dead.provision(lambda text: None)
    dead.executors()["host-3"].start_job("server", ["sleep", "1000"])
    lock_of(dead.executor, dead.fleet, dead.state).acquire("expired", "test", -1)
    dead.close()
    busy = f"{DATA}/benchlab/expired"
    owned.hosts["host-3"].run(f"mount -t tmpfs busy {busy}")  # so that it cannot be removed
    with pytest.raises(TargetError, match="of campaign expired: host-3: remove files"):
        next_one.acquire("test")
    assert {name for name, text in owned.works().items() if busy in text} == {"host-3"}
    # Given up by now, it would be the lock's last holder: the lock stays until all is removed.
    with pytest.raises(TargetError, match="of campaign expired: host-3: remove files"):
        owned.end("after-it")
    owned.hosts["host-3"].run(f"umount {busy}")
    next_one.acquire("test")
    assert {*owned.works()} == {"host-1"}
    holder = lock_of(next_one.executor, next_one.fleet, next_one.state).holder()
    assert isinstance(holder, Holder)
    assert holder.campaign == "after-it"
    next_one.close()
    owned.end("after-it")
    owned.end("expired")  # its keys are its own
    assert owned.left() == {}


@pytest.mark.parametrize(
    "line", ["/etc/ssh/authorized_keys/%u .ssh/authorized_keys", "%h/.ssh/authorized_keys", "none"]
)
def test_a_host_where_tiup_would_misplace_its_key_is_named_before_anything_is_deployed(
    owned: Owned, line: str
) -> None:
    """TiUP takes the first word as it stands; hosts without a server do not matter."""
    for name in ("host-1", "host-3"):
        change = f"s|^AuthorizedKeysFile .*|AuthorizedKeysFile {line}|"
        host = owned.hosts[name]
        host.run(f"sed -i '{change}' /etc/ssh/sshd_config")
        host.run(f"printf '%b\\n' '{LET_IN}' >> /etc/ssh/sshd_config")
        host.run("kill $(cat /run/sshd.pid); while ss -ltn | grep -q :22; do sleep 0.05; done")
        host.run("/usr/sbin/sshd")
    target = owned.target("c1")
    target.acquire("test")
    with pytest.raises(TargetError) as caught:
        target.preflight()
    target.close()
    owned.end("c1")
    assert str(caught.value).startswith("host-3 (")
    assert "TiUP would put its key into" in str(caught.value)
    assert owned.left() == {}


@pytest.mark.parametrize("lacks", ["files", "caches", "curl"])
def test_a_host_on_which_a_campaign_would_fail_later_is_refused_before_anything_is_deployed(
    owned: Owned, lacks: str
) -> None:
    """Where TiKV would not start, a restore would fail after the load, or a program is missing."""
    files = "{tikv: {rocksdb.max-open-files: 2000000}}"
    changed = {"engines__tidb__components": files} if lacks == "files" else {}
    if lacks == "caches":
        owned.hosts["host-3"].run("mount -o remount,bind,ro /proc/sys/vm/drop_caches")
    if lacks == "curl":
        owned.hosts["host-1"].run("rm -f /usr/bin/curl")
    expected = {
        "files": r"host-[234] \(.*can open 1,0\d\d,\d{3} files here, .*open \d,0\d\d,\d{3} ",
        "caches": r"host-3 \(.*/proc/sys/vm/drop_caches cannot be written",
        "curl": r"host-1 \(.*missing: curl; on Debian: `apt-get install curl`",
    }
    target = owned.target("c1", **changed)
    target.acquire("test")
    if lacks == "curl":
        target.preflight()
    stage = target.preflight if lacks != "curl" else partial(target.provision, print)
    with pytest.raises((TargetError, UnavailableError), match=expected[lacks]):
        stage()
    target.close()
    owned.end("c1")
    assert owned.left() == {}


@pytest.mark.fault(
    "a host refuses sudo",
    promise="it is named with what sudo says before anything is deployed, and nothing of the "
    "campaign stays",
    of="hosts",
)
def test_a_host_that_refuses_sudo_is_named_before_anything_is_deployed(owned: Owned) -> None:
    """Its key is taken back from all hosts, which is possible without sudo."""
    owned.hosts["host-3"].run("rm /etc/sudoers.d/hosts")
    target = owned.target("c1")
    with pytest.raises(
        TargetError, match=r"host-3 \(.*admin has no sudo without a password .*password is required"
    ):
        target.acquire("test")
    target.close()
    owned.end("c1")
    assert owned.left() == {}
