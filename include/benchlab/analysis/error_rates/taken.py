"""How many deployments campaigns with ``design: release`` take, by simulation.

Example:
    ``taken(assumed([3] * 4), looks=range(3, 9), rounds=8, threshold_pct=2).mean()`` is about 4.6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchlab.analysis.error_rates.deployments import Noise
from benchlab.analysis.verdict.decision import ALPHA
from benchlab.analysis.verdict.looks import LATE, LEAST_REACH, fractions_of, levels, reach
from benchlab.analysis.verdict.variances import Squares, estimated
from benchlab.arrays import Array, np, special

_DRAWS, _SEED = 400, 20280102


def taken(noise: Noise, looks: Sequence[int], rounds: int, threshold_pct: float) -> Array:
    """The last deployment of each workload in simulated campaigns in which nothing differs.

    Holm's adjustment is that for the first workload, for all of them, so that the figure is rather
    too large.

    Args:
        looks: after how many deployments, the last one after all of them.
        rounds: of all deployments together.

    Returns:
        Of shape (draws, workloads).
    """
    s2, tau2 = np.array(noise.rounds), np.array(noise.deployments)
    each, planned, nothing = rounds / looks[-1], looks[-1], np.zeros(len(noise.rounds))
    random = np.random.default_rng(_SEED)
    shape = (_DRAWS, len(s2))
    drawn = np.sqrt(tau2 + s2 / each) * random.standard_normal((planned, *shape))
    df = each - 1
    within = s2 * random.chisquare(df, (planned, *shape)) if df else np.zeros((planned, *shape))
    fractions = fractions_of(looks)
    both_levels = (
        levels(fractions, noise.level / len(s2)),
        levels(fractions, 2 * ALPHA, rho=LATE),
    )
    threshold, last = math.log1p(threshold_pct / 100), np.full(shape, planned)
    for place, look in enumerate(looks[:-1]):
        seen = drawn[:look]
        own = Squares(
            within=within[:look].sum(0),
            within_df=nothing + look * df,
            between=((seen - seen.mean(0)) ** 2).sum(0),
            between_df=nothing + look - 1,
            inverse_rounds=nothing + 1 / each,
        )
        found = estimated(
            *(own, noise.known, nothing + look), prior=noise.prior, earlier=noise.earlier
        )
        mean, error, df_of = abs(seen.mean(0)), np.sqrt(found.versions), found.versions_df
        of_change, of_equal = (
            special.stdtrit(df_of, 1 - each_of[place] / 2) * error for each_of in both_levels
        )
        changed = (mean > of_change) & (mean >= threshold)
        equal = mean + of_equal < threshold
        chance = reach((mean, error, df_of), place, fractions, (threshold_pct, ALPHA))
        leaves = changed | equal | (chance < LEAST_REACH)
        last = np.where(leaves & (last == planned), look, last)
    return last
