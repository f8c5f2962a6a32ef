"""Plots return their Axes and show what they say."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_wine

from mapdp import MAPDP, plots
from mapdp.engine.trace import Step
from mapdp.outputs import projection

mpl.use("agg")


@pytest.fixture(scope="module")
def wine():
    table = load_wine(as_frame=True).data
    return MAPDP(prior="paper").fit(table), table


def test_sizes_and_sensitivity(wine):
    model, _ = wine
    assert [bar.get_height() for bar in plots.sizes(model).patches] == model.cluster_sizes_.tolist()
    ax = plots.sensitivity(model)
    assert ax.lines[0].get_xdata().tolist() == [tried.alpha for tried in model.alphas_]
    with pytest.raises(ValueError, match="no grid"):
        plots.sensitivity(MAPDP(alpha=1.0).fit(wine[1]))


def test_plots_draw_where_they_are_told(wine):
    model, table = wine
    from matplotlib.figure import Figure

    for draw in (plots.sizes, plots.trace, lambda m, ax: plots.clusters(m, table, ax=ax)):
        ax = Figure().subplots()
        assert draw(model, ax=ax) is ax
    assert len(plots.profile(model, 1, n=4).patches) == 4


def test_the_map_keeps_clusters_apart(wine):
    """In the plane, most rows lie nearest to the centre of their own cluster."""
    model, table = wine
    picture = projection.of_rows(model, table)
    centres = picture.ellipses[:, :2]
    nearest = ((picture.rows[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == model.labels_).mean() > 0.85
    one = MAPDP(alpha=0.01, max_iter=5).fit(np.random.default_rng(0).normal(size=(40, 1)))
    assert np.isfinite(projection.of_rows(one, np.random.default_rng(0).normal(size=(40, 1))).rows).all()


def test_a_callback_sees_every_step_and_can_end_the_fit(wine):
    _, table = wine
    seen = []
    whole = MAPDP(alpha=1.0, prior="paper", callback=lambda step: seen.append(step)).fit(table)
    assert seen == whole.trace_
    assert all(isinstance(step, Step) for step in seen)
    ended = MAPDP(alpha=1.0, prior="paper", callback=lambda step: step.move == "start").fit(table)
    assert len(ended.trace_) == 1
    assert not ended.converged_
    assert ended.labels_.shape == (178,)


def test_pairs_are_drawn_cluster_by_cluster():
    labels = np.array([0, 1, 0, 1, 0, 1])
    ax = plots.coclustering((labels[:, None] == labels[None, :]).astype(float))
    drawn = np.asarray(ax.images[0].get_array())
    assert np.abs(np.diff(drawn[0])).sum() == 1.0  # one edge: rows of a cluster are neighbours
    with pytest.raises(ValueError, match="up to 5000 rows, got 5001"):
        plots.coclustering(np.zeros((5001, 1)))
