"""What do hidden cells cost? Agreement with the clusters of the whole table, and the error of what is filled in.

Beside scikit-learn's imputers, after which the same clustering is made. Numbers are judged by their root
mean square error in standard deviations of the column, levels by the share that is wrong.
"""

import argparse
import os
import pathlib
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.metrics import adjusted_rand_score

from common import table, write
from mapdp import MAPDP


def tables(folder):
    """Yield tables without gaps."""
    yield "iris", load_iris(as_frame=True).data
    yield "wine", load_wine(as_frame=True).data
    for name in ("penguins.csv", "heart_cleveland.csv", "credit_approval.csv"):
        frame = pd.read_csv(folder / name).drop(columns="label").dropna().reset_index(drop=True)
        yield name.split(".")[0].split("_")[0], frame


def by_mapdp(given):
    model = MAPDP().fit(given)
    return model.labels_, model.impute(given)


def by_independent_columns(given):
    model = MAPDP(covariance="diagonal").fit(given)
    return model.labels_, model.impute(given)


def by_imputer(imputer):
    """Return what fills numbers by an imputer and words by the most frequent one, and then clusters."""

    def fill(given):
        filled = given.copy()
        numbers = filled.select_dtypes("number").columns
        words = filled.columns.difference(numbers)
        filled[numbers] = imputer.fit_transform(filled[numbers])
        if len(words):
            filled[words] = SimpleImputer(strategy="most_frequent").fit_transform(
                filled[words].astype(object)
            )
        return MAPDP().fit(filled).labels_, filled

    return fill


METHODS = {
    "mapdp": by_mapdp,
    "mapdp, independent columns": by_independent_columns,
    "KNN imputer": by_imputer(KNNImputer()),
    "iterative imputer": by_imputer(IterativeImputer(random_state=0)),
}


def errors(filled, whole, hidden):
    """Return the root mean square error of numbers, and the share of wrong levels."""
    numbers = whole.select_dtypes("number").columns
    squares, wrong = [], []
    for j, name in enumerate(whole.columns):
        rows = hidden[:, j]
        if name in numbers:
            gap = (filled[name].to_numpy(float) - whole[name].to_numpy(float))[rows] / whole[name].std()
            squares.append(gap**2)
        else:
            wrong.append((filled[name].to_numpy() != whole[name].to_numpy())[rows])
    share = f"{np.concatenate(wrong).mean():.2f}" if wrong else "-"
    return f"{np.sqrt(np.concatenate(squares).mean()):.2f}", share


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, whole in tables(pathlib.Path(os.environ["MAPDP_DATA"]) / "extra"):
        complete = MAPDP().fit(whole).labels_
        for share in (0.1, 0.3):
            rows += [[name, f"{share:.0%}", *line] for line in compared(whole, complete, share, args.draws)]
            print(rows[-len(METHODS) :], flush=True)
    header = [
        "table",
        "hidden",
        "method",
        "agreement with the whole table",
        "error of numbers",
        "wrong levels",
        "seconds",
    ]
    write(table(header, rows), args.out)


def compared(whole, complete, share, draws):
    """Yield a line for each method: means over several ways to hide cells."""
    for method, fill in METHODS.items():
        lines, seconds = [], 0.0
        for seed in range(draws):
            hidden = np.random.default_rng(seed).random(whole.shape) < share
            given, began = whole.mask(hidden), time.perf_counter()
            labels, filled = fill(given)
            seconds += time.perf_counter() - began
            lines.append((adjusted_rand_score(complete, labels), *errors(filled, whole, hidden)))
        agreement = np.mean([line[0] for line in lines])
        number = np.mean([float(line[1]) for line in lines])
        wrong = "-" if lines[0][2] == "-" else f"{np.mean([float(line[2]) for line in lines]):.2f}"
        yield [method, f"{agreement:.2f}", f"{number:.2f}", wrong, f"{seconds / draws:.2g}"]


if __name__ == "__main__":
    main()
