"""Where results go: checked before any work is done."""

import os
import pathlib
from collections.abc import Iterable

from mapdp.cli.files import TroubleError


def check(paths: Iterable[pathlib.Path], force: bool) -> None:
    """Raise where files cannot be written, or are there already."""
    for path in paths:
        _check_folder(path.parent)
        if path.is_dir():
            raise TroubleError(f"{path} is a folder. Hint: --out names another place.")
        if path.exists() and not force:
            raise TroubleError(
                f"{path} is there already. Hint: --force replaces it, --out names another place."
            )


def _check_folder(folder: pathlib.Path) -> None:
    """Raise where a folder is not there and cannot be made, or cannot be written to."""
    there = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise TroubleError(f"{there} is a file, not a folder. Hint: --out names another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise TroubleError(f"{there} cannot be written to. Hint: --out names another place.")
