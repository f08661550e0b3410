"""How fast the hosts of a fleet are, found by short probes; what cannot be probed is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import CommandError
from benchlab.hosts import probes
from benchlab.hosts.executor import Completed, LocalExecutor
from benchlab.hosts.fleet import Fleet, FleetHost, Role
from benchlab.hosts.probes import MEASURES, REPEATS, HostProbe, change, difference, to_text
from tests.builders import fakes

LINE = "10485760 bytes (10 MB, 10 MiB) copied, {:.6f} s, 1 GB/s"
PING = "rtt min/avg/max/mdev = 0.051/0.105/0.340/0.047 ms"


def fleet() -> Fleet:
    """Three storage hosts, a client."""
    roles: dict[str, tuple[Role, ...]] = {
        **{f"kv-{n}": ("tikv",) for n in (1, 2, 3)},
        "client-1": ("client",),
    }
    return Fleet(
        tuple(
            FleetHost(name, of, f"10.0.0.{n}", f"10.0.0.{n}", "admin", "ssh-ed25519 A", Path("/d"))
            for n, (name, of) in enumerate(roles.items(), start=1)
        )
    )


class Host(fakes.FakeExecutor):
    """A host whose probe prints what a real one printed, with one measure slower by a factor."""

    def __init__(self, slow: float = 1.0, measure: str = "", without: str = "") -> None:
        super().__init__()
        self.slow, self.measure, self.without = slow, measure, without

    def run(self, command: Sequence[str], **options: Any) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        script, arguments = command[2], command[4:]
        if script == probes._PING:
            return Completed(0, "".join(f"{address} {PING}\n" for address in arguments), "")
        measures = MEASURES if arguments[4] == "1" else MEASURES[:2]
        return Completed(0, "".join(map(self._line, measures * REPEATS)), "")

    def _line(self, measure: str) -> str:
        factor = self.slow if measure == self.measure else 1.0
        if measure == self.without:
            return f"{measure} env: 'dd': No such file or directory\n"
        if measure.startswith("cpu"):
            return f"{measure} 600000 lines {factor * 5e8:.0f} ns\n"
        return f"{measure} {LINE.format(factor * 0.5)}\n"


def probed(**hosts: fakes.FakeExecutor) -> dict[str, HostProbe]:
    """The probes of a fleet; ``hosts`` replace what is alike, `_` for `-`."""
    executors = {name.replace("_", "-"): host for name, host in hosts.items()}
    return probes.probe(
        fleet(), lambda host: executors.get(host.name, Host()), lambda host: Path("/d"), 1.0
    )


def test_hosts_that_are_alike_do_not_differ() -> None:
    """Storage hosts have figures of their disk, and all but the client the way to it."""
    found = probed()
    assert difference(to_text(found)) == 0
    storage, client = found["kv-1"], found["client-1"]
    assert storage.figures["round_trip"] == [0.105]
    assert storage.figures["cpu_one"] == [pytest.approx(1_200_000)] * REPEATS
    assert storage.figures["disk_write"] == [pytest.approx(20_971_520, rel=1e-4)] * REPEATS
    assert storage.figures["disk_sync"] == [pytest.approx(20_971_520 / 4096, rel=1e-4)] * REPEATS
    assert set(client.figures) == {"cpu_one", "cpu_all"}, "nothing of a campaign is on its disk"
    assert not any(host.failed for host in found.values())


@pytest.mark.parametrize("measure", MEASURES)
def test_a_slow_host_is_found(measure: str) -> None:
    """By any measure, and by how much; a slow client has no host to be compared with."""
    found = probed(kv_2=Host(slow=1.25, measure=measure))
    assert difference(to_text(found)) == pytest.approx(0.25, abs=1e-3)
    assert difference(to_text(probed(client_1=Host(slow=1.25, measure=measure)))) == 0


@pytest.mark.parametrize(("factor", "expected"), [(1.25, 0.25), (0.8, 0.25), (1.0, 0.0)])
def test_a_host_that_changes_is_found(factor: float, expected: float) -> None:
    """Throttled since the start, or at the start; only with both probes."""
    first, again = probed(), probed(kv_2=Host(slow=factor, measure="cpu_all"))
    assert change(to_text(first), to_text(again)) == pytest.approx(expected, abs=1e-3)
    assert change(to_text(first), None) is None
    assert change(None, to_text(again)) is None


def test_what_overlaps_is_no_difference() -> None:
    """Repeats that vary by 30 % hide a host that is 20 % slower, rather than find it by chance."""
    speeds = {"fast": [1.0, 1.3], "slow": [0.8, 1.05]}
    found = {name: HostProbe(("tikv",), {"disk_sync": values}) for name, values in speeds.items()}
    assert difference(to_text(found)) == 0


def test_a_host_that_is_three_times_slower_has_changed_though_one_repeat_was_not() -> None:
    """What hides a change is in the list of repeats that vary, so that a reader sees why."""
    first = {"kv-1": HostProbe(("tikv",), {"disk_sync": [900, 950, 1000, 1000, 1050, 1100, 1150]})}
    slow = {"kv-1": HostProbe(("tikv",), {"disk_sync": [290, 300, 310, 320, 330, 340, 980]})}
    assert change(to_text(first), to_text(slow)) == pytest.approx(1100 / 980 - 1)
    wild = {"kv-1": HostProbe(("tikv",), {"disk_sync": [100, 150, 250, 320, 900, 1000, 1500]})}
    assert change(to_text(first), to_text(wild)) == 0
    assert probes.noisy(first) == [("disk_sync", "kv-1", 900, 1150)]
    assert probes.noisy(wild) == [("disk_sync", "kv-1", 100, 1500)]


def test_a_missing_tool_is_named_and_keeps_the_other_figures() -> None:
    """Of that host only; what it has not is not judged, and nothing is made up."""
    found = probed(kv_1=Host(without="disk_read"))
    assert found["kv-1"].failed == {"disk_read": "env: 'dd': No such file or directory"}
    assert set(found["kv-1"].figures) == {*MEASURES, "round_trip"} - {"disk_read"}
    assert difference(to_text(found)) is None
    everywhere = Host(without="disk_read")
    none_has_it = probed(kv_1=everywhere, kv_2=everywhere, kv_3=everywhere)
    assert difference(to_text(none_has_it)) == 0, "the others are judged"


def test_a_host_that_cannot_be_probed_is_named() -> None:
    """Without the script, which is long; the other hosts have their figures."""

    class Lost(Host):
        def run(self, command: Sequence[str], **options: Any) -> Completed:
            raise CommandError("kv-1", " ".join(command), 255, "no route\nto host")

    found = probed(kv_1=Lost(), client_1=Lost())
    assert found["kv-1"].failed == {"probe": "no route to host", "round_trip": "no route to host"}
    assert found["kv-2"].failed == {"round_trip": "no route to host"}
    assert found["kv-2"].figures
    assert difference(to_text(found)) is None


def test_the_text_gives_back_what_was_probed() -> None:
    """As the campaign's environment keeps it."""
    found = probed(kv_1=Host(without="disk_read"))
    assert probes.from_text(to_text(found)).keys() == found.keys()
    assert probes.from_text(to_text(found))["kv-1"].failed == found["kv-1"].failed
    assert probes.from_text(None) == {}


