"""A fitted model as C99 that assigns, scores and goes on learning, in a few kilobytes.

`choice` says what can be exported, `kinds` and `whole_rows` what the parts of a model are in C, `encoding`
how raw numbers are read, `writer` puts pieces of C together, and `state` reads back what a device has
learned.
"""

import os
import pathlib
from typing import Any

from mapdp.data.writing import write_together
from mapdp.outputs.c_code.choice import chosen
from mapdp.outputs.c_code.precision import check_precision
from mapdp.outputs.c_code.readme import example, readme
from mapdp.outputs.c_code.state import import_state
from mapdp.outputs.c_code.writer import header, source

__all__ = ["FILES", "c_files", "export_c", "import_state"]

FILES = ("mapdp_model.h", "mapdp_model.c", "main.c", "README.md")


def export_c(
    model: Any,
    folder: str | os.PathLike,
    *,
    precision: str = "double",
    capacity: int | None = None,
    learn: bool = False,
    when_full: str = "merge",
) -> None:
    """Write a fitted model as C99: `mapdp_model.h`, `mapdp_model.c`, `main.c` and `README.md`.

    Parameters
    ----------
    model : MAPDP
        Fitted. DiagonalGaussian, SphericalGaussian, SharedGaussian, Gaussian, Bernoulli, Categorical,
        Poisson and NegativeBinomial, and Mixed tables of these, with gaps.
    folder : path
        Is made where it is not there; files of these names are replaced.
    precision : {"double", "float"}, default "double"
        Of all numbers.
    capacity : int, default None
        Clusters that there is room for when the model learns: 16, or as many as it has where that is more.
    learn : bool, default False
        Whether the C code can go on learning; else it only assigns and scores, and is smaller.
    when_full : {"merge", "refuse"}, default "merge"
        What happens to a row that would open a cluster when there is no room: the two clusters that lose
        least by becoming one make some, where the row gains more, or the row is not learned.

    Examples
    --------
    >>> import pathlib, tempfile, mapdp
    >>> from sklearn.datasets import load_iris
    >>> model = mapdp.MAPDP(alpha=0.3).fit(load_iris().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mapdp.export_c(model, folder, precision="float", learn=True)
    ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
    ['README.md', 'main.c', 'mapdp_model.c', 'mapdp_model.h']
    """
    out = _checked(folder)
    files = c_files(model, precision=precision, capacity=capacity, learn=learn, when_full=when_full)
    out.mkdir(parents=True, exist_ok=True)
    write_together({out / name: text.encode() for name, text in files.items()})


def _checked(folder: str | os.PathLike) -> pathlib.Path:
    """Return where files go, or say why nothing can be there."""
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise TypeError(f"folder must be a path, got {folder!r}. Hint: try 'firmware'.")
    out = pathlib.Path(folder)
    there = next(parent for parent in (out.absolute(), *out.absolute().parents) if parent.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{there} is a file, not a folder. Hint: name another folder.")
    return out


def c_files(
    model: Any, *, precision: str, capacity: int | None, learn: bool, when_full: str
) -> dict[str, str]:
    """Return the files of a model by name, or say why it cannot be exported."""
    choice = chosen(model, precision, capacity, learn, when_full)
    check_precision(choice)
    return {
        name: write(choice) for name, write in zip(FILES, (header, source, example, readme), strict=True)
    }
