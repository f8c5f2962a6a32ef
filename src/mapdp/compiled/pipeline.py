"""Options of the compiler that need private parts of Numba; without them its defaults serve, more slowly.

A test fails where a new Numba has changed these parts, so that the fall-back does not go unnoticed.
"""

from typing import Any

from numba.core.registry import cpu_target


def options_for_small_functions() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return options for functions that are put in the place of their calls, and for those that are not."""
    try:
        from mapdp.compiled import private_numba
    except (ImportError, AttributeError):
        return {"forceinline": True}, {"forceinline": True}
    inlined = {"pipeline_class": private_numba.Inlined, "forceinline": True}
    return inlined, {"pipeline_class": private_numba.Called, "forceinline": False}


def options_without_counting() -> dict[str, Any]:
    """Return options that switch off reference counting, which costs more than scoring a row."""
    return {"_nrt": False} if hasattr(cpu_target.options, "_nrt") else {}
