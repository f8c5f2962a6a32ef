"""Gaps that come late in a stream: the same model goes on, cell by cell, and its joint stays exact."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, Gaussian, Mixed, Multinomial, Poisson
from mapdp.compiled.lanes import whole_lanes
from mapdp.families import verbs
from mapdp.families.for_gaps import for_gaps, moved
from tests.contract.cases import FAMILIES

CENTRES = np.array([0.0, 20.0, 50.0])  # in every column: any cell tells them apart
WITHOUT_GAPS = [case for case in FAMILIES if case.family.has_columns and not isinstance(case.family, Mixed)]


def measured(n, rng):
    z = rng.integers(3, size=n)
    return CENTRES[z][:, None] + rng.normal(size=(n, 3)), z


def counted(n, rng):
    z = rng.integers(3, size=n)
    return rng.poisson(np.array([1.0, 60.0, 400.0])[z], size=(2, n)).T.astype(float), z


def coded(n, rng):
    z = rng.integers(3, size=n)
    return np.where(rng.random((n, 8)) < 0.97, z[:, None], rng.integers(3, size=(n, 8))).astype(float), z


def holding(family, X, bank=None):
    """Return a bank whose first chair has these rows; nothing is compiled."""
    bank = family.new_bank(whole_lanes(1)) if bank is None else bank
    for x in family.encode(X):
        verbs.insert(bank, 0, x - family.origin, family.scratch())
    return bank


@pytest.mark.parametrize("case", WITHOUT_GAPS, ids=lambda case: case.name)
def test_clusters_keep_their_marginals_and_count_gaps_from_then_on(case, rng):
    """Rows inserted before and after the move are as if all had been inserted in a family with gaps."""
    family, twin = case.family, for_gaps(case.family)
    X = case.rows(rng, 9)
    before, after = X[:6], X[6:].copy()
    after[0, 0] = np.nan
    first = holding(family, before)
    bank = moved(first, 1, family, twin)
    assert verbs.log_marginal(bank, 0) == pytest.approx(verbs.log_marginal(first, 0), rel=1e-11)
    expected = verbs.log_marginal(holding(twin, np.vstack([before, after])), 0)
    assert verbs.log_marginal(holding(twin, after, bank), 0) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(
    ("draw", "options"),
    [(measured, {"covariance": "diagonal"}), (counted, {"family": Poisson}), (coded, {"n_init": 1})],
    ids=["measured", "counted", "coded"],
)
def test_a_stream_goes_on_where_gaps_come_late(draw, options, monkeypatch):
    rng = np.random.default_rng(3)
    batches = [draw(700, rng) for _ in range(4)]
    for X, _ in batches[2:]:
        X[::15, 0] = X[7::15, 1] = np.nan
    model = MAPDP(**options)
    monkeypatch.setattr("mapdp.estimators.streaming.FEW", 600)
    for X, _ in batches:
        model.partial_fit(X)
    seen, z = np.vstack([X for X, _ in batches]), np.concatenate([z for _, z in batches])
    labels = model.predict(seen)
    assert model.family_.takes_gaps(seen)
    assert adjusted_rand_score(z, labels) == 1.0
    assert model.cluster_sizes_.tolist() == np.bincount(labels).tolist()
    assert model.log_joint_ == pytest.approx(model.log_joint_of(seen, labels), rel=1e-10)


def test_a_family_that_sees_rows_as_a_whole_has_no_twin():
    assert for_gaps(Multinomial([1.0, 1.0])) is None
    assert for_gaps(Gaussian([0.0, 0.0], 1.0, 3.0, np.eye(2))) is None
