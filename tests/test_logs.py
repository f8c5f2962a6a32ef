"""Logarithms of measurements: densities of the table as it came, and the joint that chooses them."""

import numpy as np
import pytest
from scipy.integrate import quad

from mapdp import MAPDP
from mapdp.data.logs import gains_by_logs
from tests.embedded import cases


def long_tails(seed=0, n=150):
    """Return three clusters of a column with long tails, and one that is Gaussian."""
    rng = np.random.default_rng(seed)
    group = np.arange(3 * n) % 3
    return np.column_stack(
        [np.exp(rng.normal(1.5 * group, 0.5)), 20.0 + rng.normal(3.0 * (group == 1), 1.0)]
    ), group


def test_densities_of_a_table_with_logarithms_integrate_to_one():
    X = long_tails()[0][:, :1]
    model = MAPDP(columns={0: "log"}).fit(X)
    total, _ = quad(
        lambda x: np.exp(model.score_samples([[x]])[0]), 1e-9, 2000.0, limit=500, points=(1.0, 30.0)
    )
    steps = model.schema_.columns[0].resolution  # the bound that rounding makes of a density is below it
    assert total == pytest.approx(1.0, abs=1e-6 + steps)


def test_the_joint_is_that_of_the_table_and_not_of_its_logarithms():
    X, _ = long_tails()
    of_table = MAPDP(columns={0: "log"}, prior="paper").fit(X)
    of_logs = MAPDP(prior="paper", columns={0: "real"}).fit(np.column_stack([np.log(X[:, 0]), X[:, 1]]))
    assert np.array_equal(of_table.labels_, of_logs.labels_)
    assert of_table.log_joint_ == pytest.approx(of_logs.log_joint_ - np.log(X[:, 0]).sum(), rel=1e-12)
    assert of_table.log_joint_of(X, of_table.labels_) == pytest.approx(of_table.log_joint_, rel=1e-12)


def test_a_gap_in_a_logarithm_adds_nothing():
    X, _ = long_tails()
    X[3, 0] = np.nan
    model = MAPDP(columns={0: "log"}, prior="paper").fit(X)
    expected = model.mixture_.schema.log_units(model.numbers_of(X))[3]
    assert expected == 0.0


def test_logarithms_are_chosen_where_the_joint_prefers_them():
    X, _ = long_tails()
    model, as_it_is = MAPDP().fit(X), MAPDP(columns={0: "real"}).fit(X)
    assert [column.kind for column in model.schema_.columns] == ["log", "real"]
    assert model.log_joint_ > as_it_is.log_joint_ + 20.0
    assert model.models_[0].structure.endswith(" with logs of 1 column")
    other = next(one for one in model.models_ if "logs" not in one.structure)
    assert other.log_joint == pytest.approx(as_it_is.models_[0].log_joint, rel=1e-9)
    assert model.n_clusters_ == 3
    assert (model.labels_ == model.predict(X)).mean() > 0.95


def test_joints_of_models_are_in_the_units_of_the_table():
    X, _ = long_tails()
    model = MAPDP(n_init=1).fit(X)
    assert model.models_[0].log_joint == pytest.approx(model.log_joint_, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e150])
def test_units_do_not_matter(unit):
    X, _ = long_tails()
    model, scaled = MAPDP(n_init=1).fit(X), MAPDP(n_init=1).fit(X * unit)
    assert [column.kind for column in scaled.schema_.columns] == ["log", "real"]
    assert np.array_equal(scaled.labels_, model.labels_)
    assert scaled.log_joint_ == pytest.approx(model.log_joint_ - X.size * np.log(unit), rel=1e-9)
    assert np.array_equal(scaled.predict(X * unit), model.predict(X))


@pytest.mark.parametrize("given", [None, {0: "real"}])
def test_measurements_stay_as_they_are(given):
    rng = np.random.default_rng(1)
    X = (
        np.exp(rng.normal(size=(300, 1)))
        if given
        else 10.0 + rng.normal(size=(300, 1)) + 6.0 * (rng.random((300, 1)) < 0.5)
    )
    assert MAPDP(columns=given).fit(X).schema_.columns[0].kind == "real"


def test_gains_are_those_of_gaussian_clusters():
    X, group = long_tails()

    def log_density(cells):
        variances = [cells[group == k].var() * 150 for k in range(3)]
        shared = sum(variances) / len(cells)
        return sum(-0.5 * 150 * np.log((one + 2.0 * shared) / 152.0) for one in variances)

    for place in (0, 1):
        logs = np.log(X[:, place])
        expected = (log_density(logs) - logs.sum() - log_density(X[:, place])) / len(X)
        assert gains_by_logs(X, group, [place])[0] == pytest.approx(expected, rel=1e-3)


def test_a_stream_may_go_on_with_what_has_no_logarithm():
    X, _ = long_tails(n=400)
    model = MAPDP().partial_fit(X).partial_fit(np.array([[0.0, 20.0], [-1.0, 21.0]]))
    assert model.n_rows_seen_ == len(X) + 2


def test_an_outlier_beside_logarithms_may_have_none():
    X, _ = long_tails()
    X[5, 0] = -400.0
    assert MAPDP(background=True).fit(X).outliers_.tolist() == [5]


def test_rows_that_count_for_nothing_may_have_no_logarithm():
    X, _ = long_tails()
    X[0, 0] = -1.0
    weights = np.ones(len(X))
    weights[0] = 0.0
    assert len(MAPDP().fit(X, sample_weight=weights).labels_) == len(X)


@cases.needs("gcc")
@pytest.mark.parametrize("covariance", ["diagonal", "full", "shared"])
def test_c_code_gives_the_density_of_the_table(covariance, tmp_path):
    X, _ = long_tails()
    model = MAPDP(covariance=covariance, columns={0: "log"}, n_init=1).fit(X)
    cases.exported(model, tmp_path)
    found = cases.run(cases.compiled(tmp_path), X[:50])
    np.testing.assert_allclose(found[:, 1], model.score_samples(X[:50]), rtol=1e-9)
