"""`benchlab bisect`: stored campaigns are not run again, and the answer names its sources."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from datetime import date
from typing import Any, Literal

import pytest

from benchlab import engines
from benchlab.campaign import overrides, report_types
from benchlab.engines.mariadb import EMPTY
from benchlab.errors import NotMeasuredError, SpecError, UnavailableError
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Resolved
from benchlab.results.store import Store
from benchlab.studies.bisection import search as bisection
from benchlab.studies.bisection import text as bisect_view
from benchlab.studies.bisection.run import ORIGIN, Bisection
from benchlab.studies.bisection.search import Named, Next, Undecided
from tests.builders import campaigns, plans
from tests.builders.installation import Here

REPORT, WORKLOAD = "sysbench_local_releases", "oltp_update_index"
OLD, MIDDLE, NEW = "10.2.11", "10.11.5", "11.4.5"
ARGUMENTS = ("bisect", OLD, NEW, "--report", REPORT, "--workload", WORKLOAD)
# Throughput of each release, as a share of the first one's.
LEVELS = {"v6.0.0": 1.0, "v6.2.0": 2.0, OLD: 1.0, "10.6.1": 1.0, MIDDLE: 1.98, NEW: 2.0}


@pytest.fixture
def there(here: Here) -> Here:
    """The installation of these tests, with one more server."""
    program = here.home.servers / "mariadb" / NEW / "bin" / "mariadbd"
    program.parent.mkdir(parents=True)
    program.write_text("")
    (program.parents[1] / EMPTY).mkdir()
    return here


@pytest.fixture
def store(there: Here) -> Iterator[Store]:
    """Its store."""
    with Store(there.home.store_url, there.home.objects) as opened:
        yield opened


@pytest.fixture
def spec(there: Here) -> ReportSpec:
    """The report type that is bisected."""
    return report_types.load(report_types.find_report(there.home, REPORT))


class Measured:
    """Runs and counts campaigns whose outcome follows from the levels of the releases."""

    def __init__(self, here: Here, store: Store) -> None:
        self._here, self._store = here, store
        self.pairs: list[tuple[str, str]] = []
        self.days: list[date | None] = []

    def __call__(self, pair: Resolved, interrupted: str | None, on: date | None) -> str:
        name = f"b{len(self.pairs)}"
        self.pairs.append(self.add(pair.spec, name))
        self.days.append(on)
        return name

    def add(
        self, spec: ReportSpec, name: str, state: Literal["complete", "running"] = "complete"
    ) -> tuple[str, str]:
        """Write a complete campaign to the store."""
        (engine,) = spec.engines
        plan = plans.plan_in(self._here.home, spec, engine, name)
        made = campaigns.campaign(spec, id=name, plan_=plan, environment={})
        self._store.add_campaign(dataclasses.replace(made, state=state, origin=ORIGIN))
        if state == "complete":
            sides = [plan.sides[side].version for side in plan.sides]
            change = LEVELS[sides[1]] / LEVELS[sides[0]] - 1
            tps = campaigns.known_change(dict.fromkeys(spec.workloads, change), 0.002)
            for result in campaigns.results_of(plan, tps):
                self._store.add_trial(name, result)
            self._store.finish(name, "complete")
        return plan.sides["baseline"].version, plan.sides["candidate"].version


@pytest.fixture
def measured(there: Here, store: Store) -> Measured:
    """What runs campaigns."""
    return Measured(there, store)


def pair(spec: ReportSpec, baseline: str, candidate: str, **fields: Any) -> ReportSpec:
    """The report type with two versions."""
    return overrides.override(spec, {**fields, "baseline": baseline, "candidate": candidate})


def run_of(here: Here, store: Store, spec: ReportSpec, **question: Any) -> Bisection:
    """A bisection from the first release to the last."""
    asked = {"good": OLD, "bad": NEW, "workload": WORKLOAD, **question}
    return Bisection.open(here.home, store, spec, **asked)


def test_from_an_empty_store_two_campaigns_name_the_release(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """The ends, then the middle, with this workload alone; a repeated call runs none."""
    said: list[str] = []
    found = run_of(there, store, spec).run(measured, said.append)
    assert isinstance(found.reached, Named)
    assert (found.reached.brought.release, found.reached.brought.predecessor) == (MIDDLE, OLD)
    assert found.reached.brought.change.pct == pytest.approx(98, abs=1)
    assert measured.pairs == [(OLD, NEW), (OLD, MIDDLE)]
    assert said[0] == f"{NEW} against {OLD}: whether there is a change at all"
    assert measured.days == [date(2025, 2, 4), date(2023, 8, 14)], "of the candidate's release"
    assert store.campaign("b0").report_type.workloads == (WORKLOAD,)

    again = run_of(there, store, spec).run(measured, said.append)
    assert again.reached == found.reached
    assert again.measured == []
    assert len(measured.pairs) == 2


def test_the_campaigns_of_a_backfill_are_enough(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """Each release against its predecessor, among other workloads: no campaign is run."""
    measured.add(pair(spec, OLD, MIDDLE), "first")
    measured.add(pair(spec, MIDDLE, NEW), "second")
    done = there.run(*ARGUMENTS)
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert text.startswith(f"{WORKLOAD}: {MIDDLE} brought +98."), done.stdout
    assert "% (95% interval +90." in text
    assert f"against {OLD}, its predecessor on the way; campaign first" in text
    assert f"on the way: {OLD}, {MIDDLE}, {NEW}" in text
    assert "was not measured: the intervals assume it" in text

    document = json.loads(there.run(*ARGUMENTS, "--json").stdout)
    assert (document["outcome"], document["release"]) == ("named", MIDDLE)
    assert document["change"]["campaigns"] == ["first"]
    assert document["whole"]["campaigns"] == ["first", "second"]
    assert [pair["new"] for pair in document["comparisons"]] == [False, False]
    assert document["rest"] is None


def test_a_campaign_the_other_way_round_is_also_used(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """Its baseline is the later release."""
    measured.add(pair(spec, NEW, OLD), "back")
    seen = run_of(there, store, spec).look()
    assert isinstance(seen.reached, Next)
    assert (seen.reached.baseline, seen.reached.candidate) == (OLD, MIDDLE)
    (known,) = seen.comparisons
    assert (known.baseline, known.candidate, known.verdict) == (OLD, NEW, "improvement")


@pytest.mark.parametrize(
    "other", [{"rounds": 4}, {"threads": [8]}, {"sides": "same"}, {"slowdown_pct": 10}], ids=str
)
def test_campaigns_that_measured_differently_are_not_used(
    there: Here, store: Store, spec: ReportSpec, measured: Measured, other: dict[str, Any]
) -> None:
    """Such as another plan, an A/A campaign, or a slowed-down candidate."""
    measured.add(pair(spec, OLD, NEW, **other), "other")
    assert run_of(there, store, spec).look().comparisons == []


def test_if_nothing_changed_the_exit_code_is_2(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """The verdict is printed, and it is not an error."""
    measured.add(pair(spec, MIDDLE, NEW, rounds=6, deployments=6), "equal")
    fields = ("--set", "rounds=6", "--set", "deployments=6")
    done = there.run("bisect", MIDDLE, NEW, *ARGUMENTS[3:], *fields)
    assert done.returncode == 2
    assert f"{WORKLOAD}: nothing to bisect: {NEW} against {MIDDLE} is equivalent" in done.stdout
    assert "campaign equal" in done.stdout
    assert done.stderr == ""


def test_ends_that_cannot_be_distinguished_are_not_said_to_be_alike(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """One round shows nothing; the answer says so, and what would."""
    fields = ("--set", "rounds=1")
    measured.add(pair(spec, MIDDLE, NEW, rounds=1), "short")
    done = there.run("bisect", MIDDLE, NEW, *ARGUMENTS[3:], *fields)
    assert done.returncode == 2
    text = " ".join(done.stdout.split())
    assert f"it is not clear whether there is anything to bisect: {NEW} against" in text
    assert "More rounds may decide it" in text


def test_gates_that_cannot_be_read_are_an_error_before_anything_is_measured(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """Nor are stored campaigns taken for missing ones, and run again."""
    measured.add(pair(spec, OLD, NEW), "known")
    gates = next((there.home.configs / "quality").glob("*.yaml"))
    gates.write_text(f"{gates.read_text()}\nnonsense: 1\n")
    with pytest.raises(SpecError, match="nonsense"):
        run_of(there, store, spec).run(measured, print)
    assert measured.pairs == []


def test_the_plan_shows_the_cost_and_starts_nothing(there: Here) -> None:
    """Releases on the way, campaigns, minutes, dollars; exit code 0."""
    document = json.loads(there.run(*ARGUMENTS, "--plan", "--json").stdout)
    assert document["outcome"] == "open"
    assert document["way"] == [OLD, MIDDLE, NEW]
    assert document["next"] == {"baseline": OLD, "candidate": NEW}
    assert (document["campaigns_if_clear"], document["campaigns_at_most"]) == (2, 4)
    assert document["most_minutes"] > 0
    assert document["most_dollars"] is None
    rented = there.run(
        *("bisect", "v6.1.0", "v6.5.0", "--report", "sysbench_ec2", "--workload", WORKLOAD),
        "--plan",
    )
    assert rented.returncode == 0, rented.stderr
    text = " ".join(rented.stdout.split())
    assert "3 campaigns if every comparison is clear, 6 at most; at most about" in text
    assert "on the way: v6.1.0, v6.2.0, v6.3.0, v6.4.0, v6.5.0" in text
    assert "not on the way: v6.1.1, released 2022-09-01, after the series 6.2 began" in text
    assert json.loads(there.run("campaigns", "--json").stdout)["campaigns"] == []


def test_the_cost_of_all_campaigns_together_has_to_be_approved(there: Here) -> None:
    """Even if each of them costs less than may be rented without approval."""
    refused = there.refused(
        *("bisect", "v6.1.0", "v6.5.0", "--report", "sysbench_ec2", "--workload", WORKLOAD),
        *("--set", "budget.approve_above=40"),
    )
    assert "dollars, more than is allowed without approval (40)" in refused
    assert "--approve" in refused
    assert json.loads(there.run("campaigns", "--json").stdout)["campaigns"] == []


def test_a_higher_cost_has_to_be_approved_again(
    there: Here, store: Store, measured: Measured
) -> None:
    """Finished campaigns are kept; the price of those still needed counts."""
    spec = report_types.load(report_types.find_report(there.home, "sysbench_ec2"))
    prices = there.home.configs / "prices.csv"

    def campaign(*wanted: Any) -> str:
        done = measured(*wanted)
        rows = [line.split(",") for line in prices.read_text().splitlines()]
        dearer = [[*row[:3], str(float(row[3]) * 1.2), *row[4:]] for row in rows[1:]]
        prices.write_text("\n".join(map(",".join, [rows[0], *dearer])))
        return done

    run = run_of(there, store, spec, good="v6.0.0", bad="v6.2.0")
    announced = run.look()
    assert isinstance(announced.reached, Next)
    assert announced.reached.at_most > 1
    with pytest.raises(SpecError, match=r"all campaigns together \(with b0, which are kept\) may"):
        run.run(campaign, lambda text: None, approved=True)
    assert measured.pairs == [("v6.0.0", "v6.2.0")]


def test_no_more_campaigns_are_run_than_were_announced(
    there: Here, store: Store, spec: ReportSpec, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next campaign is named, and a repeated call resumes with it."""
    search = bisection.search

    def understated(*arguments: Any) -> Any:
        found = search(*arguments)
        if isinstance(found, Next) and not measured.pairs:
            return dataclasses.replace(found, at_most=1)
        return found

    monkeypatch.setattr(bisection, "search", understated)
    found = run_of(there, store, spec).run(measured, lambda text: None)
    assert isinstance(found.reached, Undecided)
    assert measured.pairs == [(OLD, NEW)]
    text = " ".join(bisect_view.render(found, 200, False).split())
    assert "Why: as many campaigns as were announced at most have been run." in text
    assert f"Start it again to continue. Next: {MIDDLE} against {OLD}, the middle of 2" in text
    assert bisect_view.to_json(found)["next"] == {"baseline": OLD, "candidate": MIDDLE}

    again = run_of(there, store, spec).run(measured, lambda text: None)
    assert isinstance(again.reached, Named)
    assert measured.pairs == [(OLD, NEW), (OLD, MIDDLE)]


