"""Results are written once, read back as they were, and never lost between two processes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from upath import UPath

from benchlab.errors import AnotherPlanError, StoreError
from benchlab.hosts.samples import Figure, HostFigures
from benchlab.plan.rates import Size, StepTime
from benchlab.results.records import Campaign, Condition, Failure, TrialResult
from benchlab.results.rows import CAMPAIGNS
from benchlab.results.store import Store
from tests.builders import campaigns

CAMPAIGN = campaigns.campaign(rounds=1, threads=[4], workloads=["oltp_insert"])

# Waits for a line, then writes one side's facts and its trials into one store.
WRITE = """
import sys
from pathlib import Path
from upath import UPath
from tests.builders import campaigns
from benchlab.errors import AnotherPlanError, StoreError
from benchlab.results.store import Store
url, side, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
made = campaigns.campaign(rounds=1, threads=[4], workloads=["oltp_insert"])
print("ready", flush=True)
sys.stdin.readline()
with Store(url, UPath("memory://x")) as store:
    store.add_campaign(made)
    for attempt in range(1, count + 1):
        store.set_facts("c1", side, campaigns.side_facts(f"10.{attempt}.0"))
        store.add_to_environment("c1", f"{side} {attempt}", "noted")
        for trial in made.plan.trials:
            if trial.side == side:
                store.add_trial("c1", campaigns.trial_result(trial, attempt=attempt))
    try:
        store.add_trial("c1", campaigns.trial_result(made.plan.trials[0], attempt=999))
        print("first")
    except StoreError as error:
        print(error)
"""


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A database of the test's own."""
    return f"sqlite:///{tmp_path}/deep/results.db"


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    """A store with one campaign."""
    with Store(url, UPath(tmp_path / "objects")) as opened:
        opened.add_campaign(CAMPAIGN)
        yield opened


def results() -> list[TrialResult]:
    """Both trials of the campaign, with whatever a trial can have."""
    first, second = CAMPAIGN.plan.trials
    return [
        campaigns.trial_result(
            first,
            tps=1234.567890123,
            p95_ms=None,
            reasons=("gate a: “not so”, 3 × 10 %", "x" * 100_000),
            gates=[
                campaigns.gate("a", "fail"),
                campaigns.gate("b", "not evaluated"),
                dataclasses.replace(campaigns.gate("c", "fail"), kind="symptom"),
            ],
        ),
        dataclasses.replace(
            campaigns.trial_result(second),
            samples=(),
            gates=(),
            raw=None,
            series=None,
            adopted=True,
            hosts="c1/r1-a1.hosts.csv",
            host_figures=(
                HostFigures(
                    "client",
                    cores=2,
                    figures={"cpu_busy": Figure(0.123456789, 1.0), "cpu_steal": Figure(0.0, 0.0)},
                    processes={"load balancer": 0.7},
                ),
                HostFigures("tikv-1", reason="“not reachable”"),
            ),
        ),
    ]


# ---------------------------------------------------------------- campaigns


def test_a_campaign_comes_back_as_it_was_written(store: Store) -> None:
    """A report rebuilt from the store is about the campaign that ran."""
    assert store.campaign("c1") == CAMPAIGN


def test_a_campaign_in_a_file_outlives_the_process(store: Store, url: str) -> None:
    """Another store on the same URL has what this one wrote."""
    store.add_trial("c1", results()[0])
    with Store(url, store.objects) as again:
        assert again.campaign("c1") == CAMPAIGN
        assert again.trials("c1") == results()[:1]


def test_the_regions_of_all_rentals_are_known(store: Store) -> None:
    """Of one or of all; a campaign on this machine has none."""
    for region in ("us-west-2", "eu-central-1"):
        made = campaigns.fleet_campaign(id=f"in-{region}")
        plan = dataclasses.replace(made.plan, region=region)
        store.add_campaign(dataclasses.replace(made, plan=plan))
    store.add_campaign(campaigns.campaign(id="here"))
    assert store.regions() == {"us-west-2", "eu-central-1"}
    assert store.regions("in-eu-central-1") == {"eu-central-1"}
    assert store.regions("here") == set()


