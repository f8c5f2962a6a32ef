"""Compiler pipelines from private parts of Numba; importing this fails where a new Numba has changed them.

Numba optimises each small function and turns it to machine code by itself, and again with every function
that calls it. Here that is done only where a function is used, which halves the time to compile.
"""

from typing import Any

from numba.core.base import BaseContext
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering
from numba.core.untyped_passes import TranslateByteCode

# What the passes below rely on; an AttributeError here is as good as a failed import.
_RELIED_ON = (
    BaseContext.insert_user_function,
    CPUCodeLibrary._optimize_final_module,
    CPUCodeLibrary._finalize_final_module,
    CPUCodeLibrary.add_ir_module,
)


@register_pass(mutates_CFG=False, analysis_only=True)
class _LeftToCallers(FunctionPass):
    """Switches off optimisation of a function by itself."""

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
    """Puts something harmless and unique where Numba keeps the entry of a function that has none."""

    _name = "without_entry"

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        entry: Any = [].append
        state.targetctx.insert_user_function(entry, state["cr"].fndesc, [state.library])
        state["cr"] = state["cr"]._replace(cfunc=entry)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _NeverInlined(FunctionPass):
    """Keeps LLVM from putting a function in the place of its calls.

    That is written into the text of the function: llvmlite 0.44 adds it to a finished function wrongly.
    """

    _name = "never_inlined"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        add_module = state.library.add_ir_module
        state.library.add_ir_module = lambda module: add_module(_with_noinline(module))
        return False


def _with_noinline(module: Any) -> Any:
    """Return a module whose functions stay functions, but for those that are always inlined."""
    for function in module.functions:
        if not function.is_declaration and "alwaysinline" not in function.attributes:
            function.attributes.add("noinline")
    return module


class Inlined(CompilerBase):
    """Compiles functions that are put in the place of their calls."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, and two of ours."""
        passes = self._passes()
        passes.finalize()
        return [passes]

    def _passes(self) -> Any:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_LeftToCallers, TranslateByteCode)
        passes.add_pass_after(_WithoutEntry, NativeLowering)
        return passes


class Called(Inlined):
    """Compiles functions that stay functions in machine code."""

    def _passes(self) -> Any:
        passes = super()._passes()
        passes.add_pass_after(_NeverInlined, _LeftToCallers)
        return passes
