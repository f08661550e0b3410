"""A stand-in for ``tiup`` on the client host of a test fleet. Tests only.

The contract of the real command line, as recorded in the samples of TiUP 1.16: arguments,
outputs, exit codes, state under ``~/.tiup``. It logs in to the hosts by SSH, makes the same
directories, and starts the servers of standin_server.py there, which outlive it as daemons with a
pid file in their deploy directory.

    tiup cluster deploy|patch|start|stop|disable|destroy|display|list ...
    tiup cluster show-config|edit-config|reload ...
    tiup br:VERSION backup|restore db ...
    tiup bench --help; tiup --binary bench
    tiup mirror show

/etc/standin-tiup.json says where MariaDB lies and which versions there are.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import yaml

SETTINGS = json.loads(Path("/etc/standin-tiup.json").read_text())
HOME = Path(os.environ.get("TIUP_HOME") or Path.home() / ".tiup")
CLUSTERS = HOME / "storage" / "cluster" / "clusters"
SERVER = Path(__file__).with_name("standin_server.py")
SYSTEMCTL = Path(__file__).with_name("standin_systemctl.sh")
ORDER = ("pd", "tikv", "tidb")
KEYS = {
    "pd": {"client_port", "peer_port"},
    "tikv": {"port", "status_port"},
    "tidb": {"port", "status_port"},
}
FOUND = {"arch": "amd64", "os": "linux"}
COMMON_KEYS = {"host", "ssh_port", "ignore_exporter", "patched", *FOUND}
UP = {"pd": "/pd/api/v1/health", "tikv": "/config", "tidb": "/status"}
DEFAULTS: dict[str, dict[str, Any]] = {
    "pd": {
        "schedule": {"leader-schedule-limit": 4, "leader-schedule-policy": "count"},
        "replication": {"max-replicas": 3},
    },
    "tikv": {"log-level": "info", "storage": {"scheduler-worker-pool-size": 4}},
    "tidb": {"log": {"level": "info"}, "performance": {"max-procs": 0}, "token-limit": 1000},
}

# What servers of a nightly call themselves: `git describe`, and TiKV's by its Cargo.toml.
# Where a TiDB writes by default, and which version was the first with that item.
IN_TMP = {
    "tmp-storage-path": ((4, 0, 0), "/tmp/1000_tidb"),
    "socket": ((5, 3, 0), "/tmp/tidb-{Port}.sock"),
    "temp-dir": ((6, 3, 0), "/tmp/tidb"),
}
NIGHTLY = {
    "pd": "v9.0.0-beta.2.pre-201-gb7e5b0c",
    "tikv": "v9.0.0-beta.2",
    "tidb": "v9.0.0-beta.2.pre-1895-g5c91a2b",
}

# The file of an account's logins, as FindSSHAuthorizedKeysFile in TiUP's
# pkg/cluster/executor/executor.go finds it: the word is not expanded, includes are not read.
LOGINS = r"""
    keys=$(sudo -n grep -Ev '^\s*#|^\s*$' /etc/ssh/sshd_config |
        awk '/AuthorizedKeysFile/ && NF >= 2 { print $2; exit }')
    : "${keys:=.ssh/authorized_keys}"
    case $keys in /*) ;; *) keys=$HOME/$keys ;; esac
"""

HALT = "sudo -n systemctl stop {}"
Meta = dict[str, Any]


class Failure(Exception):
    """What is printed after ``Error:``; exit code 1."""


class Server:
    """One server of a topology."""

    def __init__(self, meta: Meta, component: str, entry: dict[str, Any]) -> None:
        self.meta, self.component = meta, component
        self.host, self.ssh_port = entry["host"], entry.get("ssh_port", 22)
        self.port = entry["client_port" if component == "pd" else "port"]
        self.status_port = self.port if component == "pd" else entry["status_port"]
        self.ports = {value for key, value in entry.items() if key in KEYS[component]}
        where = meta["topology"]["global"]
        self.deploy_dir = f"{where['deploy_dir']}/{component}-{self.port}"
        keeps_data = component != "tidb"
        self.data_dir = f"{where['data_dir']}/{component}-{self.port}" if keeps_data else ""
        self.id = f"{self.host}:{self.port}"
        self.unit = f"{component}-{self.port}.service"

    def up(self) -> bool:
        url = f"http://{self.host}:{self.status_port}{UP[self.component]}"
        try:
            with urllib.request.urlopen(url, timeout=2):
                return True
        except OSError:
            return False


def servers(meta: Meta) -> list[Server]:
    """All servers of a cluster."""
    return [
        Server(meta, component, entry)
        for component in ORDER
        for entry in meta["topology"].get(f"{component}_servers", ())
    ]


# ---------------------------------------------------------------- SSH


def ssh(server: Server, user: str, key: str, script: str, stdin: bytes = b"") -> str:
    """Run a shell script on a server's host; returns what it printed."""
    done = subprocess.run(
        [
            *("ssh", "-i", key, "-p", str(server.ssh_port), "-o", "BatchMode=yes"),
            *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
            # TiUP waits 5 s for a host that does not answer; here they are on this machine.
            *("-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=2", "-o", "LogLevel=ERROR"),
            # As TiUP's own client has it; what OpenSSH prefers takes a quarter of a second of CPU.
            *("-o", "KexAlgorithms=curve25519-sha256"),
            *(f"{user}@{server.host}", script),
        ],
        input=stdin,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise Failure(
            "executor.ssh.execute_failed: Failed to execute command over SSH for "
            f"'{user}@{server.host}:{server.ssh_port}' {{ssh_stderr: {done.stderr.decode()}, "
            f"ssh_stdout: {done.stdout.decode()}, ssh_command: {script.splitlines()[0]}}}"
        )
    return done.stdout.decode()


def everywhere(
    targets: list[Server], options: argparse.Namespace, work: Callable[[Server], object]
) -> list[str]:
    """Do something for servers, several at once; the failures as texts, after all are done."""
    with ThreadPoolExecutor(max_workers=options.concurrency) as pool:
        futures = [pool.submit(work, server) for server in targets]
    return [str(error) for future in futures if (error := future.exception()) is not None]


def exporters(meta: Meta) -> dict[str, int]:
    """The ports of the exporters, by the names of their units."""
    monitored = meta["topology"].get("monitored", {})
    return {
        "node_exporter": monitored.get("node_exporter_port", 9100),
        "blackbox_exporter": monitored.get("blackbox_exporter_port", 9115),
    }


def one_per_host(found: list[Server]) -> list[Server]:
    """Of servers, one of each host."""
    return list({server.host: server for server in found}.values())


# ---------------------------------------------------------------- what TiUP knows


def known() -> dict[str, Meta]:
    """Clusters with metadata; a directory without is none, as to TiUP."""
    return {
        path.parent.name: yaml.safe_load(path.read_text())
        for path in sorted(CLUSTERS.glob("*/meta.yaml"))
    }