def test_adding_a_campaign_again_changes_nothing(store: Store) -> None:
    """A repeated task finds its campaign, with what was recorded since."""
    store.set_environment("c1", {"cores": "64"})
    store.add_campaign(CAMPAIGN)
    assert store.campaign("c1").environment == {"cores": "64"}


def test_another_plan_under_the_same_id_is_refused(store: Store) -> None:
    """Two campaigns never mix under one name."""
    with pytest.raises(AnotherPlanError, match="c1 exists already, with another plan"):
        store.add_campaign(campaigns.campaign(rounds=2))


def test_fields_that_are_measured_otherwise_are_named(store: Store) -> None:
    """A campaign is not resumed by other fields than those with which it began."""
    other = campaigns.campaign(warmup_seconds=60, dataset={"tables": 4, "table_size": 100_000})
    with pytest.raises(AnotherPlanError) as refused:
        store.add_campaign(other)
    spec = CAMPAIGN.report_type
    for name, was, now in (
        ("warmup_seconds", spec.warmup_seconds, 60),
        ("dataset.table_size", spec.dataset.model_dump()["table_size"], 100_000),
    ):
        assert f"{name} {was}, not {now}" in str(refused.value)
    assert "dataset.tables" not in str(refused.value)


def test_another_estimate_of_the_same_plan_is_no_other_plan(store: Store) -> None:
    """A campaign is resumed though by now its steps are expected to take longer."""
    plan = dataclasses.replace(CAMPAIGN.plan, minutes=99.0, steps=())
    assert not store.add_campaign(dataclasses.replace(CAMPAIGN, plan=plan))
    assert store.campaign("c1").plan.minutes == CAMPAIGN.plan.minutes


def test_what_steps_took_is_found_by_topology_and_engine(store: Store) -> None:
    """The latest campaign first; a step that is repeated replaces what was kept of it."""
    later = dataclasses.replace(CAMPAIGN, id="c2", started_at=CAMPAIGN.started_at + timedelta(1))
    store.add_campaign(later)
    load, start = (
        StepTime("load", "baseline", 12.5, Size(4.0, "rows")),
        StepTime("restart", None, 3.0, Size(10.0, "hosts")),
    )
    for campaign in ("c1", "c2"):
        store.set_step_time(campaign, "local", "mariadb", load)
    store.set_step_time("c1", "local", "mariadb", dataclasses.replace(load, seconds=9.5))
    store.set_step_time("c1", "local", "mariadb", start)
    store.set_step_time("c2", "ec2_published", "tidb", start)
    found = store.step_times("local", "mariadb")
    assert found[0] == ("c2", load)
    assert sorted(time.seconds for campaign, time in found if campaign == "c1") == [3.0, 9.5]
    assert store.step_times("local", "tidb") == []


def test_an_unknown_campaign_is_named_with_those_there_are(store: Store) -> None:
    """A person who mistypes an id sees the latest ones."""
    later = dataclasses.replace(
        CAMPAIGN, id="c2", started_at=CAMPAIGN.started_at + timedelta(days=1)
    )
    store.add_campaign(later)
    with pytest.raises(StoreError, match=r"no campaign 'c9' in .*; the latest ones are: c2, c1"):
        store.campaign("c9")
    assert store.campaign_ids() == ["c2", "c1"]


def test_states_and_facts_are_kept(store: Store) -> None:
    """The final state has a time, a resumed campaign has none, and each side has its facts."""
    store.finish("c1", "failed")
    assert store.campaign("c1").state == "failed"
    assert store.campaign("c1").ended_at is not None
    store.reopen("c1")
    assert store.campaign("c1").state == "running"
    assert store.campaign("c1").ended_at is None
    facts = campaigns.side_facts(
        "10.2.11",
        variables={"ünï": "çode", "empty": ""},
        consistency={
            "load": (Condition("3.3.2.1", "amounts add up", 0),),
            "last trial": (
                Condition("3.3.2.1", "amounts add up", 2),
                Condition("3.3.2.4", "lines are all there", 0),
            ),
        },
    )
    store.set_facts("c1", "baseline", facts)
    assert store.campaign("c1").facts == {**CAMPAIGN.facts, "baseline": facts}


