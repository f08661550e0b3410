"""A campaign that ends early, at whichever stage, gives everything back or says how to do it."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any
from unittest.mock import MagicMock

import pytest

from benchlab import targets
from benchlab.campaign import removal, report_types, stages
from benchlab.campaign.stages import CampaignRun
from benchlab.cli import run
from benchlab.errors import (
    AtWorkError,
    LockHeldError,
    NothingToMeasureError,
    PublishError,
    SpecError,
    StoreError,
    TargetError,
    UnsoundReportError,
)
from benchlab.hosts import metrics
from benchlab.hosts.access import Access
from benchlab.hosts.lock import MachineLock
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.spending import Spending
from benchlab.report.formats import terminal
from benchlab.report.model import report as model
from benchlab.results import ended_servers
from benchlab.results.records import RESUMED, SideFacts
from benchlab.results.store import Store
from benchlab.targets import fleet_files
from benchlab.workloads import program as client_program
from tests.builders import campaigns, fakes, states
from tests.builders.installation import Here

HOW = "`benchlab give-back c1` gives back what is left of it"


class Bench:
    """A campaign on a target whose acts are noted, and may fail."""

    def __init__(self, here: Here, store: Store) -> None:
        spec = report_types.load(report_types.find_report(here.home, "sysbench_local"))
        self.create = partial(campaigns.begin, here.home, store, spec)
        self.run = self.create()
        self.acts: list[str] = []
        self.fails("", None)

    def fails(self, act: str, error: BaseException | None) -> None:
        """One act of the target raises this error, the others succeed."""

        def acted(name: str) -> Callable[..., Any]:
            def do(*_: object) -> str | None:
                self.acts.append(name)
                if error is not None and name == act:
                    raise error
                return "2 hosts" if name == "give_back" else None

            return do

        for name in ("acquire", "interrupt", "preflight", "provision", "give_back"):
            vars(self.run.target)[name] = acted(name)

    @property
    def state(self) -> str:
        """The campaign's state in the store."""
        return self.run.store.campaign("c1").state


@pytest.fixture
def bench(here: Here, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A campaign that has been planned, on a machine of its own."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(here.path / "lock"))
    with Store(here.home.store_url, here.home.objects) as store:
        yield Bench(here, store)


def test_two_campaigns_of_one_second_have_two_ids() -> None:
    """Two people, two homes in one account, or a script that starts both."""
    now = datetime(2026, 1, 31, 12, 30, 5, tzinfo=UTC)
    one, another = stages.new_id("sysbench_ec2", now), stages.new_id("sysbench_ec2", now)
    assert one != another
    assert one.startswith("sysbench_ec2-20260131T123005-")


@pytest.mark.parametrize("act", ["preflight", "provision"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), TargetError("unfit")])
def test_an_interrupted_campaign_gives_everything_back(
    bench: Bench, act: str, error: BaseException
) -> None:
    """By Ctrl-C or by an error, while its hosts are registered or later."""
    bench.fails(act, error)
    with pytest.raises(type(error)):
        stages.run(bench.run)
    assert bench.acts[-2:] == [act, "give_back"]
    assert bench.state == "failed"


