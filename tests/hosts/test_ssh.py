"""A host over SSH: nothing else is let in, nothing leaks, and a broken link loses nothing."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchlab.errors import CommandError, CommandTimeout, TargetError, UnreachableError
from benchlab.hosts.executor import JOB_TAG, TAG, JobStatus
from benchlab.hosts.fleet import FleetHost, on_all
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.hosts.ssh.link import Limits
from tests.hosts.namespaces import NamespaceHost, Namespaces, new_key
from tests.machine import PROJECT

NUMBERS = itertools.count(100)
SECRET = "hunter2-hunter2"
SLEEP = ["sleep", "600"]
# Short, so that what a host does not answer is known soon.
QUICK = Limits(connect_s=3, keepalive_s=0.5, grace_s=1)

Describe = Callable[..., FleetHost]


@pytest.fixture
def host(namespaces: Namespaces, ssh_key: tuple[str, str]) -> Iterator[NamespaceHost]:
    """A host of the test's own."""
    made = namespaces.add(f"{namespaces.gateway[:-1]}{next(NUMBERS)}", ssh_key[1])
    yield made
    if made.address in namespaces.addresses:
        namespaces.remove(made.address)


@pytest.fixture
def make(
    host: NamespaceHost, ssh_key: tuple[str, str], fleet_host: Describe
) -> Iterator[Callable[..., SSHExecutor]]:
    """Makes executors of the host."""
    made: list[SSHExecutor] = []

    def make(campaign: str = "c1", limits: Limits | None = None, **changed: object) -> SSHExecutor:
        to = replace(fleet_host(host), **changed)  # type: ignore[arg-type]
        made.append(SSHExecutor(to, ssh_key[0], campaign, Path("/home/admin/x"), limits=limits))
        return made[-1]

    yield make
    for executor in made:
        executor.close()


@pytest.fixture
def executor(make: Callable[..., SSHExecutor]) -> SSHExecutor:
    """An executor of the host."""
    return make()


def until(condition: Callable[[], object]) -> None:
    """Wait for something that comes; the test's own time limit is the only one."""
    while not condition():
        time.sleep(0.01)


def programs(host: NamespaceHost, name: str) -> int:
    """How many processes of a name run on a host."""
    return int(host.run(f"ps -C {name} --no-headers | grep -vc defunct", check=False).stdout)


# ---------------------------------------------------------------- who is let in


def test_a_host_with_another_key_is_refused(
    make: Callable[..., SSHExecutor], host: NamespaceHost
) -> None:
    """Nothing is run on it; the error names the host, and both keys by their fingerprints."""
    expected = new_key()[1]
    with pytest.raises(TargetError) as caught:
        make(host_key=expected).run(["touch", "/home/admin/was-here"])
    assert not isinstance(caught.value, UnreachableError)
    prints = [fingerprint(key) for key in (expected, host.host_key)]
    assert f"tikv-1 ({host.address}) is not the host it should be" in str(caught.value)
    assert f"expected the host key ssh-ed25519 {prints[0]}" in str(caught.value)
    assert f"found ssh-ed25519 {prints[1]}" in str(caught.value)
    assert not (host.root / "home/admin/was-here").exists()


