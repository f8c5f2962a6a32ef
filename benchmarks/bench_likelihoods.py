"""What the likelihoods beyond the conjugate ones find on real tables, and what scoring with them costs.

Real tables are looked for in the folder that MAPDP_DATA names. Times are CPU seconds.
"""

import os
import pathlib
import time

import numpy as np
import pandas as pd
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, AnyLikelihood, DirichletProcess, Multinomial, grid
from mapdp.engine.build import seated
from mapdp.engine.density import reduced_scores
from mapdp.engine.state import predictive_bank

N_CHAIRS = 16


def gaussian(rows, mean):
    return -0.5 * (rows - mean) ** 2 - 0.9189385332046727


def scoring(n_candidates, apart):
    """Return nanoseconds per row, chair and candidate, for clusters so many widths apart."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, N_CHAIRS - 1, 3000)
    family = AnyLikelihood(gaussian, grid(-10.0, apart * N_CHAIRS, n_candidates))
    rows = family.encode(rng.normal(apart * group)[:, None])
    state = seated(rows, group.astype(np.int32), family, DirichletProcess(1.0))
    bank, weights = predictive_bank(state.bank, family, N_CHAIRS - 1), np.zeros(N_CHAIRS)
    reduced_scores(rows[:10], weights, bank, family, np.copy)
    began = time.process_time()
    reduced_scores(rows, weights, bank, family, np.copy)
    return 1e9 * (time.process_time() - began) / (len(rows) * N_CHAIRS * n_candidates)


def shown(name, y, labels, n_clusters, began):
    seconds = time.process_time() - began
    print(
        f"{name:44s} K {n_clusters:3d}  ARI {adjusted_rand_score(y, labels):5.3f}  {seconds:6.1f} s",
        flush=True,
    )


def fitted(name, X, y, **parameters):
    began = time.process_time()
    model = MAPDP(random_state=0, **parameters).fit(X)
    shown(name, y, model.labels_, model.n_clusters_, began)


def documents():
    """Show made documents of 20 to 200 words beside peers that are told K."""
    rng = np.random.default_rng(0)
    shares, y = rng.dirichlet(np.full(2000, 0.05), size=10), rng.integers(0, 10, 1000)
    X = np.array([rng.multinomial(rng.integers(20, 200), shares[k]) for k in y]).astype(float)
    fitted("made documents, Multinomial", X, y, family=Multinomial, prior="learned")
    began = time.process_time()
    topics = LatentDirichletAllocation(10, random_state=0).fit_transform(X)
    shown("made documents, LDA told K", y, topics.argmax(axis=1), 10, began)
    began = time.process_time()
    words = TfidfTransformer().fit_transform(X)
    labels = MiniBatchKMeans(10, random_state=0).fit_predict(words)
    shown("made documents, k-means of TF-IDF told K", y, labels, 10, began)


def wild_rows():
    for load, factor in ((load_wine, 1000.0), (load_iris, 10.0)):
        X, y = load(return_X_y=True)
        name = load.__name__[5:]
        for what in ("as it is", f"one row times {factor:g}"):
            fitted(f"{name}, {what}", X, y)
            fitted(f"{name}, {what}, background", X, y, background=True)
            X[7] *= factor


def single_cells(folder):
    for name in ("sc_celseq2_top1000_counts", "sc_celseq2_counts", "digits_counts"):
        table = pd.read_csv(folder / "extra" / f"{name}.csv.gz")
        y = table.pop("label")
        counts = table.to_numpy(dtype=float)
        fitted(f"{name}, Multinomial", counts, y, family=Multinomial.clumped(counts), prior="learned")


if __name__ == "__main__":
    for apart in (3.0, 60.0):
        for n_candidates in (128, 512, 2048):
            print(
                f"{n_candidates} candidates, {apart:g} apart: {scoring(n_candidates, apart):.2f} ns",
                flush=True,
            )
    wild_rows()
    documents()
    if "MAPDP_DATA" in os.environ:
        single_cells(pathlib.Path(os.environ["MAPDP_DATA"]))
