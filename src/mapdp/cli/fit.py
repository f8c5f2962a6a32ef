"""`mapdp fit`: a table in; labels, a model and a report out."""

import dataclasses
import pathlib
import shlex
import sys
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import typer

from mapdp.cli import block_files, files, in_blocks, inputs, job, model_choice, show, targets
from mapdp.cli.files import Asked, TroubleError
from mapdp.cli.options import Append, Force, Id, Json, Quiet, SequenceId, Table, reads_table
from mapdp.cli.places import places
from mapdp.cli.wording import for_terminal
from mapdp.data.writing import write_together
from mapdp.estimators.map_dp import MAPDP
from mapdp.outputs import report, saving, summary

_OUT = pathlib.Path("mapdp-out")
_MODEL = "The model and the search"
_BLOCKS = "Tables larger than memory (a folder is always read in blocks)"
_OF_WORDS = ("binary", "category", "ordered", "ignore")  # kinds whose cells need not be numbers


@reads_table
def fit(
    table: Table,
    out: Annotated[pathlib.Path, typer.Option(help="folder for labels, model and report")] = _OUT,
    label: Annotated[
        str | None, typer.Option(help="column of known classes: scored against, never used")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="column to leave out; may be repeated")] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=KIND: real, log, count, binary, category, ordered, or weekday, time of dates"
        ),
    ] = None,
    weights: Annotated[str | None, typer.Option(help="column that says what each row counts for")] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="column that names groups: rows of one name stay together, or, with --model hierarchical "
            "or nested, are a group of the model"
        ),
    ] = None,
    id_column: Id = None,
    append: Append = False,
    model: Annotated[
        str,
        typer.Option(
            help="flat; hierarchical: groups share clusters; nested: groups are clustered; sequence: rows "
            "follow each other",
            rich_help_panel=_MODEL,
        ),
    ] = "flat",
    sequence_id: SequenceId = None,
    alpha: Annotated[
        str, typer.Option(help="concentration: a number, auto, map, nll or cv", rich_help_panel=_MODEL)
    ] = "auto",
    process: Annotated[
        str, typer.Option(help="prior of partitions: auto, dirichlet or mfm", rich_help_panel=_MODEL)
    ] = "auto",
    discount: Annotated[
        float, typer.Option(help="Pitman-Yor discount: more small clusters", rich_help_panel=_MODEL)
    ] = 0.0,
    expected_clusters: Annotated[
        float | None, typer.Option(help="how many clusters you expect", rich_help_panel=_MODEL)
    ] = None,
    covariance: Annotated[
        str,
        typer.Option(
            help="of measurements: auto, diagonal, full, shared or spherical", rich_help_panel=_MODEL
        ),
    ] = "auto",
    seed: Annotated[int | None, typer.Option(help="seed of the search", rich_help_panel=_MODEL)] = None,
    n_init: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="number of starts; by default as many as find something better",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    n_jobs: Annotated[
        int | None,
        typer.Option(help="number of threads; results do not depend on it", rich_help_panel=_MODEL),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="end the search after so long, with the best so far", rich_help_panel=_MODEL
        ),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, help="merge what is found down to so many clusters", rich_help_panel=_MODEL),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="such as 2GB: read the table in blocks that keep to it", rich_help_panel=_BLOCKS),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="go on with a fit in blocks that was broken off", rich_help_panel=_BLOCKS
        ),
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
    force: Force = False,
    *,
    asked: Asked,
) -> None:
    """Find the clusters of a table.

    Examples: `mapdp fit penguins.csv`, `mapdp fit penguins.csv --model hierarchical --groups island`,
    `mapdp fit visits.parquet --label diagnosis --columns visits=count`,
    `zcat big.csv.gz | mapdp fit - --out found`.
    """
    options = locals()
    model_choice.check_together(options)
    kinds = _kinds(columns or [], ignore or [])
    roles = inputs.Roles(label, weights, groups, id_column, sequence_id)
    estimator = model_choice.estimator_of(
        options, {name: kinds[name] for name in kinds if name not in roles}
    )
    shown = Shown(as_json, quiet, show.ProgressLine(quiet or as_json, seconds))
    if in_blocks.is_for(table, memory):
        _check_alone(roles, append, clusters)
        work = in_blocks.BlockJob(block_files.blocks_at(table, asked, memory), out, resume, force)
        _fit_in_blocks(estimator, work, pathlib.Path(table).name, shown)
        return
    kind = files.kind_of(table)
    paths = [out / f"labels.{kind}", out / "model.mapdp", out / "report.html"]
    targets.check(paths, force)
    given = inputs.given_table(table, asked._replace(kept=_words(kinds)), roles)
    if weights is not None:
        estimator.set_params(weights=given.weighting())
    outcome = job.fitted(estimator, given, shown.progress)
    beside = job.columns_beside(given.rows, append, id_column)
    found = _write(estimator, given, outcome, paths, beside, clusters, pathlib.Path(table).name)
    shown.end(found, paths, outcome)


