"""The command line; needs the extra `cli`."""

import sys


def main() -> None:
    """Run a command; trouble is one sentence on standard error and exit code 1."""
    try:
        from mapdp.cli.app import app
        from mapdp.cli.files import TroubleError
    except ModuleNotFoundError as error:
        sys.exit(f"mapdp: {error.name} is missing. Hint: pip install 'mapdp[cli]'.")
    try:
        app()
    except (TroubleError, ValueError, TypeError, OSError) as error:
        print(f"mapdp: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("mapdp: interrupted; nothing was written.", file=sys.stderr)
        sys.exit(130)
