"""Rows with gaps: what is there is all that counts; what is missing can be filled."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, Bernoulli, DiagonalGaussian, Gaussian, Mixed, Poisson, SphericalGaussian, log_joint
from mapdp.insights.describe import nats_apart
from tests.contract.cases import FAMILIES, over_families


def holed(X, share, rng):
    X = np.where(rng.random(X.shape) < share, np.nan, X)
    X[0] = np.nan  # a row of which nothing is known
    return X


def test_joint_with_gaps_is_that_of_the_cells_that_are_there(rng):
    X, labels = holed(rng.normal(size=(20, 3)), 0.3, rng), rng.integers(0, 3, 20)
    prior = DiagonalGaussian([0.0, 1.0, 2.0], 0.3, 1.5, [1.0, 2.0, 0.5])
    likelihood = 0.0
    for j in range(3):
        for k in range(3):
            cells = X[labels == k, j]
            likelihood += prior.column(j).log_marginal(cells[~np.isnan(cells), None])
    flat = log_joint(np.zeros((20, 1)), labels, alpha=1.0, family=DiagonalGaussian(0.0, 1.0, 1.0, 1.0))
    alone = sum(
        DiagonalGaussian(0.0, 1.0, 1.0, 1.0).log_marginal(np.zeros((n, 1))) for n in np.bincount(labels)
    )
    assert_allclose(
        log_joint(X, labels, alpha=1.0, family=Mixed.of(prior)), likelihood + flat - alone, rtol=1e-11
    )


def test_clusters_are_found_in_spite_of_gaps(rng):
    truth = rng.integers(0, 3, 150)
    X = rng.normal(size=(150, 4)) + 9.0 * np.eye(4)[truth]
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = MAPDP(alpha=1.0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, truth) > 0.85


@pytest.mark.parametrize("kind", [DiagonalGaussian, Gaussian, SphericalGaussian])
def test_prediction_with_gaps_is_the_integral_over_them(kind, rng):
    """The density of the first column is that of a row whose other columns are missing."""
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 5.0])
    model = MAPDP(alpha=1.0, family=kind).fit(X)
    x, grid = 0.3, np.linspace(-4000.0, 4000.0, 2_000_001)
    rows = np.column_stack([np.full(len(grid), x), grid])
    integral = np.exp(model.score_samples(rows)).sum() * (grid[1] - grid[0])
    assert_allclose(np.exp(model.score_samples([[x, np.nan]])), integral, rtol=2e-3)
    nothing = model.predict_proba([[np.nan, np.nan]])[0]
    sizes = np.append(model.cluster_sizes_, 1.0)
    assert_allclose(nothing, sizes / sizes.sum(), rtol=1e-9)


def test_full_covariance_fills_along_the_slope(rng):
    """Two columns that are nearly equal: the one tells the other."""
    x = rng.normal(size=200)
    X = np.column_stack([x, x + 0.1 * rng.normal(size=200)])
    hidden = rng.random(200) < 0.3
    given = np.where(np.column_stack([np.zeros(200, bool), hidden]), np.nan, X)
    model = MAPDP(alpha=0.1, family=Gaussian).fit(given)
    filled, spread = model.impute(given, return_spread=True)
    error = filled[hidden, 1] - X[hidden, 1]
    assert model.n_clusters_ == 1
    assert np.sqrt((error**2).mean()) < 0.15
    assert_allclose(np.sqrt((error**2).mean()), spread[hidden, 1].mean(), rtol=0.4)


def test_imputed_spread_is_honest(rng):
    """About two thirds of the hidden numbers lie within one standard deviation."""
    group = rng.integers(0, 2, 500)
    X = rng.normal(size=(500, 3)) + 6.0 * group[:, None]
    hidden = rng.random(X.shape) < 0.2
    given = np.where(hidden, np.nan, X)
    filled, spread = MAPDP(alpha=1.0).fit(given).impute(given, return_spread=True)
    inside = (np.abs(filled - X) < spread)[hidden].mean()
    assert 0.6 < inside < 0.76
    assert (filled[~hidden] == X[~hidden]).all()


def test_levels_are_filled_with_the_most_probable_one():
    table = pd.DataFrame({"a": ["x", "y"] * 30, "b": ["p", "q"] * 30, "n": [0.0, 9.0] * 30})
    table.loc[4, "b"] = None
    table["n"] += np.random.default_rng(0).normal(size=60)
    model = MAPDP(alpha=1.0).fit(table)
    filled, spread = model.impute(table, return_spread=True)
    assert filled.loc[4, "b"] == "p"
    assert 0.0 < spread[4, 1] < 0.1


def test_every_kind_of_table_comes_back_as_it_was(rng):
    table = pd.DataFrame(
        {
            "t": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.normal(0, 9, 40), unit="D"),
            "x": rng.normal(size=40),
            "c": np.array(["u", "v"])[rng.integers(0, 2, 40)],
        }
    )
    table.loc[3, ["t", "x"]] = None
    table.loc[5, "c"] = None
    for made in (table, pl.from_pandas(table), pa.Table.from_pandas(table)):
        filled = MAPDP(alpha=1.0).fit(made).impute(made)
        assert type(filled) is type(made)
        back = filled if isinstance(filled, pd.DataFrame) else filled.to_pandas()
        assert not back.isna().any(axis=None)
        assert abs((back.loc[3, "t"] - pd.Timestamp("2024-01-01")).days) < 20


@over_families
def test_every_family_describes_explains_and_fills(case, rng):
    X = case.rows(rng, 40)
    model = MAPDP(alpha=1.0, family=case.family).fit(X)
    clusters = model.describe()
    assert [cluster.size for cluster in clusters] == model.cluster_sizes_.tolist()
    assert all(len(cluster.features) == case.family.n_described for cluster in clusters)
    why = model.explain(X)
    if case.family.has_columns or case.family.is_whole:
        assert_allclose(why.by_size + why.by_column.sum(axis=1), why.log_odds, atol=1e-8)
    if case.family.is_whole:
        with pytest.raises(ValueError, match="cannot fill gaps"):
            model.impute(X)
        return
    X[3, 0] = np.nan
    filled = model.impute(X)
    assert np.isfinite(filled[3, 0])


COLUMNWISE = [case for case in FAMILIES if case.family.has_columns and case.name != "gaps"]


@pytest.mark.parametrize("case", COLUMNWISE, ids=[case.name for case in COLUMNWISE])
def test_evidence_is_a_ratio_of_marginals(case, rng):
    X, labels = case.rows(rng, 24), np.arange(24) % 3
    model = MAPDP(alpha=1.0, family=case.family, init=labels, max_iter=1, search="icm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    chairs = [model.family_.sums(model.mixture_.bank, k) for k in range(model.n_clusters_)]
    nats = nats_apart(model.family_, chairs)
    for k in range(model.n_clusters_):
        for j in range(X.shape[1]):
            column, mine = case.family.column(j), model.labels_ == k
            own, others = column.log_marginal(X[mine, j : j + 1]), column.log_marginal(X[~mine, j : j + 1])
            assert_allclose(nats[k, j], own + others - column.log_marginal(X[:, j : j + 1]), atol=1e-8)


def test_a_column_that_says_nothing_is_evidence_against(rng):
    X = np.column_stack([rng.normal(size=80) + 8.0 * (np.arange(80) % 2), rng.normal(size=80)])
    first = MAPDP(alpha=1.0).fit(X).describe()[0]
    assert first.features[0].name == "column 0"
    assert first.features[0].nats > 10.0 > 0.0 > first.features[1].nats
    assert "cluster 0: 40 rows (50.0%)" in str(first)


def test_reasons_name_the_column_that_decides(rng):
    table = pd.DataFrame(
        {"height": np.repeat([0.0, 50.0], 40) + rng.normal(size=80), "noise": rng.normal(size=80)}
    )
    why = MAPDP(alpha=1.0, prior="paper").fit(table).explain(table)
    (first, nats), (_, less) = why.reasons(0)
    assert first == "height"
    assert nats > 2.0 * abs(less)


def test_spherical_gaussian_is_a_multivariate_student_t(rng):
    family = SphericalGaussian([1.0, -1.0], 0.5, 2.0, 3.0, [1.0, 2.0])
    x = rng.normal(size=2)
    shape = np.diag([1.0, 4.0]) * (3.0 / 2.0) * 1.5 / 0.5
    assert_allclose(
        family.log_marginal([x]), stats.multivariate_t([1.0, -1.0], shape, 4.0).logpdf(x), rtol=1e-12
    )


def test_families_without_gaps_take_them_as_classes(rng):
    X = rng.poisson(3.0, size=(30, 2)).astype(float)
    X[2, 1] = np.nan
    assert isinstance(MAPDP(alpha=1.0, family=Poisson).fit(X).family_, Mixed)
    assert isinstance(MAPDP(alpha=1.0, family=Bernoulli(1.0, 1.0)).fit((X > 2) * 1.0).family_, Bernoulli)
