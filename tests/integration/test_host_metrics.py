"""The sampler on this machine: it sees what runs, costs next to nothing, and ends by itself."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.metrics import Watched, sampler_job, start, stop_and_collect
from benchlab.hosts.samples import parse
from benchlab.targets import haproxy
from benchlab.targets.haproxy import HAProxy
from tests.ports import free_port

LIMIT_S = 120.0
JOB = sampler_job("client-x")
SHARED: Any = {"unsampled": {}, "client_alone": False}
BUSY = ["sh", "-c", "while :; do :; done"]


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[LocalExecutor]:
    """This machine; nothing is left running."""
    made = LocalExecutor(tmp_path, f"test-hosts-{os.getpid()}-{tmp_path.name}")
    yield made
    made.end_processes()


def wait_for_samples(executor: LocalExecutor, count: int, job: str = JOB) -> None:
    """Until the sampler has printed so many samples."""
    deadline = time.monotonic() + LIMIT_S
    while executor.job_output(job).count("\nend\n") < count:
        assert time.monotonic() < deadline, executor.job_output(job)
        time.sleep(0.02)


def ticks_used(session: int | None = None) -> int:
    """Ticks of CPU that a session's processes used; None: that this machine had, used or not."""
    if session is None:
        return sum(map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
    used = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            used += sum(map(int, fields[11:13])) if int(fields[3]) == session else 0
    return used


def wait_for_end(executor: LocalExecutor, job: str = JOB) -> None:
    """Until a job has ended by itself."""
    deadline = time.monotonic() + LIMIT_S
    while executor.job_status(job).state == "running":
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_busy_loop_is_seen_as_cpu_of_its_process_and_of_the_host(
    executor: LocalExecutor,
) -> None:
    """What takes a core is a client that limits; one that sleeps is none."""
    executor.start_job("client-x", BUSY)
    executor.start_job("sleeper", ["sleep", "60"])
    watched = [Watched("client", "client-x", 1), Watched("load balancer", "sleeper", 2)]
    hosts = {"localhost": executor}
    assert start(hosts, JOB, 60, "localhost", watched) == {}
    wait_for_samples(executor, 4)
    found = stop_and_collect(hosts, JOB, "localhost", watched, **SHARED)
    (host,) = found.hosts
    # Others may run on this machine; whatever they leave, the loop takes.
    assert 0.2 < host.processes["client"] <= 1.1
    assert host.processes["load balancer"] < 0.05
    assert found.columns()["harness_cpu_ratio"] == host.processes["client"]
    assert host.cores == os.cpu_count()
    assert host.figures["cpu_busy"].mean > 0.2 / (os.cpu_count() or 1)
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert len(rows) >= 3
    assert {row["host"] for row in rows} == {"localhost"}


def test_a_write_is_seen_on_the_disk(executor: LocalExecutor, tmp_path: Path) -> None:
    """Bytes that went to the disk are counted: as many as were written, or more."""
    if executor.run(["stat", "-f", "-c", "%T", str(tmp_path)]).stdout.strip() == "tmpfs":
        pytest.skip("the test's directory is in memory")
    if not Path("/proc/diskstats").read_text().strip():
        pytest.skip("this machine shows no disk")
    hosts = {"localhost": executor}
    start(hosts, JOB, 60, "localhost", [])
    wait_for_samples(executor, 1)
    written = ["dd", "if=/dev/zero", f"of={tmp_path}/written", "bs=1M", "count=64", "conv=fsync"]
    executor.run(written)
    wait_for_samples(executor, executor.job_output(JOB).count("\nend\n") + 1)
    found = stop_and_collect(hosts, JOB, "localhost", [], **SHARED)
    intervals = found.series["localhost"].intervals
    told = sum((interval.disk_write_bytes_per_s or 0) * interval.seconds for interval in intervals)
    assert told >= 64 * 2**20 * 0.99


def test_the_sampler_ends_by_itself_with_the_run(executor: LocalExecutor) -> None:
    """Nobody has to come back for it: a trial of two seconds is sampled for two seconds."""
    start({"localhost": executor}, JOB, 2, "localhost", [])
    wait_for_end(executor)
    series = parse(executor.job_output(JOB))
    assert [round(interval.t) for interval in series.intervals] == [1, 2]
    assert executor.job_status(JOB).exit_code == 0


def test_a_sampler_that_is_stopped_tells_what_was_until_then(executor: LocalExecutor) -> None:
    """A client that died early is known to its end; collecting again gives the same."""
    hosts = {"localhost": executor}
    start(hosts, JOB, 60, "localhost", [])
    wait_for_samples(executor, 2)
    time_of_stop = float(Path("/proc/uptime").read_text().split()[0])
    first = stop_and_collect(hosts, JOB, "localhost", [], **SHARED)
    assert executor.job_status(JOB).exit_code == 0
    output = executor.job_output(JOB)
    last = [line for line in output.splitlines() if line.count(".") == 2][-1]
    assert float(last.split()[0]) >= time_of_stop - 0.02
    again = stop_and_collect(hosts, JOB, "localhost", [], **SHARED)
    assert again == first
    assert first.series["localhost"].intervals


def test_a_sampler_of_a_died_try_is_ended_and_forgotten(executor: LocalExecutor) -> None:
    """The next try's figures are its own; two samplers never run at once."""
    hosts = {"localhost": executor}
    start(hosts, JOB, 60, "localhost", [])
    wait_for_samples(executor, 1)
    before = executor.job_output(JOB).splitlines()[2]
    start(hosts, JOB, 1, "localhost", [])
    wait_for_end(executor)
    output = executor.job_output(JOB)
    assert before not in output
    assert output.count("cores ") == 1


def test_a_running_sampler_is_adopted_by_another_process(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """Whoever collects need not be who started it."""
    start({"localhost": executor}, JOB, 60, "localhost", [])
    wait_for_samples(executor, 2)
    other = LocalExecutor(tmp_path, f"test-hosts-{os.getpid()}-{tmp_path.name}")
    found = stop_and_collect({"localhost": other}, JOB, "localhost", [], **SHARED)
    assert found.hosts[0].reason is None
    assert found.hosts[0].figures["cpu_busy"].mean >= 0


def test_a_host_on_which_none_was_started_says_so(executor: LocalExecutor) -> None:
    """Figures of the other hosts are there, and no error is raised."""
    lost = LocalExecutor(Path("/proc/nowhere"), "test")
    hosts = {"client-1": executor, "tikv-1": lost}
    reasons = start(hosts, JOB, 60, "client-1", [])
    assert set(reasons) == {"tikv-1"}
    wait_for_samples(executor, 2)
    found = stop_and_collect(hosts, JOB, "client-1", [], **SHARED | {"unsampled": reasons})
    assert found.hosts[0].figures
    assert found.hosts[1].figures == {}
    assert "/proc/nowhere" in str(found.hosts[1].reason)


@pytest.mark.alone
def test_the_sampler_costs_less_than_a_percent_of_one_core(executor: LocalExecutor) -> None:
    """It must not be what it measures; its children are counted."""
    start({"localhost": executor}, JOB, 60, "localhost", [])
    wait_for_samples(executor, 6)
    pid = (executor._jobs / JOB / "pid").read_text().strip()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    cpu_seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    watched = parse(executor.job_output(JOB)).seconds
    assert watched > 4
    # Measured: 4 ms a second. Ticks are 10 ms, and a busy machine's caches are cold.
    assert cpu_seconds / watched < 0.03


def test_a_neighbour_s_work_is_told_from_the_campaign_s(executor: LocalExecutor) -> None:
    """Both loop without end; the campaign's also in a child, as `tiup bench` has one."""
    executor.start_job("client-x", ["sh", "-c", "(while :; do :; done) & while :; do :; done"])
    client = os.getsid(int((executor._jobs / "client-x" / "pid").read_text()))
    neighbour = subprocess.Popen(BUSY, start_new_session=True)
    hosts, watched = {"localhost": executor}, [Watched("client", "client-x", 1)]
    try:
        start(hosts, JOB, 60, "localhost", watched)
        wait_for_samples(executor, 1)
        before = [ticks_used(whose) for whose in (neighbour.pid, client, None)]
        wait_for_samples(executor, 6)
        after = [ticks_used(whose) for whose in (neighbour.pid, client, None)]
        found = stop_and_collect(hosts, JOB, "localhost", watched, **SHARED)
    finally:
        neighbour.kill()
        neighbour.wait()
    theirs, ours, total = (late - early for early, late in zip(before, after, strict=True))
    other = found.columns()["other_work_ratio"]
    assert other is not None
    # Of what two loops leave the third, most is seen; nothing of the two is.
    assert other > 0.5 * theirs / total
    assert other < 1.2 - ours / total


def test_real_clients_and_load_balancers_are_watched(
    executor: LocalExecutor, tmp_path: Path
) -> None:
    """sysbench and HAProxy under their own names, with their own threads."""
    with socket.create_server(("127.0.0.1", 0)) as backend:
        balancer = HAProxy(
            executor=executor,
            directory=tmp_path,
            host="127.0.0.1",
            entry_port=free_port(),
            stats_port=free_port(),
            backends={"one": f"127.0.0.1:{backend.getsockname()[1]}"},
            maxconn=10,
            threads=2,
        )
        balancer.configure()
        balancer.start()
        command = ["sysbench", "cpu", "--threads=2", "--time=60", "run"]
        executor.start_job("client-x", command)
        watched = [
            Watched("client", "client-x", 2),
            Watched("load balancer", haproxy.JOB, balancer.threads),
        ]
        hosts = {"localhost": executor}
        start(hosts, JOB, 60, "localhost", watched)
        wait_for_samples(executor, 4)
        found = stop_and_collect(hosts, JOB, "localhost", watched, **SHARED)
        balancer.stop()
    assert set(found.hosts[0].processes) == {"client", "load balancer"}
    assert found.hosts[0].processes["client"] > 10 * found.hosts[0].processes["load balancer"]
    assert found.hosts[0].processes["client"] > 0


@pytest.mark.fault(
    "a disk fills in a trial",
    promise="it is seen, so that the trial does not count",
    of="disks",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_disk_that_is_full_is_seen_though_nothing_can_be_written_on_it(tmp_path: Path) -> None:
    """Neither can the sampler print there; its last sample has room of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(disk)], check=True)
    full = LocalExecutor(disk, f"test-hosts-{os.getpid()}-full")
    try:
        start({"localhost": full}, JOB, 60, "localhost", [])
        wait_for_samples(full, 2)
        with contextlib.suppress(OSError), (disk / "filler").open("wb") as filler:
            while True:
                filler.write(bytes(4096))
        printed = len(full.job_output(JOB))
        found = stop_and_collect({"localhost": full}, JOB, "localhost", [], **SHARED)
        assert len(full.job_output(JOB)) > printed
        least, size = found.series["localhost"].space or (-1, -1)
        assert (0 <= least <= 2**17, size) == (True, 4 * 2**20)
        assert (found.space_ratio(lambda host, capacity: 2**20) or 0) < 1
    finally:
        full.end_processes()
        subprocess.run(["umount", "-l", str(disk)], check=True)