def recorded(url: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Let the report type of the campaign be otherwise in the store."""
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        (text,) = connection.execute("SELECT spec FROM campaigns").fetchone()
        raw = json.loads(text)
        change(raw)
        connection.execute("UPDATE campaigns SET spec = ?", (json.dumps(raw),))
        connection.commit()


def test_a_report_type_is_stored_in_its_json_form(store: Store, url: str) -> None:
    """As `benchlab plan --json` shows it."""
    assert store.campaign("c1").report_type == CAMPAIGN.report_type
    found: list[dict[str, Any]] = []
    recorded(url, found.append)
    assert found == [CAMPAIGN.report_type.model_dump(mode="json")]


def test_a_campaign_that_cannot_be_read_does_not_keep_others_from_it(
    store: Store, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It is left out with a warning; where it ran can be read all the same."""
    recorded(url, lambda raw: raw.update(rounds="many"))
    other = dataclasses.replace(CAMPAIGN, id="c2")
    store.add_campaign(other)
    assert store.campaigns() == store.campaigns(other.plan.report) == [other]
    assert "left out: campaign c1: its report type cannot be read" in caplog.text
    assert store.target_and_state("c1") == (CAMPAIGN.plan.target, CAMPAIGN.state)


def test_a_report_type_that_cannot_be_read_names_campaign_and_fields(
    store: Store, url: str
) -> None:
    """Nothing is guessed: which versions were compared, for example, has no default."""

    def damaged(raw: dict[str, Any]) -> None:
        raw["invented_later"] = 1
        raw["rounds"] = "many"
        del raw["engines"]["mariadb"]["baseline"]

    recorded(url, damaged)
    with pytest.raises(StoreError) as caught:
        store.campaign("c1")
    said = str(caught.value)
    assert "c1" in said
    assert "engines.mariadb.baseline: missing" in said
    assert "rounds: " in said
    assert "invented_later: " in said


# ---------------------------------------------------------------- trials


def test_trials_come_back_as_they_were_written(store: Store) -> None:
    """Every digit, every missing value, every gate and reason."""
    for result in reversed(results()):
        store.add_trial("c1", result)
    assert store.trials("c1") == results()
    first = results()[0]
    assert store.trial("c1", first.trial.id, 1) == first
    assert store.trial("c1", first.trial.id, 2) is None
    assert store.trials("c9") == []


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE definitions SET document = replace(document, 'validity', 'x')", "gates.0.kind"),
        ("UPDATE definitions SET document = '[]'", "cannot be read"),
        ("UPDATE trials SET definitions = 'x'", "'x'"),
        ('UPDATE trials SET samples = \'{"tps": "x"}\'', "samples.0.value"),
        ("UPDATE trials SET samples = '{\"new\": 1}'", "'new'"),
        ("UPDATE trials SET packed = x'00'", "packed: "),
        ("UPDATE trials SET packed = 'x'", "cannot be read"),
        ("UPDATE trials SET reasons = '[' ", "cannot be read"),
    ],
)
def test_a_trial_that_cannot_be_read_is_named(
    store: Store, url: str, statement: str, said: str
) -> None:
    """With its campaign and the field; a Benchlab that came later may have written it."""
    first = results()[0]
    store.add_trial("c1", first)
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute(statement)
    with pytest.raises(StoreError) as caught:
        store.trials("c1")
    assert str(caught.value).startswith(f"campaign c1: its trial {first.trial.id} cannot be read")
    assert said in str(caught.value)