@pytest.fixture
def real(tmp_path: Path) -> Callable[..., dict[str, HostProbe]]:
    """Probes this machine; ``path``: where its programs are found."""

    def run(path: str) -> dict[str, HostProbe]:
        class Here(LocalExecutor):
            def run(self, command: Sequence[str], **options: Any) -> Completed:
                return super().run(command, env={"PATH": path}, **options)

        host = FleetHost("kv-1", ("tikv", "client"), "127.0.0.1", "", "admin", "", tmp_path)
        executor = Here(tmp_path, "c1")
        return probes.probe(Fleet((host,)), lambda _: executor, lambda _: tmp_path, 0.05)

    return run


def test_this_machine_is_probed_and_left_clean(
    real: Callable[..., dict[str, HostProbe]], tmp_path: Path
) -> None:
    """By the programs that every Debian has; nothing is left in the directory."""
    (found,) = real(os.environ["PATH"]).values()
    assert {"cpu_one", "cpu_all", "disk_sync"} <= set(found.figures), found.failed
    assert all(speed > 0 for values in found.figures.values() for speed in values)
    assert not list(tmp_path.glob("probe.*"))


def test_a_program_that_this_machine_lacks_is_named(
    real: Callable[..., dict[str, HostProbe]], tmp_path: Path
) -> None:
    """With every other program there."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "seq", "sort", "date", "rm", "nproc", "env", "timeout", "tail", "dd"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    (found,) = real(str(programs)).values()
    assert "shuf" in found.failed["cpu_one"]
    assert "disk_sync" in found.figures