def test_hosts_are_not_rented_for_a_mistyped_release(there: Here) -> None:
    """Only the calendar knows whether a release exists; its closest releases are named."""
    where = ("--report", "sysbench_ec2", "--workload", WORKLOAD)
    refused = there.refused("bisect", "v6.5.99", "v7.1.0", *where, "--plan", "--approve")
    assert "GOOD: v6.5.99 is not in " in refused
    assert "which has v6.5.9, v6.5.10, v6.5.11, v6.5.12 of its series" in refused
    assert "BAD: v6.5.13 is not" in there.refused("bisect", "v6.5.0", "v6.5.13", *where)


@pytest.mark.parametrize(
    ("bad", "known"),
    [("v6.2.0-nightly", "of its series it has v6.2.0"), ("v99.0.0", "nor is its series")],
)
def test_a_build_that_no_calendar_has_only_needs_approval(
    there: Here, bad: str, known: str
) -> None:
    """A nightly or private build, and a series that is newer than the calendar."""
    asked = ("bisect", "v6.1.0", bad, "--report", "sysbench_ec2", "--workload", WORKLOAD)
    planned = there.run(*asked, "--plan")
    assert planned.returncode == 0, planned.stderr
    assert f"not in the calendar: {bad}; {known}" in planned.stdout
    assert f"{bad}: not in the calendar" in there.refused(*asked)
    assert json.loads(there.run("campaigns", "--json").stdout)["campaigns"] == []


