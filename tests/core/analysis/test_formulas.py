"""The formulas of the analysis against scipy's own, or against their definition written out."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from benchlab.analysis.error_rates.deployments import long_run_variance
from benchlab.analysis.error_rates.resampling import share_ci95
from benchlab.analysis.trend.chain import chain
from benchlab.analysis.trend.change_points import propose
from benchlab.analysis.trend.step_model import StepModel
from benchlab.analysis.verdict.by_side import CHANCE, error_p_values, one_sided
from benchlab.analysis.verdict.decision import moved
from benchlab.analysis.verdict.variances import Estimate, Squares, Variance, holm, percent
from benchlab.analysis.verdict.variances import estimated as estimated_variances
from tests.core.analysis.test_chain import ratio
from tools.study.bounds import Share

SEED = 20
BASELINE, CANDIDATE = np.exp(np.random.default_rng(SEED).normal(0, 0.02, (2, 6))) * [
    [1000.0],
    [970.0],
]
RATIOS = np.log(CANDIDATE / BASELINE)


@pytest.fixture
def random() -> np.random.Generator:
    """A test's own, so that its numbers do not depend on which tests ran before."""
    return np.random.default_rng(SEED)


def estimated(values: np.ndarray) -> Estimate:
    """The mean of a sample, with the variance of that mean."""
    count = len(values)
    return Estimate(values.mean(), Variance(values.var(ddof=1) / count, count - 1))


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_and_p_value_are_those_of_the_paired_t_test(confidence: float) -> None:
    """Student (1908), on the logarithms of both sides."""
    reference = stats.ttest_rel(np.log(CANDIDATE), np.log(BASELINE))
    found = estimated(RATIOS)
    assert found.p_value == pytest.approx(reference.pvalue)
    assert found.interval(confidence) == pytest.approx(
        tuple(reference.confidence_interval(confidence))
    )


def test_holm_is_the_closed_test_of_bonferronis() -> None:
    """A hypothesis is rejected where every intersection with it is (Marcus and others 1976)."""
    p = dict(zip("abcde", [0.011, 0.2, 0.003, 0.03, 0.9], strict=True))
    subsets = [s for size in range(1, 6) for s in itertools.combinations(p, size)]
    for name, adjusted in holm(p).items():
        closed = max(len(s) * min(p[other] for other in s) for s in subsets if name in s)
        assert adjusted == pytest.approx(min(1.0, closed))


@pytest.mark.parametrize("limit", [0.02, 0.03, 0.04, 0.05, 0.06, 0.08])
def test_the_90_interval_lies_inside_where_both_one_sided_tests_reject(limit: float) -> None:
    """Two one-sided tests at 5 % (Schuirmann 1987)."""
    low, high = estimated(RATIOS).interval(0.90)
    above = stats.ttest_1samp(RATIOS, -limit, alternative="greater").pvalue
    below = stats.ttest_1samp(RATIOS, limit, alternative="less").pvalue
    assert (low > -limit and high < limit) == (max(above, below) < 0.05)


def test_a_sum_of_variances_has_welchs_degrees_of_freedom(random: np.random.Generator) -> None:
    """Two samples of unlike sizes and variances (Welch 1947; Satterthwaite 1946)."""
    first, second = random.normal(0.1, 1.0, 5), random.normal(0.0, 4.0, 12)
    reference = stats.ttest_ind(first, second, equal_var=False)
    total = estimated(first).variance + estimated(second).variance
    found = Estimate(first.mean() - second.mean(), total)
    assert (total.df, found.p_value) == pytest.approx((reference.df, reference.pvalue))
    assert found.interval(0.95) == pytest.approx(tuple(reference.confidence_interval(0.95)))


@pytest.mark.parametrize(("hits", "count"), [(0, 20), (3, 20), (10, 20), (20, 20), (37, 2000)])
def test_the_intervals_of_a_share(hits: int, count: int) -> None:
    """Wilson (1927) in the study, and Clopper and Pearson (1934) in a calibration."""
    reference = stats.binomtest(hits, count)
    wilson, exact = (reference.proportion_ci(method=name) for name in ("wilson", "exact"))
    assert Share(hits, count).interval == pytest.approx((wilson.low, wilson.high), abs=1e-12)
    assert share_ci95(hits, count) == pytest.approx((exact.low, exact.high), abs=1e-12)


