"""Likelihoods beyond the conjugate ones, beside closed forms, scipy and the families they generalise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import gammaln
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from mapdp import (
    MAPDP,
    AnyLikelihood,
    Beta,
    DiagonalGaussian,
    Gamma,
    GibbsDPM,
    LinearRegression,
    Mixed,
    Multinomial,
    Poisson,
    StudentT,
    VonMises,
    Weibull,
    grid,
    refine,
)
from mapdp.engine.density import reduced_scores
from mapdp.families.levels.multinomial import dispersion_of
from mapdp.outputs.saving import from_bytes, to_bytes


def poisson(rows, rate):
    return rows * np.log(rate) - rate - gammaln(rows + 1.0)


def gamma_prior(rate):
    return stats.gamma(1.5, scale=5.0).logpdf(rate)


def gaussian(rows, parameters):
    mean, log_precision = parameters.T
    return stats.norm.logpdf(rows, mean, np.exp(-0.5 * log_precision))


def normal_gamma_prior(parameters):
    mean, log_precision = parameters.T
    precision = np.exp(log_precision)
    spread = 1.0 / np.sqrt(0.2 * precision)
    return (
        stats.gamma(2.0, scale=0.5).logpdf(precision) + log_precision + stats.norm.logpdf(mean, 1.0, spread)
    )


POISSON = AnyLikelihood(poisson, grid(0.02, 60.0, 400), gamma_prior)
GAUSSIAN = AnyLikelihood(gaussian, grid([-14.0, -4.0], [16.0, 2.0], [120, 16]), normal_gamma_prior)
CONJUGATE_POISSON = Poisson([1.5], [0.2])
CONJUGATE_GAUSSIAN = DiagonalGaussian([1.0], 0.2, 2.0, [2.0])


@pytest.mark.parametrize("seed", range(25))
def test_a_fine_grid_gives_the_conjugate_joint_and_labels(seed):
    """25 tables of counts and 25 of measurements: the joint to 1e-3, the same labels."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, size=(40, 1))
    counts = rng.poisson(np.array([1.0, 9.0, 30.0])[group]).astype(float)
    numbers = rng.normal(np.array([-6.0, 0.0, 7.0])[group])
    pairs = ((POISSON, CONJUGATE_POISSON, counts), (GAUSSIAN, CONJUGATE_GAUSSIAN, numbers))
    for any_likelihood, conjugate, X in pairs:
        expected = MAPDP(1.0, family=conjugate, n_init=1).fit(X)
        found = MAPDP(1.0, family=any_likelihood, n_init=1).fit(X)
        assert_allclose(found.log_joint_, expected.log_joint_, rtol=1e-3)
        assert adjusted_rand_score(found.labels_, expected.labels_) == 1.0


def test_refining_a_coarse_grid_comes_near_the_conjugate_joint(rng):
    X = rng.normal(np.array([-4.0, 0.0, 5.0])[rng.integers(0, 3, size=(200, 1))], 0.5)
    expected = MAPDP(1.0, family=CONJUGATE_GAUSSIAN).fit(X)
    coarse = AnyLikelihood(gaussian, grid([-14.0, -5.0], [16.0, 3.0], 20), normal_gamma_prior)
    first = MAPDP(1.0, family=coarse).fit(X)
    fine = refine(first, X)
    assert abs(first.log_joint_ - expected.log_joint_) > 5.0  # the grid was coarse
    assert abs(fine.log_joint_ - expected.log_joint_) < 0.5
    assert adjusted_rand_score(fine.labels_, expected.labels_) == 1.0


def test_far_rows_are_scored_exactly(rng):
    """Clusters are thousands of nats apart, where products of densities are no floats."""
    X = np.concatenate([rng.normal(size=(20, 1)), rng.normal(size=(20, 1)) + 150.0])
    family = AnyLikelihood(gaussian, grid([-5.0, -0.5], [155.0, 0.5], [161, 2]))
    model = MAPDP(1.0, family=family).fit(X)
    rows, bank = family.encode(X), model.mixture_.bank
    scores = reduced_scores(rows, np.zeros(model.n_clusters_), bank, family, np.copy)
    for k in range(model.n_clusters_):
        known = family.posterior(bank, k).log_weight
        exactly = np.logaddexp.reduce(known + rows[:, : len(known)], axis=1)
        assert_allclose(scores[:, k], exactly, rtol=1e-11)
    assert scores.min() < -5000.0


