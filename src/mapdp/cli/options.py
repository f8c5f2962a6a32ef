"""Arguments and options that commands share."""

import functools
import inspect
import pathlib
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mapdp.cli.files import Asked, TroubleError

Table = Annotated[
    str,
    typer.Argument(
        help="CSV or other text, JSON lines, Parquet or Arrow file; may be compressed; - is standard input"
    ),
]
Model = Annotated[pathlib.Path, typer.Argument(help="a model that `mapdp fit` wrote")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, and nothing else, to standard output")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print errors only")]
Force = Annotated[bool, typer.Option("--force", help="replace files that are there already")]
Append = Annotated[bool, typer.Option("--append", help="write the table's columns beside the labels")]
Id = Annotated[
    str | None, typer.Option("--id", help="column that names rows: written beside the labels, not used")
]
SequenceId = Annotated[
    str | None,
    typer.Option(help="column that tells sequences apart, each of them a run of rows (--model sequence)"),
]
Groups = Annotated[
    str | None, typer.Option(help="column that names the groups of a hierarchical or nested model")
]

_READING = "How text is read (inferred where not given)"
_OPTIONS: dict[str, tuple[Any, Any]] = {  # name, type and default of what says how a text file is read
    "sep": (
        Annotated[str | None, typer.Option(help="what separates fields", rich_help_panel=_READING)],
        None,
    ),
    "decimal": (
        Annotated[str | None, typer.Option(help="decimal mark: . or ,", rich_help_panel=_READING)],
        None,
    ),
    "encoding": (
        Annotated[str | None, typer.Option(help="such as utf8, cp1252, utf-16", rich_help_panel=_READING)],
        None,
    ),
    "missing": (
        Annotated[
            list[str] | None,
            typer.Option(
                help="what stands for a missing cell, such as -999; may be repeated",
                rich_help_panel=_READING,
            ),
        ],
        None,
    ),
    "no_header": (
        Annotated[
            bool, typer.Option("--no-header", help="the first line holds data", rich_help_panel=_READING)
        ],
        False,
    ),
}


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how a text file is read; it takes them as `asked`."""

    @functools.wraps(command)
    def with_options(*arguments: Any, **options: Any) -> None:
        given = {name: options.pop(name, default) for name, (_, default) in _OPTIONS.items()}
        command(*arguments, **options, asked=_asked(**given))

    signature = inspect.signature(command)
    own = [one for one in signature.parameters.values() if one.name != "asked"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=type_)
        for name, (type_, default) in _OPTIONS.items()
    ]
    del with_options.__wrapped__  # type: ignore[attr-defined]  # the signature that counts is the one below
    with_options.__signature__ = signature.replace(parameters=own + added)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in own + added}
    return with_options


def _asked(
    sep: str | None, decimal: str | None, encoding: str | None, missing: list[str] | None, no_header: bool
) -> Asked:
    """Return what users say about a file, or say what makes no sense."""
    sep = {"\\t": "\t", "tab": "\t", "space": " "}.get(sep or "", sep)
    if sep is not None and len(sep) != 1:
        raise TroubleError(
            f"--sep must be one character, got {sep!r}. Hint: --sep ';', --sep tab, --sep space."
        )
    if decimal not in (None, ".", ","):
        raise TroubleError(f"--decimal must be . or a comma, got {decimal!r}.")
    if sep is not None and sep == decimal:
        raise TroubleError(f"--sep and --decimal must differ, got {sep!r} for both.")
    return Asked(sep, decimal, encoding, tuple(missing or ()), False if no_header else None)
