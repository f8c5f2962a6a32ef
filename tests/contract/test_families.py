"""What every family must do, checked against itself, against closed forms and against scipy."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from mapdp import (
    Bernoulli,
    Binomial,
    Categorical,
    DiagonalGaussian,
    Exponential,
    FixedGaussian,
    Gaussian,
    Geometric,
    LogNormal,
    Mixed,
    NegativeBinomial,
    Poisson,
    Product,
)
from mapdp.compiled.lanes import whole_lanes
from mapdp.families import verbs
from tests.contract.cases import (
    BINOMIAL,
    CATEGORICAL,
    DIAGONAL,
    EXPONENTIAL,
    FAMILIES,
    FIXED,
    FULL,
    MORE,
    NEGATIVE_BINOMIAL,
    POISSON,
    RARE_TABLE,
    over_gaussians,
    over_likelihoods,
)


def seated_bank(case, X, capacity=1):
    bank, scratch = case.family.bank(capacity), case.family.scratch()
    for x in case.family.encode(X):
        verbs.insert(bank, 0, x - case.family.origin, scratch)
    verbs.refresh(bank, 0)
    return bank


def predictive(case, bank, k, x, capacity=1):
    scores = np.zeros(whole_lanes(capacity))
    verbs.log_predictive(bank, x, capacity, scores, case.family.scratch())
    return scores[k]


def centred(case, X):
    return case.family.encode(X) - case.family.origin


def statistics(bank):
    """Yield all arrays of a bank that hold slots."""
    for name, value in zip(bank._fields, bank, strict=True):
        if name != "prior":
            yield from statistics(value) if hasattr(value, "_fields") else [value]


@over_likelihoods
def test_predictive_is_ratio_of_marginals(case, rng):
    X = case.rows(rng, 12)
    for n in (0, 1, 2, 11):
        bank = seated_bank(case, X[:n])
        before, x = verbs.log_marginal(bank, 0), centred(case, X[n : n + 1])[0]
        score = predictive(case, bank, 0, x)
        verbs.insert(bank, 0, x, case.family.scratch())
        verbs.refresh(bank, 0)
        assert_allclose(score, verbs.log_marginal(bank, 0) - before, rtol=0, atol=1e-10)


@over_likelihoods
def test_an_empty_chair_has_marginal_one(case):
    assert_allclose(verbs.log_marginal(case.family.bank(1), 0), 0.0, atol=1e-12)


@over_likelihoods
def test_remove_undoes_insert(case, rng):
    X = case.rows(rng, 9)
    bank, x = seated_bank(case, X), centred(case, case.rows(rng, 1))[0]
    before = [array.copy() for array in statistics(bank)]
    verbs.insert(bank, 0, x, case.family.scratch())
    verbs.remove(bank, 0, x, case.family.scratch())
    verbs.refresh(bank, 0)
    for old, new in zip(before, statistics(bank), strict=True):
        assert_allclose(new, old, rtol=1e-10, atol=1e-12)


@over_likelihoods
def test_leave_one_out_is_predictive_without_the_row(case, rng):
    X = case.rows(rng, 8)
    bank = seated_bank(case, X)
    for i in range(len(X)):
        others = seated_bank(case, np.delete(X, i, axis=0))
        x = centred(case, X)[i]
        left_out = verbs.log_leave_one_out(bank, 0, x, case.family.scratch())
        assert_allclose(left_out, predictive(case, others, 0, x), rtol=0, atol=1e-10)


@over_likelihoods
@pytest.mark.parametrize("n", [0, 1, 5])
def test_pour_is_inserting_the_rows(case, n, rng):
    X = case.rows(rng, 10)
    together, left, right = (seated_bank(case, rows) for rows in (X, X[:n], X[n:]))
    verbs.pour(left, 0, right, 0, 1.0, case.family.scratch())
    verbs.refresh(left, 0)
    for poured, inserted in zip(statistics(left), statistics(together), strict=True):
        assert_allclose(poured, inserted, rtol=1e-10, atol=1e-10)


def frozen(record):
    """Make all arrays of a record read-only."""
    for value in record:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif isinstance(value, tuple):
            frozen(value)


def priors_of(bank):
    for name, value in zip(bank._fields, bank, strict=True):
        if name == "prior":
            yield value
        elif hasattr(value, "_fields"):
            yield from priors_of(value)


@over_likelihoods
def test_a_bank_holds_statistics_and_no_working_space(case, rng):
    """Every array outside the prior has a slot for each chair; scoring changes no array of the bank.

    `log_marginal` may refresh the chair's cache, so it changes nothing where that is fresh.
    """
    X = case.rows(rng, 9)
    bank, scratch = seated_bank(case, X, capacity=11), case.family.scratch()
    assert all(array.shape[-1] == 16 for array in statistics(bank))
    for prior in priors_of(bank):
        frozen(prior)
    x = centred(case, X)[0]
    verbs.insert(bank, 1, x, scratch)
    verbs.pour(bank, 2, bank, 0, 1.0, scratch)
    verbs.remove(bank, 0, x, scratch)
    verbs.refresh(bank, 0)
    before = [array.copy() for array in statistics(bank)]
    verbs.log_marginal(bank, 0)
    for array, as_it_was in zip(statistics(bank), before, strict=True):
        assert_array_equal(array, as_it_was)
    frozen(tuple(statistics(bank)))
    verbs.log_leave_one_out(bank, 0, centred(case, X)[1], scratch)
    verbs.log_predictive(bank, x, 11, np.zeros(16), scratch)


@over_likelihoods
def test_row_order_does_not_matter(case, rng):
    X = case.rows(rng, 20)
    shuffled = X[rng.permutation(20)]
    assert_allclose(case.family.log_marginal(shuffled), case.family.log_marginal(X), rtol=1e-12)


@over_likelihoods
def test_all_chairs_are_scored_alike(case, rng):
    """A chair's score depends neither on its place nor on its neighbours."""
    X = case.rows(rng, 6)
    x, bank = centred(case, X)[0], case.family.bank(5)
    for row in centred(case, X[1:]):
        verbs.insert(bank, 3, row, case.family.scratch())
    verbs.refresh(bank, 3)
    alone = predictive(case, seated_bank(case, X[1:]), 0, x)
    assert_allclose(predictive(case, bank, 3, x, capacity=5), alone, rtol=1e-13)
    prior = predictive(case, case.family.bank(1), 0, x)
    assert_allclose(predictive(case, bank, 4, x, capacity=5), prior, rtol=1e-13)


