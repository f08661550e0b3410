"""What an executor promises holds on this machine and over SSH alike, for root and for others."""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from benchlab.errors import CommandError, CommandTimeout, TargetError, TooMuchOutputError
from benchlab.hosts.executor import TAG, Executor, JobStatus, LocalExecutor
from benchlab.hosts.fleet import FleetHost
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.workloads import sysbench_archive
from tests.builders import sysbench_source
from tests.hosts.namespaces import NamespaceHost, Namespaces, own

NUMBERS = itertools.count()
# A program that nothing but SIGKILL ends.
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]
SLEEP = ["sleep", "600"]
# A process's state by its tag's place in /proc, as root sees it.
TAGGED = "grep -lszxF -e {}={} /proc/[0-9]*/environ"


class Place:
    """A host, and executors for it.

    Attributes:
        folder: a directory of the test's own on the host.
    """

    def __init__(
        self, kind: str, folder: Path, host: NamespaceHost, to: FleetHost, key: str
    ) -> None:
        self.kind, self.folder, self.host = kind, folder, host
        self._to, self._key = to, key
        self._executors: list[Executor] = []
        self._campaigns: list[str] = []

    def executor(self, campaign: str = "") -> Executor:
        """An executor for a campaign; without a name, one that nobody else has."""
        self._campaigns.append(campaign or str(next(NUMBERS)))
        name = own(self._campaigns[-1])
        if self.kind == "local":
            return LocalExecutor(self.folder, name)
        to = self._to if self.kind == "ssh" else replace(self._to, user="root")
        self._executors.append(made := SSHExecutor(to, self._key, name, self.folder))
        return made

    def tagged(self, campaign: str) -> list[int]:
        """The processes that carry a campaign's tag."""
        found = self.shell(TAGGED.format(TAG, own(campaign))).split()
        return [int(path.split("/")[2]) for path in found]

    def shell(self, script: str) -> str:
        """What a script of root's prints there, from outside of every executor."""
        if self.kind == "local":
            made = LocalExecutor(self.folder, "outside")
            return made.run(["sh", "-c", script], check=False).stdout
        return self.host.run(script, check=False).stdout

    def clean_up(self) -> None:
        """End what a test left running."""
        for campaign in self._campaigns:
            if pids := self.tagged(campaign):
                self.shell(f"kill -9 {' '.join(map(str, pids))}")
        for executor in self._executors:
            assert isinstance(executor, SSHExecutor)
            executor.close()


@pytest.fixture(scope="module")
def host(namespaces: Namespaces, ssh_key: tuple[str, str]) -> NamespaceHost:
    """One host for all tests of this file; both `admin` and root can log in."""
    made = namespaces.add(f"{namespaces.gateway[:-1]}10", ssh_key[1])
    # This machine's root may have an elaborate .bashrc, which its every session would run.
    made.run("cp /etc/ssh/authorized_keys/admin /etc/ssh/authorized_keys/root; rm -f ~/.bashrc")
    return made


@pytest.fixture(params=["local", "ssh", pytest.param("ssh as root", marks=pytest.mark.long)])
def place(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    ssh_key: tuple[str, str],
    host: NamespaceHost,
    fleet_host: Callable[..., FleetHost],
) -> Iterator[Place]:
    """This machine, or a host to which `admin` or root logs in."""
    folder = tmp_path
    if request.param != "local":
        folder = Path(f"/home/admin/{next(NUMBERS)}")
        host.run(f"install -d -o admin {folder}")
    made = Place(request.param, folder, host, fleet_host(host), ssh_key[0])
    yield made
    made.clean_up()


@pytest.fixture
def executor(place: Place) -> Executor:
    """An executor there, for a campaign that no other test has."""
    return place.executor()


def until(condition: Callable[[], object]) -> None:
    """Wait for something that comes; the test's own time limit is the only one."""
    while not condition():
        time.sleep(0.01)


def ended(executor: Executor, job: str) -> JobStatus:
    """A job's status once it has ended."""
    until(lambda: executor.job_status(job).state != "running")
    return executor.job_status(job)


# ---------------------------------------------------------------- run


def test_a_command_is_run_to_its_end(executor: Executor) -> None:
    """What it printed on which stream, and its exit code, come back as they were."""
    done = executor.run(["sh", "-c", "cat; echo ünï >&2; exit 3"], stdin="a b\nµ", check=False)
    assert (done.exit_code, done.stdout, done.stderr) == (3, "a b\nµ", "ünï\n")


