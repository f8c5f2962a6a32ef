"""Weights, groups and known labels: blocks of rows that move as one."""

import numpy as np
import pytest

from mapdp import (
    MAPDP,
    DiagonalGaussian,
    Gaussian,
    Mixed,
    MixtureOfFiniteMixtures,
    PitmanYor,
    Poisson,
    Product,
    log_joint,
)
from mapdp.outputs.saving import from_bytes, to_bytes
from mapdp.search.weighted_rows import _group_names
from tests.contract.cases import TABLE, _table
from tests.partitions import all_partitions


def blobs(rng, n=60):
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
    labels = np.arange(n) % 3
    return centres[labels] + rng.normal(size=(n, 2)), labels


def test_whole_weights_are_repeated_rows_for_a_full_covariance(rng):
    X, _ = blobs(rng)
    weights, prior = rng.integers(1, 5, size=len(X)), Gaussian.empirical(X)
    model = MAPDP(weights="repeats", alpha=1.0, family=prior, search="icm").fit(X, sample_weight=weights)
    repeated, again = np.repeat(X, weights, axis=0), np.repeat(model.labels_, weights)
    assert model.log_joint_ == pytest.approx(log_joint(repeated, again, alpha=1.0, family=prior), rel=1e-10)


@pytest.mark.parametrize("process", [PitmanYor(1.0), PitmanYor(0.7, 0.3), MixtureOfFiniteMixtures()])
def test_whole_weights_are_repeated_rows(process, rng):
    X, _ = blobs(rng)
    weights = rng.integers(1, 5, size=len(X))
    repeated, prior = np.repeat(X, weights, axis=0), DiagonalGaussian.empirical(X)
    model = MAPDP(weights="repeats", process=process, family=prior).fit(X, sample_weight=weights)
    again = np.repeat(model.labels_, weights)
    expected = log_joint(repeated, again, process=process, family=prior)
    assert model.log_joint_ == pytest.approx(expected, rel=1e-11)
    plain = MAPDP(process=process, family=prior).fit(repeated)
    np.testing.assert_array_equal(plain.labels_, again)
    np.testing.assert_array_equal(model.cluster_sizes_, plain.cluster_sizes_)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-9)


def test_whole_weights_are_repeated_rows_in_a_mixed_table_with_gaps(rng):
    X = np.where(rng.random((30, 7)) < 0.2, np.nan, _table(rng, 30))
    weights = rng.integers(1, 4, size=30)
    model = MAPDP(weights="repeats", alpha=1.0, family=TABLE).fit(X, sample_weight=weights)
    repeated, again = np.repeat(X, weights, axis=0), np.repeat(model.labels_, weights)
    expected = log_joint(repeated, again, alpha=1.0, family=TABLE)
    assert model.log_joint_ == pytest.approx(expected, rel=1e-10)


def test_weights_know_the_columns_of_a_product(rng):
    X = np.column_stack([rng.poisson(3.0, size=40), rng.normal(size=40), rng.poisson(30.0, size=40)])
    weights, bell = rng.integers(1, 4, size=40), DiagonalGaussian([0.0], 0.5, 1.0, [1.0])
    few, many = Poisson(1.0, 0.3), Poisson(2.0, 0.1)
    product = Product([(bell, [1]), (many, [2]), (few, [0])])
    model = MAPDP(weights="repeats", alpha=1.0, family=product, search="icm").fit(X, sample_weight=weights)
    repeated, again = np.repeat(X, weights, axis=0), np.repeat(model.labels_, weights)
    expected = log_joint(repeated, again, alpha=1.0, family=Mixed([few, bell, many]))
    assert model.log_joint_ == pytest.approx(expected, rel=1e-11)


def test_rows_of_no_weight_change_nothing_and_join_the_best_cluster(rng):
    X, _ = blobs(rng)
    weights = np.where(np.arange(60) < 12, 0.0, 1.0)
    prior = DiagonalGaussian.empirical(X)
    model, others = (
        MAPDP(weights="repeats", alpha=1.0, family=prior),
        MAPDP(weights="repeats", alpha=1.0, family=prior).fit(X[12:]),
    )
    model.fit(X, sample_weight=weights)
    assert model.log_joint_ == pytest.approx(others.log_joint_, rel=1e-12)
    np.testing.assert_array_equal(model.labels_[12:], others.labels_)
    np.testing.assert_array_equal(model.labels_[:12], others.predict_proba(X[:12])[:, :-1].argmax(axis=1))


