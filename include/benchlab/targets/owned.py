"""The target ``hosts``: hosts that their owner lends, named by address and role in the topology.

The owner's key is used once, to let in a key made for this campaign. That key does the rest and is
removed at the end. One campaign at a time uses a fleet, and a lock on the client's host says which.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from benchlab import engines
from benchlab.errors import BenchlabError, SpecError, TargetError
from benchlab.hosts import logins
from benchlab.hosts.fleet import Fleet, FleetHost, on_all
from benchlab.hosts.lock import Holder
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.language import Said
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.steps import GIB, PROGRAM_BYTES, RESERVE, RESERVE_SHARE, disk_bytes
from benchlab.plan.topology import HostsTopology
from benchlab.targets import fleet_files, owned_hosts
from benchlab.targets.fleet import FleetTarget
from benchlab.targets.target import Say, Taken

# Arguments: a data directory, the campaign's in it. Prints bytes: the disk's, free, the campaign's.
_DISK = """
df --output=size,avail -B1 "$1" | tail -n 1
[ ! -e "$2" ] && echo 0 || du -sB1 "$2" | cut -f1
"""


class Target(FleetTarget):
    """Owned hosts, for one campaign."""

    name = "hosts"
    place = "own hosts"
    can = Capabilities(topology="hosts")

    def preflight(self) -> None:
        """See :class:`BaseTarget`: of every host sudo, disk, and whether it can have servers."""
        on_all(self.fleet.hosts, self._check_host)

    def acquire(self, origin: str) -> Holder | None:
        """Open the hosts to this campaign's key, and take the fleet's lock or renew its lease.

        While another campaign holds the lock, nothing on the hosts is changed. What a dead
        campaign left behind is removed before this returns; if that fails, by a repeated call.

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
        owned_hosts.clean_displaced(self.state, self.fleet)
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
        owned_hosts.give_back(taken.state, taken.access)
        return f"{len(fleet_files.read_fleet(taken.state).hosts)} hosts cleaned"

    @property
    def _topology(self) -> HostsTopology:
        return cast(HostsTopology, self.named_topology)

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Any) -> list[Said]:
        """See :class:`BaseTarget`: hosts are known by their keys before the first login."""
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
            path = str(client.data / owned_hosts.LOCK)
            if executor.run(["test", "-e", path], check=False).exit_code == 0:
                owned_hosts.lock_of(executor, self._named_hosts, self.state).check(self.campaign)

    def _open_hosts(self) -> None:
        """Let this campaign's key in; the hosts are written down first, lest a killed process
        leave a key that nobody removes.
        """
        public = f"{fleet_files.public_key(self.state)} {logins.mark(self.campaign)}"
        fleet_files.opened(self.state).unlink(missing_ok=True)
        fleet_files.write(self.state / fleet_files.OWNER_FILE, self._topology.ssh)
        self.keep(self._named_hosts)
        on_all(self._named_hosts.hosts, lambda host: self._let_in(host, public))
        fleet_files.opened(self.state).touch()

    def _take(self, origin: str) -> Holder | None:
        """Take the lock; first writes down the displaced holder, which has to be cleaned up."""
        lock = owned_hosts.lock_of(self.executor, self.fleet, self.state)
        self._note_displaced(lock.check(self.campaign))
        displaced = lock.acquire(self.campaign, origin, self.lease_s)
        self._note_displaced(displaced)  # the holder may have changed in between
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
            executor.run(["sh", "-c", logins.AUTHORISE, "sh", public])
            # On the client's host, the fleet's lock is in this directory.
            base = str(fleet_files.directory_on(host, self.campaign).parent)
            executor.run(["sudo", "-n", "install", "-d", "-o", host.user, base])

    def _as_owner(self, host: FleetHost) -> SSHExecutor:
        return fleet_files.log_in(host, self.access.ssh_key(self._topology.ssh), self.campaign)

    def _check_host(self, host: FleetHost) -> None:
        executor = self.executor_of(host)
        sudo = executor.run(["sudo", "-n", "true"], check=False)
        if sudo.exit_code != 0:
            raise TargetError(
                f"{executor.host}: {host.user} has no sudo without a password "
                f"({sudo.stderr.strip() or sudo.exit_code}); TiUP and restores need it"
            )
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
        """Whether there is room for all sides, counting what a resumed campaign has there."""
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