def meta_of(name: str) -> Meta:
    """What is known of a cluster."""
    try:
        return known()[name]
    except KeyError:
        raise Failure(f"Cluster {name} not found") from None


def save(meta: Meta) -> None:
    """Keep what is known of a cluster."""
    (CLUSTERS / meta["name"] / "meta.yaml").write_text(yaml.safe_dump(meta))


def key_of(name: str) -> str:
    """The path of the key that a cluster's deployment made."""
    return str(CLUSTERS / name / "ssh" / "id_rsa")


def read_topology(path: str) -> dict[str, Any]:
    """Read a topology file, strictly."""
    topology: dict[str, Any] = yaml.safe_load(Path(path).read_text())
    allowed = {"global", "monitored", "server_configs", *(f"{name}_servers" for name in ORDER)}
    unknown = [f"field {key} not found in type spec.Specification" for key in {*topology} - allowed]
    for component in ORDER:
        for entry in topology.get(f"{component}_servers", ()):
            unknown += [
                f"field {key} not found in type spec.{component}Spec"
                for key in {*entry} - KEYS[component] - COMMON_KEYS
            ]
    if unknown:
        raise Failure(
            f"Failed to parse topology file {path} (topology.parse_failed)\n"
            "  caused by: yaml: unmarshal errors:\n  " + "\n  ".join(unknown)
        )
    return topology


# ---------------------------------------------------------------- tiup cluster


def deploy(options: argparse.Namespace) -> None:
    """``tiup cluster deploy``."""
    # ValidateClusterNameOrError in TiUP's pkg/cluster/clusterutil/cluster_name.go.
    if not re.fullmatch(r"[a-zA-Z0-9\-_.]+", options.name):
        raise Failure(f"Cluster name '{options.name}' is invalid (common.invalid_cluster_name)")
    if options.name in known():
        raise Failure(
            f"Cluster name '{options.name}' is duplicated (deploy.name_dup)\n\n"
            "Please specify another cluster name"
        )
    meta = {
        "name": options.name,
        "user": options.user,
        "tidb_version": options.version,
        "topology": read_topology(options.topology),
    }
    meta["user"] = meta["topology"]["global"]["user"]
    meta["pause_ms"] = next_pause(options.version)
    found = servers(meta)
    refuse_port_conflict(found)
    refuse_dir_conflict(found)
    hosts = one_per_host(found)
    if failed := everywhere(
        hosts, options, lambda one: ssh(one, options.user, options.identity, "sudo -n uname -m")
    ):
        raise Failure(f"failed to fetch cpu-arch or kernel-name: {failed[0]}")
    if options.version not in SETTINGS["versions"]:
        raise Failure(
            f"version {options.version} on linux/amd64 for component pd not found: unknown version"
        )
    download(options.version)
    key = make_key(options.name)
    public = Path(f"{key}.pub").read_text().strip()
    steps = (
        (hosts, lambda one: ssh(one, options.user, options.identity, authorize(public))),
        (found, lambda one: install(one, meta, found, key)),
        (found, lambda one: check_config(one, meta)),
    )
    for targets, work in steps:
        if failed := everywhere(targets, options, work):
            raise Failure(failed[0])
    for server in found:
        print(f"\tEnable instance {server.id} success")
    for component in ORDER:  # FillHostArchOrOS in TiUP's pkg/cluster/spec/spec.go
        for entry in meta["topology"].get(f"{component}_servers", ()):
            entry.update(FOUND)
    save(meta)
    print(f"Cluster `{options.name}` deployed successfully, you can start it with command: ...")


