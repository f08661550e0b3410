"""The version rules ``previous measured`` and ``last good``: baselines by what was measured.

Reads nothing: what a report type has measured is passed in, as its releases are
(campaign/measured_versions.py reads the store).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple

from benchlab.errors import NoReleaseError
from benchlab.language import Message, message
from benchlab.plan import versions
from benchlab.plan.fields.builds import Build, Builds
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.versions import LAST_GOOD, Release


@dataclass(frozen=True)
class MeasuredVersion:
    """A version that a complete campaign measured as its candidate, against another one.

    Attributes:
        version, builds: the candidate's.
        by: the campaign, for people.
        on: the day as of which the campaign's versions were chosen, UTC.
        is_good: whether no workload was called a regression, in throughput or latency, or may have
            lost much unseen. Costs a comparison, so it is called only for versions that could be
            the baseline.
        deployable: whether it can be deployed again; a build that was not kept cannot. Called only
            for versions that could be the baseline.
    """

    version: str
    by: str
    on: date
    is_good: Callable[[], bool]
    deployable: Callable[[], bool] = lambda: True
    builds: Builds = field(default_factory=dict)


class Named(NamedTuple):
    """A version, with the builds that stand in place of its own."""

    version: str
    builds: Builds


Measured = Callable[[str], Iterable[MeasuredVersion]]
"""Takes the name of an engine; gives what was measured with it, the latest first."""


def nothing(_engine: str) -> tuple[MeasuredVersion, ...]:
    """The provider of a report type that has measured nothing."""
    return ()


def resolve(
    rule: str,
    measured: Iterable[MeasuredVersion],
    releases: Sequence[Release],
    on: date,
    candidate: SideSpec,
) -> tuple[Named, Message]:
    """The version that a rule names on a day, and a clause that says why.

    ``previous measured`` is the version of the newest campaign before that day. ``last good`` is
    that of the newest good one in the candidate's series (a nightly build of v9.0.0 and a beta of
    it are of one series). The candidate itself, and versions that cannot be deployed
    again, are passed over. Without such a campaign it is the newest release before the candidate.

    Example:
        ``resolve("last good", measured("tidb"), releases, on, candidate)`` is
        ``(Named("v8.5.6", {}), message("rule-measured", campaign="c7"))``.

    Args:
        measured: the latest first.
        releases: of the engine.

    Raises:
        NoReleaseError: no campaign fits, and there is no release before the candidate.
    """
    wanted = versions.parse(candidate.version)
    for found in measured:
        if found.on >= on or _is_same(found, candidate):
            continue
        series = versions.parse(found.version).series
        if rule == LAST_GOOD and not (series == wanted.series and found.is_good()):
            continue
        if found.deployable():
            return Named(found.version, found.builds), message("rule-measured", campaign=found.by)
    release = versions.newest_before(
        [known for known in releases if known.day <= on], candidate.label
    )
    missing = message("rule-none-measured")
    if rule == LAST_GOOD:
        missing = message("rule-none-good", series=".".join(map(str, wanted.series)))
    if release is None:
        raise NoReleaseError(
            f"{rule} of {candidate.label} on {on}: {missing}, and the calendar has no release "
            "before it; name a version"
        )
    day = str(release.day)
    why = message("rule-newest-before", label=candidate.label, day=day, missing=missing)
    return Named(release.version.text, {}), why


def _is_same(found: MeasuredVersion, candidate: SideSpec) -> bool:
    """Whether the candidate is what was measured: the same version and the same files."""
    return (
        found.version == candidate.version
        and found.builds.keys() == candidate.builds.keys()
        and all(_is_one(build, candidate.builds[name]) for name, build in found.builds.items())
    )


def _is_one(one: Build, other: Build) -> bool:
    # A build that is not made or fetched yet has no hash, but may have a commit.
    if one.sha256 and other.sha256:
        return one.sha256 == other.sha256
    return one.identity == other.identity
