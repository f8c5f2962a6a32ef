"""What the likelihoods beyond the conjugate ones find on real tables, and what scoring with them costs.

Real tables are looked for in the folder that MAPDP_DATA names. Times are CPU seconds. Names of functions as
arguments choose among the parts.
"""

import os
import pathlib
import resource
import sys
import time

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from mapdp import (
    MAPDP,
    AnyLikelihood,
    Bernoulli,
    DiagonalGaussian,
    DirichletProcess,
    Multinomial,
    Ordered,
    grid,
)
from mapdp.engine.build import seated
from mapdp.engine.density import reduced_scores
from mapdp.engine.state import predictive_bank
from mapdp.families.levels.ordered import curves_over

N_CHAIRS = 16


def gaussian(rows, mean):
    return -0.5 * (rows - mean) ** 2 - 0.9189385332046727


def scoring(n_candidates, apart):
    """Return nanoseconds per row, chair and candidate, for clusters so many widths apart."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, N_CHAIRS - 1, 3000)
    family = AnyLikelihood(gaussian, grid(-10.0, apart * N_CHAIRS, n_candidates))
    return nanoseconds_of_scoring(family, rng.normal(apart * group)[:, None], group) / n_candidates


def nanoseconds_of_scoring(family, X, group):
    """Return nanoseconds per row and chair of a family, where rows sit in known groups."""
    rows = family.encode(X)
    state = seated(rows, group.astype(np.int32), family, DirichletProcess(1.0))
    bank, weights = predictive_bank(state.bank, family, N_CHAIRS - 1), np.zeros(N_CHAIRS)
    reduced_scores(rows[:10], weights, bank, family, np.copy)
    began = time.process_time()
    reduced_scores(rows, weights, bank, family, np.copy)
    return 1e9 * (time.process_time() - began) / (len(rows) * N_CHAIRS)


def ordered():
    """Show what one column of levels in order costs as `Ordered`, and as any likelihood with the same curves."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, N_CHAIRS - 1, 3000)
    for n_levels in (5, 10, 50):
        centre = rng.uniform(0.0, n_levels - 1.0, N_CHAIRS)[group]
        X = np.clip(np.round(rng.normal(centre, 0.1 * n_levels)), 0.0, n_levels - 1.0)[:, None]
        curves = np.log(curves_over(n_levels, 1.0))
        families = [
            Ordered([np.arange(n_levels)]),
            AnyLikelihood(
                lambda rows, g, curves=curves: curves[g.astype(int), rows.astype(int)],
                np.arange(len(curves)),
            ),
        ]
        for family in families:
            once = {"family": family, "alpha": 1.0, "n_init": 1, "random_state": 0}
            MAPDP(**once).fit(X[:50])
            began = time.process_time()
            joint = MAPDP(**once).fit(X).log_joint_
            seconds = time.process_time() - began
            print(
                f"{n_levels:3d} levels, {len(curves):3d} curves, {type(family).__name__:14s} "
                f"{nanoseconds_of_scoring(family, X, group):6.1f} ns to score a row on a chair, "
                f"{seconds:.2f} s to fit, log joint {joint:.6f}",
                flush=True,
            )


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


