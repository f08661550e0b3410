"""Runs the ``tiup`` command line on the client's host.

TiUP keeps what it knows of clusters in ``~/.tiup`` on the machine it runs on. Seen with 1.16:

* with ``--format json`` the result is on stdout and ``{"exit_code": 0}`` on stderr;
* a second deployment under one name, an unknown version, a configuration that a server refuses
  and a host out of reach all end with exit code 1;
* after a refused configuration there are files on every host, but TiUP knows no cluster to destroy.

BR, which copies a dataset to object storage and back, is another component of TiUP.

Example:
    ``TiUP(executor, "admin", key).clusters()`` are the names of its clusters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from benchlab.errors import CommandError, CommandTimeout, UnavailableError
from benchlab.hosts.executor import Completed, Executor

# For an operation on one server: systemd may take 90 s to stop a TiKV.
WAIT_S = 120
CONCURRENCY = 5
DEPLOY_LIMIT_S = 1800.0
OPERATION_LIMIT_S = 900.0
QUERY_LIMIT_S = 120.0
COPY_LIMIT_S = 6 * 3600.0

# What TiUP's messages mean for a campaign, and what to do.
HINTS = {
    r"deploy\.name_dup|is duplicated": (
        "a cluster of this name is there already: destroy it with `tiup cluster destroy NAME`"
    ),
    r"deploy\.port_conflict": (
        "another cluster that TiUP knows of has one of these ports on one of these hosts: "
        "destroy it, or choose other ports"
    ),
    r"deploy\.dir_conflict|deploy\.dir_overlap": (
        "another cluster that TiUP knows of has one of these directories: destroy it"
    ),
    r"check config failed|config-check|config check": (
        "a server refuses its configuration: see which item it names above, and correct it in "
        "the report type"
    ),
    r"version \S+ .*not (?:found|exist)|unknown version|not supported|unknown component": (
        "TiUP's mirror does not have this version: `tiup list tidb --all` shows those it has"
    ),
    r"entry \S+ (?:not found )?in package|decompress ": (
        "the package of a build is not as TiUP wants it: a .tar.gz with the server at its root"
    ),
    r"Failed to write public keys": (
        "TiUP takes the first word after AuthorizedKeysFile in that host's /etc/ssh/sshd_config as "
        "it stands: make it `.ssh/authorized_keys`"
    ),
    r"dial tcp|Failed to initialize a SSH|ssh: handshake|unable to authenticate": (
        "a host cannot be logged in to from the client host: see which above"
    ),
}


class TiUP:
    """``tiup`` on one host.

    Args:
        executor: the host it runs on.
        user: the account on the cluster's hosts, with ``sudo``.
        key: path of the account's private key, on the host that TiUP runs on.
    """

    def __init__(self, executor: Executor, user: str, key: Path) -> None:
        self.executor, self.user, self.key = executor, user, key

    @cached_property
    def program(self) -> str:
        """Its path, because TiUP's installer puts it on the PATH of login shells only.

        Raises:
            UnavailableError: it is not installed.
        """
        found = self.executor.run(
            ["sh", "-c", 'command -v tiup || ls "${TIUP_HOME:-$HOME/.tiup}/bin/tiup"'],
            check=False,
        )
        if found.exit_code != 0:
            raise UnavailableError(
                f"on {self.executor.host}: there is no `tiup` on the PATH nor in ~/.tiup/bin; "
                "install it there as docs.pingcap.com/tidb/stable/tiup-overview says"
            )
        return found.stdout.strip().splitlines()[0]

    def deploy(self, name: str, version: str, topology: Path) -> None:
        """Copy and configure a cluster's servers; none is started.

        Raises:
            CommandError: it failed; has TiUP's message and what to do.
            UnavailableError: TiUP is not installed.
        """
        login = ["--user", self.user, "--identity_file", str(self.key)]
        self.cluster("deploy", name, version, str(topology), *login, timeout_s=DEPLOY_LIMIT_S)

    def patch(self, name: str, component: str, package: Path) -> None:
        """Replace a component's binary on all hosts of a cluster that has never been started.

        ``--offline``: TiUP would otherwise restart each server, moving leaders first. Nothing is
        added to a cluster later, so that ``--overwrite`` is not needed. (TiUP 1.16:
        `pkg/cluster/manager/patch.go`, `pkg/cluster/task/install_package.go`.)

        Args:
            package: on TiUP's host: a ``.tar.gz`` with ``<component>-server`` at its root.
        """
        self.cluster(
            "patch", name, str(package), "-R", component, "--offline", timeout_s=DEPLOY_LIMIT_S
        )

    def configure(self, name: str, topology: Path) -> None:
        """Give a stopped cluster's servers the configuration of an edited topology.

        Without ``--skip-restart`` TiUP would restart the servers one by one, moving leaders first.
        TiUP exits with 0 even if it refuses the topology, because it cannot read it or because more
        than configuration has changed. (TiUP 1.16: `pkg/cluster/manager/edit_config.go` and
        `reload.go` beside it.)

        Args:
            topology: what ``show-config`` printed, with other ``server_configs``. What TiUP found
                out about the hosts, such as ``arch``, must stay in it.
        """
        edited = self.cluster("edit-config", name, "--topology-file", str(topology))
        if "could not be saved" in edited.stdout:
            why = said(f"{edited.stdout}\n{edited.stderr}")
            raise CommandError(self.executor.host, f"tiup cluster edit-config {name}", 0, why)
        self.cluster("reload", name, "--skip-restart")

    def has_package(self, component: str, version: str, sha256: str | None) -> bool:
        """Whether the package that TiUP downloaded for a version has this hash."""
        cache = '"${TIUP_HOME:-$HOME/.tiup}/storage/cluster/packages"'
        script = f'cd {cache} && sha256sum "$1-$2-"*.tar.gz'
        done = self.executor.run(
            ["sh", "-c", script, "sh", component, version], check=False, timeout_s=QUERY_LIMIT_S
        )
        return sha256 is not None and sha256 in done.stdout.split()

    def cluster(self, *arguments: str, timeout_s: float = OPERATION_LIMIT_S) -> Completed:
        """Run ``tiup cluster`` without being asked to confirm; raises as :meth:`deploy`.

        Never pass ``--force`` to ``destroy``: TiUP would forget its login on a host that is down.

        Example:
            ``tiup.cluster("start", "c1-baseline")``
        """
        options = ["--yes", "--wait-timeout", str(WAIT_S), "-c", str(CONCURRENCY)]
        return self._run([self.program, "cluster", *arguments, *options], timeout_s=timeout_s)

    def clusters(self) -> list[str]:
        """The names of the clusters that TiUP knows of."""
        return read_list(self.cluster("list", "--format", "json", timeout_s=QUERY_LIMIT_S).stdout)

    def state(self, name: str) -> str:
        """The directory where TiUP keeps what it knows of a cluster, even a half-deployed one."""
        home = self.executor.run(["sh", "-c", 'echo "${TIUP_HOME:-$HOME/.tiup}"']).stdout.strip()
        return f"{home}/storage/cluster/clusters/{name}"

    def login(self, state: str) -> str:
        """The public key of TiUP's login on a cluster's hosts, without its type and name.

        Empty if TiUP has made none. ``state`` is from :meth:`state`.
        """
        public = self.executor.run(["cat", f"{state}/ssh/id_rsa.pub"], check=False)
        return (public.stdout.split() or ["", ""])[1]

    def br(
        self,
        version: str,
        action: str,
        *,
        pd: str,
        storage: str,
        database: str,
        region: str,
        log: Path,
    ) -> None:
        """Copy one database to object storage (``backup``) or back (``restore``).

        Not the whole cluster: from v6.2 on a full restore refuses a cluster that has any database.

        Args:
            action: ``backup`` or ``restore``.
            pd: address of a PD server, as ``host:port``.
            storage: ``s3://bucket/prefix``; every TiKV server reads and writes it itself, with
                its host's permissions (an instance profile).
            region: the bucket's; BR's default is ``us-east-1``.
            log: where it writes its log, which by default stays in ``/tmp``.
        """
        command = [self.program, f"br:{version}", action, "db", "--pd", pd, "--storage", storage]
        # By default BR hands its own credentials on, and those of a role are refused without their
        # session token, which TiKV takes only since v7.6 (tidb#39832, tikv#15722).
        own = ["--send-credentials-to-tikv=false"]
        # A backup keeps the checksum of each table, a restore compares its own with it, whatever
        # numbers the tables have now; by default some versions do neither.
        own.append("--checksum=true")
        options = ["--s3.region", region, *own, "--db", database, "--log-file", str(log)]
        self._run([*command, *options], timeout_s=COPY_LIMIT_S)

    def _run(self, command: Sequence[str], *, timeout_s: float) -> Completed:
        try:
            return self.executor.run(command, timeout_s=timeout_s)
        except CommandTimeout:
            raise
        except CommandError as error:
            output = said(error.output)
            hint = next((hint for word, hint in HINTS.items() if re.search(word, output)), "")
            raise CommandError(error.host, error.command, error.exit_code, output, hint) from error


def read_list(text: str) -> list[str]:
    """Names in ``tiup cluster list --format json``: ``{"clusters": [{"name": "c1", ...}]}``.

    TiUP may print remarks before and after the document.

    Raises:
        CommandError: it is not such a document; quotes it.
    """
    try:
        document, _ = json.JSONDecoder().raw_decode(text, text.find("{"))
        return [entry["name"] for entry in document["clusters"]]
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        is_json = isinstance(error, LookupError | TypeError)
        fault = "no list of clusters with names" if is_json else "no JSON"
        raise CommandError(
            "the client host", "tiup cluster list --format json", 0, text, f"this is {fault}"
        ) from error


def said(output: str) -> str:
    """The part of TiUP's output that reports the failure, without the long progress before it."""
    lines = [line for line in output.splitlines() if line.strip()]
    begin = next((n for n, line in enumerate(lines) if line.startswith("Error:")), None)
    return "\n".join(lines if begin is None else lines[begin:])