def test_a_campaign_that_another_process_may_drive_is_not_ended(bench: Bench) -> None:
    """Interrupted before it has the lock, it says how to give back what there may be."""
    bench.fails("acquire", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        stages.run(bench.run)
    assert bench.acts == ["acquire"]
    assert caught.value.__notes__ == [HOW]
    bench.fails("acquire", LockHeldError("held"))
    with pytest.raises(LockHeldError):
        stages.run(bench.run)
    assert "give_back" not in bench.acts


def test_a_run_that_finds_the_machine_held_leaves_nothing(bench: Bench) -> None:
    """Not even its id, which another plan may have then; a campaign that is resumed stays."""
    bench.fails("acquire", LockHeldError("held"))
    with pytest.raises(LockHeldError):
        stages.run(bench.run)
    assert "c1" not in bench.run.store.campaign_ids()
    assert not bench.run.directory.exists()
    bench.create()  # is new again
    bench.run = bench.create()
    bench.fails("acquire", LockHeldError("held"))
    with pytest.raises(LockHeldError):
        stages.run(bench.run)
    assert bench.state == "running"


@pytest.mark.parametrize("wait", [True, False])
def test_a_run_of_a_campaign_that_another_process_has_taken_leaves_it_alone(
    bench: Bench, wait: bool
) -> None:
    """Of two that begin at once, the one that wrote it to the store may be the later one."""
    assert bench.run.is_new
    bench.fails("acquire", AtWorkError("process 7 is at work on this very campaign"))
    with pytest.raises(AtWorkError):
        stages.run(bench.run, wait=wait)
    assert bench.acts == ["acquire"]
    assert bench.state == "running"
    assert bench.run.directory.exists()


def test_a_campaign_whose_process_is_at_work_is_not_removed(bench: Bench) -> None:
    """On a fleet only the lock in its directory says so, before it has hosts."""
    bench.run.store.finish("c1", "failed")
    lock = MachineLock(bench.run.directory / fleet_files.DRIVER_LOCK)
    lock.acquire("c1", "benchlab run", bench.run.home.root, os.getpid())
    with pytest.raises(TargetError, match="c1: a process is at work on it"):
        removal.refuse(bench.run.home, bench.run.store, "c1")
    lock.release("c1")
    removal.refuse(bench.run.home, bench.run.store, "c1")


def test_what_may_hold_hosts_stays_though_the_machine_is_held(bench: Bench) -> None:
    """Hosts were opened, another campaign took their lock, and they could not be given back."""
    (bench.run.directory / fleet_files.FLEET_FILE).write_text("{}")
    bench.fails("acquire", LockHeldError("held"))
    with pytest.raises(LockHeldError) as caught:
        stages.run(bench.run)
    assert bench.state == "failed"
    assert "it may still hold hosts" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("another", "said"),
    [
        (KeyboardInterrupt(), "giving back was interrupted"),
        (TargetError("i-1 lives"), "i-1 lives"),
        (OSError(28, "No space left on device"), "the disk is full"),
    ],
)
def test_what_could_not_be_given_back_is_named(
    bench: Bench, another: BaseException, said: str
) -> None:
    """With the command that does it; the first failure is the one that is reported."""
    bench.fails("give_back", another)
    first = KeyboardInterrupt()
    bench.run.abandon(first)
    assert first.__notes__ == [said, HOW]
    assert bench.state == "failed"
    kept = bench.run.store.failure("c1")
    assert kept is not None
    assert kept.stage == "give back"
    assert str(kept.lines[-1]) == "it was interrupted"
    assert len(kept.lines) == 2


