"""Counts from trials with one chance of success, under Beta priors on the chance.

The successes and failures of a cell are both linear in its count; the number of orders in which they may
have come depends on the count alone. So one bank serves the binomial, whose trials are fixed, and the
negative binomial and geometric, whose successes are.
"""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import Family, Parameters
from mapdp.families.columns import Sums, beginnings, gathered
from mapdp.families.counts.small_counts import KEPT
from mapdp.families.counts.trials_columns import TrialsColumns, TrialsPrior

_CHANCE_HINT = "1.0 makes all chances equally probable."


@dataclasses.dataclass(frozen=True, eq=False)
class Trials(Family):
    """What the families of trials share."""

    columns_type = TrialsColumns
    has_units = False

    success: np.ndarray
    failure: np.ndarray
    trials: np.ndarray

    def __post_init__(self) -> None:
        success = checks.positive_vector("success", self.success, _CHANCE_HINT)
        failure = checks.positive_vector("failure", self.failure, _CHANCE_HINT)
        trials = checks.positive_vector("trials", self.trials, "say how many, one number per column.")
        for name, values in zip(
            ("success", "failure", "trials"), np.broadcast_arrays(success, failure, trials), strict=True
        ):
            object.__setattr__(self, name, np.array(values))
        if (trials > checks.LARGEST_COUNT).any():
            raise ValueError(
                f"trials must be at most 2^53 to be exact, got {trials.max()}. Hint: use DiagonalGaussian."
            )

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.success)

    def _counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how successes, failures and orders follow from a count."""
        raise NotImplementedError

    @classmethod
    def column_prior(cls, columns: Sequence[Self], place: np.ndarray) -> TrialsPrior:
        """Return the prior of such columns in a mixed table."""
        first = beginnings([int(min(one._most(), KEPT)) for one in columns])
        each = zip((np.zeros((2, 0)),) * 3, *[one._counted() for one in columns], strict=True)
        rules = [np.concatenate(rule, axis=1) for rule in each]
        return TrialsPrior(place, first, *gathered(columns, "success", "failure"), *rules)

    def _most(self) -> float:
        """Return how many different counts the one column can have."""
        return np.inf

    def updated(self, sums: Sums) -> Self:
        """Return the posterior after cells with these sums, as a prior."""
        successes, failures, _ = self._counted()
        return dataclasses.replace(
            self,
            success=self.success + sums.n * successes[0] + successes[1] * sums.total,
            failure=self.failure + sums.n * failures[0] + failures[1] * sums.total,
        )

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the chances of success of n clusters."""
        return (rng.beta(self.success, self.failure, size=(n, self.n_features)),)


def checked_counts(X: np.ndarray, names: Names) -> np.ndarray:
    """Return X, or say which cell is not a count."""
    checks.finite(X, names)
    hint = "use DiagonalGaussian for measurements."
    checks.every_cell(
        X, (X >= 0) & (np.floor(X) == X), "counts must be whole numbers from 0 up", hint, names
    )
    checks.exact_counts(X, names)
    return X
