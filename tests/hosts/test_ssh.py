"""A host over SSH: nothing else is let in, nothing leaks, and a command ends as it should."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchlab.errors import CommandError, CommandTimeout, TargetError, UnreachableError
from benchlab.hosts.executor import JOB_TAG, TAG, JobStatus
from benchlab.hosts.fleet import FleetHost
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.hosts.ssh.link import Limits
from tests.hosts.namespaces import NamespaceHost, new_key
from tests.hosts.ssh_probes import Describe, connections, programs, succeeds, until

SECRET = "hunter2-hunter2"
SLEEP = ["sleep", "600"]
# Short, so that what a host does not answer is known soon.
QUICK = Limits(connect_s=3, keepalive_s=0.5, grace_s=1)


# ---------------------------------------------------------------- who is let in


@pytest.mark.fault(
    "another host answers at the address",
    promise="nothing is run on it, and both keys are named",
    of="hosts",
)
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
    with pytest.raises(TargetError, match="'nonsense' is not a public host key"):
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
    # The project lies on the hosts as well, and with it this file: -xdev leaves it out.
    inside = f"find /home/admin /tmp /run /var/log -xdev -type f -exec grep -l {SECRET} {{}} +"
    kept = host.run(inside, check=False).stdout
    assert sorted(kept.split()) == sorted(
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


def test_every_command_on_the_client_s_host_has_tiup_s_mirror(
    make: Callable[..., SSHExecutor],
) -> None:
    """TiUP and what installs it take it from there; a job and root's commands are no exception."""
    show = ["sh", "-c", "echo $TIUP_MIRRORS"]
    executor = make(tiup_mirror="https://mirror.example.org")
    for command in (show, ["sudo", "-n", *show]):
        assert executor.run(command).stdout == "https://mirror.example.org\n"
    executor.start_job("mirror", show)
    until(lambda: executor.job_output("mirror") == "https://mirror.example.org\n")
    assert make().run(show).stdout == "\n"


def test_what_sudo_runs_has_the_tag_and_ends_with_its_time_limit(
    executor: SSHExecutor, host: NamespaceHost
) -> None:
    """Root's processes, and those of other users, are no exception."""
    for user in ("root", "daemon"):
        script = f"echo ${TAG}; sleep 600 & sleep 600"
        with pytest.raises(CommandTimeout, match="c1"):
            executor.run(["sudo", "-n", "-u", user, "sh", "-c", script], timeout_s=2)
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

    def sleeping() -> int:  # of this test alone: what an earlier one left may still end
        return int(host.run("pgrep -cxf 'sleep 611'", check=False).stdout)

    def interrupt() -> None:
        until(lambda: sleeping() == 2)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        executor.run(["sh", "-c", "trap '' TERM; sleep 611 & sleep 611"])
    thread.join()
    until(lambda: sleeping() == 0)
    assert executor.run(["echo", "again"]).stdout == "again\n"


def test_more_threads_than_sessions_are_served(executor: SSHExecutor, host: NamespaceHost) -> None:
    """sshd lets in ten sessions per connection; forty threads share one connection and wait."""
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda n: executor.run(["echo", str(n)]).stdout, range(80)))
    assert answers == [f"{n}\n" for n in range(80)]
    assert connections(host) == 1


def test_a_text_cut_off_on_its_way_replaces_no_file(
    make: Callable[..., SSHExecutor], host: NamespaceHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a configuration is worse than the old one."""
    from benchlab.hosts.ssh.link import Link

    executor, path = make(), Path("/home/admin/file")
    executor.put(path, "old")
    execute = Link.execute
    monkeypatch.setattr(Link, "execute", lambda s, p, i, *limits: execute(s, p, i[:3], *limits))
    with pytest.raises(CommandError, match=r"write /home/admin/file.*\n.*cut off on its way"):
        executor.put(path, "the new text")
    assert host.run("cd /home/admin; head file*").stdout == "old"


@pytest.mark.fault(
    "the link breaks while a command is sent",
    promise="no half command is run",
    of="hosts",
)
def test_a_program_cut_off_on_its_way_is_not_run(
    make: Callable[..., SSHExecutor], host: NamespaceHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is cut, no line of it is executed: no half command, no command without a tag."""
    from benchlab.hosts.ssh.link import Link

    programs: list[str] = []

    def note(link: Link, program: str, stdin: bytes, limit_s: float, most: int) -> object:
        programs.append(program)
        return execute(link, program, stdin, limit_s, most)

    execute = Link.execute
    monkeypatch.setattr(Link, "execute", note)
    make().run(["touch", "/home/admin/whole"])
    (program,) = programs
    for size in range(1, len(program.rstrip())):
        reader = ["sh", "-c", 'eval "$(head -c 9999)"']
        cut = program[:size].replace("/home/admin/whole", "/tmp/half")
        subprocess.run(reader, input=cut, text=True, capture_output=True, check=False)
        assert not Path("/tmp/half").exists(), cut


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
