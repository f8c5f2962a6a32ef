"""The commands and where they are: a new one is a function in a file of its own, and a line here."""

import functools
import importlib.metadata
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mapdp.cli import export, extras, fit, models
from mapdp.cli.interrupts import CODE

app = typer.Typer(
    name="mapdp",
    help="Cluster tables without saying how many clusters there are.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Any] = {
    "fit": fit.fit,
    "predict": models.predict,
    "describe": models.describe,
    "tree": models.tree,
    "report": models.write_report,
    "compare": models.compare,
    "export": export.export,
    "demo": extras.demo,
    "bench": extras.bench,
    "reproduce": extras.reproduce,
}


def _interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that Ctrl-C ends with one sentence."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt as error:
            typer.echo("mapdp: interrupted; nothing was written.", err=True)
            raise typer.Exit(CODE) from error

    return run


for _name, _command in COMMANDS.items():
    app.command(_name)(_interruptible(_command))


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"mapdp {importlib.metadata.version('mapdp')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[  # its callback ends the program
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Cluster tables without saying how many clusters there are."""
