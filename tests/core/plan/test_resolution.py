"""Version rules of a report type name the versions that were current on a day."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.campaign import fit
from benchlab.errors import NoReleaseError, SpecError
from benchlab.plan import report_type as spec
from benchlab.plan import resolution, versions
from benchlab.plan.fields.schedule import Turn
from benchlab.plan.last_measured import MeasuredVersion
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolution import ByRules
from benchlab.plan.versions import Release, ReleaseKind
from tests.builders import plans


def release(version: str, day: str, kind: ReleaseKind = "patch") -> Release:
    """One release of MariaDB."""
    return Release(versions.parse(version), date.fromisoformat(day), kind)


CALENDAR = (
    release("10.2.11", "2017-11-28"),
    release("10.11.5", "2023-08-14"),
    release("10.11.6", "2023-11-13"),
    release("11.4.5", "2025-02-04"),
    release("10.11.11", "2025-02-04"),
)


def by_rule(**fields: Any) -> ReportSpec:
    """A report type that names no version."""
    engine = {"baseline": {"version": "previous series"}, "candidate": {"version": "newest"}}
    return plans.spec(**{"engines": {"mariadb": {**engine, **fields.pop("engine_", {})}}, **fields})


def resolved(report_type: ReportSpec, day: str, **fields: Any) -> ByRules:
    """As of a day, with the calendar above."""
    return resolution.resolve(
        report_type, lambda engine: CALENDAR, date.fromisoformat(day), **fields
    )


def pair(found: ByRules) -> tuple[str, str]:
    """The versions of the sides as they would be deployed."""
    baseline, candidate = (found.spec.side("mariadb", side).version for side in spec.SIDES)
    return baseline, candidate


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2023-08-14", ("10.2.11", "10.11.5")),
        ("2024-01-01", ("10.2.11", "10.11.6")),
        ("2025-02-03", ("10.2.11", "10.11.6")),
        ("2025-02-04", ("10.11.11", "11.4.5")),
    ],
)
def test_the_pair_is_what_was_current_on_the_day(day: str, expected: tuple[str, str]) -> None:
    """A release counts from its own day on."""
    found = resolved(by_rule(), day)
    assert pair(found) == expected
    assert found.spec.is_resolved
    assert all(version in " ".join(map(str, found.notes)) for version in expected)


def test_what_is_pinned_stays() -> None:
    """A version in the report type is no rule; its rule on the other side is relative to it."""
    pinned = by_rule(engine_={"candidate": {"version": "11.4.5"}})
    assert pair(resolved(pinned, "2025-02-04")) == ("10.11.11", "11.4.5")
    assert resolved(plans.spec(), "2000-01-01").spec == plans.spec()
    assert resolved(plans.spec(), "2000-01-01").notes == ()


def test_a_day_before_the_first_pair_is_refused_with_the_field() -> None:
    """No future release is taken, and no other release than the rule names."""
    with pytest.raises(NoReleaseError, match=r"^engines\.mariadb\.candidate\.version: newest on"):
        resolved(by_rule(), "2017-11-27")
    with pytest.raises(
        NoReleaseError, match=r"baseline\.version: previous series of 10\.2\.11 on 2017-11-28"
    ):
        resolved(by_rule(), "2017-11-28")


def test_an_aa_campaign_is_of_what_the_candidate_is() -> None:
    """Version and parameters of the candidate on both sides, where a baseline is not needed."""
    report_type = by_rule(
        engine_={"candidate": {"version": "newest", "parameters": {"innodb_io_capacity": 900}}}
    )
    found = resolved(report_type, "2017-11-28", turn=Turn(aa=True)).spec
    assert found.sides == "same"
    assert found.side("mariadb", "baseline") == found.side("mariadb", "candidate")
    assert found.side("mariadb", "baseline").version == "10.2.11"
    assert found.side("mariadb", "baseline").parameters == {"innodb_io_capacity": 900}


def test_with_the_same_sides_only_what_is_measured_is_named() -> None:
    """Both are the baseline, also where the schedule has a week of noise."""
    for aa in (False, True):
        found = resolved(by_rule(sides="same"), "2024-01-01", turn=Turn(aa=aa))
        assert {found.spec.side("mariadb", side).version for side in spec.SIDES} == {"10.2.11"}
        (note,) = map(str, found.notes)
        assert note == "both sides: previous series on 2024-01-01 is 10.2.11, released 2017-11-28"


def test_a_week_may_compare_with_the_newest_release() -> None:
    """In place of the baseline's rule, which is named.

    What is pinned stays, and so do an A/A week and a candidate that is a release itself.
    """
    turn = Turn(with_release=True)
    build = {"version": "11.5.0-preview"}
    found = resolved(by_rule(engine_={"candidate": build}), "2025-02-04", turn=turn)
    assert pair(found) == ("11.4.5", "11.5.0-preview")
    assert "in place of previous series: schedule.release_every" in str(found.notes[0])
    before = by_rule(engine_={"baseline": {"version": "newest 10.2"}})
    assert pair(resolved(before, "2025-02-04", turn=turn)) == ("10.2.11", "11.4.5")
    pinned = {"baseline": {"version": "10.2.11"}, "candidate": build}
    assert pair(resolved(by_rule(engine_=pinned), "2025-02-04", turn=turn))[0] == "10.2.11"
    same = resolved(by_rule(), "2025-02-04", turn=Turn(aa=True, with_release=True))
    assert pair(same) == ("11.4.5", "11.4.5")


def test_rules_on_what_was_measured_are_asked_of_the_report_types_campaigns() -> None:
    """By its engine; without any campaign the newest release before stands in, and is said to."""
    report_type = by_rule(engine_={"baseline": {"version": "previous measured"}})
    first = resolved(report_type, "2025-02-04")
    assert pair(first) == ("10.11.11", "11.4.5")
    assert "nothing else was measured before" in str(first.notes[1])
    before = MeasuredVersion("10.2.11", "c7", date(2024, 1, 1), lambda: False)
    found = resolved(
        report_type, "2025-02-04", measured=lambda name: [before] * (name == "mariadb")
    )
    assert pair(found) == ("10.2.11", "11.4.5")
    assert str(found.notes[1]) == (
        "baseline: previous measured on 2025-02-04 is 10.2.11, measured by c7"
    )


@pytest.mark.parametrize("rules", [("newest 11.4", "newest"), ("11.4.5", "release of the day")])
def test_two_sides_that_are_the_same_on_a_day_are_no_pair(rules: tuple[str, str]) -> None:
    """Both rules are named with the day; with other parameters it is a comparison."""
    baseline, candidate = ({"version": rule} for rule in rules)
    report_type = by_rule(engine_={"baseline": baseline, "candidate": candidate})
    with pytest.raises(NoReleaseError) as refused:
        resolved(report_type, "2025-02-04")
    for part in (*rules, "engines.mariadb", "no pair on 2025-02-04", "both 11.4.5"):
        assert part in str(refused.value)
    assert resolved(report_type, "2025-02-04", turn=Turn(aa=True)).spec.sides == "same"
    tuned = {"engines.mariadb.candidate.parameters": {"innodb_io_capacity": 900}}
    assert pair(resolved(report_type.with_overrides(tuned), "2025-02-04")) == ("11.4.5", "11.4.5")


def test_only_engines_that_may_be_deployed_need_releases() -> None:
    """A rule of an engine that is not chosen is left as it is."""
    rules = {"baseline": {"version": "previous LTS"}, "candidate": {"version": "newest LTS"}}
    report_type = by_rule(engines={"tidb": rules, **by_rule().model_dump(mode="json")["engines"]})
    assert pair(resolved(report_type, "2024-01-01")) == ("10.2.11", "10.11.6")
    with pytest.raises(NoReleaseError, match=r"engines\.tidb\.candidate"):
        resolved(report_type.with_overrides({"engine": "auto"}), "2024-01-01")


def test_parameters_go_with_the_versions_that_have_them() -> None:
    """A range begins with `since` and ends before `until`; a side's own value comes on top."""
    report_type = by_rule(
        engine_={
            "parameters": {"a": 1, "b": 1},
            "by_version": [
                {"until": "10.11.5", "parameters": {"a": 2, "old": 1}},
                {"since": "10.11.5", "until": "11.0.0", "parameters": {"a": 3}},
                {"since": "11.0.0", "parameters": {"new": 1}},
            ],
            "candidate": {"version": "newest", "parameters": {"b": 9}},
        }
    )

    def of(day: str) -> tuple[dict[str, Any], dict[str, Any]]:
        found = resolved(report_type, day).spec
        return tuple(found.side("mariadb", side).parameters for side in spec.SIDES)  # type: ignore[return-value]

    assert of("2023-08-14") == ({"a": 2, "b": 1, "old": 1}, {"a": 3, "b": 9})
    assert of("2025-02-04") == ({"a": 3, "b": 1}, {"a": 1, "b": 9, "new": 1})


