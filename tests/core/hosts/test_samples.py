"""A sampler's output is read exactly, from any kernel; what cannot be derived is missing."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlab.hosts import metrics
from benchlab.hosts.executor import Completed, Executor
from benchlab.hosts.metrics import HostMetrics, Watched, clock_offset_ms, start, stop_and_collect
from benchlab.hosts.samples import METRICS, HostSeries, Interval, figures, parse, whole_disks
from tests.builders.fakes import FakeExecutor

# Two cores, sysbench with 4 threads, HAProxy with 2, MariaDB; five seconds of oltp_read_write.
RECORDED = (Path(__file__).parents[2] / "golden" / "hosts" / "read_write_t4.txt").read_text()
CLIENT, BALANCER = "client-r1-baseline-oltp_read_write-t4-a1", "haproxy"
SAMPLES = RECORDED.count("\nend\n")
# Half of the time of two ticks was a user's.
IDLE, HALF = "cpu  0 0 0 0 0 0 0 0", "cpu  1 0 0 1 0 0 0 0"


def printed(*samples: Sequence[str], header: str = "cores 2\nticks 100\n") -> str:
    """A sampler's output: samples one second apart, unless a sample has its own time."""
    text = header
    for second, lines in enumerate(samples):
        own = bool(lines) and lines[0].startswith("at ")
        at = lines[0][3:] if own else f"{100 + second}.00"
        text += "\n".join([f"{at} 12.00", *lines[own:], "end\n"])
    return text


def only(*samples: Sequence[str]) -> Interval:
    """The one interval between two samples."""
    (interval,) = parse(printed(*samples)).intervals
    return interval


def disk(name: str, read: int = 0, written: int = 0, busy: int = 0, more: str = "") -> str:
    """One line of /proc/diskstats; sectors and milliseconds."""
    return f" 254       0 {name} 9 9 {read} 9 9 9 {written} 9 0 {busy} 9{more}"


def net(name: str, received: int, sent: int, gap: str = " ") -> str:
    """One line of /proc/net/dev."""
    return f"  {name}:{gap}{received} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0"


# ---------------------------------------------------------------- a real recording


def test_a_recorded_trial_is_read_in_full() -> None:
    """Every second, every metric; fractions of CPU add up to one.

    The client ended in the last second, so that what was others' in it is not known.
    """
    series = parse(RECORDED)
    assert series.cores == 2
    assert len(series.intervals) == SAMPLES - 1 == 5
    assert [interval.t for interval in series.intervals] == pytest.approx([1, 2, 3, 4, 5], abs=0.05)
    for interval in series.intervals:
        values = {metric: getattr(interval, metric) for metric in METRICS}
        missing = {metric for metric, value in values.items() if value is None}
        assert missing == ({"cpu_other"} if interval is series.intervals[-1] else set())
        parts = ("user", "system", "iowait", "steal", "idle")
        assert sum(values[f"cpu_{part}"] for part in parts) == pytest.approx(1)
    found = figures(series)
    assert found["cpu_busy"].mean > 0.95
    assert found["memory_used_bytes"].max < 24684084 * 1024


def test_figures_of_the_recording_are_those_of_its_first_and_last_counters() -> None:
    """Here means are computed from the two ends of the recording alone."""
    found = figures(parse(RECORDED))
    lines = RECORDED.splitlines()
    cpu = [[int(n) for n in line.split()[1:9]] for line in lines if line.startswith("cpu ")]
    spent = [last - first for first, last in zip(cpu[0], cpu[-1], strict=True)]
    # Ticks are counted when they happen, so that the seconds differ a little in ticks.
    assert found["cpu_idle"].mean == pytest.approx(spent[3] / sum(spent), abs=0.002)
    assert found["cpu_system"].mean == pytest.approx(
        (spent[2] + spent[5] + spent[6]) / sum(spent), abs=0.002
    )
    disks = [line.split() for line in lines if " vda " in line]
    seconds = sum(interval.seconds for interval in parse(RECORDED).intervals)
    written = 512 * (int(disks[-1][9]) - int(disks[0][9])) / seconds
    assert found["disk_write_bytes_per_s"].mean == pytest.approx(written)
    assert written > 0


