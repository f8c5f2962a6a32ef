"""Gaps in measurements that vary together within clusters: they are filled, and nothing else changes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.metrics import adjusted_rand_score

import mapdp
from mapdp import MAPDP, Gaussian, HierarchicalMAPDP, SharedGaussian, SphericalGaussian, log_joint
from mapdp.data.one_gaussian import filled_as_one_gaussian
from mapdp.engine.build import seated
from mapdp.estimators.filled_gaps import FilledCells, gaps_to_fill
from mapdp.insights.impute import log_density_of_cells
from mapdp.outputs import saving
from mapdp.partitions.process import DirichletProcess


def slanted(rng, n=240):
    """Three long, thin clusters that lie across the columns."""
    centres = np.array([[0.0, 0.0, 0.0], [6.0, -6.0, 0.0], [0.0, 6.0, 6.0]])
    along = rng.normal(size=(n, 1)) * np.array([3.0, 3.0, 3.0])
    truth = np.arange(n) % 3
    return centres[truth] + along + 0.4 * rng.normal(size=(n, 3)), truth


def with_gaps(X, share, seed=0):
    rng = np.random.default_rng(seed)
    gaps = rng.random(X.shape) < share
    gaps[gaps.all(axis=1), 0] = False
    return np.where(gaps, np.nan, X)


SCALE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.3], [0.1, -0.3, 1.5]])
PRIORS = [
    Gaussian([1.0, 0.0, -1.0], 0.7, 4.5, SCALE),
    SharedGaussian([1.0, 0.0, -1.0], 0.7, 2.5, SCALE),
    SphericalGaussian([1.0, 0.0, -1.0], 0.7, 2.5, 1.5, [1.0, 2.0, 0.5]),
]


def student_of(family):
    """Return the predictive of a row as scipy knows it."""
    wider = (family.strength + 1.0) / family.strength
    if isinstance(family, Gaussian):
        dof = family.dof - 2.0
        return dof, family.scale * wider / dof
    if isinstance(family, SharedGaussian):
        return 2.0 * family.shape, family.scale * wider
    return 2.0 * family.shape, np.diag(family.width**2) * family.rate / family.shape * wider


@pytest.mark.parametrize("family", PRIORS, ids=lambda family: type(family).__name__)
@pytest.mark.parametrize("seen", [[0, 1, 2], [2], [0, 2]], ids=str)
def test_density_of_some_cells_is_a_student_density(family, seen):
    dof, shape = student_of(family)
    rows = np.random.default_rng(1).normal(size=(5, len(seen)))
    expected = stats.multivariate_t(family.mean[seen], shape[np.ix_(seen, seen)], df=dof).logpdf(rows)
    assert_allclose(family.log_densities(np.array(seen), rows), expected, rtol=1e-10)


@pytest.mark.parametrize("family", PRIORS, ids=lambda family: type(family).__name__)
def test_rows_are_given_together_as_one_by_one(family):
    seen, rows = np.array([0, 2]), np.random.default_rng(2).normal(size=(4, 2))
    mean, variance = family.given(seen, rows)
    for i, row in enumerate(rows):
        one = family.given(seen, row)
        assert_allclose(mean[i], one[0])
        assert_allclose(variance[i], one[1])


def test_first_fills_are_those_of_regression_where_one_column_has_gaps():
    """Then the most probable Gaussian has the regression line of the rows that are whole."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)) + 5.0
    gappy = X.copy()
    gappy[:90, 1] = np.nan
    line = np.column_stack([np.ones(210), X[90:, 0], X[90:, 2]])
    weights = np.linalg.lstsq(line, X[90:, 1], rcond=None)[0]
    expected = np.column_stack([np.ones(90), X[:90, 0], X[:90, 2]]) @ weights
    filled = filled_as_one_gaussian(gappy)
    assert_allclose(filled[:90, 1], expected, atol=0.02 * X[:, 1].std())
    assert_array_equal(filled[90:], X[90:])


def test_first_fills_count_rows_as_often_as_they_are_weighted():
    X = with_gaps(slanted(np.random.default_rng(4), 60)[0], 0.2)
    times = np.random.default_rng(5).integers(1, 4, 60)
    repeated = filled_as_one_gaussian(np.repeat(X, times, axis=0))
    assert_allclose(np.repeat(filled_as_one_gaussian(X, times.astype(float)), times, axis=0), repeated)


