"""Profiles of diagnosis trials: how they are taken and compared, and servers that end meanwhile."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from upath import UPath

from benchlab.analysis.cause.profiles import Compared
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.diagnosing import Diagnosing
from benchlab.campaign.profiling import LACKING, Allocations, Cpu, Profiling
from benchlab.campaign.stored import StoredCampaign
from benchlab.engines.counts import Row, to_csv
from benchlab.engines.database import Profiled
from benchlab.engines.tidb import profiles
from benchlab.engines.tidb.topology import Component
from benchlab.errors import EngineError
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import JobStatus, LocalExecutor
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.model.profiles import from_json
from benchlab.results.diagnosis import COUNTS, Diagnosis, Kind, Taken
from benchlab.results.store import Store
from benchlab.workloads import workload_of
from tests.builders import campaigns
from tests.builders.benches import Bench
from tests.builders.fakes import FakeDeployment, FakeEngine, FakeExecutor
from tests.builders.pprof_server import pprof_server
from tests.builders.profiles import RECORDED, profile_bytes

NAMES = ("main.run", "planner.optimize", "executor.next")
WORKLOAD = "oltp_point_select"


def sources(
    address: str, components: Sequence[Component], lacking: Mapping[str, str]
) -> Callable[..., Profiled]:
    """The sources of servers that are all at one address."""

    def found(self: FakeEngine, kind: Kind, seconds: int) -> Profiled:
        paths = {"tikv": "/tikv"}
        made = [
            Source(
                f"{one} {one}-1",
                one,
                profiles.command(kind, one, f"{address}{paths.get(one, '')}", seconds),
            )
            for one in components
        ]
        return Profiled(made, lacking)

    return found


def taken_of(
    observer: Profiling, folder: Path, monkeypatch: pytest.MonkeyPatch, of: Callable[..., Profiled]
) -> Mapping[str, bytes]:
    """What an observer finds at a side with these sources, by a real job."""
    made = campaigns.campaign(workloads=[WORKLOAD], rounds=1, seconds=1)
    executor = LocalExecutor(folder, "c1")
    deployment = FakeDeployment(made.plan, cast(FakeExecutor, executor))
    monkeypatch.setattr(FakeEngine, "profile_sources", of)
    setup = TrialSetup(deployment, made, workload_of(made.report_type), "", ())
    trial = made.plan.trials[0]
    observer.watch(setup, trial, "client-x")
    try:
        return observer.collect(setup, trial, "client-x")
    finally:
        observer.put_back(setup, trial)


def test_each_server_is_asked_and_one_that_refuses_costs_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are those that the server sent; why one has none is kept with them."""
    with pprof_server() as address:
        of = sources(address, ("pd", "tikv", "tidb"), {})
        found = taken_of(Cpu(), tmp_path, monkeypatch, of)
    assert set(found) == {"tidb-tidb-1.pb.gz", "tikv-tikv-1.pb.gz", LACKING}
    assert found["tidb-tidb-1.pb.gz"] == (RECORDED / "tidb_cpu.pb.gz").read_bytes()
    assert gzip.decompress(found["tikv-tikv-1.pb.gz"]) == (RECORDED / "tikv_cpu.pb").read_bytes()
    (why,) = json.loads(found[LACKING]).values()
    assert dict(why["values"])["server"] == "pd pd-1"
    assert "error: 500" in dict(why["values"])["why"]


def test_where_no_server_has_a_profile_the_trial_found_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is then tried again; the error says what the server answered."""
    with (
        pprof_server() as address,
        pytest.raises(EngineError, match=r"pd pd-1 answered with no profile: curl: \(22\)"),
    ):
        taken_of(Cpu(), tmp_path, monkeypatch, sources(address, ("pd",), {}))


class Made:
    """Profiles of trials whose shares are known, and the objects that hold them."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.rng = np.random.default_rng(7)

    def trial(
        self,
        number: int,
        side: Side,
        weights: Mapping[str, Sequence[int]],
        *,
        kind: Kind = "cpu",
        costs: Mapping[str, float] = {},
        lacking: Mapping[str, str] = {},
    ) -> Taken:
        """One trial; ``weights`` of functions by file, which its samples are drawn from."""
        files = {
            name: gzip.compress(
                profile_bytes(
                    {(n + 1, 1): int(self.rng.poisson(one)) for n, one in enumerate(of) if n},
                    [[function] for function in NAMES],
                )
            )
            for name, of in weights.items()
        }
        rows = [
            Row(name, name.partition("_")[0], "us", one, 1.0, None) for name, one in costs.items()
        ]
        files |= {COUNTS: to_csv(rows).encode(), LACKING: json.dumps(lacking).encode()}
        where = f"{kind}-{number}-{side}"
        self.objects |= {f"{where}/{name}": content for name, content in files.items()}
        names = {name: f"{where}/{name}" for name in files}
        return Taken(WORKLOAD, kind, number, side, 4, 60.0, 100.0, names)

    def concluded(self, observer: Profiling, taken: Sequence[Taken]) -> dict[str, Any]:
        """What the trials show together, by component."""
        (content,) = observer.conclude(WORKLOAD, taken, self.objects.__getitem__).values()
        return dict(from_json(content))


