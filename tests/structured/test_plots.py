"""Plots of groups and sequences show what they say."""

from itertools import pairwise
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mapdp import MAPHMM, HierarchicalMAPDP, plots
from mapdp.outputs.plots import _colours

mpl.use("agg")


@pytest.fixture(scope="module")
def sequence():
    x = np.repeat([0.0, 5.0, 0.0, 5.0], 30) + np.random.default_rng(0).normal(size=120)
    return MAPHMM().fit(x[:, None]), x


def test_bars_are_the_proportions_and_add_up():
    rng = np.random.default_rng(0)
    groups = np.repeat(["x", "y"], 40)
    X = rng.normal(size=(80, 1)) + 9.0 * (rng.random(80) < np.where(groups == "x", 0.8, 0.3))[:, None]
    model = HierarchicalMAPDP().fit(X, groups=groups)
    bars = plots.proportions(model).patches
    assert_allclose([bar.get_width() for bar in bars], model.proportions_.T.ravel())
    assert_allclose(max(bar.get_x() + bar.get_width() for bar in bars), 1.0)


def test_the_strip_has_a_patch_for_every_run(sequence):
    model, x = sequence
    ax = plots.states(model, x, times=1900 + np.arange(120))
    assert [round(patch.get_x()) for patch in ax.patches] == [1900, 1930, 1960, 1990]
    with pytest.raises(ValueError, match="one value for each of the 120 rows"):
        plots.states(model, x[:5])


def test_arrows_are_transitions(sequence):
    model, _ = sequence
    texts = [text.get_text() for text in plots.transitions(model).texts]
    assert texts[-2:] == ["0\n30", "1\n30"]
    assert texts.count("") == 2  # one arrow in each direction
    left = 1.0 - np.diag(model.transition_)
    chances = model.transition_[[0, 1], [1, 0]] / left  # of the other state, where one is left
    assert texts[1:4:2] == [f"{chance:.0%}" for chance in chances]


def test_states_are_named_and_dates_do_not_overlap(sequence):
    model, x = sequence
    ax = plots.states(model, x, times=np.datetime64("2020-01-01") + np.arange(120))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["state 0", "state 1"]
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_twenty_clusters_have_twenty_colours():
    model = SimpleNamespace(n_clusters_=20)
    assert len(np.unique(_colours(model), axis=0)) == 20
