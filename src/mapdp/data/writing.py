"""Files that appear whole or not at all, alone or together.

Everything is written under other names first, in the folders where it belongs. Renaming needs no room on
the disk, so what can fail has failed before anything that was there is touched.
"""

import contextlib
import errno
import os
import pathlib
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

_FULL = (errno.ENOSPC, errno.EDQUOT)


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    write_together({path: content})


def write_together(contents: Mapping[str | os.PathLike, bytes]) -> None:
    """Write files that belong together: all of them, or none where one cannot be written."""
    with appearing_together(contents) as partials:
        for partial, content in zip(partials, contents.values(), strict=True):
            write_new(partial, content)


@contextlib.contextmanager
def appearing_together(paths: Iterable[str | os.PathLike]) -> Iterator[list[pathlib.Path]]:
    """Give names to write files under; they get their own once all of them are written, or none does."""
    targets = [_checked(pathlib.Path(path)) for path in paths]
    partials = [target.with_name(f".mapdp-{secrets.token_hex(8)}") for target in targets]
    try:
        with room_in(targets[0].parent):
            yield partials
        for partial, target in zip(partials, targets, strict=True):
            os.replace(partial, target)
    except BaseException:
        for partial in partials:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)
        raise


def left_behind(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return what a program that was killed had begun to write."""
    return [path for path in folder.glob(".mapdp-*") if re.fullmatch(r"\.mapdp-[0-9a-f]{16}", path.name)]


@contextlib.contextmanager
def room_in(folder: str | os.PathLike, hint: str = "give another path") -> Iterator[None]:
    """Say in one sentence that a disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        told = OSError(f"{folder}: {os.strerror(error.errno)}. Hint: make room, or {hint}.")
        told.errno = error.errno
        raise told from error


def temporary_array(n: int, dtype: type[np.generic]) -> np.ndarray:
    """Return an array in a temporary file that is gone with it; a full disk is noticed here."""
    folder = tempfile.gettempdir()
    with room_in(folder, "let TMPDIR name another folder"), tempfile.TemporaryFile(prefix="mapdp-") as file:
        if hasattr(os, "posix_fallocate"):  # else a page that has no room ends the program when it is used
            os.posix_fallocate(file.fileno(), 0, n * np.dtype(dtype).itemsize)
        return np.memmap(file, dtype=dtype, mode="w+", shape=(n,))


def write_new(path: pathlib.Path, content: bytes) -> None:
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