def test_client_and_balancer_of_the_recording_used_less_than_a_core() -> None:
    """The use of each job's own process, from its first sample to its last."""
    used = parse(RECORDED).processes
    assert set(used) == {CLIENT, BALANCER}
    assert 0.05 < used[CLIENT] < 1
    assert 0.05 < used[BALANCER] < 1


@given(st.integers(0, len(RECORDED)))
def test_a_recording_cut_anywhere_loses_its_last_sample_and_nothing_else(length: int) -> None:
    """A sampler that is killed while it prints leaves what it had printed whole."""
    whole = parse(RECORDED).intervals
    cut = parse(RECORDED[:length]).intervals
    assert cut == whole[: len(cut)]
    complete = RECORDED[:length].splitlines().count("end")
    assert len(cut) == max(0, complete - 1)


# ---------------------------------------------------------------- kernels and counters


@pytest.mark.parametrize(
    ("before", "after", "user", "system", "iowait", "steal", "busy"),
    [
        ("10 0 10 10 0 0 0 10", "30 10 20 30 10 5 5 30", 0.3, 0.2, 0.1, 0.2, 0.7),
        # With guests' time, which user has already.
        ("0 0 0 0 0 0 0 0 0 0", "60 0 20 10 10 0 0 0 60 0", 0.6, 0.2, 0.1, 0.0, 0.8),
        # Before Linux 2.6.11 there was no steal: nothing is made of fewer columns.
        ("0 0 0 0 0 0 0", "50 10 20 20 0 0 0", None, None, None, None, None),
    ],
)
def test_cpu_time_of_any_kernel(
    before: str,
    after: str,
    user: float | None,
    system: float | None,
    iowait: float | None,
    steal: float | None,
    busy: float | None,
) -> None:
    """Guests are not counted twice; what a kernel does not report is missing."""
    found = only([f"cpu  {before}"], [f"cpu  {after}"])
    told = (found.cpu_user, found.cpu_system, found.cpu_iowait, found.cpu_steal, found.cpu_busy)
    assert told == pytest.approx((user, system, iowait, steal, busy))


def test_iowait_that_goes_back_is_no_negative_time() -> None:
    """Proc(5) says that it may; the rest of the interval is good."""
    found = only(["cpu  0 0 0 0 50 0 0 0"], ["cpu  50 0 0 50 48 0 0 0"])
    assert (found.cpu_user, found.cpu_iowait, found.cpu_busy) == (0.5, 0.0, 0.5)


@pytest.mark.parametrize("after", ["cpu  1 0 0 9 0 0 0 0", "cpu  90 0 0 10 0 0 0"])
def test_cpu_counters_that_began_anew_tell_nothing(after: str) -> None:
    """Neither a negative nor an absurd share."""
    found = only(["cpu  90 0 0 10 0 0 0 0"], [after])
    assert found.cpu_user is None
    assert found.cpu_busy is None


def test_a_host_that_was_started_anew_begins_a_new_series() -> None:
    """Its uptime went back; there is no interval over the gap."""
    series = parse(
        printed(
            ["at 500.00", net("eth0", 10**9, 10**9)],
            ["at 3.00", net("eth0", 5, 5)],
            ["at 4.00", net("eth0", 105, 5)],
        )
    )
    (interval,) = series.intervals
    assert interval.net_rx_bytes_per_s == 100


def test_32_bit_counters_wrap_and_others_restart() -> None:
    """A counter may wrap at 2^32; from elsewhere back to zero the increase is unknown."""
    wrapped = only([net("eth0", 2**32 - 500, 0)], [net("eth0", 500, 10)])
    assert wrapped.net_rx_bytes_per_s == 1000
    restarted = only([net("eth0", 10**9, 0)], [net("eth0", 500, 10)])
    assert (restarted.net_rx_bytes_per_s, restarted.net_tx_bytes_per_s) == (None, 10)


