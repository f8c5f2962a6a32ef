"""Learned priors and structures: optima against an optimiser, invariance, and tables that break priors."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats
from sklearn.datasets import load_iris, load_wine

from mapdp import (
    MAPDP,
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Gaussian,
    LinearRegression,
    Mixed,
    NegativeBinomial,
    Ordered,
    SharedGaussian,
    SphericalGaussian,
    log_joint,
    sample_mixture,
)
from mapdp.data.column_kinds import resolution_of
from mapdp.engine.build import seated
from mapdp.engine.joint import state_log_joint
from mapdp.families.base import Clusters
from mapdp.families.gaussian.learning import NormalGamma
from mapdp.partitions.labels import adjusted_rand
from mapdp.partitions.process import PitmanYor

PROCESS = PitmanYor(1.0)


def clusters_of(family, X, labels):
    rows = family.encode(X)
    state = seated(rows, labels, family, PROCESS)
    return state, Clusters(state.bank, state.n_clusters, rows, labels)


def value_of(family, X, labels):
    """Return the log joint with the hyperprior: what learning raises."""
    state, clusters = clusters_of(family, X, labels)
    return state_log_joint(state, PROCESS) + family.log_hyperprior(clusters)


def learned(family, X, labels, times=4):
    for _ in range(times):
        family = family.learned(clusters_of(family, X, labels)[1], 1e-11)
    return family


def gaussian_rows(rng):
    sizes = rng.integers(2, 25, size=5)
    labels = np.repeat(np.arange(5), sizes).astype(np.int32)
    width = rng.gamma(3.0, size=(5, 1)) * [1.0, 1.5, 0.7] * np.exp(0.2 * rng.normal(size=(5, 3)))
    centre = 4.0 * rng.normal(size=(5, 3))
    return 100.0 + rng.normal(size=(len(labels), 3)) * width[labels] + centre[labels], labels


def lower(vector):
    factor = np.zeros((3, 3))
    factor[np.tril_indices(3)] = vector
    return factor @ factor.T


def factor_of(matrix):
    return np.linalg.cholesky(matrix)[np.tril_indices(3)]


STEPS = np.array([0.1, 0.0, 0.3])
# For each family: how to begin, its hyperparameters as a vector without bounds, and back.
GAUSSIANS = {
    "diagonal": (
        DiagonalGaussian,
        lambda f: [*f.mean, np.log(f.strength), np.log(f.shape), *np.log(f.rate)],
        lambda v: DiagonalGaussian(v[:3], np.exp(v[3]), np.exp(v[4]), np.exp(v[5:]), STEPS),
    ),
    "full": (
        Gaussian,
        lambda f: [*f.mean, np.log(f.strength), np.log(f.dof - 2.0), *factor_of(f.scale)],
        lambda v: Gaussian(v[:3], np.exp(v[3]), 2.0 + np.exp(v[4]), lower(v[5:]), STEPS),
    ),
    "shared": (
        SharedGaussian,
        lambda f: [*f.mean, np.log(f.strength), np.log(f.shape), *factor_of(f.scale)],
        lambda v: SharedGaussian(v[:3], np.exp(v[3]), np.exp(v[4]), lower(v[5:]), STEPS),
    ),
    "spherical": (
        SphericalGaussian,
        lambda f: [*f.mean, np.log(f.strength), np.log(f.shape), *np.log(f.width)],
        lambda v: SphericalGaussian(v[:3], np.exp(v[3]), np.exp(v[4]), np.exp(v[4]), np.exp(v[5:]), STEPS),
    ),
}


@pytest.mark.parametrize("name", GAUSSIANS)
def test_learned_gaussians_are_where_an_optimiser_ends(name, rng):
    kind, vector, family_of = GAUSSIANS[name]
    X, labels = gaussian_rows(rng)
    before = dataclasses.replace(kind.empirical(X), resolution=STEPS)
    family = learned(before, X, labels)
    found = value_of(family, X, labels)
    assert found > value_of(before, X, labels) + 1.0
    best = optimize.minimize(
        lambda v: -value_of(family_of(v), X, labels), vector(family), method="BFGS", options={"gtol": 1e-6}
    )
    assert_allclose(found, -best.fun, rtol=0, atol=1e-6)
    slope = optimize.approx_fprime(best.x, lambda v: value_of(family_of(v), X, labels), 1e-6)
    assert_allclose(slope, 0.0, atol=2e-3)


def level_rows(rng):
    labels = np.repeat(np.arange(4), [30, 20, 10, 5]).astype(np.int32)
    chances = rng.dirichlet([0.4, 0.4, 0.4], size=(4, 2))
    X = [[rng.choice(3, p=chances[k, j]) for j in range(2)] for k in labels]
    return np.array(X, dtype=float), labels


def test_learned_concentrations_are_where_an_optimiser_ends(rng):
    X, labels = level_rows(rng)
    X[:3] = [[0, 0], [1, 1], [2, 2]]
    family = learned(Categorical.empirical(X), X, labels, times=1)
    counts = np.array([np.bincount(column.astype(int), minlength=3) + 1.0 for column in X.T])
    bases = np.array([np.full((2, 3), 1.0 / 3.0), counts / counts.sum(axis=1, keepdims=True)])

    def best_of_column(j):
        def value(t, base):
            rest = [family.concentration[0], family.concentration[1]]
            rest[j] = np.exp(t) * base[j]
            return value_of(Categorical(family.levels, rest), X, labels)

        tried = [
            optimize.minimize_scalar(lambda t, b=base: -value(t, b), bounds=(-8, 8), method="bounded")
            for base in bases
        ]
        return max(-one.fun for one in tried)

    found = value_of(family, X, labels)
    for j in range(2):
        assert_allclose(found, best_of_column(j), rtol=0, atol=1e-6)


def test_bernoulli_columns_learn_what_categories_of_two_levels_do(rng):
    X, labels = (level_rows(rng)[0] > 0.5).astype(float), level_rows(rng)[1]
    X[:2] = [[0, 0], [1, 1]]
    as_levels = learned(Categorical.empirical(X), X, labels, times=1)
    family = learned(Bernoulli.empirical(X), X, labels, times=1)
    assert_allclose(family.pseudo_counts, as_levels.pseudo_counts, rtol=1e-9)


def count_rows(rng):
    """Return counts of three columns: one varies far more than a Poisson's, one about as much."""
    labels = np.repeat(np.arange(5), [30, 20, 10, 8, 3]).astype(np.int32)
    mean, trials = rng.gamma(1.0, [10.0, 3.0, 500.0], size=(5, 3)), np.array([2.0, 60.0, 0.3])
    return rng.negative_binomial(trials, trials / (trials + mean[labels])).astype(float), labels