def test_one_missing_cell_changes_no_other_row():
    X, _ = slanted(np.random.default_rng(0))
    whole = MAPDP(random_state=0).fit(X)
    X[17, 1] = np.nan
    model = MAPDP(random_state=0).fit(X)
    assert isinstance(model.family_, Gaussian | SharedGaussian)
    assert model.n_clusters_ == whole.n_clusters_ == 3
    assert_array_equal(np.delete(model.labels_, 17), np.delete(whole.labels_, 17))
    assert not any("missing" in sentence for sentence in whole.warnings_)
    assert model.warnings_[-1:] == [
        "1 missing measurement was filled with what its cluster expects, and counts as if measured: "
        "columns vary together."
    ]


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_slanted_clusters_are_found_in_spite_of_gaps(share, seed):
    X, truth = slanted(np.random.default_rng(seed))
    gappy = with_gaps(X, share, seed)
    found = adjusted_rand_score(truth, MAPDP(random_state=0).fit(gappy).labels_)
    apart = adjusted_rand_score(truth, MAPDP(covariance="diagonal", random_state=0).fit(gappy).labels_)
    assert found > max(1.0 - 1.5 * share, apart + 0.2)


def test_joint_is_that_of_the_filled_table():
    X = with_gaps(slanted(np.random.default_rng(0))[0], 0.1)
    model = MAPDP(random_state=0).fit(X)
    filled = model._as_fitted(model.numbers_of(X))
    assert not np.isnan(filled).any()
    assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    by_hand = log_joint(filled, model.labels_, process=model.mixture_.process, family=model.family_)
    assert_allclose(model.log_joint_, by_hand, rtol=1e-10)
    assert_allclose(model.log_joint_of(X, model.labels_), by_hand, rtol=1e-10)
    assert model.uncertainty(X, n_sweeps=20, random_state=0).membership.shape[0] == len(X)
    other = np.where(np.isnan(X), np.nan, X)
    other[:, 0] = np.nan
    with pytest.raises(ValueError, match="must have no gaps"):
        model.log_joint_of(other, model.labels_)


def test_a_saved_model_keeps_what_was_filled(tmp_path):
    X = with_gaps(slanted(np.random.default_rng(0), 90)[0], 0.1)
    model = MAPDP(random_state=0).fit(X)
    mapdp.save(model, tmp_path / "model.mapdp")
    again = mapdp.load(tmp_path / "model.mapdp")
    assert_allclose(again.log_joint_of(X, again.labels_), model.log_joint_, rtol=1e-12)


@pytest.mark.parametrize(
    "forged",
    [
        {"rows": np.array([-1])},
        {"rows": np.array([90])},
        {"columns": np.array([3])},
        {"columns": np.array([0.5])},
        {"values": np.array([np.inf])},
        {"values": np.zeros(2)},
        {"total": np.inf},
        {"rows": np.empty(0, np.int64), "columns": np.empty(0, np.int64), "values": np.empty(0)},
    ],
)
def test_forged_fills_are_refused(forged):
    model = MAPDP(random_state=0).fit(with_gaps(slanted(np.random.default_rng(0), 90)[0], 0.1))
    good = FilledCells(np.array([2]), np.array([1]), np.array([0.5]), 1.0)
    model._filled = good
    assert saving.from_bytes(saving.to_bytes(model))._filled.values == good.values
    model._filled = good._replace(**forged)
    with pytest.raises(ValueError, match="are no cells of its table"):
        saving.from_bytes(saving.to_bytes(model))


def test_independent_columns_need_no_filling():
    """Clusters along the columns, each of its own widths: the joint is that of the cells that are there."""
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 4
    widths = np.exp(rng.normal(size=(4, 3)))[truth]
    X = with_gaps(widths * rng.normal(size=(400, 3)) + 20.0 * np.eye(4)[truth][:, :3], 0.1)
    model = MAPDP(random_state=0).fit(X)
    assert model.family_.has_columns
    assert model._filled is None