def test_disks_are_counted_once() -> None:
    """Neither partitions nor devices on top of disks (md, dm, loop, zram) are counted."""
    names = ["nvme0n1", "nvme0n1p1", "nvme1n1", "md0", "dm-0", "sda", "sda1", "sda15", "loop3"]
    assert whole_disks([*names, "zram0", "sr0", "xvdb1", "nvme0c0n1"]) == [
        *("nvme0n1", "nvme1n1", "sda", "xvdb1")
    ]
    before = [disk("nvme0n1"), disk("nvme0n1p1"), disk("nvme1n1"), disk("md0", more=" 1 2 3 4")]
    after = [
        disk("nvme0n1", read=10, written=4, busy=250),
        disk("nvme0n1p1", read=10, written=4, busy=250),
        disk("nvme1n1", read=20, busy=900),
        disk("md0", read=30, written=4, busy=1000, more=" 1 2 3 4"),
    ]
    found = only(before, after)
    assert found.disk_read_bytes_per_s == 30 * 512
    assert found.disk_write_bytes_per_s == 4 * 512
    assert found.disk_busy == 0.9


def test_network_cards_are_counted_once_and_loopback_never() -> None:
    """Bridges, bonds and tunnels pass on what the cards count."""
    cards = ("lo", "ens5", "eth1", "docker0", "br-1f", "veth12", "bond0", "eth1.100", "ifb0")
    found = only([net(c, 0, 0) for c in cards], [net(c, 100, 7, gap="") for c in cards])
    assert (found.net_rx_bytes_per_s, found.net_tx_bytes_per_s) == (200, 14)


def test_used_memory_is_what_is_not_available() -> None:
    """Missing where a kernel, before 3.14, does not report what is available."""
    free = ["MemTotal: 1000 kB", "MemFree: 100 kB"]
    assert only([], [*free, "MemAvailable: 700 kB"]).memory_used_bytes == 300 * 1024
    assert only([], free).memory_used_bytes is None


def test_what_a_host_does_not_tell_is_missing_and_not_zero() -> None:
    """A host without disks or with unknown lines still has what it reported."""
    found = only(["what?", IDLE], ["7 (", HALF, disk("vda")])
    assert found.cpu_user == 0.5
    assert found.disk_busy is None
    assert found.disk_read_bytes_per_s is None
    assert found.net_rx_bytes_per_s is None
    assert "disk_busy" not in figures(parse(printed([IDLE], [HALF])))


def test_a_last_sample_that_follows_closely_lengthens_its_interval() -> None:
    """No rate is computed from a few hundredths of a second."""
    eth = [net("eth0", n, 0) for n in (0, 100, 103)]
    series = parse(printed([eth[0]], ["at 101.00", eth[1]], ["at 101.03", eth[2]]))
    (interval,) = series.intervals
    assert interval.seconds == 1.03
    assert interval.net_rx_bytes_per_s == pytest.approx(100)


@pytest.mark.parametrize("comm", ["sysbench", "a) b (c", "x) R 1 2"])
def test_a_process_is_known_by_its_pid_and_start(comm: str) -> None:
    """Its name may be anything; a later process with the same pid does not count."""

    def stat(ticks: int, started: int = 77) -> str:
        before = "1 " * 10 + f"{ticks} 0 " + "0 " * 6
        return f"42 ({comm}) S {before}{started} 9 9 9"

    header = "cores 2\nticks 100\nprocess client-x 42\n"
    text = printed([stat(100)], [stat(150)], [stat(300)], [], header=header)
    assert parse(text).processes == {"client-x": pytest.approx(1.0)}
    other = printed([stat(100)], [stat(150, started=99)], header=header)
    assert parse(other).processes == {}
    assert parse(text.replace("ticks 100\n", "")).processes == {}


# ---------------------------------------------------------------- work of others

