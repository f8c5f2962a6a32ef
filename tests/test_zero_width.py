"""A warning where a cluster has the same value in all rows of a measurement."""

import numpy as np
import pandas as pd
import pytest

from mapdp import MAPDP
from mapdp.estimators.doubts import doubts
from mapdp.estimators.zero_width import Spike, spikes


def table(value, n_gaps=0):
    """Return two groups of rows; the second has one value of `income`, where it is given."""
    rng = np.random.default_rng(0)
    age = np.r_[rng.normal(30.0, 2.0, 60), rng.normal(70.0, 2.0, 40)]
    income = np.r_[
        rng.normal(50.0, 5.0, 60), rng.normal(90.0, 5.0, 40) if value is None else np.full(40, value)
    ]
    income[60 : 60 + n_gaps] = np.nan
    return pd.DataFrame({"age": age, "income": income})


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("value", [-999.0, 0.1])
def test_a_cluster_without_width_is_named(covariance, value):
    assert_named(table(value), 40, covariance)


def test_gaps_are_left_out():
    assert_named(table(0.1, 7), 33, "auto")


def assert_named(frame, n_cells, covariance):
    model = MAPDP(1.0, init=(frame["age"] > 50).astype(int), prior="paper", covariance=covariance).fit(
        frame
    )
    k = model.labels_[-1]
    assert spikes(model.mixture_, model.n_clusters_) == [Spike(k, "income", n_cells)]
    assert (
        f"Cluster {k} has the same value of 'income' in all of its {n_cells} cells:" in model.warnings_[-1]
    )


def test_clusters_with_a_width_are_not_named():
    frame = table(None)
    model = MAPDP(1.0, prior="paper").fit(frame + 1e6)
    assert model.warnings_ == []


def test_levels_and_few_rows_are_left_alone():
    frame = table(5.0).assign(group=np.repeat(["a", "b"], [60, 40])).drop(columns="income")
    assert MAPDP(1.0, prior="paper").fit(frame).warnings_ == []
    few = table(5.0).iloc[52:69]  # nine rows of the second group
    model = MAPDP(1.0, init=(few["age"] > 50).astype(int).to_numpy(), prior="paper").fit(few)
    assert spikes(model.mixture_, model.n_clusters_) == []


def test_one_sentence_for_many_clusters():
    several = [Spike(2, "a", 30), Spike(2, "b", 30), Spike(4, "a", 1200), Spike(5, "b", 12)]
    (sentence,) = doubts([], [], np.nan, np.array([60, 40]), several)
    assert sentence.startswith(
        "Cluster 2 has the same value of 'a' in all of its 30 cells (2 other clusters in some column, too):"
    )