@pytest.mark.fault(
    "the store fails while a campaign ends",
    promise="everything is given back, and the first failure is reported",
    of="results",
)
def test_a_store_that_is_lost_keeps_nothing_rented(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is given back, and the first failure is reported with what else there was to say."""

    def lost(*_: object) -> None:
        raise StoreError("the store is gone")

    monkeypatch.setattr(bench.run.store, "finish", lost)
    bench.fails("provision", TargetError("no host"))
    with pytest.raises(TargetError, match="no host") as caught:
        stages.run(bench.run)
    assert bench.acts[-1] == "give_back"
    assert caught.value.__notes__ == ["the store is gone"]


def test_servers_that_benchlab_ended_itself_are_not_said_to_have_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that is tried again, and a campaign that is resumed, first end what they find."""
    target = bench.run.target
    del vars(target)["interrupt"]
    engine = target.engine("baseline")
    facts = campaigns.campaign().facts["baseline"]
    acts: dict[str, Any] = {
        "start": None,
        "analyze": None,
        "checksum": "1",
        "row_counts": {},
        "facts": facts,
    }
    for act, found in acts.items():
        monkeypatch.setattr(type(engine), act, MagicMock(return_value=found))
    states.provisioned(bench.run.state)
    states.prepared(bench.run.state, stages=["deploy", "load"])
    bench.run.deployments.analyze("baseline")
    for again in (partial(bench.run.deployments.analyze, "baseline"), bench.run.register):
        target.executor.start_job("server-baseline", ["sleep", "1000"])
        again()
        assert [*engine.ended_servers()] == []
        states.provisioned(bench.run.state)
        states.prepared(bench.run.state, stages=["deploy", "load"])
        bench.run.deployments.analyze("baseline")
        assert ended_servers.KEY not in bench.run.store.campaign("c1").environment


def test_a_resumed_campaign_goes_on_only_with_the_servers_of_its_trials(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version, source and settings are compared, without what differs between any two servers."""
    engine, store = type(bench.run.target.engine("baseline")), bench.run.store
    acts: dict[str, Any] = {"start": None, "analyze": None, "checksum": "1", "row_counts": {}}
    for act, value in acts.items():
        monkeypatch.setattr(engine, act, MagicMock(return_value=value))
    then = SideFacts("10.2.11-MariaDB", "5c91a2b", {"sync_binlog": "1", "server_id": "1"})
    others: dict[str, dict[str, Any]] = {
        "version 10.2.11-MariaDB, not 10.2.12-MariaDB": {"version": "10.2.12-MariaDB"},
        "source 5c91a2b, not 77b1e02": {"git_hash": "77b1e02"},
        "sync_binlog 1, not 0": {"variables": {"sync_binlog": "0", "server_id": "2"}},
        "": {"variables": {"sync_binlog": "1", "server_id": "2"}},
    }
    for named, other in others.items():
        monkeypatch.setattr(engine, "facts", MagicMock(return_value=then))
        store.set_environment("c1", {})
        states.provisioned(bench.run.state)
        states.prepared(bench.run.state, stages=["deploy", "load"])
        store.set_facts("c1", "baseline", then)
        store.set_environment("c1", {RESUMED: "5"})
        now = dataclasses.replace(then, **other)
        monkeypatch.setattr(engine, "facts", MagicMock(return_value=now))
        if not named:
            bench.run.deployments.analyze("baseline")
            continue
        with pytest.raises(TargetError, match=f"baseline: {named}: more of them"):
            bench.run.deployments.analyze("baseline")
        assert store.campaign("c1").facts["baseline"] == then


def test_a_retry_of_the_registration_keeps_its_hosts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is away for a moment is no reason to rent them a second time."""

    def locked(*_: object) -> None:
        raise StoreError("database is locked")

    monkeypatch.setattr(bench.run.store, "reopen", locked)
    with pytest.raises(StoreError, match="locked"):
        bench.run.register()
    assert "give_back" not in bench.acts


@pytest.mark.parametrize("rents", [True, False])
def test_a_campaign_that_is_complete_is_not_opened_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, rents: bool
) -> None:
    """Whether its tasks are cleared or its id is given again, and whoever found it complete: where
    `benchlab publish` did, only the store says so.
    """
    monkeypatch.setattr(type(bench.run.target), "can", Capabilities(rents=rents))
    bench.run.store.finish("c1", "complete")
    before = bench.run.store.campaign("c1")
    again: list[Callable[[], object]] = [bench.run.register, bench.run.provision, bench.create]
    for act in again:
        with pytest.raises(NothingToMeasureError, match="nothing to measure: campaign c1"):
            act()
    assert bench.acts == []
    assert bench.run.store.campaign("c1") == before


def test_a_failed_campaign_without_a_trial_left_is_not_deployed_again(bench: Bench) -> None:
    """It would be deployed and loaded to find nothing to measure; more repeats are something."""
    for planned in bench.run.plan.trials:
        for attempt in (1, 2, 3):
            invalid = campaigns.trial_result(planned, reasons=["it stalled"])
            bench.run.store.add_trial("c1", dataclasses.replace(invalid, attempt=attempt))
    bench.run.store.finish("c1", "failed")
    bench.acts.clear()
    for act in (bench.create, bench.run.register):
        with pytest.raises(SpecError, match=r"has failed, and each (.|\n)*benchlab publish c1"):
            act()
    assert (bench.acts, bench.state) == ([], "failed")
    fewer = bench.run.spec.model_copy(update={"repeat_limit": 1})
    bench.run.store.take_over("c1", fewer)
    with pytest.raises(SpecError, match="has failed"):
        CampaignRun.open(bench.run.home, bench.run.store, "c1").register()
    before = bench.run.store.campaign("c1")
    otherwise = fewer.model_copy(update={"threshold_pct": 7.0})
    with pytest.raises(SpecError, match="has failed"):
        campaigns.begin(bench.run.home, bench.run.store, otherwise)
    assert bench.run.store.campaign("c1") == before, "what is refused takes nothing over"


@pytest.mark.parametrize(
    ("found", "named"),
    [
        ({"kernel": "6.5.0"}, "kernel 6.1.0, not 6.5.0"),
        ({"cores": "4", "cpu": "another"}, "cores 2, not 4; cpu unknown, not another"),
        ({"client_version": "sysbench 1.1"}, "client_version sysbench 1.0.20, not sysbench 1.1"),
        ({}, None),
    ],
)
def test_a_campaign_goes_on_only_where_its_trials_were_measured(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, found: dict[str, str], named: str | None
) -> None:
    """Machine and client are compared before anything is measured; a report says how often."""
    here = {"kernel": "6.1.0", "cores": "2"}
    client = {"client_program": "sysbench", "client_version": "sysbench 1.0.20"}

    def provisioned() -> None:
        states.provisioned(bench.run.state)
        bench.run.provision()

    facts = {**client}
    monkeypatch.setattr(client_program, "install", lambda *_, **__: {**facts})
    monkeypatch.setattr(metrics, "clock_offset_ms", lambda *_: None)
    vars(bench.run.target)["environment"] = lambda: {**here}
    provisioned()
    assert bench.run.store.campaign("c1").resumed_after == ()
    first = bench.run.plan.trials[0]
    bench.run.store.add_trial("c1", campaigns.trial_result(first))
    before = bench.run.store.campaign("c1")
    for known in (here, facts):
        known |= {
            name: value for name, value in found.items() if (name in client) == (known is facts)
        }
    if named is None:
        for _ in range(2):  # the task is tried again
            provisioned()
        assert bench.run.store.campaign("c1").resumed_after == ("1",)
        return
    with pytest.raises(TargetError) as refused:
        provisioned()
    assert f"c1 has trials that were measured with {named}: " in str(refused.value)
    assert bench.run.store.campaign("c1") == before


def test_for_a_campaign_that_has_failed_nothing_is_rented_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On hosts that cost nothing it is measured again."""
    bench.run.store.finish("c1", "failed")
    (bench.run.directory / fleet_files.SPENT_FILE).write_text("0.30")
    monkeypatch.setattr(type(bench.run.target), "can", Capabilities(rents=True))
    again: list[Callable[[], object]] = [bench.run.register, bench.run.provision, bench.create]
    for act in again:
        with pytest.raises(SpecError, match=r"c1 has ended \(failed\).*start another one"):
            act()
    assert bench.acts == []
    monkeypatch.setattr(type(bench.run.target), "can", Capabilities(rents=False))
    bench.run.register()
    assert bench.state == "running"


def test_a_campaign_that_was_refused_before_it_rented_can_be_run_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same id, once credentials and quota are right; not after hosts were rented."""
    monkeypatch.setattr(type(bench.run.target), "can", Capabilities(rents=True))
    bench.fails("preflight", TargetError("AWS credentials are not accepted"))
    with pytest.raises(TargetError):
        stages.run(bench.run)
    assert bench.state == "failed"
    bench.fails("", None)
    bench.create().register()
    assert bench.state == "running"
    bench.run.store.finish("c1", "failed")
    (bench.run.directory / fleet_files.SPENT_FILE).write_text("0.30")
    with pytest.raises(SpecError, match=r"c1 has ended \(failed\).*start another one"):
        bench.create()


def test_what_giving_back_says_again_is_said_once(bench: Bench) -> None:
    """Without credentials, AWS refuses that as well."""
    bench.fails("give_back", TargetError("there are no credentials"))
    first = TargetError("AWS credentials are not accepted: there are no credentials")
    bench.run.abandon(first)
    assert first.__notes__ == [HOW]


def test_a_registration_that_failed_may_be_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had is given back, and the campaign has not ended by it."""
    monkeypatch.setattr(type(bench.run.target), "can", Capabilities(rents=True))
    bench.fails("preflight", TargetError("AWS did not answer"))
    with pytest.raises(TargetError):
        bench.run.register()
    assert bench.acts[-1] == "give_back"
    bench.fails("", None)
    bench.run.register()
    assert bench.state == "running"


@pytest.mark.parametrize(
    ("error", "first"),
    [(KeyboardInterrupt(), "it was interrupted"), (TargetError("i-1 lives"), "i-1 lives")],
)
def test_a_finished_campaign_that_is_not_given_back_says_how_to_do_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, error: BaseException, first: str
) -> None:
    """It is measured and published, and stays so; what failed last is kept until it is made good.

    Its own success is no cure for what still holds hosts, nor is giving back for a place without
    its report.
    """
    monkeypatch.setattr(bench.run.deployments, "prepare", lambda: None)
    monkeypatch.setattr(CampaignRun, "check_after_trials", lambda *_: None)
    monkeypatch.setattr(CampaignRun, "validate", lambda *_: None)
    monkeypatch.setattr(CampaignRun, "publish", lambda *_: [])
    monkeypatch.setattr(CampaignRun, "provision", lambda *_: None)
    monkeypatch.setattr(bench.run.sequence, "measure_all", lambda: None)
    bench.fails("give_back", error)
    with pytest.raises(type(error)) as caught:
        stages.run(bench.run)
    assert caught.value.__notes__ == [HOW]
    assert bench.state == "running"

    def said() -> list[str]:
        kept = bench.run.store.failure("c1")
        return [] if kept is None else [kept.stage, *map(str, kept.lines)]

    assert said() == ["give back", first]
    bench.run.fail("publish", PublishError("no link to S3"))
    assert said() == ["give back", first, "no link to S3"]
    bench.run.overcome("publish")
    assert said() == ["give back", first]
    bench.run.fail("publish", PublishError("no link to S3"))
    bench.run.store.finish("c1", "failed")
    run.end_campaign(bench.run.home, "c1", Access())
    assert said() == ["publish", "no link to S3"]


def test_a_draft_is_a_failure_of_its_validation(bench: Bench) -> None:
    """Not of its publication, which was not tried; both are made good by a publication."""
    for error, stage in (
        (UnsoundReportError("tps: 1, not 2"), "validate"),
        (PublishError("no link"), "publish"),
    ):
        bench.run.abandon(error)
        kept = bench.run.store.failure("c1")
        assert kept is not None
        assert kept.of == stage


def test_ctrl_c_while_giving_back_says_how_to_do_it(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although typer prints `Aborted.` and nothing else of an interruption."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(targets.by_name()["local"], "preflight", interrupted)
    monkeypatch.setattr(targets.by_name()["local"], "give_back", interrupted)
    signals = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    try:
        done = here.run("run", "sysbench_local", "--campaign", "c1")
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGHUP), signals, strict=True):
            signal.signal(number, handler)
    assert done.returncode != 0
    assert f"error: {HOW}" in done.stderr


# ---------------------------------------------------------------- what rented hosts may cost


def test_a_stage_that_cannot_be_paid_is_not_begun(bench: Bench) -> None:
    """Nothing can be measured then: all is given back, and the campaign has failed."""
    vars(bench.run.target)["spending"] = lambda: Spending(59.0, 60.0, 1.0, minutes_left=0.2)
    vars(bench.run)["provision"] = lambda: None
    with pytest.raises(TargetError) as refused:
        stages.run(bench.run)
    (first, _) = bench.run.deployments.in_order
    assert str(refused.value).startswith(f"deploy {first}: 59.00 of 60.00 dollars spent")
    assert "until budget.limit is reached" in str(refused.value)
    assert bench.acts[-1] == "give_back"
    assert bench.state == "failed"
    steps = bench.run.progress.read()[0]
    notes = [step.note for step in steps if step.phase == f"deploy {first}"]
    assert notes == ["deployment 1 of 6; 59.00 of 60.00 dollars"]


def test_what_was_not_asked_for_ends_a_campaign_before_data_are_loaded(bench: Bench) -> None:
    """As soon as the servers say what they are: loading takes an hour."""
    deployment = fakes.FakeDeployment(bench.run.plan, fakes.FakeExecutor())
    vars(bench.run.target)["engine"] = deployment.engine
    vars(bench.run.target)["balancer"] = deployment.balancer
    deployment.engine("candidate").reported = "11.4.5-Fake"
    states.provisioned(bench.run.state)
    bench.run.deployments.deploy("baseline")
    with pytest.raises(
        TargetError, match=r"^candidate: the server is version 11\.4\.5-Fake, not 10\.11\.5"
    ):
        bench.run.deployments.deploy("candidate")


def test_the_report_says_what_was_spent_beside_what_was_planned(here: Here) -> None:
    """Until all is given back, and once: a report that is published again is the same."""
    campaign = campaigns.fleet_campaign(id="c1")
    with Store(here.home.store_url, here.home.objects) as store:
        store.add_campaign(campaign)
        run = CampaignRun.open(here.home, store, "c1")
        after = [step.minutes for step in campaign.plan.steps][-2:]
        editions = []
        for dollars in (10.0, 20.0):
            vars(run.target)["spending"] = lambda paid=dollars: Spending(paid, 80.0, 0.5, 50)
            editions.append(run.publish()[0].read_text().replace("\\", ""))
        spent = 10.0 + 0.5 * sum(after)
        shown = terminal.render(
            model.build(store.campaign("c1"), run.outcome().comparison, []), 200, colour=False
        )
    said = f"about ${spent:.2f}; planned ${campaign.plan.dollars:.2f}, limit $80.00"
    assert editions[0] == editions[1]
    assert said in editions[0]
    assert f"Spent on the hosts: {said}" in shown


def test_a_campaign_can_wait_for_another_one(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its progress says once for whom; then it begins as any other."""
    held = [LockHeldError("this machine is held by campaign c0. Wait for it")] * 3
    acquire = bench.run.target.acquire

    def taken(origin: str) -> object:
        if held:
            raise held.pop()
        return acquire(origin)

    bench.fails("", None)
    monkeypatch.setattr(bench.run.target, "acquire", taken)
    monkeypatch.setattr(stages, "FREE_PAUSE_S", 0)
    bench.run.register(wait=True)
    assert bench.state == "running"
    notes, _ = bench.run.progress.read()
    waits = [note for note in notes if note.phase == "wait until it is free"]
    assert [note.note for note in waits] == ["this machine is held by campaign c0"]
