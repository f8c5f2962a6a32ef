"""Knows what a likelihood must be able to do: the verbs on a bank, and the Family that makes banks.

The one idea: a bank is a NamedTuple of arrays with one slot per chair along the last axis (so that all
chairs of a row are scored in vector code), and what it holds is of two sorts. Statistics are changed by
`insert`, `remove` and `pour`, and `log_marginal` reads nothing else; the cached predictive is brought up to
date by `refresh` and is all that scoring reads. An empty chair holds the prior, so a new cluster is scored
like an old one.

Rows reach the verbs relative to the family's `origin`, which keeps sums small on data far from zero.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp import checks
from mapdp._jit import kernel, verb
from mapdp._lanes import LANES, whole_lanes
from mapdp.checks import Names

SCALE_HINT = "1.0 is the paper's choice, smaller values look for tighter clusters."
Bank = Any  # a NamedTuple of arrays; fields called `prior` hold no slots
Parameters = tuple[np.ndarray, ...]  # a draw of cluster parameters, one per entry of the first axis


@verb
def clear(bank, k):
    """Make chair k empty: it then holds the prior."""


@verb
def insert(bank, k, x):
    """Add row x to the statistics of chair k."""


@verb
def remove(bank, k, x):
    """Take row x off the statistics of chair k."""


@verb
def pour(bank, k, other, j, times):
    """Add all that chair j of another bank knows to chair k, so many times; -1 takes it off again."""


@verb
def refresh(bank, k):
    """Bring the cached predictive of chair k up to date with its statistics."""


@verb
def log_predictive(bank, x, n_chairs, scores, scratch):
    """Add to scores[k] the log density of row x given chair k, for the first `n_chairs` chairs.

    Chairs are scored in whole lanes, so those after the first `n_chairs` may be scored, too.
    """


@verb
def log_leave_one_out(bank, k, x):
    """Return the log density of row x, which sits on chair k, given the others there."""


@verb
def log_marginal(bank, k):
    """Return the log density of all rows on chair k, cluster parameters integrated out."""


@verb
def draw(bank, k, noise):
    """Draw the parameters of chair k from their posterior, for banks that hold parameters.

    `noise` is a row of what the family's `noise` gives for as many rows as the chair has.
    """


class Family:
    """Prior hyperparameters of one likelihood; subclasses are frozen dataclasses."""

    scratch_rows = 0  # lanes of working space that scoring needs
    has_columns = True  # whether columns are independent within a cluster, each with a prior of its own

    @property
    def n_features(self) -> int:
        """Return the number of columns this family describes."""
        raise NotImplementedError

    @classmethod
    def empirical(cls, X: np.ndarray, scale: float = 1.0) -> Self:
        """Choose the hyperparameters from the data.

        `scale` says how wide a cluster is beside the whole table; what that means is the family's to say.
        """
        raise NotImplementedError

    def bank(self, capacity: int) -> Bank:
        """Return a bank of at least `capacity` empty chairs, ready to be scored."""
        slots = whole_lanes(capacity)
        bank = self.new_bank(slots)
        _clear_all(bank, slots)
        return bank

    def new_bank(self, capacity: int) -> Bank:
        """Return the arrays of a bank with `capacity` chairs that hold nothing yet, not even the prior."""
        raise NotImplementedError

    def posterior(self, bank: Bank, k: int) -> Self:
        """Return the family whose prior is what chair k knows."""
        raise NotImplementedError

    def summary(self) -> dict[str, Any]:
        """Return what the predictive density says of each column: mean, variance, ..."""
        raise NotImplementedError

    def sample_parameters(self, n: int, rng: np.random.Generator) -> Parameters:
        """Draw the parameters of n clusters."""
        raise NotImplementedError

    def sample_rows(self, parameters: Parameters, rng: np.random.Generator) -> np.ndarray:
        """Draw one row for each drawn cluster."""
        raise NotImplementedError

    def over(self, n_features: int) -> Self:
        """Return this family for `n_features` columns; one that was given for one column spreads."""
        if self.n_features == n_features:
            return self
        if self.n_features != 1:
            raise ValueError(
                f"family describes {self.n_features} columns, but X has {n_features}. "
                "Hint: give one value per column, or a single one for all."
            )
        return self._spread(n_features)

    def _spread(self, n_features: int) -> Self:
        spread = {
            field.name: np.repeat(value, n_features)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        return dataclasses.replace(self, **spread)  # type: ignore[type-var]

    def column(self, j: int) -> "Family":
        """Return this family for column j alone."""
        one = {
            field.name: value[j : j + 1]
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
            if isinstance(value := getattr(self, field.name), np.ndarray)
        }
        return dataclasses.replace(self, **one)  # type: ignore[type-var]

    def among(self, columns: np.ndarray) -> Self:
        """Return what a family whose columns are not independent says of some of them."""
        raise NotImplementedError

    @property
    def cell(self) -> Any:
        """Return the prior of a one-column family as `families.cells` reads it."""
        raise NotImplementedError

    def sums(self, bank: Bank, k: int) -> list[Any]:
        """Return what each column of chair k knows, as `families.cells.Sums`.

        What adds up over rows and says nothing of clusters (log factorials, ...) may be left out.
        """
        raise NotImplementedError

    def learned(self, sums: Any) -> "Family":
        """Return a one-column family after the cells that these `families.cells.Sums` tell of."""
        raise NotImplementedError

    @property
    def origin(self) -> np.ndarray:
        """Return the point that rows are measured from."""
        return np.zeros(self.n_features)

    def encode(self, X: np.ndarray, names: Names = None) -> np.ndarray:
        """Check the cells of X and return them as the verbs want them."""
        checks.finite(X, names)
        return X

    def decode(self, X: np.ndarray) -> np.ndarray:
        """Turn encoded rows back into the values that users know."""
        return X

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n independent rows from the predictive density."""
        return self.decode(self.sample_rows(self.sample_parameters(n, rng), rng))

    def log_marginal(self, X: np.ndarray) -> float:
        """Return the log density of rows that share one cluster (interpreted: for small X)."""
        return float(log_marginal(self._seated(X), 0))

    def log_predictive(self, x: np.ndarray, X: np.ndarray) -> float:
        """Return the log density of row x given rows X of its cluster (interpreted: for small X)."""
        scores, scratch = np.zeros(LANES), np.zeros((self.scratch_rows, LANES))
        row = self.encode(np.array([x], dtype=np.float64))[0] - self.origin
        log_predictive(self._seated(X), row, 1, scores, scratch)
        return float(scores[0])

    def _seated(self, X: np.ndarray) -> Bank:
        bank = self.bank(1)
        rows = np.asarray(X, dtype=np.float64).reshape(-1, self.n_features)
        for x in self.encode(rows):
            insert(bank, 0, x - self.origin)
        refresh(bank, 0)
        return bank