@over_likelihoods
def test_clear_makes_a_chair_new(case, rng):
    bank = seated_bank(case, case.rows(rng, 7))
    verbs.clear(bank, 0)
    verbs.refresh(bank, 0)
    for cleared, new in zip(statistics(bank), statistics(case.family.bank(1)), strict=True):
        assert_allclose(cleared, new)


def needs_posterior(case):
    """Skip the cases whose posterior is no family of their own kind."""
    if case.name in ("regression", "background"):
        pytest.skip("what a cluster knows is no prior of this kind")


@over_likelihoods
def test_posterior_as_prior_gives_the_predictive(case, rng):
    needs_posterior(case)
    X = case.rows(rng, 6)
    updated = case.family.posterior(seated_bank(case, X[1:]), 0)
    expected = case.family.log_predictive(X[0], X[1:])
    assert_allclose(updated.log_marginal(X[:1]), expected, rtol=1e-10)


def log_densities(family, X):
    """Return the log marginal of each row by itself; one chair serves them all."""
    bank, scratch, found = family.bank(1), family.scratch(), []
    for x in family.encode(X) - family.origin:
        verbs.insert(bank, 0, x, scratch)
        found.append(verbs.log_marginal(bank, 0))
        verbs.clear(bank, 0)
    return np.array(found)


@over_likelihoods
def test_samples_follow_the_predictive(case):
    """Of rows drawn half from p, half from q, the mean of p / ((p + q) / 2) is one: p sums to one."""
    needs_posterior(case)
    rng, n = np.random.default_rng(3), 600
    updated = case.family.posterior(seated_bank(case, case.rows(rng, 30)), 0)
    drawn = np.vstack([updated.sample(n, rng), case.family.sample(n, rng)])
    own, prior = (log_densities(one, drawn) for one in (updated, case.family))
    ratio = 2.0 / (1.0 + np.exp(np.clip(prior - own, -700.0, 700.0)))
    assert abs(ratio.mean() - 1.0) < 4.0 * ratio.std() / np.sqrt(2 * n)
    only_prior = np.concatenate([ratio[n:], ratio[n:]])  # a sampler that ignores the rows is noticed
    assert abs(only_prior.mean() - 1.0) > 4.0 * ratio.std() / np.sqrt(2 * n)