def next_pause(version: str) -> float:
    """How long TiDB of this deployment waits before each statement."""
    if not (pauses := SETTINGS["pauses_ms"].get(version)):
        return 0.0
    earlier = HOME / "standin-deployments" / version
    earlier.parent.mkdir(parents=True, exist_ok=True)
    with earlier.open("a") as file:
        file.write("x")
    return float(pauses[: len(earlier.read_text())][-1])


def download(version: str) -> None:
    """The packages as TiUP keeps them: Download in its pkg/cluster/operation/download.go. Those of
    the alias `nightly` are not compared with the mirror's again.
    """
    packages = HOME / "storage" / "cluster" / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    for component in ORDER:
        package = packages / f"{component}-{version}-linux-amd64.tar.gz"
        if not package.exists():
            package.write_text(f"{component} {version}\n")


def check_package(package: Path, component: str, cache: Path) -> Path:
    """The server in a package, if TiUP takes it: checkPackage in its pkg/cluster/manager/patch.go,
    and `tar -zxf` of its pkg/cluster/task/install_package.go.
    """
    program = cache / f"{component}-server"
    cache.mkdir(parents=True, exist_ok=True)
    if subprocess.run(["tar", "-xf", str(package), "-C", str(cache)], check=False).returncode:
        raise Failure(f"decompress {package}: exit status 2")
    if not program.exists():
        raise Failure(f"entry {program.name} not found in package {package}")
    if not program.is_file():
        raise Failure(f"entry {program.name} in package {package} is not a regular file")
    if program.stat().st_mode & 0o500 != 0o500:
        raise Failure(f"entry {program.name} in package {package} is not executable")
    if package.read_bytes()[:2] != b"\x1f\x8b":
        raise Failure("stderr: gzip: stdin: not in gzip format")
    return program


def patch(options: argparse.Namespace) -> None:
    """``tiup cluster patch``: Patch in TiUP's pkg/cluster/manager/patch.go."""
    if not options.role:
        raise Failure("the flag -R or -N must be specified at least one")
    meta, package = meta_of(options.name), Path(options.package)
    if not package.exists():
        raise Failure(f"specified package({package}) not exists")
    found, key = servers(meta), key_of(options.name)
    roles = options.role.split(",")
    patched = [one for one in found if one.component in roles]
    if len(roles) > 1:
        raise Failure(f"can't patch more than one component at once: {roles}")
    if not patched:
        raise Failure(f"no instance found on specified role({roles}) and nodes([])")
    program = check_package(package, roles[0], CLUSTERS / options.name / "cache")
    if not options.offline and not all(one.up() for one in found):
        raise Failure("failed to restart: error requesting http://...: connection refused")
    said = program.read_bytes().decode(errors="replace")
    version = re.search("Release Version: (.*)", said)
    git_hash = re.search("Git Commit Hash: (.*)", said)
    if version is None or git_hash is None:
        raise Failure("this stand-in replaces no binary that does not say what it is")
    changes = {roles[0]: (version[1], git_hash[1])}

    def replace(server: Server) -> None:
        settings = json.dumps(settings_of(server, meta, found, changes), indent=1)
        script = f"echo {shlex.quote(settings)} > {server.deploy_dir}/conf/standin.json"
        ssh(server, meta["user"], key, script)

    # All of them: PD says what TiKV is, and MariaDB beside a TiKV what TiDB is.
    if failed := everywhere(found, options, replace):
        raise Failure(failed[0])
    for entry in meta["topology"][f"{roles[0]}_servers"]:
        entry["patched"] = True
    save(meta)


def show_config(options: argparse.Namespace) -> None:
    """``tiup cluster show-config``."""
    print(yaml.safe_dump(meta_of(options.name)["topology"]), end="")


