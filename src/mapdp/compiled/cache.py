"""Where machine code is kept between processes.

The folder's name holds a fingerprint of the sources that are compiled. Numba's index files are pickles,
so a folder is used only if nobody but us can have written to it, or can put another in its place: it must
belong to us, be no link and be closed to others, and nobody else may rename a folder on the way to it.
"""

import contextlib
import hashlib
import os
import pathlib
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator

_SOURCE = pathlib.Path(__file__).parent.parent
COMPILED = ("compiled", "families", "engine")  # rooms whose functions are turned into machine code
_KEPT_GENERATIONS = 3  # caches of older sources that survive, so that switching branches stays cheap


def fingerprint() -> str:
    """Hash all sources that hold compiled functions."""
    digest = hashlib.sha256()
    for folder in COMPILED:
        for path in sorted((_SOURCE / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder(preferred: str | None) -> str | None:
    """Return the first folder that can be written safely, None where machine code cannot be kept."""
    name = f"mapdp-{fingerprint()}"
    prepared = (_prepared(home, name) for home in _homes(preferred))
    return next((str(folder) for folder in prepared if folder), None)


def is_empty(folder: str | None) -> bool:
    """Say whether a folder holds no machine code yet."""
    return folder is None or not any(pathlib.Path(folder).rglob("*.nbi"))


def _homes(preferred: str | None) -> Iterator[pathlib.Path]:
    """Yield the folders that may hold machine code, best first."""
    if preferred:
        yield pathlib.Path(preferred)
    yield _SOURCE / "__pycache__"
    if "HOME" in os.environ or sys.platform == "win32":
        yield pathlib.Path.home() / ".cache" / "mapdp"
    yield pathlib.Path(tempfile.gettempdir()) / f"mapdp-{_user()}"


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _prepared(home: pathlib.Path, name: str) -> pathlib.Path | None:
    """Return a folder in `home`, made if need be; None unless it is ours alone and can be written."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = home.resolve()  # whoever made a link could turn it later
        if not all(_is_safe_parent(parent) for parent in (home, *home.parents)):
            return None
        folder = home / name
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            _drop_old(home)
        if not _is_private(folder):
            return None
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return None


def _is_private(folder: pathlib.Path) -> bool:
    """Say whether a folder belongs to us, is no link, and is closed to others."""
    found = os.lstat(folder)
    if sys.platform == "win32":
        return stat.S_ISDIR(found.st_mode)
    is_closed = not stat.S_IMODE(found.st_mode) & 0o077
    return stat.S_ISDIR(found.st_mode) and found.st_uid == _user() and is_closed


def _is_safe_parent(folder: pathlib.Path) -> bool:
    """Say whether others cannot put another folder in the place of one of ours.

    Whoever owns the root of all folders is trusted: in a container that need not be user 0.
    """
    found = os.stat(folder)
    if sys.platform == "win32":
        return True
    is_open = bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    trusted = (_user(), 0, os.stat(folder.anchor).st_uid)
    return found.st_uid in trusted and (not is_open or bool(found.st_mode & stat.S_ISVTX))


def _drop_old(home: pathlib.Path) -> None:
    """Drop the caches of all but the newest sources; another process may be doing the same."""
    with contextlib.suppress(OSError):
        ours = [path for path in home.glob("mapdp-*") if re.fullmatch(r"mapdp-[0-9a-f]{16}", path.name)]
        for path in sorted(ours, key=lambda path: path.lstat().st_mtime)[:-_KEPT_GENERATIONS]:
            shutil.rmtree(path, ignore_errors=True)