@pytest.mark.parametrize("covariance", ["full", "shared", "spherical"])
def test_a_covariance_that_is_asked_for_takes_gaps(covariance):
    X, truth = slanted(np.random.default_rng(0))
    model = MAPDP(covariance=covariance, random_state=0).fit(with_gaps(X, 0.05))
    assert not model.family_.has_columns
    assert covariance == "spherical" or adjusted_rand_score(truth, model.labels_) > 0.9


@pytest.mark.parametrize("family", PRIORS, ids=lambda family: type(family).__name__)
def test_the_density_of_cells_is_what_they_add_to_that_of_their_rows(family):
    """Also of a row of which all cells are meant."""
    rows, labels = np.random.default_rng(6).normal(size=(6, 3)), np.array([0, 1, 0, 1, 0, 1], np.int32)
    state = seated(family.encode(rows), labels, family, DirichletProcess(1.0))
    cells = np.zeros((6, 3), bool)
    cells[1, 2] = cells[2, 0] = cells[2, 1] = True
    cells[4] = True
    expected = 0.0
    for i, seen in ((1, [0, 1]), (2, [2]), (4, [])):
        (dof, shape), mean = student_of(one := family.posterior(state.bank, labels[i])), one.mean
        expected += stats.multivariate_t(mean, shape, df=dof).logpdf(rows[i])
        if seen:
            part = stats.multivariate_t(mean[seen], shape[np.ix_(seen, seen)], df=dof)
            expected -= part.logpdf(rows[i, seen])
    assert_allclose(log_density_of_cells(family, state.bank, rows, cells, labels), expected, rtol=1e-9)


def test_units_do_not_matter_to_fills():
    X = with_gaps(slanted(np.random.default_rng(0))[0], 0.1)
    first = MAPDP(random_state=0).fit(X)
    second = MAPDP(random_state=0).fit(X * [1e-3, 7.0, 1e4] + [1.0, -50.0, 3e5])
    assert_array_equal(first.labels_, second.labels_)


def test_whole_weights_are_repeated_rows_with_gaps_too():
    X = with_gaps(slanted(np.random.default_rng(0), 90)[0], 0.08)
    times = np.random.default_rng(1).integers(1, 3, 90)
    weighted = MAPDP(random_state=0, weights="repeats").fit(X, sample_weight=times)
    repeated = MAPDP(random_state=0).fit(np.repeat(X, times, axis=0))
    assert weighted.n_clusters_ == repeated.n_clusters_
    assert adjusted_rand_score(np.repeat(weighted.labels_, times), repeated.labels_) > 0.95