def edit_config(options: argparse.Namespace) -> None:
    """``tiup cluster edit-config``: EditConfig in TiUP's pkg/cluster/manager/edit_config.go, which
    ends well where it refuses a topology. Only configuration is editable of what is written here
    (ValidateSpecDiff in its pkg/utils/diff.go, the tags `validate` in its pkg/cluster/spec).
    """
    meta = meta_of(options.name)
    if not options.topology_file:
        raise Failure("this stand-in opens no editor")
    refused = "New topology could not be saved: "
    try:
        edited = read_topology(options.topology_file)
    except Failure as failure:
        print(f"{refused}Failed to parse topology file: {failure}\nNothing changed.")
        return
    kept = {key: value for key, value in meta["topology"].items() if key != "server_configs"}
    if kept != {key: value for key, value in edited.items() if key != "server_configs"}:
        print(refused)
        print("immutable field changed: ...", file=sys.stderr)
        print("Nothing changed.")
        return
    save({**meta, "topology": edited})
    print("Applying changes...\nApplied successfully, please use `tiup cluster reload ...`")


def reload(options: argparse.Namespace) -> None:
    """``tiup cluster reload``: Reload in TiUP's pkg/cluster/manager/reload.go. A server has what
    was written once it is started.
    """
    if not options.skip_restart:
        raise Failure("this stand-in restarts no servers one by one")
    meta = meta_of(options.name)
    found, key = servers(meta), key_of(options.name)

    def refresh(server: Server) -> None:
        settings = json.dumps(settings_of(server, meta, found), indent=1)
        script = f"echo {shlex.quote(settings)} > {server.deploy_dir}/conf/standin.json"
        ssh(server, meta["user"], key, script)
        check_config(server, meta)

    if failed := everywhere(found, options, refresh):
        raise Failure(failed[0])
    print(f"Reloaded cluster `{options.name}` successfully")


def refuse_port_conflict(found: list[Server]) -> None:
    """No two clusters share a port on a host: CheckClusterPortConflict in TiUP's
    pkg/cluster/spec/validate.go, which lets exporters' ports be where exporters are ignored.
    """
    for name, meta in known().items():
        for other in servers(meta):
            for one in found:
                if one.host != other.host:
                    continue
                if shared := one.ports & other.ports:
                    raise Failure(
                        "Deploy port conflicts to an existing cluster (deploy.port_conflict)\n\n"
                        f"The port you specified in the topology file is:\n  Port: {min(shared)}\n"
                        f"It conflicts to a port in the existing cluster:\n"
                        f"  Existing Cluster Name: {name}"
                    )


def refuse_dir_conflict(found: list[Server]) -> None:
    """No two clusters share a directory on a host: CheckClusterDirConflict, in the same file."""
    for name, meta in known().items():
        for other in servers(meta):
            for one in found:
                dirs = {one.deploy_dir, one.data_dir} & {other.deploy_dir, other.data_dir} - {""}
                if one.host == other.host and dirs:
                    raise Failure(
                        "Deploy directory conflicts to an existing cluster (deploy.dir_conflict)"
                        f"\n\nThe directory you specified in the topology file is:\n"
                        f"  Directory: {min(dirs)}\n"
                        f"It conflicts to a directory in the existing cluster:\n"
                        f"  Existing Cluster Name: {name}"
                    )


def make_key(name: str) -> str:
    """The cluster's own key; the key of an earlier, failed deployment is used again."""
    key = Path(key_of(name))
    key.parent.mkdir(parents=True, exist_ok=True)
    if not key.exists():
        # The shortest that sshd takes; TiUP's 2048 bits take eight times as long to find.
        command = ["ssh-keygen", "-q", "-t", "rsa", "-b", "1024", "-N", "", "-f", str(key)]
        subprocess.run(command, check=True)
    return str(key)


def authorize(public: str) -> str:
    """The script that lets a key log in: EnvInit in TiUP's pkg/cluster/task/env_init.go."""
    return f"""
    mkdir -p ~/.ssh && chmod 700 ~/.ssh
    {LOGINS}
    echo {shlex.quote(public)} >> "$keys" && chmod 600 "$keys" || {{
        echo "Failed to write public keys to '$keys' for user '$USER'" >&2; exit 1
    }}
    """


