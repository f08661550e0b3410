"""A candidate and an unmeasured baseline that come together are suspected, and told apart."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from benchlab.analysis.trend import change_points
from benchlab.analysis.trend.chain import Ratio, chain
from benchlab.analysis.trend.change_points import Suspect
from tests.core.analysis.test_change_points import NOISE, drawn, patched


def found(ratios: list[Ratio]) -> tuple[tuple[str, ...], tuple[Suspect, ...]]:
    """The candidates of change points, and the suspects, with a threshold of 2 %."""
    made = chain(ratios)
    changes = change_points.find(made, 2.0, NOISE)
    names = tuple(change.candidate for change in changes)
    return names, change_points.find_suspects(made, changes, 2.0, NOISE)


def linked(ratios: list[Ratio], suspect: Suspect, log_ratio: float) -> list[Ratio]:
    """With the campaign that a suspect proposes, from the day on which the candidate came."""
    first = next(ratio for ratio in ratios if ratio.campaign == suspect.campaign)
    return [
        *ratios,
        dataclasses.replace(
            first,
            campaign="linking",
            at=first.at - timedelta(days=1),
            baseline=suspect.linking,
            candidate=suspect.candidate,
            log_ratio=log_ratio,
        ),
    ]


@pytest.mark.parametrize(("patch", "candidate"), [(0.0, -0.05), (0.05, 0.0)])
def test_whose_change_it_is_is_told_by_the_linking_campaign(patch: float, candidate: float) -> None:
    """Both look alike before it; after it only the candidate's own change is a change point."""
    ratios = patched(patch, 24, candidate=candidate)
    changes, (suspect,) = found(ratios)
    assert changes == ()
    assert (suspect.previous, suspect.candidate) == ("v7.5.3", "v7.5.4")
    assert (suspect.baseline, suspect.bridged_from) == ("v7.1.6", "v7.1.5")
    assert suspect.linking == "v7.1.5"
    assert suspect.ci95[0] < -0.05 < suspect.ci95[1]
    changes, left = found(linked(ratios, suspect, candidate))
    assert changes == (("v7.5.4",) if candidate else ())
    assert left == ()


@pytest.mark.parametrize("at", [20, 33])
def test_a_patch_that_comes_alone_is_no_suspect(at: int) -> None:
    """A candidate that met both baselines tells their change apart by itself."""
    assert found(patched(0.05, at)) == ((), ())


@pytest.mark.parametrize("name", ["nothing", "three changes of 5 %", "drift of -0.5 % a release"])
def test_where_no_patch_changes_nothing_is_suspected_beside_true_changes(name: str) -> None:
    """Two years of campaigns whose baselines change too, but are as fast as before."""
    made, years = drawn(name, 3)
    changes = change_points.find(made, 2.0, years.noise_sd)
    places = {
        suspect.index for suspect in change_points.find_suspects(made, changes, 2.0, years.noise_sd)
    }
    assert places <= set(years.changes)
