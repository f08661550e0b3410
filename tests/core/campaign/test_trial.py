"""One trial: the right steps in the right order, and nothing invalid that looks valid."""

from __future__ import annotations

import csv
import dataclasses
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.gates import gates as quality
from benchlab.campaign import trial
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.state import Begun
from benchlab.campaign.trial import Collected
from benchlab.engines.counts import Count
from benchlab.engines.database import BackgroundJobs, Regions
from benchlab.errors import CommandError, EngineError
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import JobStatus
from benchlab.language import load
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES, Side
from benchlab.report import gate_files
from benchlab.results import ended_servers
from benchlab.targets.haproxy import Backend, Direct
from benchlab.workloads import sysbench, workload_of
from tests.builders import campaigns, plans
from tests.builders.fakes import FakeDeployment, FakeEngine, FakeExecutor

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "sysbench"
GATES = quality.of_table(gate_files.load_all(ROOT / "configs" / "quality"), "trials")
PASSWORD = "hunter2"
GOOD = "sysbench_read_write_t4"
# Four threads for five seconds, as in the recorded output.
PLAN = plans.plan(
    workloads=["oltp_read_write"], threads=[4], seconds=5, rounds=1, restore="every_trial"
)
EIGHT = plans.plan(workloads=["oltp_read_write"], threads=[8], seconds=5, rounds=1)
BASELINE, CANDIDATE = sorted(PLAN.trials, key=lambda planned: planned.side)


class Bench:
    """A deployment whose client prints what a test wants, and which records what happens."""

    def __init__(self, output: str = GOOD, client: JobStatus | None = None, plan: Any = PLAN):
        self.printed = (GOLDEN / f"{output}.txt").read_text()
        self.client = client or JobStatus("complete", 0)
        self.executor = FakeExecutor(program=self.program)
        self.deployment = FakeDeployment(plan, self.executor, password=PASSWORD)
        self.plan = plan
        self.environment: dict[str, str] = {}
        self.phases: list[str] = []
        self.facts = {
            side: campaigns.side_facts(spec.version, dataset_checksum=self.checksum(side))
            for side, spec in plan.sides.items()
        }

    def program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """Servers run until they are stopped; the client does what the test wants."""
        return (
            (self.client, self.printed) if job.startswith("client") else (JobStatus("running"), "")
        )

    def checksum(self, side: Side) -> str:
        """The checksum that the side will have."""
        content = self.deployment.engine(side).content
        return " ".join(f"{t}:1:{content}" for t in plans.spec().dataset.rows_by_table)

    def measure(
        self, planned: PlannedTrial = BASELINE, attempt: int = 1, **options: Any
    ) -> Collected:
        """Measure one trial; options have their usual values by default."""
        fields = {"warmup_seconds": 1, **options}
        of_spec = {
            key: fields.pop(key)
            for key in ("warmup_seconds", "engines", "leaders")
            if key in fields
        }
        spec = plans.spec(**of_spec)
        record = dataclasses.replace(
            campaigns.campaign(spec, facts=self.facts),
            plan=self.plan,
            environment=self.environment,
        )
        setup = TrialSetup(self.deployment, record, workload_of(spec), PASSWORD, GATES)
        usual = {"check_dataset": False, "repeated": False, "restore": planned.restore}
        arguments: dict[str, Any] = {"earlier": None, "on_new": lambda: None, **usual, **fields}
        begun = trial.begin(setup, planned, attempt, on_phase=self.phases.append, **arguments)
        return trial.collect(setup, planned, begun, on_phase=self.phases.append)


def status_of(collected: Collected, gate: str) -> str:
    """The status of one gate."""
    return next(found.status for found in collected.result.gates if found.gate == gate)


def failed(collected: Collected) -> set[str]:
    """The gates that failed."""
    return {gate.gate for gate in collected.result.gates if gate.status == "fail"}


# ---------------------------------------------------------------- order


def test_a_trial_restores_starts_warms_up_and_runs_in_this_order() -> None:
    """The restore comes before the server starts, the balancer before the client."""
    bench = Bench()
    bench.measure()
    assert bench.executor.log == [
        "restore baseline",
        "start server-baseline",
        "balance baseline",
        "run sh",  # the warm-up, whose output is discarded
        f"start client-{BASELINE.id}-a1",
        f"start hosts-client-{BASELINE.id}-a1",
        f"stop hosts-client-{BASELINE.id}-a1",
    ]
    assert bench.phases == ["stop", "restore", "start", "ready", "warm-up", "run", "collect"]


