"""The commands: arguments in, an estimator at work, files and words out."""

import dataclasses
import importlib
import json
import pathlib
import shlex
import sys
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from mapdp.cli import bench as timed
from mapdp.cli import files, inputs, job, show
from mapdp.cli.files import TroubleError
from mapdp.data.writing import write_together, write_whole
from mapdp.estimators.map_dp import MAPDP
from mapdp.insights.tree import DRAWN
from mapdp.outputs import report, saving, summary
from mapdp.outputs.compare import compare as compare_models
from mapdp.outputs.tree_summary import tree_as_dict

app = typer.Typer(
    name="mapdp",
    help="Cluster tables without saying how many clusters there are.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Table = Annotated[
    str, typer.Argument(help="CSV or TSV (may be gzipped), Parquet or Arrow file; - is standard input")
]
Model = Annotated[pathlib.Path, typer.Argument(help="a model that `mapdp fit` wrote")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, and nothing else, to standard output")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print errors only")]
Force = Annotated[bool, typer.Option("--force", help="replace files that are there already")]


def _alpha(text: str) -> float | str:
    """Return alpha as a number, or the name of a rule."""
    try:
        return float(text)
    except ValueError:
        return text


def _kinds(columns: list[str], ignore: list[str]) -> dict[object, str]:
    """Return the kinds of columns that the options name."""
    kinds: dict[object, str] = {}
    for entry in columns:
        name, _, kind = entry.rpartition("=")
        if not name:
            raise TroubleError(f"--columns must be NAME=KIND, got {entry!r}. Hint: --columns visits=count.")
        kinds[name] = kind
    return kinds | dict.fromkeys(ignore, "ignore")