SAMPLER, SERVER, CLIENT_PID = 9, 21, 22
COUNTED = "cores 2\nticks 100\nsampler 9\n"


def own(pid: int, ticks: int, parent: int = 1, *, children: int = 0, started: int = 5) -> str:
    """A process of the campaign, as /proc/<pid>/stat has it."""
    return f"{pid} (x) S {parent} 1 1 0 -1 0 1 1 1 1 {ticks} 0 {children} 0 20 0 1 0 {started} 9 9"


def others(*samples: Sequence[str], header: str = COUNTED) -> list[float | None]:
    """The share of others in each interval."""
    found = parse(printed(*samples, header=header)).intervals
    return [None if one.cpu_other is None else round(one.cpu_other, 3) for one in found]


def test_other_work_is_what_the_campaign_s_processes_and_the_kernel_did_not_use() -> None:
    """Of 200 ticks, 160 were used: 60 by a server, 20 by a client, 10 by the kernel."""
    before = ["cpu  0 0 0 0 0 7 0 0", own(SAMPLER, 1), own(SERVER, 500), "kernel 4 90 kworker/0:1"]
    after = ["cpu  100 20 40 40 0 7 0 0", own(SAMPLER, 1), own(SERVER, 560), own(CLIENT_PID, 20)]
    assert others(before, [*after, "kernel 4 100 kworker/0:1"]) == [0.35]
    assert others(before, after) == [0.4], "a thread that has ended no longer counts"


def test_the_services_of_make_up_are_no_other_work() -> None:
    """They work beside either side alike; a task that ended counts in its parent's figure."""
    used = "cpu  100 0 0 100 0 0 0 0"
    before = [IDLE, own(SAMPLER, 0), "service 40 10 5 0 0", "service 41 20 10 0 0"]
    after = [used, own(SAMPLER, 0), "service 40 20 5 30 20", "service 43 10 0 0 0"]
    assert others(before, after) == [0.3], "50 ticks: 10 of 40, 20 more of 41, 10 of 43"
    assert others([IDLE, own(SAMPLER, 0), "service 40 90 0 0 0"], [used, own(SAMPLER, 0)]) == [0.5]


@pytest.mark.parametrize(
    ("hard", "idle", "share"), [(0, 0, 0.25), (0, 60, 10 / 140), (0, 540, 2 / 620), (50, 0, 0.0)]
)
def test_soft_interrupts_count_where_the_kernel_charges_them_to_programs(
    hard: int, idle: int, share: float
) -> None:
    """Else a neighbour would hide behind them: the server's 60 ticks have 20 of them in it.

    Of idle cores, which a fleet's hosts have, they are nobody's. A kernel that sees hard interrupts
    counts both apart, and ksoftirqd's time among them.
    """
    before = [f"cpu  0 0 0 0 0 {hard} 0 0", own(SAMPLER, 0), own(SERVER, 0)]
    after = [f"cpu  60 0 0 {idle} 0 {hard} 20 0", own(SAMPLER, 0), own(SERVER, 60)]
    assert others(before, after) == [pytest.approx(share, abs=6e-4)]
    soft = ["kernel 5 50 ksoftirqd/1"], ["kernel 5 52 ksoftirqd/1"]
    less = 0 if hard else 2 / (80 + idle)
    assert others(before + soft[0], after + soft[1]) == [
        pytest.approx(max(share - less, 0), abs=6e-4)
    ]


def test_the_sampler_is_not_what_it_measures() -> None:
    """Its children live for a moment, and count once they have ended; they are nobody's end."""
    before = [IDLE, own(SAMPLER, 1, children=10), own(31, 0, SAMPLER)]
    after = ["cpu  10 0 0 190 0 0 0 0", own(SAMPLER, 2, children=15), own(32, 0, SAMPLER)]
    assert others(before, after) == [0.02]


