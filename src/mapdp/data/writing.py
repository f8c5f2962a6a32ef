"""Files that appear whole or not at all, alone or together.

Everything is written under other names first, in the folders where it belongs. Renaming needs no room on
the disk, so what can fail has failed before anything that was there is touched.
"""

import contextlib
import os
import pathlib
import secrets
from collections.abc import Mapping


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    write_together({path: content})


def write_together(contents: Mapping[str | os.PathLike, bytes]) -> None:
    """Write files that belong together: all of them, or none where one cannot be written."""
    partials: list[tuple[pathlib.Path, pathlib.Path]] = []
    try:
        for path, content in contents.items():
            target = _checked(pathlib.Path(path))
            partials.append((target.with_name(f".mapdp-{secrets.token_hex(8)}"), target))
            _write_new(partials[-1][0], content)
        for partial, target in partials:
            os.replace(partial, target)
    except BaseException:
        for partial, _ in partials:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)
        raise


def _write_new(path: pathlib.Path, content: bytes) -> None:
    """Write a file that must not be there yet, down to the disk: a full one is noticed here."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def _checked(path: pathlib.Path) -> pathlib.Path:
    """Return where a file is to be, or say that a folder is there."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Hint: give the file another name.")
    return path
