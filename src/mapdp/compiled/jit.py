"""How our loops are compiled; only files of this folder import Numba.

A family's functions are chosen at compile time by the type of the bank they work on (`verb`), so that one
kernel serves every family at the speed of a hand-specialised one. The machine code is kept on disk under
a fingerprint of all our sources, because Numba's own stamp sees the file of a kernel and not the files
that the kernel calls.
"""

import collections
import contextlib
import fractions
import math
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.errors import TypingError
from numba.extending import lower_builtin, overload, type_callable

from mapdp.compiled.announce import Announcer
from mapdp.compiled.cache import cache_folder
from mapdp.compiled.handles import contents_of
from mapdp.compiled.pipeline import options_for_small_functions, options_without_counting
from mapdp.compiled.turns import in_turn

_CONFIG: Any = numba.config
# Contraction lets a multiply and an add fuse; anything looser would break the bit tricks of `log`.
# Arrays are not counted: kernels own none (Python does, and makes all working space).
_OPTIONS: Any = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
    **options_without_counting(),
}
_SMALL, _RARE = options_for_small_functions()
INLINED: Any = {**_OPTIONS, "no_cpython_wrapper": True, **_SMALL}
CALLED: Any = {**_OPTIONS, "no_cpython_wrapper": True, **_RARE}
_ENTRY: Any = {name: value for name, value in _OPTIONS.items() if name != "no_cfunc_wrapper"}

KERNELS: list[Any] = []
ENTRIES: list[Any] = []  # functions that kernels call by their address, for the families in use
CACHE_FOLDER = cache_folder(_CONFIG.CACHE_DIR)
_ANNOUNCER = Announcer(CACHE_FOLDER)
event.register("numba:compile", _ANNOUNCER)
_LEAST, _MOST = 1e-250, 1e290  # products between them have halves that are floats, too


def is_compiled() -> bool:
    """Say whether kernels are turned into machine code."""
    return not _CONFIG.DISABLE_JIT


@contextlib.contextmanager
def with_cache_folder() -> Iterator[None]:
    """Let Numba keep machine code in our folder."""
    outer, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, CACHE_FOLDER or _CONFIG.CACHE_DIR
    try:
        yield
    finally:
        _CONFIG.CACHE_DIR = outer


def kernel(function: Callable) -> Any:
    """Compile a pass over rows that Python calls; keep the machine code on disk."""
    with with_cache_folder():
        compiled: Any = numba.njit(cache=CACHE_FOLDER is not None, **_OPTIONS)(function)
    if is_compiled():
        compiled.compile = _in_turn(compiled.compile, function.__name__)
    KERNELS.append(compiled)
    return compiled


def _in_turn(compile_for: Callable, name: str) -> Callable:
    """Return what compiles for some types while no other process does."""

    def compile_alone(signature: Any) -> Any:
        with in_turn(CACHE_FOLDER, name), _ANNOUNCER.ours():
            return compile_for(signature)

    return compile_alone


def inlined(function: Callable) -> Any:
    """Make a small function part of the kernels that call it; from Python it runs as it is written."""
    overload(function, strict=False, jit_options=INLINED)(lambda *_: function)
    return function


def called(function: Callable) -> Any:
    """Make a function that kernels call: long enough that a call costs little, and compiled only once."""
    overload(function, strict=False, jit_options=CALLED)(lambda *_: function)
    return function


def compilations() -> dict[str, int]:
    """Count what this process had to compile, by kernel and by entry."""
    missed = collections.Counter(k.__name__ for k in ENTRIES if not k.cache_hits)
    missed.update({k.__name__: sum(k.stats.cache_misses.values()) for k in KERNELS if hasattr(k, "stats")})
    return {name: n for name, n in missed.items() if n}


def entry(function: Callable, signature: Any) -> int:
    """Compile a function that kernels call by its address, or take it from disk; return the address."""
    with with_cache_folder(), in_turn(CACHE_FOLDER, f"entry{function.__name__}"), _ANNOUNCER.ours():
        compiled: Any = numba.cfunc(signature, cache=CACHE_FOLDER is not None, **_ENTRY)(function)
    ENTRIES.append(compiled)
    return compiled.address


class verb:
    """A function with one implementation per type of its first argument.

    Inside kernels the choice is made at compile time. Called from Python it runs interpreted, which
    is slow and meant for the debugger and for tests.
    """

    def __init__(self, stub: Callable) -> None:
        self.__name__ = stub.__name__
        self.__doc__ = stub.__doc__
        self._table: dict[type, Callable] = {}

        @overload(self, strict=False, jit_options=INLINED)
        def choose(subject, *rest):
            return self._find(getattr(subject, "instance_class", subject))

    def __call__(self, *arguments: Any) -> Any:
        """Run the implementation for the type of the first argument, interpreted."""
        known = [contents_of(argument) for argument in arguments]
        return self._find(type(known[0]))(*known)

    def serves(self, kind: type) -> bool:
        """Say whether there is an implementation for a type."""
        return kind in self._table

    def _find(self, kind: Any) -> Callable:
        if kind not in self._table:
            raise TypingError(f"{self.__name__} is not implemented for {kind}")
        return self._table[kind]

    def on(self, kind: type) -> Callable[[Callable], Callable]:
        """Register the decorated function as the implementation for `kind`."""

        def register(implementation: Callable) -> Callable:
            self._table[kind] = implementation
            return implementation

        return register


def bits_of(number: Any) -> Any:
    """Return the 64 bits of a float, or of each of several, as an integer."""
    return np.asarray(number, dtype=np.float64).view(np.int64)[()]


def float_of(bits: Any) -> Any:
    """Return the float that 64 bits stand for."""
    return np.asarray(bits, dtype=np.int64).view(np.float64)[()]


@type_callable(bits_of)
def _type_bits_of(context):
    return lambda number: types.int64 if isinstance(number, types.Float) else None


@type_callable(float_of)
def _type_float_of(context):
    return lambda bits: types.float64 if isinstance(bits, types.Integer) else None


@lower_builtin(bits_of, types.Float)
@lower_builtin(float_of, types.Integer)
def _compiled_cast(context, builder, signature, args):
    return builder.bitcast(args[0], context.get_value_type(signature.return_type))


def multiplied_and_added(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c, rounded once; arrays are for Python only."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) or isinstance(c, np.ndarray):
        return np.vectorize(_rounded_once, otypes=[np.float64])(a, b, c)
    return _rounded_once(float(a), float(b), float(c))


def _rounded_once(a: float, b: float, c: float) -> float:
    """Add c to both halves of the product (Dekker 1971); `math.fsum` rounds once."""
    product = a * b
    if not _LEAST < abs(product) < _MOST or abs(a) > _MOST or abs(b) > _MOST or not abs(c) < _MOST:
        return _rounded_fraction(a, b, c)
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    lost = a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return math.fsum((product, lost, c))


def _halves(number: float) -> tuple[float, float]:
    """Return two floats of half the digits that add up to a number."""
    shifted = 134217729.0 * number  # 2^27 + 1
    high = shifted - (shifted - number)
    return high, number - high


def _rounded_fraction(a: float, b: float, c: float) -> float:
    """Do the same with numbers of any size."""
    if a == 0.0 or b == 0.0 or not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    return float(fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c))


@type_callable(multiplied_and_added)
def _type_multiplied_and_added(context):
    return lambda a, b, c: types.float64


@lower_builtin(multiplied_and_added, types.Float, types.Float, types.Float)
def _compiled_multiplied_and_added(context, builder, signature, args):
    return builder.fma(*args)
