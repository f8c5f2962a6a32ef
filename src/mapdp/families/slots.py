"""The slots of a bank, one for each chair, as plain arrays that can be copied, sent and put back."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mapdp.compiled.handles import contents_of


def arrays_of(bank: Any) -> Iterator[np.ndarray]:
    """Yield the arrays of a bank that have a slot for each chair along their last axis."""
    for name, part in zip(bank._fields, bank, strict=True):
        if name != "prior" and isinstance(part, np.ndarray):
            yield part
        elif name != "prior" and hasattr(part, "_fields"):
            yield from arrays_of(contents_of(part))


def slots_of(bank: Any, n_chairs: int) -> list[np.ndarray]:
    """Return a copy of what the first chairs hold: statistics and cached predictive."""
    return [array[..., :n_chairs].copy() for array in arrays_of(bank)]


def fill_slots(bank: Any, slots: Sequence[np.ndarray]) -> None:
    """Put back what `slots_of` took from a bank of the same family."""
    for array, slot in zip(arrays_of(bank), slots, strict=True):
        array[..., : slot.shape[-1]] = slot


def copy_slots(source: Any, target: Any, chairs: np.ndarray) -> None:
    """Copy these chairs of a bank to the first chairs of another."""
    for old, new in zip(arrays_of(source), arrays_of(target), strict=True):
        new[..., : len(chairs)] = old.take(chairs, axis=-1)
