"""Which family describes which kind of column, and a prior for a whole table."""

import dataclasses
from typing import Any

import numpy as np

from mapdp.data.column import Column
from mapdp.data.columns import Schema
from mapdp.data.moments import has_gaps
from mapdp.families.base import Family
from mapdp.families.counts.negative_binomial import NegativeBinomial
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.grid.beta import Beta
from mapdp.families.grid.gamma import Gamma
from mapdp.families.grid.student_t import StudentT
from mapdp.families.grid.von_mises import VonMises
from mapdp.families.levels.bernoulli import Bernoulli
from mapdp.families.levels.categorical import Categorical
from mapdp.families.levels.ordered import Ordered
from mapdp.families.mixed import Mixed
from mapdp.families.product import Product
from mapdp.families.zero_inflated import ZeroInflated

FAMILIES: dict[str, type[Family]] = {
    "real": DiagonalGaussian,
    "log": DiagonalGaussian,
    "count": NegativeBinomial,
    "binary": Bernoulli,
    "category": Categorical,
    "ordered": Ordered,
    "circular": VonMises,
    "waiting": Gamma,
    "share": Beta,
    "robust": StudentT,
    "zeros": ZeroInflated,
}
_FASTER = {DiagonalGaussian, Bernoulli, Categorical}  # than the same as Mixed


def family_for(schema: Schema, rows: np.ndarray, scale: float = 1.0) -> Family:
    """Choose a prior for the used columns from their numbers; `scale` is that of `Family.empirical`."""
    used = [schema.columns[j] for j in schema.used]
    kinds = {FAMILIES[column.kind] for column in used}
    if len(kinds) == 1 and kinds <= _FASTER and not has_gaps(rows):
        return kinds.pop().empirical(rows, scale)
    return Mixed([_family_of(column, rows[:, j], scale) for j, column in enumerate(used)])


def with_resolution(family: Any, steps: np.ndarray) -> Any:
    """Return a family whose Gaussian columns know what their numbers are rounded to."""
    if isinstance(family, Mixed):
        columns = [with_resolution(one, steps[[j]]) for j, one in enumerate(family.columns)]
        return Mixed(columns)
    if isinstance(family, Product):
        return Product([(with_resolution(part, steps[list(some)]), some) for part, some in family.parts])
    if isinstance(family, ZeroInflated):
        return dataclasses.replace(family, family=with_resolution(family.family, steps))
    return dataclasses.replace(family, resolution=steps) if hasattr(family, "resolution") else family


def with_block(kind: type[Family], family: Mixed, columns: np.ndarray, numbers: np.ndarray) -> Product:
    """Return a family in which these columns depend on each other as `kind` says; rows lack all or none."""
    cells = numbers[:, columns]
    block = kind.empirical(cells[~np.isnan(cells[:, 0])])
    others = np.setdiff1d(np.arange(family.n_features), columns)
    return Product(
        [(block, columns.tolist()), (Mixed([family.columns[j] for j in others]), others.tolist())]
    )


def _family_of(column: Column, cells: np.ndarray, scale: float) -> Family:
    """Choose the prior of one column from its cells."""
    if column.kind == "ordered":
        return Ordered([np.arange(len(column.values))], scale)
    seen = cells[~np.isnan(cells), None]
    if column.kind == "zeros":
        return ZeroInflated.empirical(seen, scale, column.special)
    return FAMILIES[column.kind].empirical(seen, scale)
