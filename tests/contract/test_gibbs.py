"""The Gibbs sweep draws from the exact posterior over partitions."""

import numpy as np
import pytest

from mapdp import PitmanYor
from mapdp.kernels.draw import gibbs_sweep
from mapdp.model import seated
from tests.contract.cases import PROCESSES, over_families
from tests.partitions import ExactModel, all_partitions, canonical

N_SWEEPS = 12_000


def frequencies(case, process, X, rng):
    rows = np.arange(5, dtype=np.int32)
    encoded = case.family.encode(X)
    state = seated(encoded, np.zeros(5, dtype=np.int32), case.family, process)
    tally: dict[tuple[int, ...], int] = {}
    for _ in range(N_SWEEPS):
        assert gibbs_sweep(encoded, rows, rng.random(5), state, 0) == 5
        key = canonical(state.labels)
        tally[key] = tally.get(key, 0) + 1
    return tally


def distance_from_posterior(tally, case, process, X):
    """Total variation between what was drawn and the exact posterior over all 52 partitions."""
    partitions = [canonical(labels) for labels in all_partitions(5)]
    exact = ExactModel(case.family, process, X)
    joints = np.array([exact.log_joint(labels) for labels in partitions])
    posterior = np.exp(joints - np.logaddexp.reduce(joints))
    drawn = np.array([tally.get(labels, 0) for labels in partitions]) / N_SWEEPS
    return 0.5 * np.abs(drawn - posterior).sum()


# 12,000 independent draws over at most 52 partitions have a mean distance below 0.026; draws of a chain
# that forgets within a few sweeps stay below 0.05 in far more than 999 of 1000 runs.
BOUND = 0.05


@over_families
@pytest.mark.parametrize("name", ["dp", "pitman-yor"])
def test_frequencies_match_the_exact_posterior(case, name):
    rng = np.random.default_rng(11)
    X, process = case.rows(rng, 5), PROCESSES[name]
    tally = frequencies(case, process, X, rng)
    assert distance_from_posterior(tally, case, process, X) < BOUND


@over_families
def test_the_bound_notices_another_prior(case):
    """The same draws against a posterior with another discount: the distance must show it."""
    rng = np.random.default_rng(11)
    X, process = case.rows(rng, 5), PROCESSES["dp"]
    tally = frequencies(case, process, X, rng)
    assert distance_from_posterior(tally, case, PitmanYor(3.0, 0.6), X) > BOUND