def install(server: Server, meta: Meta, found: list[Server], key: str) -> None:
    """Directories, program and configuration of one server."""
    deployed, user = server.deploy_dir, meta["user"]
    name = f"{server.component}-server"
    settings = json.dumps(settings_of(server, meta, found), indent=1)
    # TiUP's templates (run_pd.sh.tpl, run_tikv.sh.tpl, run_tidb.sh.tpl) name the log like this.
    log = f"--log-file={deployed}/log/{server.component}.log"
    command = f"/usr/bin/python3 -S bin/{name} {server.id} {log}"
    unit = (
        f"[Service]\nUser={user}\nWorkingDirectory={deployed}\nRestart=always\nRestartSec=15s\n"
        f"ExecStart=exec {command} >> log/{server.component}.log 2>&1\n"
    )
    program = SERVER.read_bytes()
    # Several servers of a host are deployed at once, each with this program: whole or not at all.
    script = f"""
    sudo -n mkdir -p {deployed}/bin {deployed}/conf {deployed}/log {server.data_dir}
    sudo -n chown -R {user} {deployed} {server.data_dir}
    head -c {len(program)} > {deployed}/bin/{name} && chmod 755 {deployed}/bin/{name}
    echo {shlex.quote(settings)} > {deployed}/conf/standin.json
    echo {shlex.quote(unit)} | sudo -n tee /etc/systemd/system/{server.unit} > /dev/null
    sudo -n sh -c 'cat > $0.$$ && chmod 755 $0.$$ && mv -f $0.$$ $0' /usr/local/bin/systemctl
    """
    ssh(server, user, key, script, program + SYSTEMCTL.read_bytes())