class Located(Family):
    """A family whose rows are measured from its prior mean."""

    mean: np.ndarray

    @property
    def n_features(self) -> int:
        """Return the number of columns."""
        return len(self.mean)

    @property
    def origin(self) -> np.ndarray:
        """Rows are measured from the prior mean."""
        return self.mean


def rows_side_by_side(
    families: Sequence[Family], parameters: Parameters, rng: np.random.Generator
) -> np.ndarray:
    """Draw one row for each drawn cluster, family after family; each takes its share of the parameters."""
    rows, rest = [], parameters
    for one in families:
        taken = len(one.sample_parameters(0, rng))
        rows.append(one.sample_rows(rest[:taken], rng))
        rest = rest[taken:]
    return np.hstack(rows)


def copy_slots(source: Bank, target: Bank, slots: np.ndarray) -> None:
    """Copy these slots of `source` to the first slots of `target`."""
    for name, old, new in zip(source._fields, source, target, strict=True):
        if name == "prior":
            continue
        if isinstance(old, np.ndarray):
            new[..., : len(slots)] = old.take(slots, axis=-1)
        elif hasattr(old, "_fields"):
            copy_slots(old, new, slots)


@kernel
def refresh_all(bank, capacity):
    """Bring the cached predictive of all chairs up to date."""
    for k in range(capacity):
        refresh(bank, k)


@kernel
def _clear_all(bank, capacity):
    for k in range(capacity):
        clear(bank, k)
        refresh(bank, k)
