"""Handles that are needed over and over, as casts of a mould.

What is written down of such a handle, and all arrays that it has for itself, are in one block of memory. To
cast another is to copy the block and to put new addresses where the old ones were. That takes microseconds,
where a handle made anew takes some for each array. What is in a field called `prior` is shared.
"""

import functools
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Literal

import numpy as np

from mapdp.compiled.handles import ADDRESS, Handle, address_of

_LINE = 8  # words of a line of the processor's cache, where every array begins
_SHARED = ("prior", "addresses")
_SMALL = 2**16  # bytes of what is cast: beside the numbers of anything larger its handles cost little
# By owner and size; None after the first time, False for what is too large.
_MOULDS: MutableMapping[Any, dict[int, "Mould | Literal[False] | None"]] = weakref.WeakKeyDictionary()


def cast(owner: Any, size: int, make: Callable[[], Handle]) -> Handle:
    """Return what `make` does, which is the same for an owner and a size; from the third time on a cast."""
    moulds = _MOULDS.setdefault(owner, {})
    mould = moulds.get(size)
    if mould:
        return mould.cast()
    made = make()
    if size not in moulds:
        moulds[size] = None
    elif mould is None:
        moulds[size] = Mould(made) if size_of(made) <= _SMALL else False
    return made


def size_of(model: Handle) -> int:
    """Return how many bytes a cast of a handle would take."""
    return sum(array.nbytes for array in _all_arrays(model))


class Mould:
    """Makes handles like one that was given, with the numbers it had then."""

    def __init__(self, model: Handle) -> None:
        self._model = model
        self._arrays = {id(array): array for array in _all_arrays(model)}
        self._starts, n_words = _side_by_side(self._arrays)
        self._block = np.zeros(n_words, dtype=np.int64)
        for key, view in self._views(self._block).items():
            view[...] = self._arrays[key]
        self._places, self._targets = self._addresses()

    def _addresses(self) -> np.ndarray:
        """Return the words of a block that hold addresses in it, and how many bytes in these are."""
        pairs = [
            (self._starts[id(one.memory)] + place, 8 * self._starts[id(array)])
            for one in _handles(self._model)
            for place, array in _own_arrays(one.written, 0)
        ]
        return np.array(pairs, dtype=np.int64).reshape(-1, 2).T

    def cast(self) -> Handle:
        """Return a new handle."""
        block = self._block.copy()
        block[self._places] = self._targets + address_of(block)
        made = Handle(block[: len(self._model.memory)], self._model.addresses)
        made.known, made.look_up = None, functools.partial(self._looked_up, block)
        return made

    def _views(self, block: np.ndarray) -> dict[int, Any]:
        """Return the arrays in a block, by the ids of those of the model."""
        return {
            key: np.ndarray(array.shape, array.dtype, block, 8 * self._starts[key])
            for key, array in self._arrays.items()
        }

    def _looked_up(self, block: np.ndarray) -> tuple[Any, Any]:
        """Return the tuple that is in a block as Python takes it, and as kernels do."""
        return _both_again(self._model, self._views(block))


def _side_by_side(arrays: dict[int, np.ndarray]) -> tuple[dict[int, int], int]:
    """Return the words at which arrays begin in a block, and how many words it has."""
    lines = [-(-array.nbytes // (8 * _LINE)) for array in arrays.values()]
    starts = (_LINE * np.cumsum([0, *lines])).tolist()
    return dict(zip(arrays, starts, strict=False)), starts[-1]


def _handles(value: Any) -> Iterator[Handle]:
    """Yield all handles in a value, first itself."""
    if isinstance(value, Handle):
        yield value
        yield from _handles(value.written)
    elif isinstance(value, tuple):
        for _, part in _own_parts(value):
            yield from _handles(part)


def _all_arrays(model: Handle) -> list[np.ndarray]:
    """Return what is written down of a handle, first its own, and all arrays that are not shared."""
    found = [(one.memory, *[array for _, array in _own_arrays(one.written, 0)]) for one in _handles(model)]
    return [array for arrays in found for array in arrays]


def _own_parts(value: tuple) -> list[tuple[int, Any]]:
    """Return the parts of a tuple that are not shared, each with the word that it begins at."""
    names = getattr(value, "_fields", ("",) * len(value))
    starts = np.cumsum([0, *map(_n_words, value)]).tolist()
    parts = zip(names, starts, value, strict=False)
    return [(start, part) for name, start, part in parts if name not in _SHARED]


def _n_words(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return ADDRESS + 1 + 2 * value.ndim
    return sum(map(_n_words, value)) if isinstance(value, tuple) else 1


def _own_arrays(value: Any, first: int) -> list[tuple[int, np.ndarray]]:
    """Return the arrays that are not shared, each with the word that holds its address."""
    if isinstance(value, np.ndarray):
        return [(first + ADDRESS, value)]
    if not isinstance(value, tuple):
        return []
    return [one for start, part in _own_parts(value) for one in _own_arrays(part, first + start)]


def _both_again(model: Handle, known: dict[int, Any]) -> tuple[Any, Any]:
    """Return what a handle like the model holds; `known` has its arrays by the ids of the model's."""
    contents = _again(model.contents, known)
    is_same = model.written is model.contents
    return contents, contents if is_same else _again(model.written, known)


def _again(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, np.ndarray):
        return known[id(value)]
    if isinstance(value, Handle):
        if id(value) not in known:
            made = known[id(value)] = Handle(known[id(value.memory)], value.addresses)
            made.known = _both_again(value, known)
        return known[id(value)]
    if not isinstance(value, tuple):
        return value
    if not hasattr(value, "_fields"):
        return tuple([_again(part, known) for part in value])
    named = zip(value._fields, value, strict=True)
    return type(value)(*[part if name in _SHARED else _again(part, known) for name, part in named])