def test_an_attempt_of_a_trial_is_stored_once(store: Store) -> None:
    """A repeated task cannot write a second result over or beside the first."""
    first = results()[0]
    store.add_trial("c1", first)
    with pytest.raises(StoreError, match="in the store already"):
        store.add_trial("c1", dataclasses.replace(first, valid=True, samples=()))
    assert store.trials("c1") == [first]
    store.add_trial("c1", dataclasses.replace(first, attempt=2))
    assert [r.attempt for r in store.trials("c1")] == [1, 2]


def test_a_trial_is_written_wholly_or_not_at_all(store: Store) -> None:
    """A result that cannot be written as a whole leaves nothing of itself."""
    first = results()[0]
    with pytest.raises(StoreError):
        store.add_trial("c1", dataclasses.replace(first, reasons=("no UTF-8: \ud800",)))
    assert store.trials("c1") == []
    store.add_trial("c1", first)


def test_a_trial_of_no_campaign_is_refused_for_that(store: Store) -> None:
    """The message is about the campaign that is not there."""
    with pytest.raises(StoreError, match="c9"):
        store.add_trial("c9", results()[0])
    assert store.trials("c9") == []


# ---------------------------------------------------------------- several processes


def start(url: str, *arguments: str) -> subprocess.Popen[str]:
    """A writer that has been imported and waits for its signal."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITE, url, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def both_write(url: str, number: str) -> list[str]:
    """What two sides' processes print when they begin to write at the same time."""
    writers = [start(url, side, number) for side in ("baseline", "candidate")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    return [writer.communicate()[0].strip() for writer in writers]


@pytest.mark.fault(
    "two processes write into a store that neither found there",
    promise="nothing is lost",
    of="results",
)
def test_two_processes_write_into_a_new_store_and_nothing_is_lost(url: str) -> None:
    """Both sides are prepared and stored at once, in a store that neither found there."""
    said = both_write(url, "15")
    # Both tried to store the same attempt: one did, the other was refused.
    assert sorted(line == "first" for line in said) == [False, True], said
    assert any("in the store already" in line for line in said), said
    with Store(url, UPath("memory://x")) as store:
        facts = store.campaign("c1").facts
        assert {side: f.version for side, f in facts.items()} == {
            "baseline": "10.15.0",
            "candidate": "10.15.0",
        }
        assert len(store.trials("c1")) == 2 * 15 + 1
        noted = {key for key, text in store.campaign("c1").environment.items() if text == "noted"}
        assert noted == {f"{side} {n}" for side in facts for n in range(1, 16)}


def test_a_failure_is_not_lost_to_a_stage_that_succeeds_at_the_same_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails while another stage's success is being recorded."""
    store.fail("c1", Failure("deploy", ("port 4000 is taken",), ("a host is not reached",)))
    later = Failure("validate", ("no report",))
    overcome, other = Failure.overcome, Thread(target=store.fail, args=("c1", later))

    def slowly(failure: Failure, stages: Collection[str]) -> Failure | None:
        other.start()
        other.join(timeout=0.5)
        return overcome(failure, stages)

    monkeypatch.setattr(Failure, "overcome", slowly)
    store.overcome("c1", "deploy")
    other.join()
    assert store.failure("c1") == later


def test_what_is_added_to_an_unknown_campaign_is_refused(store: Store) -> None:
    """With those that there are."""
    changes: list[Callable[[], None]] = [
        lambda: store.set_facts("other", "baseline", campaigns.side_facts("10.1.0")),
        lambda: store.add_to_environment("other", "cores", "64"),
        lambda: store.overcome("other", "deploy"),
    ]
    for change in changes:
        with pytest.raises(StoreError, match=r"no campaign 'other' .* latest ones are: c1"):
            change()


def test_a_reader_does_not_block_the_campaign(store: Store, url: str) -> None:
    """Somebody who looks at the results in another program does not stop the trials."""
    reader = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM trials").fetchone() == (0,)
    store.add_trial("c1", results()[0])
    assert reader.execute("SELECT count(*) FROM trials").fetchone() == (0,)
    reader.close()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "url",
    [
        "mysql+pymysql://bench:hunter2@127.0.0.1:1/results",
        "mysql+mysqldb://bench:hunter2@127.0.0.1:1/results",
        "postgresql+psycopg2://bench:hunter2@127.0.0.1:1/results",
        "postgresql+nosuchdriver://bench:hunter2@127.0.0.1:1/results",
        "nosuchdatabase://bench:hunter2@127.0.0.1:1/results",
        "mysql+pymysql://127.0.0.1:1/results?user=bench&password=hunter2",
        "mysql+mysqldb://127.0.0.1:1/results?user=bench&passwd=hunter2",
        "mysql+pymysql://bench@127.0.0.1:1/results?nosuchoption=hunter2",
        "mysql+pymysql://bench@127.0.0.1:1/results?connect_timeout=hunter2",
        "postgresql+psycopg2://127.0.0.1:1/results?user=bench&password=hunter2",
        "mysql://bench:hunter2@127.0.0.1:port/results",
        "bench:hunter2@127.0.0.1",
        "",
    ],
)
def test_no_error_shows_the_password(url: str) -> None:
    """A store that cannot be reached, or a URL that is none, is an error without a secret in it."""
    with pytest.raises(StoreError) as caught:
        Store(url, UPath("memory://x"))
    chain: BaseException | None = caught.value
    while chain is not None:
        assert "hunter2" not in str(chain)
        chain = None if chain.__suppress_context__ and not chain.__cause__ else chain.__cause__