def test_rows_kept_as_short_floats_and_gaps(rng):
    X = rng.poisson(np.where(rng.integers(0, 2, (60, 1)) == 1, 30.0, 2.0)).astype(float)
    X[3] = np.nan
    short = AnyLikelihood(poisson, POISSON.parameters, gamma_prior, precision="float32")
    found, expected = (MAPDP(1.0, family=one).fit(X) for one in (short, POISSON))
    assert_array_equal(found.labels_, expected.labels_)
    without = MAPDP(1.0, family=POISSON).fit(np.delete(X, 3, axis=0))
    assert expected.n_clusters_ == without.n_clusters_  # a row that is all gaps adds nothing
    assert_allclose(expected.score_samples(X[3:4]), 0.0, atol=1e-9)


def test_a_sampler_takes_any_likelihood(rng):
    X = np.concatenate([rng.poisson(2.0, (20, 1)), rng.poisson(40.0, (20, 1))]).astype(float)
    model = GibbsDPM(1.0, family=POISSON, n_sweeps=60, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 20), model.labels_) > 0.8


def test_files_name_functions_and_hold_no_code(rng):
    X = rng.poisson(5.0, (20, 1)).astype(float)
    content = to_bytes(MAPDP(1.0, family=POISSON).fit(X))
    assert from_bytes(content).family_.log_density is poisson
    unnamed = AnyLikelihood(lambda rows, rate: poisson(rows, rate), POISSON.parameters)
    with pytest.raises(TypeError, match="does not lead to it"):
        to_bytes(MAPDP(1.0, family=unnamed).fit(X))