def test_learned_dispersions_of_counts_are_where_an_optimiser_ends(rng):
    X, labels = count_rows(rng)
    before = NegativeBinomial.empirical(X)
    family = learned(before, X, labels, times=1)
    found, logs = value_of(family, X, labels), np.log([family.success, family.failure, family.trials])
    assert found > value_of(before, X, labels) + 10.0

    def value(vector):
        return value_of(NegativeBinomial(*np.exp(vector.reshape(3, 3))), X, labels)

    for start in (logs.ravel(), logs.ravel() + 0.3):
        best = optimize.minimize(lambda v: -value(v), start, options={"gtol": 1e-6})
        assert -best.fun <= found + 1e-6
    assert_allclose(optimize.approx_fprime(logs.ravel(), value, 1e-6), 0.0, atol=2e-3)


@pytest.mark.parametrize("least_gain", [1e-8, 0.01])
def test_learned_lines_are_where_an_optimiser_ends(least_gain, rng):
    """Even from a shape of about 1, whose logarithm is 0."""
    X, labels = gaussian_rows(rng)
    before = dataclasses.replace(LinearRegression.empirical(X), rate=1e4, shape=1.001)
    family = before.learned(clusters_of(before, X, labels)[1], least_gain)

    def loss(logs):
        strength, shape, rate = np.exp(logs)
        return -value_of(dataclasses.replace(family, strength=strength, shape=shape, rate=rate), X, labels)

    best = optimize.minimize(loss, np.log([family.strength, family.shape, family.rate]))
    assert_allclose(value_of(family, X, labels), -best.fun, rtol=0, atol=max(10.0 * least_gain, 1e-6))


