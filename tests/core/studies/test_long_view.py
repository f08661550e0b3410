"""The long view: which campaigns are chained, what is found in the chain, what is left out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from benchlab.campaign.outcome import Comparer
from benchlab.language import load
from benchlab.studies.bisection.run import ORIGIN
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.view import ChainView, LongView, long_view, long_views
from tests.builders import plans, weekly
from tests.builders.weekly import POINT, REPORT, Weeks

RELEASED = date(2023, 8, 14)
"""The day of 10.11.5 in the release calendar."""


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[Weeks]:
    """An empty store."""
    with weekly.installation(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weeks]:
    """Fourteen weeks, from the eighth on 10 % slower; what a test writes there it takes back."""
    with weekly.installation(tmp_path_factory.mktemp("regressed")) as opened:
        weekly.regression(opened)
        yield opened


def view_of(weeks: Weeks) -> LongView:
    """The long view of the one workload."""
    return long_view(Comparisons(weeks.home, weeks.store), REPORT, POINT)


def only_chain(weeks: Weeks) -> ChainView:
    """The chain, where there is one."""
    (chain,) = view_of(weeks).chains
    return chain


def test_releases_are_chained_by_their_campaigns_own_ratios(weeks: Weeks) -> None:
    """The level of the last is the product of both changes, though no campaign measured it."""
    weeks.add("10.2.11", "10.11.5", -0.2, noise=0.0)
    weeks.add("10.11.5", "11.4.5", +0.1, noise=0.0)
    first, second = only_chain(weeks).links
    assert math.exp(first.point.level) == pytest.approx(0.8)
    assert math.exp(second.point.level) == pytest.approx(0.8 * 1.1)
    assert second.point.bridged_from is None
    assert only_chain(weeks).lacks_points == 8


def test_no_level_is_known_better_than_the_changes_that_it_is_made_of(weeks: Weeks) -> None:
    """The first is its campaign's change, with its interval; the next ones have wider ones."""
    weeks.add("10.2.11", "10.11.5", rounds=3)
    weeks.add("10.11.5", "11.4.5", rounds=12)
    weeks.add("11.4.5", "11.4.6", rounds=3, deployments=3)
    links = only_chain(weeks).links
    levels = [high - low for low, high in (link.level_ci95 or (0, 0) for link in links)]
    changes = [
        math.log1p(high / 100) - math.log1p(low / 100)
        for low, high in (link.ci95_pct or (0, 0) for link in links)
    ]
    assert levels[0] == pytest.approx(changes[0])
    assert all(level >= max(changes[: n + 1]) - 1e-9 for n, level in enumerate(levels))
    assert levels == sorted(levels)


def test_the_error_of_a_level_has_that_of_its_baseline(weeks: Weeks) -> None:
    """Of one campaign it is its own; of the next one both add up as variances do."""
    weeks.add("10.2.11", "10.11.5", noise=0.0)
    weeks.add("10.11.5", "11.4.5", noise=0.0)
    first, second = (
        (link.level_ci95[1] - link.level_ci95[0])
        for link in only_chain(weeks).links
        if link.level_ci95
    )
    assert second / first == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("origin", ["Airflow run backfill__2022-11-28", ORIGIN])
def test_a_campaign_stands_at_the_day_that_it_was_planned_for(weeks: Weeks, origin: str) -> None:
    """Not at the day when it was measured, long after later versions were."""
    weeks.add("10.11.5", "11.4.5")
    past = plans.START - timedelta(days=400)
    weeks.add("10.2.11", "10.11.5", planned_for=past, origin=origin)
    assert [link.point.ratio.campaign for link in only_chain(weeks).links] == [
        "week-001",
        "week-000",
    ]