def test_real_weights_lie_between_whole_ones(rng):
    """The joint is a smooth function of a weight, and right at both ends."""
    X, _ = blobs(rng, 12)
    prior, weights = DiagonalGaussian.empirical(X), np.ones(12)
    joints = []
    for weight in (1.0, 1.0 + 1e-6, 1.5, 2.0 - 1e-6, 2.0):
        weights[0] = weight
        fit = MAPDP(
            weights="repeats",
            alpha=1.0,
            family=prior,
            search="icm",
            init=np.zeros(12, dtype=int),
            max_iter=1,
        )
        joints.append(fit.fit(X, sample_weight=weights).log_joint_)
    assert joints[1] == pytest.approx(joints[0], abs=1e-4)
    assert joints[3] == pytest.approx(joints[4], abs=1e-4)
    assert min(joints[0], joints[4]) - 1.0 < joints[2] < max(joints[0], joints[4]) + 1.0


def test_one_weight_for_all_may_be_a_number(rng):
    X, _ = blobs(rng)
    two, pairs = (
        MAPDP(weights="repeats", alpha=1.0).fit(X, sample_weight=2.0),
        MAPDP(weights="repeats", alpha=1.0).fit(X, sample_weight=np.full(60, 2)),
    )
    assert two.log_joint_ == pairs.log_joint_
    assert two.cluster_sizes_.sum() == 120


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (np.ones(5), "one number for each of the 60 rows"),
        (np.full(60, -1.0), "not negative, got -1.0 in row 0"),
        (np.zeros(60), "all zero"),
        (np.full(60, np.nan), "finite"),
    ],
)
def test_bad_weights_are_refused(weights, says, rng):
    with pytest.raises(ValueError, match=says):
        MAPDP(weights="repeats").fit(blobs(rng)[0], sample_weight=weights)


def test_weights_below_the_discount_are_refused(rng):
    with pytest.raises(ValueError, match="above the discount"):
        MAPDP(weights="repeats", alpha=1.0, discount=0.5).fit(blobs(rng)[0], sample_weight=0.25)


def test_the_best_grouped_partition_of_all_is_found(rng):
    """Seven rows in five blocks: all 52 partitions of the blocks are tried."""
    X = rng.normal(size=(7, 2)) * 3.0
    groups = np.array([0, 0, 1, 2, 3, 3, 4])
    prior = DiagonalGaussian(mean=[0.0, 0.0], strength=0.3, shape=1.5, rate=[1.0, 1.0])
    best = max(
        log_joint(X, np.asarray(labels)[groups], alpha=1.0, family=prior) for labels in all_partitions(5)
    )
    model = MAPDP(alpha=1.0, family=prior).fit(X, groups=groups)
    assert model.log_joint_ == pytest.approx(best, rel=1e-10)


def test_groups_share_a_cluster_and_rows_without_one_are_free(rng):
    X, _ = blobs(rng)
    groups = np.where(np.arange(60) < 10, 7, -1)
    model = MAPDP(alpha=1.0, prior="paper").fit(X, groups=groups)
    assert len(set(model.labels_[:10])) == 1
    named = MAPDP(alpha=1.0, prior="paper").fit(X, groups=[None if g < 0 else "a" for g in groups])
    np.testing.assert_array_equal(named.labels_, model.labels_)
    assert model.log_joint_ == pytest.approx(
        log_joint(X, model.labels_, alpha=1.0, family=DiagonalGaussian.empirical(X)), rel=1e-11
    )


