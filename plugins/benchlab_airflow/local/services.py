"""The Airflow services of `make up`: one supervised group of processes on loopback.

    python -m benchlab_airflow.local.services up|down|status [--port N]

supervisord restarts a service that dies. ``down`` does not rely on processes to clean up: every
process that is started here, and each descendant down to database servers and benchmark clients,
has ``BENCHLAB_SERVICES=<home>`` in its environment, and ``down`` ends all that have it.
"""

from __future__ import annotations

import argparse
import configparser
import errno
import fcntl
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from supervisor.xmlrpc import SupervisorTransport

from benchlab import home as benchlab_home
from benchlab.errors import BenchlabError, meaning_of
from benchlab.hosts.executor import tagged
from benchlab.hosts.lock import MachineLock
from benchlab.results import store
from benchlab_airflow.local.airflow_home import (
    AUTH_MANAGER,
    BASE_URL,
    LOOPBACK,
    PORT_VARIABLE,
    USER,
    AirflowHome,
)

TAG = "BENCHLAB_SERVICES"
DEFAULT_PORT = 8080
# Twenty seconds on an idle machine with two cores, well over a minute on a busy one.
START_TIMEOUT_S = 300.0

# What `python -m` runs for each. Without --skip-serve-logs, a log server would listen on all
# addresses.
COMMANDS = {
    "api-server": "airflow api-server",
    "scheduler": "benchlab_airflow.local.scheduler scheduler --skip-serve-logs",
    "dag-processor": "airflow dag-processor",
    "triggerer": "airflow triggerer --skip-serve-logs",
}
# Services that stop their own children, and hang if these are already gone.
STOPS_ITS_CHILDREN = {"triggerer"}


class ServicesError(BenchlabError):
    """The services could not be started; the message says what to do."""