@pytest.mark.parametrize("few", [1, 2, 5, 10, 40])
def test_counts_of_both_sides_are_compared_by_the_sign_test(few: int) -> None:
    """One-sided from just where the binomial test says so, and not before."""
    for many in range(few, few + 60):
        p = stats.binomtest(few, few + many, 0.5).pvalue
        found = one_sided({"baseline": few, "candidate": many})
        assert (found is not None) == (p < CHANCE), many


def test_batch_means_are_the_mean_square_between_batches(random: np.random.Generator) -> None:
    """That of a one-way analysis of variance: F times the mean square within."""
    series = random.normal(1000.0, 30.0, 144)
    batches = series.reshape(12, 12)
    within = batches.var(axis=1, ddof=1).mean()
    between = stats.f_oneway(*batches).statistic * within
    found = long_run_variance(np.arange(2.0, 290.0, 2.0).tolist(), series.tolist())
    assert found == pytest.approx(2.0 * between / series.mean() ** 2)


def test_a_thread_count_is_set_against_the_rest_by_a_paired_t_test(
    random: np.random.Generator,
) -> None:
    """Named while the p value, times the cells of the campaign, is below 5 %."""
    cells = random.normal(0.0, 0.01, (6, 3))
    cells[:, 1] += 0.06
    p = stats.ttest_rel(cells[:, 1], cells[:, [0, 2]].mean(axis=1)).pvalue
    most = math.floor(0.05 / p)
    named, not_named = (moved((4, 8, 16), cells, 2.0, tests) for tests in (most, most + 1))
    assert 8 in [found.threads for found in named]
    assert 8 not in [found.threads for found in not_named]


def test_a_step_is_fitted_as_by_linear_regression(random: np.random.Generator) -> None:
    """Campaigns of one baseline that nobody measured: its level is the intercept."""
    versions = [f"v8.1.{number}" for number in range(1, 11)]
    drawn = random.normal(0.0, 0.01, len(versions)) - 0.05 * (np.arange(len(versions)) >= 4)
    made = chain(
        [
            ratio(week, "v8.0.0", version, d)
            for week, (version, d) in enumerate(zip(versions, drawn.tolist(), strict=True))
        ]
    )
    model = StepModel(made, None)
    reference = stats.linregress((np.arange(len(versions)) >= 4).astype(float), drawn)
    (found,) = model.fit([model.step(4)]).changes
    assert (found.mean, found.error) == pytest.approx((reference.slope, reference.stderr))
    assert found.p_value == pytest.approx(reference.pvalue)


def test_a_place_is_proposed_from_just_where_students_t_test_says_so(
    random: np.random.Generator,
) -> None:
    """Of two samples with equal variances, the stretches on both sides of the place."""
    before, after = random.normal(0.0, 1.0, 12), random.normal(6.0, 1.0, 12)
    p = stats.ttest_ind(before, after).pvalue
    series = np.concatenate([before, after])
    assert 12 in propose(series, 1.001 * p)
    assert 12 not in propose(series, 0.999 * p)


def test_the_mean_of_logarithms_is_the_geometric_mean() -> None:
    """Of the ratios, as a percentage (Fleming and Wallace 1986)."""
    geometric = stats.gmean(CANDIDATE / BASELINE)
    assert percent(RATIOS.mean()) == pytest.approx(100 * (geometric - 1))


def test_error_rates_of_both_sides_are_compared_by_a_paired_t_test(
    random: np.random.Generator,
) -> None:
    """Of their logarithms, half an error added to each, as a rate (Haldane 1956)."""
    transactions = random.uniform(900.0, 1100.0, (6, 2))
    errors = random.poisson([20.0, 30.0], (6, 2)).astype(float)
    rates = (errors / transactions + 0.5 / transactions.mean(1, keepdims=True)).T
    reference = stats.ttest_rel(*np.log(rates))
    assert error_p_values({"insert": (errors, transactions)}) == {
        "insert": pytest.approx(reference.pvalue)
    }


@pytest.mark.parametrize(("beyond", "noticed"), [(0.999, False), (1.001, True)])
def test_a_quieter_period_is_noticed_from_just_where_the_f_test_says_so(
    beyond: float, noticed: bool
) -> None:
    """At 10 %: of the rounds of one campaign of six against those of three A/A campaigns."""
    ratio = beyond * stats.f.ppf(0.9, 5, 15)
    one = np.ones(1)
    own = Squares(5e-4 * ratio * one, 5 * one, 0 * one, 0 * one, one / 6)
    aa = Squares(15e-4 * one, 15 * one, 1e-3 * one, 3 * one, one / 6)
    assert (estimated_variances(own, aa, one).quieter > 1).all() == noticed
