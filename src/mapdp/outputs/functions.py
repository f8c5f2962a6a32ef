"""Functions in files: by the path they are imported under, never as code.

A file may come from someone who wishes us ill, so nothing is imported because a file says so: a function is
taken from a module that the program has imported by itself, and must be written in Python, outside of the
standard library.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any


class MissingFunctionError(LookupError):
    """A file names a function that this program does not have."""


def path_of(function: Callable) -> str:
    """Return "module:name" of a function that can be found again, or raise."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    path = f"{module}:{name}"
    if not inspect.isfunction(function) or _found(path) is not function:
        raise TypeError(
            f"a file keeps a function by its module and name, and {path!r} does not lead to it. "
            "Hint: define it with def at the top of a module."
        )
    return path


def function_at(path: str) -> Callable:
    """Return the function under a path, or say what to import."""
    found = _found(path)
    if not inspect.isfunction(found):
        module = path.partition(":")[0]
        raise MissingFunctionError(
            f"the file needs the function {path[:200]!r}, which is not here. "
            f"Hint: import {module[:100]} first, where it is defined; a file holds no code."
        )
    return found


def _found(path: str) -> Any:
    """Return what a path leads to, None where it is not there or not ours to call."""
    module, _, name = path.partition(":")
    known = sys.modules.get(module)
    is_foreign = module.partition(".")[0] in sys.stdlib_module_names and module != "__main__"
    return None if known is None or is_foreign or "." in name else vars(known).get(name)
