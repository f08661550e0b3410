"""Nothing that is started on a machine is lost: it ends, is found again, or is ended."""

from __future__ import annotations

import itertools
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchlab.errors import CommandError, CommandTimeout, TargetError, TooMuchOutputError
from benchlab.hosts.executor import (
    JOB_TAG,
    TAG,
    JobStatus,
    LocalExecutor,
    end_process,
    end_tagged,
    tagged,
)

NUMBERS = itertools.count()
# A program that nothing but SIGKILL ends.
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]
SLEEP = ["sleep", "600"]


@pytest.fixture
def campaign() -> Iterator[str]:
    """A campaign's id that no other test has; every process with its tag is ended afterwards."""
    name = f"test-{os.getpid()}-{next(NUMBERS)}"
    yield name
    end_tagged(f"{TAG}={name}", grace_s=0)


@pytest.fixture
def executor(tmp_path: Path, campaign: str) -> LocalExecutor:
    """This machine, for that campaign."""
    return LocalExecutor(tmp_path, campaign)


def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; the only time limit is the test's own."""
    while not condition():
        time.sleep(0.005)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also in a shell's background job, where it is ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def ended(executor: LocalExecutor, job: str) -> JobStatus:
    """A job's status once it has ended."""
    until(lambda: executor.job_status(job).state != "running")
    return executor.job_status(job)


def pid_of(tmp_path: Path, job: str) -> int:
    """The pid of a job's program."""
    return int((tmp_path / "jobs" / job / "pid").read_text())


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


# ---------------------------------------------------------------- run


def test_a_command_is_run_to_its_end(executor: LocalExecutor) -> None:
    """What it printed on which stream, and its exit code, come back as they were."""
    done = executor.run(["sh", "-c", "cat; echo ünï >&2"], stdin="a b\n")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "a b\n", "ünï\n")


def test_arguments_reach_the_program_as_they_are(executor: LocalExecutor) -> None:
    """No shell looks at a command: blanks, quotes, dollars and stars are data."""
    odd = ["a b", "$HOME", "*", "'", '"', "", "`id`", "\n"]
    script = "import sys; print(sys.argv[1:])"
    assert executor.run([sys.executable, "-c", script, *odd]).stdout.strip() == repr(odd)


def test_output_that_is_not_text_is_accepted(executor: LocalExecutor) -> None:
    """A tool may print any bytes."""
    assert "a" in executor.run(["printf", r"a\377\000b"]).stdout


def test_a_failed_command_is_an_error_that_says_what_happened(executor: LocalExecutor) -> None:
    """Host, command, exit code and the last lines it printed."""
    with pytest.raises(CommandError) as caught:
        executor.run(["sh", "-c", "seq 100; echo oops >&2; exit 3"])
    for part in ("on localhost", "sh -c", "exit code 3", "oops", "100"):
        assert part in str(caught.value)
    assert "\n42\n" not in str(caught.value)
    assert executor.run(["false"], check=False).exit_code == 1
    with pytest.raises(CommandError) as caught:
        executor.run(["sh", "-c", "yes | head -c 9999999 | tr -d '\\n'; exit 1"])
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize("command", [["no-such-program"], ["/etc/passwd"], ["/"]])
def test_a_missing_program_is_an_error_that_names_it(
    executor: LocalExecutor, command: list[str]
) -> None:
    """A missing tool is named, whether or not failures are checked."""
    for check in (True, False):
        with pytest.raises(CommandError, match=command[0]):
            executor.run(command, check=check)


def test_a_command_that_takes_too_long_is_ended_with_its_children(
    executor: LocalExecutor, campaign: str
) -> None:
    """After its time limit none of its processes run, even if they ignore SIGTERM."""
    script = "trap '' TERM; (trap '' TERM; sleep 600) & sleep 600"
    with pytest.raises(CommandTimeout) as caught:
        executor.run(["sh", "-c", script], timeout_s=0.3)
    for part in ("time limit: 0.3 s", "sh -c"):
        assert part in str(caught.value)
    until(lambda: not list(tagged(f"{TAG}={campaign}")))