class Shown(NamedTuple):
    """How a person, or a program, is shown what happens."""

    as_json: bool
    quiet: bool
    progress: show.ProgressLine

    def end(self, found: summary.Summary, paths: list[pathlib.Path], outcome: job.FitOutcome) -> None:
        """Print what was found; exit where Ctrl-C ended the fit."""
        show.found(found, self.as_json, self.quiet, paths)
        _exit_where(outcome.is_interrupted)


def _fit_in_blocks(model: MAPDP, work: in_blocks.BlockJob, title: str, shown: Shown) -> None:
    """Fit a table that need not be in memory."""
    work.prepare()
    outcome = work.fitted(model, shown.progress)
    shown.end(with_command(work.write(model, outcome, title), []), work.targets, outcome)


def _kinds(columns: list[str], ignore: list[str]) -> dict[object, str]:
    """Return the kinds of columns that the options name."""
    kinds: dict[object, str] = {}
    for entry in columns:
        name, _, kind = entry.rpartition("=")
        if not name:
            raise TroubleError(f"--columns must be NAME=KIND, got {entry!r}. Hint: --columns visits=count.")
        kinds[name] = kind
    return kinds | dict.fromkeys(ignore, "ignore")


def _check_alone(roles: inputs.Roles, append: bool, clusters: int | None) -> None:
    """Raise where an option needs the whole table."""
    given = [
        f"--{name.replace('_', '-')}" for name, column in roles._asdict().items() if column is not None
    ]
    given += ["--append"] * append + ["--clusters"] * (clusters is not None)
    if given:
        raise TroubleError(
            f"{given[0]} needs a table in memory. Hint: --ignore leaves a column out; without --memory, "
            "a file is read as a whole."
        )


def _words(kinds: dict[object, str]) -> frozenset[str]:
    """Return the columns whose words stay words, on request."""
    return frozenset(str(name) for name, kind in kinds.items() if kind in _OF_WORDS)


def _write(
    model: Any,
    given: inputs.Given,
    outcome: job.FitOutcome,
    paths: list[pathlib.Path],
    beside: pa.Table | None,
    clusters: int | None,
    title: str,
) -> summary.Summary:
    """Write all files, or none; return what there is to say about what was found."""
    kept = model if clusters is None else model.cut(n_clusters=clusters)
    about = {"title": title, "label": given.label, "seconds": outcome.seconds}
    view, found = described(model, given, **about, uncertainty=outcome.sure, level=kept.n_clusters_)
    page = report.to_html(found)
    if kept.n_clusters_ < model.n_clusters_:
        view, found = described(kept, given, **about)
        found.notes.append(_note_on_cut(model, kept))
    of_groups = job.group_clusters(kept, given.features, view.where)
    rows = job.label_table(view.labels, view.probabilities, beside, of_groups)
    labels = files.to_bytes(rows, paths[0].suffix[1:])
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    write_together(dict(zip(paths, (labels, saving.to_bytes(kept), page.encode()), strict=True)))
    return found


def described(model: Any, given: inputs.Given, **about: Any) -> tuple[summary.TableView, summary.Summary]:
    """Return a table as its model sees it, and what there is to say about it."""
    where = places(model, given.groups, given.sequences)
    view = summary.view_of(model, given.features, model.labels_, **where)
    found = summary.summarise(model, view, **about)
    return view, with_command(found, given.notes)


def with_command(found: summary.Summary, notes: list[str]) -> summary.Summary:
    """Add notes on the file, and the command that was run."""
    command = shlex.join(["mapdp", *sys.argv[1:]])
    notes = [for_terminal(note) for note in notes + found.notes]
    return dataclasses.replace(found, notes=notes, made_with={**found.made_with, "command": command})


def _note_on_cut(model: MAPDP, kept: MAPDP) -> str:
    lost = model.log_joint_ - kept.log_joint_
    return f"Merged from {model.n_clusters_} clusters, whose partition is {lost:.1f} nats more probable."


def _exit_where(is_interrupted: bool) -> None:
    if is_interrupted:
        typer.echo("mapdp: interrupted; what was written is the best partition so far.", err=True)
        raise typer.Exit(130)