def mixed_table():
    X, truth = slanted(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    table = pd.DataFrame(with_gaps(X, 0.06), columns=list("abc"))
    table["level"] = np.where(rng.random(len(X)) < 0.8, np.array(["u", "v", "w"])[truth], "u")
    table.loc[3, ["a", "b", "c"]] = None  # a row without any measurement
    table.loc[5, "level"] = None
    return table, truth


def test_measurements_of_mixed_tables_are_filled():
    """A row without any measurement is described without them, a gap among levels stays a gap."""
    table, truth = mixed_table()
    model = MAPDP(random_state=0).fit(table)
    assert model.models_[0].structure.endswith("covariance of 3 columns")
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    assert 3 not in model._filled.rows
    assert set(model._filled.columns) <= {0, 1, 2}
    assert_allclose(model.log_joint_of(table, model.labels_), model.log_joint_, rtol=1e-10)
    assert not model.impute(table).isna().any(axis=None)


def test_counts_are_filled_with_whole_numbers():
    rng = np.random.default_rng(0)
    level = rng.gamma(3.0, 30.0, 150)
    counts = rng.poisson(np.outer(level, [1.0, 2.0, 0.5])).astype(float)
    numbers = with_gaps(counts, 0.1)
    model = MAPDP(columns=dict.fromkeys(range(3), "count"), covariance="full", random_state=0).fit(numbers)
    assert (model._filled.values == np.rint(model._filled.values)).all()
    assert (model._filled.values >= 0.0).all()
    away = np.abs(model._filled.values - counts[model._filled.rows, model._filled.columns])
    assert away.mean() < 0.3 * counts.std(axis=0).mean()


def test_columns_with_many_gaps_are_not_filled():
    X = slanted(np.random.default_rng(0))[0]
    model = MAPDP(random_state=0).fit(X)
    X[:120, 2] = np.nan
    X[3, 0] = np.nan
    gaps = gaps_to_fill(model.schema_, X, is_asked=False)
    assert np.argwhere(gaps).tolist() == [[3, 0]]
    assert gaps_to_fill(model.schema_, X, is_asked=True).sum() == 121
    X[:20] = np.nan  # of too many rows nothing at all is known
    assert gaps_to_fill(model.schema_, X, is_asked=True) is None


def test_other_tables_are_left_as_they_are():
    cells = FilledCells(np.array([1, 4]), np.array([0, 1]), np.array([2.0, 3.0]), 8.0)
    X = np.ones((5, 2))
    assert cells.put_into(X) is X
    assert cells.put_into(X[:3]) is not None
    X[1, 0] = X[4, 1] = np.nan
    assert_array_equal(cells.put_into(X)[[1, 4], [0, 1]], [2.0, 3.0])
    assert np.isnan(X[1, 0])
    assert np.isnan(cells.put_into(X + 1.0)[1, 0])
    assert FilledCells.between(X, X.copy()) is None


def test_a_row_without_any_cell_is_in_the_largest_cluster():
    X, _ = slanted(np.random.default_rng(0), 250)
    whole = MAPDP(random_state=0).fit(X)
    X = np.vstack([X, np.full((1, 3), np.nan)])
    model = MAPDP(random_state=0).fit(X)
    assert_array_equal(model.labels_, [*whole.labels_, 0])
    assert MAPDP(random_state=0, covariance="full").fit(X).labels_[-1] == 0
    torn = np.where([[True, False, True]], np.nan, X[:5])
    torn[3] = np.nan
    assert len(model.partial_fit(torn).labels_) == 5


def test_a_covariance_that_is_asked_for_stays_beside_counts_with_gaps():
    table, truth = mixed_table()
    table["count"] = np.random.default_rng(5).poisson(5, len(table)).astype(float)
    table.loc[4, "count"] = None
    for covariance in ("full", "shared"):
        model = MAPDP(covariance=covariance, columns={"count": "count"}, random_state=0).fit(table)
        assert model.models_[0].structure == f"{covariance} covariance of 3 columns"
        assert set(model._filled.columns) == {0, 1, 2}
        assert adjusted_rand_score(truth, model.labels_) > 0.9


def test_tables_of_single_precision_are_saved_and_loaded():
    X = with_gaps(slanted(np.random.default_rng(0), 90)[0], 0.1).astype(np.float32)
    model = MAPDP(random_state=0).fit(X)
    again = saving.from_bytes(saving.to_bytes(model))
    assert_allclose(again.log_joint_of(X, again.labels_), model.log_joint_, rtol=1e-9)


def test_a_background_beside_gaps_in_words_keeps_the_covariance():
    X, truth = slanted(np.random.default_rng(0))
    table = pd.DataFrame(X, columns=list("abc"))
    table["level"] = np.array(["u", "v", "w"])[truth]
    table.loc[::17, "level"] = None
    assert MAPDP(random_state=0, background=True).fit(table).n_clusters_ == 3


def test_a_stream_takes_gaps_that_come_late():
    X, truth = slanted(np.random.default_rng(0), 900)
    model = MAPDP(random_state=0).partial_fit(X[:450])
    assert not model.family_.has_columns
    model.partial_fit(with_gaps(X[450:600], 0.1))
    assert model.n_rows_seen_ == 600
    assert adjusted_rand_score(truth[450:600], model.labels_) > 0.85


def test_groups_have_their_gaps_filled_and_backgrounds_take_them_with_independent_columns():
    X = with_gaps(slanted(np.random.default_rng(0), 90)[0], 0.05)
    groups = np.arange(90) // 30
    model = HierarchicalMAPDP(random_state=0).fit(X, groups=groups)
    assert not model.family_.has_columns
    assert len(model._filled.rows) == np.isnan(X).sum()
    X[0, 0] = 500.0
    assert 0 in MAPDP(background=True, random_state=0).fit(X).outliers_