def test_counts_in_a_table_of_several_kinds_keep_their_prior(rng):
    X, labels = count_rows(rng)
    before = Mixed([NegativeBinomial.empirical(X[:, [0]]), DiagonalGaussian.empirical(X[:, [2]])])
    after = learned(before, X[:, [0, 2]], labels, times=1)
    assert after.columns[0].trials == before.columns[0].trials
    assert after.columns[1].rate != before.columns[1].rate
    assert before.n_learned == before.columns[1].n_learned


def test_counts_with_gaps_learn_from_the_cells_that_are_there(rng, monkeypatch):
    monkeypatch.setattr(NegativeBinomial, "learns_in_tables", True)
    X, labels = count_rows(rng)
    alone = [
        learned(NegativeBinomial.empirical(X[3:, [j]]), X[3:, [j]], labels[3:], times=1) for j in (0, 1)
    ]
    start = [NegativeBinomial.empirical(X[3:, [0]]), DiagonalGaussian.empirical(X[:, [2]])]
    start.append(NegativeBinomial.empirical(X[3:, [1]]))
    rows = X[:, [0, 2, 1]]
    rows[:3, [0, 2]] = np.nan
    both = learned(Mixed(start), rows, labels, times=1)
    for one, j in zip(alone, (0, 2), strict=True):
        assert_allclose(both.columns[j].trials, one.trials, rtol=1e-6)
        assert_allclose(both.columns[j].failure, one.failure, rtol=1e-6)


def test_dispersions_that_are_known_are_found():
    """Beside 3 and 40: 30 clusters of 40 rows; with 40 the counts are nearly a Poisson's."""
    rng, found = np.random.default_rng(4), []
    labels = np.repeat(np.arange(30), 40).astype(np.int32)
    for _ in range(8):
        mean = rng.gamma(2.0, 10.0, size=(30, 2))[labels]
        trials = np.array([3.0, 40.0])
        X = rng.negative_binomial(trials, trials / (trials + mean)).astype(float)
        found.append(np.log(learned(NegativeBinomial.empirical(X), X, labels, times=1).trials))
    error = np.std(found, axis=0) / np.sqrt(7)
    assert (np.abs(np.mean(found, axis=0) - np.log([3.0, 40.0])) < 4.0 * error).all()


@pytest.mark.parametrize("cells", [[0.0] * 9, [7.0] * 9, [0.0] * 8 + [1e15], [1e12] * 4 + [3.0] * 5, [5.0]])
def test_odd_columns_of_counts_are_learned(cells):
    X, labels = np.array(cells)[:, None], np.arange(len(cells), dtype=np.int32) // 5
    before = NegativeBinomial.empirical(X)
    family = learned(before, X, labels, times=1)
    assert value_of(family, X, labels) >= value_of(before, X, labels)
    assert np.isfinite([family.success, family.failure, family.trials]).all()


def test_learned_weights_of_curves_cannot_be_raised(rng):
    labels = np.repeat(np.arange(6), 8).astype(np.int32)
    X = np.clip(np.round(rng.normal(rng.integers(0, 5, size=6)[labels], 0.7)), 0, 4)[:, None]
    family = learned(Ordered([np.arange(5.0)]), X, labels, times=1)
    found, weights = value_of(family, X, labels), family.log_weights[0]
    for _ in range(20):
        other = dataclasses.replace(family, log_weights=[weights + 0.1 * rng.normal(size=len(weights))])
        assert value_of(other, X, labels) <= found + 1e-6


