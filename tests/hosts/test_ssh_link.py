"""The link to a host over SSH: one that breaks loses nothing, and one that is lost is named."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchlab.errors import CommandTimeout, UnreachableError
from benchlab.hosts.executor import JobStatus
from benchlab.hosts.fleet import FleetHost, on_all
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.hosts.ssh.link import Limits
from tests.hosts.namespaces import NamespaceHost, Namespaces, own
from tests.hosts.ssh_probes import Describe, connections, programs, succeeds, until

SECRET = "hunter2-hunter2"
SLEEP = ["sleep", "600"]
# Short, so that what a host does not answer is known soon.
QUICK = Limits(connect_s=3, keepalive_s=0.5, grace_s=1)


# ---------------------------------------------------------------- the link


def test_a_host_that_is_not_there_is_an_error_that_names_it(
    make: Callable[..., SSHExecutor], namespaces: Namespaces, host: NamespaceHost
) -> None:
    """Refused, silent, or no SSH server at all: each says so, within the time limit."""
    with pytest.raises(
        UnreachableError, match=r"tikv-1 .* cannot be reached .* port 1: nothing listens there"
    ):
        make(ssh_port=1).run(["true"])
    with socket.create_server((namespaces.gateway, 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(UnreachableError, match="does not answer"):
            make(limits=QUICK, ssh_address=namespaces.gateway, ssh_port=port).run(["true"])
    namespaces.set_link(host.address, False)
    with pytest.raises(UnreachableError, match="cannot be reached over SSH"):
        make(limits=QUICK).run(["true"])
    namespaces.set_link(host.address, True)


def test_a_rented_host_that_lets_in_another_address_than_this_one_s_says_so(
    make: Callable[..., SSHExecutor], namespaces: Namespaces
) -> None:
    """Its network drops what this machine sends, and only the address explains it."""
    with pytest.raises(UnreachableError) as caught:
        make(ssh_port=1, let_in="203.0.113.7/32").run(["true"])
    assert f"address is {namespaces.gateway} now, and the hosts let in 203.0.113.7/32" in str(
        caught.value
    )
    with pytest.raises(UnreachableError) as caught:
        make(ssh_port=1, let_in=f"{namespaces.gateway}/32").run(["true"])
    assert "let in" not in str(caught.value)


def test_a_link_that_is_down_for_a_while_loses_nothing(
    make: Callable[..., SSHExecutor], namespaces: Namespaces, host: NamespaceHost
) -> None:
    """A job goes on, ends, and is found complete; a second one is not started."""
    executor = make(limits=QUICK)
    wait = "until [ -e /home/admin/go ]; do sleep 0.02; done; echo done; exit 7"
    executor.start_job("a", ["sh", "-c", wait])
    namespaces.set_link(host.address, False)
    with pytest.raises(UnreachableError):
        executor.job_status("a")
    host.run("touch /home/admin/go")
    until(lambda: (host.root / "home/admin/x/jobs/a/exit_code").exists())
    namespaces.set_link(host.address, True)

    def found() -> bool:
        try:
            return executor.job_status("a") == JobStatus("complete", 7)
        except UnreachableError:
            return False

    until(found)
    assert executor.job_output("a") == "done\n"
    assert not executor.start_job("a", SLEEP)


def test_a_command_survives_a_link_that_is_down_for_a_moment(
    make: Callable[..., SSHExecutor], namespaces: Namespaces, host: NamespaceHost
) -> None:
    """Shorter than the keepalive's patience it is not even noticed."""
    executor = make()
    script = "touch /home/admin/begun; until [ -e /home/admin/go ]; do sleep 0.02; done; echo x"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(executor.run, ["sh", "-c", script])
        until((host.root / "home/admin/begun").exists)
        namespaces.set_link(host.address, False)
        host.run("touch /home/admin/go")
        namespaces.set_link(host.address, True)
        assert running.result().stdout == "x\n"


@pytest.mark.fault(
    "an SSH link is cut in a command",
    promise="the error names the host, and the host ends the command",
    of="hosts",
)
@pytest.mark.parametrize("limits", [QUICK, replace(QUICK, keepalive_s=600)])
def test_a_link_that_is_lost_for_good_is_an_error_that_names_the_host(
    make: Callable[..., SSHExecutor], namespaces: Namespaces, host: NamespaceHost, limits: Limits
) -> None:
    """By keepalive long before the command's limit, or soon after it; the host ends the command."""
    executor = make(limits=limits)
    limit_s = 60 if limits is QUICK else 1
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(executor.run, SLEEP, timeout_s=limit_s)
        until(lambda: programs(host, "sleep") == 1)
        namespaces.set_link(host.address, False)
        with pytest.raises(UnreachableError, match=r"tikv-1 .* was lost") as caught:
            running.result()
    assert "while running `sleep 600`" in str(caught.value)
    if limits is not QUICK:
        until(lambda: programs(host, "sleep") == 0)
    namespaces.set_link(host.address, True)


@pytest.mark.fault(
    "a host dies in a command",
    promise="it is distinguished from a command that failed or took too long",
    of="hosts",
)
def test_a_host_that_dies_in_the_middle_of_a_command_is_unreachable(
    make: Callable[..., SSHExecutor], namespaces: Namespaces, host: NamespaceHost
) -> None:
    """It is no failure of the command, and no time-out; so is every later call."""
    executor = make(limits=QUICK)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(executor.run, SLEEP)
        until(lambda: programs(host, "sleep") == 1)
        namespaces.remove(host.address)
        with pytest.raises(UnreachableError, match="was lost"):
            running.result()
    with pytest.raises(UnreachableError, match="cannot be reached"):
        executor.run(["true"])