@app.command()
def fit(
    table: Table,
    out: Annotated[pathlib.Path, typer.Option(help="folder for labels, model and report")] = pathlib.Path(
        "mapdp-out"
    ),
    alpha: Annotated[str, typer.Option(help="concentration: a number, auto, map, nll or cv")] = "auto",
    covariance: Annotated[
        str, typer.Option(help="of measurements: auto, diagonal, full, shared or spherical")
    ] = "auto",
    label: Annotated[
        str | None, typer.Option(help="column of known classes: scored against, never used")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="column to leave out; may be repeated")] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="NAME=KIND, what a column holds; may be repeated")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="seed of the search")] = None,
    n_init: Annotated[
        int | None,
        typer.Option(min=1, help="number of starts; by default as many as find something better"),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.001, help="end the search after so long, with the best so far")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="merge what is found down to so many clusters")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Find the clusters of a table.

    Examples: `mapdp fit penguins.csv`, `mapdp fit visits.parquet --label diagnosis --columns visits=count`,
    `zcat big.csv.gz | mapdp fit - --out found`.
    """
    features, truth, notes = inputs.features(table, label)
    kind = files.kind_of(table)
    targets = [out / f"labels.{kind}", out / "model.mapdp", out / "report.html"]
    _check_free(targets, force)
    model = MAPDP(
        _alpha(alpha),
        covariance=covariance,
        columns=_kinds(columns or [], ignore or []) or None,
        random_state=seed,
        n_init=n_init or "auto",
        seconds=seconds,
    )
    sure, is_interrupted = job.fitted(model, features, show.ProgressLine(quiet or as_json, seconds))
    kept = model if clusters is None else model.cut(n_clusters=clusters)
    about = {"title": pathlib.Path(table).name, "label": truth}
    view, found = _found(model, features, notes, **about, uncertainty=sure, level=kept.n_clusters_)
    page = report.to_html(found)
    if kept.n_clusters_ < model.n_clusters_:
        view, found = _found(kept, features, [*notes, _note_on_cut(model, kept)], **about)
    labels = files.to_bytes(job.label_table(view.labels, view.probabilities), kind)
    contents = (labels, saving.to_bytes(kept), page.encode())
    out.mkdir(parents=True, exist_ok=True)
    write_together(dict(zip(targets, contents, strict=True)))
    _print(found, as_json, quiet, targets)
    _exit_where(is_interrupted)


def _exit_where(is_interrupted: bool) -> None:
    if is_interrupted:
        typer.echo("mapdp: interrupted; what was written is the best partition so far.", err=True)
        raise typer.Exit(130)


def _found(
    model: MAPDP, features: pa.Table, notes: list[str], **about: Any
) -> tuple[summary.TableView, summary.Summary]:
    """Return a table as its model sees it, and what there is to say about it."""
    view = summary.view_of(model, features, model.labels_)
    return view, _with_command(summary.summarise(model, view, **about), notes)


def _note_on_cut(model: MAPDP, kept: MAPDP) -> str:
    lost = model.log_joint_ - kept.log_joint_
    return f"Merged from {model.n_clusters_} clusters, whose partition is {lost:.1f} nats more probable."


def _check_free(targets: list[pathlib.Path], force: bool) -> None:
    there = [path for path in targets if path.exists()]
    if there and not force:
        raise TroubleError(
            f"{there[0]} is there already. Hint: --force replaces it, --out names another folder."
        )


def _with_command(found: summary.Summary, notes: list[str]) -> summary.Summary:
    command = shlex.join(["mapdp", *sys.argv[1:]])
    return dataclasses.replace(
        found, notes=notes + found.notes, made_with={**found.made_with, "command": command}
    )


def _print(found: summary.Summary, as_json: bool, quiet: bool, targets: list[pathlib.Path]) -> None:
    if as_json:
        typer.echo(
            json.dumps(dataclasses.asdict(found) | {"files": [str(path) for path in targets]}, default=str)
        )
    elif not quiet:
        show.summary(found, targets)


@app.command()
def predict(
    model: Model,
    table: Table,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="file for the labels; standard output without it")
    ] = None,
    force: Force = False,
) -> None:
    """Put new rows into the clusters of a model; -1 means something new.

    Example: `mapdp predict found/model.mapdp new.csv --out new_labels.csv`.
    """
    fitted, features = inputs.model_and_table(model, table)
    chances = fitted.predict_proba(features)
    best = chances.argmax(axis=1)
    labels = job.label_table(np.where(best == fitted.n_clusters_, -1, best), chances)
    if out is None:
        sys.stdout.buffer.write(files.to_bytes(labels, "csv"))
        return
    _check_free([out], force)
    files.write_table(labels, out, files.kind_of(str(out)))


@app.command()
def describe(model: Model, as_json: Json = False) -> None:
    """Describe what sets the clusters of a model apart."""
    clusters = inputs.model_at(model).describe()
    if as_json:
        plain = [c._asdict() | {"features": [f._asdict() for f in c.features]} for c in clusters]
        typer.echo(json.dumps(plain))
    else:
        typer.echo(str(clusters))


@app.command()
def tree(
    model: Model,
    clusters: Annotated[int, typer.Option(min=1, help="branches at which the drawing ends")] = DRAWN,
    as_json: Json = False,
) -> None:
    """Draw how the clusters of a model merge, and what sets the branches apart.

    Below a split are the columns that decide it: what is typical in the larger branch | in the smaller one.
    """
    fitted = inputs.model_at(model)
    if not isinstance(fitted, MAPDP):
        raise TroubleError(
            f"{model} holds a {type(fitted).__name__}, which has no tree. Hint: fit a MAPDP."
        )
    described = fitted.describe_tree()
    typer.echo(json.dumps(tree_as_dict(described)) if as_json else described.drawn(clusters))


@app.command("report")
def write_report(
    model: Model,
    table: Table,
    out: Annotated[pathlib.Path, typer.Option(help="the HTML file")] = pathlib.Path("report.html"),
    label: Annotated[str | None, typer.Option(help="column of known classes")] = None,
    force: Force = False,
) -> None:
    """Write the report of a model about a table."""
    _check_free([out], force)
    fitted, features = inputs.model_and_table(model, table)
    truth = None if label is None else inputs.taken(files.read(table)[0], label)
    view = summary.view_of(fitted, features)
    found = summary.summarise(fitted, view, title=pathlib.Path(table).name, label=truth)
    write_whole(out, report.to_html(_with_command(found, [])).encode())
    typer.echo(f"Wrote {out}.", err=True)


@app.command()
def compare(
    table: Table,
    models: Annotated[list[pathlib.Path], typer.Argument(help="models fitted to that table")],
    folds: Annotated[int, typer.Option(min=2, help="parts in which rows are left out")] = 5,
) -> None:
    """Compare models of one table by rows that they have not seen, as `mapdp.compare` does."""
    fitted = [inputs.model_and_table(path, table) for path in models]
    names = [str(path) for path in models]
    comparison = compare_models([model for model, _ in fitted], fitted[0][1], n_folds=folds, names=names)
    typer.echo(str(comparison))


@app.command()
def demo(
    out: Annotated[pathlib.Path, typer.Option(help="folder for the files")] = pathlib.Path("mapdp-demo"),
) -> None:
    """Cluster 178 wines that come with scikit-learn, and write the report."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    out.mkdir(parents=True, exist_ok=True)
    source = out / "wine.csv"
    columns = dict(zip(wine.feature_names, wine.data.T, strict=True))
    grapes = np.array(wine.target_names)[wine.target]
    files.write_table(pa.table(columns | {"grape": grapes.astype(str)}), source, "csv")
    typer.echo("178 wines, 13 chemical measurements; the grape is not shown to the search.\n")
    fit(str(source), out=out, label="grape", seed=0, force=True)


@app.command()
def bench(rows: Annotated[int, typer.Option(min=1000)] = 100_000) -> None:
    """Time a fit beside K-means with the number of clusters given, on this machine."""
    timed.bench(rows)


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="crp or uci")],
    quick: Annotated[bool, typer.Option(help="fewer draws")] = False,
) -> None:
    """Run the paper's experiments again; from a checkout of the project, where they live."""
    sys.path.insert(0, str(pathlib.Path.cwd()))
    try:
        experiments = importlib.import_module("experiments.map_dpm_2014")
    except ImportError as error:
        raise TroubleError(
            "there are no experiments here. Hint: run this in a checkout of mapdp."
        ) from error
    experiments.run(experiment, quick)
