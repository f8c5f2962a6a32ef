"""Dynamic programs over a sequence: the best path of states, and each row's chances of them.

Both take log densities of rows in states, and log probabilities of transitions that are known. Rows that
begin a sequence have no transition to them.
"""

import numpy as np

from mapdp.compiled.jit import inlined, kernel
from mapdp.compiled.special import exp, log

_LEAST = -600.0  # nats below the best, beyond which a state adds nothing


@kernel
def viterbi(log_density, is_first, log_start, log_step, came_from, score, path):
    """Fill `path` with the most probable states; `came_from` (N, K), `score` (2, K) are working space."""
    n_rows, n_states = came_from.shape
    for i in range(n_rows):
        now, before = score[i % 2], score[1 - i % 2]
        for k in range(n_states):
            best, origin = log_start[k], 0
            if is_first[i]:
                if i > 0:
                    origin = _highest(before, n_states)
                    best += before[origin]
            else:
                best = -np.inf
                for j in range(n_states):
                    value = before[j] + log_step[j, k]
                    if value > best:
                        best, origin = value, j
            now[k] = best + log_density[i, k]
            came_from[i, k] = origin
    k = _highest(score[(n_rows - 1) % 2], n_states)
    for back in range(n_rows):
        i = n_rows - 1 - back
        path[i] = k
        k = came_from[i, k]


@inlined
def _highest(values, n):
    best = 0
    for k in range(1, n):
        if values[k] > values[best]:
            best = k
    return best


@inlined
def _normalise(values, n):
    """Scale weights so that they add up to one; return their sum."""
    total = 0.0
    for k in range(n):
        total += values[k]
    for k in range(n):
        values[k] /= total
    return total


@kernel
def forward(log_density, is_first, start, step, chance):
    """Fill chance[i] with the chance of each state given the rows up to i; return the log likelihood."""
    n_rows, n_states = chance.shape
    total = 0.0
    for i in range(n_rows):
        highest = -np.inf
        for k in range(n_states):
            highest = max(highest, log_density[i, k])
        for k in range(n_states):
            weight = start[k]
            if not is_first[i]:
                weight = 0.0
                for j in range(n_states):
                    weight += chance[i - 1, j] * step[j, k]
            chance[i, k] = weight * exp(max(log_density[i, k] - highest, _LEAST))
        total += highest + log(_normalise(chance[i], n_states))
    return total


@kernel
def backward(is_first, step, chance, ahead):
    """Turn what `forward` left into the probability of each state given all rows; `ahead` (K,) is for sums.

    chance[i, j] becomes itself times the sum over k of step[j, k] p(k at i + 1) / p(k at i + 1 so far).
    """
    n_rows, n_states = chance.shape
    for back in range(1, n_rows):
        i = n_rows - 1 - back
        if is_first[i + 1]:
            continue
        for k in range(n_states):
            so_far = 0.0
            for j in range(n_states):
                so_far += chance[i, j] * step[j, k]
            ahead[k] = chance[i + 1, k] / max(so_far, 1e-300)
        for j in range(n_states):
            weight = 0.0
            for k in range(n_states):
                weight += step[j, k] * ahead[k]
            chance[i, j] *= weight
        _normalise(chance[i], n_states)
