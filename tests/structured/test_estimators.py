"""Estimators for groups and sequences: the contract, limits, prediction, files and bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from mapdp import (
    MAPDP,
    MAPHMM,
    DiagonalGaussian,
    DirichletProcess,
    Gaussian,
    HierarchicalMAPDP,
    NestedMAPDP,
    log_joint,
)
from mapdp.outputs.saving import from_bytes, to_bytes
from mapdp.partitions.hierarchical import HierarchicalProcess
from mapdp.partitions.markov import MarkovProcess

GROUPED = [HierarchicalMAPDP, NestedMAPDP]


class RowByRow(MAPHMM):
    """A hidden Markov model of new rows that are sequences of their own."""

    def predict(self, X):
        return super().predict(X, np.ones(len(X), dtype=int))

    def predict_proba(self, X):
        return super().predict_proba(X, np.ones(len(X), dtype=int))

    def score_samples(self, X):
        return super().score_samples(X, np.ones(len(X), dtype=int))


ABOUT_SAMPLES = ("check_methods_subset_invariance", "check_methods_sample_order_invariance")


@parametrize_with_checks([HierarchicalMAPDP(), NestedMAPDP(), MAPHMM()])
def test_scikit_learn_contract(estimator, check):
    """What scikit-learn calls a sample, which may be left out or come in another order, is a sequence."""
    is_about_samples = check.func.__name__ in ABOUT_SAMPLES
    check(RowByRow() if isinstance(estimator, MAPHMM) and is_about_samples else estimator)


@pytest.mark.parametrize("name", ABOUT_SAMPLES)
def test_a_sequence_does_not_pass_the_two_checks_that_take_each_row_for_a_sample(name):
    """Rows of one sequence say something about each other, so they cannot be left out or change places."""
    with pytest.raises(AssertionError, match="is not invariant when applied to a"):
        getattr(estimator_checks, name)("MAPHMM", MAPHMM())


def test_sequences_may_be_left_out_and_come_in_any_order(rng):
    X, _ = sequence(rng, 300, apart=3.0)
    model = MAPHMM().fit(X, lengths=[120, 100, 80])
    parts = [X[:120], X[120:220], X[220:]]
    turned, lengths = np.concatenate([parts[2], parts[0]]), [80, 120]
    for method in (model.predict, model.predict_proba, model.score_samples):
        alone = np.concatenate([method(parts[2]), method(parts[0])])
        assert_allclose(method(turned, lengths), alone, rtol=1e-9, atol=1e-12)


def grouped_rows(rng, n=40, n_groups=4, apart=8.0):
    """Return rows of two clusters, in proportions that differ between groups."""
    groups = np.repeat(np.arange(n_groups), n)
    second = rng.random(len(groups)) < np.where(groups % 2 == 0, 0.85, 0.15)
    return rng.normal(size=(len(groups), 2)) + apart * second[:, None], groups, second.astype(int)


def sequence(rng, n=300, stay=0.95, apart=6.0):
    states = np.zeros(n, dtype=int)
    for i in range(1, n):
        states[i] = states[i - 1] if rng.random() < stay else rng.integers(0, 3)
    centres = apart * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    return rng.normal(size=(n, 2)) + centres[states], states


def test_one_group_with_dishes_of_its_own_is_the_flat_model(rng):
    """Where gamma is infinite, tables do not share dishes: the joint is that of a Dirichlet process."""
    X = grouped_rows(rng)[0]
    family = DiagonalGaussian.empirical(X, scale=0.3)
    flat = MAPDP(0.7, family=family).fit(X)
    model = HierarchicalMAPDP(0.7, 1e12, family=family).fit(X)
    np.testing.assert_array_equal(model.labels_, flat.labels_)
    assert_allclose(model.log_joint_, flat.log_joint_, rtol=1e-9)


def test_one_group_is_the_flat_model_where_clusters_are_clear(rng):
    X, _, truth = grouped_rows(rng)
    for kind in GROUPED:
        model = kind().fit(X)
        np.testing.assert_array_equal(model.labels_, MAPDP().fit(X).labels_)
        assert adjusted_rand_score(model.labels_, truth) == 1.0


def test_groups_that_share_no_dishes_are_separate_flat_models(rng):
    X, groups, _ = grouped_rows(rng)
    family = DiagonalGaussian.empirical(X, scale=0.3)
    model = HierarchicalMAPDP(0.7, 1e12, family=family, n_init=3).fit(X, groups=groups)
    apart = [MAPDP(0.7, family=family).fit(X[groups == g]) for g in range(4)]
    assert_allclose(model.log_joint_, sum(one.log_joint_ for one in apart), rtol=1e-9)
    for g in range(4):
        assert adjusted_rand_score(model.labels_[groups == g], apart[g].labels_) == 1.0


def test_a_nested_model_of_one_group_is_the_flat_model(rng):
    X = grouped_rows(rng)[0]
    family = DiagonalGaussian.empirical(X, scale=0.3)
    flat, model = MAPDP(0.7, family=family).fit(X), NestedMAPDP(1.0, 0.7, family=family).fit(X)
    np.testing.assert_array_equal(model.labels_, flat.labels_)
    assert_allclose(model.log_joint_, flat.log_joint_, rtol=1e-12)


def test_independent_rows_without_stickiness_have_the_clusters_of_the_flat_model(rng):
    X, states = sequence(rng, 200, stay=0.0, apart=10.0)
    model = MAPHMM(stickiness=0.0).fit(X)
    assert adjusted_rand_score(model.labels_, MAPDP().fit(X).labels_) > 0.95
    assert adjusted_rand_score(model.labels_, states) > 0.95


def test_a_sequence_whose_states_overlap_is_found_where_the_flat_model_is_lost(rng):
    X, states = sequence(rng, 600, stay=0.98, apart=2.0)
    model = MAPHMM().fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(model.labels_, states) > adjusted_rand_score(MAPDP().fit(X).labels_, states)
    assert adjusted_rand_score(model.labels_, states) > 0.9


def test_joint_is_that_of_the_parts(rng):
    """The joint is the prior of tables and dishes, and the flat density of the clusters."""
    X, groups, _ = grouped_rows(rng)
    family = DiagonalGaussian.empirical(X, scale=0.3)
    model = HierarchicalMAPDP(family=family).fit(X, groups=groups)
    process = HierarchicalProcess(model.alpha_, model.gamma_)
    prior = process.log_prior(groups, model.tables_, model.labels_)
    flat = log_joint(X, model.labels_, alpha=1.0, family=family)
    density = flat - DirichletProcess(1.0).log_eppf(model.cluster_sizes_)
    assert_allclose(model.log_joint_, prior + density, rtol=1e-10)
    assert_allclose(model.log_joint_of(X, model.labels_, groups), model.log_joint_, rtol=1e-10)


def test_proportions_follow_from_who_sits_where(rng):
    X, groups, _ = grouped_rows(rng)
    model = HierarchicalMAPDP().fit(X, groups=groups)
    assert model.proportions_.shape == (4, 3)
    assert_allclose(model.proportions_.sum(axis=1), 1.0)
    shares = np.array([np.bincount(model.labels_[groups == g], minlength=2) / 40 for g in range(4)])
    assert_allclose(model.proportions_[:, :2], shares, atol=0.05)


def test_the_group_decides_where_a_row_does_not(rng):
    X, groups, _ = grouped_rows(rng, apart=5.0)
    model = HierarchicalMAPDP().fit(X, groups=np.array(["a", "b", "c", "d"])[groups])
    halfway = np.full((200, 2), 2.5) + rng.normal(scale=0.1, size=(200, 2))
    shares = [model.predict_proba(halfway, np.repeat(g, 200))[:, :2].mean(axis=0) for g in "abz"]
    in_a, in_b, unseen = (share[0] / share.sum() for share in shares)
    assert min(in_a, in_b) < unseen < max(in_a, in_b)
    np.testing.assert_array_equal(model.predict(halfway), model.predict(halfway, np.repeat("z", 200)))


def brute_force(densities, start, step):
    """Return the probability of each state of each row, and the log likelihood, over all paths."""
    n, k = densities.shape
    total, chance = 0.0, np.zeros((n, k))
    best, best_path = -np.inf, None
    for path in itertools.product(range(k), repeat=n):
        weight = np.log(start[path[0]]) + densities[0, path[0]]
        for i in range(1, n):
            weight += np.log(step[path[i - 1], path[i]]) + densities[i, path[i]]
        total += np.exp(weight)
        chance[np.arange(n), path] += np.exp(weight)
        if weight > best:
            best, best_path = weight, path
    return chance / total, np.log(total), best_path


def test_paths_chances_and_likelihood_are_those_of_all_paths(rng):
    X, _ = sequence(rng, 200, apart=3.0)
    model = MAPHMM().fit(X)
    few = X[40:46]
    weights = np.exp(model._log_weights)
    chance, log_likelihood, path = brute_force(model._densities(few), weights[0], weights[1:])
    assert_allclose(model.predict_proba(few), chance, rtol=1e-8, atol=1e-12)
    assert_allclose(model.score(few), log_likelihood / 6, rtol=1e-10)
    assert_allclose(model.score_samples(few).sum(), log_likelihood, rtol=1e-9)
    np.testing.assert_array_equal(model.predict(few), model.mixture_.as_labels(np.array(path)))
    two = model.predict_proba(few, lengths=[2, 4])
    assert_allclose(two[:2], model.predict_proba(few[:2]), rtol=1e-9)
    assert_allclose(two[2:], model.predict_proba(few[2:]), rtol=1e-9)


def test_transitions_and_durations_follow_from_the_states(rng):
    X, _ = sequence(rng, 400)
    model = MAPHMM().fit(X, lengths=[150, 250])
    assert_allclose(model.transition_.sum(axis=1), 1.0)
    assert_allclose(model.start_.sum(), 1.0)
    runs = [
        list(run)
        for part in (model.states_[:150], model.states_[150:])
        for _, run in itertools.groupby(part)
    ]
    for k in range(model.n_clusters_):
        assert_allclose(model.durations_[k], np.mean([len(run) for run in runs if run[0] == k]))
    process = MarkovProcess(model.alpha_, model.gamma_, model.stickiness_)
    assert model.log_joint_of(X, model.states_, [150, 250]) >= model.log_joint_ - 1e-9
    assert process.stickiness == model.stickiness_


def test_a_long_sequence_is_searched_in_part_first(rng):
    X, states = sequence(rng, 25_000, apart=4.0)
    model = MAPHMM().fit(X)
    assert adjusted_rand_score(model.labels_, states) > 0.97


def test_gaps_are_gaps(rng):
    X, states = sequence(rng, 300)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = MAPHMM().fit(X)
    assert adjusted_rand_score(model.labels_, states) > 0.9
    X, groups, truth = grouped_rows(rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    for kind in GROUPED:
        found = kind().fit(X, groups=groups)
        assert np.isfinite(found.log_joint_)
    assert adjusted_rand_score(HierarchicalMAPDP().fit(X, groups=groups).labels_, truth) > 0.8


@pytest.mark.parametrize("kind", [HierarchicalMAPDP, MAPHMM])
def test_a_few_gaps_are_filled_where_columns_vary_together(kind, rng):
    """Two long clusters side by side: with independent columns they would be cut into many."""
    along, truth = rng.normal(scale=5.0, size=(160, 1)), np.repeat([0, 1, 0, 1], 40)
    X = along * [1.0, 1.0] + rng.normal(scale=0.5, size=(160, 2)) + 6.0 * truth[:, None] * [1.0, -1.0]
    X[[3, 50, 100], [0, 1, 0]] = np.nan
    where = {"lengths": [80, 80]} if kind is MAPHMM else {"groups": np.repeat([0, 1], 80)}
    model = kind().fit(X, **where)
    assert not model.family_.has_columns
    assert adjusted_rand_score(model.labels_, truth) > 0.9
    assert_allclose(model.log_joint_of(X, model.labels_, *where.values()), model.log_joint_, rtol=1e-9)
    again = from_bytes(to_bytes(model))
    assert again.log_joint_of(X, model.labels_, *where.values()) == model.log_joint_of(
        X, model.labels_, *where.values()
    )


def test_words_are_levels_and_columns_are_named(rng):
    X, groups, truth = grouped_rows(rng)
    table = pd.DataFrame({"x": X[:, 0], "colour": np.where(truth == 1, "red", "blue")})
    model = HierarchicalMAPDP().fit(table, groups=pd.Series(groups))
    assert adjusted_rand_score(model.labels_, truth) == 1.0
    assert "colour" in str(model.describe())
    assert model.explain(table).log_odds.shape == (160,)


@pytest.mark.parametrize("kind", [HierarchicalMAPDP, NestedMAPDP, MAPHMM])
def test_models_come_back_from_files(kind, rng):
    X, groups, _ = grouped_rows(rng)
    where = {"lengths": [80, 80]} if kind is MAPHMM else {"groups": np.array(["a", "b", "c", "d"])[groups]}
    model = kind(random_state=1).fit(X, **where)
    again = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.predict_proba(X, **where), model.predict_proba(X, **where))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.log_joint_ == model.log_joint_
    assert again.trace_ == model.trace_
    assert to_bytes(again) == to_bytes(model)


def test_forged_tables_are_refused(rng):
    X, groups, _ = grouped_rows(rng)
    model = HierarchicalMAPDP().fit(X, groups=groups)
    model._tables = model._tables + 1000
    with pytest.raises(ValueError, match="its tables are not those of its clusters"):
        from_bytes(to_bytes(model))


@pytest.mark.parametrize("kind", [HierarchicalMAPDP, NestedMAPDP, MAPHMM])
def test_same_seed_same_result_and_more_starts_are_never_worse(kind, rng, seed):
    X, groups, _ = grouped_rows(rng, apart=3.0)
    where = {} if kind is MAPHMM else {"groups": groups}
    one, two, more = (kind(n_init=n, random_state=seed).fit(X, **where) for n in (1, 1, 3))
    assert one.log_joint_ == two.log_joint_
    assert max(init.log_joint for init in more.inits_) >= max(init.log_joint for init in one.inits_) - 1e-9


def test_a_callback_ends_the_search(rng):
    X, groups, _ = grouped_rows(rng)
    model = HierarchicalMAPDP(callback=lambda step: step.move == "sweep").fit(X, groups=groups)
    assert not model.converged_
    assert model.labels_.shape == (160,)


@pytest.mark.parametrize("kind", [*GROUPED, MAPHMM])
def test_a_callback_may_end_the_flat_search_that_comes_first(kind, rng):
    X, groups, _ = grouped_rows(rng)
    seen = []
    where = {} if kind is MAPHMM else {"groups": groups}
    model = kind(callback=lambda step: seen.append(step) is None).fit(X, **where)
    assert len(seen) == 1
    assert not model.converged_
    assert model.labels_.shape == (160,)


def error_of(call):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize("size", [1e-290, 1e290])
@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (HierarchicalMAPDP, ["alpha", "gamma"]),
        (NestedMAPDP, ["alpha", "beta"]),
        (MAPHMM, ["alpha", "gamma", "stickiness"]),
    ],
)
def test_concentrations_may_be_as_extreme_as_floats_allow(kind, names, size, rng):
    X, groups, _ = grouped_rows(rng, n=6)
    where = {} if kind is MAPHMM else {"groups": groups}
    model = kind(**dict.fromkeys(names, size)).fit(X, **where)
    assert np.isfinite(model.log_joint_)
    assert_allclose(model.predict_proba(X, **where).sum(axis=1), 1.0)
    assert (model.n_clusters_ >= 23) == (size > 1.0)  # MAPHMM may seat one twice


@pytest.mark.parametrize("kind", GROUPED)
def test_bad_groups_are_named_in_a_sentence(kind):
    X = np.arange(8.0).reshape(4, 2)
    fit = lambda groups: error_of(lambda: kind().fit(X, groups=groups))  # noqa: E731
    assert "group of each of the 4 rows, got shape (3,)" in fit([0, 1, 2])
    assert "must not be missing, got nan in row 1" in fit([0.0, np.nan, 1.0, 1.0])
    assert "must not be missing, got None in row 2" in fit(["a", "b", None, "a"])
    assert "must not be missing, got <NA> in row 3" in fit(pd.array(["a", "b", "a", None], dtype="string"))
    assert "must not be missing, got nan in row 0" in fit(np.ma.array([1, 2, 1, 2], mask=[1, 0, 0, 0]))
    assert "whole numbers or words" in fit(np.array([1j, 1j, 1j, 1j]))
    assert "smaller than 2^63" in fit(np.array([2**63, 0, 0, 0], dtype=np.uint64))
    large = np.array([2**60, 2**60 + 1] * 2, dtype=object)
    assert kind().fit(X, groups=large).groups_.tolist() == [2**60, 2**60 + 1]
    assert kind().fit(X[:1], groups=["a"]).labels_.tolist() == [0]
    assert kind().fit(X, groups=[1, 1, 1, 1]).n_clusters_ >= 1
    assert kind().fit(X, groups=[1, 2, 3, 4]).labels_.shape == (4,)


def test_bad_lengths_are_named_in_a_sentence():
    X = np.arange(8.0).reshape(4, 2)
    fit = lambda lengths: error_of(lambda: MAPHMM().fit(X, lengths=lengths))  # noqa: E731
    assert "must add up to the 4 rows of X, got 5" in fit([2, 3])
    assert "at least 1 and at most the 4 rows of X, got 0" in fit([4, 0])
    assert "got -3" in fit([-3, 7])
    assert "got 4611686018427387904" in fit([2**62, 2**62, 2**62, 2**62, 4])  # their sum is 4 in 64 bits
    assert "whole numbers, got [2.0, 2.0]" in fit([2.0, 2.0])
    assert "whole numbers, got [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, ...]" in fit([2.0] * 1000)
    assert "got none" in fit(np.array([], dtype=int))
    assert MAPHMM().fit(X, lengths=np.array([1, 3], dtype=np.uint64)).states_.shape == (4,)
    assert MAPHMM().fit(X[:1]).states_.tolist() == [0]
    assert MAPHMM().fit(X, lengths=[1, 1, 1, 1]).states_.shape == (4,)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (HierarchicalMAPDP(alpha=-1.0), "alpha must be positive"),
        (HierarchicalMAPDP(gamma="auto"), "gamma must be a positive number or one of 'map'"),
        (NestedMAPDP(beta=0.0), "beta must be positive"),
        (MAPHMM(stickiness=-1.0), "stickiness must not be negative"),
        (MAPHMM(stickiness=np.inf), "stickiness must be positive and finite, got inf"),
        (MAPHMM(alpha=1.0), "stickiness is learned along with alpha"),
        (MAPHMM(n_init=0), "n_init must be at least 1"),
        (HierarchicalMAPDP(family=Gaussian, prior="paper"), "columns are correlated"),
    ],
)
def test_bad_parameters_are_named_in_a_sentence(model, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    X[3, 1] = np.nan
    assert message in error_of(lambda: model.fit(X))