@pytest.mark.parametrize(
    ("after", "header"),
    [
        ([own(SAMPLER, 0)], COUNTED),  # a process of the campaign has ended
        ([own(SAMPLER, 0), own(SERVER, 3, started=6)], COUNTED),  # and another one has its pid
        ([own(SERVER, 9)], COUNTED),  # the sampler itself is not seen
        ([own(SAMPLER, 0), own(SERVER, 9)], "cores 2\nticks 100\n"),  # of an earlier Benchlab
    ],
)
def test_where_a_process_of_the_campaign_is_not_known_others_are_not(
    after: list[str], header: str
) -> None:
    """Its work must not be taken for somebody else's."""
    used = "cpu  60 0 0 140 0 0 0 0"
    assert others([IDLE, own(SAMPLER, 0), own(SERVER, 0)], [used, *after], header=header) == [None]


def test_the_host_with_the_most_other_work_counts() -> None:
    """One busy host is enough; one that does not say leaves the gate without a figure."""
    busy = printed(
        [IDLE, own(SAMPLER, 0)],
        ["cpu  60 0 0 140 0 0 0 0", own(SAMPLER, 0)],
        header=COUNTED,
    )
    calm = busy.replace("cpu  60 0 0 140", "cpu  2 0 0 198")
    assert collected({"client-1": calm, "tikv-1": busy}).columns()["other_work_ratio"] == 0.3
    earlier = busy.replace("sampler 9\n", "")
    found = collected({"client-1": busy, "tikv-1": earlier}).columns()
    assert found["other_work_ratio"] is None
    assert found["cpu_steal_ratio"] is None, "too short"


LINES = st.one_of(
    st.sampled_from(RECORDED.splitlines()),
    st.from_regex(r"[0-9]{1,9}\.[0-9]{2} [0-9]\.[0-9]{2}", fullmatch=True),
    st.from_regex(r"cpu  ([0-9]{1,20} ){6,11}[0-9]{1,20}", fullmatch=True),
    st.from_regex(r" 8 0 sd[ab] ([0-9]{1,20} ){10,19}[0-9]{1,20}", fullmatch=True),
    st.from_regex(r"  eth[01]:( [0-9]{1,20}){16}", fullmatch=True),
    st.from_regex(r"Mem(Total|Available): +[0-9]{1,20} kB", fullmatch=True),
    st.from_regex(r"kernel [12] [0-9]{1,20} k", fullmatch=True),
    st.from_regex(r"service 7( [0-9]{1,20}){4}", fullmatch=True),
    st.sampled_from([own(SAMPLER, 1), own(SAMPLER, 9**9), own(SERVER, 1), own(SERVER, 7, 9)]),
    st.text(max_size=60),
)


@given(st.lists(LINES, max_size=60))
@example(["cores ٣", "1.00 1.00", IDLE.replace("0", "٣", 1), "end", "2.00 1.00", HALF, "end"])
def test_whatever_is_printed_no_figure_is_absurd(lines: list[str]) -> None:
    """Fractions lie between 0 and 1, rates are finite and not negative; nothing raises."""
    series = parse("\n".join(["sampler 9", *lines, "end"]))
    for interval in series.intervals:
        assert interval.seconds > 0
        for metric in METRICS:
            value = getattr(interval, metric)
            if value is not None:
                assert math.isfinite(value)
                assert value >= 0
                assert value <= 1 or "bytes" in metric
    for figure in figures(series).values():
        assert figure.mean <= figure.max * (1 + 1e-9)
    assert all(math.isfinite(cores) and cores >= 0 for cores in series.processes.values())


# ---------------------------------------------------------------- columns of the gates

WATCHED = [Watched("client", CLIENT, 4), Watched("load balancer", BALANCER, 64)]


def collected(
    outputs: dict[str, str],
    watched: Sequence[Watched] = WATCHED,
    *,
    alone: bool = False,
) -> HostMetrics:
    """The metrics of hosts that print this; the first one is the client's."""
    executors = {host: FakeExecutor() for host in outputs}
    client = next(iter(outputs))
    assert start(executors, "hosts-x", 5, client, watched) == {}
    for host, text in outputs.items():
        executors[host].jobs["hosts-x"] = (executors[host].job_status("hosts-x"), text)
    return stop_and_collect(
        *(executors, "hosts-x", client, watched),
        unsampled={},
        client_alone=alone,
    )