@over_likelihoods
def test_empirical_prior_is_proper(case, rng):
    X = case.rows(rng, 50)
    kinds = []
    if case.name == "product":
        kinds = [[(type(part), c) for part, c in case.family.parts]]
    elif isinstance(case.family, Mixed):
        kinds = [[type(column) for column in case.family.columns]]
    if case.name in ("background", "block"):
        pytest.skip("it is made around other families")
    if case.name == "candidates":
        with pytest.raises(TypeError, match="no prior of its own"):
            type(case.family).empirical(X)
        return
    made = type(case.family).empirical(X, *kinds)
    assert made.n_features == X.shape[1]
    one_by_one = sum(made.log_marginal(x[None]) for x in X[:20])
    assert made.log_marginal(X[:20]) != pytest.approx(one_by_one)  # rows inform each other
    assert np.isfinite(one_by_one)


COLUMN_BY_COLUMN = [case for case in FAMILIES + MORE if case.family.has_columns]


@pytest.mark.parametrize("case", COLUMN_BY_COLUMN, ids=[case.name for case in COLUMN_BY_COLUMN])
def test_gaps_leave_the_cells_that_are_there(case, rng):
    """With gaps the marginal is that of each column's own cells; without any it is the family's."""
    X, open_to_gaps = case.rows(rng, 12), Mixed.of(case.family)
    assert_allclose(open_to_gaps.log_marginal(X), case.family.log_marginal(X), rtol=1e-11)
    X[rng.random(X.shape) < 0.3] = np.nan
    cells = [column[~np.isnan(column)][:, None] for column in X.T]
    alone = [case.family.column(j).log_marginal(column) for j, column in enumerate(cells)]
    assert_allclose(open_to_gaps.log_marginal(X), sum(alone), rtol=1e-11)


def test_kinds_that_are_rare_in_tables_stand_side_by_side(rng):
    """The marginal of a mixed table with gaps is the sum of its columns' own, whatever their kinds."""
    numbers = (rng.normal(size=12), rng.exponential(size=12), rng.poisson(9, 12), rng.normal(size=12))
    X = np.column_stack(numbers)
    X[rng.random(X.shape) < 0.3] = np.nan
    cells = [column[~np.isnan(column)][:, None] for column in X.T]
    alone = [RARE_TABLE.column(j).log_marginal(column) for j, column in enumerate(cells)]
    assert_allclose(RARE_TABLE.log_marginal(X), sum(alone), rtol=1e-11)


@over_gaussians
def test_an_offset_does_not_change_a_gaussian(case, rng):
    """Cells are multiples of 2^-20, so that adding 1e8 to them is exact."""
    X = np.round(case.rows(rng, 15) * 2**20) / 2**20
    prior_mean = np.round(case.family.mean * 2**20) / 2**20
    fields = {"strength": case.family.strength, "shape": 1.5, "rate": [1, 2, 0.5]}
    if case.name == "full":
        fields = {"strength": case.family.strength, "dof": 4.5, "scale": case.family.scale}
    near = type(case.family)(mean=prior_mean, **fields)
    far = type(case.family)(mean=prior_mean + 1e8, **fields)
    assert far.log_marginal(X + 1e8) == near.log_marginal(X)
    assert far.log_predictive(X[0] + 1e8, X[1:] + 1e8) == near.log_predictive(X[0], X[1:])


@over_gaussians
@pytest.mark.parametrize("unit", [1e-100, 1e-8, 1e8, 1e100])
def test_units_shift_a_gaussian_by_a_constant(case, unit, rng):
    X = case.rows(rng, 10)
    family_ = type(case.family).empirical(X)
    in_unit = type(case.family).empirical(X * unit)
    shift = X.size * np.log(unit)
    assert_allclose(in_unit.log_marginal(X * unit) + shift, family_.log_marginal(X), rtol=1e-9)


def test_a_far_row_leaves_no_trace(rng):
    """A row 1e9 standard deviations away comes and goes; the variance comes back exactly."""
    bank = seated_bank(type("C", (), {"family": DIAGONAL}), rng.normal(size=(20, 3)))
    before = bank.inverse_rate.copy()
    far = np.full(3, 1e9)
    verbs.insert(bank, 0, far, DIAGONAL.scratch())
    verbs.refresh(bank, 0)
    inside = verbs.log_leave_one_out(bank, 0, far, DIAGONAL.scratch())
    verbs.remove(bank, 0, far, DIAGONAL.scratch())
    verbs.refresh(bank, 0)
    assert_allclose(bank.inverse_rate, before, rtol=1e-14)
    outside = predictive(type("C", (), {"family": DIAGONAL}), bank, 0, far)
    assert_allclose(inside, outside, rtol=1e-12)


@pytest.mark.parametrize("kind", [DiagonalGaussian, Gaussian])
def test_constant_columns_are_safe(kind, rng):
    X = np.column_stack([rng.normal(size=12), np.full(12, 0.1), np.full(12, 1e8 + 0.1)])
    made = kind.empirical(X)
    assert np.isfinite(made.log_marginal(X))
    assert np.isfinite(made.log_predictive(X[0] + 1.0, X))
    spread = made.rate if kind is DiagonalGaussian else np.diag(made.scale)
    assert (spread[1:] == 1.0).all()


