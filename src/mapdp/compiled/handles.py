"""Values that kernels know by their address, so that a kernel is compiled once and serves every family.

A `Handle` holds a bank, or the working space of its family, written down as machine code reads it, and the
addresses of the verbs that act on it (`entries.py`). What is compiled for a family is its verbs, not every
pass over rows again; a call through an address costs a few nanoseconds for each row.
"""

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_FLOAT, _BITS = struct.Struct("d"), struct.Struct("q")  # the same 64 bits as a float and as a whole number
NO_ADDRESSES = np.empty(0, dtype=np.int64)
ADDRESS = 4  # the word of an array that says where it begins


class _Written(NamedTuple):
    memory: np.ndarray  # the value as machine code reads it, in words of 64 bits
    addresses: np.ndarray  # of the verbs that act on it


class Handle(_Written):
    """A tuple of arrays and numbers under its address."""

    known: tuple[Any, Any] | None
    look_up: Callable[[], tuple[Any, Any]]

    @property
    def contents(self) -> Any:
        """Return the tuple as Python takes it."""
        return self._both()[0]

    @property
    def written(self) -> Any:
        """Return the tuple as kernels take it: parts of it may be handles, too."""
        return self._both()[1]

    def _both(self) -> tuple[Any, Any]:
        if self.known is None:
            self.known = self.look_up()
        return self.known

    def __reduce__(self) -> Any:
        raise TypeError("a Handle holds addresses of this process. Hint: pickle its contents.")


def handle(contents: Any, addresses: np.ndarray = NO_ADDRESSES, written: Any = None) -> Handle:
    """Return a value as kernels take it; its arrays are shared."""
    written = contents if written is None else written
    made = Handle(np.array(_words(written), dtype=np.int64), addresses)
    made.known = contents, written
    return made


def contents_of(value: Any) -> Any:
    """Return what a handle holds; anything else as it is."""
    return value.contents if isinstance(value, Handle) else value


def copied(value: Any) -> Any:
    """Copy arrays, tuples of them, and handles of those; numbers are as they were."""
    if isinstance(value, Handle):
        contents = copied(value.contents)
        is_same = value.written is value.contents
        return handle(contents, value.addresses, contents if is_same else copied(value.written))
    if isinstance(value, tuple):
        parts = [copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value.copy() if isinstance(value, np.ndarray) else value


def _words(value: Any) -> list[int]:
    """Return a value as Numba lays it out in memory (numba/_arraystruct.h); a test compares the two."""
    words: list[int] = []
    _write(value, words)
    return words


def _write(value: Any, words: list[int]) -> None:
    if isinstance(value, np.ndarray):
        flags = value.flags
        if not flags.c_contiguous:
            raise TypeError("arrays of a bank must be contiguous")
        start = address_of(value, flags.writeable)
        words += (0, 0, value.size, value.itemsize, start, *value.shape, *value.strides)
    elif isinstance(value, tuple):
        for part in value:
            _write(part, words)
    elif isinstance(value, float):
        words += _BITS.unpack(_FLOAT.pack(value))
    elif isinstance(value, int | np.int64) and not isinstance(value, bool):
        words.append(int(value))
    else:
        raise TypeError(f"a bank holds arrays, floats and whole numbers, got {type(value).__name__}")


def address_of(array: np.ndarray, is_writeable: bool = True) -> int:
    """Return where an array begins; by way of `ctypes`, where that can be, in a fifth of the time."""
    if is_writeable and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type]
    return array.__array_interface__["data"][0]