@pytest.mark.parametrize("script", ["yes", "yes >&2", "trap '' TERM; yes & yes >&2"])
def test_a_command_that_prints_for_ever_is_ended_with_its_children(
    executor: LocalExecutor, campaign: str, script: str
) -> None:
    """Long before its time limit, and named; what it printed is not kept."""
    with pytest.raises(TooMuchOutputError, match=r"on localhost: `sh -c .* more than 64 MB"):
        executor.run(["sh", "-c", script], timeout_s=3600, check=False)
    until(lambda: not list(tagged(f"{TAG}={campaign}")))


def test_of_a_job_that_prints_for_ever_the_end_is_read(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its output is a file, of whatever size."""
    monkeypatch.setattr("benchlab.hosts.executor.JOB_LIMIT_BYTES", 10)
    executor.start_job("a", ["seq", "100000"])
    ended(executor, "a")
    assert executor.job_output("a") == "99\n100000\n"


def test_a_daemon_does_not_keep_a_time_limit_from_working(
    executor: LocalExecutor, campaign: str
) -> None:
    """A grandchild in another session that holds the output open is not waited for, but found."""
    with pytest.raises(CommandTimeout):
        executor.run(["sh", "-c", "setsid sleep 600 & sleep 600"], timeout_s=2)
    assert len(list(tagged(f"{TAG}={campaign}"))) == 1
    assert executor.end_processes() == 1


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_command_leaves_nothing(
    executor: LocalExecutor, tmp_path: Path, campaign: str
) -> None:
    """Ctrl-C in the middle of a command ends it before it is passed on."""
    main, begun = threading.get_ident(), tmp_path / "begun"

    def interrupt() -> None:
        until(begun.exists)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        # It has begun once it has read its whole input, and so is waited for.
        executor.run(["sh", "-c", f"cat; touch '{begun}'; sleep 600 & sleep 600"], stdin="x")
    thread.join()
    until(lambda: not list(tagged(f"{TAG}={campaign}")))


def test_every_process_carries_the_tag(executor: LocalExecutor, campaign: str) -> None:
    """Commands and jobs are found by their environment, which callers add to but cannot break."""
    script = ["sh", "-c", f"echo ${TAG} $OTHER"]
    assert executor.run(script, env={"OTHER": "x", TAG: "y"}).stdout == f"{campaign} x\n"
    executor.start_job("a", script, env={"OTHER": "x", TAG: "y"})
    ended(executor, "a")
    assert executor.job_output("a") == f"{campaign} x\n"


# ---------------------------------------------------------------- jobs


def test_a_job_runs_ends_and_is_forgotten(executor: LocalExecutor, tmp_path: Path) -> None:
    """absent, running, complete with the exit code and both streams, absent."""
    go = tmp_path / "go"
    script = f"echo out; echo err >&2; while [ ! -e '{go}' ]; do sleep 0.02; done; exit 7"
    assert executor.job_status("a") == JobStatus("absent")
    assert executor.job_output("a") == ""
    assert executor.start_job("a", ["sh", "-c", script])
    assert executor.job_status("a") == JobStatus("running")
    go.touch()
    assert ended(executor, "a") == JobStatus("complete", 7)
    assert executor.job_output("a") == "out\nerr\n"
    executor.forget_job("a")
    assert executor.job_status("a") == JobStatus("absent")
    assert executor.start_job("a", ["true"])
    assert ended(executor, "a") == JobStatus("complete", 0)


def test_a_job_that_cannot_be_started_is_complete_with_the_reason(executor: LocalExecutor) -> None:
    """As a shell has it: exit code 127, and the program's name in the output."""
    executor.start_job("a", ["no-such-program"])
    assert ended(executor, "a") == JobStatus("complete", 127)
    assert "no-such-program" in executor.job_output("a")


def test_a_jobs_arguments_reach_the_program_as_they_are(executor: LocalExecutor) -> None:
    """The shells in between do not look at them."""
    odd = ["a b", "$HOME", "*", "'", '"', "", "`id`", "-n"]
    executor.start_job("a", [sys.executable, "-c", "import sys; print(sys.argv[1:])", *odd])
    ended(executor, "a")
    assert executor.job_output("a").strip() == repr(odd)


def test_what_lies_on_a_programs_stack_fills_whole_pages(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """So that a side's name or version, or the number of a task, shifts nothing in its memory."""
    for job, seconds in (("server-baseline", "600"), ("server-candidate", "600.0000")):
        executor.start_job(job, [str(Path("/bin/sleep").resolve()), seconds], env={"X": job})
        pid = (tmp_path / "jobs" / job / "pid").read_text().strip()
        process = Path("/proc") / pid
        until(lambda: process.joinpath("comm").read_text() == "sleep\n")  # noqa: B023
        there = [process.joinpath(name).read_bytes() for name in ("cmdline", "environ")]
        path = os.fsencode(process.joinpath("exe").resolve()) + b"\0"
        assert len(b"".join(there) + path) % os.sysconf("SC_PAGE_SIZE") == 0
        executor.stop_job(job)


def test_only_one_of_two_starts_a_job(executor: LocalExecutor) -> None:
    """The second finds the job there and leaves it running: there are never two clients."""
    assert executor.start_job("a", SLEEP)
    assert not executor.start_job("a", ["echo", "second"])
    assert executor.job_status("a").state == "running"
    assert executor.job_output("a") == ""


def test_only_one_of_many_processes_starts_a_job(tmp_path: Path, campaign: str) -> None:
    """Fencing holds between processes that begin at the same moment."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.hosts.executor import LocalExecutor\n"
        "executor = LocalExecutor(Path(sys.argv[1]), sys.argv[2])\nprint('ready', flush=True)\n"
        "sys.stdin.readline()\nprint(executor.start_job('a', ['sh', '-c', 'echo once; sleep 9']))"
    )
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code, tmp_path, campaign],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    for starter in starters:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
    answers = []
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.flush()
    for starter in starters:
        answers.append(starter.communicate()[0].strip())
    assert sorted(answers) == ["False"] * 4 + ["True"]
    executor = LocalExecutor(tmp_path, campaign)
    until(lambda: executor.job_output("a"))
    assert executor.job_output("a") == "once\n"


def test_a_job_outlives_the_process_that_started_it(tmp_path: Path, campaign: str) -> None:
    """A task killed with its whole process group leaves its client running, to be adopted."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchlab.hosts.executor import LocalExecutor\n"
        "LocalExecutor(Path(sys.argv[1]), sys.argv[2]).start_job('a', ['sleep', '600'])\n"
        "print('started', flush=True)\nsys.stdin.read()"
    )
    starter = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path, campaign],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert starter.stdout is not None
    starter.stdout.readline()
    os.killpg(starter.pid, signal.SIGKILL)
    starter.communicate()
    executor = LocalExecutor(tmp_path, campaign)
    assert executor.job_status("a").state == "running"
    assert not executor.start_job("a", SLEEP)


