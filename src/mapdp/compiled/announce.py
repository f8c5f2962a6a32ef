"""The line that says that time goes into compiling: what for, and how long that took the last time."""

import atexit
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from numba.core import event

from mapdp.compiled.cache import is_empty

_FILE = "mapdp-seconds.json"  # beside the folders of machine code, whose sources change


class Announcer(event.Listener):
    """Prints once in a process that something is compiled, and remembers how long it took."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._what = ""  # was announced
        self._seconds = 0.0
        self._depth = 0  # of what is compiled for something that is compiled

    def on_start(self, event: Any) -> None:
        """Say that Numba begins to compile, if it does so for us."""
        if self._depth and not self._what:
            self._what = "this machine" if is_empty(self._folder) else "this kind of table"
            last = self._last().get(self._what)
            when = "" if last is None else f"; it took {last:.0f} s last time"
            kept = "later runs start at once" if self._folder else "no folder for the result can be written"
            print(
                f"mapdp: compiling for {self._what}, once ({kept}{when}) ...", file=sys.stderr, flush=True
            )
            if self._folder:
                atexit.register(self._keep)

    def on_end(self, event: Any) -> None:
        """Do nothing: what takes time is measured by `ours`."""

    @contextlib.contextmanager
    def ours(self) -> Iterator[None]:
        """Measure the time in which something of ours is compiled, or read from disk."""
        began = time.perf_counter()
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._seconds += time.perf_counter() - began

    def _last(self) -> dict[str, float]:
        """Return the seconds of earlier processes, by what was compiled for."""
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            known = json.loads(self._path().read_text())
            return {str(what): float(seconds) for what, seconds in known.items()}
        return {}

    def _path(self) -> pathlib.Path:
        return pathlib.Path(self._folder or "").parent / _FILE

    def _keep(self) -> None:
        """Write down how long it took, in one piece."""
        with contextlib.suppress(OSError):
            number, name = tempfile.mkstemp(dir=self._path().parent)
            with os.fdopen(number, "w") as file:
                json.dump({**self._last(), self._what: round(self._seconds, 1)}, file)
            pathlib.Path(name).replace(self._path())
