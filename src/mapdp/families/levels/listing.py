"""Which families describe the rows of sparse matrices, and how they come to hold them."""

from typing import Any

import numpy as np

from mapdp.data.sparse import SparseRows, not_for_sparse
from mapdp.families.base import Family
from mapdp.families.levels.bernoulli import Bernoulli, checked_ones
from mapdp.families.levels.listed_bernoulli import ListedBernoulli
from mapdp.families.levels.listed_multinomial import ListedMultinomial
from mapdp.families.levels.multinomial import Multinomial, checked_counts

ListedFamily = ListedMultinomial | ListedBernoulli


def takes_sparse(family: Any) -> bool:
    """Say whether a family, or a class of them, describes the rows of sparse matrices."""
    return (family if isinstance(family, type) else type(family)) in (Multinomial, Bernoulli)


def listing(family: Family, rows: SparseRows, n_most: int) -> ListedFamily:
    """Return a family with the rows of a sparse matrix; clusters have up to `n_most` rows."""
    if isinstance(family, Multinomial):
        prior = family.concentration, family.dispersion, family.total, family.widest
        return ListedMultinomial(*prior, rows=checked_counts(rows))
    if isinstance(family, Bernoulli):
        return ListedBernoulli(family.success, family.failure, rows=checked_ones(rows), n_most=n_most)
    raise not_for_sparse()


def row_numbers(rows: SparseRows) -> np.ndarray:
    """Return rows as families that hold them know them."""
    return np.arange(len(rows), dtype=np.float64)[:, None]
