"""Weeks of a report type with `design: watch` on a rented test fleet.

The servers are as slow as a test says: each waits before every statement, and by far longer than
this machine could by itself be late. The weeks before scatter by far more than that, too, so that
what is flagged never depends on chance.
"""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.campaign import report_types
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.campaign.progress import ProgressLog, ProgressNote
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.campaign.stages import CampaignRun
from benchlab.plan import plan as planning
from benchlab.plan.fields.schedule import midnight, turn
from benchlab.plan.resolved import Request
from benchlab.report.model import report as model
from benchlab.report.notifications import events
from benchlab.report.sentences import opening
from benchlab.results import screening
from benchlab.results.records import SPENT, Campaign, TrialResult
from benchlab.results.screening import Screening
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.hosts.rented import (
    CLI,
    TOPOLOGY,
    Rented,
    assert_nothing_left,
    rented_in,
    write_topology,
)
from tests.hosts.scheduled import Scheduled, scheduler_of
from tests.machine import LIMIT_S, Machine, let_neighbours_be, servers

__all__ = ["servers"]  # a fixture

REPORT = "watch_ec2"
DECIDES_AND_DIES = "tests.hosts.dies_deciding"
POINT = "oltp_point_select"
# An anchor by rule, the next one, and the build that is watched.
ANCHOR, NEXT, BUILD = "v5.2.0", "v5.3.0", "v5.4.0"
CALENDAR = "version,release_date,type\nv5.2.0,2021-08-27,LTS\nv5.4.0,2022-02-15,DMR\n"
LATER_CALENDAR = CALENDAR.replace("v5.4.0", "v5.3.0,2021-11-30,LTS\nv5.4.0")
# Every week is one round that screens; three confirm. Nothing is written, so that nothing has to
# be restored, and no count of TiKV waited for.
WATCH: dict[str, Any] = {
    "report": REPORT,
    "topology": TOPOLOGY,
    "snapshots": None,
    "dataset": {"tables": 1, "table_size": 1000},
    "workloads": [POINT],
    "threads": [2],
    "design": "watch",
    "rounds": 4,
    "deployments": 4,
    "screening_rounds": 1,
    "seconds": 2,
    "warmup_seconds": 0,
    "restore": "never",
    "load_balancer": "none",
}
# How long a statement waits in milliseconds: as everywhere; in slow servers; in slower ones.
USUAL_MS, SLOW_MS, SLOWER_MS = 6.0, 24.0, 48.0
SCREENING, CONFIRMING = {1}, {2, 3, 4}
# By how much a canary slows its candidate down, and a schedule that plants one every week.
PLANTED_PCT = 80.0
CANARIES: dict[str, Any] = {
    "runs": "weekly",
    "cron": "0 0 * * 1",
    "aa_every": 0,
    "release_every": 0,
}
CANARIES |= {"canary_every": 1, "canary_pct": PLANTED_PCT}
# By how much the weeks before are above or below nothing, in turn, as logarithms.
SWING = 0.15
WEEKS = 12


@pytest.fixture
def rented(tmp_path: Path, servers: Path) -> Iterator[Rented]:
    """A machine from which the weeks rent, after twelve quiet ones."""
    with rented_in(tmp_path, servers) as found:
        prepare(found)
        yield found


def prepare(rented: Rented) -> None:
    """Write the report type, its fleet of one host each and its calendar; add the weeks before."""
    configs = rented.machine.here.configs
    # The client has its CPU in common with all hosts, and a neighbour may stall it.
    let_neighbours_be(configs, "headroom", "stalls")
    topology = yaml.safe_load((configs / f"topologies/{TOPOLOGY}.yaml").read_text())
    for machines in topology["roles"].values():
        machines["count"] = 1
    write_topology(rented.machine.here.project, topology)
    own = yaml.safe_load((configs / "reports/sysbench_ec2.yaml").read_text()) | WATCH
    del own["schedule"]
    tidb = own["engines"]["tidb"]
    tidb |= {"baseline": {"version": "newest LTS"}, "candidate": {"version": BUILD}}
    tidb["components"]["pd"] = {"replication.max-replicas": 1}
    for file in (configs / "reports").glob("*.yaml"):
        file.unlink()  # a scheduler would make a DAG of each
    (configs / f"reports/{REPORT}.yaml").write_text(yaml.safe_dump(own))
    (configs / "releases.csv").write_text(CALENDAR)
    rented.cloud.pauses_ms = {version: [USUAL_MS] for version in (ANCHOR, NEXT, BUILD)}
    with rented.machine.store() as store:
        for number in range(1, WEEKS + 1):
            keep_week(rented.machine, store, number)