def test_mixed_columns_learn_as_they_do_alone(rng):
    X, labels = gaussian_rows(rng)
    codes = np.r_[0.0, 1.0, 2.0, rng.integers(0, 3, size=len(X) - 3)][:, None]
    alone = learned(DiagonalGaussian.empirical(X), X, labels)
    levels = learned(Categorical.empirical(codes), codes, labels, times=1)
    mixed = Mixed([*Mixed.of(DiagonalGaussian.empirical(X)).columns, Categorical.empirical(codes)])
    both = learned(mixed, np.hstack([X, codes]), labels)
    assert_allclose(np.ravel([both.columns[j].rate for j in range(3)]), alone.rate, rtol=1e-5)
    assert_allclose(both.columns[3].concentration[0], levels.concentration[0], rtol=1e-9)


def normal_gamma(family):
    """Return strength, shape and expected variances as logs."""
    return [np.log(family.strength), np.log(family.shape), *np.log(family.rate / family.shape)]


def normal_wishart(family):
    """Return strength, degrees of freedom beyond D - 1, and the typical covariance, as numbers."""
    room, typical = family.dof - family.n_features + 1.0, family.scale / family.dof
    return [np.log(family.strength), np.log(room), *np.log(np.diag(typical)), typical[0, 1]]


@pytest.mark.parametrize(
    ("truth", "numbers_of"),
    [
        (DiagonalGaussian([1.0, -2.0], 0.2, 3.0, [4.0, 0.5]), normal_gamma),
        (DiagonalGaussian([1.0, -2.0], 1.0, 10.0, [4.0, 0.5]), normal_gamma),
        (Gaussian([1.0, -2.0], 0.2, 6.0, [[4.0, 1.0], [1.0, 0.5]]), normal_wishart),
        (Gaussian([1.0, -2.0], 1.0, 12.0, [[4.0, -1.0], [-1.0, 2.5]]), normal_wishart),
    ],
)
def test_known_priors_are_found(truth, numbers_of, rng):
    """Mean of 12 draws of 40 clusters: within sampling error of the truth.

    Where clusters are far narrower than the table, the hyperprior (one more cluster as wide as the table)
    pulls the degrees of freedom down: with a strength of 0.05 and 12 of them about 7 are found.
    """
    found = []
    for _ in range(12):
        labels = np.repeat(np.arange(40), 15).astype(np.int32)
        parameters = truth.sample_parameters(40, rng)
        X = truth.sample_rows(tuple(p[labels] for p in parameters), rng)
        found.append(numbers_of(learned(type(truth).empirical(X), X, labels, times=1)))
    error = np.std(found, axis=0) / np.sqrt(12)
    gap = np.abs(np.mean(found, axis=0) - numbers_of(truth))
    assert (gap < 4.0 * error + 0.06).all()  # 0.06: the hyperprior's pull


def test_a_rounded_cell_counts_for_no_more_than_its_probability():
    """The averaged log density is below the log of the averaged density, and close for wide clusters."""
    for step, most in ((2.0, 0.5), (0.2, 0.01)):
        family = DiagonalGaussian([0.0], 1.0, 2.0, [1.0], [step])
        exact = stats.t(df=4.0, scale=1.0)
        for x in (0.0, 1.0, -3.0):
            probability = np.diff(exact.cdf([x - 0.5 * step, x + 0.5 * step]))[0]
            gap = np.log(probability / step) - family.log_marginal([[x]])
            assert 0.0 <= gap < most


def test_equal_cells_gain_no_more_than_one_for_each():
    """However many equal cells a cluster has, their mass (density times step) is below one."""
    family = DiagonalGaussian([0.0], 1.0, 0.5, [1e-9], [0.1])
    assert family.log_marginal(np.zeros((200, 1))) + 200 * np.log(0.1) < 0.0
    exact = dataclasses.replace(family, resolution=0.0)
    assert exact.log_marginal(np.zeros((200, 1))) + 200 * np.log(0.1) > 1000.0


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (np.arange(50.0), 1.0),
        (np.arange(50.0) / 10.0, 0.1),
        (
            np.r_[np.zeros(50), np.linspace(1.0, 2.0, 50)],
            np.sqrt(2.0 * np.pi) * 0.5 * np.r_[np.zeros(50), np.linspace(1, 2, 50)].std(),
        ),
        (np.full(9, 3.0), 0.0),
        (np.array([1.0, np.nan, 3.0]), 2.0),
    ],
)
def test_resolution_of_a_column(cells, expected):
    assert_allclose(resolution_of(cells), expected, rtol=1e-9)


