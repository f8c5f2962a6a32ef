"""Knows how our loops are compiled, and is the only file that imports numba.

The one idea: a family's functions are chosen at compile time by the type of the bank they work on
(`verb`), so that one kernel serves every family at the speed of a hand-specialised one. The machine
code is kept on disk under a fingerprint of all our sources, because numba's own stamp sees the file
of a kernel and not the files that the kernel calls.
"""

import contextlib
import fractions
import hashlib
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core import event
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.errors import TypingError
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import TranslateByteCode
from numba.extending import intrinsic, overload

_SOURCE = pathlib.Path(__file__).parent
_CONFIG: Any = numba.config
# Contraction lets a multiply and an add fuse; anything looser would break the bit tricks of `log`.
# Without `nrt` arrays are not counted: kernels own none (Python does, and makes all working space), and
# counting every array that a loop touches costs more than scoring a row.
_OPTIONS: Any = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


@register_pass(mutates_CFG=False, analysis_only=True)
class _LeftToCallers(FunctionPass):
    """Has a small function optimised and turned to machine code only where it is used.

    Numba would do that to each function by itself, and again with every function that calls it: twice the
    time to compile.
    """

    _name = "left_to_callers"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
        library._optimize_final_module = lambda: None
        library._finalize_final_module = lambda: setattr(library, "_finalized", True)
        state.library = library
        state.flags.no_compile = True
        return False


@register_pass(mutates_CFG=True, analysis_only=False)
class _WithoutEntry(LoweringPass):
    """Puts something harmless and unique where numba keeps the entry of a function that has none."""

    _name = "without_entry"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        entry: Any = [].append
        state.targetctx.insert_user_function(entry, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=entry)
        return False


class _Pipeline(CompilerBase):
    """The usual way to compile, but for what is left to callers."""

    def define_pipelines(self) -> list[Any]:
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        usual.add_pass_after(_LeftToCallers, TranslateByteCode)
        usual.add_pass_after(_WithoutEntry, NativeLowering)
        usual.finalize()
        return [usual]


INLINED: Any = {**_OPTIONS, "forceinline": True, "no_cpython_wrapper": True, "pipeline_class": _Pipeline}
_KEPT_GENERATIONS = 3  # caches of older sources that survive, so that switching branches stays cheap

KERNELS: list[Any] = []


def _fingerprint() -> str:
    """Hash all our sources."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_homes() -> Iterator[pathlib.Path]:
    """Yield the folders that may hold machine code, best first."""
    if _CONFIG.CACHE_DIR:
        yield pathlib.Path(_CONFIG.CACHE_DIR)
    yield _SOURCE / "__pycache__"
    if "HOME" in os.environ or sys.platform == "win32":
        yield pathlib.Path.home() / ".cache" / "mapdp"
    yield pathlib.Path(tempfile.gettempdir()) / f"mapdp-{getattr(os, 'getuid', lambda: 0)()}"


def _prepared(folder: pathlib.Path) -> bool:
    """Make `folder`, drop the caches of much older sources beside it; say whether it can be written."""
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            _sweep_out(folder.parent)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _sweep_out(home: pathlib.Path) -> None:
    """Drop the caches of all but the newest sources; another process may be doing the same."""
    with contextlib.suppress(OSError):
        ours = [path for path in home.glob("mapdp-*") if re.fullmatch(r"mapdp-[0-9a-f]{16}", path.name)]
        for path in sorted(ours, key=lambda path: path.stat().st_mtime)[:-_KEPT_GENERATIONS]:
            shutil.rmtree(path, ignore_errors=True)


def _cache_dir() -> str | None:
    """Return the first folder that can be written, None where machine code cannot be kept."""
    name = f"mapdp-{_fingerprint()}"
    return next((str(home / name) for home in _cache_homes() if _prepared(home / name)), None)


_CACHE_DIR = _cache_dir()


def kernel(function: Callable) -> Any:
    """Compile a pass over rows that Python calls; keep the machine code on disk."""
    outer, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, _CACHE_DIR or _CONFIG.CACHE_DIR
    try:
        compiled = numba.njit(cache=_CACHE_DIR is not None, **_OPTIONS)(function)
    finally:
        _CONFIG.CACHE_DIR = outer
    KERNELS.append(compiled)
    return compiled


def inlined(function: Callable) -> Any:
    """Make a small function part of the kernels that call it; from Python it runs as it is written."""
    overload(function, strict=False, jit_options=INLINED)(lambda *_: function)
    return function


def compilations() -> dict[str, int]:
    """Count what this process had to compile, by kernel."""
    missed = {k.__name__: sum(k.stats.cache_misses.values()) for k in KERNELS if hasattr(k, "stats")}
    return {name: n for name, n in missed.items() if n}


class _Announcer(event.Listener):
    """Says once that time goes into compiling."""

    said = False

    def on_start(self, event: Any) -> None:
        if not self.said and event.data["dispatcher"] in KERNELS:
            self.said = True
            kept = "later runs start at once" if _CACHE_DIR else "no folder for the result can be written"
            print(f"mapdp: compiling for this machine, once ({kept}) ...", file=sys.stderr, flush=True)

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())


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

    def __call__(self, subject: Any, *rest: Any) -> Any:
        return self._find(type(subject))(subject, *rest)

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


@intrinsic  # type: ignore[arg-type]
def _bits_of(context, number):
    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), codegen


@intrinsic  # type: ignore[arg-type]
def _float_of(context, bits):
    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), codegen


@overload(bits_of, jit_options=INLINED)
def _compiled_bits_of(number):
    return (lambda number: _bits_of(number)) if isinstance(number, types.Number) else None  # type: ignore[call-arg]


@overload(float_of, jit_options=INLINED)
def _compiled_float_of(bits):
    return (lambda bits: _float_of(bits)) if isinstance(bits, types.Number) else None  # type: ignore[call-arg]


def multiplied_and_added(a: float, b: float, c: float) -> float:
    """Return a * b + c, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    return float(fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c))


@intrinsic  # type: ignore[arg-type]
def _fused(context, a, b, c):
    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@overload(multiplied_and_added, jit_options=INLINED)
def _compiled_multiplied_and_added(a, b, c):
    return lambda a, b, c: _fused(a, b, c)  # type: ignore[call-arg]
