"""Versions are read as they are written; rules name those that were current on a day."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchlab import engines
from benchlab.errors import NoReleaseError, SpecError
from benchlab.home import find
from benchlab.plan import releases, versions
from benchlab.plan.versions import OF_THE_DAY, PREVIOUS, Release, ReleaseKind

TIDB = releases.load(find().configs / "releases.csv").owned(engines.by_name()["tidb"].owns)
DAY_OF = {release.version.text: release.day for release in TIDB}
# Candidates and baselines of published sysbench and TPC-C reports that name both exactly.
PUBLISHED = [
    ("v3.0.0", "v2.1.13"),
    ("v5.1.0", "v5.0.2"),
    ("v5.2.0", "v5.1.1"),
    ("v5.3.0", "v5.2.2"),
    ("v5.4.0", "v5.3.0"),
    ("v6.0.0", "v5.4.0"),
    ("v6.1.0", "v6.0.0"),
    ("v6.2.0", "v6.1.0"),
]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("v6.5.0", (6, 5, 0)),
        ("v10.0.12", (10, 0, 12)),
        ("10.11.5", (10, 11, 5)),
        ("v2.1.0-rc.2", (2, 1, 0)),
        ("v6.0.0-DMR", (6, 0, 0)),
    ],
)
def test_a_version_is_read_as_numbers(text: str, numbers: tuple[int, int, int]) -> None:
    """10 is more than 9, with or without a leading v; a pre-release has the release's numbers."""
    assert versions.parse(text).numbers == numbers


@pytest.mark.parametrize(
    "text",
    [
        *("", "v", "6", "6.5", "v6.5", "6.5.0.1", "v6.5.0-", " 6.5.0", "6.5.0\n", "V6.5.0"),
        *("6.5.x", "-1.0.0", "6.5.0-rc/2", "6.5.0-rc 2", "../6.5.0", "99999.0.0", "١.٢.٣"),
        *("v06.5.0", "v6.05.0", "6.5.00"),
    ],
)
def test_what_is_no_version_is_refused_with_an_example(text: str) -> None:
    """The message quotes what was found and shows how a version is written."""
    with pytest.raises(SpecError) as caught:
        versions.parse(text)
    assert repr(text) in str(caught.value)
    assert "v6.5.0" in str(caught.value)


@given(st.text())
def test_any_text_is_a_version_or_refused(text: str) -> None:
    """A version keeps the text that it was written in."""
    with contextlib.suppress(SpecError):
        assert versions.parse(text).text == text


# ---------------------------------------------------------------- rules


def named(
    rule: str, on: date, candidate: str | None = None, known: Sequence[Release] = TIDB
) -> str:
    """The version that a rule names."""
    relative_to = versions.parse(candidate) if candidate else None
    return versions.resolve(versions.parse_rule(rule), known, on, relative_to).version.text


@pytest.mark.parametrize(("candidate", "baseline"), PUBLISHED)
def test_the_baseline_rule_takes_what_was_published(candidate: str, baseline: str) -> None:
    """On the day of its release, and the candidate is the newest then."""
    day = DAY_OF[candidate]
    assert named("newest", day) == named(OF_THE_DAY, day) == candidate
    assert named("previous series", day, candidate) == baseline


def test_the_baseline_rule_takes_the_published_series_for_v5_0() -> None:
    """The page says v4.0 without a patch number."""
    assert named("previous series", DAY_OF["v5.0.0"], "v5.0.0") == "v4.0.12"


def test_the_baseline_rule_takes_another_series_than_was_published_for_v4_0() -> None:
    """That page compares with v3.0; the series before is v3.1, released six weeks earlier."""
    assert named("previous series", DAY_OF["v4.0.0"], "v4.0.0") == "v3.1.1"


@pytest.mark.parametrize(
    ("rule", "day", "candidate", "expected"),
    [
        ("newest", "2022-12-28", None, "v6.4.0"),
        ("newest", "2022-12-29", None, "v6.5.0"),
        # v5.0.4 and v4.0.15 came out last, with v5.1.2; v5.2.1 is higher.
        ("newest", "2021-09-27", None, "v5.2.1"),
        ("newest LTS", "2022-09-30", None, "v6.1.0"),
        ("newest DMR", "2023-01-01", None, "v6.4.0"),
        ("newest patch", "2023-01-01", None, "v6.1.3"),
        ("newest 6.1", "2023-01-01", None, "v6.1.3"),
        ("newest 5.0", "2021-09-27", None, "v5.0.4"),
        (OF_THE_DAY, "2021-09-27", None, "v5.1.2"),
        (OF_THE_DAY, "2021-09-28", None, "v5.1.2"),
        ("previous patch", "2023-01-01", "v6.1.3", "v6.1.2"),
        ("previous patch", "2023-01-01", "v6.1.1", "v6.1.0"),
        ("previous LTS", "2022-12-29", "v6.5.0", "v6.1.3"),
        ("previous LTS", "2022-11-17", "v6.4.0", "v6.1.2"),
        ("previous LTS", "2022-11-17", "v6.1.2", "v5.4.3"),
        ("previous series", "2024-12-19", "v8.5.0", "v8.4.0"),
        ("previous", "2026-07-09", "v8.5.7", "v8.5.6"),
        ("previous", "2025-09-04", "v7.5.7", "v7.5.6"),
        ("previous", "2024-12-19", "v8.5.0", "v8.1.1"),
        ("previous", "2024-11-11", "v8.4.0", "v8.1.1"),
        # Before there were LTS series.
        ("previous", "2021-04-07", "v5.0.0", "v4.0.12"),
        # A build of a series to come.
        ("previous", "2026-07-09", "v9.0.0-beta.2.pre", "v8.5.7"),
    ],
)
def test_each_rule_as_of_a_day(rule: str, day: str, candidate: str | None, expected: str) -> None:
    """What came out later is not known yet."""
    assert named(rule, date.fromisoformat(day), candidate) == expected