def test_the_default_learns_and_says_so():
    X, y = load_iris(return_X_y=True)
    model = MAPDP().fit(X)
    paper = MAPDP(prior="paper", covariance="diagonal").fit(X)
    assert adjusted_rand(y, model.labels_) > 0.85 > adjusted_rand(y, paper.labels_)
    assert model.models_[0].penalised == max(one.penalised for one in model.models_)
    assert "nats better than" in model.models_.sentence()
    assert str(model.models_).splitlines()[1].startswith(model.models_[0].structure)
    assert_allclose(model.log_joint_, model.log_joint_of(X, model.labels_), rtol=1e-12)
    assert_allclose(log_joint(X, model.labels_, process="mfm", family=model.family_), model.log_joint_)
    assert paper.models_ == []


def test_learning_never_lowers_the_joint_with_its_hyperprior():
    model = MAPDP().fit(load_wine().data)
    climbs = [[s for s in model.trace_ if s.climb == c] for c in range(model.trace_[-1].climb + 1)]
    assert sum(steps[0].move == "prior" for steps in climbs) >= 2
    for steps in climbs:
        joints = np.array([step.log_joint for step in steps])
        assert (np.diff(joints) >= -1e-8 * np.abs(joints[:-1])).all()


def test_a_callback_sees_every_step_of_learning_too():
    seen = []
    model = MAPDP(callback=seen.append).fit(load_wine().data)
    assert seen == model.trace_
    assert {step.climb for step in seen} == set(range(seen[-1].climb + 1))
    ended = MAPDP(callback=lambda step: step.move == "prior").fit(load_wine().data)
    assert not ended.converged_
    assert ended.labels_.shape == (178,)


@pytest.mark.parametrize("covariance", ["diagonal", "full", "shared", "spherical"])
def test_units_of_columns_do_not_matter(covariance, rng):
    X = load_iris().data
    model = MAPDP(covariance=covariance).fit(X)
    unit = 2.0 ** rng.integers(-20, 20, size=4)
    other = MAPDP(covariance=covariance).fit(X * unit)
    assert_array_equal(other.labels_, model.labels_)
    assert_allclose(other.log_joint_, model.log_joint_ - len(X) * np.log(unit).sum(), rtol=1e-9)


def turned_table(seed):
    """Return rows of some clusters with covariances of their own, and the same rows turned."""
    rng = np.random.default_rng(seed)
    n_clusters, d = rng.integers(2, 6, size=2)
    mix = 0.5 * rng.normal(size=(n_clusters, d, d)) + 0.5 * np.eye(d)
    labels = rng.integers(0, n_clusters, size=rng.integers(60, 200))
    X = np.einsum("nij,nj->ni", mix[labels], rng.normal(size=(len(labels), d)))
    X += 2.5 * rng.normal(size=(n_clusters, d))[labels]
    return X, X @ stats.special_ortho_group.rvs(d, random_state=seed).T


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_turning_the_rows_changes_nothing(covariance):
    """The joint may: numbers that are turned have other steps between them."""
    for seed in range(20):
        X, other = turned_table(seed)
        model, turned = (MAPDP(covariance=covariance).fit(rows) for rows in (X, other))
        assert adjusted_rand(model.labels_, turned.labels_) == 1.0


@pytest.mark.parametrize("covariance", ["auto", "diagonal"])
def test_neither_order_nor_units_of_a_table_matter(covariance, rng):
    for seed in range(5):
        X = turned_table(seed)[0]
        model = MAPDP(covariance=covariance).fit(X)
        order = rng.permutation(len(X))
        assert (
            adjusted_rand(MAPDP(covariance=covariance).fit(X[order]).labels_, model.labels_[order]) == 1.0
        )
        unit, zero = np.exp(2.0 * rng.normal(size=(2, X.shape[1])))
        assert (
            adjusted_rand(MAPDP(covariance=covariance).fit(X * unit + zero).labels_, model.labels_) == 1.0
        )


