import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import normalized_mutual_info_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mapdp import MAPDP, DPMeans, FixedGaussian
from mapdp.search.dp_means import MeansStart, dp_means, farthest_first_penalty
from tests.data import UCI, uci
from tests.partitions import all_partitions, canonical


@parametrize_with_checks([DPMeans(), DPMeans(n_clusters=3)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def objective(X, labels, lam):
    clusters = [X[labels == k] for k in np.unique(labels)]
    return sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in clusters) + lam * len(clusters)


def best_of_all(X, lam):
    return min(all_partitions(7), key=lambda labels: objective(X, labels, lam))


@pytest.mark.parametrize("lam", [10.0, 40.0, 1000.0])
def test_on_separate_groups_it_finds_the_best_of_all_partitions(lam, rng):
    X = rng.normal(size=(7, 2)) + 10.0 * rng.integers(0, 3, size=(7, 1))
    model = DPMeans(lam, n_init=10, random_state=0).fit(X)
    assert canonical(model.labels_) == canonical(best_of_all(X, lam))
    assert model.objective_ == pytest.approx(objective(X, model.labels_, lam), rel=1e-12)


@pytest.mark.parametrize("lam", [0.3, 1.0, 3.0, 10.0])
def test_the_best_of_all_partitions_is_where_it_stays(lam, rng):
    """From elsewhere it may get stuck: rows whose squared distance is above lam do not meet halfway."""
    X = rng.normal(size=(7, 2)) + 2.0 * rng.integers(0, 2, size=(7, 1))
    best = best_of_all(X, lam)
    centres = np.array([X[best == k].mean(axis=0) for k in range(best.max() + 1)])
    run = dp_means(X, lam, MeansStart(rng.permutation(7).astype(np.int32), centres), 10)
    assert canonical(run.labels) == canonical(best)


def test_the_first_price_is_that_of_the_farthest_first_rule():
    """From the mean 3.75: row 9 is 27.5625 away, then row 0 (14.0625), then row 5 (1.5625)."""
    X = np.array([[0.0], [1.0], [5.0], [9.0]])
    assert [farthest_first_penalty(X, k) for k in (1, 2, 3)] == [27.5625, 14.0625, 1.5625]


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 9, 20])
def test_k_is_as_asked_on_a_cloud_without_clusters(n_clusters):
    """Seed 47 has a table on which halving the range of prices misses 9 clusters."""
    X = np.random.default_rng(47).normal(size=(40, 2))
    model = DPMeans(n_clusters=n_clusters, n_init=1 if n_clusters == 9 else 10).fit(X)
    assert model.n_clusters_ == n_clusters
    assert (np.diff(model.objectives_) <= 1e-9).all()


@pytest.mark.parametrize("name", UCI)
def test_the_objective_never_rises_and_k_is_as_asked(name):
    X, y = uci(name)
    model = DPMeans(n_clusters=y.max() + 1).fit(X)
    assert model.n_clusters_ == y.max() + 1
    assert (np.diff(model.objectives_) <= 1e-9 * model.objective_).all()
    assert (model.predict(X) == model.labels_).all()
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()


@pytest.mark.parametrize(("name", "nmi"), [("wine", 0.42), ("iris", 0.76), ("breast_cancer", 0.75)])
def test_the_paper_s_agreement_with_the_classes(name, nmi):
    X, y = uci(name)
    found = normalized_mutual_info_score(y, DPMeans(n_clusters=y.max() + 1).fit(X).labels_)
    assert abs(found - nmi) < 0.01


def test_it_is_the_limit_of_small_variance(seed):
    """The variance is known: alpha = (1 + rho / sigma)^(D/2) exp(-lam / (2 sigma)), sigma to 0."""
    X, _ = make_blobs(60, centers=4, cluster_std=1.0, random_state=seed)
    X -= X.mean(axis=0)
    lam, rho, sigma = 20.0, 100.0, 0.05
    family = FixedGaussian(mean=[0.0, 0.0], strength=sigma / rho, variance=sigma)
    alpha = (1.0 + rho / sigma) * np.exp(-lam / (2.0 * sigma))
    hard = DPMeans(lam, n_init=20).fit(X)
    soft = MAPDP(alpha, family=family, init=hard.labels_, search="icm").fit(X)
    assert canonical(soft.labels_) == canonical(hard.labels_)
    free = MAPDP(alpha, family=family, n_init=4).fit(X)
    assert objective(X, free.labels_, lam) == pytest.approx(hard.objective_, rel=1e-9)
    wide = MAPDP(1.0, family=FixedGaussian([0.0, 0.0], 0.5, 50.0)).fit(X)
    assert canonical(wide.labels_) != canonical(hard.labels_)


def test_an_offset_does_not_change_the_labels(rng):
    X = np.round(rng.normal(size=(100, 2)) * 2**10) / 2**10
    assert (DPMeans(2.0).fit(X + 2.0**26).labels_ == DPMeans(2.0).fit(X).labels_).all()


def test_more_clusters_than_the_first_room(rng):
    X = rng.permutation(100)[:, None] * 10.0
    model = DPMeans(1.0).fit(X)
    assert model.n_clusters_ == 100
    assert model.predict([[3.0]]).tolist() == [-1]


def test_too_few_distinct_rows_warn():
    with pytest.warns(ConvergenceWarning, match="found no lam for 3 clusters, the nearest gives 2"):
        DPMeans(n_clusters=3).fit([[0.0], [0.0], [1.0]])


def test_max_iter_warns(rng):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        DPMeans(1.0, max_iter=1).fit(rng.normal(size=(50, 2)))


def test_the_default_price_is_the_spread_of_the_table(rng):
    X = np.vstack([rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 20.0])
    model = DPMeans().fit(X)
    assert 2 <= model.n_clusters_ <= 3
    np.testing.assert_allclose(model.lam_, ((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"lam": 1.0, "n_clusters": 2}, "give one of lam and n_clusters"),
        ({"lam": -1.0}, "lam must be positive and finite, got -1.0"),
        ({"n_clusters": 0}, "n_clusters must be at least 1, got 0"),
        ({"lam": 1.0, "n_init": 0}, "n_init must be at least 1, got 0"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(parameters, words):
    with pytest.raises(ValueError, match="Hint") as caught:
        DPMeans(**parameters).fit([[0.0], [1.0]])
    assert words in str(caught.value)