def settings_of(
    server: Server,
    meta: Meta,
    found: list[Server],
    changes: dict[str, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """What one server knows of itself and the others; ``changes``: version, commit by component."""
    patched: dict[str, tuple[str, str]] = meta.setdefault("patched", {})
    patched.update(changes or {})
    tikv = [one for one in found if one.component == "tikv"]
    pd = [one for one in found if one.component == "pd"]
    deployed = meta["tidb_version"]
    own = {name: NIGHTLY[name] if deployed == "nightly" else deployed for name in ORDER}
    about = {name: patched.get(name, (own[name], hashed(name, own[name]))) for name in ORDER}
    version, git_hash = about[server.component]
    database = f"{tikv[0].host}:{tikv[0].port + 5}"
    settings = {
        "component": server.component,
        "host": server.host,
        "version": version,
        "git_hash": git_hash,
        "tikv_version": about["tikv"][0],
        "tikv_git_hash": about["tikv"][1],
        "port": server.port,
        "status_port": server.status_port,
        "data_dir": server.data_dir,
        "config": config_of(server, meta),
        "items": meta["topology"].get("server_configs", {}).get(server.component, {}),
        "members": [{"name": f"pd-{one.host}-{one.port}", "url": f"http://{one.id}"} for one in pd],
        "stores": [(one.id, f"{one.host}:{one.status_port}") for one in tikv],
        "database": database,
        "backend": database,
        "pause_ms": meta["pause_ms"],
    }
    if server is tikv[0]:
        settings["mariadb"] = {
            "base": SETTINGS["base"],
            "port": server.port + 5,
            "version": f"5.7.25-TiDB-{about['tidb'][0]}",
        }
    return settings


def config_of(server: Server, meta: Meta) -> dict[str, Any]:
    """Defaults, what the topology sets, and what says where the server lies."""
    config: dict[str, Any] = copy.deepcopy(DEFAULTS[server.component])
    if server.component == "tidb":
        version = parsed(meta["tidb_version"])
        config |= {key: place for key, (since, place) in IN_TMP.items() if version >= since}
    items = meta["topology"].get("server_configs", {}).get(server.component, {})
    for key, value in items.items():
        if key.rpartition(".")[2].startswith("no-such"):
            continue  # no server has it
        *parents, last = key.split(".")
        node = config
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = value
    config["advertise-address"] = server.id
    config["log-file"] = f"{server.deploy_dir}/log/{server.component}.log"
    return config


def check_config(server: Server, meta: Meta) -> None:
    """Let a server check its configuration; only the exit code decides (`checkConfig` of TiUP, as
    its audit log shows it: samples of TiUP 1.16.5).
    """
    place, component = server.deploy_dir, server.component
    data = f'--pd "" --data-dir "{server.data_dir}"' if component == "tikv" else ""
    config = f"--config={place}/conf/{component}.toml"
    program = f"{place}/bin/{component}-server"
    # What it says goes to stderr here, so that a failure names it.
    script = f"{program} --config-check {config} {data} 1>&2"
    try:
        ssh(server, meta["user"], key_of(meta["name"]), script)
    except Failure as failure:
        raise Failure(f"init config failed: {server.id}: {failure}: check config failed") from None


def parsed(version: str) -> tuple[int, ...]:
    """The numbers of a version."""
    version = NIGHTLY["tidb"] if version == "nightly" else version
    return tuple(int(part) for part in version.lstrip("v").split("-")[0].split("."))


def hashed(component: str, version: str) -> str:
    """A made-up commit."""
    return hashlib.sha1(f"{component} {version}".encode()).hexdigest()  # noqa: S324 - a name


def start(options: argparse.Namespace) -> None:
    """``tiup cluster start``."""
    meta = meta_of(options.name)
    found, key = servers(meta), key_of(options.name)

    def launch(server: Server) -> None:
        ssh(server, meta["user"], key, f"sudo -n systemctl start {server.unit}")
        deadline = time.monotonic() + options.wait_timeout
        while not server.up():
            if time.monotonic() > deadline:
                raise Failure(
                    f"failed to start: {server.id} {server.unit}, "
                    f"please check the instance's log({server.deploy_dir}/log) for more detail.: "
                    "timed out waiting for port to be started"
                )
            time.sleep(0.05)
        print(f"\tStart instance {server.id} success")

    for component in ORDER:
        print(f"Starting component {component}")
        idle = [one for one in found if one.component == component and not one.up()]
        if failed := everywhere(idle, options, launch):
            raise Failure(f"failed to start {component}: {failed[0]}")
    print(f"Started cluster `{options.name}` successfully")


def halt(server: Server, user: str, key: str) -> None:
    """End one server and wait for it; it is not started again."""
    ssh(server, user, key, HALT.format(server.unit))


def stop(options: argparse.Namespace) -> None:
    """``tiup cluster stop``."""
    meta = meta_of(options.name)
    found, key = servers(meta), key_of(options.name)
    for component in reversed(ORDER):
        print(f"Stopping component {component}")
        targets = [one for one in found if one.component == component]
        if failed := everywhere(targets, options, lambda one: halt(one, meta["user"], key)):
            raise Failure(f"failed to stop {component}: {failed[0]}")
    print(f"Stopped cluster `{options.name}` successfully")


def disable(options: argparse.Namespace) -> None:
    """``tiup cluster disable``."""
    for server in servers(meta_of(options.name)):
        print(f"\tDisable instance {server.id} success")


def destroy(options: argparse.Namespace) -> None:
    """``tiup cluster destroy``."""
    meta = meta_of(options.name)
    found, key = servers(meta), key_of(options.name)
    public = Path(f"{key}.pub").read_text().split()[1]

    def remove(server: Server) -> None:
        unit = f"/etc/systemd/system/{server.unit}"
        remove = f"sudo -n rm -rf {unit} {server.deploy_dir} {server.data_dir}"
        ssh(server, meta["user"], key, f"{HALT.format(server.unit)} && {remove}")

    def forget_key(server: Server) -> None:
        script = f"""
        {LOGINS}
        sed -i '\\|{public}|d' "$keys"
        """
        ssh(server, meta["user"], key, script)

    def remove_exporters(server: Server) -> None:
        # DestroyMonitored in TiUP's pkg/cluster/operation/destroy.go, whatever is ignored.
        ports = exporters(meta)
        units = [f"/etc/systemd/system/{name}-{port}.service" for name, port in ports.items()]
        listed = ssh(server, meta["user"], key, f"sudo -n rm -rf {' '.join(units)}; ss -ltn")
        for port in ports.values():
            if f":{port} " in listed:
                raise Failure(f"timed out waiting for port {port} to be stopped after 1m0s")

    failed = everywhere(found, options, remove)
    failed += everywhere(one_per_host(found), options, remove_exporters)
    failed += everywhere(one_per_host(found), options, forget_key)
    if failed and not options.force:
        raise Failure(f"failed to destroy: {failed[0]}")
    subprocess.run(["rm", "-rf", str(CLUSTERS / options.name)], check=True)
    print(f"Destroyed cluster `{options.name}` successfully")


def display(options: argparse.Namespace) -> None:
    """``tiup cluster display``."""
    meta = meta_of(options.name)
    instances = [
        {
            "id": one.id,
            "role": one.component,
            "host": one.host,
            "ports": "/".join(map(str, sorted(one.ports))),
            "status": "Up" if one.up() else "Down",
            "data_dir": one.data_dir or "-",
            "deploy_dir": one.deploy_dir,
        }
        for one in servers(meta)
    ]
    cluster = {"cluster_name": options.name, "cluster_version": meta["tidb_version"]}
    if options.format == "json":
        print(json.dumps({"cluster_meta": cluster, "instances": instances}, indent=2))
        return
    for one in instances:
        print("  ".join(one.values()))


def list_clusters(options: argparse.Namespace) -> None:
    """``tiup cluster list``."""
    clusters = [
        {
            "name": name,
            "user": meta["user"],
            "version": meta["tidb_version"],
            "path": str(CLUSTERS / name),
            "private_key": key_of(name),
        }
        for name, meta in known().items()
    ]
    if options.format == "json":
        print(json.dumps({"clusters": clusters}))
        return
    for one in clusters:
        print("  ".join(one.values()))


# ---------------------------------------------------------------- tiup br


def br(options: argparse.Namespace) -> None:
    """``tiup br``; refuses credentials of a role, hosts and versions as the real BR and TiKV do."""
    Path(options.log_file).write_text("[INFO] Welcome to Backup & Restore (BR)")
    version = parsed(options.version)
    if options.storage.startswith("s3:") and options.send_credentials and version < (7, 6, 0):
        # Without the session token that a role's have: tidb#39832; tikv#15722 takes one.
        raise Failure(
            "error happen in store 1: failed to put object rusoto error Request ID: None Body: "
            "<Error><Code>InvalidAccessKeyId</Code></Error>: [BR:KV:ErrKVStorage]tikv storage "
            "occur I/O error"
        )
    if SETTINGS.get("imdsv2_only") and version < (8, 4, 0) and options.storage.startswith("s3:"):
        # tikv#16443
        raise Failure(
            "error happen in store 1: failed to put object rusoto error Couldn't find AWS "
            "credentials in sources: [BR:KV:ErrKVStorage]tikv storage occur I/O error"
        )
    try:
        with urllib.request.urlopen(f"http://{options.pd}/standin/database", timeout=5) as answer:
            host, _, port = json.load(answer).rpartition(":")
        with urllib.request.urlopen(f"http://{options.pd}/pd/api/v1/version", timeout=5) as answer:
            cluster = json.load(answer)["version"]
    except OSError as error:
        raise Failure(f"cannot reach PD {options.pd}: {error}") from error
    if not 0 <= version[0] - parsed(cluster)[0] <= 1:
        # CheckVersionForBR in BR's pkg/version/version.go.
        raise Failure(
            f"TiKV node version {cluster} and BR {options.version} major version mismatch, please "
            "use the same version of BR: [BR:Common:ErrVersionMismatch]version mismatch"
        )
    login = ["--no-defaults", "--skip-ssl", "--user=standin", f"--host={host}", f"--port={port}"]
    if options.action == "backup":
        if read_object(options) is not None:
            # SetStorageAndCheckNotInUse in BR's pkg/backup/client.go.
            raise Failure(
                f"backup meta file exists in {options.storage}/backupmeta, there may be some "
                "backup files in the path already, please specify a correct backup directory!: "
                "[BR:Common:ErrInvalidArgument]invalid argument"
            )
        command = ["mariadb-dump", *login, "--databases", options.db]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise Failure(f"database {options.db} not found: {done.stderr.decode()}")
        meta = {"cluster_version": cluster, "new_collations": parsed(cluster) >= (6, 0, 0)}
        write_object(options, f"-- {json.dumps(meta)}\n".encode() + done.stdout)
    else:
        query = f"SHOW TABLES FROM {options.db}"
        there = subprocess.run(["mariadb", *login, "-e", query], capture_output=True, check=False)
        if there.stdout.strip():
            raise Failure(f"failed to restore: table already exists in {options.db}")
        if (kept := read_object(options)) is None:
            # ReadBackupMeta in BR's pkg/task/common.go.
            raise Failure(f"load backupmeta failed: {options.storage}/backupmeta does not exist")
        refuse_backup(json.loads(kept.splitlines()[0].removeprefix(b"-- ")), cluster)
        subprocess.run(["mariadb", *login], input=kept, check=True)
    print(f"[{options.action.title()} success]")


def refuse_backup(meta: dict[str, Any], cluster: str) -> None:
    """Refuse a backup of a newer version, and one with other collations.

    The real BR refuses the first only where the major versions are two or more apart
    (CheckVersionForBackup in its pkg/version/version.go). TiDB's documentation promises nothing for
    the rest (its matrix of compatible versions has newer clusters only), so nothing may rest on it.
    """
    backup = meta["cluster_version"]
    if parsed(backup) > parsed(cluster):
        raise Failure(
            f"backup with cluster version {backup} cannot be restored at cluster of version "
            f"{cluster}: major version mismatches: [BR:Common:ErrVersionMismatch]version mismatch"
        )
    if meta["new_collations"] != (enabled := parsed(cluster) >= (6, 0, 0)):
        # CheckNewCollationEnable in BR's pkg/task/restore.go; the default is that of TiDB.
        raise Failure(
            "the config 'new_collations_enabled_on_first_bootstrap' not match, "
            f"upstream:{meta['new_collations']}, downstream: {enabled}: "
            "[BR:Common:ErrUnknown]internal error"
        )


def write_object(options: argparse.Namespace, data: bytes) -> None:
    """Keep a backup."""
    url = urlsplit(options.storage)
    if url.scheme == "local":
        Path(url.path).mkdir(parents=True, exist_ok=True)
        (Path(url.path) / "backupmeta").write_bytes(data)
        return
    key = f"{url.path.strip('/')}/backupmeta"
    s3(options).put_object(Bucket=url.netloc, Key=key, Body=data)


def read_object(options: argparse.Namespace) -> bytes | None:
    """A backup that was kept; None where there is none."""
    url = urlsplit(options.storage)
    if url.scheme == "local":
        file = Path(url.path) / "backupmeta"
        return file.read_bytes() if file.exists() else None
    key, client = f"{url.path.strip('/')}/backupmeta", s3(options)
    try:
        kept: bytes = client.get_object(Bucket=url.netloc, Key=key)["Body"].read()
    except client.exceptions.NoSuchKey:
        return None
    return kept


def s3(options: argparse.Namespace) -> Any:
    """A client whose credentials come from the environment."""
    import boto3

    return boto3.client("s3", endpoint_url=options.endpoint, region_name=options.region)


# ---------------------------------------------------------------- tiup bench


def bench(arguments: list[str]) -> None:
    """``tiup bench --help``, which downloads the component, and ``tiup --binary bench``: RunE of
    TiUP's cmd/root.go. Beside the component's program lies go-tpc, since v1.12.
    """
    component = HOME / "components" / "bench" / "v1.12.0"
    if arguments == ["list", "bench"]:
        print(f"Available versions for bench:\nVersion  Installed\n-------\n{component.name}")
    elif arguments == ["bench", "--help"]:
        component.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).with_name("go-tpc"), component)
    elif arguments == ["--binary", "bench"] and component.exists():
        print(component / "tiup-bench")
    else:
        raise Failure(f"this stand-in does not know `tiup {' '.join(arguments)}`")