def keep_week(machine: Machine, store: Store, number: int) -> Campaign:
    """A quiet week of the report type as it is now, as if it had been measured.

    The last of :data:`WEEKS` is a week ago; number ``WEEKS + 2`` is one of the next week.
    """
    spec = report_types.load(report_types.find_report(machine.here, REPORT))
    now = datetime.now(UTC)
    resolved = Resolver(machine.here, store, asks=Asks.NOBODY).resolve(Request(spec, now.date()))
    name, began = f"week-{number:02}", now - timedelta(weeks=WEEKS + 1 - number)
    plan = planning.make(resolved, name)
    environment = {"client_program": "sysbench", screening.KEY: screening.as_text(Screening())}
    made = campaigns.campaign(resolved.spec, id=name, plan_=plan, environment=environment)
    made = dataclasses.replace(made, started_at=began, ended_at=began + timedelta(hours=1))
    store.add_campaign(made)
    for trial in made.wanted.trials:
        gain = SWING * (-1) ** number if trial.side == "candidate" else 0.0
        tps = 300 * math.exp(gain)
        store.add_trial(name, campaigns.trial_result(trial, tps=tps, p95_ms=2000 / tps))
    return made


def command(campaign: str) -> tuple[str, ...]:
    """`benchlab run` of the report type, without the program."""
    return "run", REPORT, "--campaign", campaign


def outcome(machine: Machine, campaign: str) -> Outcome:
    """What a campaign found."""
    with machine.store() as store:
        return Comparer(machine.here, store).outcome(store.campaign(campaign))


def steps(machine: Machine, campaign: str) -> list[ProgressNote]:
    """All steps of a campaign."""
    return ProgressLog(machine.here.campaign(campaign) / "progress.jsonl").read()[0]


def rounds_of(trials: Sequence[TrialResult]) -> set[int]:
    """The rounds that were measured."""
    return {trial.trial.round for trial in trials}


def change_pct(trials: Sequence[TrialResult], rounds: Iterable[int]) -> float:
    """The candidate's change of throughput over these rounds: the mean of their ratios."""
    tps = {
        (one.trial.round, one.trial.side): one.value("tps") or 0.0 for one in trials if one.valid
    }
    ratios = [math.log(tps[number, "candidate"] / tps[number, "baseline"]) for number in rounds]
    return 100 * math.expm1(fmean(ratios))