def test_of_several_releases_of_a_day_each_has_its_turn() -> None:
    """From the highest version on; a moment at which none came out has the first."""
    rule, day = versions.parse_rule(OF_THE_DAY), date(2021, 12, 3)
    found = [
        versions.resolve(rule, TIDB, day, None, ("LTS patch",), nth).version.text
        for nth in (0, 1, 60)
    ]
    assert found == ["v5.2.3", "v5.1.3", "v5.2.3"]


@pytest.mark.parametrize(
    ("rule", "day", "candidate", "why"),
    [
        ("newest", date(2015, 1, 1), None, "it has no release until then"),
        ("previous series", DAY_OF["v1.0.0"], "v1.0.0", "its newest release then is v1.0.0"),
        ("newest 9.9", date(2022, 1, 1), None, "its newest release then is v5.3.0"),
        ("previous patch", DAY_OF["v6.5.0"], "v6.5.0", "previous patch of v6.5.0 on 2022-12-29"),
    ],
)
def test_a_rule_that_names_nothing_says_so(
    rule: str, day: date, candidate: str | None, why: str
) -> None:
    """With the day, with what there is, and with what to do."""
    with pytest.raises(NoReleaseError) as refused:
        named(rule, day, candidate)
    for part in (rule, str(day), why, "configs/releases.csv"):
        assert part in str(refused.value)


@pytest.mark.parametrize(
    "text", ["latest", "newest  LTS", "newest 6", "newest 06.5", "previous 6.5", "Newest", ""]
)
def test_what_is_no_rule_is_refused_with_those_there_are(text: str) -> None:
    """It is not a version either."""
    assert not versions.is_rule(text)
    with pytest.raises(SpecError, match=r"newest LTS, newest 6\.5, release of the day, previous"):
        versions.parse_rule(text)


def test_a_baseline_rule_needs_a_candidate() -> None:
    """It is relative to one."""
    with pytest.raises(SpecError, match="relative to a candidate"):
        named("previous series", date(2022, 1, 1))


# ---------------------------------------------------------------- any calendar

FEW = settings(max_examples=50)
small = st.integers(0, 4)
days = st.integers(0, 20).map(lambda n: date(2020, 1, 1) + timedelta(n))


@st.composite
def releases_of_one_engine(draw: st.DrawFn) -> list[Release]:
    """Each version once, on any day, of any kind that it may be."""
    kinds: tuple[ReleaseKind, ...] = ("GA", "LTS", "DMR")
    found = []
    for numbers in draw(st.lists(st.tuples(small, small, small), unique=True, max_size=25)):
        kind: ReleaseKind = "patch" if numbers[2] else draw(st.sampled_from(kinds))
        version = versions.parse("v" + ".".join(map(str, numbers)))
        found.append(Release(version, draw(days), kind))
    return found


@FEW
@given(releases_of_one_engine(), days, st.sampled_from(("newest", "newest LTS", OF_THE_DAY)))
def test_no_rule_knows_the_future(known: list[Release], on: date, rule: str) -> None:
    """And later releases do not change what it names."""
    past = [release for release in known if release.day <= on]
    try:
        found = versions.resolve(versions.parse_rule(rule), known, on)
    except NoReleaseError:
        assert rule == "newest LTS" or not past
        return
    assert found in past
    assert found == versions.resolve(versions.parse_rule(rule), past, on)


@FEW
@given(releases_of_one_engine(), days, st.sampled_from(PREVIOUS))
def test_a_baseline_is_older_than_its_candidate(known: list[Release], on: date, rule: str) -> None:
    """Never the candidate itself, whatever else has come out."""
    past = [release for release in known if release.day <= on]
    assume(past)
    for candidate in past:
        with contextlib.suppress(NoReleaseError):
            found = versions.resolve(versions.parse_rule(rule), known, on, candidate.version)
            assert found in past
            assert found.version.numbers < candidate.version.numbers


def test_the_newest_of_each_series_is_its_newest_patch() -> None:
    """The newest series first; a pre-release is none."""
    newest = [release.version.text for release in versions.newest_of_series(TIDB)]
    assert newest.index("v8.5.7") < newest.index("v7.5.7") < newest.index("v6.5.12")
    assert len({versions.parse(text).series for text in newest}) == len(newest)
    assert not any(versions.parse(text).is_prerelease for text in newest)


@FEW
@given(releases_of_one_engine(), days)
def test_a_patch_of_an_old_series_is_not_the_newest(known: list[Release], on: date) -> None:
    """It has its day, and the newest stays what it was."""
    past = [release for release in known if release.day <= on]
    assume(past)
    newest = versions.resolve(versions.parse_rule("newest"), known, on)
    major, minor = newest.version.series
    assume(minor > 0)
    late = Release(versions.parse(f"v{major}.{minor - 1}.99"), on, "patch")
    assert versions.resolve(versions.parse_rule("newest"), [*known, late], on) == newest