# ---------------------------------------------------------------- the command line


class Parser(argparse.ArgumentParser):
    """Ends as TiUP does on arguments it does not know."""

    def error(self, message: str) -> NoReturn:
        raise Failure(message)


def cluster_parser() -> Parser:
    """Arguments of ``tiup cluster``."""
    parser = Parser(prog="tiup cluster", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    work = {
        "deploy": deploy,
        "patch": patch,
        "show-config": show_config,
        "edit-config": edit_config,
        "reload": reload,
        "start": start,
        "stop": stop,
        "disable": disable,
        "destroy": destroy,
        "display": display,
        "list": list_clusters,
    }
    for name, function in work.items():
        command = commands.add_parser(name, allow_abbrev=False)
        command.set_defaults(work=function)
        command.add_argument("-y", "--yes", action="store_true")
        command.add_argument("--wait-timeout", type=int, default=120)
        command.add_argument("-c", "--concurrency", type=int, default=5)
        command.add_argument("--format", default="default")
        if name != "list":
            command.add_argument("name")
        if name == "deploy":
            command.add_argument("version")
            command.add_argument("topology")
            command.add_argument("-u", "--user", required=True)
            command.add_argument("-i", "--identity_file", dest="identity", required=True)
        if name == "patch":
            command.add_argument("package")
            command.add_argument("-R", "--role")
            command.add_argument("--offline", action="store_true")
            command.add_argument("--overwrite", action="store_true")
        if name == "edit-config":
            command.add_argument("--topology-file")
        if name == "reload":
            command.add_argument("--skip-restart", action="store_true")
        if name == "destroy":
            command.add_argument("--force", action="store_true")
    return parser


def br_parser() -> Parser:
    """Arguments of ``tiup br``."""
    parser = Parser(prog="tiup br", allow_abbrev=False)
    parser.add_argument("action", choices=["backup", "restore"])
    parser.add_argument("what", choices=["db"])
    for option in ("--pd", "--storage", "--db"):
        parser.add_argument(option, required=True)
    parser.add_argument("--s3.endpoint", dest="endpoint")
    parser.add_argument("--s3.region", dest="region")
    parser.add_argument("--checksum", choices=["true", "false"])
    parser.add_argument("--log-file", default=f"/tmp/br.log.{time.time()}")
    parser.add_argument(
        "--send-credentials-to-tikv",
        dest="send_credentials",
        type=lambda text: text == "true",
        default=True,
    )
    parser.set_defaults(work=br, format="default", yes=True)
    return parser


def main(arguments: list[str]) -> int:
    """Run one command; returns its exit code."""
    as_json = False
    try:
        if "bench" in arguments[:2]:
            bench(arguments)
            return 0
        if arguments == ["mirror", "show"]:
            print(os.environ.get("TIUP_MIRRORS", "https://tiup-mirrors.pingcap.com"))
            return 0
        component, *rest = arguments
        is_br = component.startswith("br:")
        options = (br_parser() if is_br else cluster_parser()).parse_args(rest)
        options.version = (
            component.removeprefix("br:") if is_br else getattr(options, "version", "")
        )
        as_json = options.format == "json"
        if not options.yes:
            raise Failure("Operation aborted by user (with incorrect answer '')")
        options.work(options)
    except Failure as failure:
        if as_json:
            print(json.dumps({"exit_code": 1, "error": str(failure)}), file=sys.stderr)
        else:
            # printErrorMessageForNormalError in TiUP's components/cluster/command/root.go
            print(
                f"\nError: {failure}\n\nVerbose debug logs has been written to ...", file=sys.stderr
            )
        return 1
    if as_json:
        print(json.dumps({"exit_code": 0}), file=sys.stderr)
    return 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(sys.argv[1:]))
