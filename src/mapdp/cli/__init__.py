"""The command line; needs the extra `cli`."""

import signal
import sys
import warnings
from typing import Any

from mapdp.cli import interrupts


def main() -> None:
    """Run a command; trouble is one sentence on standard error and exit code 1."""
    interrupts.while_loading()
    try:
        from mapdp.cli.app import app
        from mapdp.cli.files import TroubleError
        from mapdp.cli.wording import for_terminal
    except ModuleNotFoundError as error:
        sys.exit(f"mapdp: {error.name} is missing. Hint: pip install 'mapdp[cli]'.")
    warnings.showwarning = _as_sentence  # type: ignore[assignment]
    try:
        interrupts.while_working()
        app()
    except (TroubleError, ValueError, TypeError, OSError) as error:
        print(f"mapdp: {for_terminal(_in_words(error))}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        interrupts.end_at_once()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; Python only cleans up


def _in_words(error: Exception) -> str:
    """Return what an error says; the operating system's without its number."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return str(error)


def _as_sentence(message: Any, *_: Any) -> None:
    """Show a warning without the place in the code that gave it."""
    from mapdp.cli.wording import for_terminal

    print(f"mapdp: {for_terminal(str(message))}", file=sys.stderr)
