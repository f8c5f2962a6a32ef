"""Plots of groups and sequences with matplotlib: proportions, states under a series, transitions."""

from typing import Any

import numpy as np

from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP
from mapdp.outputs.plots import _axes, _colours

_LEAST = 0.1  # probability of a next state, of one that is left, that is drawn
_FEW = 6  # states whose arrows have room for numbers
_MOST_NAMED = 20  # states that a legend names: as many as there are colours
_BEND = 0.15  # of an arrow, so that there is room for the one in the other direction
_NEAR = 0.35  # how far along an arrow its number stands: in the middle they would meet


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
    _name_states(ax, colours)
    _shorten_dates(ax, places)
    return ax


def _name_states(ax: Any, colours: np.ndarray) -> None:
    """Say above the axes which colour is which state."""
    from matplotlib.patches import Patch

    if len(colours) <= _MOST_NAMED:
        names = [Patch(color=colour, label=f"state {k}") for k, colour in enumerate(colours)]
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 6, "frameon": False}
        ax.legend(handles=names, handlelength=1.0, handletextpad=0.4, columnspacing=1.0, **place)


def _shorten_dates(ax: Any, places: np.ndarray) -> None:
    """Write dates so that they do not run into each other."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    if places.dtype.kind == "M":
        ax.xaxis.set_major_locator(AutoDateLocator())
        ax.xaxis.set_major_formatter(ConciseDateFormatter(ax.xaxis.get_major_locator()))


def transitions(model: MAPHMM, ax: Any = None) -> Any:
    """Draw the states in a circle, and arrows to what follows each when it is left, as wide as probable.

    A state is as large as the share of rows in it; below its number stands the mean length of its runs. An
    arrow has the colour of the state that is left; of up to six states it tells its probability. These are
    posterior means: a state that was never left would go where others go, or to a new one.
    Parameters and return value are those of `proportions`.

    Examples
    --------
    >>> from mapdp import MAPHMM, plots
    >>> x = np.repeat([0.0, 5.0, 0.0], 30) + np.random.default_rng(0).normal(size=90)
    >>> ax = plots.transitions(MAPHMM().fit(x[:, None]))
    >>> [text.get_text().split() for text in ax.texts][-2:]
    [['0', '30'], ['1', '30']]
    """
    ax, n, shares = _axes(ax), model.n_clusters_, next_states(model)
    angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    where = np.column_stack([np.cos(angles), np.sin(angles)]) * (n > 1)
    areas = 400 + 3000 * model.cluster_sizes_ / model.cluster_sizes_.sum()
    radii, colours = np.sqrt(areas / np.pi), _colours(model)  # type: ignore[arg-type]
    ax.scatter(*where.T, s=areas, color=colours, zorder=2, clip_on=False)
    for j, k in np.argwhere(shares > _LEAST):
        style = {"shrinkA": radii[j] + 1.0, "shrinkB": radii[k] + 2.0, "color": colours[j]}
        _arrow(ax, where[j], where[k], float(shares[j, k]), style)
        if n <= _FEW:
            _tell(ax, where[j], where[k], float(shares[j, k]))
    for k in range(n):
        ax.text(*where[k], f"{k}\n{model.durations_[k]:.3g}", ha="center", va="center", fontsize=8)
    ax.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_xlabel("below a state: its mean run,\narrows: next states", fontsize=8)
    return ax


def next_states(model: MAPHMM) -> np.ndarray:
    """Return the probability of each other state after a state that is left: (n_clusters, n_clusters)."""
    left = model.transition_ * (1.0 - np.eye(*model.transition_.shape))
    return left[:, :-1] / left.sum(axis=1, keepdims=True)


def _arrow(ax: Any, start: np.ndarray, end: np.ndarray, share: float, style: dict[str, Any]) -> None:
    line = {"arrowstyle": "-|>", "connectionstyle": f"arc3,rad={_BEND}", "linewidth": 0.5 + 4.0 * share}
    ax.annotate("", end, start, arrowprops={**line, **style})


def _tell(ax: Any, start: np.ndarray, end: np.ndarray, share: float) -> None:
    """Write a probability on an arrow."""
    across = (end - start)[::-1] * [1.0, -1.0]
    bend, t = (start + end) / 2 + _BEND * across, _NEAR
    place = (1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end
    box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    ax.text(*place, f"{share:.0%}", ha="center", va="center", fontsize=8, bbox=box)