@pytest.mark.parametrize("place", ["file/results.db", "file"])
def test_a_database_that_cannot_be_opened_is_named(tmp_path: Path, place: str) -> None:
    """A path that leads through a file, or a file that is no database."""
    (tmp_path / "file").write_text("this is no database, and long enough to be told from one")
    with pytest.raises(StoreError, match=str(tmp_path)):
        Store(f"sqlite:///{tmp_path}/{place}", UPath("memory://x"))


# ---------------------------------------------------------------- objects


def test_objects_are_kept_in_a_directory_or_under_any_url(tmp_path: Path) -> None:
    """Raw outputs go where the object root says: a directory, memory, an object store."""
    for root in (UPath(tmp_path / "objects"), UPath(f"memory://benchlab-{os.getpid()}")):
        with Store("sqlite://", root) as store:
            name = store.write_bytes("c1/r1-a1.txt", "ünïçode\r\nand more\n".encode())
            assert name == "c1/r1-a1.txt"
            assert store.read_bytes(name).decode() == "ünïçode\r\nand more\n"
            assert (root / name).exists()
            with pytest.raises(StoreError, match=r"c1/nothing\.txt: cannot be read"):
                store.read_bytes("c1/nothing.txt")


def test_an_object_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A full or closed place is an error that says which."""
    (tmp_path / "file").write_text("")
    with (
        Store("sqlite://", UPath(tmp_path / "file")) as store,
        pytest.raises(StoreError, match=r"file/c1/a\.txt: cannot be written"),
    ):
        store.write_bytes("c1/a.txt", b"x")


def test_a_campaign_can_have_any_name_in_its_titles(store: Store) -> None:
    """Quotes and other scripts in a title or an origin are data."""
    odd: Campaign = dataclasses.replace(
        CAMPAIGN, id="c'2\"; --", origin="性能 `x` %s {}", environment={"a'b": "c\\d"}
    )
    store.add_campaign(odd)
    assert store.campaign(odd.id) == odd


@pytest.mark.parametrize("column", ["spec", "plan", "facts", "environment", "started_at"])
@pytest.mark.parametrize("text", ["", "x", "[]", "[" * 20_000, '{"a": 1}'])
def test_a_damaged_campaign_is_named(tmp_path: Path, column: str, text: str) -> None:
    """Whatever is in one of its cells."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path)) as store:
        store.add_campaign(campaigns.campaign())
        with store.transaction() as connection:
            connection.execute(CAMPAIGNS.update().values({column: text}))
        with pytest.raises(StoreError, match=r"^campaign \S+: its [a-z ]+ cannot be read"):
            store.campaign(campaigns.campaign().id)
