"""Knows several chairs as one value: `LANES` neighbours of an array that move through arithmetic together.

The one idea: scoring loops say themselves that they handle eight chairs at a time. Compiled, a value of
this kind is a vector register (or a few), so speed does not hang on what a compiler makes of a loop;
interpreted, it is a slice of a NumPy array. Arrays that are read so have a whole number of lanes.
"""

import functools
import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

from mapdp._jit import INLINED, bits_of, float_of

LANES = 8


def whole_lanes(n: int) -> int:
    """Return n, rounded up to a whole number of lanes."""
    return -(-n // LANES) * LANES


def load(array: np.ndarray, k: int) -> Any:
    """Take the lanes that begin at place k of an array in one dimension."""
    return array[k : k + LANES].copy()


def store(array: np.ndarray, k: int, lanes: Any) -> None:
    """Put lanes back, beginning at place k."""
    array[k : k + LANES] = lanes


def spread(number: float) -> Any:
    """Return lanes that all hold one number."""
    return np.full(LANES, number)


def larger(a: Any, b: Any) -> Any:
    """Return the larger number in each lane."""
    return np.maximum(a, b)


def largest(lanes: Any) -> float:
    """Return the largest number of all lanes."""
    return lanes.max()


def sum_of(lanes: Any) -> float:
    """Return the sum of the numbers of all lanes."""
    while len(lanes) > 1:
        lanes = lanes[: len(lanes) // 2] + lanes[len(lanes) // 2 :]
    return lanes[0]


class _Lanes(types.Type):
    """Numba's view of lanes of one number type."""

    def __init__(self, number: types.Type, name: str) -> None:
        self.number = number
        super().__init__(name=f"{name} x {LANES}")


_FLOATS = _Lanes(types.float64, "float64")
_BITS = _Lanes(types.int64, "int64")
_FLOAT_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BIT_VECTOR = ir.VectorType(ir.IntType(64), LANES)


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _FLOAT_VECTOR if kind == _FLOATS else _BIT_VECTOR)


def _address(context, builder, array_type, array, place):
    """Return where the lanes of an array begin."""
    made = context.make_array(array_type)(context, builder, array)
    pointer = cgutils.get_item_pointer(context, builder, array_type, made, [place], wraparound=False)
    return builder.bitcast(pointer, _FLOAT_VECTOR.as_pointer())


def _shuffled(builder, vector, order):
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(order)), list(order))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _widened(builder, value, kind):
    """Return lanes as they are, and one number in every lane."""
    if isinstance(kind, _Lanes):
        return value
    vector = _FLOAT_VECTOR if kind == types.float64 else _BIT_VECTOR
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return _shuffled(builder, one, [0] * LANES)


@intrinsic  # type: ignore[arg-type]
def _load(context, array, place):
    def codegen(context, builder, signature, args):
        return builder.load(_address(context, builder, signature.args[0], *args), align=8)

    return _FLOATS(array, types.intp), codegen


@intrinsic  # type: ignore[arg-type]
def _store(context, array, place, lanes):
    def codegen(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, signature.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), codegen


@intrinsic  # type: ignore[arg-type]
def _spread(context, number):
    def codegen(context, builder, signature, args):
        return _widened(builder, args[0], types.float64)

    return _FLOATS(types.float64), codegen


def _larger_of(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


@intrinsic  # type: ignore[arg-type]
def _larger(context, a, b):
    def codegen(context, builder, signature, args):
        return _larger_of(builder, *args)

    return _FLOATS(_FLOATS, _FLOATS), codegen


def _folded(combine):
    """Return an intrinsic that combines the halves of lanes until one number is left."""

    @intrinsic  # type: ignore[arg-type]
    def fold(context, lanes):
        def codegen(context, builder, signature, args):
            vector, width = args[0], LANES
            while width > 1:
                width //= 2
                halves = (_shuffled(builder, vector, range(start, start + width)) for start in (0, width))
                vector = combine(builder, *halves)
            return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

        return types.float64(_FLOATS), codegen

    return fold


_largest = _folded(_larger_of)
_sum_of = _folded(lambda builder, a, b: builder.fadd(a, b))


def _cast(target, source, vector):
    """Return an intrinsic that reads the same bits as another kind of lanes."""

    @intrinsic  # type: ignore[arg-type]
    def cast(context, lanes):
        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], vector)

        return target(source), codegen

    return cast


_to_bits, _to_floats = _cast(_BITS, _FLOATS, _BIT_VECTOR), _cast(_FLOATS, _BITS, _FLOAT_VECTOR)


# What numba puts in the place of each function above.
_compiled = functools.partial(overload, jit_options=INLINED)
_compiled(load)(lambda array, k: lambda array, k: _load(array, k))  # type: ignore[call-arg]
_compiled(store)(lambda array, k, lanes: lambda array, k, lanes: _store(array, k, lanes))  # type: ignore[call-arg]
_compiled(spread)(lambda number: lambda number: _spread(number))  # type: ignore[call-arg]
_compiled(larger)(lambda a, b: lambda a, b: _larger(a, b))  # type: ignore[call-arg]
_compiled(largest)(lambda lanes: lambda lanes: _largest(lanes))  # type: ignore[call-arg]
_compiled(sum_of)(lambda lanes: lambda lanes: _sum_of(lanes))
_compiled(bits_of)(lambda number: (lambda number: _to_bits(number)) if number == _FLOATS else None)
_compiled(float_of)(lambda bits: (lambda bits: _to_floats(bits)) if bits == _BITS else None)


def _arithmetic(symbol, instruction, kind, *flags):
    """Teach numba an operator between lanes, or between lanes and one number."""

    @intrinsic  # type: ignore[arg-type]
    def apply(context, a, b):
        def codegen(context, builder, signature, args):
            wide = [_widened(builder, *pair) for pair in zip(args, signature.args, strict=True)]
            return getattr(builder, instruction)(*wide, flags=flags)

        sides = [side if side == kind else kind.number for side in (a, b)]
        return kind(*sides), codegen

    def choose(a, b):
        return (lambda a, b: apply(a, b)) if kind in (a, b) else None  # type: ignore[call-arg]

    for name in (f"__{symbol}__", f"__i{symbol}__"):
        _compiled(getattr(operator, name))(choose)


for _symbol, _instruction in {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}.items():
    _arithmetic(_symbol, _instruction, _FLOATS, "contract")
for _symbol, _instruction in {
    "add": "add",
    "rshift": "lshr",
    "lshift": "shl",
    "and": "and_",
    "or": "or_",
}.items():
    _arithmetic(_symbol, _instruction, _BITS)
