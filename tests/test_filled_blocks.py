"""Gaps of measurements that vary together in tables in blocks are filled as they are in memory."""

import numpy as np
import pytest

import mapdp
from mapdp import MAPDP, Gaussian
from mapdp.data.filled_blocks import BlockFills, FilledBlock
from mapdp.estimators.filled_gaps import FilledCells
from tests.test_in_blocks import dataset_of, partitions_of
from tests.test_mixed_blocks import correlated_frame


def with_gaps():
    """Two clusters that a correlation tells apart; a third measurement repeats the first, and has gaps."""
    rng = np.random.default_rng(4)
    frame, _ = correlated_frame(rng, 600)
    frame["third"] = frame["first"] + 0.1 * rng.normal(size=len(frame))
    chosen = np.arange(5, 600, 13)
    hidden = frame["third"].to_numpy(copy=True)[chosen]
    frame.loc[chosen, "third"] = np.nan
    return frame, chosen, hidden


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    frame, chosen, hidden = with_gaps()
    table = mapdp.in_blocks(dataset_of(frame, tmp_path_factory.mktemp("rows"), 150), rows=150)
    return MAPDP(random_state=0).fit(table), frame, chosen, hidden


def test_the_model_is_that_of_the_fit_in_memory(fitted):
    model, frame, chosen, hidden = fitted
    here = MAPDP(random_state=0).fit(frame)
    assert model.models_[0].structure == here.models_[0].structure == "full covariance of 3 columns"
    assert model.log_joint_ > here.log_joint_ - 1e-3 * abs(here.log_joint_)
    np.testing.assert_array_equal(model._filled.rows, chosen)
    np.testing.assert_allclose(model._filled.values, hidden, atol=0.5)
    assert f"{len(chosen)} missing measurements" in " ".join(model.warnings_)


def test_the_joint_is_that_of_the_table_with_its_gaps_filled(fitted, tmp_path):
    model, frame, chosen, _ = fitted
    filled = frame.copy()
    filled.loc[chosen, "third"] = model._filled.values
    for table in (frame, filled):
        assert model.log_joint_ == pytest.approx(model.log_joint_of(table, model.labels_), rel=1e-10)
    mapdp.save(model, tmp_path / "kept.mapdp")
    again = mapdp.load(tmp_path / "kept.mapdp")
    assert again.log_joint_of(frame, model.labels_) == pytest.approx(model.log_joint_, rel=1e-10)


def test_the_labels_are_the_same_in_dask(fitted):
    model, frame, *_ = fitted
    other = MAPDP(random_state=0).fit(partitions_of(frame, 150))
    np.testing.assert_array_equal(np.asarray(other.labels_), model.labels_)
    assert other.log_joint_ == model.log_joint_


def test_a_given_family_has_its_gaps_filled_in_blocks():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2)) @ [[1.0, 0.9], [0.0, 0.4]] + 9.0 * (np.arange(400) % 2)[:, None]
    X[3::20, 1] = np.nan
    model = MAPDP(family=Gaussian).fit(mapdp.in_blocks(X, rows=100))
    assert model.n_clusters_ == 2
    assert model.log_joint_ == pytest.approx(model.log_joint_of(X, model.labels_), rel=1e-10)


def test_fills_that_are_too_many_are_not_kept(monkeypatch):
    some = FilledCells(np.array([1, 2]), np.array([0, 0]), np.array([3.0, 4.0]), 10.0)
    both = FilledCells.together(np.array([0, 100]), [some, some])
    np.testing.assert_array_equal(both.rows, [1, 2, 101, 102])
    assert both.total == 20.0
    monkeypatch.setattr("mapdp.estimators.filled_gaps._MOST_KEPT", 3)
    assert FilledCells.together(np.array([0, 100]), [some, some]) is None


def test_some_rows_of_a_filled_block_have_their_cells():
    table = np.array([[0.0, 1.0], [np.nan, 2.0], [3.0, np.nan], [np.nan, np.nan]])
    cells = BlockFills(np.array([1, 2, 3, 3]), np.array([0, 1, 0, 1]), np.array([10.0, 20.0, 30.0, 40.0]))
    block = FilledBlock(table, cells)
    filled = np.array([[0.0, 1.0], [10.0, 2.0], [3.0, 20.0], [30.0, 40.0]])
    np.testing.assert_array_equal(block.put_into(table), filled)
    for places in ([0], [1, 3], [0, 2], [2, 3], [0, 1, 2, 3]):
        some = block.at(np.array(places))
        np.testing.assert_array_equal(some.put_into(some.table), filled[places])
