"""The exact log joint of a state: what its chairs add to it, and the prior weight of its partition."""

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import log_sitting
from mapdp.engine.state import CHAIRS, TAKEN, State
from mapdp.families import verbs
from mapdp.partitions.process import Process


def state_log_joint(state: State, process: Process) -> float:
    """Return log p(x, z) of a state."""
    return unnormalised_log_joint(state, np.empty(state.capacity)) - process.log_total(len(state.labels))


def log_worth_of_chairs(state: State) -> np.ndarray:
    """Return what each chair adds to the log joint, 0 for an empty one."""
    log_worth = np.zeros(state.capacity)
    unnormalised_log_joint(state, log_worth)
    return log_worth


@inlined
def log_worth_of_chair(bank, k, size, discount):
    """Return what chair k adds: log density of its rows, log prior weight of their sitting together."""
    if size == 0:
        return 0.0
    return verbs.log_marginal(bank, k) + log_sitting(size, discount)


@inlined
def log_joint_of_chairs(n_chairs, n_clusters, log_open, log_worth):
    """Return the log joint of the rows on these chairs, but for the total weight of all partitions."""
    total = 0.0
    for k in range(n_chairs):
        total += log_worth[k]
    for k in range(n_clusters):
        total += log_open[k]
    return total


@kernel
def unnormalised_log_joint(state, log_worth):
    """Return the log joint of a state, but for the total weight of all partitions.

    log_worth[k] becomes what chair k adds to it.
    """
    seats, counters = state.seats, state.seats.counters
    for k in range(counters[CHAIRS]):
        log_worth[k] = log_worth_of_chair(state.chairs, k, seats.sizes[k], seats.discount)
    return log_joint_of_chairs(counters[CHAIRS], counters[TAKEN], seats.log_open, log_worth)
