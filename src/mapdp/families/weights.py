"""Learning the prior probabilities of candidates from the clusters of a table."""

import numpy as np

_MOST_STEPS = 1000  # of EM


def learned_weights(log_likelihood: np.ndarray, log_weight: np.ndarray, least_gain: float) -> np.ndarray:
    """Return log prior weights of candidates, by EM; log_likelihood is (K, G).

    The hyperprior is one more cluster that all candidates describe equally well.
    """
    flat, before = 1.0 / len(log_weight), -np.inf
    for _ in range(_MOST_STEPS):
        log_posterior = log_likelihood + log_weight
        log_marginal = np.logaddexp.reduce(log_posterior, axis=1)
        value = log_marginal.sum() + log_weight.mean()
        if value - before <= least_gain:
            break
        before, log_posterior = value, log_posterior - log_marginal[:, None]
        shares = np.exp(log_posterior).sum(axis=0) + flat
        log_weight = np.log(shares / shares.sum())
    return log_weight
