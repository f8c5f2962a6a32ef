"""What families of categories share: pseudo-counts for the levels of each column."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.families.base import Family
from mapdp.families.columns import Sums, tallied
from mapdp.families.levels.categorical_bank import (
    CategoricalBank,
    LevelColumns,
    LevelPrior,
    level_prior,
    new_categorical_bank,
)
from mapdp.families.levels.learning import Tallies, learned_pseudo_counts, log_hyperprior_of


class LevelFamily(Family):
    """A Dirichlet prior over the levels of each column."""

    columns_type = LevelColumns

    @property
    def pseudo_counts(self) -> list[np.ndarray]:
        """Return the pseudo-counts of the levels of each column."""
        raise NotImplementedError

    def with_pseudo_counts(self, weights: Sequence[np.ndarray]) -> Self:
        """Return the family with other pseudo-counts."""
        raise NotImplementedError

    @property
    def n_learned(self) -> int:
        """Return the number of hyperparameters that are learned: a concentration for each column."""
        return self.n_features

    def learned_from(self, chairs: Sequence[Sums], rows: np.ndarray, least_gain: float) -> Self:
        """Return the family whose concentrations make these clusters most probable."""
        tallies = Tallies.of([sums.tallies for sums in chairs])
        return self.with_pseudo_counts(learned_pseudo_counts(tallies))

    def log_hyperprior_from(self, chairs: Sequence[Sums]) -> float:
        """Return the log density of the concentrations."""
        return log_hyperprior_of(self.pseudo_counts)

    @classmethod
    def column_prior(cls, columns: Sequence[Any], place: np.ndarray) -> LevelPrior:
        """Return the prior of such columns in a mixed table."""
        return level_prior([one.pseudo_counts[0] for one in columns], place)

    def new_bank(self, capacity: int) -> CategoricalBank:
        """Return the arrays of a bank with `capacity` chairs."""
        return new_categorical_bank(self.pseudo_counts, capacity)

    def sums(self, bank: CategoricalBank, k: int) -> Sums:
        """Return the statistics of chair k, column by column."""
        return tallied(bank.n[k], np.split(bank.tally[:, k], bank.prior.offset[1:-1]))