class Services:
    """The group of service processes of one Benchlab home.

    >>> Services(Path(".benchlab")).up(port=8080)

    Attributes:
        directory: configuration, pid file and logs of the group.
        config: the rendered supervisord configuration.
        airflow: the Airflow home that the services use.
    """

    def __init__(self, home: Path, say: Callable[[str], None] = print) -> None:
        self.home, self.say = home, say
        self.directory = home / "services"
        self.config = self.directory / "supervisord.conf"
        self.airflow = AirflowHome(home)

    def up(self, port: int | None = None, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start the group and wait until it is healthy; if it is up already, print its address.

        On an error or Ctrl-C, what was started is stopped again.

        Raises:
            ServicesError: a service does not start, the port is taken, or `make demo` is at work.
            AirflowHomeError: Airflow's database cannot be migrated.
        """
        with self._locked():
            if supervisor := self._supervisor():
                running = int(supervisor.environ()[PORT_VARIABLE])
                self.say(f"Already started, on port {running}.")
                if port not in (None, running):
                    self.say(f"To move it to another port: make down, then make up PORT={port}")
                self._wait_until_healthy(running, timeout_s, since=None)
                self._announce(running)
                return
            self._end_leftover()
            port = port or DEFAULT_PORT
            _require_free(port)
            self.say("Preparing Airflow's configuration and database ...")
            self.airflow.ensure()
            self.airflow.fail_killed_runs()
            store.upgrade(replace(benchlab_home.find(), root=self.home), self.say)
            self.say("Starting the Airflow services ...")
            try:
                since = datetime.now(UTC)
                self._start(port)
                self._wait_until_healthy(port, timeout_s, since)
            except BaseException:
                self.say("Stopping what was started ...")
                self._end_all()
                raise
            self._announce(port)

    def down(self) -> None:
        """End all processes of the group, if any, and release the machine's lock.

        Raises:
            ServicesError: `make demo` is at work, or SIGKILL does not end a process.
        """
        with self._locked():
            if not self._processes():
                self._remove_socket()
                self.say("Not running: nothing to stop.")
                return
            self.say("Stopping the Airflow services ...")
            ended, killed = self._end_all()
            self._free_machine()
            by_force = f", {killed} of them by force" if killed else ""
            self.say(f"Stopped: {ended} processes ended{by_force}.")

    def status(self) -> bool:
        """Print the state of every service; return whether the group is up and healthy."""
        processes = self._processes()
        supervisor = self._supervisor()
        if supervisor is None:
            left = f"Not running, but processes are left behind ({len(processes)}). End them with: "
            self.say(f"{left}make down" if processes else "Not running. Start it with: make up")
            return False
        port = int(supervisor.environ()[PORT_VARIABLE])
        ready = _healthy(port, since=None)
        for name, state in self._states().items():
            self.say(f"{name:14} {state:9} {'healthy' if name in ready else 'not healthy'}")
        self.say(f"{len(processes)} processes; http://{LOOPBACK}:{port}; logs in {self.directory}")
        return ready == set(COMMANDS)

    def address(self) -> str | None:
        """The address of the UI; None if the services are not running."""
        supervisor = self._supervisor()
        return f"http://{LOOPBACK}:{supervisor.environ()[PORT_VARIABLE]}" if supervisor else None

    @contextmanager
    def for_one_run(self, campaign: str) -> Iterator[tuple[AirflowHome, tuple[int, ...]]]:
        """Reserve an Airflow home for a campaign without a scheduler (``airflow dags test``).

        It is the services' home, so that they show the run later. They cannot be started meanwhile,
        as their scheduler would take over the run. If they are running, it is another home.

        Yields:
            The home, and file descriptors for the process that runs the campaign to inherit: while
            it has them, the services cannot be started, even if the caller is killed.

        Raises:
            ServicesError: another campaign is using the home; names it.
            AirflowHomeError: as :meth:`up`.
        """
        with self._locked(campaign) as lock:
            if self._supervisor() is None:
                self._end_leftover()
                self.airflow.ensure()
                self.airflow.fail_killed_runs()
                try:
                    yield self.airflow, (lock,)
                finally:
                    self.airflow.fail_killed_runs()
                return
        own = AirflowHome(self.home, "airflow-demo")
        own.ensure()
        yield own, ()

    def _start(self, port: int) -> None:
        """Start supervisord, which puts itself into the background."""
        self._remove_socket()
        # The path of a Unix socket has at most 107 bytes, which a deep home exceeds.
        control = Path(tempfile.mkdtemp(prefix="benchlab-", dir=_short_temp_dir())) / "control"
        self.config.write_text(render(control))
        done = subprocess.run(
            [sys.executable, "-m", "supervisor.supervisord", "-c", str(self.config)],
            env=self.airflow.environment(port) | {TAG: str(self.home)},
            cwd=self.airflow.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise ServicesError(
                f"supervisord did not start: {(done.stderr or done.stdout).strip()}"
            )

    def _wait_until_healthy(self, port: int, timeout_s: float, since: datetime | None) -> None:
        """Wait until every service reports a heartbeat, and print which are ready."""
        started = time.monotonic()
        ready: set[str] = set()
        while ready != set(COMMANDS):
            time.sleep(0.3)
            waited = time.monotonic() - started
            before, ready = ready, _healthy(port, since)
            for name in COMMANDS:
                if since and name in ready - before:
                    self.say(f"  {name:14} ready after {waited:.0f} s")
            for name, state in self._states().items():
                if state == "FATAL":
                    raise ServicesError(f"{name} does not start.\n{self._log_tail(name)}")
            if waited > timeout_s and ready != set(COMMANDS):
                name = next(name for name in COMMANDS if name not in ready)
                raise ServicesError(
                    f"{name} is not healthy after {waited:.0f} s.\n{self._log_tail(name)}"
                )

    def _announce(self, port: int) -> None:
        """Print address and login, to the terminal only, never to a log."""
        environment = self.airflow.environment(port)
        self.say(f"\nAirflow:   {environment[BASE_URL]}")
        if AUTH_MANAGER in environment:
            self.say("People:    bin/airflow users list")
        else:
            self.say(f"User:      {USER}\nPassword:  {self.airflow.password()}")
        self.say("Stop it with: make down")

    def _states(self) -> dict[str, str]:
        """The state of each service according to supervisord: RUNNING, STARTING, FATAL, ..."""
        transport = SupervisorTransport(None, None, f"unix://{self._control_socket()}")
        proxy = xmlrpc.client.ServerProxy(f"http://{LOOPBACK}", transport=transport)
        try:
            with proxy:
                infos: Any = proxy.supervisor.getAllProcessInfo()
        except (OSError, http.client.HTTPException, xmlrpc.client.Error):
            return dict.fromkeys(COMMANDS, "UNKNOWN")
        return {info["name"]: info["statename"] for info in infos}

    def _log_tail(self, name: str) -> str:
        """The last lines of a service's log, and where to read the rest."""
        log = self.directory / f"{name}.log"
        text = log.read_text(errors="replace") if log.exists() else "(it wrote no log)"
        tail = "\n".join(f"  {line}" for line in text.splitlines()[-15:])
        return f"The last lines of {log}:\n{tail}"

    def _processes(self) -> set[psutil.Process]:
        """Every process with this home's tag, except the caller and its parents."""
        found = set()
        for pid in tagged(f"{TAG}={self.home}"):
            with suppress(psutil.NoSuchProcess):
                found.add(psutil.Process(pid))
        return found - set(psutil.Process().parents())

    def _supervisor(self) -> psutil.Process | None:
        """The supervisord of this home, if it is alive."""
        for process in self._processes():
            with suppress(psutil.Error):
                if str(self.config) in process.cmdline():
                    return process
        return None

    def _end_all(self) -> tuple[int, int]:
        """End the group; return how many processes ended and how many of them had to be killed.

        supervisord goes first, because it would restart the others. These are ended repeatedly,
        because a dying process may still start another.
        """
        ended = self._processes()
        killed: set[psutil.Process] = set()
        if supervisor := self._supervisor():
            killed |= _terminate({supervisor}, patience_s=30)
        for patience_s in (5.0, 2.0, 0.0):
            if left := self._processes():
                ended |= left
                killed |= _terminate(left, patience_s)
        if left := self._processes():
            pids = ", ".join(str(process.pid) for process in left)
            raise ServicesError(
                f"These processes of {self.home} do not end, not even by SIGKILL: {pids}"
            )
        self._remove_socket()
        return len(ended), len(killed)

    def _end_leftover(self) -> None:
        if leftover := self._processes():
            self.say(f"Ending {len(leftover)} processes that an earlier group left behind ...")
            self._end_all()

    def _free_machine(self) -> None:
        """Release the machine's lock if a campaign of these services holds it."""
        lock = MachineLock()
        holder = lock.holder()
        if holder is None or holder.driver is not None or holder.home != str(self.home):
            return
        if lock.release(holder.campaign):
            self.say(f"Campaign {holder.campaign} was interrupted; it goes on after `make up`.")

    def _control_socket(self) -> Path | None:
        """The socket of supervisord, by its configuration; None if there is none."""
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(self.config)
        path = parser.get("unix_http_server", "file", fallback=None)
        return Path(path) if path else None

    def _remove_socket(self) -> None:
        """Remove the control socket's private folder, once the group is gone."""
        if (path := self._control_socket()) and path.parent.name.startswith("benchlab-"):
            shutil.rmtree(path.parent, ignore_errors=True)

    @contextmanager
    def _locked(self, campaign: str = "") -> Iterator[int]:
        """Allow only one of ``up``, ``down`` and demo runs at a time in this home."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.directory / ".lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                if holder := file.read():
                    raise ServicesError(
                        f"`make demo` is at work in this Airflow, with campaign {holder}. Wait for "
                        f"it, or end it with Ctrl-C or `benchlab give-back {holder}`"
                    ) from None
                self.say("Another `make up` or `make down` is at work: waiting for it ...")
                fcntl.flock(file, fcntl.LOCK_EX)
            file.truncate(0)
            file.write(campaign)
            file.flush()
            yield file.fileno()


def render(control_socket: Path) -> str:
    """The supervisord configuration; ``%(here)s`` is its folder, so that no path needs quoting."""
    head = f"""\
; Written by Benchlab (benchlab_airflow/local/services.py); edits are replaced.
[supervisord]
logfile=%(here)s/supervisord.log
logfile_maxbytes=1MB
logfile_backups=1
pidfile=%(here)s/supervisord.pid
umask=077

[unix_http_server]
file={control_socket}
chmod=0600

[supervisorctl]
serverurl=unix://{control_socket}

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""
    python = Path(sys.executable).name  # its folder comes first in PATH
    programs = [
        f"""
[program:{name}]
command={python} -m {command}
autorestart=true
startsecs=3
startretries=3
stopwaitsecs=5
stopasgroup={"false" if name in STOPS_ITS_CHILDREN else "true"}
killasgroup=true
redirect_stderr=true
stdout_logfile=%(here)s/{name}.log
stdout_logfile_maxbytes=20MB
stdout_logfile_backups=1
"""
        for name, command in COMMANDS.items()
    ]
    # One group, because supervisord stops groups one after another.
    return head + "".join(programs) + f"\n[group:airflow]\nprograms={','.join(COMMANDS)}\n"


def _healthy(port: int, since: datetime | None) -> set[str]:
    """The services that are healthy now.

    Args:
        since: heartbeats before this time are ignored: for half a minute, those of a previous group
            would make one that is still starting look healthy.
    """
    try:
        with closing(http.client.HTTPConnection(LOOPBACK, port, timeout=5)) as connection:
            connection.request("GET", "/api/v2/monitor/health")
            answer = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return set()
    healthy = {"api-server"} if answer.get("metadatabase", {}).get("status") == "healthy" else set()
    for name in COMMANDS:
        key = name.replace("-", "_")  # as the answer calls it
        state = answer.get(key) or {}
        beat = state.get(f"latest_{key}_heartbeat")
        is_ours = beat and (since is None or datetime.fromisoformat(beat) >= since)
        if is_ours and state.get("status") == "healthy":
            healthy.add(name)
    return healthy


def _require_free(port: int) -> None:
    """Check that a port can be used.

    Raises:
        ServicesError: it cannot; names the port and, if known, the process that uses it.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            other = port + 1 if port < 65535 else DEFAULT_PORT
            is_taken = error.errno == errno.EADDRINUSE
            why = (
                f"is in use{_holder(port)}" if is_taken else f"cannot be used: {meaning_of(error)}"
            )
            raise ServicesError(
                f"Port {port} {why}. Choose another: make up PORT={other}"
            ) from error


def _holder(port: int) -> str:
    """`` by <name> (pid <n>)`` for the process that listens on ``port``; empty if unknown."""
    with suppress(psutil.Error, OSError):
        for found in psutil.net_connections("tcp"):
            listens = found.status == psutil.CONN_LISTEN and found.laddr[1:] == (port,)
            if listens and found.pid:
                return f" by {psutil.Process(found.pid).name()} (pid {found.pid})"
    return ""


def _short_temp_dir() -> str:
    """The usual folder for temporary files, or ``/tmp`` if its path is long."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) < 60 else "/tmp"  # noqa: S108 (mkdtemp makes it private)


def _terminate(group: set[psutil.Process], patience_s: float) -> set[psutil.Process]:
    """SIGTERM, wait, SIGKILL; return the processes that had to be killed."""
    for process in group:
        with suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(group, timeout=patience_s)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=5)
    return set(alive)


def _port(text: str) -> int:
    """A port number from the command line."""
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 1 to 65535")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    """The command line; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchlab_airflow.local.services", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("action", choices=["up", "down", "status"])
    parser.add_argument(
        "--port",
        type=_port,
        default=os.environ.get("PORT") or None,
        help=f"of the UI; by default {DEFAULT_PORT}",
    )
    parser.add_argument(
        "--timeout", type=float, default=START_TIMEOUT_S, help="seconds to wait for `up`"
    )
    options = parser.parse_args(arguments)
    services = Services(benchlab_home.find().root, say=lambda line: print(line, flush=True))
    try:
        if options.action == "up":
            services.up(options.port, options.timeout)
        elif options.action == "down":
            services.down()
        else:
            return 0 if services.status() else 1
    except BenchlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