def test_one_row_is_enough_for_every_recipe():
    counted = (Bernoulli, Categorical, Poisson, Binomial, NegativeBinomial, Geometric)
    for kind in (DiagonalGaussian, FixedGaussian, Gaussian, Exponential, *counted):
        X = np.ones((1, 2))
        assert np.isfinite(kind.empirical(X).log_marginal(X))


def test_diagonal_gaussian_is_a_product_of_student_t(rng):
    x = rng.normal(size=3)
    scale = np.sqrt(DIAGONAL.rate * (DIAGONAL.strength + 1) / (DIAGONAL.strength * DIAGONAL.shape))
    expected = stats.t(2 * DIAGONAL.shape, DIAGONAL.mean, scale).logpdf(x).sum()
    assert_allclose(DIAGONAL.log_marginal(x[None]), expected, rtol=1e-12)


def test_gaussian_is_a_multivariate_student_t(rng):
    x, dof = rng.normal(size=3), FULL.dof - 3 + 1
    shape = FULL.scale * (FULL.strength + 1) / (FULL.strength * dof)
    expected = stats.multivariate_t(FULL.mean, shape, dof).logpdf(x)
    assert_allclose(FULL.log_marginal(x[None]), expected, rtol=1e-12)


def test_gaussian_in_one_column_is_the_diagonal_one(rng):
    X = rng.normal(size=(8, 1))
    full = Gaussian(mean=[0.5], strength=0.7, dof=3.0, scale=[[4.0]])
    diagonal = DiagonalGaussian(mean=[0.5], strength=0.7, shape=1.5, rate=[2.0])
    assert_allclose(full.log_marginal(X), diagonal.log_marginal(X), rtol=1e-12)


def test_log_normal_is_the_density_of_the_number_not_of_its_logarithm(rng):
    family, x = LogNormal([0.5], 0.7, 1.5, [2.0]), rng.lognormal(size=(5, 1))
    logs = DiagonalGaussian([0.5], 0.7, 1.5, [2.0])
    assert_allclose(family.log_marginal(x), logs.log_marginal(np.log(x)) - np.log(x).sum(), rtol=1e-12)
    u = np.linspace(-200.0, 200.0, 20_001)  # of x = exp(u), so that dx = x du
    mass = sum(np.exp(family.log_marginal([[np.exp(v)]]) + v) for v in u) * (u[1] - u[0])
    assert_allclose(mass, 1.0, atol=1e-4)


def test_categorical_is_a_dirichlet_multinomial(rng):
    X = rng.integers(0, 3, size=(9, 3)).astype(float)
    expected = 0.0
    for levels, weight, column in zip(CATEGORICAL.levels, CATEGORICAL.concentration, X.T, strict=True):
        tally = [(column == level).sum() for level in levels]
        multinomial = stats.multinomial(9, [1 / 3] * 3).logpmf(tally) + 9 * np.log(3)
        expected += stats.dirichlet_multinomial(weight, 9).logpmf(tally) - multinomial
    assert_allclose(CATEGORICAL.log_marginal(X), expected, rtol=1e-12)


def test_bernoulli_is_a_beta_binomial():
    X = np.array([[1.0], [0.0], [1.0], [1.0]])
    expected = stats.betabinom(4, 0.6, 1.3).logpmf(3) - np.log(4)
    assert_allclose(Bernoulli([0.6], [1.3]).log_marginal(X), expected, rtol=1e-12)


def test_exponential_is_a_lomax_density(rng):
    x = rng.exponential(20.0, size=2)
    expected = stats.lomax(EXPONENTIAL.shape, scale=EXPONENTIAL.rate).logpdf(x).sum()
    assert_allclose(EXPONENTIAL.log_marginal(x[None]), expected, rtol=1e-12)


@pytest.mark.parametrize("row", [[0.0, 0.0, 0.0], [6.0, 3.0, 20.0], [2.0, 1.0, 13.0]])
def test_binomial_is_a_beta_binomial(row):
    expected = stats.betabinom(BINOMIAL.trials, BINOMIAL.success, BINOMIAL.failure).logpmf(row).sum()
    assert_allclose(BINOMIAL.log_marginal([row]), expected, rtol=1e-11)


