"""Commands that take a fitted model: predict, describe, tree, report, compare."""

import json
import pathlib
import sys
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from mapdp.cli import files, fit, inputs, job, show, targets
from mapdp.cli.files import Asked, TroubleError
from mapdp.cli.options import Append, Force, Groups, Id, Json, Model, SequenceId, Table, reads_table
from mapdp.cli.places import places_in
from mapdp.data.groups import read_groups
from mapdp.data.writing import write_whole
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.nested import NestedMAPDP
from mapdp.estimators.structured import StructuredMixture
from mapdp.insights.tree import DRAWN
from mapdp.outputs import report, summary
from mapdp.outputs.compare import compare as compare_models
from mapdp.outputs.tree_summary import tree_as_dict

_SAME = 1e-9  # of the log joint: a table that has this one is the table that was fitted


@reads_table
def predict(
    model: Model,
    table: Table,
    out: Annotated[
        pathlib.Path | None, typer.Option(help="file for the labels; standard output without it")
    ] = None,
    groups: Groups = None,
    sequence_id: SequenceId = None,
    id_column: Id = None,
    append: Append = False,
    force: Force = False,
    *,
    asked: Asked,
) -> None:
    """Put new rows into the clusters of a model; -1 means something new.

    Example: `mapdp predict found/model.mapdp new.csv --out new_labels.csv`.
    """
    if out is not None:
        targets.check([out], force)
    fitted = inputs.model_at(model)
    rows, _ = files.read(table, asked._replace(kept=_words(fitted, groups, sequence_id)))
    features = inputs.columns_of(fitted, rows, table)
    where = places_in(fitted, model, rows, groups, sequence_id)
    chances = fitted.predict_proba(features, **where)
    if id_column is not None:
        inputs.taken(rows, id_column, "id")
    beside = job.columns_beside(rows, append, id_column)
    of_groups = job.group_clusters(fitted, features, where)
    labels = job.label_table(_labels(fitted, features, where, chances), chances, beside, of_groups)
    if out is None:
        sys.stdout.buffer.write(files.to_bytes(labels, "csv"))
    else:
        files.write_table(labels, out, files.kind_of(str(out)))


def _words(fitted: Any, *columns: str | None) -> frozenset[str]:
    """Return the columns whose cells stay words: those that a model takes for words, and names."""
    return inputs.words_of(fitted) | frozenset(filter(None, columns))


def _labels(fitted: Any, features: pa.Table, where: dict[str, Any], chances: np.ndarray) -> np.ndarray:
    """Return the most probable cluster of each row, of a sequence the most probable path; -1 is new."""
    if isinstance(fitted, StructuredMixture):
        return fitted.predict(features, **where)
    best = chances.argmax(axis=1)
    return np.where(best == fitted.n_clusters_, -1, best)


def describe(model: Model, as_json: Json = False) -> None:
    """Describe what sets the clusters of a model apart."""
    clusters = inputs.model_at(model).describe()
    if as_json:
        plain = [c._asdict() | {"features": [f._asdict() for f in c.features]} for c in clusters]
        typer.echo(json.dumps(show.plain(plain)))
    else:
        typer.echo(str(clusters))


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
            f"{model} holds a {type(fitted).__name__}, which has no tree. Hint: `mapdp fit`."
        )
    described = fitted.describe_tree()
    typer.echo(json.dumps(show.plain(tree_as_dict(described))) if as_json else described.drawn(clusters))


@reads_table
def write_report(
    model: Model,
    table: Table,
    out: Annotated[pathlib.Path, typer.Option(help="the HTML file")] = pathlib.Path("report.html"),
    label: Annotated[str | None, typer.Option(help="column of known classes")] = None,
    groups: Groups = None,
    sequence_id: SequenceId = None,
    force: Force = False,
    *,
    asked: Asked,
) -> None:
    """Write the report of a model about a table, which may be the one that was fitted."""
    targets.check([out], force)
    fitted = inputs.model_at(model)
    rows, notes = files.read(table, asked._replace(kept=_words(fitted, groups, sequence_id)))
    features = inputs.columns_of(fitted, rows, table)
    where = places_in(fitted, model, rows, groups, sequence_id)
    truth = None if label is None else inputs.taken(rows, label, "label")
    is_fitted = _was_fitted(fitted, features, where)
    view = summary.view_of(fitted, features, fitted.labels_ if is_fitted else None, **where)
    sure = job.uncertainty(fitted, features) if is_fitted else None
    found = summary.summarise(fitted, view, title=pathlib.Path(table).name, label=truth, uncertainty=sure)
    write_whole(out, report.to_html(fit.with_command(found, notes)).encode())
    typer.echo(f"Wrote {out}.", err=True)


def _was_fitted(model: Any, features: pa.Table, where: dict[str, Any]) -> bool:
    """Say whether a model was fitted to this table: it has the same joint."""
    if len(model.labels_) != features.num_rows or getattr(model, "_has_row_blocks", False):
        return False
    if isinstance(model, NestedMAPDP):
        names = read_groups(where["groups"], features.num_rows).names
        if not np.array_equal(names, model.groups_):
            return False
        where = {**where, "group_labels": model.group_labels_}
    log_joint = model.log_joint_of(features, model.labels_, **where)
    return bool(abs(log_joint - model.log_joint_) <= _SAME * abs(model.log_joint_))


@reads_table
def compare(
    table: Table,
    models: Annotated[list[pathlib.Path], typer.Argument(help="models fitted to that table")],
    folds: Annotated[int, typer.Option(min=2, help="parts in which rows are left out")] = 5,
    as_json: Json = False,
    *,
    asked: Asked,
) -> None:
    """Compare models of one table by rows that they have not seen, as `mapdp.compare` does."""
    fitted = [inputs.model_at(path) for path in models]
    names = [str(path) for path in models]
    _check_flat(fitted, names)
    _check_same_columns(fitted, names)
    rows, _ = files.read(table, asked._replace(kept=frozenset.union(*map(inputs.words_of, fitted))))
    features = inputs.columns_of(fitted[0], rows, table)
    comparison = compare_models(fitted, features, n_folds=folds, names=names)
    typer.echo(json.dumps([vars(one) for one in comparison]) if as_json else str(comparison))


def _check_flat(models: list[Any], names: list[str]) -> None:
    """Raise where rows cannot be left out in turn: groups and sequences are not in the models' files."""
    for model, name in zip(models, names, strict=True):
        if isinstance(model, StructuredMixture):
            raise TroubleError(
                f"{name} holds a {type(model).__name__}; only models of rows in a bag are compared. "
                "Hint: `score` in Python compares models of groups or sequences by new ones."
            )


def _check_same_columns(models: list[Any], names: list[str]) -> None:
    """Raise where models were fitted with different columns: their densities are of different things."""
    columns = [list(getattr(model, "feature_names_in_", ())) for model in models]
    other = next((j for j, one in enumerate(columns) if one != columns[0]), None)
    if other is not None:
        odd = sorted(set(columns[0]) ^ set(columns[other]), key=str)
        what = f"column {odd[0]!r} is only in one of them" if odd else "they stand in another order"
        raise TroubleError(
            f"{names[0]} and {names[other]} were fitted with different columns: {what}. "
            "Hint: give both fits the same --label, and --ignore what only one of them should use."
        )