def test_predictions_of_shared_covariances_are_in_the_units_of_the_table(rng):
    X = load_iris().data
    model = MAPDP(covariance="shared").fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.95
    assert_allclose(model.family_.decode(model.family_.encode(X)), X, rtol=1e-9)
    holes = X.copy()
    holes[::7, 2] = np.nan
    filled = model.impute(holes)
    assert np.abs(filled[::7, 2] - X[::7, 2]).mean() < 0.35 * X[:, 2].std()
    drawn = model.sample(4000)[0]
    assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.2)
    assert model.explain(X[:3]).by_column.shape == (3, 4)
    assert len(model.describe()) == model.n_clusters_


def test_gaps_beside_a_shared_covariance(rng):
    """Rows are mapped before they are searched, and filled in the units of the table."""
    X = load_iris().data
    holes = X.copy()
    holes[rng.random(X.shape) < 0.03] = np.nan
    family = MAPDP(covariance="shared").fit(X).family_
    whole, gappy = MAPDP(1.0, family=family).fit(X), MAPDP(1.0, family=family).fit(holes)
    assert adjusted_rand(whole.labels_, gappy.labels_) > 0.75
    chances = whole.predict_proba(holes)
    assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances.argmax(axis=1) == whole.labels_).mean() > 0.9


def odd_tables(rng):
    ties = np.round(rng.normal(size=(60, 3)))
    zeros = np.where(rng.random((80, 3)) < 0.7, 0.0, rng.exponential(size=(80, 3)) ** 3)
    line = rng.normal(size=(50, 1)) @ np.ones((1, 4))
    outlier = rng.normal(size=(40, 3))
    outlier[7, 1] = 1e12
    return {
        "ties": ties,
        "zeros and tails": zeros,
        "copies of one column": line,
        "an outlier": outlier,
        "more columns than rows": rng.normal(size=(6, 12)),
        "two rows": rng.normal(size=(2, 3)),
        "equal rows": np.repeat(rng.normal(size=(1, 3)), 20, axis=0) + np.eye(3)[rng.integers(0, 3, 20)],
    }


