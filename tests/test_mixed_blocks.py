"""Tables of several kinds whose measurements vary together within a cluster."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from mapdp import (
    MAPDP,
    Bernoulli,
    Categorical,
    Gaussian,
    Mixed,
    Product,
    SharedGaussian,
    load,
    log_joint,
    save,
)
from mapdp.engine.build import seated
from mapdp.families.base import Clusters
from mapdp.families.for_columns import with_resolution
from mapdp.outputs.summary import summarise, view_of
from mapdp.partitions.process import DirichletProcess
from tests.partitions import all_partitions


def correlated_frame(rng, n=240):
    """Two clusters that only the correlation of two measurements, and a word, tell apart."""
    group = np.arange(n) % 2
    first = rng.normal(size=n)
    second = np.where(group == 1, 1.0, -1.0) * first + 0.2 * rng.normal(size=n)
    word = np.where(rng.random(n) < 0.9, np.array(["a", "b"])[group], np.array(["b", "a"])[group])
    visits = rng.poisson(1.0, size=n).astype(float)
    frame = pd.DataFrame({"word": word, "first": first, "visits": visits, "second": 5.0 + 3.0 * second})
    return frame, group


@pytest.fixture(scope="module")
def fitted():
    frame, group = correlated_frame(np.random.default_rng(3))
    frame.loc[frame.index[:4], ["first", "second"]] = np.nan
    frame.loc[frame.index[10:14], "word"] = None
    return MAPDP(random_state=0).fit(frame), frame, group


def test_measurements_of_mixed_tables_vary_together_where_the_joint_prefers_it(fitted):
    model, frame, group = fitted
    assert model.models_[0].structure == "full covariance of 2 columns"
    assert {one.structure for one in model.models_} >= {
        "independent columns",
        "shared covariance of 2 columns",
    }
    block, columns = model.family_.parts[0]
    assert isinstance(block, Gaussian)
    assert columns == (1, 3)
    assert model.n_clusters_ == 2
    sure = np.r_[4:10, 14 : len(group)]
    assert (model.labels_[sure] == group[sure]).mean() > 0.9 or (
        model.labels_[sure] != group[sure]
    ).mean() > 0.9
    said = summarise(model, view_of(model, frame)).model
    assert said.startswith("full covariance of 2 columns, its prior learned from the table, ")
    apart = MAPDP(random_state=0, covariance="diagonal").fit(frame)
    assert model.log_joint_ > apart.log_joint_ + 50.0


def test_the_joint_is_that_of_the_parts(fitted):
    """Rows without measurements count in the other columns only, and in the prior of the partition."""
    model, frame, _ = fitted
    numbers, labels = model.numbers_of(frame), model.labels_
    total = model.mixture_.process.log_eppf(model.cluster_sizes_)
    for k in range(model.n_clusters_):
        for part, columns in model.family_.parts:
            cells = numbers[labels == k][:, list(columns)]
            total += part.log_marginal(cells[~np.isnan(cells).all(axis=1)])
    assert_allclose(model.log_joint_, total - np.sum(model.schema_.log_units(numbers)), rtol=1e-10)
    assert_allclose(model.log_joint_of(frame, labels), model.log_joint_, rtol=1e-12)


def test_what_was_learned_is_kept_in_a_file(fitted, tmp_path):
    model, frame, _ = fitted
    save(model, tmp_path / "model.mapdp")
    again = load(tmp_path / "model.mapdp")
    assert_allclose(again.predict_proba(frame), model.predict_proba(frame))
    assert str(again.describe()) == str(model.describe())
    assert str(again.models_) == str(model.models_)


def test_clusters_and_rows_are_explained_column_by_column(fitted):
    model, frame, _ = fitted
    assert {one.name for one in model.describe()[0].features} == set(frame.columns)
    why = model.explain(frame)
    assert why.by_column.shape == frame.shape
    assert_allclose(why.by_column[:4, [1, 3]], 0.0)  # gaps say nothing
    drawn, _ = model.sample(20, random_state=0)
    assert np.shape(drawn) == (20, 4)


def product(kind):
    block = kind.empirical(np.random.default_rng(1).normal(size=(30, 2)) @ [[1.0, 0.8], [0.0, 0.6]])
    others = Mixed([Categorical([[0, 1, 2]], [[0.5, 0.5, 0.5]]), Bernoulli(1.0, 1.0)])
    return Product([(block, [2, 0]), (others, [1, 3])])


def rows_of(rng, n):
    group = rng.integers(0, 2, size=n)
    real = rng.normal(size=(n, 2)) @ [[1.0, 0.8], [0.0, 0.6]] + 3.0 * group[:, None]
    return np.column_stack([real[:, 0], rng.integers(0, 3, size=n), real[:, 1], group]).astype(float)


@pytest.mark.parametrize("kind", [Gaussian, SharedGaussian])
def test_a_row_with_gaps_has_the_density_of_its_cells(kind):
    """A missing measurement is integrated out, a missing level summed out."""
    rng = np.random.default_rng(2)
    X = rows_of(rng, 40)
    model = MAPDP(1.0, family=product(kind)).fit(X)
    density = lambda rows: np.exp(model.score_samples(rows))  # noqa: E731
    row = X[:1].copy()
    row[0, 2] = row[0, 1] = np.nan
    grid = np.linspace(-60.0, 60.0, 24001)
    every = np.repeat(row, len(grid), axis=0)
    every[:, 2] = grid
    total = 0.0
    for level in range(3):
        every[:, 1] = level
        total += integrate.simpson(density(every), x=grid)
    assert_allclose(density(row)[0], total, rtol=1e-4)
    row[0, 0] = np.nan  # nothing measured at all
    several = np.repeat(row, 2, axis=0)
    several[:, 3] = [0.0, 1.0]
    assert_allclose(density(several).sum(), 1.0, rtol=1e-10)  # a probability


@pytest.mark.parametrize("kind", [Gaussian, SharedGaussian])
def test_gaps_are_filled_by_what_a_cluster_says_of_the_other_cells(kind):
    rng = np.random.default_rng(2)
    X = rows_of(rng, 40)
    model = MAPDP(1.0, family=product(kind)).fit(X)
    gap = X[:5].copy()
    gap[:, 2] = np.nan
    chances = model.predict_proba(gap)[:, :-1]
    chances /= chances.sum(axis=1, keepdims=True)
    blocks = [model.family_.posterior(model.mixture_.bank, k).parts[0][0] for k in range(model.n_clusters_)]
    expected = [[one.given(np.array([1]), row[[0]])[0][0] for one in blocks] for row in gap]
    assert_allclose(model.impute(gap)[:, 2], (chances * expected).sum(axis=1), rtol=1e-10)
    levels = X[:5].copy()
    levels[:, 1] = np.nan
    assert set(model.impute(levels)[:, 1]) <= {0.0, 1.0, 2.0}


@pytest.mark.parametrize("kind", [Gaussian, SharedGaussian])
def test_parts_learn_as_they_do_alone(kind):
    """A cluster without any measurement teaches the block nothing."""
    rng = np.random.default_rng(4)
    X, labels = rows_of(rng, 60), np.repeat(np.arange(3), 20).astype(np.int32)
    X[labels == 1, 0] = X[labels == 1, 2] = np.nan
    X[5, 1] = np.nan
    family = with_resolution(product(kind), np.full(4, 0.1))
    both = family.learned(clusters_of(family, X, labels), 1e-9)
    alone = []
    for part, columns in family.parts:
        cells = X[:, list(columns)]
        seen = ~np.isnan(cells).all(axis=1)
        names, own = np.unique(labels[seen], return_inverse=True)
        assert len(names) == (2 if part is family.parts[0][0] else 3)
        alone.append(part.learned(clusters_of(part, cells[seen], own.astype(np.int32)), 1e-9))
    assert_allclose(both.parts[0][0].scale, alone[0].scale, rtol=1e-8)
    assert_allclose(both.parts[0][0].mean, alone[0].mean, rtol=1e-8)
    assert_allclose(both.parts[1][0].columns[0].concentration[0], alone[1].columns[0].concentration[0])
    assert both.n_learned == sum(part.n_learned for part in alone)


def clusters_of(family, X, labels):
    rows = family.encode(X)
    state = seated(rows, labels, family, DirichletProcess(1.0))
    return Clusters(state.bank, state.n_clusters, rows, labels)


def test_columns_with_gaps_of_their_own_stay_apart(rng):
    frame, _ = correlated_frame(rng)
    frame["third"] = frame["first"] + 0.1 * rng.normal(size=len(frame))
    frame.loc[frame.index[: len(frame) // 2], "third"] = np.nan
    model = MAPDP(random_state=0).fit(frame)
    assert model.family_.parts[0][1] == (1, 3)
    with pytest.raises(ValueError, match="gaps only in rows that lack all of them"):
        MAPDP(covariance="full", prior="paper").fit(frame)


def test_columns_with_few_gaps_of_their_own_are_filled(rng):
    frame, _ = correlated_frame(rng)
    frame["third"] = frame["first"] + 0.1 * rng.normal(size=len(frame))
    hidden, frame.loc[frame.index[5:9], "third"] = frame["third"].iloc[5:9].to_numpy(copy=True), np.nan
    model = MAPDP(random_state=0).fit(frame)
    assert model.family_.parts[0][1] == (1, 3, 4)
    assert_allclose(model._filled.values, hidden, atol=0.4)


@pytest.mark.parametrize("covariance", ["full", "shared", "spherical"])
def test_a_covariance_may_be_asked_for(covariance, rng):
    frame, _ = correlated_frame(rng, 60)
    model = MAPDP(covariance=covariance, random_state=0).fit(frame)
    (tried,) = model.models_
    assert "of 2 columns" in tried.structure
    paper = MAPDP(covariance=covariance, prior="paper", alpha=1.0).fit(frame)
    assert isinstance(paper.family_, Product)


def test_gaps_within_a_given_block_are_refused(rng):
    X = rows_of(rng, 20)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="gaps in columns of a Product that are not independent"):
        MAPDP(family=product(Gaussian)).fit(X)


def test_weights_beside_a_block_count_rows_again(rng):
    X = rows_of(rng, 12)
    X[2, 1] = np.nan
    X[4, [0, 2]] = np.nan
    twice = MAPDP(1.0, family=product(Gaussian), weights="repeats").fit(X, sample_weight=np.full(12, 2.0))
    again = MAPDP(1.0, family=product(Gaussian)).fit(np.vstack([X, X]))
    same = again.log_joint_of(np.vstack([X, X]), np.r_[twice.labels_, twice.labels_])
    assert_allclose(twice.log_joint_, same, rtol=1e-9)


def test_a_table_in_blocks_and_a_stream_take_them_too(rng):
    frame, _ = correlated_frame(rng, 300)
    frame.loc[frame.index[::50], "word"] = None
    model = MAPDP(random_state=0)
    model.partial_fit(frame.iloc[:200]).partial_fit(frame.iloc[200:])
    assert isinstance(model.family_, Product)
    torn = frame.iloc[:5].copy()
    torn.loc[torn.index[0], "first"] = np.nan
    model.partial_fit(torn)
    assert len(model.labels_) == 5


def test_the_joint_of_all_partitions_of_a_learned_model():
    """Under the model that was learned, no partition of seven rows is more probable than the one found."""
    frame, _ = correlated_frame(np.random.default_rng(8), 7)
    frame.loc[frame.index[2], ["first", "second"]] = np.nan
    model = MAPDP(random_state=0, covariance="full").fit(frame)
    assert isinstance(model.family_, Product)
    best = max(model.log_joint_of(frame, labels) for labels in all_partitions(7))
    assert_allclose(model.log_joint_, best, rtol=1e-10)
    numbers = model.numbers_of(frame)
    naive = log_joint(numbers, model.labels_, family=model.family_, process=model.mixture_.process)
    assert_allclose(model.log_joint_, naive - np.sum(model.schema_.log_units(numbers)), rtol=1e-9)


def accident(rng):
    """Return a small frame of measurements, words and counts, with gaps, ties and numbers of 1e12."""
    n = int(rng.choice([2, 5, 20, 50]))
    real = rng.normal(size=(n, 3)) + 4.0 * rng.integers(0, 2, size=(n, 1))
    real[:, 1] = rng.choice([real[:, 0], np.round(real[:, 1]), np.full(n, 2.5), 1e-9 * real[:, 1]])
    if rng.random() < 0.3:
        real[rng.integers(n), 2] = 1e12
    frame = pd.DataFrame(real, columns=["a", "b", "c"])
    frame["word"], frame["count"] = rng.choice(list("xyz"), size=n), rng.poisson(0.7, size=n)
    frame = frame.mask(rng.random(frame.shape) < rng.choice([0.0, 0.1]))
    frame.loc[rng.random(n) < rng.choice([0.0, 0.2]), ["a", "b", "c"]] = np.nan
    return frame


def test_small_tables_with_accidents_are_fitted():
    for seed in range(40):
        frame = accident(np.random.default_rng(seed))
        model = MAPDP().fit(frame)
        assert_allclose(model.log_joint_of(frame, model.labels_), model.log_joint_, rtol=1e-7, atol=1e-6)
        assert np.isfinite(model.log_joint_)
        assert len(model.predict(frame)) == len(frame)
