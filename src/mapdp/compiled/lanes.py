"""Several chairs as one value: `LANES` neighbours of an array that go through arithmetic together.

Scoring loops handle eight chairs at a time explicitly. Compiled, such a value is a vector register (or a
few), so speed does not depend on what a compiler makes of a loop; interpreted, it is a slice of a NumPy
array. Arrays that are read this way have a whole number of lanes.
"""

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

from mapdp.compiled.jit import bits_of, float_of

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


def _teach(function, kinds, result, codegen):
    """Teach numba a function: the result for arguments of these kinds, and what it does in machine code.

    Unlike an overload, this costs no function of its own to compile.
    """

    def result_for(*given):
        return result if all(map(_is, given, kinds)) else None

    by_number = [
        lambda a: result_for(a),
        lambda a, b: result_for(a, b),
        lambda a, b, c: result_for(a, b, c),
    ]
    typer: Any = lambda context: by_number[len(kinds) - 1]  # noqa: E731  numba wants as many parameters
    type_callable(function)(typer)
    lower_builtin(function, *[kind if isinstance(kind, type) else type(kind) for kind in kinds])(codegen)


def _is(given, kind):
    """Say whether a type is the one, or of the class, that is wanted."""
    return isinstance(given, kind) if isinstance(kind, type) else given == kind


def _place(context, builder, kinds, args):
    """Return where the lanes begin that an array and a place name."""
    place = context.cast(builder, args[1], kinds[1], types.intp)
    return _address(context, builder, kinds[0], args[0], place)


def _load(context, builder, signature, args):
    return builder.load(_place(context, builder, signature.args, args), align=8)


def _store(context, builder, signature, args):
    builder.store(args[2], _place(context, builder, signature.args, args), align=8)
    return context.get_dummy_value()


def _spread(context, builder, signature, args):
    return _widened(
        builder, context.cast(builder, args[0], signature.args[0], types.float64), types.float64
    )


def _larger_of(builder, a, b):
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _folded(combine):
    """Return what combines the halves of lanes until one number is left."""

    def codegen(context, builder, signature, args):
        vector, width = args[0], LANES
        while width > 1:
            width //= 2
            halves = (_shuffled(builder, vector, range(start, start + width)) for start in (0, width))
            vector = combine(builder, *halves)
        return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    return codegen


def _cast(vector):
    """Return what reads the same bits as another kind of lanes."""
    return lambda context, builder, signature, args: builder.bitcast(args[0], vector)


_teach(load, (types.Array, types.Integer), _FLOATS, _load)
_teach(store, (types.Array, types.Integer, _FLOATS), types.void, _store)
_teach(spread, (types.Number,), _FLOATS, _spread)
_teach(larger, (_FLOATS, _FLOATS), _FLOATS, lambda _, builder, __, args: _larger_of(builder, *args))
_teach(
    larger,
    (types.Float, types.Float),
    types.float64,
    lambda _, builder, __, args: _larger_of(builder, *args),
)
_teach(largest, (_FLOATS,), types.float64, _folded(_larger_of))
_teach(sum_of, (_FLOATS,), types.float64, _folded(lambda builder, a, b: builder.fadd(a, b)))
_teach(bits_of, (_FLOATS,), _BITS, _cast(_BIT_VECTOR))
_teach(float_of, (_BITS,), _FLOATS, _cast(_FLOAT_VECTOR))


def _arithmetic(symbol, instructions):
    """Teach numba an operator between lanes, or between lanes and one number."""

    def codegen(context, builder, signature, args):
        kind = signature.return_type
        pairs = zip(args, signature.args, strict=True)
        wide = [_of_kind(context, builder, *pair, kind) for pair in pairs]
        instruction = getattr(builder, instructions[kind])
        return instruction(*wide, flags=("contract",)) if kind == _FLOATS else instruction(*wide)

    for kind in instructions:
        for sides in ((kind, kind), (kind, types.Number), (types.Number, kind)):
            for name in (f"__{symbol}__", f"__i{symbol}__"):
                _teach(getattr(operator, name), sides, kind, codegen)


def _of_kind(context, builder, value, given, kind):
    """Return lanes as they are, and one number in every lane, as a number of their kind."""
    if isinstance(given, _Lanes):
        return value
    return _widened(builder, context.cast(builder, value, given, kind.number), kind.number)


for _symbol, _instruction in {"add": "fadd", "sub": "fsub", "mul": "fmul", "truediv": "fdiv"}.items():
    _arithmetic(_symbol, {_FLOATS: _instruction} | ({_BITS: "add"} if _symbol == "add" else {}))
for _symbol, _instruction in {"rshift": "lshr", "lshift": "shl", "and": "and_", "or": "or_"}.items():
    _arithmetic(_symbol, {_BITS: _instruction})