def test_known_labels_are_kept_together_and_apart(rng):
    X, _ = blobs(rng)
    y = np.full(60, -1)
    y[[0, 3, 6]], y[[1, 4]], y[9] = 0, 1, 2  # rows 0, 3, 6, 9 are of one blob, 1 and 4 of another
    model = MAPDP(alpha=1.0).fit(X, y)
    known = y >= 0
    np.testing.assert_array_equal(model.known_labels_[model.labels_[known]], y[known])
    assert model.labels_[0] != model.labels_[9]
    free = MAPDP(alpha=1.0).fit(X)
    assert free.labels_[0] == free.labels_[9]
    assert model.n_clusters_ == free.n_clusters_ + 1


def test_groups_may_be_a_list_of_names_and_gaps():
    names = _group_names(["a", "a", -1, -1, None, np.nan], 6)
    assert names[0] == names[1]
    assert len(set(names)) == 5


def test_known_labels_may_be_whole_floats(rng):
    X, _ = blobs(rng)
    y = np.where(np.arange(60) < 2, np.arange(60), -1)
    np.testing.assert_array_equal(
        MAPDP(alpha=1.0).fit(X, y.astype(float)).labels_, MAPDP(alpha=1.0).fit(X, y).labels_
    )
    with pytest.raises(ValueError, match="y must hold a label"):
        MAPDP().fit(X, y[:9])


def test_labels_that_are_all_known_are_ignored(rng):
    X, truth = blobs(rng)
    np.testing.assert_array_equal(MAPDP(alpha=1.0).fit(X, truth).labels_, MAPDP(alpha=1.0).fit(X).labels_)


def test_groups_that_tie_different_labels_are_refused(rng):
    X, _ = blobs(rng)
    y, groups = np.full(60, -1), np.full(60, -1)
    y[:2], groups[:2] = [3, 4], 0
    with pytest.raises(ValueError, match="tie rows of label 3 to rows of label 4"):
        MAPDP().fit(X, y, groups=groups)


def test_wrong_lengths_of_groups_are_refused(rng):
    with pytest.raises(ValueError, match="groups must name"):
        MAPDP().fit(blobs(rng)[0], groups=[1, 2])


@pytest.mark.parametrize("alpha", ["nll", "cv", "map"])
def test_every_rule_for_alpha_counts_rows_not_blocks(alpha, rng):
    X, _ = blobs(rng)
    weighted = MAPDP(weights="repeats", prior="paper", alpha=alpha, random_state=0)
    weighted.fit(X, sample_weight=np.full(60, 3))
    assert weighted.n_clusters_ == 3
    if alpha != "cv":  # whose folds are others
        repeated = MAPDP(alpha=alpha, family=Mixed.of(DiagonalGaussian.empirical(X)), random_state=0)
        assert weighted.alpha_ == pytest.approx(repeated.fit(np.repeat(X, 3, axis=0)).alpha_, rel=1e-6)


def test_uncertainty_of_weighted_rows_needs_the_weights(rng):
    X, _ = blobs(rng)
    model = MAPDP(weights="repeats", alpha=1.0).fit(X, sample_weight=2.0)
    assert model.uncertainty(X, n_sweeps=20).membership.shape == (60, model.n_clusters_ + 1)
    with pytest.raises(ValueError, match="a saved model does not keep its weights"):
        from_bytes(to_bytes(model)).uncertainty(X)


def test_weights_that_look_relative_are_pointed_out(rng):
    """All 2 or all 1 / N is probably not meant as repeats; the relative reading ignores the scale."""
    X = blobs(rng)[0]
    for weight in (2.0, 1.0 / len(X)):
        with pytest.warns(UserWarning, match='sample_weight has a mean of .* weights="relative"'):
            MAPDP(alpha=1.0).fit(X, sample_weight=np.full(len(X), weight))
    plain = MAPDP(alpha=1.0).fit(X, sample_weight=np.ones(len(X)))
    for weight in (2.0, 0.1, 1.0 / len(X)):
        model = MAPDP(alpha=1.0, weights="relative").fit(X, sample_weight=np.full(len(X), weight))
        assert (model.labels_ == plain.labels_).all()
        assert model.log_joint_ == pytest.approx(plain.log_joint_, rel=1e-9)
    with pytest.raises(
        ValueError, match="weights must be None or one of 'repeats', 'relative', got 'both'"
    ):
        MAPDP(weights="both").fit(X)
