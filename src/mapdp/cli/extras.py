"""Commands to try things out: demo, bench, reproduce."""

import importlib
import pathlib
import sys
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from mapdp.cli import bench as timed
from mapdp.cli import files
from mapdp.cli.files import TroubleError
from mapdp.cli.fit import fit


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


def bench(rows: Annotated[int, typer.Option(min=1000)] = 100_000) -> None:
    """Time a fit beside K-means with the number of clusters given, on this machine."""
    timed.bench(rows)


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