def attacked_table(rng):
    """Return rows of a few clusters after up to three accidents."""
    n, d, n_clusters = rng.choice([2, 5, 12, 40, 90]), rng.choice([1, 2, 3, 5, 8]), rng.integers(1, 5)
    X = rng.normal(size=(n, d)) + 3.0 * rng.normal(size=(n_clusters, d))[rng.integers(0, n_clusters, n)]
    for accident in rng.choice(7, size=rng.integers(0, 4)):
        j, other = rng.integers(d), rng.integers(d)
        if accident == 0:
            X[:, j] = np.round(X[:, j])
        elif accident == 1:
            X[:, j] = 3.7
        elif accident == 2:
            X[:, j] = X[:, other] - 2.0 * X[:, 0]
        elif accident == 3:
            X[rng.integers(n), j] = 1e12
        elif accident == 4:
            X = np.where(rng.random(X.shape) < 0.7, 0.0, 10.0 * np.abs(rng.normal(size=X.shape)) ** 5)
        elif accident == 5:
            X[:, j] = X[:, other] + 1e-3 * rng.normal(size=n)
        else:
            X[: n // 2] = X[0]
    return X


def test_random_tables_with_accidents_are_fitted():
    """Ties, constants, collinear columns, N < D, outliers, zeros with long tails, copies, equal rows."""
    for seed in range(100):
        X = attacked_table(np.random.default_rng(seed))
        family = (None, Gaussian, SharedGaussian, SphericalGaussian)[seed % 4]
        model = MAPDP(family=family, prior="learned").fit(X)
        assert np.isfinite(model.log_joint_)
        assert model.n_clusters_ <= max(4.0, 2.0 * np.sqrt(len(X)))
        for climb in range(model.trace_[-1].climb + 1):
            joints = np.array([step.log_joint for step in model.trace_ if step.climb == climb])
            assert (np.diff(joints) >= -1e-8 * np.abs(joints[:-1])).all()


@pytest.mark.parametrize(
    ("n", "d", "zeros"), [(200, 3, 0.7), (500, 5, 0.7), (500, 10, 0.5), (1000, 5, 0.9)]
)
def test_zeros_and_long_tails_do_not_explode(n, d, zeros, rng):
    """There are up to 2^d patterns of zeros, and none of them is a cluster."""
    X = np.where(rng.random((n, d)) < zeros, 0.0, 10.0 * np.abs(rng.normal(size=(n, d))) ** 4)
    assert MAPDP().fit(X).n_clusters_ <= np.sqrt(n)


@pytest.mark.parametrize("name", list(odd_tables(np.random.default_rng(0))))
def test_odd_tables_neither_break_nor_explode(name, rng):
    X = odd_tables(rng)[name]
    model = MAPDP().fit(X)
    assert np.isfinite(model.log_joint_)
    assert model.n_clusters_ <= max(3.0, 2.0 * np.sqrt(len(X)))


@pytest.mark.parametrize("value", [3.7, 0.0, -1e13])
def test_a_number_that_repeats_itself_beside_gaps(value):
    X = np.full((30, 2), value)
    X[::4] = np.nan
    X[1, 0] = np.nan
    model = MAPDP().fit(X)
    assert np.isfinite(model.log_joint_)
    assert_allclose(model.impute(X), value)


def test_gaps_of_columns_far_from_zero(rng):
    X = 1e13 + rng.normal(size=(40, 2))
    X[3, 0] = np.nan
    assert abs(MAPDP().fit(X).impute(X)[3, 0] - 1e13) < 10.0


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_copy_of_a_column_changes_nothing(noise, rng):
    """Neither do several, in other units, nor copies that differ by less than a tenth of a step."""
    X, y = load_iris(return_X_y=True)
    model = MAPDP().fit(X)
    assert adjusted_rand(y, model.labels_) > 0.8
    for copied in (X[:, :1], X[:, 2:] * [25.4, -3.0] + 7.0, X):
        other = MAPDP().fit(np.hstack([X, copied + noise * rng.uniform(-1.0, 1.0, size=copied.shape)]))
        assert_array_equal(other.labels_, model.labels_)
        assert_allclose(other.log_joint_, model.log_joint_)
        assert [column.kind for column in other.schema_.columns[4:]] == ["copy"] * copied.shape[1]


def test_copies_are_sampled_filled_and_explained(rng):
    X = load_iris().data
    model = MAPDP().fit(np.hstack([X, 2.0 * X[:, 1:2] + 1.0]))
    drawn = model.sample(50, random_state=0)[0]
    assert_allclose(drawn[:, 4], 2.0 * drawn[:, 1] + 1.0)
    holes = np.hstack([X, 2.0 * X[:, 1:2] + 1.0])
    holes[::5, 4] = holes[::10, 1] = np.nan
    filled, spread = model.impute(holes, return_spread=True)
    assert_allclose(filled[:, 4], 2.0 * filled[:, 1] + 1.0)
    assert (spread[::10, 4] > 0.0).all()
    assert "2 times column 1" in str(model.schema_)


@pytest.mark.parametrize(
    ("y_of", "expected"),
    [
        (lambda x, rng: 3.0 * np.round(x, 2), ["real", "copy"]),
        (lambda x, rng: x + 0.05 * rng.normal(size=len(x)), ["real", "real"]),
        (lambda x, rng: np.where(np.arange(len(x)) == 7, 1e9, rng.normal(size=len(x))), ["real", "real"]),
    ],
)
def test_columns_that_differ_are_no_copies(y_of, expected, rng):
    """Not even those that share an outlier, which makes their correlation 1."""
    x = rng.normal(size=200)
    y = y_of(x, rng)
    x = np.where(y > 1e8, 1e9, np.round(x, 3))
    model = MAPDP(covariance="diagonal").fit(np.column_stack([x, y]))
    assert [column.kind for column in model.schema_.columns] == expected
    paper = MAPDP(prior="paper").fit(np.column_stack([x, y]))
    assert [column.kind for column in paper.schema_.columns] == ["real", "real"]


def test_many_rows_learn_from_some():
    family = DiagonalGaussian([0.0, 0.0], 0.02, 2.0, [1.0, 1.0])
    X, labels = sample_mixture(6000, 1.0, family, np.random.default_rng(3))
    model = MAPDP().fit(X)
    assert len(model.labels_) == 6000
    assert (
        adjusted_rand(labels, model.labels_)
        > adjusted_rand(labels, MAPDP(prior="paper").fit(X).labels_) - 0.02
    )


@pytest.mark.parametrize("n_rows", [900, 2500])
def test_the_prior_follows_from_the_clusters_that_were_found_last(n_rows, rng):
    """Further starts, and rows that were left out at first, lead to other clusters than it began with."""
    kinds = rng.integers(12, size=n_rows)
    width = rng.normal(size=(12, 4)) + rng.gamma(2.0, size=(12, 1))
    X = width[kinds] * rng.normal(size=(n_rows, 4)) + 2.0 * rng.normal(size=(12, 4))[kinds]
    model = MAPDP(covariance="diagonal", random_state=0).fit(X)
    family, labels = model.family_, model.labels_
    assert value_of(learned(family, X, labels), X, labels) - value_of(family, X, labels) < 0.1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"prior": "mine"}, "prior must be None or one of 'learned', 'paper'"),
        ({"covariance": "round"}, "covariance must be one of 'auto', 'diagonal', 'full', 'shared'"),
        ({"covariance": "full", "family": Gaussian}, "give family or covariance"),
    ],
)
def test_parameters_of_the_model_are_checked(parameters, message):
    with pytest.raises(ValueError, match=message):
        MAPDP(**parameters).fit(load_iris().data)