def test_a_missing_function_is_named(rng, monkeypatch):
    content = to_bytes(MAPDP(1.0, family=POISSON).fit(rng.poisson(5.0, (20, 1)).astype(float)))
    monkeypatch.delattr(f"{__name__}.poisson")
    with pytest.raises(ValueError, match=r"poisson.*which is not here. Hint: import"):
        from_bytes(content)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (lambda rows, rate: np.zeros(3), "must return shape .*got .3,"),
        (lambda rows, rate: rows * np.nan * rate, "must be a number, got nan for row 0"),
        (
            lambda rows, rate: rows * 0.0 + rate * 0.0 - np.inf,
            "every candidate gives row 0 .* probability 0",
        ),
        (lambda rows, rate: rows[:, 5] * rate, "failed on rows of shape .*IndexError"),
        (lambda rows, rate: rows * rate + 1j, "failed on rows of shape .*complex128"),
        (lambda rows, rate: (1.0 for _ in rows), "failed on rows of shape .*generator"),
        (lambda rows, rate: (rows * rate).T, "must return shape .4, 5., .* got .5, 4."),
        ("poisson", "must be a function of rows and parameters"),
    ],
)
def test_a_bad_function_is_told_in_a_sentence(told, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MAPDP(1.0, family=AnyLikelihood(told, grid(1.0, 9.0, 5))).fit(np.ones((4, 1)))


def careless(rows, rate):
    out = poisson(rows, rate)
    rows[:], rate[:] = 0.0, 1.0
    return out


def test_a_function_that_changes_what_it_is_given_harms_nobody(rng):
    X = rng.poisson(np.repeat([2.0, 30.0], 20))[:, None].astype(float)
    given = X.copy()
    model, expected = (
        MAPDP(1.0, family=AnyLikelihood(one, POISSON.parameters)).fit(X) for one in (careless, poisson)
    )
    assert_array_equal(X, given)
    assert_allclose(model.log_joint_, expected.log_joint_)
    assert_array_equal(model.family_.parameters, POISSON.parameters)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: grid(0.0, np.inf, 3), "must be below high, and both finite, got 0.0 and inf"),
        (lambda: grid("a", 1.0, 3), "must be numbers, or one for each parameter, got 'a'"),
        (lambda: grid([0.0, 0.0], [1.0, 1.0, 1.0], 3), "must be numbers, or one for each parameter"),
        (lambda: grid([0.0] * 10, 1.0, 20), "at most 10,000,000 candidates, got 10,240,000,000,000"),
        (lambda: AnyLikelihood(poisson, ["a"]), r"parameters must be numbers, got \['a'\]"),
        (lambda: AnyLikelihood(poisson, [1.0], log_prior="flat"), "log_prior must be numbers, got 'flat'"),
        (
            lambda: Mixed([POISSON, Poisson([1.0], [1.0])]),
            "families of one column each, got AnyLikelihood of 1, Poisson",
        ),
    ],
)
def test_candidates_that_are_none_are_told_in_a_sentence(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("draw", [lambda p, rng: np.zeros(2), lambda p, rng: p * np.nan])
def test_draws_that_are_no_rows_are_told_in_a_sentence(draw, rng):
    family = AnyLikelihood(poisson, POISSON.parameters, draw=draw)
    model = MAPDP(1.0, family=family).fit(rng.poisson(3.0, (20, 1)).astype(float))
    with pytest.raises(ValueError, match=r"draw.parameters, rng. must return .* rows of 1 numbers"):
        model.sample(9)


@pytest.mark.parametrize(
    ("kind", "X", "message"),
    [
        (Multinomial, [[1.0, -2.0]], "counts must not be negative, got -2.0 in column 1, row 0"),
        (Multinomial, [[1.0, 2.5]], "counts must be whole numbers, got 2.5"),
        (VonMises, [[1.0], [270.0]], "angles in radians.*got 270.0 in column 0, row 1.*np.radians"),
        (Gamma, [[1.0], [0.0]], "Gamma columns must be positive, got 0.0"),
        (Beta, [[0.5], [40.0]], "above 0 and below 1, got 40.0 .*percentages"),
        (Beta, [[0.5], [0.0]], "above 0 and below 1, got 0.0 .*shares of 0 or 1"),
        (Multinomial, [[1.0, np.nan], [2.0, 1.0]], "must be finite, got nan in column 1, row 0"),
        (Poisson, [[1.0], [2e300]], "2.53 to be exact, got 2e.300"),
        (LinearRegression, [[1.0], [2.0]], "needs a feature and a target"),
    ],
)
def test_bad_cells_are_told_in_a_sentence(kind, X, message):
    with pytest.raises(ValueError, match=message):
        MAPDP(family=kind).fit(np.array(X))


@pytest.mark.parametrize(("kind", "cells"), [(VonMises, [1e-160, -2e-160]), (Beta, [1e-160, 2e-160])])
def test_angles_and_shares_have_no_other_units(kind, cells):
    """Tiny numbers are not measured in larger ones: those would be other angles, and no shares."""
    X = np.array(cells * 10)[:, None]
    model = MAPDP(1.0, family=kind).fit(X)
    assert model.schema_.columns[0].unit == 1.0
    expected = MAPDP(1.0, family=kind.empirical(X)).fit(X)
    assert_allclose(model.log_joint_, expected.log_joint_)


ONE_CANDIDATE = [
    (StudentT, [1.0, 2.0, 3.0], stats.t(3.0, 1.0, 2.0), [0.3, -4.0, 900.0]),
    (Gamma, [4.0, 2.5], stats.gamma(2.5, scale=1.6), [0.3, 4.0, 60.0]),
    (Weibull, [4.0, 1.7], stats.weibull_min(1.7, scale=4.0), [0.3, 4.0, 20.0]),
    (Beta, [0.3, 6.0], stats.beta(1.8, 4.2), [0.01, 0.4, 0.97]),
    (VonMises, [2.0, 5.0], stats.vonmises(5.0, 2.0), [-3.1, 0.0, 2.2]),
]


@pytest.mark.parametrize(("kind", "candidate", "density", "cells"), ONE_CANDIDATE)
def test_one_candidate_is_the_density_itself(kind, candidate, density, cells):
    family, X = kind([[candidate]]), np.array(cells)[:, None]
    assert_allclose(family.log_marginal(X), density.logpdf(cells).sum(), rtol=1e-10)
    if kind is not VonMises:
        assert_allclose(family.summary()["mean"], density.mean(), rtol=1e-10)
        assert_allclose(family.summary()["variance"], density.var(), rtol=1e-10)


def test_kinds_for_columns_are_found_in_a_table_with_gaps(rng):
    group = rng.integers(0, 2, 150)
    X = np.column_stack(
        [rng.vonmises(3.0 * group, 6.0), rng.gamma(3.0 + 9.0 * group), rng.beta(2.0 + 9.0 * group, 4.0)]
    )
    X[3, 0] = np.nan
    model = MAPDP(columns={0: "circular", 1: "waiting", 2: "share"}).fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.85
    assert abs(model.impute(X)[3, 0] - [0.0, np.pi][group[3]]) % (2.0 * np.pi) < 0.5
    again = from_bytes(to_bytes(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_an_angle_has_no_edge(rng):
    """A cluster around pi is one cluster; to a Gaussian it is two."""
    X = np.angle(np.exp(1j * rng.normal(np.pi, 0.3, size=(80, 2))))
    assert MAPDP(family=VonMises).fit(X).n_clusters_ == 1
    assert MAPDP(family=DiagonalGaussian).fit(X).n_clusters_ > 1


def test_multinomial_is_the_dirichlet_multinomial(rng):
    weights, X = np.array([0.5, 2.0, 1.0]), rng.multinomial(9, [0.2, 0.5, 0.3], size=4).astype(float)
    expected = 0.0
    for row in X:
        expected += stats.dirichlet_multinomial(weights, 9).logpmf(row.astype(int))
        weights = weights + row
    assert_allclose(Multinomial([0.5, 2.0, 1.0]).log_marginal(X), expected, rtol=1e-11)


def test_documents_are_clustered_whatever_their_length(rng):
    shares, group = rng.dirichlet(np.full(40, 0.3), size=3), rng.integers(0, 3, 120)
    X = np.array([rng.multinomial(rng.integers(20, 200), shares[k]) for k in group]).astype(float)
    model = MAPDP(family=Multinomial, prior="learned").fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.95
    assert model.family_.dispersion == 1.0
    longer = np.hstack([3.0 * X[:5] + 1.0])  # more counts that are not 0 than any row of the fit has
    assert np.isfinite(model.score_samples(longer)).all()
    assert model.describe()[0].features[0].nats > 50.0


def test_dispersion_is_that_of_clumps(rng):
    shares = rng.dirichlet(np.full(60, 2.0), size=80)[:1]
    alone = rng.multinomial(300, np.repeat(shares, 80, axis=0)).astype(float)
    assert dispersion_of(alone) == 1.0
    assert_allclose(dispersion_of(6.0 * alone), 6.0, rtol=0.15)


def test_regression_is_a_multivariate_student_t(rng):
    family, X = LinearRegression([0.0] * 3, [1.0] * 3, 0.5, 1.5, 2.0), rng.normal(size=(6, 3))
    features = np.column_stack([np.ones(6), X[:, :2]])
    shape = 2.0 / 1.5 * (np.eye(6) + features @ features.T / 0.5)
    expected = stats.multivariate_t(np.zeros(6), shape, df=3).logpdf(X[:, 2])
    assert_allclose(family.log_marginal(X), expected, rtol=1e-11)


def test_lines_are_recovered(rng):
    group, x = rng.integers(0, 3, 240), rng.uniform(-3.0, 3.0, 240)
    slope, intercept = np.array([1.0, -1.0, 0.0]), np.array([0.0, 20.0, 40.0])
    X = np.column_stack([x, slope[group] * x + intercept[group] + 0.3 * rng.normal(size=240)])
    model = MAPDP(family=LinearRegression, prior="learned").fit(X)
    assert adjusted_rand_score(group, model.labels_) > 0.95
    lines = sorted(model.family_.line(model.mixture_.bank, k) for k in range(3))
    assert_allclose([one for one, _ in lines], intercept, atol=0.2)
    assert_allclose(np.concatenate([slopes for _, slopes in lines]), slope, atol=0.1)
    assert "slopes" in model.describe()[0].features[0].here
    with pytest.raises(ValueError, match=r"cannot draw features. Hint: predict_target"):
        model.sample(3)


@pytest.mark.parametrize("seed", [1, 3])
def test_a_line_and_a_parabola_that_cross_are_told_apart(seed):
    """Rows near each other are in both, so no division of rows by distances shows them."""
    rng = np.random.default_rng(7)
    group, x = rng.integers(0, 2, 200), rng.uniform(0.0, 10.0, 200)
    curves = np.array([5.0 * x, 15.0 + 10.0 * x - x**2])
    X = np.column_stack([x, x**2, curves[group, np.arange(200)] + 3.0 * rng.normal(size=200)])
    model = MAPDP(family=LinearRegression, prior="learned", random_state=seed).fit(X)
    nearer = np.argmin(np.abs(curves - X[:, 2]), axis=0)
    assert adjusted_rand_score(group, model.labels_) > adjusted_rand_score(group, nearer) - 0.06


@pytest.mark.parametrize(("load", "factor", "gain"), [(load_wine, 1000.0, 0.02), (load_iris, 10.0, 0.2)])
def test_one_wild_row_is_an_outlier_and_harms_nobody(load, factor, gain):
    X, y = load(return_X_y=True)
    clean = adjusted_rand_score(y, MAPDP(background=True).fit(X).labels_)
    X[7] *= factor
    model = MAPDP(background=True).fit(X)
    assert model.outliers_[0] == 7
    assert model.labels_[7] == model.predict(X)[7] == -1
    found = adjusted_rand_score(y, model.labels_)
    assert found > clean - 0.06
    assert found > adjusted_rand_score(y, MAPDP().fit(X).labels_) + gain
    assert model.n_clusters_ == len(model.cluster_sizes_) == model.labels_.max() + 1
    chairs = np.where(model.labels_ < 0, model.n_clusters_, model.labels_)
    assert_allclose(model.log_joint_of(X, chairs), model.log_joint_, rtol=1e-10)
    again = from_bytes(to_bytes(model))
    assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    assert_array_equal(again.labels_, model.labels_)


def whole_numbers(rng):
    """Yield tables of 16 columns of whole numbers, and how many clusters they may have."""
    group, shape = np.repeat(np.arange(3), 70), (210, 16)
    centres = rng.uniform(0.0, 40.0, size=(3, 16))[group]
    yield np.where(rng.random(shape) < 0.5, 0.0, np.abs(10.0 * rng.normal(size=shape))).round(), 7
    yield np.round(centres + 0.8 * rng.normal(size=shape)), 3
    yield np.round(centres + 0.1 * rng.normal(size=shape)), 3  # nearly all cells of a group are equal


def narrowest(model, steps):
    """Return the least width of a cluster, in steps that its column is rounded to."""
    clusters = [model.family_.posterior(model.mixture_.bank, k) for k in range(model.n_clusters_)]
    return min((np.sqrt(one.rate / one.shape) / steps).min() for one in clusters)


def test_whole_numbers_make_no_clusters_narrower_than_rounding(rng):
    """An error of rounding has a standard deviation of a step over the root of 12.

    Were numbers taken as exact, clusters of equal cells would have hardly any width.
    """
    for X, n_clusters in whole_numbers(rng):
        model = MAPDP(columns=dict.fromkeys(range(16), "real")).fit(X)
        assert model.n_clusters_ <= n_clusters
        assert narrowest(model, model.family_.resolution) > 0.99 / np.sqrt(12.0)
    exact = MAPDP(family=DiagonalGaussian.empirical(X), prior="learned").fit(X)
    assert exact.n_clusters_ > 3
    assert narrowest(exact, 1.0) < 1e-4


def test_a_background_beside_a_family_that_is_given(rng):
    X = np.vstack([rng.normal(size=(30, 2)), 8.0 + rng.normal(size=(30, 2)), [[900.0, -900.0]]])
    for family in (DiagonalGaussian, StudentT, DiagonalGaussian.empirical(X[:60])):
        model = MAPDP(background=True, family=family).fit(X)
        assert (model.n_clusters_, model.outliers_.tolist()) == (2, [60])
    with pytest.raises(ValueError, match="needs a density of all columns, got LinearRegression"):
        MAPDP(background=True, family=LinearRegression).fit(X)


def test_background_takes_no_weights():
    X = load_iris().data
    with pytest.raises(ValueError, match="neither weights, groups nor known labels"):
        MAPDP(background=True).fit(X, groups=np.arange(150) // 2)