@pytest.mark.parametrize("row", [[0.0, 0.0], [3.0, 1.0], [400.0, 7.0]])
def test_negative_binomial_is_an_integral_over_the_chance(row):
    family = NEGATIVE_BINOMIAL
    expected = 0.0
    for j in range(2):
        prior = stats.beta(family.success[j], family.failure[j])

        def density(p, j=j, prior=prior):
            return stats.nbinom(family.trials[j], p).pmf(row[j]) * prior.pdf(p)

        expected += np.log(integrate.quad(density, 0.0, 1.0, epsabs=0.0, epsrel=1e-11, limit=500)[0])
    assert_allclose(family.log_marginal([row]), expected, rtol=1e-8)


def test_geometric_is_a_negative_binomial_with_one_success(rng):
    X = rng.integers(0, 9, size=(5, 2)).astype(float)
    geometric, other = (
        Geometric([1.5, 0.8], [2.0, 5.0]),
        NegativeBinomial([1.5, 0.8], [2.0, 5.0], [1.0, 1.0]),
    )
    assert geometric.log_marginal(X) == other.log_marginal(X)
    assert np.isfinite(Geometric.empirical(X).log_marginal(X))
    updated = geometric.posterior(seated_bank(dataclasses.replace(FAMILIES[0], family=geometric), X), 0)
    assert isinstance(updated, Geometric)


def test_fixed_gaussian_is_a_multivariate_normal(rng):
    """Rows of one cluster share a centre: their covariance is the variance, plus that of the centre."""
    X = rng.normal(size=(4, 3))
    expected = 0.0
    for j in range(3):
        centre = FIXED.variance[j] / FIXED.strength
        covariance = FIXED.variance[j] * np.eye(4) + centre
        expected += stats.multivariate_normal(np.full(4, FIXED.mean[j]), covariance).logpdf(X[:, j])
    assert_allclose(FIXED.log_marginal(X), expected, rtol=1e-11)


def test_fixed_gaussian_is_the_limit_of_a_certain_variance(rng):
    X = rng.normal(size=(6, 3))
    certain = DiagonalGaussian(FIXED.mean, FIXED.strength, 1e9, 1e9 * FIXED.variance)
    assert_allclose(FIXED.log_marginal(X), certain.log_marginal(X), rtol=1e-6)


@pytest.mark.parametrize("x", [0.0, 1.0, 7.0, 40.0, 3000.0])
def test_poisson_is_a_negative_binomial(x):
    row = np.array([x, x])
    expected = stats.nbinom(POISSON.shape, POISSON.rate / (POISSON.rate + 1)).logpmf(row).sum()
    assert_allclose(POISSON.log_marginal(row[None]), expected, rtol=1e-11)


def columns_apart(family, columns):
    """Return a mixed family column by column, any other as it is."""
    if not isinstance(family, Mixed):
        return [(family, columns)]
    return [(one, [j]) for one, j in zip(family.columns, columns, strict=True)]


@over_likelihoods
def test_summary_matches_the_draws(case):
    needs_posterior(case)
    rng = np.random.default_rng(0)
    updated = case.family.posterior(seated_bank(case, case.rows(rng, 60)), 0)
    whole = updated.parts if isinstance(updated, Product) else [(updated, range(updated.n_features))]
    parts = [one for part, columns in whole for one in columns_apart(part, columns)]
    draws = updated.sample(4000, rng)
    if case.name == "candidates":
        centre, error = updated.summary()["parameters"][0], draws.std() / np.sqrt(4000)
        assert abs(draws.mean() - centre) < 5 * error
        return
    for part, columns in parts:
        mine, summary = draws[:, list(columns)], part.summary()
        if "angle" in summary:
            resultant = np.exp(1j * mine[:, 0]).mean()
            assert abs(resultant - (1.0 - summary["variance"]) * np.exp(1j * summary["angle"])) < 0.06
            continue
        if "share" in summary:
            assert_allclose(mine.mean(axis=0) / part.total, summary["share"], atol=0.01)
            continue
        if case.name == "log-normal":
            mine = part.encode(mine)  # it describes the logarithms
        if "special" in summary:  # what else it says is about the other cells
            assert_allclose((mine == part.value).mean(axis=0), summary["special"], atol=0.04)
            mine = part.encode(mine[mine[:, 0] != part.value])[:, :1]
        if "mean" in summary:
            error = np.abs(mine.mean(axis=0) - summary["mean"])
            assert (error < 5 * mine.std(axis=0) / np.sqrt(len(mine))).all()
            assert_allclose(mine.var(axis=0), summary["variance"], rtol=0.25)
        else:
            first = (mine[:, 0] == part.levels[0][0]).mean()
            assert abs(first - summary["probability"][0][0]) < 0.04
