"""How well are real tables clustered as they come? Beside what users would try, given the true number.

Peers: k-prototypes or k-modes (`kmodes`), StepMix (`stepmix`), and scikit-learn's K-means after imputation,
one-hot encoding and scaling. All of them are given the number of classes; mapdp is not.
"""

import argparse
import os
import pathlib
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from common import table, write
from mapdp import MAPDP

SETS = {
    "penguins": "penguins.csv",
    "heart": "heart_cleveland.csv",
    "credit approval": "credit_approval.csv",
    "votes": "house_votes84.csv",
    "mushroom": "mushroom.csv.gz",
    "digits (counts)": "digits_counts.csv.gz",
    "single cell (counts)": "sc_celseq2_top1000_counts.csv.gz",
    "adult": "adult.csv.gz",
}


def parts(frame):
    """Return the names of columns of numbers, and of words."""
    numbers = frame.select_dtypes("number").columns.tolist()
    return numbers, [name for name in frame.columns if name not in numbers]


def by_mapdp(frame, _):
    return MAPDP().fit(frame).labels_


def by_kmeans(frame, k):
    numbers, words = parts(frame)
    prepared = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("words", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), words),
        ],
        sparse_threshold=0.0,
    )
    return KMeans(k, n_init=10, random_state=0).fit_predict(prepared.fit_transform(frame))


def by_kprototypes(frame, k):
    from kmodes.kmodes import KModes
    from kmodes.kprototypes import KPrototypes

    numbers, words = parts(frame)
    cells = frame[numbers + words].copy()
    for name in numbers:
        cells[name] = (cells[name].fillna(cells[name].mean()) - cells[name].mean()) / (
            cells[name].std() or 1.0
        )
    for name in words:
        cells[name] = cells[name].fillna(cells[name].mode()[0]).astype(str)
    starts = 1 if len(frame) > 5000 else 5
    if not words:
        return None  # all numbers: it is K-means
    if not numbers:
        return KModes(k, n_init=starts, random_state=0).fit_predict(cells)
    places = list(range(len(numbers), len(numbers) + len(words)))
    return KPrototypes(k, n_init=starts, random_state=0).fit_predict(cells, categorical=places)


def by_stepmix(frame, k):
    from stepmix.stepmix import StepMix
    from stepmix.utils import get_mixed_descriptor

    numbers, words = parts(frame)
    cells = frame.copy()
    for name in words:
        cells[name] = cells[name].astype("category").cat.codes.replace(-1, np.nan).astype(float)
    numbers = [name for name in numbers if cells[name].std() > 0]
    words = [name for name in words if cells[name].nunique() > 1]
    named = {"continuous_nan": numbers, "categorical_nan": words}
    data, descriptor = get_mixed_descriptor(
        cells, **{kind: names for kind, names in named.items() if names}
    )
    model = StepMix(k, measurement=descriptor, n_init=3, random_state=0, progress_bar=0, verbose=0)
    return model.fit(data).predict(data)


METHODS = {"mapdp": by_mapdp, "k-prototypes": by_kprototypes, "StepMix": by_stepmix, "K-means": by_kmeans}


def measured(method, frame, truth, limit):
    """Return NMI, ARI, number of clusters and seconds, as text."""
    if method is by_kprototypes and frame.size > limit:
        return "too slow"
    began = time.perf_counter()
    try:
        labels = method(frame, truth.nunique())
    except (ValueError, ImportError, np.linalg.LinAlgError) as error:
        return f"fails: {type(error).__name__}"
    if labels is None:
        return "as K-means"
    seconds = time.perf_counter() - began
    nmi, ari = normalized_mutual_info_score(truth, labels), adjusted_rand_score(truth, labels)
    return f"{nmi:.2f} / {ari:.2f} / {len(np.unique(labels))} / {seconds:.2g} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument(
        "--limit", type=int, default=300_000, help="cells beyond which k-prototypes is left out"
    )
    parser.add_argument("--out")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = pathlib.Path(os.environ["MAPDP_DATA"]) / "extra"
    by_mapdp(pd.DataFrame({"a": [1.0, 2.5, None], "b": ["x", "y", None]}), 0)  # compiles
    rows = []
    for name in args.sets:
        frame = pd.read_csv(folder / SETS[name])
        truth = frame.pop("label")
        size, gaps = f"{frame.shape[0]:,} x {frame.shape[1]}", int(frame.isna().sum().sum())
        found = [measured(method, frame, truth, args.limit) for method in METHODS.values()]
        rows.append([name, size, gaps, truth.nunique(), *found])
        print(rows[-1], flush=True)
    write(table(["table", "rows x columns", "gaps", "classes", *METHODS], rows), args.out)


if __name__ == "__main__":
    main()
