"""The Gibbs samplers draw from the exact posterior over partitions."""

import numpy as np
import pytest

from mapdp import DiagonalGaussian, Gaussian, PitmanYor
from mapdp.engine.problem import Model, Problem
from mapdp.families.uncollapsed import Uncollapsed
from mapdp.partitions.concentration import GammaPrior
from mapdp.sampling.chain import Chain
from tests.contract.cases import FAMILIES, PROCESSES, over_families, over_gaussians
from tests.partitions import ExactModel, SetsOfRows, all_partitions, canonical

N_SWEEPS = 12_000
PARTITIONS = [canonical(labels) for labels in all_partitions(5)]


def posterior(X, family, process, alpha_prior=None):
    return Problem(X, X, Model(family, process, alpha_prior))


def frequencies(problem, collapsed, rng, moves="split-merge"):
    """Run a chain over 5 rows; return how often it visited each of the 52 partitions."""
    chain = Chain(problem, "single", rng, collapsed=collapsed, moves=moves)
    return shares(chain.state.labels.copy() for _ in range(N_SWEEPS) if chain.sweep())


def shares(visited):
    """Return how often each of the 52 partitions is among those visited."""
    labels, counts = np.unique(list(visited), axis=0, return_counts=True)
    tally = dict.fromkeys(PARTITIONS, 0)
    for one, n in zip(labels, counts, strict=True):
        tally[canonical(one)] += n
    return np.array(list(tally.values())) / counts.sum()


def exact_posterior(family, process, X):
    exact = ExactModel(SetsOfRows(family, X), process)
    joints = np.array([exact.log_joint(labels) for labels in PARTITIONS])
    return np.exp(joints - np.logaddexp.reduce(joints))


def distance(a, b):
    """Total variation."""
    return 0.5 * np.abs(a - b).sum()


# 12,000 independent draws over at most 52 partitions have a mean distance below 0.026; draws of a chain
# that forgets within a few sweeps stay below 0.05 in far more than 999 of 1000 runs.
BOUND = 0.05


@over_families
def test_frequencies_of_single_rows_that_move_match_the_exact_posterior(case):
    rng = np.random.default_rng(11)
    X, process = case.rows(rng, 5), PROCESSES["pitman-yor"]
    drawn = frequencies(posterior(case.family.encode(X), case.family, process), True, rng, "gibbs")
    assert distance(drawn, exact_posterior(case.family, process, X)) < BOUND


class Dropped(PitmanYor):
    """A process that forgets what a new chair weighs."""

    def log_open(self, n_clusters, n_rows):  # noqa: ARG002
        return np.zeros(np.shape(n_clusters))


@over_families
def test_the_bound_notices_that_new_chairs_are_not_weighed(case):
    rng = np.random.default_rng(11)
    X = case.rows(rng, 5)
    drawn = frequencies(posterior(case.family.encode(X), case.family, Dropped(0.2)), True, rng)
    assert distance(drawn, exact_posterior(case.family, PitmanYor(0.2), X)) > BOUND


@over_gaussians
@pytest.mark.parametrize(("name", "moves"), [("dp", "gibbs"), ("pitman-yor", "split-merge")])
def test_frequencies_of_the_uncollapsed_sampler_match_too(case, name, moves):
    rng = np.random.default_rng(12)
    X, process = case.rows(rng, 5), PROCESSES[name]
    drawn = frequencies(posterior(X, case.family, process), False, rng, moves)
    assert distance(drawn, exact_posterior(case.family, process, X)) < BOUND


class Forgetful(Uncollapsed):
    """A sampler that leaves out a term: the spread of a cluster's centre around its posterior mean."""

    def noise(self, n, rng):
        noise = super().noise(n, rng)
        noise[:, -self.n_features :] = 0.0
        return noise


@over_gaussians
def test_the_bound_notices_a_dropped_term(case, monkeypatch):
    """Splits and merges, which are right, would make up for most of it."""
    monkeypatch.setattr("mapdp.sampling.chain.Uncollapsed", Forgetful)
    rng = np.random.default_rng(12)
    X, process = case.rows(rng, 5), PROCESSES["dp"]
    drawn = frequencies(posterior(X, case.family, process), False, rng, "gibbs")
    assert distance(drawn, exact_posterior(case.family, process, X)) > BOUND


@pytest.mark.parametrize("collapsed", [True, False], ids=["collapsed", "uncollapsed"])
def test_frequencies_with_alpha_drawn_are_those_with_alpha_integrated_out(collapsed):
    case, prior, rng = FAMILIES[0], GammaPrior(2.0, 0.5), np.random.default_rng(13)
    X = case.rows(rng, 5)
    drawn = frequencies(posterior(X, case.family, PitmanYor(1.0), prior), collapsed, rng)
    grid = np.linspace(-8.0, 5.0, 400)  # of log alpha
    sets = SetsOfRows(case.family, X)
    models = [ExactModel(sets, PitmanYor(np.exp(u))) for u in grid]
    weights = np.array([prior.log_density(np.exp(u)) for u in grid])
    joints = np.array([[model.log_joint(z) for z in PARTITIONS] for model in models]) + weights[:, None]
    exact = np.exp(joints - joints.max()).sum(axis=0)
    assert distance(drawn, exact / exact.sum()) < BOUND
    assert distance(drawn, exact_posterior(case.family, PitmanYor(1.0), X)) > BOUND