def test_an_unavailable_release_is_left_out_of_the_middle(
    there: Here, store: Store, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, since it may be the one instead of the release after it."""
    calendar = there.home.configs / "releases.csv"
    lines = calendar.read_text().splitlines()
    lines.insert(1, "10.6.1,2016-05-06,patch")
    calendar.write_text("\n".join(lines))
    fetched: list[str] = []

    def install(engine: str, version: str, home: object) -> None:
        fetched.append(version)
        if version == "10.6.1":
            raise UnavailableError("MariaDB 10.6.1 cannot be fetched")

    monkeypatch.setattr(engines, "install", install)
    spec = report_types.load(report_types.find_report(there.home, REPORT))
    said: list[str] = []
    found = run_of(there, store, spec, bad=MIDDLE).run(measured, said.append)
    assert isinstance(found.reached, Named)
    assert found.reached.brought.release == MIDDLE
    assert found.reached.brought.untold == ("10.6.1",)
    assert "10.6.1" in fetched
    assert "10.6.1 is left out: MariaDB 10.6.1 cannot be fetched" in said
    assert measured.pairs == [(OLD, MIDDLE)]


def test_an_interrupted_campaign_is_resumed(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """Only one of the same pair and plan that has not measured everything."""
    alone = {"workloads": [WORKLOAD]}
    measured.add(pair(spec, OLD, NEW, **alone, rounds=5), "another-plan", "running")
    measured.add(pair(spec, OLD, NEW, **alone), "half", "running")
    asked: list[str | None] = []

    def campaign(_: Resolved, interrupted: str | None, on: date | None) -> str:
        asked.append(interrupted)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_of(there, store, spec).run(campaign, lambda text: None)
    assert asked == ["half"]


def test_a_campaign_that_did_not_become_complete_ends_the_bisection(
    there: Here, store: Store, spec: ReportSpec, measured: Measured
) -> None:
    """It is not run again and again."""

    def fail(pair: Resolved, *_: object) -> str:
        measured.add(pair.spec, "half", "running")
        return "half"

    with pytest.raises(NotMeasuredError, match=f"half: not complete, so {NEW} against {OLD}"):
        run_of(there, store, spec).run(fail, lambda text: None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bisect", NEW, OLD), "give the good release first"),
        (("bisect", OLD, "v6.5.0"), "'v6.5.0' is not a version of any engine"),
        (("bisect", OLD, "newest"), "'newest' is not a version"),
        ((*ARGUMENTS[:3], "--set", "candidate=10.11.5"), "--set candidate: GOOD, BAD and"),
        ((*ARGUMENTS[:3], "--set", "sides=same"), "sides: same: a bisection compares two releases"),
        ((*ARGUMENTS[:3], "--set", "slowdown_pct=5"), "slowdown_pct: 5: a bisection looks for"),
        ((*ARGUMENTS[:3], "--kinds", "patch,nightly"), "--kinds: unknown: nightly; known: GA"),
        ((*ARGUMENTS[:3], "--kinds", "patch", "--series"), "--series and --kinds both say which"),
        (
            (
                *ARGUMENTS[:3],
                *("--set", "engines.mariadb.candidate.parameters={innodb_io_capacity: 900}"),
            ),
            "engines.mariadb: baseline and candidate have parameters of their own",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_bisected_is_refused(
    there: Here, arguments: tuple[str, ...], message: str
) -> None:
    """Before anything is started; the error names the field or the option."""
    assert message in there.refused(*arguments, *ARGUMENTS[3:])
    assert json.loads(there.run("campaigns", "--json").stdout)["campaigns"] == []


def test_an_unknown_workload_is_refused(there: Here, store: Store, spec: ReportSpec) -> None:
    """The message names the known ones."""
    with pytest.raises(SpecError, match=r"workloads: unknown: oltp_x; known: .*oltp_point_select"):
        run_of(there, store, spec, workload="oltp_x")