def fingerprint(key: str) -> str:
    """A key's fingerprint, as ssh-keygen has it."""
    command = ["ssh-keygen", "-l", "-f", "-"]
    done = subprocess.run(command, input=key, capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def test_a_host_with_a_key_of_another_kind_is_refused(make: Callable[..., SSHExecutor]) -> None:
    """It cannot talk its way out by offering another algorithm."""
    import asyncssh

    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256").export_public_key().decode()
    with pytest.raises(TargetError, match="is not the host it should be: expected the host key ec"):
        make(host_key=other.strip()).run(["true"])


def test_a_host_with_several_keys_is_known_by_any_of_them(
    make: Callable[..., SSHExecutor], host: NamespaceHost
) -> None:
    """Whatever kind the fleet knows it by is the one it is asked for."""
    host.run(
        "cd /etc/ssh; for t in rsa ecdsa; do ssh-keygen -q -t $t -N '' -f host_$t; "
        "echo HostKey /etc/ssh/host_$t >> sshd_config; done; kill -HUP $(cat /run/sshd.pid)"
    )
    for kind in ("rsa", "ecdsa"):
        executor = make(host_key=(host.root / f"etc/ssh/host_{kind}.pub").read_text().strip())
        while not succeeds(executor):  # until sshd has read its settings again
            pass
    assert make().run(["echo", "x"]).stdout == "x\n"


def test_a_known_hosts_file_does_not_let_a_host_in(
    make: Callable[..., SSHExecutor],
    host: NamespaceHost,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The account that Benchlab runs in has no say: only the fleet's own key counts."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "known_hosts").write_text(f"{host.address} {host.host_key}\n")
    (tmp_path / ".ssh" / "config").write_text("StrictHostKeyChecking no\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(TargetError, match="is not the host it should be"):
        make(host_key=new_key()[1]).run(["true"])


def test_a_key_that_the_host_does_not_know_is_an_error_that_says_so(
    host: NamespaceHost, fleet_host: Describe
) -> None:
    """It names the host, the account and the file, and shows nothing of the key."""
    private, _ = new_key()
    with (
        SSHExecutor(fleet_host(host), private, "c1", Path("/x")) as executor,
        pytest.raises(UnreachableError, match=r"does not let admin in.*authorized_keys") as caught,
    ):
        executor.run(["true"])
    assert private.splitlines()[2] not in str(caught.value)


@pytest.mark.parametrize("text", ["", "nonsense", f"-----BEGIN {SECRET}"])
def test_a_key_that_is_none_is_an_error_that_does_not_show_it(
    host: NamespaceHost, fleet_host: Describe, text: str
) -> None:
    """A wrong text in a Connection is named, not printed."""
    executor = SSHExecutor(fleet_host(host), text, "c1", Path("/x"))
    with pytest.raises(TargetError, match="the private SSH key for tikv-1") as caught:
        executor.run(["true"])
    assert SECRET not in str(caught.value)
    assert caught.value.__suppress_context__
    with pytest.raises(TargetError, match="'nonsense' is no public host key"):
        SSHExecutor(fleet_host_with(fleet_host(host)), text, "c1", Path("/x")).run(["true"])


def fleet_host_with(host: FleetHost) -> FleetHost:
    """The host, with a host key that is none."""
    return replace(host, host_key="nonsense")


# ---------------------------------------------------------------- secrets


def test_no_secret_is_in_the_hosts_process_list(executor: SSHExecutor, host: NamespaceHost) -> None:
    """Neither what comes by input nor what comes by environment, in a command, job or file."""
    env = {"MYSQL_PWD": SECRET}
    seen: list[str] = []

    def look() -> None:
        while not stop.is_set():
            seen.append(host.run("cat /proc/[0-9]*/cmdline 2>/dev/null", check=False).stdout)

    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(look)
        until(lambda: len(seen) > 1)
        for number in range(10):
            script = ["sh", "-c", "cat; echo $MYSQL_PWD; sleep 0.05"]
            done = executor.run(script, stdin=SECRET, env=env)
            assert done.stdout == f"{SECRET}{SECRET}\n"
            done = executor.run(["sudo", "-n", "printenv", "MYSQL_PWD"], env=env)
            assert done.stdout == f"{SECRET}\n"
            executor.start_job(f"{number}", ["sh", "-c", "echo $MYSQL_PWD; sleep 0.05"], env=env)
            executor.put(Path("/home/admin/secret"), SECRET, private=True)
        stop.set()
        looking.result()
    assert any("sleep\0" in text for text in seen)
    assert not [text for text in seen if SECRET in text]
    kept = host.run(f"grep -rl {SECRET} /home/admin /tmp /run /var/log", check=False).stdout
    # The project lies on the hosts as well, and with it this file.
    assert sorted(path for path in kept.split() if not path.startswith(str(PROJECT))) == sorted(
        ["/home/admin/secret", *(f"/home/admin/x/jobs/{n}/output" for n in range(10))]
    )


def test_no_secret_is_in_an_error_or_a_representation(
    make: Callable[..., SSHExecutor], ssh_key: tuple[str, str]
) -> None:
    """The private key, the input and the environment are never shown."""
    executor = make()
    with pytest.raises(CommandError) as failed:
        executor.run(["false"], stdin=SECRET, env={"PASSWORD": SECRET})
    with pytest.raises(CommandTimeout) as timed_out:
        executor.run(SLEEP, stdin=SECRET, env={"PASSWORD": SECRET}, timeout_s=0.1)
    with pytest.raises(UnreachableError) as lost:
        make(ssh_port=1).run(SLEEP, stdin=SECRET, env={"PASSWORD": SECRET})
    for text in (str(failed.value), str(timed_out.value), str(lost.value), repr(executor)):
        assert SECRET not in text
        assert ssh_key[0].splitlines()[1] not in text


# ---------------------------------------------------------------- commands


def test_what_sudo_runs_has_the_tag_and_ends_with_its_time_limit(
    executor: SSHExecutor, host: NamespaceHost
) -> None:
    """Root's processes, and those of other users, are no exception."""
    for user in ("root", "daemon"):
        script = f"echo ${TAG}; sleep 600 & sleep 600"
        with pytest.raises(CommandTimeout, match="c1"):
            executor.run(["sudo", "-n", "-u", user, "sh", "-c", script], timeout_s=0.5)
        until(lambda: programs(host, "sleep") == 0)


def test_a_job_of_sudos_is_a_job_like_others(executor: SSHExecutor, host: NamespaceHost) -> None:
    """Its program belongs to root, and is found, stopped and, where it is deaf, killed."""
    executor.start_job("a", ["sudo", "-n", *SLEEP])
    until(lambda: programs(host, "sleep") == 1)
    assert executor.job_status("a") == JobStatus("running")
    executor.stop_job("a")
    assert executor.job_status("a").state == "complete"
    deaf = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    executor.start_job("b", ["sudo", "-n", "sh", "-c", deaf])
    until(lambda: executor.job_output("b") == "ready\n")
    executor.stop_job("b", timeout_s=0.1)
    assert executor.job_status("b").state == "complete"
    # What it had forked at that very moment, a `sleep 0.05`, ends by itself.
    left = f"grep -lszxF -e {JOB_TAG}=b /proc/[0-9]*/environ"
    until(lambda: host.run(left, check=False).stdout == "")


def test_an_interrupted_command_leaves_nothing(executor: SSHExecutor, host: NamespaceHost) -> None:
    """Ctrl-C in the middle of a command ends it on the host, children included."""
    main = threading.get_ident()

    def interrupt() -> None:
        until(lambda: programs(host, "sleep") == 2)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        executor.run(["sh", "-c", "trap '' TERM; sleep 600 & sleep 600"])
    thread.join()
    until(lambda: programs(host, "sleep") == 0)
    assert executor.run(["echo", "again"]).stdout == "again\n"


def test_more_threads_than_sessions_are_served(executor: SSHExecutor, host: NamespaceHost) -> None:
    """sshd lets in ten sessions per connection; forty threads share one connection and wait."""
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda n: executor.run(["echo", str(n)]).stdout, range(80)))
    assert answers == [f"{n}\n" for n in range(80)]
    assert connections(host) == 1


def connections(host: NamespaceHost) -> int:
    """How many SSH connections a host has."""
    return len(host.run("ss -Htn state established sport = :22").stdout.splitlines())


def test_a_text_cut_off_on_its_way_replaces_no_file(
    make: Callable[..., SSHExecutor], host: NamespaceHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a configuration is worse than the old one."""
    from benchlab.hosts.ssh.link import Link

    executor, path = make(), Path("/home/admin/file")
    executor.put(path, "old")
    execute = Link.execute
    monkeypatch.setattr(Link, "execute", lambda s, p, i, t: execute(s, p, i[:3], t))
    with pytest.raises(CommandError, match=r"write /home/admin/file.*\n.*cut off on its way"):
        executor.put(path, "the new text")
    assert host.run("cd /home/admin; head file*").stdout == "old"


def test_a_program_cut_off_on_its_way_is_not_run(
    make: Callable[..., SSHExecutor], host: NamespaceHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is cut, no line of it is executed: no half command, no command without a tag."""
    from benchlab.hosts.ssh.link import Link

    programs: list[str] = []

    def note(link: Link, program: str, stdin: bytes, limit_s: float) -> object:
        programs.append(program)
        return execute(link, program, stdin, limit_s)

    execute = Link.execute
    monkeypatch.setattr(Link, "execute", note)
    make().run(["touch", "/home/admin/whole"])
    (program,) = programs
    for size in range(1, len(program.rstrip())):
        reader = ["sh", "-c", 'eval "$(head -c 9999)"']
        cut = program[:size].replace("/home/admin/whole", "/tmp/half")
        subprocess.run(reader, input=cut, text=True, capture_output=True, check=False)
        assert not Path("/tmp/half").exists(), cut


# ---------------------------------------------------------------- the link


def test_a_host_that_is_not_there_is_an_error_that_names_it(
    make: Callable[..., SSHExecutor], namespaces: Namespaces, host: NamespaceHost
) -> None:
    """Refused, silent, or no SSH server at all: each says so, within the time limit."""
    with pytest.raises(UnreachableError, match=r"tikv-1 .* cannot be reached .* port 1: .*refused"):
        make(ssh_port=1).run(["true"])
    with socket.create_server((namespaces.gateway, 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(UnreachableError, match="does not answer"):
            make(limits=QUICK, ssh_address=namespaces.gateway, ssh_port=port).run(["true"])
    namespaces.set_link(host.address, False)
    with pytest.raises(UnreachableError, match="cannot be reached over SSH"):
        make(limits=QUICK).run(["true"])
    namespaces.set_link(host.address, True)


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


def test_a_lost_connection_is_opened_again(executor: SSHExecutor, host: NamespaceHost) -> None:
    """By the next call, and by the one after `close`."""
    executor.run(["true"])
    host.run("pkill -u admin -x sshd")
    until(lambda: connections(host) == 0)
    until(lambda: succeeds(executor))
    executor.close()
    assert connections(host) == 0
    assert executor.run(["echo", "x"]).stdout == "x\n"


def succeeds(executor: SSHExecutor) -> bool:
    """Whether a command is run; not where the connection turns out to be lost."""
    try:
        return executor.run(["echo", "x"]).stdout == "x\n"
    except TargetError:
        return False


def test_a_job_outlives_the_process_that_started_it(
    make: Callable[..., SSHExecutor], host: NamespaceHost, ssh_key: tuple[str, str], tmp_path: Path
) -> None:
    """A task killed with its whole process group leaves its client running, to be adopted."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.hosts.fleet import FleetHost\n"
        "from benchlab.hosts.ssh.executor import SSHExecutor\naddress, key = sys.argv[1:]\n"
        "host = FleetHost('tikv-1', (), address, address, 'admin', key, Path('/'))\n"
        "executor = SSHExecutor(host, sys.stdin.read(), 'c1', Path('/home/admin/x'))\n"
        "executor.start_job('a', ['sleep', '600'])\n"
        "print('started', flush=True)\nexecutor.run(['sleep', '600'])"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code, host.address, host.host_key],
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


# ---------------------------------------------------------------- ending processes


def test_end_processes_ends_what_belongs_to_other_users_and_nothing_else(
    make: Callable[..., SSHExecutor], host: NamespaceHost
) -> None:
    """Every process with the tag: root's, another user's, a deaf one; of no other campaign."""
    mine, theirs = make("x-1"), make("x-10")
    mine.start_job("a", SLEEP)
    mine.start_job("b", ["sudo", "-n", *SLEEP])
    mine.start_job("c", ["sudo", "-n", "-u", "daemon", *SLEEP])
    theirs.start_job("a", SLEEP) or theirs.start_job("d", SLEEP)
    until(lambda: programs(host, "sleep") == 4)
    assert mine.end_processes() >= 8
    assert programs(host, "sleep") == 1
    assert theirs.job_status("d").state == "running"
    assert mine.end_processes() == 0
    assert theirs.end_processes() == 2


def test_end_processes_kills_what_does_not_heed_sigterm(
    make: Callable[..., SSHExecutor], host: NamespaceHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a grace period; also where it was asked for by two at once."""
    monkeypatch.setattr("benchlab.hosts.ssh.executor.GRACE_S", 0.2)
    executor = make()
    deaf = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    executor.start_job("a", ["sh", "-c", deaf])
    until(lambda: executor.job_output("a") == "ready\n")
    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(lambda _: executor.end_processes(), range(2)))
    assert max(counts) >= 2
    assert host.run(f"grep -lszxF -e {TAG}=c1 /proc/[0-9]*/environ", check=False).stdout == ""


# ---------------------------------------------------------------- what only the host reaches


def test_an_address_that_only_the_host_can_reach(
    executor: SSHExecutor, host: NamespaceHost
) -> None:
    """It leads through loopback on both ends, for as long as the block lasts, and beside commands.

    Where it leads nowhere the error names the host and what to do.
    """
    executor.run(["touch", "/home/admin/seen-over-ssh"])
    serve = "cd /home/admin && exec python3 -m http.server --bind 127.0.0.1 8007"
    executor.start_job("web", ["sh", "-c", serve])
    # By its socket, for a first request would be the one that is tested.
    until(lambda: "8007" in host.run("ss -Hltn").stdout)
    with executor.reach("127.0.0.1", 8007) as (address, port):
        assert address == "127.0.0.1"
        for _ in range(2):
            with urllib.request.urlopen(f"http://{address}:{port}/", timeout=10) as answer:
                assert b"seen-over-ssh" in answer.read()
            assert executor.run(["echo", "x"]).stdout == "x\n"
        assert connections(host) == 1
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((address, port), timeout=10)
    with executor.reach("127.0.0.1", 8007):
        executor.close()  # a link that is lost meanwhile is no error of leaving
    wanted = rf"127.0.0.1 port 8008 cannot be reached through tikv-1 \({host.address}\): .*refused"
    with pytest.raises(UnreachableError, match=wanted), executor.reach("127.0.0.1", 8008):
        pass
    host.run("echo AllowTcpForwarding no >> /etc/ssh/sshd_config; kill -HUP $(cat /run/sshd.pid)")
    until(lambda: forbidden(executor))


def forbidden(executor: SSHExecutor) -> bool:
    """Whether the host refuses to forward, for those who come after it read its settings."""
    executor.close()
    try:
        with executor.reach("127.0.0.1", 8007):
            return False
    except UnreachableError as error:
        return "AllowTcpForwarding" in str(error)


# ---------------------------------------------------------------- fleet


def test_ten_hosts_work_at_once_and_a_failing_one_is_named(
    namespaces: Namespaces, ssh_key: tuple[str, str], fleet_host: Describe
) -> None:
    """All are finished; the error tells which one it was and why."""
    addresses = [f"{namespaces.gateway[:-1]}{number}" for number in range(200, 210)]
    with ThreadPoolExecutor(4) as pool:
        hosts = list(pool.map(lambda a: namespaces.add(a, ssh_key[1]), addresses))
    fleet = [fleet_host(host, f"tikv-{n}") for n, host in enumerate(hosts, 1)]
    limits = Limits(connect_s=3)
    executors = {
        h.name: SSHExecutor(h, ssh_key[0], "c1", Path("/home/admin/x"), limits=limits)
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