def test_the_client_is_measured_by_what_its_threads_could_use() -> None:
    """One core per thread, at most the host's; the cores of a shared host do not count."""
    used = parse(RECORDED).processes
    columns = collected({"localhost": RECORDED}).columns()
    assert columns["harness_cpu_ratio"] == pytest.approx(max(used.values()) / 2)
    one = [Watched("client", CLIENT, 1), WATCHED[1]]
    assert collected({"localhost": RECORDED}, one).hosts[0].processes["client"] == used[CLIENT]


def test_a_client_alone_on_its_host_is_measured_by_the_whole_host_too() -> None:
    """Client and load balancer share its cores, so that together they can be the bottleneck."""
    found = collected({"client-1": RECORDED}, alone=True)
    assert found.columns()["harness_cpu_ratio"] == found.hosts[0].figures["cpu_busy"].mean > 0.9


def test_the_worst_host_s_steal_counts() -> None:
    """One neighbour that takes CPU is enough."""
    stolen = printed(["at 1.00", "cpu  0 0 0 0 0 0 0 0"], ["at 11.00", "cpu  0 0 0 1800 0 0 0 200"])
    found = collected({"client-1": RECORDED, "tikv-1": stolen})
    assert found.columns()["cpu_steal_ratio"] == 0.1
    assert collected({"localhost": stolen}).columns()["cpu_steal_ratio"] == 0.1, "here too"


def test_a_trial_too_short_to_tell_one_percent_of_steal_tells_none() -> None:
    """In one second of two cores a single tick is half a percent."""
    short = printed(["cpu  0 0 0 0 0 0 0 0"], ["cpu  0 0 0 199 0 0 0 1"])
    assert collected({"localhost": short}).columns()["cpu_steal_ratio"] is None


@pytest.mark.parametrize("broken", ["", "sh: grep: not found\n", RECORDED[:900]])
def test_no_gate_passes_for_want_of_a_host(broken: str) -> None:
    """A host without figures leaves its gates without a column, and says why."""
    found = collected({"client-1": RECORDED, "tikv-1": broken})
    assert found.columns()["cpu_steal_ratio"] is None
    assert found.columns()["harness_cpu_ratio"] is not None
    assert "tikv-1" not in found.to_csv()
    assert found.hosts[1].reason is not None
    assert "printed no two samples" in str(found.hosts[1].reason)
    assert collected({"client-1": broken}).columns()["harness_cpu_ratio"] is None


def test_a_client_without_figures_is_no_idle_client() -> None:
    """Where only the load balancer is known the gate is not evaluated."""
    unknown = [Watched("client", "client-other", 4), WATCHED[1]]
    assert collected({"localhost": RECORDED}, unknown).columns()["harness_cpu_ratio"] is None


def test_the_csv_has_every_host_and_second() -> None:
    """One row each, with what is missing as an empty field."""
    bare = printed([IDLE], [HALF])
    lines = collected({"client-1": RECORDED, "tikv-1": bare}).to_csv().splitlines()
    assert lines[0] == ",".join(["host", "t", "seconds", *METRICS])
    assert len(lines) == 1 + 5 + 1
    assert lines[-1] == "tikv-1,1.0,1.0,0.5000,0.0000,0.0000,0.0000,0.5000,0.5000,,,,,,,,"


