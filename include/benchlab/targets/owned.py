"""The target ``hosts``: hosts that their owner lends, named by address and role in the topology.

The owner's key is used once, to let in a key made for this campaign. That key does the rest and is
removed at the end. One campaign at a time uses a fleet, and a lock on the client's host says which.

Giving back ends processes, removes clusters and data, and last the keys. Every step is done on
every host that answers, and all failures are named. The files that lead to the hosts are kept until
nothing is left, so that giving back can be repeated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from benchlab import engines
from benchlab.errors import BenchlabError, SpecError, TargetError, UnreachableError
from benchlab.home import Home
from benchlab.hosts import logins
from benchlab.hosts.access import Access
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import Fleet, FleetHost, on_all, try_on_all
from benchlab.hosts.lock import Holder, RemoteLock
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.language import Said
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.steps import GIB, PROGRAM_BYTES, RESERVE, RESERVE_SHARE, disk_bytes
from benchlab.plan.topology import HostsTopology
from benchlab.targets import fleet_files
from benchlab.targets.fleet import FleetTarget
from benchlab.targets.target import Say, Taken

# Below a host's data directory, outside every campaign's own, so that all campaigns share it.
LOCK = Path("benchlab") / "campaign.lock"
REMOVE_LIMIT_S = 900.0
# What the file `opened` says once the campaign has held the lock.
_HELD = "held"


def lock_of(client: Executor, fleet: Fleet, state: Path) -> RemoteLock:
    """The lock of a fleet, which is a file on its client's host.

    Args:
        state: the directory on this machine of the campaign that asks.
    """
    path, root = fleet.client.data / LOCK, state.parents[1]
    # Two machines may have the same name, and their homes the same path.
    home = Path(f"{root} ({Home(root, root).mark})")
    return RemoteLock(
        client, path, home, lambda campaign: fleet_files.driven(state.with_name(campaign))
    )


def give_back(state: Path, access: Access) -> None:
    """Clean a campaign's hosts, release their lock, remove the campaign's keys; repeatable.

    Args:
        state: the campaign's directory on this machine; it has a fleet.

    Raises:
        TargetError: names every host and what could not be done there; the others are clean.
    """
    fleet, campaign = fleet_files.read_fleet(state), state.name
    if fleet_files.opened(state).exists():
        faults: list[str] = []
        if not _is_anothers(state, fleet):
            faults = clean(fleet, fleet_files.read_key(state), campaign)
        faults += _give_lock_back(state, fleet, is_clean=not faults)
        _refuse(
            faults,
            f"campaign {campaign}: not everything could be removed. All hosts that are not named "
            "are clean, but for the campaign's keys; these, and the lock, stay until "
            f"`benchlab give-back {campaign}` has done the rest",
        )
        # From here on, hosts may refuse the campaign's key.
        fleet_files.opened(state).unlink(missing_ok=True)  # two may give back at once
    _refuse(
        _on_each(fleet, "take the keys away", lambda host: _revoke(state, host, access)),
        f"campaign {campaign}: its keys, marked {fleet_files.key_mark(state)}, could not be taken "
        f"away everywhere; `benchlab give-back {campaign}` does the rest",
    )


def clean_displaced(state: Path, fleet: Fleet) -> None:
    """Clean up after campaigns whose lock was taken over; only the lock's holder may.

    Raises:
        TargetError: names every host and what could not be done there; a repeated call retries.
    """
    _refuse(
        _clean_displaced(state, fleet),
        "what a campaign left behind on these hosts could not be removed, and would be measured "
        "beside; see to the hosts that are named, then start again",
    )


def clean(fleet: Fleet, key: str, campaign: str) -> list[str]:
    """End a campaign's processes and clusters, and remove everything of it, on all hosts.

    Args:
        key: the text of a private key that all hosts let in.
        campaign: the campaign to clean up after; it need not be the key's.

    Returns:
        One text for each host and step that failed; empty if all is clean.
    """
    with ExitStack() as stack:
        executors = {
            host.name: stack.enter_context(fleet_files.log_in(host, key, campaign))
            for host in fleet.hosts
        }

        def remove(host: FleetHost) -> None:
            directory = str(fleet_files.directory_on(host, campaign))
            command = ["sudo", "-n", "rm", "-rf", directory]
            executors[host.name].run(command, timeout_s=REMOVE_LIMIT_S)

        faults = _on_each(fleet, "end processes", lambda host: executors[host.name].end_processes())
        faults += _remove_clusters(fleet, lambda host: executors[host.name], campaign)
        return faults + _on_each(fleet, "remove files", remove)


def _remove_clusters(
    fleet: Fleet, executors: Callable[[FleetHost], Executor], campaign: str
) -> list[str]:
    if not fleet.with_role("tidb"):  # a client's host beside somebody else's cluster
        return []
    directory = fleet_files.directory_on(fleet.client, campaign)
    faults = []
    clusters = [engine.cluster for engine in engines.by_name().values() if engine.cluster]
    for cluster, side in itertools.product(clusters, SIDES):
        try:
            cluster.remove(fleet, executors, campaign, side, directory)
        except BenchlabError as error:  # still remove the other side and the files
            faults.append(f"remove the cluster of {side}: {error}")
    return faults


def _is_anothers(state: Path, fleet: Fleet) -> bool:
    """Whether another home's campaign of the same id holds the hosts.

    What the hosts have under that id is then not this campaign's.

    Raises:
        TargetError: the client's host does not say whose the hosts are, and they never were this
            campaign's.
    """
    try:
        with fleet_files.open_host(state, fleet.client) as client:
            lock = lock_of(client, fleet, state)
            holder = lock.holder()
    except BenchlabError as error:
        if fleet_files.opened(state).read_text(encoding="utf-8") == _HELD:
            return False  # the fault is named where the lock is given back
        raise TargetError(
            f"campaign {state.name}: nothing was removed from its hosts, because another home's "
            f"campaign of the same id may hold them: {fleet.client.name} does not say: {error}; "
            f"once it answers, `benchlab give-back {state.name}` does the rest"
        ) from error
    return (
        holder is not None
        and holder.campaign == state.name
        and not holder.is_of(state.name, lock.home)
    )


def _give_lock_back(state: Path, fleet: Fleet, *, is_clean: bool) -> list[str]:
    """Release the lock if nothing left would disturb the next campaign; returns faults."""
    try:
        with fleet_files.open_host(state, fleet.client) as client:
            lock = lock_of(client, fleet, state)
            holder = lock.holder()
            if holder is None or not holder.is_of(state.name, lock.home):
                return []
            faults = _clean_displaced(state, fleet)
            if is_clean and not faults:
                lock.release(state.name)
            return faults
    except BenchlabError as error:
        return [f"{fleet.client.name}: give the lock back: {error}"]


def _clean_displaced(state: Path, fleet: Fleet) -> list[str]:
    faults: list[str] = []
    left = fleet_files.read_displaced(state)
    for campaign in tuple(left):
        if found := clean(fleet, fleet_files.read_key(state), campaign):
            faults += [f"of campaign {campaign}: {fault}" for fault in found]
            continue
        left.remove(campaign)
        fleet_files.keep_displaced(state, left)
    return faults


def _revoke(state: Path, host: FleetHost, access: Access) -> None:
    """Remove the campaign's key from a host: with that key or, if it is refused, the owner's.

    A host refuses the campaign's key if it was never let in or is removed already. The owner's key
    distinguishes this from a host that cannot be reached.
    """
    command = ["sh", "-c", logins.REVOKE, "sh", fleet_files.key_mark(state)]
    try:
        with fleet_files.open_host(state, host) as executor:
            executor.run(command)
    except UnreachableError:
        owner = (state / fleet_files.OWNER_FILE).read_text(encoding="utf-8")
        with fleet_files.log_in(host, access.ssh_key(owner), state.name) as executor:
            executor.run(command)


def _on_each(fleet: Fleet, doing: str, work: Callable[[FleetHost], object]) -> list[str]:
    """Do something on all hosts in parallel; returns a text for each host that failed."""
    _, failures = try_on_all({host.name: host for host in fleet.hosts}, work)
    return [f"{name}: {doing}: {why}" for name, why in failures.items()]


def _check_sudo(executor: Executor, host: FleetHost) -> None:
    sudo = executor.run(["sudo", "-n", "true"], check=False)
    if sudo.exit_code != 0:
        raise TargetError(
            f"{executor.host}: {host.user} has no sudo without a password "
            f"({sudo.stderr.strip() or sudo.exit_code}); TiUP and restores need it"
        )


def _refuse(faults: list[str], why: str) -> None:
    if faults:
        raise TargetError("\n".join([why, *faults]))


# Arguments: a data directory, the campaign's in it. Prints bytes: the disk's, free, the campaign's.
_DISK = """
df --output=size,avail -B1 "$1" | tail -n 1
[ ! -e "$2" ] && echo 0 || du -sB1 "$2" | cut -f1
"""


class Target(FleetTarget):
    """Owned hosts, for one campaign."""

    name = "hosts"
    place = "own hosts"
    can = Capabilities(topology="hosts", slows_down=True)

    def preflight(self) -> None:
        """See :class:`BaseTarget`: on every host sudo, disk, and whether it can have servers."""
        on_all(self.fleet.hosts, self._check_host)

    def acquire(self, origin: str) -> Holder | None:
        """Open the hosts to this campaign's key, and take the fleet's lock or renew its lease.

        While another campaign holds the lock, nothing on the hosts is changed. What a dead
        campaign left behind is removed before this returns; if that fails, a repeated call tries
        again.

        Raises:
            LockHeldError: another campaign is at work on these hosts; what was taken is given back.
            TargetError: a host cannot be reached, or what was left behind cannot be removed.
        """
        super().acquire(origin)
        if self.has_fleet():
            displaced = self._take(origin)
        else:
            try:
                self._refuse_if_held()
                self._open_hosts()
                displaced = self._take(origin)
            except BenchlabError as error:
                self._give_back(error)
                raise
        clean_displaced(self.state, self.fleet)
        return displaced

    def has_fleet(self) -> bool:
        """Whether all hosts are open to the campaign's key."""
        return super().has_fleet() and fleet_files.opened(self.state).exists()

    def hosts(self, say: Say) -> Fleet:
        return self._named_hosts

    @classmethod
    def return_hosts(cls, taken: Taken) -> str:
        """Remove the clusters, all data and the campaign's keys; see :class:`FleetTarget`."""
        if not (taken.state / fleet_files.FLEET_FILE).exists():
            return "no host was touched"
        give_back(taken.state, taken.access)
        return f"{len(fleet_files.read_fleet(taken.state).hosts)} hosts cleaned"

    @property
    def _topology(self) -> HostsTopology:
        return cast(HostsTopology, self.named_topology)

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Any) -> list[Said]:
        """See :class:`OnTopology`: host keys have to be known before the first login."""
        unknown = [host for host in topology.hosts if host.host_key is None]
        if not unknown:
            return []
        addresses = " ".join(host.ssh_address or host.address for host in unknown)
        missing = (
            f"no host_key for {', '.join(host.name for host in unknown)}; print them with "
            f"`ssh-keyscan -t ed25519 {addresses}`, compare each with what the host itself says "
            "(`cat /etc/ssh/ssh_host_ed25519_key.pub`), and write them into the topology"
        )
        return [missing]

    @cached_property
    def _named_hosts(self) -> Fleet:
        # The topology may have been edited since the plan.
        if unknown := self.undecided(self.spec, self._topology):
            raise SpecError(f"topology {self.spec.topology}: {unknown[0]}")
        return self._topology.fleet()

    def _refuse_if_held(self) -> None:
        """Check the lock with the owner's key: a campaign that must wait changes nothing."""
        client = self._named_hosts.client
        with self._as_owner(client) as executor:
            path = str(client.data / LOCK)
            if executor.run(["test", "-e", path], check=False).exit_code == 0:
                lock_of(executor, self._named_hosts, self.state).check(self.campaign)

    def _open_hosts(self) -> None:
        """Let this campaign's key in.

        The hosts are written down first: a killed process must not leave a key that nobody removes.
        """
        public = f"{fleet_files.public_key(self.state)} {fleet_files.key_mark(self.state)}"
        fleet_files.opened(self.state).unlink(missing_ok=True)
        fleet_files.write(self.state / fleet_files.OWNER_FILE, self._topology.ssh)
        self.keep(self._named_hosts)
        on_all(self._named_hosts.hosts, lambda host: self._let_in(host, public))
        fleet_files.opened(self.state).touch()

    def _take(self, origin: str) -> Holder | None:
        """Take the lock; first note the dead holder, after which this campaign cleans up."""
        lock = lock_of(self.executor, self.fleet, self.state)
        self._note_displaced(lock.check(self.campaign))
        displaced = lock.acquire(self.campaign, origin, self.lease_s)
        self._note_displaced(displaced)  # the holder may have changed in between
        fleet_files.write(fleet_files.opened(self.state), _HELD)
        return displaced

    def _note_displaced(self, holder: Holder | None) -> None:
        noted = fleet_files.read_displaced(self.state)
        if holder is not None and holder.campaign not in noted:
            fleet_files.keep_displaced(self.state, [*noted, holder.campaign])

    def _give_back(self, error: BenchlabError) -> None:
        """Give back what was taken of a fleet; another failure becomes a note of ``error``."""
        try:
            self.close()
            self.give_back(Taken(self.home, self.campaign, self.access))
        except BenchlabError as another:  # the first failure is the one to report
            error.add_note(str(another))

    def _let_in(self, host: FleetHost, public: str) -> None:
        """Use the owner's key, once, to let in the campaign's key."""
        with self._as_owner(host) as executor:
            _check_sudo(executor, host)
            executor.run(["sh", "-c", logins.AUTHORISE, "sh", public])
            # On the client's host, the fleet's lock is in this directory.
            base = str(fleet_files.directory_on(host, self.campaign).parent)
            executor.run(["sudo", "-n", "install", "-d", "-o", host.user, base])

    def _as_owner(self, host: FleetHost) -> SSHExecutor:
        return fleet_files.log_in(host, self.access.ssh_key(self._topology.ssh), self.campaign)

    def _check_host(self, host: FleetHost) -> None:
        executor = self.executor_of(host)
        _check_sudo(executor, host)
        roles = {*host.roles}
        executor.run(["sudo", "-n", "mkdir", "-p", str(host.data)])
        if roles == {"client"}:  # TiUP's packages are in its owner's home
            return
        cluster = engines.cluster_of(self.plan.engine)
        stores = [*self.plan.sides.values()] if "tikv" in roles else []
        restores = bool(roles & {"pd", "tikv"}) and any(t.restore for t in self.plan.trials)
        if why := cluster.host_fault(executor, host.user, stores, restores=restores):
            raise TargetError(f"{executor.host}: {why}")
        self._check_disk(host)

    def _check_disk(self, host: FleetHost) -> None:
        """Refuse a disk without room for all sides; what a resumed campaign has there counts."""
        executor, sides = self.executor_of(host), self.plan.sides.values()
        own = str(fleet_files.directory_on(host, self.campaign))
        printed = executor.run(["sudo", "-n", "sh", "-c", _DISK, "sh", str(host.data), own]).stdout
        capacity, free, used = map(int, printed.split())
        what, needed = "programs and logs", float(len(sides) * PROGRAM_BYTES)
        if "tikv" in host.roles:
            needed = disk_bytes(self.spec, self._topology, sides, capacity)
            what = (
                f"data, snapshots, programs and what TiKV keeps free ({RESERVE}, at least "
                f"{RESERVE_SHARE:.0%} of the disk)"
            )
        if free + used < needed:
            whose = "both clusters" if len(sides) > 1 else "the cluster"
            raise TargetError(
                f"{executor.host}: {host.data}: {what} of {whose} need about "
                f"{needed / GIB:.1f} GiB, {(free + used) / GIB:.1f} GiB are free; free some, take "
                "a smaller dataset, or name a larger disk as `data` in the topology"
            )
