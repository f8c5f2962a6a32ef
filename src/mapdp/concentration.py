"""Knows priors of the concentration alpha, and what a partition tells of it.

The one idea: under a Dirichlet process the data speak of alpha through two numbers only, how many rows
there are and how many clusters: p(K | alpha, N) goes as alpha^K Gamma(alpha) / Gamma(alpha + N).
"""

import dataclasses
import math

import numpy as np

from mapdp import checks

_HINT = '("gamma", 1.0, 1.0) is a mild choice.'


@dataclasses.dataclass(frozen=True)
class GammaPrior:
    """A Gamma distribution of alpha.

    Parameters
    ----------
    shape, rate : float
        The mean is shape / rate.
    """

    shape: float
    rate: float

    def log_density(self, alpha: float) -> float:
        """Return the log density at alpha."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + (self.shape - 1.0) * math.log(alpha) - self.rate * alpha

    def draw(self, alpha: float, n: int, k: int, rng: np.random.Generator) -> float:
        """Draw alpha given k clusters of n rows, starting from its last value (Escobar and West 1995)."""
        rate = self.rate - math.log(rng.beta(alpha + 1.0, n))
        odds = (self.shape + k - 1.0) / (n * rate)
        shape = self.shape + k - (rng.random() * (1.0 + odds) > odds)
        return float(rng.gamma(shape) / rate)


def make_prior(prior: object) -> GammaPrior:
    """Return the prior that a parameter names: ("gamma", shape, rate)."""
    if not isinstance(prior, tuple) or len(prior) != 3 or prior[0] != "gamma":
        raise ValueError(f'alpha_prior must be ("gamma", shape, rate), got {prior!r}. Hint: {_HINT}')
    return GammaPrior(*[checks.positive("alpha_prior", number, _HINT) for number in prior[1:]])