def peak():
    """Return the most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def newsgroups(n_rows=11_314, n_columns=130_107, n_topics=20):
    """Return made documents of the shape and sparsity of 20 newsgroups, and their topics."""
    rng = np.random.default_rng(0)
    base, y = 1.0 / (np.arange(n_columns) + 20.0), rng.integers(0, n_topics, n_rows)
    lengths = np.maximum(rng.lognormal(np.log(150.0), 0.7, n_rows), 10.0).astype(int)
    words = np.empty(lengths.sum(), dtype=np.int32)
    row = np.repeat(np.arange(n_rows, dtype=np.int32), lengths)
    for k in range(n_topics):
        shares, own = np.cumsum(base * rng.gamma(0.5, size=n_columns)), y[row] == k
        words[own] = np.searchsorted(shares / shares[-1], rng.random(own.sum()))
    return csr_array((np.ones(len(row)), (row, words)), shape=(n_rows, n_columns)), y


def sparse_documents():
    """Show documents that as a dense table would take 12 GB, beside k-means that is told K."""
    X, y = newsgroups()
    ones = csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    print(f"{X.shape}, {100.0 * X.nnz / np.prod(X.shape):.2f}% not 0, {peak():.0f} MB before", flush=True)
    fitted("sparse documents, Multinomial", X, y, family=Multinomial)
    print(f"at most {peak():.0f} MB", flush=True)
    fitted("sparse documents, Multinomial, one start", X, y, family=Multinomial, alpha=1.0, n_init=1)
    began = time.process_time()
    words = TfidfTransformer().fit_transform(X)
    labels = MiniBatchKMeans(20, random_state=0).fit_predict(words)
    shown("sparse documents, k-means of TF-IDF told K", y, labels, 20, began)
    prior = Bernoulli.empirical(ones, scale=100.0)
    fitted("sparse documents, Bernoulli, one start", ones, y, family=prior, alpha=1.0, n_init=1)
    print(f"at most {peak():.0f} MB", flush=True)


def dense_beside_sparse():
    """Show what the same fit takes from a dense table."""
    X, y = newsgroups(2000, 10_000, 10)
    for family in (Multinomial.empirical(X), Bernoulli.empirical(X.astype(bool), scale=100.0)):
        name = type(family).__name__
        table = X if name == "Multinomial" else X.astype(bool).astype(float)
        few = {"family": family, "alpha": 1.0, "n_init": 1}
        for some in (table[:50], table[:50].toarray()):
            MAPDP(**few).fit(some)  # whatever has to be compiled
        fitted(f"2,000 x 10,000, {name}, sparse", table, y, **few)
        fitted(f"2,000 x 10,000, {name}, dense", table.toarray(), y, **few)


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


def whole_numbers():
    """Yield tables of 1,000 rows and 16 columns before they are rounded to whole numbers."""
    rng, shape = np.random.default_rng(0), (1000, 16)

    def groups(n, low, high, width):
        centres = rng.uniform(low, high, size=(n, 16))[rng.integers(0, n, 1000)]
        return centres + width * rng.normal(size=shape)

    yield "26 groups, 0 to 15", np.clip(groups(26, 2.0, 13.0, 1.5), -0.4, 15.4)
    yield "4 groups, width 0.8", groups(4, 0.0, 20.0, 0.8)
    yield "4 groups, width 0.1: ties", groups(4, 0.0, 40.0, 0.1)
    yield "positive, long tails", 20.0 * np.exp(1.2 * rng.normal(size=shape))
    yield "long tails on both sides", 3.0 * rng.standard_t(2.0, size=shape)
    yield (
        "half of the cells 0",
        np.where(rng.random(shape) < 0.5, 0.0, np.abs(10.0 * rng.normal(size=shape))),
    )
    yield "one group, width 30", 30.0 * rng.normal(size=shape)


def narrowest(model):
    """Return the least width of a cluster in a column of measurements, in steps that it is rounded to.

    The steps are those that the model knows of; where it knows none, numbers are whole.
    """
    clusters = [model.family_.posterior(model.mixture_.bank, k) for k in range(model.n_clusters_)]
    columns = [one.column(j) for one in clusters for j in range(one.n_features)]
    known = [one for one in columns if hasattr(one, "resolution")]
    widths = [np.sqrt(one.rate[0] / one.shape) / (one.resolution[0] or 1.0) for one in known]
    return min(widths, default=np.nan)


def rounded():
    """Show clusters of whole numbers: by default, before rounding, and where they are taken as exact."""

    def shown_widths(name, how, X, **parameters):
        model = MAPDP(random_state=0, **parameters).fit(X)
        print(
            f"{name:26s} {how:16s} K {model.n_clusters_:3d}  narrowest {narrowest(model):.2g}", flush=True
        )

    tables = [(name, X, np.round(X)) for name, X in whole_numbers()]
    if "MAPDP_DATA" in os.environ:
        shuttle = pd.read_csv(
            pathlib.Path(os.environ["MAPDP_DATA"]) / "extra" / "shuttle.csv.gz", nrows=2000
        )
        tables.append(("shuttle, 2,000 rows", None, shuttle.drop(columns="label").to_numpy(dtype=float)))
    for name, before, X in tables:
        if before is not None:
            print(f"{name}: K {MAPDP(random_state=0).fit(before).n_clusters_} before rounding", flush=True)
        shown_widths(name, "default", X)
        exact = DiagonalGaussian.empirical(X)
        shown_widths(name, "taken as exact", X, family=exact, prior="learned")


def wanted(name):
    """Say whether a part is asked for: all are, unless some are named."""
    return len(sys.argv) == 1 or name in sys.argv[1:]


def all_scoring():
    for apart in (3.0, 60.0):
        for n_candidates in (128, 512, 2048):
            print(
                f"{n_candidates} candidates, {apart:g} apart: {scoring(n_candidates, apart):.2f} ns",
                flush=True,
            )


if __name__ == "__main__":
    for part in (
        sparse_documents,
        all_scoring,
        wild_rows,
        documents,
        dense_beside_sparse,
        rounded,
        ordered,
    ):
        if wanted(part.__name__):
            part()
    if "MAPDP_DATA" in os.environ and wanted("single_cells"):
        single_cells(pathlib.Path(os.environ["MAPDP_DATA"]))
