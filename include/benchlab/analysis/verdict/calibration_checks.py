"""Checks of A/A campaigns: a row for each workload and kind of metric that they calibrate.

The decision rule takes their variance about zero as it is; these columns say whether they were a
good choice. ``configs/quality/campaign.yaml`` bounds them, and a failure is only noted.

======================  ======================================================================
column                  what it says
======================  ======================================================================
``aa_campaigns``        how many have two complete rounds or more of it
``aa_mean_p``           p value that their mean is zero, as it should be (Student 1908)
``round_variance_p``    p value that this campaign's rounds vary as theirs: an F test (Fisher),
                        two-sided; a quieter or a noisier period both show
``newest_age_days``     from the start of the newest of them to that of this campaign
======================  ======================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import special
from benchlab.plan.metric import COUNT, kinds

DAY = timedelta(days=1)
LEAST_CAMPAIGNS = 3

Row = tuple[str, str, dict[str, float | None]]
"""Workload, kind of metric, and its columns."""
RoundMeans = Mapping[tuple[str, str, frozenset[int], str], Sequence[float]]
"""The mean log ratio of each round, by workload, metric, thread counts and kind of metric."""


def round_means(workloads: Sequence[Rounds]) -> RoundMeans:
    """The mean log ratio of each complete round; a workload with a single one is left out."""
    found = {}
    for rounds in workloads:
        for kind in _kinds(rounds):
            ratios = rounds.log_ratios(kind)
            if len(ratios) > 1:
                found[_key(rounds, kind)] = ratios.mean(axis=1).tolist()
    return found


def calibration_checks(
    workloads: Sequence[Rounds],
    started_at: datetime,
    aa_campaigns: Mapping[datetime, RoundMeans],
) -> Iterator[Row]:
    """One row for each workload and kind of metric that at least one A/A campaign measured.

    Counts have none.

    Args:
        workloads: the figures of the campaign that is calibrated, and ``started_at``: its start.
        aa_campaigns: the :func:`round_means` of those that calibrate it, by their start.

    Example:
        ``list(calibration_checks(rounds, start, {}))`` is empty: nothing calibrates it.
    """
    for rounds in workloads:
        for kind in _kinds(rounds):
            key = _key(rounds, kind)
            theirs = {began: means[key] for began, means in aa_campaigns.items() if key in means}
            if theirs:
                own = rounds.log_ratios(kind).mean(axis=1).tolist()
                yield (
                    rounds.workload,
                    kind,
                    {
                        "aa_campaigns": float(len(theirs)),
                        "aa_mean_p": _mean_p([math.fsum(d) / len(d) for d in theirs.values()]),
                        "round_variance_p": _variance_p(own, list(theirs.values())),
                        "newest_age_days": abs(started_at - max(theirs)) / DAY,
                    },
                )


def _kinds(rounds: Rounds) -> tuple[str, ...]:
    """What is looked at: counts are too many for a row each, and vary little with the period."""
    return kinds(metric for metric in rounds.metrics if metric.family != COUNT)


def _key(rounds: Rounds, kind: str) -> tuple[str, str, frozenset[int], str]:
    return rounds.workload, rounds.metric, frozenset(rounds.threads), kind


def _mean_p(means: Sequence[float]) -> float | None:
    """Two-sided p value of the t test of a mean of zero; None with fewer than three."""
    if len(means) < LEAST_CAMPAIGNS:
        return None
    variance = _squares(means) / (len(means) - 1)
    if not variance:
        return None
    t = math.fsum(means) / len(means) / math.sqrt(variance / len(means))
    return float(2 * special.stdtr(len(means) - 1, -abs(t)))


def _variance_p(own: Sequence[float], theirs: Sequence[Sequence[float]]) -> float | None:
    """Two-sided p value of equal variances of rounds; None where one cannot be estimated."""
    df = len(own) - 1, sum(len(rounds) - 1 for rounds in theirs)
    pooled = math.fsum(map(_squares, theirs)) / df[1]
    if df[0] < 1 or not pooled:
        return None
    ratio = _squares(own) / df[0] / pooled
    return 2 * min(float(special.fdtr(*df, ratio)), float(special.fdtrc(*df, ratio)))


def _squares(values: Sequence[float]) -> float:
    """The sum of squared deviations from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)
