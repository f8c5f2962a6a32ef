"""The same model, and what its clusters hold, with a count of cells for each column.

A family without gaps counts rows once for all columns, which is faster. Where rows with gaps come later,
its clusters go on in banks whose columns count their own cells.
"""

from typing import Any

import numpy as np

from mapdp.compiled.lanes import whole_lanes
from mapdp.families.base import Bank, Family
from mapdp.families.mixed import Mixed, parts_of
from mapdp.families.product import Product
from mapdp.families.slots import copy_slots


def for_gaps(family: Family) -> Family | None:
    """Return the same model for rows with gaps, None where there is no such."""
    if isinstance(family, Product):
        return family.for_gaps()
    return Mixed.of(family) if family.has_columns else None


def moved(bank: Bank, n_chairs: int, family: Any, into: Any) -> Bank:
    """Return a bank of `into` whose first chairs have these statistics; predictives are not worked out."""
    target = into.new_bank(whole_lanes(n_chairs))
    _move(bank, np.arange(n_chairs), family, target, into)
    return target


def _move(bank: Bank, chairs: np.ndarray, family: Any, target: Bank, into: Any) -> None:
    if isinstance(family, Product):
        parts = zip(family.parts, family.banks(bank), into.parts, into.banks(target), strict=True)
        for (old, _), own, (new, _), room in parts:
            _move(own, chairs, old, room, new)
    elif type(bank) is type(target):
        copy_slots(bank, target, chairs)
    else:
        made = into.banks_of([family.all_sums(bank, k) for k in chairs])
        for part, room in zip(made, parts_of(target), strict=True):
            copy_slots(part, room, chairs)
