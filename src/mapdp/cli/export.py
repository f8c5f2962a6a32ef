"""The command that writes a model as C code."""

import pathlib
from typing import Annotated

import typer

from mapdp.cli import inputs, targets
from mapdp.outputs.c_code import FILES, export_c


def export(
    model: Annotated[pathlib.Path, typer.Argument(help="a model that `mapdp fit` wrote")],
    c: Annotated[pathlib.Path, typer.Option("--c", "--out", help="folder for the C files")],
    precision: Annotated[str, typer.Option(help="of all numbers: double or float")] = "double",
    capacity: Annotated[
        int | None,
        typer.Option(help="clusters that there is room for; by default 16, or as many as there are"),
    ] = None,
    learn: Annotated[bool, typer.Option("--learn", help="the C code can go on learning")] = False,
    when_full: Annotated[
        str, typer.Option(help="without room for a new cluster: merge two, or refuse the row")
    ] = "merge",
    force: Annotated[bool, typer.Option("--force", help="replace files that are there already")] = False,
) -> None:
    """Write a model as C99 that assigns, scores and, with --learn, goes on learning.

    Example: `mapdp export found/model.mapdp --c firmware --precision float --learn`.
    """
    targets.check([c / name for name in FILES], force)
    fitted = inputs.model_at(model)
    export_c(fitted, c, precision=precision, capacity=capacity, learn=learn, when_full=when_full)
    typer.echo(f"Wrote {', '.join(FILES)} to {c}.", err=True)