def test_arguments_and_variables_reach_the_program_as_they_are(executor: Executor) -> None:
    """No shell looks at them: blanks, quotes, dollars, braces and newlines are data."""
    odd = ["a b", "$HOME", "*", "'", '"', "", "`id`", "\n", "{x}", "é"]
    assert executor.run(["printf", "%s\\0", *odd]).stdout.split("\0")[:-1] == odd
    for value in odd:
        assert executor.run(["sh", "-c", 'printf %s "$X"'], env={"X": value}).stdout == value


def test_sysbench_is_built_from_its_archive(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the campaign's account, in a directory of the campaign's."""
    for tool in sysbench_archive.TOOLS.keys() - sysbench_source.NEEDED:
        monkeypatch.delitem(sysbench_archive.TOOLS, tool)
    executor, source = place.executor(), sysbench_source.source(tmp_path)
    wanted = sysbench_source.client(sysbench_source.archived(source))
    built = sysbench_archive.built(executor, place.folder, tmp_path, wanted)
    assert built.path is not None
    assert built.path.startswith(f"{place.folder}/sysbench-")
    assert executor.run([built.path, "--version"]).stdout == "sysbench 1.1.0\n"


def test_output_that_is_no_text_does_not_bring_anything_down(executor: Executor) -> None:
    """A tool may print any bytes, and any line ends."""
    done = executor.run(["printf", r"a\377\000b\r\n"])
    assert done.stdout == "a\ufffd\0b\n"


def test_much_input_and_output_pass_at_once(executor: Executor) -> None:
    """Megabytes in both directions do not wait for each other, nor for who does not read."""
    text = "0123456789abcde\n" * 300_000
    assert executor.run(["cat"], stdin=text).stdout == text
    assert executor.run(["true"], stdin=text).exit_code == 0
    assert len(executor.run(["sh", "-c", "head -c 5000000 /dev/zero >&2"]).stderr) == 5_000_000


def test_a_failed_command_is_an_error_that_tells_its_story(executor: Executor) -> None:
    """Host, command, exit code and the last lines it printed."""
    with pytest.raises(CommandError) as caught:
        executor.run(["sh", "-c", "seq 100; echo oops >&2; exit 3"])
    for part in (f"on {executor.host}", "sh -c", "exit code 3", "oops", "100"):
        assert part in str(caught.value)
    assert "\n42\n" not in str(caught.value)
    assert executor.run(["false"], check=False).exit_code == 1


@pytest.mark.parametrize("command", [["no-such-program"], ["/etc/passwd"], ["/"]])
def test_what_is_no_program_is_an_error_that_names_it(
    executor: Executor, command: list[str]
) -> None:
    """A missing tool is named, whether or not failures are checked."""
    for check in (True, False):
        with pytest.raises(CommandError, match=command[0]):
            executor.run(command, check=check)
    assert executor.run(["sh", "-c", "no-such-program"], check=False).exit_code == 127


def test_a_command_that_takes_too_long_is_ended_with_its_children(place: Place) -> None:
    """After a time limit nothing of it runs, even where it does not heed SIGTERM."""
    executor = place.executor("slow")
    script = "trap '' TERM; (trap '' TERM; sleep 600) & echo begun; sleep 600"
    with pytest.raises(CommandTimeout) as caught:
        executor.run(["sh", "-c", script], timeout_s=2)
    for part in (f"on {executor.host}", "time limit: 2 s", "sh -c", "begun"):
        assert part in str(caught.value)
    until(lambda: not place.tagged("slow"))


@pytest.mark.parametrize("script", ["yes", "yes >&2", "trap '' TERM; yes & yes >&2"])
def test_a_command_that_prints_for_ever_is_ended_with_its_children(
    place: Place, script: str
) -> None:
    """Long before its time limit; named with the host and how much it may print."""
    executor = place.executor("endless")
    with pytest.raises(TooMuchOutputError) as caught:
        executor.run(["sh", "-c", script], timeout_s=3600, check=False)
    for part in (f"on {executor.host}", "sh -c", "printed more than 64 MB"):
        assert part in str(caught.value)
    until(lambda: not place.tagged("endless"))
    assert executor.run(["echo", "here"]).stdout == "here\n"


def test_of_a_job_that_prints_for_ever_the_end_is_read(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its output is a file, of whatever size."""
    for module in ("benchlab.hosts.executor", "benchlab.hosts.ssh.executor"):
        monkeypatch.setattr(f"{module}.JOB_LIMIT_BYTES", 10)
    executor.start_job("a", ["seq", "100000"])
    until(lambda: executor.job_status("a").state == "complete")
    assert executor.job_output("a") == "99\n100000\n"


def test_a_daemon_does_not_keep_a_time_limit_from_working(place: Place) -> None:
    """A grandchild in another session that holds the output open is not waited for, but found."""
    executor = place.executor("daemon")
    with pytest.raises(CommandTimeout):
        executor.run(["sh", "-c", "setsid sleep 600 & sleep 600"], timeout_s=2)
    assert len(place.tagged("daemon")) == 1
    assert executor.end_processes() == 1


def test_an_output_that_stays_open_ends_with_the_time_limit(place: Place) -> None:
    """Also where the command itself has ended, and only a daemon of it has not."""
    executor = place.executor("open")
    with pytest.raises(CommandTimeout, match="begun"):
        executor.run(["sh", "-c", "echo begun; setsid sleep 600 &"], timeout_s=2)
    assert executor.end_processes() == 1


def test_a_command_killed_by_somebody_else_took_no_time_limit(executor: Executor) -> None:
    """An exit code is what it is; it is no time-out before the time is up."""
    with pytest.raises(CommandError) as caught:
        executor.run(["sh", "-c", "sh -c 'kill -9 $$'; exit 137"])
    assert not isinstance(caught.value, CommandTimeout)
    assert caught.value.exit_code == 137


def test_every_process_carries_the_tag(place: Place) -> None:
    """Commands and jobs are found by their environment, which callers add to but cannot break."""
    executor, tag = place.executor("tagged"), own("tagged")
    script = ["sh", "-c", f"echo ${TAG} $OTHER"]
    assert executor.run(script, env={"OTHER": "x", TAG: "y"}).stdout == f"{tag} x\n"
    executor.start_job("a", script, env={"OTHER": "x", TAG: "y"})
    ended(executor, "a")
    assert executor.job_output("a") == f"{tag} x\n"


# ---------------------------------------------------------------- jobs


def test_a_job_runs_ends_and_is_forgotten(place: Place, executor: Executor) -> None:
    """absent, running, complete with the exit code and both streams, absent."""
    go = place.folder / "go"
    script = f"echo out; echo err >&2; while [ ! -e '{go}' ]; do sleep 0.02; done; exit 7"
    assert executor.job_status("a") == JobStatus("absent")
    assert executor.job_output("a") == ""
    assert executor.start_job("a", ["sh", "-c", script])
    assert executor.job_status("a") == JobStatus("running")
    executor.run(["touch", str(go)])
    assert ended(executor, "a") == JobStatus("complete", 7)
    assert executor.job_output("a") == "out\nerr\n"
    executor.forget_job("a")
    executor.forget_job("a")
    assert executor.job_status("a") == JobStatus("absent")
    assert executor.start_job("a", ["true"])
    assert ended(executor, "a") == JobStatus("complete", 0)


def test_a_job_that_cannot_be_started_is_complete_with_the_reason(executor: Executor) -> None:
    """As a shell has it: exit code 127, and the program's name in the output."""
    executor.start_job("a", ["no-such-program"])
    assert ended(executor, "a") == JobStatus("complete", 127)
    assert "no-such-program" in executor.job_output("a")


def test_a_jobs_arguments_and_variables_reach_it_as_they_are(executor: Executor) -> None:
    """The shells in between do not look at them."""
    odd = ["a b", "$HOME", "*", "'", '"', "", "`id`", "-n", "\n"]
    script = 'printf "%s|" "$X" "$@"'
    executor.start_job("a", ["sh", "-c", script, "odd", *odd], env={"X": "$(id) '\""})
    ended(executor, "a")
    assert executor.job_output("a").split("|")[:-1] == ["$(id) '\"", *odd]


def test_a_jobs_long_output_comes_whole(executor: Executor) -> None:
    """A server's log may be long, and may hold any bytes."""
    executor.start_job("a", ["sh", "-c", r"seq 1000000; printf 'a\377b\n'"])
    ended(executor, "a")
    lines = executor.job_output("a").splitlines()
    assert (len(lines), lines[999_999], lines[-1]) == (1_000_001, "1000000", "a\ufffdb")


def test_of_many_who_start_a_job_one_does(place: Place) -> None:
    """The others find it there, and it goes on undisturbed: no two clients at once."""
    executors = [place.executor("fence") for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        answers = list(
            pool.map(lambda e: e.start_job("a", ["sh", "-c", "echo once; sleep 600"]), executors)
        )
    assert sorted(answers) == [False] * 4 + [True]
    until(lambda: executors[0].job_output("a"))
    assert executors[0].job_output("a") == "once\n"
    assert not executors[0].start_job("a", ["true"])


def test_a_job_that_died_with_its_wrapper_is_lost(place: Place) -> None:
    """A host that lost its power has half a job; it is neither running nor complete."""
    executor = place.executor("lost")
    executor.start_job("a", SLEEP)
    place.shell(f"kill -9 {' '.join(map(str, place.tagged('lost')))}")
    assert ended(executor, "a") == JobStatus("lost")
    assert not executor.start_job("a", SLEEP)
    executor.stop_job("a")


def test_a_killed_program_is_complete(place: Place) -> None:
    """Its wrapper notes how it ended."""
    executor = place.executor("killed")
    executor.start_job("a", SLEEP)
    place.shell(f"kill -9 $(cat {place.folder}/jobs/a/pid)")
    assert ended(executor, "a") == JobStatus("complete", 137)


def test_a_jobs_pid_that_came_again_is_another_process(place: Place) -> None:
    """What happens to have the pid of an ended job is not taken for it, and never signalled."""
    executor, other = place.executor("mine"), place.executor("other")
    executor.start_job("a", ["true"])
    ended(executor, "a")
    other.start_job("b", SLEEP)
    jobs = place.folder / "jobs"
    place.shell(f"rm {jobs}/a/exit_code; cp {jobs}/b/pid {jobs}/a/pid")
    assert executor.job_status("a") == JobStatus("lost")
    executor.stop_job("a")
    assert other.job_status("b").state == "running"
    assert executor.job_status("b").state == "lost"


@pytest.mark.parametrize("text", ["", "x", "999999999", "-1"])
def test_a_torn_job_directory_brings_nothing_down(
    place: Place, executor: Executor, text: str
) -> None:
    """Half-written files of a machine that lost its power are a lost job."""
    job = place.folder / "jobs" / "a"
    place.shell(f"mkdir -p {job}; printf %s '{text}' | tee {job}/pid > {job}/exit_code.part")
    assert executor.job_status("a") == JobStatus("lost")
    executor.stop_job("a")
    place.shell(f"chown -R --reference={place.folder} {place.folder}/jobs")
    executor.forget_job("a")
    assert executor.job_status("a") == JobStatus("absent")


def test_a_program_has_its_time_to_end(executor: Executor) -> None:
    """SIGTERM first: a database writes what it has and ends by itself."""
    script = "trap 'echo writing; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    executor.start_job("a", ["sh", "-c", script])
    until(lambda: executor.job_output("a") == "ready\n")
    executor.stop_job("a")
    assert executor.job_status("a") == JobStatus("complete", 0)
    assert executor.job_output("a") == "ready\nwriting\n"
    executor.stop_job("a")
    executor.stop_job("never started")


def test_a_job_that_is_asked_to_end_is_not_waited_for(place: Place, executor: Executor) -> None:
    """It ends in its own way, also if it is then stopped; one that has ended is left alone."""
    may_end = place.folder / "may-end"
    ends = f"until [ -e {may_end} ]; do sleep 0.02; done; exit 7"
    slowly = f'trap "{ends}" TERM; echo ready; while :; do sleep 0.02; done'
    executor.start_job("a", ["sh", "-c", slowly])
    until(lambda: executor.job_output("a") == "ready\n")
    executor.ask_job_to_end("a")
    assert executor.job_status("a").state == "running"
    place.shell(f"touch {may_end}")
    executor.stop_job("a")
    assert executor.job_status("a") == JobStatus("complete", 7)
    executor.ask_job_to_end("a")
    executor.ask_job_to_end("never started")


def test_a_program_that_does_not_end_is_killed(place: Place, executor: Executor) -> None:
    """After the time limit comes SIGKILL, also for one that is stopped or deaf."""
    executor.start_job("deaf", STUBBORN)
    until(lambda: executor.job_output("deaf"))
    executor.stop_job("deaf", timeout_s=0.1)
    assert executor.job_status("deaf") == JobStatus("complete", 137)
    executor.start_job("frozen", SLEEP)
    place.shell(f"kill -STOP $(cat {place.folder}/jobs/frozen/pid)")
    executor.stop_job("frozen", timeout_s=0.1)
    assert executor.job_status("frozen").state == "complete"


def test_a_job_can_be_stopped_as_soon_as_it_was_started(executor: Executor) -> None:
    """While it turns into its program it cannot be known by its environment, and yet is found."""
    for number in range(10):
        executor.start_job(f"{number}", SLEEP)
        executor.stop_job(f"{number}")
        assert executor.job_status(f"{number}").state == "complete"


def test_a_running_job_is_not_forgotten(executor: Executor) -> None:
    """What runs cannot be lost sight of by mistake."""
    executor.start_job("a", SLEEP)
    with pytest.raises(TargetError, match="job a is still running; stop it first"):
        executor.forget_job("a")
    assert executor.job_status("a").state == "running"


# ---------------------------------------------------------------- ending processes


def test_end_processes_finds_everything_of_its_campaign(place: Place) -> None:
    """Jobs, children, orphans in other sessions; campaign `x-1` is not part of `x-10`."""
    mine, theirs = place.executor("x-1"), place.executor("x-10")
    mine.start_job("a", ["sh", "-c", "sleep 600 & setsid sleep 600 & sleep 600"])
    mine.start_job("b", ["sh", "-c", "(setsid sh -c 'trap \"\" HUP; sleep 600' &); sleep 600"])
    theirs.start_job("c", SLEEP)
    until(lambda: len(place.tagged("x-1")) >= 9)
    assert mine.end_processes() >= 9
    assert place.tagged("x-1") == []
    assert mine.end_processes() == 0
    assert theirs.job_status("c").state == "running"


# ---------------------------------------------------------------- files


def test_a_file_is_copied_in_pieces_and_whole(
    executor: Executor, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever bytes it has; what is there is replaced, as is the rest of an earlier try."""
    monkeypatch.setattr("benchlab.hosts.ssh.executor.PIECE", 1000)
    source, path = tmp_path / "source", place.folder / "copied" / "file"
    executor.run(["mkdir", "-p", str(path.parent)])
    executor.put(path, "an older one")
    executor.put(path.with_name("file.part"), "the rest of a try")
    source.write_bytes(bytes(range(256)) * 11)
    executor.upload(source, path)
    wanted = hashlib.sha256(source.read_bytes()).hexdigest()
    assert executor.run(["sha256sum", str(path)]).stdout.split()[0] == wanted
    assert executor.run(["ls", str(path.parent)]).stdout.split() == ["file"]


def test_a_file_is_written_with_its_directories(place: Place, executor: Executor) -> None:
    """The text is what was given, also where a file was there; the rest can read it."""
    path = place.folder / "de ep" / "e'r" / "file"
    executor.put(path, "a long first text\n")
    executor.put(path, "ünï\nno newline")
    assert executor.run(["cat", str(path)]).stdout == "ünï\nno newline"
    assert executor.run(["ls", "-A", str(path.parent)]).stdout == "file\n"
    assert executor.run(["stat", "-c", "%a", str(path)]).stdout == "644\n"
    executor.put(path, "")
    assert executor.run(["cat", str(path)]).stdout == ""


def test_a_private_file_is_nobody_elses(place: Place, executor: Executor) -> None:
    """0600 whatever was there before; a link there is replaced, not followed."""
    path, target = place.folder / "secret", place.folder / "target"
    script = 'umask 0; : > "$1"; ln -s "$1" "$2"; ln -s "$1" "$2.part"'
    executor.run(["sh", "-c", script, "x", str(target), str(path)])
    executor.put(path, "hunter2", private=True)
    assert executor.run(["stat", "-c", "%a %F", str(path)]).stdout == "600 regular file\n"
    assert executor.run(["cat", str(target)]).stdout == ""


def test_a_private_file_is_private_from_its_first_byte(place: Place, executor: Executor) -> None:
    """Whoever watches the directory never finds it open to others."""
    seen, done = place.folder / "seen", place.folder / "done"
    watch = (
        f"cd {place.folder}; : > {seen}; until [ -e {done} ]; do "
        "stat -c %a secret secret.part 2> /dev/null; done | sort -u"
    )
    executor.start_job("watch", ["sh", "-c", watch])
    until(lambda: executor.run(["test", "-e", str(seen)], check=False).exit_code == 0)
    for _ in range(20):
        executor.put(place.folder / "secret", "hunter2" * 50_000, private=True)
    executor.run(["touch", str(done)])
    ended(executor, "watch")
    assert executor.job_output("watch") == "600\n"
