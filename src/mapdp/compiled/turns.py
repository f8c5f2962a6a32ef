"""Where several processes need the same machine code, one compiles it and the others wait for it."""

import contextlib
import os
import pathlib
import time
from collections.abc import Iterator
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

try:
    import fcntl
except ImportError:  # on Windows everybody compiles for themselves
    fcntl = None  # type: ignore[assignment]

_LONGEST = 60.0  # seconds to wait for another process, which may have been stopped
_PAUSE = 0.02

if hasattr(os, "register_at_fork"):  # a child has no thread that would finish what is being compiled
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


@contextlib.contextmanager
def in_turn(folder: str | None, name: str) -> Iterator[None]:
    """Keep other processes from compiling the same function; threads of this one take turns before that."""
    if folder is None or fcntl is None:
        yield
        return
    with global_compiler_lock, _locked(pathlib.Path(folder) / f"{name}.lock"):
        yield


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            _wait_for(stack.enter_context(path.open("w")))
        yield


def _wait_for(file: Any) -> None:
    """Lock a file until it is closed; go on without the lock where that takes too long."""
    latest = time.monotonic() + _LONGEST
    while time.monotonic() < latest:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_PAUSE)
