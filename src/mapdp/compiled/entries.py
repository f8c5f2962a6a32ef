"""How kernels call functions by their address, and how such functions are compiled.

An entry is a function with a C signature. A letter stands for each of its parameters: b for a bank, s for
working space, i for a whole number, f for a float, and a for an array of floats, which is two parameters:
its address and its length. Banks and working space come as pointers: `bank[0]` is the tuple.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from mapdp.compiled.handles import NO_ADDRESSES
from mapdp.compiled.jit import entry, is_compiled

_ROW = types.Array(types.float64, 1, "C")
_POINTER = ir.IntType(8).as_pointer()
_ADDRESSES: dict[tuple, np.ndarray] = {}  # of entries for banks of some type


def addresses_for(entries: Sequence[tuple[Callable, str] | None], bank: Any, scratch: Any) -> np.ndarray:
    """Return the addresses of entries for values of these types, 0 for None; compile what is missing."""
    if not is_compiled():
        return NO_ADDRESSES
    key = (_kind(bank), _kind(scratch))
    if key not in _ADDRESSES:
        kinds = {"b": numba.typeof(bank), "s": numba.typeof(scratch)}
        found = [0 if one is None else entry(one[0], _signature(one[1], kinds)) for one in entries]
        _ADDRESSES[key] = np.array(found, dtype=np.int64)
    return _ADDRESSES[key]


def _kind(value: Any) -> Any:
    """Return what the type of a value depends on."""
    if isinstance(value, tuple):
        return (type(value), *[_kind(part) for part in value])
    return (value.dtype.char, value.ndim) if isinstance(value, np.ndarray) else type(value)


def _signature(letters: str, kinds: dict[str, Any]) -> Any:
    row: list[Any] = [types.CPointer(types.float64), types.int64]
    plain = {"i": [types.int64], "f": [types.float64], "a": row}
    parts: list[Any] = [plain.get(letter) or [types.CPointer(kinds[letter])] for letter in letters]
    return types.float64(*[one for part in parts for one in part])


@intrinsic  # type: ignore[arg-type]
def array_at(context, start, n):
    """Return the array of n floats that begins at an address."""

    def codegen(context, builder, signature, args):
        array = context.make_array(_ROW)(context, builder)
        width = context.get_constant(types.intp, 8)
        populate_array(array, args[0], [args[1]], [width], width, meminfo=None)
        return array._getvalue()

    return _ROW(start, types.intp), codegen


def _passed(context, builder, kind, value):
    """Return what is passed for an argument: addresses, lengths and numbers."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        start = builder.bitcast(array.data, _POINTER)
        return [start, array.nitems] if kind.dtype == types.float64 else [start]
    target = types.float64 if isinstance(kind, types.Float) else types.int64
    return [context.cast(builder, value, kind, target)]


@intrinsic  # type: ignore[arg-type]
def invoke(context, address, arguments):
    """Call the entry at an address; an array of whole numbers is the memory of a handle."""

    def codegen(context, builder, signature, args):
        values = cgutils.unpack_tuple(builder, args[1], len(signature.args[1]))
        pairs = zip(signature.args[1], values, strict=True)
        passed = [one for pair in pairs for one in _passed(context, builder, *pair)]
        function = ir.FunctionType(ir.DoubleType(), [value.type for value in passed])
        return builder.call(builder.inttoptr(args[0], function.as_pointer()), passed)

    return types.float64(types.int64, arguments), codegen