@pytest.mark.parametrize(
    ("engine", "named"),
    [
        ({"candidate": {"version": "previous patch"}}, "relative to the candidate"),
        ({"candidate": {"version": "latest"}}, "'latest' is not a version"),
        ({"by_version": [{"parameters": {"a": 1}}]}, "neither `since` nor `until`"),
        (
            {"by_version": [{"since": "11.0.0", "until": "10.0.0"}]},
            "no version lies between since 11.0.0",
        ),
        ({"by_version": [{"since": "newest"}]}, "'newest' is not a version"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_read(
    engine: dict[str, Any], named: str
) -> None:
    """Long before a day on which it would be used."""
    raw = by_rule().model_dump(mode="json")
    raw["engines"]["mariadb"] |= engine
    with pytest.raises(ValueError, match=named):
        ReportSpec.model_validate(raw)
    with pytest.raises(SpecError, match=named):
        by_rule().with_overrides({"engines.mariadb": raw["engines"]["mariadb"]})


@given(st.dates(date(2017, 1, 1), date(2026, 1, 1)))
def test_no_side_is_ever_of_the_future_and_the_baseline_is_older(day: date) -> None:
    """On whatever day it is asked."""
    try:
        found = resolution.resolve(by_rule(), lambda engine: CALENDAR, day)
    except NoReleaseError:
        assert day < date(2023, 8, 14)
        return
    days = {release.version.text: release.day for release in CALENDAR}
    baseline, candidate = pair(found)
    assert days[baseline] <= day
    assert days[candidate] <= day
    assert versions.parse(baseline).series < versions.parse(candidate).series


def test_a_schedule_compares_two() -> None:
    """A version that is measured alone has nothing to be compared with."""
    alone = by_rule(
        sides="single",
        target="tidb_cloud",
        engines={"mariadb": {"baseline": {"version": "newest"}}},
        schedule={"runs": "on_release"},
    )
    with pytest.raises(SpecError, match="schedule: `sides: single` measures one version"):
        fit.check(alone, "here")


def test_a_schedule_needs_to_know_whose_releases_are_meant() -> None:
    """With `engine: auto` the machine would decide, long after the calendar was read."""
    rules = by_rule().engines["mariadb"].model_dump(mode="json")
    both = by_rule(
        engines={"tidb": rules, "mariadb": rules}, engine="auto", schedule={"runs": "on_release"}
    )
    with pytest.raises(SpecError, match="schedule: engine: auto does not say"):
        fit.check(both, "here")
    assert fit.check(both.with_overrides({"engine": "tidb"}), "here").schedule == both.schedule