def kill(machine: Machine, process: subprocess.Popen[str]) -> None:
    """SIGKILL of all of a command at once, as of a machine that loses its power."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=LIMIT_S)
    machine.processes.remove(process)


def test_a_quiet_week_gives_its_hosts_back_after_the_rounds_that_screen(rented: Rented) -> None:
    """No round that confirms is deployed; less is spent than the plan of everything would cost."""
    machine = rented.machine
    machine.run(CLI, *command("quiet"))
    campaign, trials = machine.outcome("quiet")
    assert campaign.state == "complete"
    assert campaign.screening == Screening()
    assert rounds_of(trials) == SCREENING
    told = [step.note for step in steps(machine, "quiet")]
    assert not [note for note in told if note.startswith("deployment 2 of")]
    assert "nothing is flagged, so that nothing is measured again" in told
    plan = campaign.plan
    everything = plan.minutes + plan.minutes_to_confirm([POINT])
    assert plan.usd_per_minute is not None
    assert float(campaign.environment[SPENT]) < everything * plan.usd_per_minute
    found = outcome(machine, "quiet").comparison
    assert found.missing == ()
    assert len(found.weeks) == WEEKS
    assert found.workloads[0].verdict == "inconclusive"
    assert machine.verified("quiet").outcome == "holds"
    assert_nothing_left(rented, "quiet")


@pytest.mark.fault(
    "a weekly campaign is killed while it screens, decides and confirms",
    promise="what was decided stays decided, and what was flagged is confirmed",
    of="processes",
)
def test_a_week_that_is_killed_in_each_stage_confirms_what_it_flagged(rented: Rented) -> None:
    """SIGKILL within a pair that screens, between the decision and its being stored, and within a
    pair that confirms. What was decided once stays decided, no trial counts twice, and the verdict
    rests on the fresh deployments alone, in which the build is less slow.
    """
    machine = rented.machine
    rented.cloud.pauses_ms = {**rented.cloud.pauses_ms, BUILD: [SLOWER_MS] * 2 + [SLOW_MS]}
    run = machine.start(CLI, *command("killed"))
    machine.wait_for("killed", "run", after=1)
    kill(machine, run)
    assert machine.outcome("killed")[0].screening is None
    decided = machine.run(DECIDES_AND_DIES, *command("killed"), code=-signal.SIGKILL)
    campaign, trials = machine.outcome("killed")
    assert campaign.screening is None
    assert rounds_of(trials) == SCREENING
    run = machine.start(CLI, *command("killed"))
    machine.wait_for("killed", "run", after=3)
    kill(machine, run)
    stored = machine.outcome("killed")[0].environment[screening.KEY]
    assert stored in decided.splitlines(), "decided again by the same trials, it is the same"
    machine.run(CLI, *command("killed"))
    campaign, trials = machine.outcome("killed")
    assert campaign.state == "complete"
    assert campaign.environment[screening.KEY] == stored
    assert campaign.screening is not None
    assert campaign.screening.confirming == (POINT,)
    assert [step.phase for step in steps(machine, "killed")].count("screen") == 1
    used, _ = usable_trials(campaign.wanted, trials)
    assert Counter(one.trial.id for one in used) == Counter(t.id for t in campaign.plan.trials)
    found = outcome(machine, "killed").comparison
    (workload,) = found.workloads
    assert workload.verdict == "regression", workload.reasons
    assert workload.rounds_used == len(CONFIRMING)
    assert workload.estimate_pct == pytest.approx(change_pct(used, CONFIRMING))
    assert change_pct(used, SCREENING) < change_pct(used, CONFIRMING), "it was slower before"
    assert found.missing == ()
    assert steps(machine, "killed")[-1].phase == f"{POINT}: regression"
    evidence = machine.verified("killed")
    assert evidence.differences == []
    assert len(evidence.unverified) == 2, "both cut pairs: their gates pass"
    assert len(rented.cloud.requests("RunInstances")) == len(campaign.plan.hosts)
    assert_nothing_left(rented, "killed")


def test_what_fresh_deployments_do_not_show_is_no_regression(rented: Rented) -> None:
    """In Airflow, of a build that was slow in the deployment that screened it: the run is green,
    and the next week is not flagged by what was refuted.
    """
    machine = rented.machine
    rented.cloud.pauses_ms = {**rented.cloud.pauses_ms, BUILD: [SLOWER_MS, USUAL_MS]}
    with scheduler_of(rented, REPORT) as api:
        airflow = Scheduled(rented, api)
        run = airflow.start(REPORT, {"campaign": "refuted"})
        assert airflow.ended(run) == "success", airflow.story(run, "refuted")
        tasks = airflow.tasks(run)
    assert len(tasks["confirm.trials"]) == 2 * len(CONFIRMING)
    assert {task["state"] for task in tasks["confirm.trials"]} == {"success"}
    assert tasks["give_back"][0]["state"] == "success"
    campaign, trials = machine.outcome("refuted")
    assert campaign.state == "complete"
    assert campaign.screening is not None
    assert campaign.screening.confirming == (POINT,)
    assert rounds_of(trials) == {*SCREENING, *CONFIRMING}
    (workload,) = outcome(machine, "refuted").comparison.workloads
    assert workload.verdict == "inconclusive"
    assert "do not confirm it" in str(workload.reasons[0])
    assert workload.estimate_pct == pytest.approx(change_pct(trials, CONFIRMING))
    assert machine.verified("refuted").outcome == "holds"
    assert_nothing_left(rented, "refuted")
    with machine.store() as store:
        following = keep_week(machine, store, WEEKS + 2)
        watching = Comparer(machine.here, store).watching
        assert watching.before(following)[-1].id == "refuted"
        found = watching.decide(following, store.trials(following.id), lambda names: True)
    assert found == Screening()


@pytest.mark.long  # four deployments; test_cluster has the slowdown on hosts
def test_a_canary_is_found_and_the_build_is_as_it_was(rented: Rented) -> None:
    """A schedule's, begun by it and killed while its servers are stopped and resumed: the run that
    goes on with it slows the same side down, confirms what it flags, and says that it was found.
    """
    machine = rented.machine
    file = machine.here.configs / f"reports/{REPORT}.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"schedule": CANARIES}))
    spec = report_types.load(report_types.find_report(machine.here, REPORT))
    monday = midnight((now := datetime.now(UTC)).date() - timedelta(days=now.weekday()))
    wanted = turn(spec.schedule, monday)
    assert wanted.canary is not None
    with machine.store() as store:
        resolver = Resolver(machine.here, store, asks=Asks.NOBODY)
        resolved = resolver.resolve(Request(spec, monday.date(), wanted))
        CampaignRun.create(machine.here, store, resolved, "canary", "a test", planned_for=monday)
    run = machine.start(CLI, *command("canary"))
    machine.wait_for("canary", "run", after=1)
    kill(machine, run)
    machine.run(CLI, *command("canary"))
    campaign, trials = machine.outcome("canary")
    assert campaign.state == "complete"
    assert campaign.is_canary
    assert campaign.screening is not None
    assert campaign.screening.confirming == (POINT,)
    found = outcome(machine, "canary")
    (workload,) = found.comparison.workloads
    assert workload.verdict == "regression", workload.reasons
    assert change_pct(trials, CONFIRMING) < -PLANTED_PCT / 2
    shown = model.build(found.campaign, found.comparison, found.trials)
    assert "was found: Point Select -" in opening.sentence(shown)
    assert events.of_verdicts(shown) == ()
    assert machine.verified("canary").differences == []
    assert_nothing_left(rented, "canary")
    with machine.store() as store:
        following = keep_week(machine, store, WEEKS + 2)
        before = Comparer(machine.here, store).watching.before(following)
    assert [one.id for one in before] == [f"week-{n:02}" for n in range(1, WEEKS + 1)]


@pytest.mark.long  # four deployments; core/campaign/test_watching has the bridge without hosts
def test_a_newer_anchor_is_bridged_first_and_what_is_known_stays_evidence(rented: Rented) -> None:
    """In a campaign of both anchors in all deployments, which goes on after a SIGKILL; from the
    next one on the build is measured against the new anchor.
    """
    machine = rented.machine
    (machine.here.configs / "releases.csv").write_text(LATER_CALENDAR)
    run = machine.start(CLI, *command("bridge"))
    machine.wait_for("bridge", "run", after=1)
    kill(machine, run)
    said = machine.run(CLI, *command("bridge"))
    campaign, trials = machine.outcome("bridge")
    assert campaign.state == "complete", said
    sides = {name: side.label for name, side in campaign.plan.sides.items()}
    assert sides == {"baseline": ANCHOR, "candidate": NEXT}
    used, _ = usable_trials(campaign.wanted, trials)
    assert Counter(one.trial.id for one in used) == Counter(t.id for t in campaign.plan.trials)
    assert rounds_of(used) == {*SCREENING, *CONFIRMING}
    assert machine.verified("bridge").differences == []
    assert_nothing_left(rented, "bridge")
    with machine.store() as store:
        following = keep_week(machine, store, WEEKS + 2)
        assert following.plan.sides["baseline"].label == NEXT
        before = Comparer(machine.here, store).watching.before(following)
    assert [one.id for one in before] == [f"week-{n:02}" for n in range(1, WEEKS + 1)] + ["bridge"]
