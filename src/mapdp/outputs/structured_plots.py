"""Plots of groups and sequences with matplotlib: proportions, states under a series, transitions."""

from typing import Any

import numpy as np

from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP
from mapdp.outputs.plots import _axes, _colours

_LEAST = 0.01  # probability of a transition that is drawn


def proportions(model: HierarchicalMAPDP, ax: Any = None) -> Any:
    """Draw the proportions of the clusters in each group as stacked bars; what is left is a new cluster.

    Parameters
    ----------
    model : HierarchicalMAPDP
        Fitted.
    ax : matplotlib Axes, default None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mapdp import HierarchicalMAPDP, plots
    >>> X = load_iris().data
    >>> model = HierarchicalMAPDP().fit(X, groups=np.repeat(["a", "b", "c"], 50))
    >>> len(plots.proportions(model).patches) == 3 * (model.n_clusters_ + 1)
    True
    """
    ax, shares = _axes(ax), model.proportions_
    colours = np.vstack([_colours(model), [0.85, 0.85, 0.85, 1.0]])  # type: ignore[arg-type]
    names, left = [str(name) for name in model.groups_], np.zeros(len(shares))
    for k, share in enumerate(shares.T):
        label = "new" if k == model.n_clusters_ else str(k)
        ax.barh(names, share, left=left, color=colours[k], label=label)
        left += share
    ax.invert_yaxis()
    ax.set(xlabel="proportion of each cluster", xlim=(0.0, 1.0))
    ax.legend(title="cluster", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def states(model: MAPHMM, series: Any, times: Any = None, ax: Any = None) -> Any:
    """Draw a series, and under it the state of each row as a strip of colours.

    Parameters
    ----------
    model : MAPHMM
        Fitted.
    series : array of shape (N,)
        A column of the rows that were fitted.
    times : array of shape (N,), default None
        Where rows stand on the axis; None is their number.
    ax : matplotlib Axes, default None

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mapdp import MAPHMM, plots
    >>> x = np.repeat([0.0, 5.0, 0.0], 30) + np.random.default_rng(0).normal(size=90)
    >>> model = MAPHMM().fit(x[:, None])
    >>> len(plots.states(model, x).patches)  # two changes of state
    3
    """
    ax, values = _axes(ax), np.asarray(series, dtype=np.float64)
    if values.shape != model.labels_.shape:
        raise ValueError(
            f"series must have one value for each of the {len(model.labels_)} rows, got shape "
            f"{values.shape}. "
            "Hint: pass one column of the table that was fitted."
        )
    places = np.arange(len(values)) if times is None else np.asarray(times)
    ax.plot(places, values, color="0.3", linewidth=1.0)
    ax.margins(y=0.12)  # room for the strip
    colours, begins = _colours(model), np.flatnonzero(np.append(True, np.diff(model.labels_) != 0))  # type: ignore[arg-type]
    ends = np.append(begins[1:], len(values) - 1)
    for begin, end in zip(begins, ends, strict=True):
        ax.axvspan(places[begin], places[end], ymax=0.06, color=colours[model.labels_[begin]], linewidth=0)
    ax.set(xlabel="row" if times is None else "")
    return ax


def transitions(model: MAPHMM, ax: Any = None) -> Any:
    """Draw the states in a circle, and an arrow for each transition, as wide as it is probable.

    A state is as large as the share of rows in it; below its number stands the mean length of its runs.
    Parameters and return value are those of `proportions`.

    Examples
    --------
    >>> from mapdp import MAPHMM, plots
    >>> x = np.repeat([0.0, 5.0, 0.0], 30) + np.random.default_rng(0).normal(size=90)
    >>> ax = plots.transitions(MAPHMM().fit(x[:, None]))
    >>> [text.get_text().split()[0] for text in ax.texts if text.get_text()]
    ['0', '1']
    """
    ax, n = _axes(ax), model.n_clusters_
    angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    where = np.column_stack([np.cos(angles), np.sin(angles)]) * (n > 1)
    for j, k in np.argwhere(model.transition_[:, :n] > _LEAST):
        if j != k:
            _arrow(ax, where[j], where[k], float(model.transition_[j, k]))
    sizes = 400 + 3000 * model.cluster_sizes_ / model.cluster_sizes_.sum()
    ax.scatter(*where.T, s=sizes, color=_colours(model), zorder=2)  # type: ignore[arg-type]
    for k in range(n):
        ax.text(*where[k], f"{k}\n{model.durations_[k]:.3g}", ha="center", va="center", fontsize=8)
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal", xticks=[], yticks=[])
    return ax


def _arrow(ax: Any, start: np.ndarray, end: np.ndarray, chance: float) -> None:
    """Draw an arrow that leaves room for the one in the other direction."""
    style = {"arrowstyle": "-|>", "connectionstyle": "arc3,rad=0.15", "shrinkA": 18, "shrinkB": 18}
    ax.annotate("", end, start, arrowprops={**style, "linewidth": 0.5 + 6.0 * chance, "color": "0.5"})
