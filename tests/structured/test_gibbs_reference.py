"""The Gibbs sampler that the hierarchical search is measured beside draws from the exact posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mapdp import DiagonalGaussian
from tests.partitions import SetsOfRows, canonical, clusters_of
from tests.references.franchise_gibbs import FranchiseGibbs, GaussianDishes, SetDishes
from tests.structured.naive import franchises, hierarchical_log_prior

PAIRS = [0, 0, 1, 1, 2, 2]
ALPHA, GAMMA = 0.7, 0.5


@pytest.fixture(scope="module")
def tiny():
    """Six rows around two centres, and the posterior of all their seatings."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6, 2)) + 8.0 * np.array([0, 1, 0, 1, 0, 0])[:, None]
    family = DiagonalGaussian.empirical(X, scale=0.1)
    sets, log_joint = SetsOfRows(family, X), {}
    for tables, dishes in franchises(PAIRS):
        prior = hierarchical_log_prior(PAIRS, tables, dishes, ALPHA, GAMMA)
        log_joint[state(tables, dishes)] = prior + sum(map(sets.log_marginal, clusters_of(dishes)))
    total = np.logaddexp.reduce(list(log_joint.values()))
    return X, family, sets, {one: np.exp(value - total) for one, value in log_joint.items()}


def state(tables, dishes):
    return canonical(tables), canonical(dishes)


def begun(sets, tables, dishes):
    return FranchiseGibbs(PAIRS, SetDishes(sets.log_marginal), ALPHA, GAMMA, tables, dishes)


def moved(sets, posterior, choices_of, put, ones_of):
    """Return the distribution after one kind of move, from the posterior; every choice is tried."""
    after = dict.fromkeys(posterior, 0.0)
    for (tables, dishes), chance in posterior.items():
        for place in range(len(ones_of(tables))):
            n_choices = 1
            for number in range(100):
                if number == n_choices:
                    break
                gibbs = begun(sets, list(tables), list(dishes))
                one = ones_of(tables)[place]
                choices, log_weights = choices_of(gibbs, one)
                weights, n_choices = np.exp(log_weights), len(choices)
                put(gibbs, one, choices[number])
                share = weights[number] / weights.sum() / len(ones_of(tables))
                after[state(gibbs.table_of, gibbs.labels)] += chance * share
    return after


def test_no_move_changes_the_exact_posterior(tiny):
    """All 409 seatings, every choice of every move: what comes out is what went in."""
    _, _, sets, posterior = tiny
    assert len(posterior) == 409
    kinds = (
        (FranchiseGibbs.row_choices, FranchiseGibbs.seat_row, lambda _: range(6)),
        (FranchiseGibbs.table_choices, FranchiseGibbs.serve, lambda tables: sorted(set(tables))),
    )
    for choices_of, put, ones_of in kinds:
        after = moved(sets, posterior, choices_of, put, ones_of)
        assert_allclose(list(after.values()), list(posterior.values()), atol=1e-12)


def visited(sets, n_sweeps, **changed):
    """Return how often a chain visits each seating."""
    rng, gibbs, tally = np.random.default_rng(0), begun(sets, PAIRS, [0] * 6), {}
    vars(gibbs).update(changed)
    for _ in range(n_sweeps):
        gibbs.sweep(rng)
        one = state(gibbs.table_of, gibbs.labels)
        tally[one] = tally.get(one, 0) + 1
    return {one: n / n_sweeps for one, n in tally.items()}


def distance(shares, posterior):
    """Return the total variation."""
    return 0.5 * sum(abs(shares.get(one, 0.0) - chance) for one, chance in posterior.items())


def test_a_chain_is_within_three_hundredths_of_the_exact_posterior(tiny):
    """8,000 independent draws would be 0.018 from it on average."""
    _, _, sets, posterior = tiny
    assert distance(visited(sets, 8000), posterior) < 0.03


def test_the_distance_notices_another_gamma(tiny):
    _, _, sets, posterior = tiny
    assert distance(visited(sets, 2000, gamma=1.0), posterior) > 0.06


def test_sums_give_the_same_gains_as_sets(tiny, rng):
    X, family, sets, _ = tiny
    exact = SetDishes(sets.log_marginal)
    sums = GaussianDishes(X, family.mean, family.strength, family.shape, family.rate)
    for dishes in (exact, sums):
        dishes.add(0, frozenset([0, 2]))
        dishes.add(1, frozenset([1, 5]))
        dishes.remove(1, frozenset([5]))
    for rows in ([4], [3, 4, 5]):
        names, expected = exact.log_gains(frozenset(rows))
        again, gains = sums.log_gains(frozenset(rows))
        assert again == names
        assert_allclose(gains, expected, rtol=1e-9)