def test_the_other_side_is_stopped_first() -> None:
    """One server runs at a time, so that they do not measure each other."""
    bench = Bench()
    bench.measure(BASELINE)
    bench.executor.log.clear()
    bench.measure(CANDIDATE)
    assert bench.executor.log[0] == "stop server-baseline"
    assert not bench.deployment.engine("baseline").running()


def test_servers_are_configured_while_they_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restore and before the start, and warmed up again; then they are left alone."""
    bench, given, later = Bench(), list[bool](), dataclasses.replace(BASELINE, warm_up=False)
    bench.measure()
    monkeypatch.setattr(FakeEngine, "configured", lambda engine: bool(given))
    monkeypatch.setattr(FakeEngine, "configure", lambda engine: given.append(engine.running()))
    bench.phases.clear()
    bench.measure(later, 2, restore=False)
    assert bench.phases[:5] == ["stop", "configure", "start", "ready", "warm-up"]
    bench.phases.clear()
    bench.measure(later, 3, restore=False)
    assert bench.phases[:4] == ["stop", "start", "ready", "run"]
    assert given == [False]


def test_a_side_is_configured_and_judged_by_what_its_workload_has_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What only another workload has is no item of this one."""
    asked: list[Any] = []

    def with_components(engine: FakeEngine, items: Any) -> FakeEngine:
        asked.append(items)
        return engine

    monkeypatch.setattr(FakeEngine, "with_components", with_components)
    engines = plans.spec().model_dump()["engines"]
    own = {"tikv": {"raft-engine.prefill-for-recycle": False}}
    engines["mariadb"]["by_workload"] = {"oltp_read_write": own, "oltp_insert": {"tikv": {}}}
    Bench().measure(engines=engines)
    assert asked
    assert all(items == own for items in asked)


def test_a_server_is_stopped_before_its_data_is_restored() -> None:
    """A restore never happens under a running server."""
    bench = Bench()
    bench.measure()
    bench.executor.log.clear()
    bench.measure(attempt=2)
    assert bench.executor.log[:3] == [
        *("stop server-baseline", "restore baseline", "start server-baseline")
    ]


def test_without_a_restore_the_running_server_is_kept() -> None:
    """A read-only trial uses the warm server if the plan says so."""
    bench = Bench()
    bench.measure()
    bench.executor.log.clear()
    bench.measure(dataclasses.replace(BASELINE, restore=False), attempt=2)
    assert not [line for line in bench.executor.log if "server-baseline" in line]
    assert "restore" not in bench.phases[-6:]


def test_a_server_that_has_run_is_not_warmed_up_again() -> None:
    """Unless it has to be started after all, whatever was planned."""
    bench = Bench()
    bench.measure()
    assert "warm-up" in bench.phases
    later = dataclasses.replace(BASELINE, restore=False, warm_up=False)
    bench.phases.clear()
    bench.measure(later, attempt=2)
    assert "warm-up" not in bench.phases
    bench.deployment.engine("baseline").stop()  # as after a crash, or by the other side's trial
    bench.measure(later, attempt=3)
    assert "warm-up" in bench.phases


def test_a_repeated_try_restores_whatever_the_plan_says() -> None:
    """It never runs on data that the interrupted try wrote."""
    bench = Bench()
    bench.measure(dataclasses.replace(BASELINE, restore=False), restore=True, repeated=True)
    assert "restore baseline" in bench.executor.log


def test_there_is_no_warm_up_if_none_is_planned() -> None:
    """Zero seconds means no run at all."""
    bench = Bench()
    bench.measure(warmup_seconds=0)
    assert "run sysbench" not in bench.executor.log
    assert "warm-up" not in bench.phases


def test_the_client_goes_through_the_load_balancer_as_planned() -> None:
    """With the plan's threads, seconds and entry port, and the engine's list of errors."""
    bench = Bench()
    bench.measure()
    *_, warm_up, command = [c for c in bench.executor.commands if "sysbench" in c]
    for part in (
        *("oltp_read_write", "--threads=4", "--time=5", "--mysql-port=13390"),
        *("--mysql-ignore-errors=1213", "--tables=4", "--table-size=10000"),
    ):
        assert part in command
    assert "--time=1" in warm_up


