"""What Gaussian families share: rows are measured from the prior mean."""

import numpy as np

from mapdp.data import checks
from mapdp.data.checks import Names
from mapdp.families.base import Family

_REACH = 1e12  # prior widths from the prior mean: beyond, exact sums of squares lose the digits of a width


class Located(Family):
    """A family whose rows are measured from its prior mean."""

    mean: np.ndarray

    @property
    def widths(self) -> np.ndarray:
        """Return the prior width of a cluster in each column."""
        raise NotImplementedError

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check that all cells are finite, and near enough to the prior mean to be told apart."""
        checks.finite(X, names)
        kind, reach = type(self).__name__, np.minimum(_REACH * self.widths, checks.LARGEST_SQUARED)
        rule = f"{kind} columns must be within {_REACH:.0e} prior widths of the prior mean"
        hint = f"family={kind} makes a prior from the rows; a single such number may stand for missing."
        checks.within(X, self.mean, reach, rule, hint, names)
        return X

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.mean)

    @property
    def origin(self) -> np.ndarray:
        """Rows are measured from the prior mean."""
        return self.mean