def test_an_older_pair_that_is_measured_today_is_no_news_of_today(weeks: Weeks) -> None:
    """Started by hand, it stands at the release days of its versions, before what rests on it."""
    weekly_ids = [weeks.add("10.11.5", "11.4.5") for _ in range(3)]
    by_hand = weeks.add("10.2.11", "10.11.5", -0.2, by_hand=True)
    first, *later = only_chain(weeks).links
    assert (first.point.ratio.campaign, first.point.ratio.at.date()) == (by_hand, RELEASED)
    assert [link.point.ratio.campaign for link in later] == weekly_ids
    assert all(link.point.level < -0.2 for link in later)


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_baseline_has_no_second_level_by_a_later_campaign(weeks: Weeks, by_hand: bool) -> None:
    """By a release that the calendar does not know, or a campaign planned for too late a day."""
    ids = [weeks.add("10.11.99", "11.4.5", noise=0.0) for _ in range(3)]
    older = weeks.add("10.2.11", "10.11.99", -0.2, by_hand=by_hand)
    ids.append(weeks.add("10.11.99", "11.4.5", noise=0.0))
    found = view_of(weeks)
    newest, apart = found.chains
    assert [link.point.ratio.campaign for link in newest.links] == ids
    assert [link.point.level for link in newest.links] == pytest.approx([0] * 4)
    assert (apart.line, apart.links[0].point.ratio.campaign) == ("10.11", older)
    assert not found.left_out


def test_patches_of_an_older_series_are_chained_apart(weeks: Weeks) -> None:
    """Under its name, in the same setting; neither has the other's level, both have its noise."""
    weeks.add("10.6.20", "10.11.5", noise=0.0)
    newest = [weeks.add("10.11.5", "11.4.5", noise=0.0)]
    weeks.add_aa(0.01)
    older = [weeks.add("10.6.20", f"10.11.{patch}", -0.2, noise=0.0) for patch in (6, 7)]
    newest.append(weeks.add("10.11.7", "11.4.6", 0.25, noise=0.0))
    found = view_of(weeks)
    assert [chain.line for chain in found.chains] == ["newest", "10.11"]
    assert found.has_lines
    first, second = found.chains
    assert [link.point.ratio.campaign for link in first.links] == ["week-000", *newest]
    assert first.links[-1].point.bridged_from == "10.11.5"
    assert [link.point.ratio.campaign for link in second.links] == older
    assert [math.exp(link.point.level) for link in second.links] == pytest.approx([0.8, 0.8])
    assert not second.differs
    assert second.noise == first.noise
    assert not found.left_out


def test_a_campaign_out_of_order_in_its_own_series_is_left_out(weeks: Weeks) -> None:
    """Named with how to place it."""
    for candidate in ("11.4.5", "10.11.6", "10.11.5"):
        weeks.add(candidate=candidate)
    left_out = view_of(weeks).left_out
    assert list(left_out) == ["week-002"]
    said = "10.11.5 is out of the order of versions in line 10.11; measure it"
    assert said in str(left_out["week-002"])


def test_what_was_started_by_hand_gives_way_to_what_was_planned(weeks: Weeks) -> None:
    """A build that somebody tried against the newest release does not end the weekly chain."""
    tried = weeks.add("11.4.99", "11.5.99", by_hand=True)
    ids = [weeks.add("10.11.5", "11.4.99") for _ in range(2)]
    newest, apart = view_of(weeks).chains
    assert [link.point.ratio.campaign for link in newest.links] == ids
    assert (apart.line, apart.links[0].point.ratio.campaign) == ("11.5", tried)


def test_a_level_with_a_step_that_was_not_measured_has_no_interval(weeks: Weeks) -> None:
    """Nor has what is chained to it: how far it is wrong nobody knows."""
    weeks.add("10.2.11", "10.11.5")
    weeks.add("10.11.6", "11.4.5")
    weeks.add("11.4.5", "11.5.99")
    weeks.add("10.11.5", "11.6.99")
    links = only_chain(weeks).links
    assert [link.bridged for link in links] == [False, True, True, False]
    assert [link.level_ci95 is None for link in links] == [False, True, True, False]