def test_the_least_free_space_counts_on_the_host_where_it_is_scarcest() -> None:
    """As a multiple of what has to stay free there; a host that does not say is not passed over."""
    roomy = printed([IDLE, "space 500 1000 4096"], [HALF, "space 400 1000 4096"])
    # What was least stays: a file that was there for some seconds has filled this one.
    filled = printed([IDLE, "space 500 1000 4096"], [HALF, "space 3 1000 4096"])
    found = collected({"client-1": roomy, "tikv-1": filled})
    assert found.series["tikv-1"].space == (3 * 4096, 1000 * 4096)
    assert found.series["tikv-1"].intervals[0].disk_used == pytest.approx(0.997)
    asked: dict[str, float] = {}

    def needed(host: str, capacity: float) -> float:
        asked[host] = capacity
        return 6 * 4096.0

    assert found.space_ratio(needed) == 0.5
    assert asked == dict.fromkeys(("client-1", "tikv-1"), 1000 * 4096.0)
    bare = printed([IDLE], [HALF])
    assert collected({"client-1": roomy, "tikv-1": bare}).space_ratio(needed) is None
    assert collected({"client-1": roomy, "tikv-1": ""}).space_ratio(needed) is None


def test_a_host_that_does_not_say_how_busy_it_is_is_not_calm() -> None:
    """None, and not zero; the others are known."""
    busy = printed([IDLE, own(SAMPLER, 0)], [HALF, own(SAMPLER, 0)], header=COUNTED)
    hosts = {"a": FakeExecutor(lambda command, stdin: busy), "b": FakeExecutor()}
    assert metrics.other_work(hosts) == {"a": 0.5, "b": None}


def test_an_empty_series_has_no_figures() -> None:
    """Nothing is made up where nothing was reported."""
    assert figures(HostSeries(None, (), {})) == {}


# ---------------------------------------------------------------- clocks


class Time(threading.local):
    """This machine's clock, as far as asking hosts takes time; each host is asked in a thread."""

    now = 1000.0

    def time(self) -> float:
        """Seconds."""
        return self.now

    monotonic = time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes any time but what a test says, however busy the machine is."""
    monkeypatch.setattr(metrics, "time", TIME)


TIME = Time()


class Clock(FakeExecutor):
    """A host whose clock is ahead of this machine's, and whose answer takes a while to come."""

    def __init__(
        self,
        ahead_s: float,
        answer_s: Sequence[float] = (0.0,),
        *,
        says: str = "",
        drift_s: float = 0.0,
    ) -> None:
        super().__init__()
        self.ahead_s, self.says, self.drift_s = ahead_s, says, drift_s
        self.answers = itertools.cycle(answer_s)

    def run(self, command: Sequence[str], **options: Any) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        assert command == ["date", "+%s.%N"]
        read = TIME.now + self.ahead_s
        self.ahead_s += self.drift_s
        TIME.now += next(self.answers)
        return Completed(0, self.says or f"{read:.9f}\n", "")


@pytest.mark.usefixtures("clock")
def test_the_offset_is_that_of_the_two_clocks_furthest_apart() -> None:
    """In milliseconds; an error of this machine's own clock does not matter."""
    clocks = {"a": Clock(5.0), "b": Clock(5.007), "c": Clock(5.030)}
    assert clock_offset_ms(clocks) == pytest.approx(30)


@pytest.mark.usefixtures("clock")
def test_one_quick_answer_is_enough() -> None:
    """Slow answers beside a fast one do no harm; a host is known to half of its round trip."""
    clocks = {"a": Clock(0.0, [0.05, 0.05, 0.009]), "b": Clock(0.0)}
    assert clock_offset_ms(clocks) == pytest.approx(4.5)


@pytest.mark.parametrize(
    "clocks",
    [
        {},
        {"a": Clock(0.0)},
        {"a": Clock(0.0), "b": Clock(0.0, [0.011])},
        {"a": Clock(0.0), "b": Clock(0.0, says="date: not found")},
        {"a": Clock(0.0), "b": Clock(0.0, drift_s=1.0)},
    ],
    ids=["no host", "one host", "far away", "no clock", "a clock that is set"],
)
@pytest.mark.usefixtures("clock")
def test_what_cannot_be_told_of_clocks_is_none(clocks: dict[str, Executor]) -> None:
    """One host has nothing to differ from; a long round trip hides the offset."""
    assert clock_offset_ms(clocks) is None