def test_alpha_keeps_its_prior_where_partitions_have_theirs():
    """K is drawn given alpha, then alpha given K: a draw of both that must keep the prior of alpha."""
    prior, rng = GammaPrior(2.0, 1.5), np.random.default_rng(3)
    alphas, alpha = np.empty(40_000), 1.0
    for i in range(len(alphas)):
        k = PitmanYor(alpha).sample(6, rng).max() + 1
        alpha = alphas[i] = prior.draw(alpha, 6, int(k), rng)
    # Neighbours are dependent; a mean of 40,000 then has a standard error below 0.02.
    assert abs(alphas.mean() - 2.0 / 1.5) < 0.08
    assert abs(alphas.var() - 2.0 / 1.5**2) < 0.15


# A joint-distribution test after Geweke (2004): rows and partition are drawn together in two ways, directly
# from the model, and by a chain that draws a partition given the rows, then new rows given the partition.
N_ROWS, N_DRAWS = 5, 4_000
GAUSSIANS = {
    "diagonal": DiagonalGaussian(mean=[0.5, -0.5], strength=0.8, shape=2.5, rate=[1.5, 2.0]),
    "full": Gaussian(mean=[0.5, -0.5], strength=0.8, dof=5.0, scale=[[3.0, 1.5], [1.5, 4.0]]),
}


def bounded(X, labels):
    """Functions of a draw that have a variance in spite of heavy tails."""
    n_clusters, first, second = len(np.unique(labels)), np.tanh(X[0]), np.tanh(X[1])
    pairs = [first[0] * first[1], first[0] * second[0], np.tanh(np.abs(X[0] - X[1])).mean()]
    return [n_clusters, n_clusters**2, labels[0] == labels[1], *first, *first**2, *pairs]


def drawn_directly(family, process, rng):
    draws = []
    for _ in range(N_DRAWS):
        labels = process.sample(N_ROWS, rng)
        parameters = family.sample_parameters(N_ROWS, rng)
        draws.append(bounded(family.sample_rows(tuple(p[labels] for p in parameters), rng), labels))
    return np.array(draws)


def new_rows(chain, family, rng):
    """Draw rows given the chain's partition; given its parameters, too, where it has them."""
    labels, d = chain.state.labels, family.n_features
    if not isinstance(chain.family, Uncollapsed):
        parameters = family.sample_parameters(chain.state.capacity, rng)
        return family.sample_rows(tuple(p[labels] for p in parameters), rng)
    X = family.origin + chain.state.bank.centre[:, labels].T
    for i, k in enumerate(labels):
        root = chain.state.bank.root[:, k]
        W = np.diag(root) if len(root) == d else np.zeros((d, d))
        W[np.tril_indices(d)] = root if len(root) > d else W[np.tril_indices(d)]
        X[i] += np.linalg.solve(W, rng.normal(size=d))
    return X


def drawn_by_a_chain(family, process, collapsed, rng):
    """A new chain draws parameters given labels and rows: one more step that leaves the joint alone."""
    labels, draws = process.sample(N_ROWS, rng), []
    X = family.sample_rows(family.sample_parameters(N_ROWS, rng), rng)
    for _ in range(N_DRAWS):
        chain = Chain(posterior(X, family, process), labels, rng, collapsed=collapsed)
        chain.sweep()
        labels, X = chain.state.labels.copy(), new_rows(chain, family, rng)
        draws.append(bounded(X, labels))
    return np.array(draws)


def largest_gap(direct, dependent):
    """Compare means, in standard errors; those of the chain come from the means of 80 batches."""
    batches = dependent.reshape(80, -1, dependent.shape[1]).mean(axis=1)
    variance = direct.var(axis=0) / len(direct) + batches.var(axis=0) / len(batches)
    return np.abs((direct.mean(axis=0) - dependent.mean(axis=0)) / np.sqrt(variance)).max()


# The largest of 10 normal numbers is above 4.5 once in 15,000 runs.
GAP = 4.5


@pytest.mark.parametrize("family", GAUSSIANS.values(), ids=GAUSSIANS)
@pytest.mark.parametrize("collapsed", [True, False], ids=["collapsed", "uncollapsed"])
def test_the_chain_has_the_joint_distribution_of_the_model(family, collapsed):
    rng = np.random.default_rng(5)
    process = PROCESSES["pitman-yor"]
    direct = drawn_directly(family, process, rng)
    assert largest_gap(direct, drawn_by_a_chain(family, process, collapsed, rng)) < GAP


@pytest.mark.parametrize("family", GAUSSIANS.values(), ids=GAUSSIANS)
def test_the_joint_distribution_notices_a_dropped_term(family, monkeypatch):
    monkeypatch.setattr("mapdp.sampling.chain.Uncollapsed", Forgetful)
    rng = np.random.default_rng(5)
    direct = drawn_directly(family, PROCESSES["dp"], rng)
    assert largest_gap(direct, drawn_by_a_chain(family, PROCESSES["dp"], False, rng)) > GAP
