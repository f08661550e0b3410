"""Builds as data: what tells them apart."""

from __future__ import annotations

from datetime import date

import pytest

from benchlab.campaign import overrides
from benchlab.errors import NoReleaseError, SpecError
from benchlab.plan import resolution, versions
from benchlab.plan.fields.builds import Build, Nightly, label
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.versions import Release, parse
from tests.builders import plans

NAME = "v9.0.0-beta.2.pre-nightly"


def nightly(day: str, tidb: str, tikv: str) -> SideSpec:
    """A side with the nightly of a day."""
    packages = {"tidb": tidb * 64, "tikv": tikv * 64}
    made = {name: Build(sha256=sha, released=day) for name, sha in packages.items()}
    return SideSpec(version=NAME, builds=made)


def test_two_builds_of_one_name_are_two() -> None:
    """Also where only one of several components is another one."""
    labels = [
        SideSpec(version="v8.5.7").label,
        SideSpec(version="v8.5.7", builds={"tidb": Build(sha256="a" * 64)}).label,
        SideSpec(version="v8.5.7", builds={"tidb": Build(sha256="b" * 64)}).label,
        nightly("2026-11-19", "a", "a").label,
        nightly("2026-11-20", "a", "a").label,
        nightly("2026-11-20", "a", "b").label,
    ]
    assert len(set(labels)) == len(labels)
    assert len({versions.order(text) for text in labels}) == len(labels)
    assert labels[:2] == ["v8.5.7", "v8.5.7@sha256-aaaaaaa"]


def test_what_looks_like_a_commit_is_one() -> None:
    """The hash of a file, or of where it comes from, is called that."""
    known = Build(sha256="a" * 64, git_hash="5c91a2b" + "0" * 33)
    assert label("v8.5.7", {"tidb": known}) == "v8.5.7@5c91a2b"
    assert label("v8.5.7", {"tidb": Build(sha256="a" * 64)}) == "v8.5.7@sha256-aaaaaaa"
    assert label("v8.5.7", {"tidb": Build(source="own")}).startswith("v8.5.7@source-")


def test_builds_stand_in_order_beside_releases() -> None:
    """A build is after its release, a nightly after those before it, and before its release."""
    in_order = [
        "v8.5.6",
        "v8.5.7",
        "v8.5.7-20260101-abcdef0",
        "v8.5.7@sha256-aaaaaaa",
        nightly("2026-11-09", "f", "f").label,
        nightly("2026-11-20", "a", "a").label,
        "v9.0.0",
    ]
    assert sorted(sorted(in_order), key=versions.order) == in_order


def test_a_side_without_builds_is_written_as_before() -> None:
    """A plan and a campaign say only what was chosen."""
    assert "builds" not in SideSpec(version="v8.5.7").model_dump()
    side = SideSpec(version="v8.5.7", builds={"tidb": Build(sha256="a" * 64)})
    assert side.model_dump()["builds"] == {"tidb": {"sha256": "a" * 64}}
    assert SideSpec.model_validate(side.model_dump(mode="json")) == side
    assert label("v8.5.7", {}) == "v8.5.7"


def by_nightly(**candidate: object) -> ReportSpec:
    """The nightly against a release."""
    sides = {"baseline": {"version": "v8.5.7"}, "candidate": {"version": "nightly", **candidate}}
    return plans.fleet_spec(engines={"tidb": sides})


NOW = Nightly(NAME, date(2026, 11, 20), {"tidb": Build(sha256="a" * 64, released="2026-11-20")})


def test_the_nightly_is_pinned_by_the_hashes_of_its_packages() -> None:
    """With its real name; a build that the report type names replaces the nightly's own."""
    found = resolution.resolve(
        by_nightly(), lambda engine: (), date(2026, 11, 20), nightly_of=lambda engine, on: NOW
    )
    side = found.spec.side("tidb", "candidate")
    assert (side.version, side.builds) == (NAME, NOW.builds)
    (note,) = map(str, found.notes)
    assert (
        note
        == f"candidate: nightly on 2026-11-20 is {NAME}@2026-11-20-sha256-aaaaaaa, of 2026-11-20"
    )
    own = by_nightly(builds={"tidb": {"source": "t.tar.gz"}})
    found = resolution.resolve(
        own, lambda engine: (), date(2026, 11, 20), nightly_of=lambda engine, on: NOW
    )
    assert found.spec.side("tidb", "candidate").builds == {"tidb": Build(source="t.tar.gz")}


def test_where_no_nightly_can_be_asked_for_there_is_no_campaign() -> None:
    """As where the calendar has no release, so that a backfill goes on."""
    with pytest.raises(NoReleaseError, match=r"tidb\.candidate\.version: nightly on 2026") as error:
        resolution.resolve(by_nightly(), lambda engine: (), date(2026, 11, 20))
    assert error.value.side == "candidate"


def resolved(spec: ReportSpec, now: Nightly = NOW) -> ReportSpec:
    """As of the nightly's day."""
    return resolution.resolve(
        spec, lambda engine: RELEASES, now.day, nightly_of=lambda engine, on: now
    ).spec


RELEASES = (Release(parse("v8.5.7"), date(2026, 7, 9), "patch"),)


def test_a_nightly_by_its_real_name_has_its_packages_too() -> None:
    """Every nightly has that name, so that one would be measured for another."""
    named = by_nightly(version=NAME)
    assert resolved(named).side("tidb", "candidate").builds == NOW.builds
    later = Nightly("v9.1.0-alpha-nightly", NOW.day, NOW.builds)
    with pytest.raises(NoReleaseError, match=r"nightly is v9\.1\.0-alpha-nightly now"):
        resolved(named, later)


def test_a_build_of_a_release_comes_after_the_release() -> None:
    """What is good before a branch of v8.5.7 is v8.5.7 itself, not v8.5.6."""
    sides = {
        "baseline": {"version": "last good"},
        "candidate": {"version": "v8.5.7", "builds": {"tidb": {"sha256": "a" * 64}}},
    }
    found = resolved(plans.fleet_spec(engines={"tidb": sides}))
    assert found.side("tidb", "baseline").label == "v8.5.7"


def test_against_itself_a_release_needs_no_nightly() -> None:
    """The candidate's version is not used, and may be one that nobody can name here."""
    found = resolution.resolve(
        by_nightly().with_overrides({"sides": "same"}), lambda engine: RELEASES, NOW.day
    )
    assert found.spec.side("tidb", "candidate").version == "v8.5.7"


BUILT = {"source": "s3://builds/tidb.tar.gz", "sha256": "a" * 64}
MADE = {"command": ["sh", "-c", "make", "OUT={output}", "{commit}"], "commit": "a" * 40}


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (BUILT, {"source": BUILT["source"]}),
        (MADE, {**MADE, "command": ["sh", "-c", "make OUT={output}", "{commit}"]}),
    ],
)
def test_a_form_can_neither_drop_a_hash_nor_join_a_command_s_words(
    written: dict[str, object], sent: dict[str, object]
) -> None:
    """Another program would run on the machine."""
    spec = plans.fleet_spec(
        engines={
            "tidb": {
                "baseline": {"version": "v8.5.6"},
                "candidate": {"version": "v8.5.7", "builds": {"tidb": written}},
            }
        }
    )
    with pytest.raises(
        SpecError, match=r"builds: .* can be changed in the report type's file only"
    ):
        overrides.override(spec, {"engines.tidb.candidate.builds": {"tidb": sent}})