def test_what_is_left_out_is_named_with_the_reason(weeks: Weeks) -> None:
    """And changes no level; an A/A campaign that shows the noise is not among them."""
    weeks.add()
    weeks.add(state="failed")
    weeks.add(slowdown_pct=10)
    weeks.add(unstable=True)
    weeks.add("10.2.11", "10.2.11", engines=_parameters_compared())
    weeks.add(sides="same", environment={"dataset": "snapshot"})
    weeks.add_aa(0.001)
    weeks.add(candidate="10.11.99", origin=ORIGIN, by_hand=True)
    weeks.add("10.11.5", "10.2.11")
    weeks.add(engines=_sides_of(candidate={"innodb_buffer_pool_size": "16M"}))
    weeks.add(rounds=1, deployments=1)
    found = view_of(weeks)
    assert [link.point.ratio.campaign for link in found.chains[0].links] == ["week-000"]
    reasons = found.left_out
    assert list(reasons) == [f"week-00{n}" for n in (1, 2, 3, 4, 5, 7, 8, 9)] + ["week-010"]
    for campaign, said in (
        ("week-001", "failed, not complete"),
        ("week-002", "slowed down by 10% on purpose"),
        ("week-003", "unstable: "),
        ("week-004", "a version with itself"),
        ("week-005", "restored from a dataset snapshot"),
        ("week-007", "by a bisection"),
        ("week-008", "older than its baseline"),
        ("week-009", "more than their versions: innodb_buffer_pool_size"),
        ("week-010", "fewer than three complete rounds"),
    ):
        assert said in str(reasons[campaign])
    assert [figure.campaign for figure in found.chains[0].noise.figures] == ["week-006"]
    ours = [reasons[campaign] for campaign in reasons if campaign != "week-003"]  # a test's symptom
    chinese = load("zh").texts(ours)
    assert [said for said in chinese if re.search(r"[a-z]+ [a-z]+ [a-z]+", said)] == []


def _parameters_compared() -> dict[str, object]:
    side = {"version": "10.2.11"}
    small = {**side, "parameters": {"innodb_buffer_pool_size": "64M"}}
    return {"mariadb": {"baseline": side, "candidate": small}}


def _sides_of(candidate: Mapping[str, str] | None = None, **both: object) -> dict[str, object]:
    """Two versions with parameters of the candidate alone, or of both."""
    sides = {
        "baseline": {"version": "10.2.11"},
        "candidate": {"version": "10.11.5", "parameters": dict(candidate or {})},
    }
    return {"mariadb": {**sides, **both}}


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"threads": [8]}, "threads"),
        ({"dataset": {"tables": 2, "table_size": 100}}, "dataset"),
        ({"environment": {"cores": "64"}}, "cores"),
        ({"seconds": 5}, "seconds"),
        ({"warmup_seconds": 2}, "warmup_seconds"),
        ({"restore": "per_workload"}, "restore"),
        ({"client": {"auto_inc": False}}, "auto_inc"),
        ({"client": {"rand_type": "special"}}, "client options"),
        (
            {"engines": _sides_of(parameters={"innodb_buffer_pool_size": "16M"})},
            "innodb_buffer_pool_size",
        ),
    ],
)
def test_another_setting_begins_another_chain(
    weeks: Weeks, changed: dict[str, object], name: str
) -> None:
    """The newest first; the older one says in what it differs, and neither has the other's level.

    Its A/A campaigns do not show the newer one's noise.
    """
    weeks.add("10.2.11", "10.11.5", -0.2, noise=0.0)
    weeks.add_aa(0.01)
    newest = weeks.add(noise=0.0, **changed)  # type: ignore[arg-type]
    newer, older = view_of(weeks).chains
    assert [link.point.ratio.campaign for link in newer.links] == [newest]
    assert newer.links[0].point.level == pytest.approx(0)
    assert list(older.differs) == [name]
    assert not newer.differs
    assert len(older.noise.figures) == 1
    assert newer.noise.figures == ()


def by_version(*versions: str, size: str = "16M") -> dict[str, dict[str, object]]:
    """The engines of a report type that gives versions before 10.3 a parameter of their own."""
    baseline, candidate = versions
    written = [{"until": "10.3.0", "parameters": {"innodb_buffer_pool_size": size}}]
    sides = {"baseline": {"version": baseline}, "candidate": {"version": candidate}}
    return {"mariadb": {**sides, "by_version": written}}