def test_the_password_is_on_no_command_line() -> None:
    """Every user of a host can read command lines."""
    bench = Bench()
    bench.measure(check_dataset=True)
    assert not [line for line in bench.executor.commands if PASSWORD in " ".join(line)]
    assert PASSWORD not in repr(bench.deployment.engine("baseline").instance)


# ---------------------------------------------------------------- a good trial


def test_a_good_trial_is_valid_with_all_its_figures() -> None:
    """Figures, series, gates, phases, and the client's exact output."""
    bench = Bench()
    collected = bench.measure(check_dataset=True)
    result = collected.result
    assert failed(collected) == set()
    assert result.valid
    assert result.reasons == ()
    assert (result.trial, result.attempt, result.adopted) == (BASELINE, 1, False)
    assert result.value("tps") == 514.33
    assert result.value("qps") == pytest.approx(20 * 514.33, rel=0.001)
    assert set(result.phases) == {*bench.phases}
    assert result.started_at <= result.ended_at
    assert collected.raw == bench.printed
    rows = list(csv.DictReader(io.StringIO(collected.series_csv)))
    assert [row["t"] for row in rows] == ["1.0", "2.0", "3.0", "4.0", "5.0"]
    assert all(float(row["tps"]) > 0 for row in rows)


def test_every_gate_that_a_local_trial_can_answer_is_evaluated() -> None:
    """No gate is silently left out."""
    results = Bench().measure(check_dataset=True).result.gates
    status = {gate.gate: gate.status for gate in results}
    for gate in (
        *("summary", "duration", "effective_threads", "printed_rate", "latency_order"),
        *("version", "parameters", "dataset", "server_alive", "load_balancer"),
        *("configuration", "balanced_connections"),
        *("errors", "reconnects", "stalls", "missing_intervals", "variation"),
    ):
        assert status[gate] == "pass"
    assert {name for name in status if status[name] == "not evaluated"} == {
        # not from a fake
        *("cpu_steal", "other_work", "client_cpu", "disk_space"),
        *("balance", "settled", "background_work"),
        *("hosts_alike", "clock", "write_stall"),  # only on a fleet
        *("auto_analyze", "region_merge", "sweep"),
        "drift",  # five intervals are too few
        "behind",  # only at a rate
    }


# ---------------------------------------------------------------- symptoms


def test_a_symptom_leaves_its_trial_valid() -> None:
    """43 deadlocks, which the client survived, are stored with their gate, and not repeated."""
    result = Bench("sysbench_deadlocks_ignored", plan=EIGHT).measure(EIGHT.trials[0]).result
    (symptom,) = (gate for gate in result.gates if gate.status == "fail")
    assert (symptom.gate, symptom.kind) == ("errors", "symptom")
    assert symptom.observed == pytest.approx(25.5421 / 3722, rel=1e-3), "43, less what is chance"
    assert result.valid
    assert result.reasons == ()


def test_one_error_of_a_read_only_workload_is_a_symptom() -> None:
    """The workload's module says which workloads are read-only."""
    plan = plans.plan(workloads=["oltp_point_select"], threads=[4], seconds=5, rounds=1)
    bench = Bench("sysbench_point_select_t4", plan=plan)
    assert status_of(bench.measure(plan.trials[0]), "errors") == "pass"
    old, new = "ignored errors:                      0 ", "ignored errors:                      1 "
    assert old in bench.printed, "the sample has other figures"
    bench.printed = bench.printed.replace(old, new)
    assert status_of(bench.measure(plan.trials[0], attempt=2), "errors") == "fail"


# ---------------------------------------------------------------- background work


def counting(bench: Bench, *counts: BackgroundJobs | None) -> None:
    """Let the baseline's server report these counts, one each time that it is asked."""
    found = iter(counts)
    bench.deployment.engine("baseline").background_jobs = lambda: next(found)  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("before", "after", "status"),
    [
        ((5, 5), (5, 5), "pass"),
        ((5, 5), (6, 6), "fail"),
        ((5, 4), (5, 5), "fail"),  # at work when the run began
        ((5, 5), (6, 5), "fail"),  # at work when it ended
        ((5, 4), (5, 4), "fail"),  # throughout
        ((5, 5), (0, 0), "not evaluated"),  # another server's count
        (None, (5, 5), "not evaluated"),
        ((5, 5), None, "not evaluated"),
    ],
)
def test_an_analyze_or_ddl_within_the_run_is_found(
    before: tuple[int, int] | None, after: tuple[int, int] | None, status: str
) -> None:
    """Whether it began before or within the run; one that ended before it does not count."""
    bench = Bench()
    counting(bench, *(counts and BackgroundJobs(*counts) for counts in (before, after)))
    assert status_of(bench.measure(), "background_work") == status


