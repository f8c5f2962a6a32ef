"""Every way to fit, on tables of a few rows: the joint that it reports is that of its labels.

The tables are so small that all of this runs without machine code, too: `scripts/coverage` does that.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from mapdp import MAPDP, MAPHMM, GibbsDPM, HierarchicalMAPDP, Multinomial, NestedMAPDP
from mapdp.data.blocks import ArrayBlocks
from tests.contract.cases import over_likelihoods


def two_groups(n=12, n_columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_columns)) + 6.0 * (np.arange(n) % 2)[:, None]


def mixed():
    X = two_groups()
    table = pd.DataFrame(
        {"x": X[:, 0], "y": X[:, 1], "word": ["a", "b", "b"] * 4, "visits": [0, 3, 0, 5] * 3}
    )
    table.loc[2, ["x", "word"]] = np.nan, None
    return table


def is_exact(model, X):
    return np.isclose(model.log_joint_, model.log_joint_of(X, model.labels_), rtol=1e-9, atol=1e-8)


SETTINGS = {
    "full": {"covariance": "full"},
    "shared": {"covariance": "shared"},
    "spherical": {"covariance": "spherical"},
    "map": {"alpha": "map", "prior": "paper"},
    "pitman-yor": {"discount": 0.3, "init": "singletons"},
    "outliers": {"background": True},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_any_setting(name):
    X = two_groups()
    assert is_exact(MAPDP(**SETTINGS[name], random_state=0).fit(X), X)


def test_mixed_columns_with_gaps():
    table = mixed()
    model = MAPDP(random_state=0).fit(table)
    assert is_exact(model, table)
    assert not model.impute(table).isna().any().any()


def test_clusters_are_cut_by_their_columns():
    X = two_groups(240, 4)
    X[:, 3] = np.arange(240) % 2
    model = MAPDP(1.0, prior="paper", covariance="diagonal", init="single", n_init=1).fit(X)
    assert model.n_clusters_ >= 2
    assert is_exact(model, X)


@pytest.mark.parametrize(
    "what", [{"sample_weight": np.arange(12) % 3 + 1.0}, {"groups": np.arange(12) // 4}]
)
def test_rows_that_sit_together(what):
    model = MAPDP(1.0, prior="paper", n_init=2).fit(two_groups(), **what)
    assert np.isfinite(model.log_joint_)
    assert all(len(set(model.labels_[what.get("groups", np.arange(12)) == g])) == 1 for g in range(3))


def test_known_labels_stay_apart():
    X = two_groups()
    model = MAPDP(1.0, prior="paper").fit(X, [0, 1, 0, 1] + [-1] * 8)
    assert model.labels_[0] == model.labels_[2] != model.labels_[1] == model.labels_[3]


def test_blocks_have_the_joint_of_the_table():
    X = two_groups(40)
    model = MAPDP(1.0, prior="paper", covariance="diagonal").fit(ArrayBlocks(X, 8))
    assert is_exact(model, X)


def test_sparse_rows_have_the_joint_of_dense_ones():
    counts = np.random.default_rng(0).poisson(np.where(np.arange(10)[:, None] % 2, [9, 0, 1], [0, 9, 1]))
    model = MAPDP(1.0, family=Multinomial).fit(csr_array(counts))
    assert np.isclose(model.log_joint_, model.log_joint_of(counts, model.labels_))


def test_streams():
    model, X = MAPDP(1.0, prior="paper"), two_groups(30)
    for batch in np.array_split(X, 3):
        model.partial_fit(batch, half_life=20.0)
    assert model.n_clusters_ == 2


@pytest.mark.parametrize(
    "options", [{}, {"collapsed": False}, {"alpha_prior": ("gamma", 1.0, 1.0)}], ids=str
)
def test_chains(options):
    X = two_groups()
    model = GibbsDPM(1.0, n_sweeps=6, n_chains=2, random_state=0, **options).fit(X)
    assert model.samples_.shape[1] == 12
    assert np.isfinite(model.score_samples(X)).all()


def test_uncertainty_and_one_partition_for_all_samples():
    X = two_groups()
    sure = MAPDP(1.0, prior="paper").fit(X).uncertainty(X, n_sweeps=8)
    assert len(sure.summary_partition()) == 12


@pytest.mark.parametrize("kind", [HierarchicalMAPDP, NestedMAPDP])
def test_groups(kind):
    X, group = two_groups(), np.arange(12) // 4
    model = kind(random_state=0).fit(X, groups=group)
    assert len(model.predict(X, groups=group)) == 12
    assert np.isfinite(model.log_joint_)


def test_sequences():
    X = np.concatenate([two_groups()[::2], two_groups()[1::2]])
    model = MAPHMM(random_state=0).fit(X)
    assert np.isfinite(model.score(X))


@over_likelihoods
def test_any_likelihood(case):
    X = case.rows(np.random.default_rng(0), 9)
    model = MAPDP(1.0, family=case.family, search="icm").fit(X)
    assert is_exact(model, X)
    assert len(model.predict(X)) == 9
