"""The cluster tree: greedy merges by the exact joint, its levels, and models of them."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError

from mapdp import MAPDP, DirichletProcess, Gaussian, MixtureOfFiniteMixtures, PitmanYor
from mapdp.engine.build import seated
from mapdp.estimators.fitted import FittedMixture
from mapdp.outputs.saving import from_bytes, to_bytes
from mapdp.partitions.labels import by_falling_size
from tests.contract.cases import FAMILIES, over_families

PROCESSES = [DirichletProcess(2.0), PitmanYor(1.0, 0.3), MixtureOfFiniteMixtures(1.0, 3.0)]
TABLES = list(itertools.product(FAMILIES, PROCESSES))[:: len(FAMILIES) * len(PROCESSES) // 30]


def of_partition(model, X, labels):
    """Give a fitted model another partition of its rows."""
    mixture, labels = model.mixture_, by_falling_size(labels)
    state = seated(mixture.encoded(model.numbers_of(X)), labels, mixture.family, mixture.process)
    model._keep(FittedMixture.of(mixture.schema, mixture.family, mixture.process, state), labels)
    model.log_joint_ = model.log_joint_of(X, labels)
    return model


def fitted(case, process, n=36, n_clusters=7):
    """Return a model of rows in clusters that lie anywhere, and the rows."""
    rng = np.random.default_rng(0)
    X = case.rows(rng, n)
    model = MAPDP(family=case.family, process=process, search="icm", init="single", tol=1e9).fit(X)
    return of_partition(model, X, rng.integers(0, n_clusters, n)), X


def greedy(model, X):
    """Yield partitions, by how much each loses, and those that lose as little; from whole joints alone."""
    labels, joint = model.labels_.copy(), model.log_joint_of(X, model.labels_)
    for _ in range(model.n_clusters_ - 1):
        pairs = list(itertools.combinations(np.unique(labels), 2))
        merged = [np.where(labels == b, a, labels) for a, b in pairs]
        joints = [model.log_joint_of(X, one) for one in merged]
        best = int(np.argmax(joints))
        ties = [one for one, j in zip(merged, joints, strict=True) if j > joints[best] - 1e-7]
        yield merged[best], joint - joints[best], ties
        labels, joint = merged[best], joints[best]


def same(a, b):
    """Say whether two arrays of labels are one partition."""
    pairs = np.unique(np.column_stack([a, b]), axis=0)
    return len(pairs) == len(np.unique(a)) == len(np.unique(b))


@pytest.mark.parametrize(
    ("case", "process"), TABLES, ids=lambda one: getattr(one, "name", type(one).__name__)
)
def test_every_level_is_that_of_a_naive_greedy_merge(case, process):
    model, X = fitted(case, process)
    tree = model.tree_
    assert tree.n_clusters == model.n_clusters_ > 3
    for m, (labels, loss, ties) in enumerate(greedy(model, X)):
        assert tree.losses[m] == pytest.approx(loss, rel=1e-9, abs=1e-8)
        cut = tree.cut(n_clusters=model.n_clusters_ - 1 - m)
        assert any(same(cut, one) for one in ties)
        if not same(cut, labels):
            break  # two pairs lose the same, and from here on either path is right
    coarse = model.cut(n_clusters=3)
    assert coarse.log_joint_ == pytest.approx(coarse.log_joint_of(X, coarse.labels_), rel=1e-10, abs=1e-8)


def test_there_are_thirty_tables():
    assert len(TABLES) >= 30


@pytest.fixture(scope="module")
def wine():
    table = load_wine(as_frame=True).data
    return MAPDP(prior="paper", covariance="diagonal", alpha=20.0).fit(table), table


def test_cuts_are_nested_and_numbered_by_size(wine):
    tree = wine[0].tree_
    finer = wine[0].labels_
    np.testing.assert_array_equal(tree.cut(n_clusters=tree.n_clusters), finer)
    for k in reversed(range(1, tree.n_clusters)):
        labels = tree.cut(n_clusters=k)
        assert len(np.unique(np.column_stack([finer, labels]), axis=0)) == k + 1
        assert (np.diff(np.bincount(labels)) <= 0).all()
        assert len(np.bincount(labels)) == k
        finer = labels


def test_linkage_is_scipys(wine):
    tree = wine[0].tree_
    linkage = tree.linkage
    assert is_valid_linkage(linkage)
    assert sorted(dendrogram(linkage, no_plot=True)["leaves"]) == list(range(tree.n_clusters))
    assert (np.diff(linkage[:, 2]) >= 0).all()
    three = fcluster(linkage, 3, criterion="maxclust")
    assert same(three[tree.labels], tree.cut(n_clusters=3))
    assert tree.sizes[-1] == 178
    np.testing.assert_array_equal(tree.sizes[: tree.n_clusters], wine[0].cluster_sizes_)


def test_cuts_by_nats_and_by_share_stop_before_they_lose_more(wine):
    tree = wine[0].tree_
    lost = tree.accumulated
    for limit in (0.0, lost[2], lost[2] + 0.01, 0.5 * lost[-1], lost[-1], 2.0 * lost[-1]):
        k = len(np.unique(tree.cut(nats=limit)))
        assert lost[tree.n_clusters - k] <= limit
        assert k == 1 or lost[tree.n_clusters - k + 1] > limit
    assert tree.level(share=1.0) == 1
    assert tree.level(share=0.0) == tree.n_clusters
    assert tree.suggested == tree.level(share=0.1) == tree.level(nats=0.1 * lost[-1])


def test_where_merges_gain_the_tree_goes_through_them(rng):
    """A search that was stopped leaves pairs that are better merged: heights start from 0 then."""
    X = rng.normal(size=(40, 2))
    model = of_partition(MAPDP(1.0, prior="paper").fit(X), X, rng.integers(0, 6, 40))
    tree = model.tree_
    assert (tree.losses < 0.0).any()
    assert is_valid_linkage(tree.linkage)
    assert model.cut(nats=0.0).log_joint_ > model.log_joint_
    assert 1 <= tree.suggested <= tree.level(share=0.0)


@over_families
def test_a_cut_is_a_fitted_model(case):
    model, X = fitted(case, PitmanYor(1.0, 0.3))
    coarse = model.cut(n_clusters=3)
    assert coarse.n_clusters_ == 3
    assert coarse.get_params() == model.get_params()
    expected = of_partition(copy.copy(model), X, coarse.labels_)
    np.testing.assert_allclose(coarse.predict_proba(X), expected.predict_proba(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X, n_clusters=3), coarse.predict(X))
    assert len(coarse.describe()) == 3
    assert coarse.explain(X).log_odds.shape == (len(X),)
    again = from_bytes(to_bytes(coarse))
    np.testing.assert_array_equal(again.predict_proba(X), coarse.predict_proba(X))
    np.testing.assert_allclose(again.tree_.losses, model.tree_.losses[-2:], rtol=1e-8, atol=1e-7)
    assert again.log_joint_ == coarse.log_joint_


def test_a_cut_answers_all_that_a_model_does(wine):
    model, table = wine
    coarse = model.cut(share=0.2)
    assert len(coarse.uncertainty(table, n_sweeps=4, random_state=0).stability) == coarse.n_clusters_
    assert coarse.impute(table).shape == table.shape
    assert coarse.sample(3)[0].shape == (3, 13)
    assert model.cut(n_clusters=model.n_clusters_).log_joint_ == model.log_joint_
    assert coarse.cut(n_clusters=2).log_joint_ == pytest.approx(
        model.cut(n_clusters=2).log_joint_, rel=1e-12
    )
    assert not hasattr(clone(coarse), "labels_")


def test_a_new_fit_has_a_new_tree():
    X = load_iris().data
    model = MAPDP(alpha=0.3, prior="paper")
    assert not hasattr(model, "tree_")
    before = model.fit(X).tree_
    assert model.tree_ is before
    assert pickle.loads(pickle.dumps(model)).tree_.suggested == before.suggested
    assert model.fit(X[:60]).tree_.sizes[-1] == 60


def test_one_cluster_is_a_tree():
    model = MAPDP(alpha=1.0, family=FAMILIES[0].family, init="single", search="icm").fit(np.zeros((5, 3)))
    assert model.n_clusters_ == 1
    assert model.tree_.linkage.shape == (0, 4)
    assert model.tree_.suggested == 1
    assert str(model.describe_tree()) == str(model.tree_) + "" == "5 rows in 1 cluster.\ncluster 0: 5 rows"
    np.testing.assert_array_equal(model.cut(share=0.5).labels_, np.zeros(5))


def test_weights_count_as_repeats(rng):
    X, weights = np.vstack([rng.normal(size=(8, 3)) + 5.0 * c for c in range(4)]), rng.integers(1, 4, 32)
    model = MAPDP(1.0, discount=0.3, prior="paper").fit(X, sample_weight=weights)
    repeats = np.repeat(X, weights, axis=0)
    assert model.n_clusters_ >= 3
    for k in range(1, model.n_clusters_ + 1):
        coarse = model.cut(n_clusters=k)
        joint = coarse.log_joint_of(repeats, np.repeat(coarse.labels_, weights))
        assert coarse.log_joint_ == pytest.approx(joint, rel=1e-10)


def test_light_rows_and_rows_that_count_for_nothing(rng):
    X = np.vstack([rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 8.0, rng.normal(size=(6, 2)) - 9.0])
    weights = np.where(np.arange(36) % 7 == 0, 0.0, 0.4)
    model = MAPDP(2.0, prior="paper", weights="repeats").fit(X, sample_weight=weights)
    assert model.n_clusters_ >= 2
    joints = [model.cut(n_clusters=k).log_joint_ for k in range(1, model.n_clusters_ + 1)]
    assert np.isfinite(joints).all()
    assert len(model.tree_.cut(n_clusters=1)) == 36
    assert model.tree_.sizes[-1] == pytest.approx(weights.sum())


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "b", "c"]])
def test_known_labels_are_never_merged(names, rng):
    X = np.vstack([rng.normal(size=(15, 2)) + c for c in (0.0, 1.0, 2.0, 30.0)])
    y = np.full(60, -1 if names[0] == 0 else "", dtype=np.array(names).dtype)
    y[[0, 15, 30]] = names
    model = MAPDP(1.0, prior="paper").fit(X, y)
    tree = model.tree_
    assert tree.n_least == 3 < tree.n_clusters
    coarse = model.cut(n_clusters=3)
    assert sorted(coarse.known_labels_.tolist()) == sorted(names)
    assert len(set(coarse.labels_[[0, 15, 30]])) == 3
    assert coarse.known_labels_[coarse.labels_[15]] == names[1]
    assert coarse.tree_.level(share=1.0) == 3
    assert is_valid_linkage(tree.linkage)
    with pytest.raises(ValueError, match="at least 3, as known labels keep that many apart, got 2"):
        model.cut(n_clusters=2)
    np.testing.assert_array_equal(from_bytes(to_bytes(coarse)).known_labels_, coarse.known_labels_)


def test_gaps_that_were_filled_do_not_matter(rng):
    X = np.vstack([rng.normal(size=(25, 3)), rng.normal(size=(25, 3)) + 6.0])
    X[rng.random(X.shape) < 0.1] = np.nan
    model = MAPDP(5.0, family=Gaussian).fit(X)
    coarse = model.cut(n_clusters=1)
    assert coarse.log_joint_ < model.log_joint_
    assert coarse.predict(X).shape == (50,)


def test_splits_say_what_the_merge_loses(wine):
    """Where columns are independent, evidence of columns and prior of the partition make the loss."""
    model, _ = wine
    described, tree = model.describe_tree(), model.tree_
    sizes, process = model.cluster_sizes_, model.mixture_.process
    for m, split in enumerate(described.splits):
        before = np.bincount(tree.numbers(tree.n_clusters - m), sizes)
        after = np.bincount(tree.numbers(tree.n_clusters - m - 1), sizes)
        prior = process.log_eppf(before) - process.log_eppf(after)
        assert sum(c.nats for c in split) + prior == pytest.approx(tree.losses[m], rel=1e-7, abs=1e-6)
        assert [c.nats for c in split] == sorted((c.nats for c in split), reverse=True)


def test_nodes_are_described_as_clusters_of_a_cut(wine):
    model, _ = wine
    nodes = model.describe_tree().nodes
    assert [str(node) for node in nodes[: model.n_clusters_]] == [str(c) for c in model.describe()]
    coarse = {cluster.size: cluster for cluster in model.cut(n_clusters=3).describe()}
    for node in nodes[-5:-1]:
        if node.size in coarse:
            assert [f.name for f in node.features] == [f.name for f in coarse[node.size].features]
            ours, theirs = ([f.nats for f in c.features] for c in (node, coarse[node.size]))
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-7)


def test_drawings_name_every_cluster_and_the_columns_that_decide(wine):
    model, _ = wine
    drawing = str(model.tree_)
    assert all(f"cluster {k}: " in drawing for k in range(min(model.n_clusters_, 19)))
    few = model.describe_tree().drawn(n_clusters=3).splitlines()
    assert len(few) == 1 + 2 * (1 + 2) + 3
    assert few[2].startswith("│    ")
    assert " | " in few[2]


def test_errors_say_what_is_wrong(wine):
    model, table = wine
    k = model.n_clusters_
    with pytest.raises(
        ValueError, match=f"at most {k}, the number of clusters that were found, got {k + 1}"
    ):
        model.cut(n_clusters=k + 1)
    with pytest.raises(ValueError, match="n_clusters must be at least 1, got 0"):
        model.predict(table, n_clusters=0)
    with pytest.raises(TypeError, match=r"n_clusters must be a whole number, got 2\.5"):
        model.tree_.cut(n_clusters=2.5)
    with pytest.raises(ValueError, match=r"one of n_clusters, nats and share, got 2, 3\.0, None\. Hint"):
        model.cut(n_clusters=2, nats=3.0)
    with pytest.raises(ValueError, match="one of n_clusters, nats and share, got None, None, None"):
        model.cut()
    with pytest.raises(ValueError, match=r"share must be from 0 to 1, got 1\.5\. Hint"):
        model.cut(share=1.5)
    with pytest.raises(ValueError, match="nats must not be negative, got -1"):
        model.cut(nats=-1)
    with pytest.raises(NotFittedError):
        MAPDP().cut(n_clusters=2)


def test_too_many_clusters_for_a_tree_are_refused(wine, monkeypatch):
    monkeypatch.setattr("mapdp.insights.tree._MOST", 2)
    with pytest.raises(ValueError, match="all pairs of at most 2 clusters, got"):
        clone(wine[0]).fit(wine[1]).cut(n_clusters=1)