BEFORE, AFTER = (0, 1000, 9000), (0, 1600, 9000)
TWO = ("tidb-tidb-1.pb.gz", "tidb-tidb-2.pb.gz")


def test_what_became_dearer_is_told_in_microseconds_of_a_query() -> None:
    """Of all servers of a component together; what else was not seen is said by component."""
    made = Made()
    taken = [
        made.trial(
            number,
            side,
            dict.fromkeys(TWO, BEFORE if side == "baseline" else AFTER),
            costs={"tidb_cpu": 500 if side == "baseline" else 530},
            lacking={"tikv": "it may crash"},
        )
        for number in range(1, 5)
        for side in SIDES
    ]
    found = made.concluded(Cpu(), taken)
    tidb = found["tidb"]
    assert isinstance(tidb, Compared)
    assert tidb.counts == (4, 4)
    (first,) = [one for one in tidb.changed if one.name == "planner.optimize"]
    assert first.baseline == pytest.approx(50, rel=0.1)
    assert first.change == pytest.approx(530 * 1600 / 10600 - 50, rel=0.1)
    assert found["tikv"] == "it may crash"


def test_a_round_with_one_side_only_takes_no_part() -> None:
    """As one in which a server of a component has no profile, for shares of others would shift."""
    made = Made()
    taken = [
        made.trial(number, side, dict.fromkeys(TWO, BEFORE))
        for number in range(1, 5)
        for side in SIDES
    ]
    one_less = made.trial(4, "candidate", {TWO[0]: BEFORE})
    found = made.concluded(Cpu(), [*taken[1:-1], one_less])
    assert found["tidb"].counts == (2, 2)
    assert not found["tidb"].is_decided
    assert found["tidb"].per_transaction is None


def test_a_component_that_was_never_seen_on_both_sides_says_so() -> None:
    """It is not taken for one without a change."""
    made = Made()
    found = made.concluded(Cpu(), [made.trial(1, "baseline", {TWO[0]: BEFORE})])
    assert str(found["tidb"]) == "no round has profiles of both sides"


def test_allocations_are_told_in_bytes_of_a_query(tmp_path: Path) -> None:
    """Real ones of Go's servers; without the bytes of a query they are shares."""
    made, content = Made(), (RECORDED / "pd_allocs.pb.gz").read_bytes()
    taken = []
    for number in range(1, 4):
        for side in SIDES:
            one = made.trial(
                number, side, {}, kind="allocations", costs={"tidb_allocated_bytes": 6000.0}
            )
            made.objects["real"] = content
            names = {"tidb-tidb-1.pb.gz": "real", "pd-pd-1.pb.gz": "real"}
            taken.append(replace(one, objects={**one.objects, **names}))
    found = made.concluded(Allocations(), taken)
    assert found["tidb"].sample_type.name == "alloc_space"
    assert found["tidb"].per_transaction.candidate == 6000
    assert found["pd"].per_transaction is None
    assert not found["tidb"].changed


class Crashing(Bench):
    """A campaign whose candidate ends as soon as it is profiled."""

    def __init__(self, directory: Path, store: Store) -> None:
        super().__init__(directory, store, diagnose="always", rounds=3)
        self.profiled: list[str] = []
        self.sequence.measure_all()

    def program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """Profiles are recorded ones."""
        if not job.startswith("profiles-"):
            return super().program(job, command)
        side = "candidate" if "candidate" in job else "baseline"
        self.profiled.append(side)
        if side == "candidate":
            self.executor.end_job("server-candidate", 139)
        answer = base64.b64encode((RECORDED / "tidb_cpu.pb.gz").read_bytes()).decode()
        return JobStatus("complete", 0), f"reading 1\nanswer 1\n{answer}\nread 1\n"

    def diagnose(self) -> Diagnosis:
        """Its diagnosis by a new process."""
        of = StoredCampaign(self.home, self.store, self.store.campaign("c1"))
        observers = (Cpu(), Allocations())
        return Diagnosing(of, self.state, self.opened(), observers).run()


@pytest.fixture
def crashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crashing]:
    """A measured campaign, about to be diagnosed."""

    def of(self: FakeEngine, kind: Kind, seconds: int) -> Profiled:
        return Profiled([Source("server", "fake", f"profile {seconds}")], {})

    monkeypatch.setattr(FakeEngine, "profile_sources", of)
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield Crashing(tmp_path, store)


def test_a_server_that_ends_while_it_is_profiled_is_not_profiled_again(crashing: Crashing) -> None:
    """That is a finding about the profiler, in plain words; nothing of the campaign is lost."""
    before = crashing.results()
    found = crashing.diagnose()
    assert crashing.profiled == ["baseline", "candidate"]
    ended = found.trials[-1]
    assert (ended.side, ended.ended, dict(ended.objects)) == ("candidate", ("fake",), {})
    (said,) = map(str, found.why_not(["cpu"]))
    assert said.startswith("CPU profiles: fake on fake was ended by signal SIGSEGV")
    assert said.endswith("so servers of its kind are not looked at in this way again")
    assert found.ended
    assert crashing.results() == before
    assert crashing.diagnose() == found