def test_covariances_are_for_measurements():
    with pytest.raises(ValueError, match="needs measurements, with gaps only in rows that lack all"):
        MAPDP(covariance="full", prior="paper").fit([[0.0, 1.0], [1.0, np.nan], [2.5, 0.3]])
    with pytest.raises(ValueError, match="needs measurements"):
        MAPDP(covariance="full").fit(pd.DataFrame({"word": list("abca")}))


def test_a_family_that_is_given_learns_where_asked():
    X = load_iris().data
    given = MAPDP(1.0, family=Gaussian).fit(X)
    model = MAPDP(1.0, family=Gaussian, prior="learned").fit(X)
    assert model.log_joint_ > given.log_joint_ + 30.0
    assert given.models_ == []
    assert_allclose(model.family_.resolution, 0.1)
    rounded = dataclasses.replace(Gaussian.empirical(X), resolution=0.2)
    assert_allclose(MAPDP(1.0, family=rounded, prior="learned").fit(X).family_.resolution, 0.2)


def test_a_leap_of_learning_does_not_overflow():
    """Two steps of EM may point far beyond what a float can hold; widths stay within bounds."""
    far = NormalGamma.of_vector(np.array([0.5, -2.0, 0.0, 0.0, 1e5, -1e5]))
    assert np.isfinite(far.rate).all()
    assert (far.rate > 0.0).all()
    assert np.isfinite(far.mean).all()


def test_hundreds_of_clusters_are_found_by_a_search_that_begins_with_few():
    """Parted in two, such a table gains nothing; only parted in many it does."""
    rng = np.random.default_rng(0)
    truth = rng.integers(300, size=3000)
    X = 4.5 * rng.normal(size=(300, 6))[truth] + 0.5 * rng.normal(size=(3000, 6))
    model = MAPDP(covariance="diagonal", random_state=1).fit(X)
    assert abs(model.n_clusters_ - len(np.unique(truth))) < 10
    assert model.log_joint_ > model.log_joint_of(X, truth)