def test_a_parameter_by_version_is_no_difference(weeks: Weeks) -> None:
    """Neither between the sides nor between campaigns of one report type: it goes with the version.

    So it is where the report type learnt it later for versions that were not measured.
    """
    pair = "10.2.11", "10.2.99"
    weeks.add(*pair, engines=by_version(*pair))
    pair = "10.2.99", "10.11.5"
    weeks.add(*pair, engines=by_version(*pair))
    pair = "10.11.5", "11.4.5"
    weeks.add(*pair)
    weeks.add(*pair, engines=by_version(*pair))
    assert len(only_chain(weeks).links) == 4


def test_a_version_that_was_given_other_parameters_begins_a_new_chain(weeks: Weeks) -> None:
    """Where a report type was edited in between: its old campaigns say nothing about the new."""
    pair = "10.2.11", "10.11.5"
    weeks.add(*pair, engines=by_version(*pair, size="16M"))
    weeks.add(*pair, engines=by_version(*pair, size="32M"))
    weeks.add(*pair)
    newest, middle, oldest = view_of(weeks).chains
    name = "innodb_buffer_pool_size (10.2.11)"
    assert [dict(chain.differs) for chain in (newest, middle, oldest)] == [
        {},
        {name: ("32M", None)},
        {name: ("16M", "32M")},
    ]


def test_a_newer_report_type_need_not_measure_a_version_to_give_it_other_parameters(
    weeks: Weeks,
) -> None:
    """The two campaigns share a version that has the same parameters, and yet are not chained."""
    weeks.add("10.2.11", "10.11.5", engines=by_version("10.2.11", "10.11.5"))
    weeks.add("10.11.5", "11.4.5")
    assert [len(chain.links) for chain in view_of(weeks).chains] == [1, 1]


def test_a_parameter_that_moved_below_a_range_is_no_difference(weeks: Weeks) -> None:
    """What counts is what the versions of both campaigns were given, not where it was written."""
    pair = "10.2.11", "10.2.99"
    ranged = by_version(*pair)
    sides = {key: ranged["mariadb"][key] for key in ("baseline", "candidate")}
    common = {"parameters": {"innodb_buffer_pool_size": "16M"}}
    weeks.add(*pair, engines={"mariadb": {**sides, **common}})
    weeks.add(*pair, engines=ranged)
    assert len(only_chain(weeks).links) == 2


def test_five_aa_campaigns_show_the_noise(weeks: Weeks) -> None:
    """About zero, which is what they should find; four are listed and show nothing."""
    weeks.add()
    for ratio in (0.01, 0.01, -0.01, 0.01):
        weeks.add_aa(ratio)
    assert only_chain(weeks).noise.sd is None
    assert len(only_chain(weeks).noise.figures) == 4
    weeks.add_aa(0.01)
    assert only_chain(weeks).noise.sd == pytest.approx(0.01)


def test_a_comparison_is_what_the_campaign_itself_says(weeks: Weeks) -> None:
    """With the same calibration by A/A campaigns, though it is read once for all."""
    ids = [weeks.add(), *(weeks.add_aa(0.002 * n) for n in range(1, 6)), weeks.add(change=-0.1)]
    made = Comparisons(weeks.home, weeks.store)
    for campaign in (weeks.store.campaign(name) for name in ids):
        itself = Comparer(weeks.home, weeks.store).outcome(campaign).comparison
        found = made.compared(campaign).verdicts
        assert list(found.values()) == [one.alone for one in itself.workloads]
    assert itself.calibration.campaigns == tuple(ids[1:6])


# ---------------------------------------------------------------- change points


def test_a_regression_is_found_between_its_campaigns(regressed: Weeks) -> None:
    """With where the reports of both are: nowhere, of one that was never published."""
    record = regressed.home.campaign("week-007") / "published"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"addresses": {"s3": "https://x/report.html"}}))
    chain = only_chain(regressed)
    (found,) = chain.changes
    assert (found.before, found.campaign) == ("week-006", "week-007")
    assert (found.previous, found.candidate) == ("10.11.5", "11.4.5")
    assert math.expm1(found.change) == pytest.approx(-0.1, abs=0.01)
    assert chain.addresses == {"week-006": (), "week-007": ("https://x/report.html",)}


def test_a_report_type_without_campaigns_has_no_long_view(weeks: Weeks) -> None:
    """And so no change points."""
    made = Comparisons(weeks.home, weeks.store)
    assert long_views(made, "nothing") == {}