def test_a_host_that_answers_while_its_command_does_not_end_is_not_unreachable(
    make: Callable[..., SSHExecutor], host: NamespaceHost
) -> None:
    """A command that even the host cannot end has taken too long; the link is not to blame."""
    executor = make(limits=QUICK)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(executor.run, SLEEP, timeout_s=1)
        until(lambda: programs(host, "sleep") == 1)
        host.run("pkill -STOP -u admin -x timeout; pkill -STOP -u admin -x sh")
        with pytest.raises(CommandTimeout, match="time limit: 1 s"):
            running.result()
    assert executor.run(["echo", "x"]).stdout == "x\n"


@pytest.mark.fault(
    "a connection was lost between two commands",
    promise="the next command opens another",
    of="hosts",
)
def test_a_lost_connection_is_opened_again(executor: SSHExecutor, host: NamespaceHost) -> None:
    """By the next call, and by the one after `close`."""
    executor.run(["true"])
    host.run("pkill -u admin -x sshd")
    until(lambda: connections(host) == 0)
    until(lambda: succeeds(executor))
    executor.close()
    assert connections(host) == 0
    assert executor.run(["echo", "x"]).stdout == "x\n"


@pytest.mark.fault(
    "the process that started a job on a host is killed",
    promise="the job runs on, to be adopted",
    of="hosts",
)
def test_a_job_outlives_the_process_that_started_it(
    make: Callable[..., SSHExecutor], host: NamespaceHost, ssh_key: tuple[str, str], tmp_path: Path
) -> None:
    """A task killed with its whole process group leaves its client running, to be adopted."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.hosts.fleet import FleetHost\n"
        "from benchlab.hosts.ssh.executor import SSHExecutor\n"
        "address, key, campaign = sys.argv[1:]\n"
        "host = FleetHost('tikv-1', (), address, address, 'admin', key, Path('/'))\n"
        "executor = SSHExecutor(host, sys.stdin.read(), campaign, Path('/home/admin/x'))\n"
        "executor.start_job('a', ['sleep', '600'])\n"
        "print('started', flush=True)\nexecutor.run(['sleep', '600'])"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code, host.address, host.host_key, own("c1")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert starter.stdin is not None
    assert starter.stdout is not None
    starter.stdin.write(ssh_key[0])
    starter.stdin.close()
    assert starter.stdout.readline() == "started\n"
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()
    starter.stdout.close()
    executor = make()
    assert executor.job_status("a").state == "running"
    assert not executor.start_job("a", SLEEP)
    until(lambda: connections(host) == 1)
    assert executor.job_status("a").state == "running"


# From Python 3.12 on; Airflow does it all the same.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_fork_opens_a_connection_of_its_own(executor: SSHExecutor, host: NamespaceHost) -> None:
    """Airflow forks its tasks; parent and child go on, also while the parent is at work."""
    executor.run(["true"])
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child(number: int) -> None:
        answers.put(executor.run(["sh", "-c", f"sleep 0.2; echo {number}"]).stdout)

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(executor.run, ["sh", "-c", "sleep 1; echo parent"])
        children = [context.Process(target=child, args=(number,)) for number in range(3)]
        for process in children:
            process.start()
        assert sorted(answers.get() for _ in children) == ["0\n", "1\n", "2\n"]
        for process in children:
            process.join()
        assert busy.result().stdout == "parent\n"
    assert [process.exitcode for process in children] == [0, 0, 0]
    assert executor.run(["echo", "x"]).stdout == "x\n"
    until(lambda: connections(host) == 1)


# ---------------------------------------------------------------- fleet


def test_ten_hosts_work_at_once_and_a_failing_one_is_named(
    namespaces: Namespaces, ssh_key: tuple[str, str], fleet_host: Describe
) -> None:
    """All are finished; the error names the one that failed and why."""
    addresses = [f"{namespaces.gateway[:-1]}{number}" for number in range(200, 210)]
    with ThreadPoolExecutor(4) as pool:
        hosts = list(pool.map(lambda a: namespaces.add(a, ssh_key[1]), addresses))
    fleet = [fleet_host(host, f"tikv-{n}") for n, host in enumerate(hosts, 1)]
    limits = Limits(connect_s=3)
    executors = {
        h.name: SSHExecutor(h, ssh_key[0], own("c1"), Path("/home/admin/x"), limits=limits)
        for h in fleet
    }
    meeting = threading.Barrier(len(fleet), timeout=60)

    def work(host: FleetHost) -> str:
        executor = executors[host.name]
        executor.run(["touch", "/home/admin/begun"])
        meeting.wait()  # broken where not all are at work at the same time
        return executor.run(["hostname"]).stdout.strip()

    names = on_all(fleet, work)
    assert names == {h.name: "ip-" + h.address.replace(".", "-") for h in fleet}
    namespaces.remove(fleet[6].address)
    with pytest.raises(UnreachableError, match=r"tikv-7 \(.*\.206\)"):
        on_all(fleet, lambda host: executors[host.name].run(["touch", "/home/admin/done"]))
    for described, host in zip(fleet, hosts, strict=True):
        if described.name != "tikv-7":
            assert (host.root / "home/admin/done").exists()
            executors[described.name].close()
            namespaces.remove(host.address)


def test_what_the_host_needs_is_there(executor: SSHExecutor) -> None:
    """Python is not among it: a host without any can be measured."""
    executor.run(["sudo", "-n", "sh", "-c", "chmod 000 /usr/bin/python3* /usr/bin/perl*"])
    executor.put(Path("/home/admin/file"), "x")
    executor.start_job("a", SLEEP)
    executor.stop_job("a")
    executor.forget_job("a")
    assert executor.end_processes() == 0