def test_a_killed_program_is_complete_with_the_signal(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """SIGKILL of the program is seen as 137, as shells count."""
    executor.start_job("a", SLEEP)
    os.kill(pid_of(tmp_path, "a"), signal.SIGKILL)
    assert ended(executor, "a") == JobStatus("complete", 137)


def test_a_job_without_its_wrapper_runs_on_and_is_then_lost(
    executor: LocalExecutor, tmp_path: Path, campaign: str
) -> None:
    """Its exit code is unknown, and it is neither taken for running nor for complete."""
    executor.start_job("a", SLEEP)
    program = pid_of(tmp_path, "a")
    (wrapper,) = set(tagged(f"{TAG}={campaign}")) - {program}
    os.kill(wrapper, signal.SIGKILL)
    until(lambda: not alive(wrapper))
    assert executor.job_status("a") == JobStatus("running")
    os.kill(program, signal.SIGKILL)
    assert ended(executor, "a") == JobStatus("lost")
    executor.forget_job("a")
    assert executor.start_job("a", ["true"])


def test_a_job_whose_starter_died_before_it_began_is_lost(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """A reserved name without a process is not waited for, and can be used again."""
    (tmp_path / "jobs" / "a").mkdir(parents=True)
    assert executor.job_status("a") == JobStatus("lost")
    assert not executor.start_job("a", SLEEP)
    executor.forget_job("a")
    assert executor.start_job("a", SLEEP)


def test_a_later_process_of_the_same_pid_is_not_taken_for_the_job(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """A pid that now belongs to another process does not count as the job and is not stopped."""
    executor.start_job("a", ["true"])
    ended(executor, "a")
    job = tmp_path / "jobs" / "a"
    (job / "exit_code").unlink()
    until(lambda: executor.job_status("a") == JobStatus("lost"))  # the wrapper has ended too
    with subprocess.Popen(SLEEP) as other:
        (job / "pid").write_text(str(other.pid))
        assert executor.job_status("a") == JobStatus("lost")
        executor.stop_job("a")
        assert alive(other.pid)
        other.kill()


def test_jobs_of_two_campaigns_with_one_name_are_two(tmp_path: Path, campaign: str) -> None:
    """Even in one directory, one campaign's job is not the other's."""
    first = LocalExecutor(tmp_path, campaign)
    second = LocalExecutor(tmp_path, f"{campaign}-other")
    first.start_job("a", SLEEP)
    assert second.job_status("a").state == "lost"
    second.stop_job("a")
    assert first.job_status("a").state == "running"


@pytest.mark.parametrize("text", ["", "x", "999999999"])
def test_a_torn_job_directory_is_a_lost_job(
    executor: LocalExecutor, tmp_path: Path, text: str
) -> None:
    """A machine that lost power leaves half-written files."""
    job = tmp_path / "jobs" / "a"
    job.mkdir(parents=True)
    (job / "pid").write_text(text)
    (job / "exit_code.part").write_text(text)
    assert executor.job_status("a") == JobStatus("lost")
    executor.stop_job("a")


# ---------------------------------------------------------------- stopping


def test_a_stopped_job_has_ended(executor: LocalExecutor, tmp_path: Path) -> None:
    """After `stop_job` the program is gone; stopping again, or nothing, does nothing."""
    executor.start_job("a", SLEEP)
    program = pid_of(tmp_path, "a")
    executor.stop_job("a")
    assert not alive(program)
    assert executor.job_status("a") == JobStatus("complete", 143)
    executor.stop_job("a")
    executor.stop_job("never started")


def test_a_program_is_given_time_to_end(executor: LocalExecutor, tmp_path: Path) -> None:
    """SIGTERM first: a database writes what it has and ends by itself."""
    script = "trap 'echo writing; exit 0' TERM; echo ready; while :; do sleep 0.02; done"
    executor.start_job("a", ["sh", "-c", script])
    until(lambda: executor.job_output("a") == "ready\n")
    executor.stop_job("a")
    assert executor.job_status("a") == JobStatus("complete", 0)
    assert executor.job_output("a") == "ready\nwriting\n"


def test_a_program_that_does_not_end_is_killed(executor: LocalExecutor, tmp_path: Path) -> None:
    """After the time limit comes SIGKILL, also for a program that is stopped or ignores SIGTERM."""
    executor.start_job("deaf", STUBBORN)
    until(lambda: executor.job_output("deaf"))
    executor.stop_job("deaf", timeout_s=0.1)
    assert executor.job_status("deaf") == JobStatus("complete", 137)
    executor.start_job("frozen", SLEEP)
    os.kill(pid_of(tmp_path, "frozen"), signal.SIGSTOP)
    executor.stop_job("frozen", timeout_s=0.1)
    assert executor.job_status("frozen").state == "complete"


def test_a_running_job_is_not_forgotten(executor: LocalExecutor) -> None:
    """A running job cannot be lost by mistake."""
    executor.start_job("a", SLEEP)
    with pytest.raises(TargetError, match="job a is still running; stop it first"):
        executor.forget_job("a")
    assert executor.job_status("a").state == "running"


# ---------------------------------------------------------------- release


def test_release_finds_everything(executor: LocalExecutor, campaign: str) -> None:
    """Jobs, their children, and grandchildren in other sessions without a parent."""
    executor.start_job("a", ["sh", "-c", "sleep 600 & setsid sleep 600 & sleep 600"])
    executor.start_job("b", ["sh", "-c", "(setsid sh -c 'trap \"\" HUP; sleep 600' &); sleep 600"])
    until(lambda: len(list(tagged(f"{TAG}={campaign}"))) >= 9)
    assert executor.end_processes() >= 9
    assert list(tagged(f"{TAG}={campaign}")) == []
    assert executor.end_processes() == 0


def test_release_ends_what_ignores_sigterm(executor: LocalExecutor, campaign: str) -> None:
    """What remains after the grace period is killed, including a stopped process."""
    executor.start_job("deaf", STUBBORN)
    until(lambda: executor.job_output("deaf"))
    assert end_tagged(f"{TAG}={campaign}", grace_s=0.1) > 0
    assert list(tagged(f"{TAG}={campaign}")) == []


def test_release_touches_no_other_campaign(tmp_path: Path, campaign: str) -> None:
    """A tag is matched as a whole: campaign `x-1` is not part of `x-10`."""
    mine, other = LocalExecutor(tmp_path / "1", campaign), f"{campaign}0"
    theirs = LocalExecutor(tmp_path / "2", other)
    mine.start_job("a", SLEEP)
    theirs.start_job("a", SLEEP)
    mine.end_processes()
    assert mine.job_status("a").state != "running"
    assert theirs.job_status("a").state == "running"
    assert theirs.end_processes() > 0


def test_a_zombie_is_not_running(executor: LocalExecutor, tmp_path: Path, campaign: str) -> None:
    """A process that has ended and that nobody has waited for holds nothing up."""
    environment = {**os.environ, TAG: campaign, JOB_TAG: "a"}
    zombie = subprocess.Popen(["true"], env=environment)
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert zombie.pid not in list(tagged(f"{TAG}={campaign}"))
    job = tmp_path / "jobs" / "a"
    job.mkdir(parents=True)
    (job / "pid").write_text(str(zombie.pid))
    assert executor.job_status("a") == JobStatus("lost")
    assert executor.end_processes() == 0
    assert end_process(zombie.pid, grace_s=0) == 1
    zombie.wait()


def test_a_process_is_ended_by_its_pid() -> None:
    """Gently, then by force; one that is not there is no error."""
    gentle = subprocess.Popen(SLEEP)
    assert end_process(gentle.pid) == 1
    assert gentle.wait() == -signal.SIGTERM
    stubborn = subprocess.Popen(STUBBORN, stdout=subprocess.PIPE)
    assert stubborn.stdout is not None
    stubborn.stdout.readline()
    assert end_process(stubborn.pid, grace_s=0.1) == 1
    assert stubborn.wait() == -signal.SIGKILL
    stubborn.stdout.close()
    assert end_process(stubborn.pid) == 0


# ---------------------------------------------------------------- files


def test_a_file_is_written_with_its_directories(executor: LocalExecutor, tmp_path: Path) -> None:
    """The text is what was given, also where a file was there."""
    path = tmp_path / "deep" / "er" / "file"
    executor.put(path, "a long first text\n")
    executor.put(path, "ünï\n")
    assert path.read_text() == "ünï\n"
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_private_file_is_its_owners_only(executor: LocalExecutor, tmp_path: Path) -> None:
    """Mode 0600, whatever the umask is and whatever was there before."""
    path = tmp_path / "secret"
    before = os.umask(0)
    try:
        path.write_text("open to all")
        path.chmod(0o666)
        executor.put(path, "hunter2", private=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_private_file_is_private_from_its_first_byte(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """Neither an earlier open file nor a watcher of the directory gives access to the secret."""
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from benchlab.hosts.executor import LocalExecutor\n"
        "os.umask(0)\nexecutor = LocalExecutor(Path(sys.argv[1]), 'x')\nprint(flush=True)\n"
        "while True: executor.put(Path(sys.argv[1]) / 'secret', 'hunter2' * 9999, private=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        seen = 0
        while seen < 2000:
            for entry in os.scandir(tmp_path):
                try:
                    mode = stat.S_IMODE(entry.stat().st_mode)
                except FileNotFoundError:
                    continue
                assert mode == 0o600, entry.name
                seen += 1
        writer.kill()


def test_a_secret_is_not_written_through_a_planted_link(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """A link where the file is to be is replaced, not followed."""
    target, path = tmp_path / "target", tmp_path / "secret"
    target.write_text("")
    path.symlink_to(target)
    Path(f"{path}.part").symlink_to(target)
    executor.put(path, "hunter2", private=True)
    assert target.read_text() == ""
    assert not path.is_symlink()


def test_of_a_script_that_fails_a_person_sees_the_first_line() -> None:
    """The rest is Benchlab's own program; the whole command is there for those who look."""
    error = CommandError("h1", "sh -c 'set -eu\ndo this\ndo that'", 1, "no room")
    assert (
        str(error)
        == "on h1: `sh -c 'set -eu ...` ended with exit code 1; its last output:\nno room"
    )
    assert error.command.endswith("do that'")
