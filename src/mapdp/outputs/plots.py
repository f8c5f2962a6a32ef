"""Plots of a fitted model with matplotlib; needs the extra `report`. Each returns its Axes."""

from typing import Any

import numpy as np

from mapdp.data import checks
from mapdp.estimators.map_dp import MAPDP
from mapdp.outputs import projection, tree_plot
from mapdp.sampling.similarity import coclustering as pairs_in
from mapdp.sampling.similarity import order_by_similarity

_MOST_PAIRED = 5000  # rows; more are finer than a screen, and their tree takes minutes


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def sizes(model: MAPDP, ax: Any = None) -> Any:
    """Draw the sizes of the clusters, which are numbered by it, on a logarithmic axis.

    Parameters
    ----------
    model : MAPDP
        Fitted.
    ax : matplotlib Axes, default None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> ax = plots.sizes(MAPDP(alpha=0.3).fit(load_iris().data))
    >>> ax.get_yscale()
    'log'
    """
    ax = _axes(ax)
    ax.bar(np.arange(model.n_clusters_), model.cluster_sizes_, color=_colours(model))
    ax.set(yscale="log", xlabel="cluster", ylabel="rows")
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


def trace(model: MAPDP, ax: Any = None) -> Any:
    """Draw the log joint after each sweep and round of moves of the climb that won.

    Parameters and return value are those of `sizes`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> ax = plots.trace(MAPDP(alpha=0.3).fit(load_iris().data))
    >>> heights = ax.lines[0].get_ydata()
    >>> bool((np.diff(heights) >= -1e-6).all())
    True
    """
    ax = _axes(ax)
    steps = [step for step in model.trace_ if step.climb == model.winning_climb_]
    ax.plot([step.log_joint for step in steps], marker="o", markersize=3)
    ax.set(xlabel="sweeps and rounds of moves", ylabel="log joint")
    return ax


def clusters(model: MAPDP, table: Any, ax: Any = None) -> Any:
    """Draw the rows in the two directions in which the clusters differ most.

    Parameters
    ----------
    model : MAPDP
        Fitted.
    table : array or data frame
        The rows that were fitted.
    ax : matplotlib Axes, default None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> X = load_iris().data
    >>> model = MAPDP(alpha=0.3).fit(X)
    >>> len(plots.clusters(model, X).patches) == model.n_clusters_  # an ellipse for each
    True
    """
    from matplotlib.patches import Ellipse

    ax, picture, colours = _axes(ax), projection.of_rows(model, table), _colours(model)
    ax.scatter(*picture.rows.T, c=colours[model.labels_], s=8, alpha=0.7)
    for colour, (x, y, a, b, angle) in zip(colours, picture.ellipses, strict=True):
        ax.add_patch(Ellipse((x, y), 2 * a, 2 * b, angle=angle, fill=False, edgecolor=colour))
    ax.set(xlabel=picture.axes[0], ylabel=picture.axes[1])
    return ax


def profile(model: MAPDP, cluster: int, n: int = 10, ax: Any = None) -> Any:
    """Draw the columns that set a cluster apart, by their evidence in nats.

    Parameters
    ----------
    model : MAPDP
        Fitted.
    cluster : int
        Its number.
    n : int, default 10
        How many columns.
    ax : matplotlib Axes, default None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> ax = plots.profile(MAPDP(alpha=0.3, prior="paper").fit(load_iris(as_frame=True).data), 0)
    >>> ax.get_yticklabels()[0].get_text().split(":")[0]
    'petal length (cm)'
    """
    ax, features = _axes(ax), model.describe()[cluster].features[:n]
    ax.barh(range(len(features)), [f.nats for f in features], color=_colours(model)[cluster])
    ax.set_yticks(range(len(features)), [f"{f.name}: {f.here}" for f in features])
    ax.invert_yaxis()
    ax.set(xlabel="evidence (nats)", title=f"cluster {cluster}")
    return ax


def sensitivity(model: MAPDP, ax: Any = None) -> Any:
    """Draw the number of clusters that each alpha of the grid gave; the one that was chosen is filled.

    Parameters and return value are those of `sizes`; the model must have chosen alpha by a grid.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> plots.sensitivity(MAPDP(alpha="nll").fit(load_iris().data)).get_xscale()
    'log'
    """
    if not model.alphas_:
        raise ValueError("this model tried no grid of alphas. Hint: fit it with alpha='nll' or 'cv'.")
    ax, alphas = _axes(ax), [tried.alpha for tried in model.alphas_]
    ax.plot(alphas, [tried.n_clusters for tried in model.alphas_], marker="o", fillstyle="none")
    ax.plot([model.alpha_], [model.n_clusters_], marker="o", color="C0")
    ax.set(xscale="log", xlabel="alpha", ylabel="clusters")
    return ax


def tree(model: MAPDP, n_clusters: int = 12, ax: Any = None) -> Any:
    """Draw the cluster tree: sizes of the branches, and the columns that decide the widest splits.

    Parameters
    ----------
    model : MAPDP
        Fitted.
    n_clusters : int, default 12
        Number of branches at which the drawing ends.
    ax : matplotlib Axes, default None

    Returns
    -------
    matplotlib Axes
        Heights are losses in nats, on a scale of square roots; a dashed line is the suggested level.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> model = MAPDP(alpha=0.3, prior="paper").fit(load_iris().data)
    >>> len(plots.tree(model).get_yticklabels()) == model.n_clusters_
    True
    """
    checks.whole("n_clusters", n_clusters, 1)
    ax = _axes(ax)
    tree_plot.draw(model, n_clusters, ax)
    return ax


def coclustering(similarity: Any, ax: Any = None) -> Any:
    """Draw how often each pair of rows shares a cluster; rows are ordered by a tree of that similarity.

    Parameters
    ----------
    similarity : Uncertainty, GibbsDPM or array of shape (N, N)
        What `model.uncertainty(X)` returns, a fitted sampler, or a matrix of probabilities; up to 5,000
        rows.
    ax : matplotlib Axes, default None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import MAPDP, plots
    >>> X = load_iris().data
    >>> ax = plots.coclustering(MAPDP(alpha=0.3).fit(X).uncertainty(X, n_sweeps=50))
    >>> ax.images[0].get_array().shape
    (150, 150)
    """
    together = _similarity(similarity)
    order, ax = order_by_similarity(together), _axes(ax)
    picture = ax.imshow(together[np.ix_(order, order)], vmin=0.0, vmax=1.0, cmap="Blues")
    ax.figure.colorbar(picture, ax=ax, label="probability of sharing a cluster")
    ax.set(xlabel="rows, in the order of a tree", xticks=[], yticks=[])
    return ax


def _similarity(source: Any) -> np.ndarray:
    samples = getattr(source, "samples", getattr(source, "samples_", None))
    n_rows = len(source) if samples is None else samples.shape[1]
    if n_rows > _MOST_PAIRED:
        raise ValueError(
            f"a matrix is drawn for up to {_MOST_PAIRED} rows, got {n_rows}. Hint: draw some of the rows."
        )
    return np.asarray(source) if samples is None else pairs_in(samples)


def _colours(model: MAPDP) -> np.ndarray:
    """Return a colour for each cluster: ten strong ones, then ten pale ones, then the same again."""
    from matplotlib import colormaps

    k = np.arange(model.n_clusters_)
    return colormaps["tab20"](2 * (k % 10) + (k // 10) % 2)
