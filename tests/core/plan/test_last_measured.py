"""Baselines by what was measured: of the candidate's line, good, deployable, and of before."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from benchlab.errors import NoReleaseError
from benchlab.plan import last_measured, versions
from benchlab.plan.fields.builds import Build
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.last_measured import MeasuredVersion
from benchlab.plan.versions import Release

DAY = date(2026, 7, 6)
RELEASES = (
    Release(versions.parse("v8.5.6"), date(2026, 4, 14), "patch"),
    Release(versions.parse("v8.5.7"), date(2026, 7, 9), "patch"),
)
CANDIDATE = SideSpec(version="v9.0.0-beta.2.pre-7")


def measured(
    version: str, weeks_ago: int = 1, *, good: bool = True, deployable: bool = True
) -> MeasuredVersion:
    """A campaign of some weeks ago."""
    on = DAY - timedelta(weeks=weeks_ago)
    return MeasuredVersion(version, f"c-{version}", on, lambda: good, lambda: deployable)


def named(rule: str, *known: MeasuredVersion) -> tuple[str, str]:
    """The version, and why."""
    found, why = last_measured.resolve(rule, known, RELEASES, DAY, CANDIDATE)
    return found.version, str(why)


def test_last_good_is_of_the_candidates_series_and_no_regression() -> None:
    """The latest that fits, with its campaign; a nightly build and a beta are of one series."""
    known = (
        measured("v8.5.6", 1),
        measured("v9.0.0-beta.2.pre-6", 2, good=False),
        measured("v9.0.0-beta.2.pre-5", 3, deployable=False),
        measured("v9.0.0-beta.1", 4),
        measured("v9.0.0-alpha", 5),
    )
    assert named("last good", *known) == ("v9.0.0-beta.1", "measured by c-v9.0.0-beta.1")


def test_previous_measured_is_the_latest_whatever_it_showed() -> None:
    """Of any series, regression or not; only a build that is gone cannot be deployed again."""
    gone = measured("v9.0.0-beta.2.pre-6", 1, deployable=False)
    known = (gone, measured("v8.5.6", 2, good=False), measured("v9.0.0-beta.1", 3))
    assert named("previous measured", *known)[0] == "v8.5.6"


@pytest.mark.parametrize("rule", versions.MEASURED)
def test_neither_the_candidate_nor_what_came_later_is_a_baseline(rule: str) -> None:
    """A repeated run, or a backfill of a past day, finds what was known then."""
    known = (
        measured("v9.0.0-beta.2.pre-9", -1),
        measured("v9.0.0-beta.2.pre-8", 0),
        measured(CANDIDATE.version, 1),
        measured("v9.0.0-beta.2.pre-6", 2),
    )
    assert named(rule, *known)[0] == "v9.0.0-beta.2.pre-6"


@pytest.mark.parametrize("rule", versions.MEASURED)
def test_without_a_campaign_the_newest_release_before_stands_in(rule: str) -> None:
    """Of that day, and the note says why; without one either, the rule is refused."""
    version, why = named(rule)
    assert version == "v8.5.6"
    assert why.startswith(f"the newest release before {CANDIDATE.version}, released 2026-04-14: ")
    with pytest.raises(NoReleaseError, match=f"{rule} of .* no release before it; name a version"):
        last_measured.resolve(rule, (), RELEASES, date(2026, 1, 1), CANDIDATE)


def test_what_cannot_be_the_baseline_is_not_compared() -> None:
    """Comparing a campaign reads all of its trials."""

    def not_asked() -> bool:
        raise AssertionError

    other = MeasuredVersion("v8.5.6", "c1", DAY - timedelta(1), not_asked)
    assert named("last good", other)[0] == "v8.5.6"
    assert named("previous measured", other)[0] == "v8.5.6"


def test_a_commit_that_was_measured_is_no_baseline_of_itself() -> None:
    """It has no hash before it is built or found again; the commit says that it is the same."""
    wanted = Build(source="https://builds/{commit}.tar.gz", commit="5c91a2b")
    built = wanted.model_copy(update={"sha256": 64 * "a"})
    candidate = SideSpec(version="v9.0.0-beta.2.pre-7", builds={"tidb": wanted})
    known = MeasuredVersion(
        candidate.version, "c", DAY - timedelta(7), lambda: True, builds={"tidb": built}
    )
    found, _ = last_measured.resolve("last good", [known], RELEASES, DAY, candidate)
    assert found.version == "v8.5.6"


def test_last_weeks_nightly_is_another_one_though_both_have_one_name() -> None:
    """The mirror calls each by the same name; what was measured comes back with its files."""

    def nightly(letter: str) -> SideSpec:
        builds = {"tidb": Build(source="https://mirror/tidb.tar.gz", sha256=64 * letter)}
        return SideSpec(version="v9.0.0-beta.2.pre-nightly", builds=builds)

    today, before = nightly("a"), nightly("b")
    known = [
        MeasuredVersion(one.version, "c", DAY - timedelta(weeks), lambda: True, builds=one.builds)
        for weeks, one in enumerate((today, before), 1)
    ]
    found, _ = last_measured.resolve("last good", known, RELEASES, DAY, today)
    assert (found.version, found.builds) == (before.version, before.builds)