@pytest.mark.parametrize(
    ("begun", "of_statements", "status"),
    [(6, True, "pass"), (7, True, "fail"), (6, False, "fail")],
)
def test_a_client_s_own_create_of_a_table_that_is_there_is_no_ddl(
    begun: int, of_statements: bool, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB counts statements, and this one does nothing; TiDB counts jobs, and this is none."""
    bench = Bench()
    monkeypatch.setattr(sysbench, "CREATES", 1)
    counting(bench, BackgroundJobs(5, 5), BackgroundJobs(begun, begun, of_statements))
    assert status_of(bench.measure(), "background_work") == status


def test_without_a_load_balancer_its_gate_does_not_pass() -> None:
    """Nothing was looked at, so nothing is said."""
    bench, direct = Bench(), Direct("127.0.0.1", 4000)
    bench.deployment.balancers["baseline"].statistics = lambda: list(direct.statistics())  # type: ignore[method-assign]
    assert status_of(bench.measure(), "load_balancer") == "not evaluated"


@pytest.mark.parametrize(
    ("begun", "of_statements", "status"),
    [(6, False, "pass"), (7, False, "fail"), (6, True, "fail")],
)
def test_a_client_s_own_view_is_no_ddl_of_somebody_else(
    begun: int, of_statements: bool, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TiDB replaces it by a job; MariaDB's counters of statements have no view."""
    bench = Bench()
    monkeypatch.setattr(sysbench, "VIEWS", 1)
    counting(bench, BackgroundJobs(5, 5), BackgroundJobs(begun, begun, of_statements))
    assert status_of(bench.measure(), "background_work") == status


def test_a_server_that_refuses_the_question_does_not_fail_the_trial() -> None:
    """Its gate is not evaluated."""
    bench = Bench()

    def refuse() -> None:
        raise CommandError("localhost", "mariadb", 1, "Table 'mysql.analyze_jobs' doesn't exist")

    bench.deployment.engine("baseline").background_jobs = refuse  # type: ignore[method-assign]
    collected = bench.measure()
    assert collected.result.valid
    assert status_of(collected, "background_work") == "not evaluated"


def test_an_adopted_client_keeps_the_counts_from_before_its_start() -> None:
    """The counts of the try that started it, not one from the middle of its run."""
    bench = Bench()
    job = trial.client_job(BASELINE, 1)
    bench.deployment.engine("baseline").start()
    bench.executor.start_job(job, ["sysbench"])
    noted = {"background_jobs_ended_before": 3.0, "dataset_differs": 0.0}
    earlier = Begun(BASELINE.id, 1, job, "2024-01-02T03:04:05+00:00", 0.0, 0.0, {}, noted)  # type: ignore[arg-type]
    counting(bench, BackgroundJobs(4, 4))
    collected = bench.measure(earlier=earlier, repeated=True)
    assert collected.result.adopted
    assert failed(collected) == {"background_work"}


# ---------------------------------------------------------------- what changes the state


PREWRITES, CPU = (Count(name, "tidb", (name,)) for name in ("kv_prewrite", "tikv_cpu"))
CHANGES = tuple(
    Count(name, "tidb", (name,)) for name in ("auto_analyses", "region_merges", "swept_versions")
)
Reading = tuple[int, int, int]
"""How many analyzes, merges and swept versions a server has counted."""


def counted(bench: Bench, early: Reading | None, first: Reading, last: Reading) -> None:
    """Let the baseline count 100 queries, 200 prewrites, 300 us of CPU, and these changes.

    Args:
        early: as it was before the warm-up; None: it did not answer.
    """

    def answer(at: int, changes: Reading) -> str:
        names = ("queries", PREWRITES.name, CPU.name, *(change.name for change in CHANGES))
        figures = (100 * at, 200 * at, 300 * at, *changes)
        said = "\n".join(f"{name} {value}" for name, value in zip(names, figures, strict=True))
        return f"reading {100 * at}\nanswer 1\n{said}\n\nread {100 * at}\n"

    def program(job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        if job.startswith("counters-before-"):
            return JobStatus("complete", 0), answer(0, early) if early else ""
        if job.startswith("counters-"):
            return JobStatus("complete", 0), answer(1, first) + answer(2, last)
        return Bench.program(bench, job, command)

    bench.executor.program = program
    metrics = (count.metric() for count in (PREWRITES, CPU))
    bench.plan = dataclasses.replace(PLAN, metrics=(*PLAN.metrics, *metrics))
    vars(bench.deployment.engine("baseline")).update(
        counts=(PREWRITES, CPU),
        queries=Count("queries", "tidb", ("queries",)),
        changes=CHANGES,
        counter_sources=lambda: [Source("server", "tidb", "true")],
        read_counters=lambda role, text: {
            name: float(value) for name, value in map(str.split, text.split("\n")[:6])
        },
    )


@pytest.mark.parametrize(
    ("early", "first", "last", "found"),
    [
        ((1, 0, 9), (1, 0, 9), (1, 0, 9), set()),
        ((0, 0, 0), (1, 0, 0), (1, 0, 0), {"auto_analyze"}),  # in the warm-up
        ((0, 0, 0), (0, 0, 0), (0, 2, 0), {"region_merge"}),
        ((0, 0, 0), (0, 0, 500), (0, 0, 1000), set()),
        ((0, 0, 0), (0, 0, 500), (0, 0, 1001), {"sweep"}),
        (None, (1, 0, 0), (1, 0, 0), set()),  # nothing is known of the warm-up
        (None, (1, 0, 0), (2, 0, 0), {"auto_analyze"}),
    ],
)
def test_what_changes_the_state_takes_the_counts_of_a_trial_and_nothing_else(
    early: Reading | None, first: Reading, last: Reading, found: set[str]
) -> None:
    """Its throughput stays, and its page has what was counted; a sweep changes TiKV's CPU only."""
    bench = Bench()
    counted(bench, early, first, last)
    collected = bench.measure()
    result = collected.result
    assert failed(collected) == found
    assert result.valid
    assert result.value("tps") is not None
    names = {PREWRITES.name, CPU.name}
    kept = names if not found else {PREWRITES.name} if found == {"sweep"} else set()
    assert {name for name in names if result.value(name) is not None} == kept
    rows = {row["count"]: row for row in csv.DictReader(io.StringIO(collected.counts_csv))}
    assert (rows["kv_prewrite"]["per_query"], rows["tikv_cpu"]["per_query"]) == ("2.0", "3.0")


def test_a_change_that_no_server_can_tell_leaves_its_gate_not_evaluated() -> None:
    """And the counts in the comparison."""
    bench = Bench()
    counted(bench, (0, 0, 0), (0, 0, 0), (0, 0, 0))
    unknown = (*CHANGES[:2], Count("swept_versions", "tikv", ("swept_versions",)))
    vars(bench.deployment.engine("baseline"))["changes"] = unknown
    collected = bench.measure()
    assert status_of(collected, "region_merge") == "pass"
    assert status_of(collected, "sweep") == "not evaluated"
    assert collected.result.value("tikv_cpu") is not None


# ---------------------------------------------------------------- host metrics


def test_a_host_that_could_not_be_sampled_says_why() -> None:
    """The other half of the trial may run in another process; the trial is valid all the same."""
    bench, answers = Bench(), Bench.program

    def program(job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        if job.startswith("hosts-"):
            raise CommandError("tikv-1", "sh -c ...", 1, "mkdir: jobs: Permission denied")
        return answers(bench, job, command)

    bench.executor.program = program
    collected = bench.measure()
    assert collected.result.valid
    (host,) = collected.result.host_figures
    assert host.figures == {}
    assert str(host.reason) == "no sampler could be started there: mkdir: jobs: Permission denied"


# ---------------------------------------------------------------- adoption


@pytest.mark.parametrize("state", ["running", "complete"])
def test_an_existing_client_is_adopted(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a crash no second client is started and no server is touched; its figures count."""
    bench = Bench()
    bench.deployment.engine("baseline").start()
    job = trial.client_job(BASELINE, 1)
    bench.executor.start_job(job, ["sysbench"])
    if state == "running":
        bench.executor.jobs[job] = (JobStatus("running"), bench.printed)
        monkeypatch.setattr(time, "sleep", lambda _: bench.executor.end_job(job, 0))
    bench.executor.log.clear()
    collected = bench.measure(restore=True, repeated=True)
    assert bench.executor.log == []
    assert collected.result.adopted
    assert collected.result.valid
    assert collected.result.value("tps") == 514.33


def test_the_trial_of_a_lost_client_is_measured_again() -> None:
    """How the client ended is not known, so its figures do not count."""
    bench = Bench()
    job = trial.client_job(BASELINE, 1)
    bench.executor.jobs[job] = (JobStatus("lost"), bench.printed)
    collected = bench.measure()
    assert f"start {job}" in bench.executor.log
    assert not collected.result.adopted


def test_another_attempts_client_is_not_adopted() -> None:
    """A pair that is measured again has its own clients."""
    bench = Bench()
    bench.measure(attempt=1)
    assert not bench.measure(attempt=2).result.adopted


# ---------------------------------------------------------------- invalid trials


@pytest.mark.parametrize(
    "output",
    [
        *("sysbench_killed_midrun", "sysbench_sigterm", "sysbench_err_access_denied"),
        *("sysbench_forced_shutdown", "sysbench_killed_ignore_list"),
    ],
)
def test_a_broken_client_makes_an_invalid_trial_and_no_crash(output: str) -> None:
    """It is stored with its reasons and its output, and its pair is measured again."""
    collected = Bench(output, JobStatus("complete", 1)).measure()
    assert not collected.result.valid
    assert "summary" in failed(collected)
    assert any(str(reason).startswith("client: ") for reason in collected.result.reasons)
    assert "client: exit code 1" in collected.result.reasons
    assert collected.raw


def test_a_client_that_failed_after_a_good_summary_is_invalid() -> None:
    """A summary followed by a crash is not a whole run."""
    collected = Bench(client=JobStatus("complete", 139)).measure()
    assert not collected.result.valid
    assert any("139" in str(reason) for reason in collected.result.reasons)


def test_a_client_that_exceeds_its_limit_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It delays only its own trial."""
    monkeypatch.setattr(trial, "CLIENT_SLACK_S", -100.0)
    bench = Bench("sysbench_sigterm", JobStatus("running"))
    collected = bench.measure()
    assert f"stop {trial.client_job(BASELINE, 1)}" in bench.executor.log
    assert not collected.result.valid


def broken(bench: Bench, how: str) -> None:
    """Break one thing on the baseline."""
    engine = bench.deployment.engine("baseline")
    if how == "server_alive":
        start = bench.executor.program

        def program(job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
            if job.startswith("client"):
                bench.executor.end_job(engine.job, 137)
            return start(job, command)

        bench.executor.program = program
    elif how == "load_balancer":
        bench.deployment.balancers["baseline"].up = False
    elif how == "version":
        engine.reported = "10.2.1-MariaDB"
    elif how == "parameters":
        engine.settings["innodb_buffer_pool_size"] = "1"
    elif how == "dataset":
        engine.content = "2"
    else:
        unlike(bench, how)


def unlike(bench: Bench, what: str) -> None:
    """Make things differ that should be alike: connections to the servers, sides, hosts."""
    if what == "balanced_connections":
        counts = (Backend("a", "UP", "L4OK", 9), Backend("b", "UP", "L4OK", 7))
        bench.deployment.balancers["baseline"].statistics = lambda: list(counts)  # type: ignore[method-assign]
    elif what == "configuration":
        settings = {"baseline": "268435456", "candidate": "134217728"}
        for side, size in settings.items():
            values = {"innodb_buffer_pool_size": size}
            bench.facts[side] = dataclasses.replace(bench.facts[side], variables=values)
    elif what == "hosts_alike":
        bench.environment = {"tikv_hosts": "2 x 16 cores / 8 cores"}


@pytest.mark.parametrize(
    "gate",
    [
        *("server_alive", "load_balancer", "version", "parameters", "dataset"),
        *("balanced_connections", "configuration"),
    ],
)
def test_a_fault_around_a_good_client_makes_its_trial_invalid(gate: str) -> None:
    """A killed server, a backend that is down, another version, setting or dataset."""
    engines = {
        "mariadb": {
            "baseline": {"version": "10.2.11"},
            "candidate": {"version": "10.11.5"},
            "parameters": {"innodb_buffer_pool_size": 268435456},
        }
    }
    plan = plans.plan(
        workloads=["oltp_read_write"], threads=[4], seconds=5, rounds=1, engines=engines
    )
    good, bad = Bench(plan=plan), Bench(plan=plan)
    assert good.measure(check_dataset=True).result.valid
    broken(bad, gate)
    collected = bad.measure(check_dataset=True)
    assert failed(collected) == {gate}
    assert not collected.result.valid
    assert any(f"gate {gate} failed: " in str(reason) for reason in collected.result.reasons)


def test_a_server_that_was_killed_is_named_with_what_it_said_last() -> None:
    """Which, where, by what; not only how many."""
    bench = Bench()
    broken(bench, "server_alive")
    engine = bench.deployment.engine("baseline")
    bench.deployment.engine("baseline").log_tail = lambda: "ready for connections"  # type: ignore[method-assign]
    collected = bench.measure()
    gate, killed, *_ = collected.result.reasons
    assert "gate server_alive failed: found 1, allowed at most 0" in str(gate)
    assert f"{engine.name} on {engine.executor.host} was ended by signal SIGKILL; " in str(killed)
    assert str(killed).endswith("the last lines of its log: ready for connections")
    assert "终止" in load("zh").text(killed)


def test_as_many_servers_are_counted_as_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A side of which several do not answer is not one server."""
    bench = Bench()
    broken(bench, "server_alive")
    how = ended_servers.by_exit_code(1)
    two = [ended_servers.ended("tikv", host, how, []) for host in ("kv-1", "kv-2")]
    monkeypatch.setattr(FakeEngine, "ended_servers", lambda engine: two)
    reasons = list(map(str, bench.measure().result.reasons))
    assert "gate server_alive failed: found 2," in reasons[0]
    assert [reason.partition(" ended")[0] for reason in reasons[1:]] == [
        *("tikv on kv-1", "tikv on kv-2")
    ]


def test_hosts_that_differ_are_reported_without_failing_the_trial() -> None:
    """Both sides run on them, so the ratio is not biased; a rented fleet may be mixed."""
    bench = Bench()
    unlike(bench, "hosts_alike")
    collected = bench.measure()
    assert failed(collected) == {"hosts_alike"}
    assert collected.result.valid


@pytest.mark.parametrize(
    ("before", "after", "observed"),
    [
        ({"kv-1": 0.0, "kv-2": 3.5}, {"kv-1": 0.0, "kv-2": 3.5}, 0),
        ({"kv-1": 0.0, "kv-2": 3.5}, {"kv-1": 0.2, "kv-2": 3.5}, 1),
        ({"kv-1": 0.0, "kv-2": 3.5}, {"kv-1": 0.2, "kv-2": None}, None),
        ({"kv-1": None, "kv-2": 3.5}, {"kv-1": 0.2, "kv-2": 3.5}, None),
        ({"kv-1": 0.0, "kv-2": 3.5}, {"kv-1": 0.2, "kv-2": 0.0}, None),
        ({}, {"kv-1": 0.2}, None),
        ({}, {}, None),
    ],
)
def test_storage_servers_that_held_writes_back_are_counted(
    before: dict[str, float | None], after: dict[str, float | None], observed: int | None
) -> None:
    """In the run alone. A server that does not say, or was started again, makes it unknown."""
    bench = Bench()
    said = iter([before, after])
    bench.deployment.engine("baseline").write_stalls = lambda: next(said)  # type: ignore[method-assign]
    collected = bench.measure()
    (gate,) = (gate for gate in collected.result.gates if gate.gate == "write_stall")
    assert gate.observed == observed
    assert collected.result.valid, "a symptom"
    assert gate.status == {0: "pass", 1: "fail", None: "not evaluated"}[observed]


@pytest.mark.parametrize(
    ("before", "after", "options", "found"),
    [
        (Regions({"kv-1": 5, "kv-2": 5}, 0, 0), Regions({"kv-1": 6, "kv-2": 4}, 0, 0), {}, {}),
        (
            Regions({"kv-1": 5, "kv-2": 5}, 0, 0),
            Regions({"kv-1": 8, "kv-2": 2}, 2, 0),
            {},
            {"balance"},
        ),
        # PD leaves leaders of regions alone that are busy.
        (
            Regions({"kv-1": 15, "kv-2": 5}, 0, 0),
            Regions({"kv-1": 17, "kv-2": 3}, 4, 0),
            {"leaders": "as_placed"},
            set(),
        ),
        (
            Regions({"kv-1": 18, "kv-2": 2}, 6, 0),
            Regions({"kv-1": 15, "kv-2": 5}, 0, 0),
            {"leaders": "as_placed"},
            {"balance"},
        ),
        (
            Regions({"kv-1": 5, "kv-2": 5}, 0, 1),
            Regions({"kv-1": 5, "kv-2": 5}, 0, 0),
            {},
            {"settled"},
        ),
        (
            Regions({"kv-1": 5, "kv-2": 5}, 0, 0),
            Regions({"kv-1": 5, "kv-2": 5}, 0, 3),
            {},
            {"settled"},
        ),
    ],
)
def test_leaders_are_judged_before_the_run_and_after_it(
    before: Regions, after: Regions, options: dict[str, Any], found: set[str]
) -> None:
    """A cluster that was even and did not stay so measured two things; the counts are kept."""
    bench = Bench()
    said = iter([before, after])
    bench.deployment.engine("baseline").regions = lambda: next(said)  # type: ignore[method-assign]
    collected = bench.measure(**options)
    assert failed(collected) == set(found)
    assert collected.result.valid is not bool(found)


def test_a_cluster_that_says_nothing_of_its_leaders_is_not_judged_by_them() -> None:
    """A database without stores; and one that answered before the run only."""
    assert status_of(Bench().measure(), "balance") == "not evaluated"
    bench = Bench()
    said = iter([Regions({"kv-1": 5}, 0, 0)])

    def answers_once() -> Regions:
        if (found := next(said, None)) is None:
            raise EngineError("no member of PD answers")
        return found

    bench.deployment.engine("baseline").regions = answers_once  # type: ignore[method-assign]
    collected = bench.measure()
    assert status_of(collected, "balance") == status_of(collected, "settled") == "not evaluated"
    assert collected.result.valid


@pytest.mark.parametrize(("workload", "observed"), [("oltp_read_write", 1), ("oltp_read_only", 0)])
def test_a_stall_late_in_a_run_that_writes_is_counted(
    monkeypatch: pytest.MonkeyPatch, workload: str, observed: int
) -> None:
    """The counter has it ten seconds later, which are waited for; not where nothing is written."""
    bench, now = Bench(), [1000.0]
    engine = bench.deployment.engine("baseline")
    engine.write_stalls = lambda: {"kv-1": float(now[0] >= 1010)}  # type: ignore[method-assign]
    monkeypatch.setattr(FakeEngine, "stall_lag_s", lambda engine: 10.0)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda s: now.append(now.pop() + s))
    collected = bench.measure(dataclasses.replace(BASELINE, workload=workload))
    (gate,) = (gate for gate in collected.result.gates if gate.gate == "write_stall")
    assert gate.observed == observed


@pytest.mark.parametrize("side", SIDES)
def test_both_sides_rest_as_long_after_a_run_that_writes(
    monkeypatch: pytest.MonkeyPatch, side: Side
) -> None:
    """Also where only one side's version counts its stalls late, such as v5.1.1 beside v5.2.0."""
    bench, rested = Bench(), list[float]()
    bench.deployment.engine("baseline").stall_lag_s = lambda: 10.0  # type: ignore[method-assign]
    monkeypatch.setattr(time, "sleep", rested.append)
    bench.measure(dataclasses.replace(BASELINE, workload="oltp_read_write", side=side))
    assert max(rested) > 9


def test_servers_that_refuse_to_say_cost_no_trial() -> None:
    """Their status port does not answer."""
    bench = Bench()

    def refuse() -> dict[str, float | None]:
        raise CommandError("client-1", "curl", 7, "refused")

    bench.deployment.engine("baseline").write_stalls = refuse  # type: ignore[method-assign]
    collected = bench.measure()
    assert status_of(collected, "write_stall") == "not evaluated"
    assert collected.result.valid


def test_a_dataset_is_judged_only_if_it_was_checked() -> None:
    """Else its gate is `not evaluated`: in later trials, or if no checksum is known."""

    def status(bench: Bench, check: bool) -> str:
        gates = bench.measure(check_dataset=check).result.gates
        return next(gate.status for gate in gates if gate.gate == "dataset")

    assert status(Bench(), check=True) == "pass"
    assert status(Bench(), check=False) == "not evaluated"
    unknown = Bench()
    unknown.facts = {}
    assert status(unknown, check=True) == "not evaluated"


def test_a_server_that_does_not_start_is_an_error_and_not_a_trial() -> None:
    """Nothing was measured, so nothing is stored."""
    bench = Bench()
    bench.executor.program = lambda job, command: (JobStatus("complete", 1), "cannot lock ibdata1")
    with pytest.raises(EngineError, match=r"(?s)ended while starting.*cannot lock ibdata1"):
        bench.measure()
    assert not [line for line in bench.executor.log if "client" in line]
