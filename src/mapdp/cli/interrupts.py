"""Ctrl-C at any moment: one sentence and exit code 130, never a traceback.

While Python loads what the command needs nothing is under way yet, so the program just ends.
"""

import os
import signal
import sys
from typing import Any

CODE = 130  # of a program that Ctrl-C ended
_SENTENCE = b"mapdp: interrupted; nothing was written.\n"


def end_at_once(*_: Any) -> None:
    """End the program where it stands; what loads is in the middle of something."""
    os.write(2, _SENTENCE)
    os._exit(CODE)


def while_loading() -> None:
    """Let Ctrl-C end the program at once, until `while_working`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)


def while_working() -> None:
    """Let Ctrl-C be raised as KeyboardInterrupt; where that would be ignored, end the program."""
    if signal.getsignal(signal.SIGINT) is end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = sys.unraisablehook

    def ended(unraisable: Any) -> None:
        if unraisable.exc_type is KeyboardInterrupt:
            end_at_once()
        before(unraisable)

    sys.unraisablehook = ended
