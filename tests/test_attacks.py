"""Numbers far away, huge, tiny and alike: what a fit claims is right, and every fit ends."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mapdp import (
    MAPDP,
    Binomial,
    DiagonalGaussian,
    DirichletProcess,
    Exponential,
    FixedGaussian,
    Gaussian,
    NegativeBinomial,
    PitmanYor,
    Poisson,
    SphericalGaussian,
    log_joint,
)
from mapdp.data import checks
from mapdp.engine.build import seated
from mapdp.engine.problem import Budget, Model, Problem
from mapdp.engine.score import rounding
from mapdp.families.base import Family
from mapdp.search import settling
from mapdp.search.run import Run
from tests.references import exact_joint

MOST_STEPS = 300  # of one climb, with at most 40 rows; usual are about 10
seeds = st.integers(0, 2**32 - 1)
few_examples = settings(max_examples=25)


def check_trace(model):
    """No climb falls by more than rounding, and none is long."""
    for climb in {step.climb for step in model.trace_}:
        joints = np.array([step.log_joint for step in model.trace_ if step.climb == climb])
        assert len(joints) <= MOST_STEPS
        assert (np.diff(joints) >= -rounding(joints[:-1])).all()


def check_fit(X, family):
    """The joint of any partition, and of the one that is found, is the exact one."""
    labels = np.random.default_rng(len(X)).integers(0, 3, len(X))
    expected = exact_joint.log_joint(X, labels, 0.7, family)
    assert_allclose(log_joint(X, labels, alpha=0.7, family=family), expected, rtol=1e-9, atol=1e-8)
    model = MAPDP(0.7, family=family).fit(X)
    expected = exact_joint.log_joint(X, model.labels_, 0.7, family)
    assert_allclose(model.log_joint_, expected, rtol=1e-9, atol=1e-8)
    check_trace(model)
    return model


def gaussian(kind: str, n_columns: int, strength: float, width: float) -> Family:
    """Return a Gaussian around 0 with this prior width in every column."""
    zeros, variances = np.zeros(n_columns), np.full(n_columns, width**2)
    if kind == "fixed":
        return FixedGaussian(zeros, strength, variances)
    if kind == "round":
        return SphericalGaussian(zeros, strength, 1.0, 1.0, np.full(n_columns, width))
    if kind == "full":
        scale = width**2 * (np.eye(n_columns) + 0.5)
        return Gaussian(zeros, strength, n_columns + 1.0, scale)
    return DiagonalGaussian(zeros, strength, 1.0, variances)


def groups(rng, n_columns, apart=8.0):
    """Draw 5 to 40 rows in two groups of unit width."""
    n = int(rng.integers(5, 41))
    return rng.normal(size=(n, n_columns)) + apart * rng.integers(0, 2, size=(n, 1))


over_kinds = pytest.mark.parametrize("kind", ["diagonal", "fixed", "round", "full"])


@over_kinds
@few_examples
@given(
    seed=seeds,
    n_columns=st.integers(1, 3),
    exponent=st.integers(-130, 130),
    offset=st.sampled_from([0.0, 1e3, 2.0**27, 1.7e9, 1e11]),
    strength=st.sampled_from([2.0**-54, 1e-3, 1.0]),
)
def test_gaussians_far_from_their_prior_mean_in_any_unit(kind, seed, n_columns, exponent, offset, strength):
    rng, unit = np.random.default_rng(seed), 10.0**exponent
    X = (groups(rng, n_columns) + offset) * unit
    check_fit(X, gaussian(kind, n_columns, strength, unit))


@over_kinds
@few_examples
@given(seed=seeds, n_columns=st.integers(1, 3), far=st.floats(1.0, 11.5))
def test_a_far_row_does_not_spoil_the_others(kind, seed, n_columns, far):
    rng = np.random.default_rng(seed)
    X = groups(rng, n_columns)
    X[rng.integers(len(X))] = 10.0**far
    check_fit(X, gaussian(kind, n_columns, 0.1, 1.0))


@pytest.mark.parametrize(
    "kind", [DiagonalGaussian, FixedGaussian, SphericalGaussian, Gaussian, Exponential]
)
@few_examples
@given(seed=seeds, exponent=st.integers(-300, 300))
def test_a_prior_from_the_data_is_right_in_any_unit(kind, seed, exponent):
    X = np.abs(groups(np.random.default_rng(seed), 2)) * 10.0**exponent
    model = MAPDP(0.7, family=kind).fit(X)
    units = np.array([column.unit for column in model.schema_.columns])
    expected = exact_joint.log_joint(X / units, model.labels_, 0.7, model.family_)
    assert_allclose(model.log_joint_, expected - len(X) * np.log(units).sum(), rtol=1e-9, atol=1e-8)
    check_trace(model)


@few_examples
@given(seed=seeds, n_columns=st.integers(1, 10), exponent=st.integers(-100, 100), ratio=st.floats(-20, 29))
def test_waiting_times_beside_any_prior(seed, n_columns, exponent, ratio):
    rng = np.random.default_rng(seed)
    X = rng.exponential(np.exp(3.0 * rng.integers(0, 2, size=(20, 1))), (20, n_columns)) * 10.0**exponent
    check_fit(X, Exponential(1.2, np.full(n_columns, X.max() * 10.0**-ratio)))


def counts(rng, exponent):
    """Draw 5 to 40 rows of counts in three groups that are several standard deviations apart."""
    n, mean = int(rng.integers(5, 41)), 10.0**exponent * np.exp(rng.normal(size=(3, 2)))
    mean = mean[rng.integers(0, 3, n)]
    return np.maximum(np.round(mean + np.sqrt(mean) * rng.normal(size=mean.shape)), 0.0)


@pytest.mark.parametrize("kind", [Poisson, Binomial, NegativeBinomial])
@few_examples
@given(seed=seeds, exponent=st.floats(0.0, 15.0))
def test_counts_of_any_size(kind, seed, exponent):
    X = counts(np.random.default_rng(seed), exponent)
    check_fit(X, kind.empirical(X))


@few_examples
@given(seed=seeds, level=st.floats(0.0, 15.0), beyond=st.integers(0, 3))
def test_counts_that_hardly_differ(seed, level, beyond):
    """Ties everywhere: rows that are alike but for a count or two must not walk in circles."""
    rng = np.random.default_rng(seed)
    X = np.round(10.0**level) + rng.integers(0, beyond + 1, size=(30, 2))
    check_fit(X, Poisson.empirical(X))
    check_fit(X, Binomial(0.5, 0.5, 2.0 * X.max()).over(2))


@pytest.mark.parametrize("offset", [2.0**27, 1.7e9])
@pytest.mark.parametrize("kind", ["fixed", "round"])
def test_timestamps_are_clustered_as_times_of_day_are(kind, offset):
    rng = np.random.default_rng(0)
    X = np.round(groups(rng, 1, apart=30.0) * 1024.0) / 1024.0  # an offset rounds none of them
    near, far = (
        check_fit(X, gaussian(kind, 1, 2.0**-54, 1.0)),
        check_fit(X + offset, gaussian(kind, 1, 2.0**-54, 1.0)),
    )
    assert (near.labels_ == far.labels_).all()


@pytest.mark.parametrize(
    ("family", "cell", "words"),
    [
        (DiagonalGaussian([0.0] * 9, 0.1, 1.0, [1.0] * 9), 1e20, "within 1e+12 prior widths"),
        (FixedGaussian([0.0] * 9, 0.1, [1.0] * 9), 1e160, "within 1e+12 prior widths"),
        (SphericalGaussian([0.0] * 9, 0.1, 1.0, 1.0), 1e20, "within 1e+12 prior widths"),
        (Gaussian([0.0] * 9, 0.1, 10.0, np.eye(9)), 1e20, "within 1e+12 prior widths"),
        (Exponential(1.0, [1e-39] * 9), 1.0, "at most 1e+30 times their prior rate"),
        (Poisson([1.0] * 9, [1.0] * 9), 1e300, "at most 2^53"),
        (NegativeBinomial([1.0] * 9, [1.0] * 9, [1.0] * 9), 1e17, "at most 2^53"),
    ],
)
def test_what_would_overflow_is_refused_with_a_sentence(family, cell, words):
    X = np.zeros((6, 9))
    X[4, 2] = cell
    for attempt in (
        lambda: MAPDP(1.0, family=family).fit(X),
        lambda: log_joint(X, np.zeros(6), alpha=1.0, family=family),
    ):
        with pytest.raises(ValueError, match="Hint") as error:
            attempt()
        assert words in str(error.value)
        assert f"got {cell} in column 2, row 4" in str(error.value)


def test_every_column_has_a_reach_of_its_own():
    X, centre, reach = np.array([[0.0, 1e6], [1.0, 2e6]]), np.array([0.0, 1.5e6]), np.array([2.0, 1e6])
    checks.within(X, centre, reach, "rule", "hint", None)
    for cell in (3.0, -3.0):
        X[1, 0] = cell
        with pytest.raises(ValueError, match=f"rule, got {cell} in column 0, row 1"):
            checks.within(X, centre, reach, "rule", "hint", None)


@pytest.mark.parametrize("number", [1e-300, 1e300])
def test_hyperparameters_that_would_overflow_are_refused(number):
    for make in (
        lambda: DiagonalGaussian(0.0, 1.0, 1.0, number),
        lambda: DiagonalGaussian(0.0, number, 1.0, 1.0),
        lambda: Exponential(1.0, number),
        lambda: Poisson(1.0, number),
        lambda: DirichletProcess(number),
    ):
        with pytest.raises(ValueError, match="between 1e-290 and 1e290, got 1e"):
            make()
    with pytest.raises(ValueError, match=r"at most 2\^53"):
        Binomial(1.0, 1.0, 1e17)


@given(st.floats(1e-6, 1e100), st.floats(0.1, 1e6))
def test_the_weight_of_all_partitions_counts_fractions_of_rows(alpha, rows):
    with mpmath.workdps(250):
        expected = mpmath.loggamma(mpmath.mpf(alpha) + mpmath.mpf(rows)) - mpmath.loggamma(
            mpmath.mpf(alpha)
        )
    found = PitmanYor(alpha, 0.0, rows).log_total(7)
    assert_allclose(found, float(expected), rtol=1e-11, atol=1e-10)


def test_fractional_weights_do_not_jump_where_alpha_is_large(rng):
    X, weights = rng.normal(size=(8, 1)), np.full(8, 1.3)
    joints = [
        MAPDP(alpha, init="single", search="icm").fit(X, sample_weight=weights).log_joint_
        for alpha in (9.999e5, 1.0001e6)
    ]
    assert abs(joints[1] - joints[0]) < 0.1


def run_of(X, labels, family, budget=None):
    process = DirichletProcess(1.0)
    problem = Problem(X, X, Model(family, process), budget or Budget())
    run = Run(problem, seated(X, np.asarray(labels, dtype=np.int32), family, process))
    run.start(np.arange(len(X), dtype=np.int32))
    return run


def two_groups():
    X = np.repeat([0.0, 50.0], 10)[:, None] + np.linspace(0.0, 1.0, 20)[:, None]
    return X, np.repeat([0, 1], 10).astype(np.int32)


def test_a_move_that_changes_nothing_or_lowers_the_joint_is_taken_back():
    X, labels = two_groups()
    run = run_of(X, labels, gaussian("diagonal", 1, 0.1, 1.0))
    before = run.log_joint()
    for proposed in (labels, 1 - labels, np.zeros(20, dtype=np.int32), np.arange(20, dtype=np.int32) % 3):
        assert run.adopt("merge", proposed, run.state.labels) is None
        assert (run.state.labels == labels).all()
        assert len(run.trace) == 1
        assert_allclose(run.log_joint(), before, rtol=1e-12)


def test_a_pass_that_lowers_the_joint_is_taken_back(monkeypatch):
    X, labels = two_groups()
    run = run_of(X, labels, gaussian("diagonal", 1, 0.1, 1.0))

    def astray(rows):
        run.reseat(np.arange(20, dtype=np.int32) % 2)
        return 10

    monkeypatch.setattr(run, "visit", astray)
    step = run.sweep()
    assert (step.n_moved, step.n_emptied) == (0, 0)
    assert (run.state.labels == labels).all()
    assert_allclose(step.log_joint, run.trace[0].log_joint, rtol=1e-12)


def test_rows_that_move_in_circles_are_not_visited_for_ever(monkeypatch):
    X, labels = two_groups()
    run = run_of(X, labels, gaussian("diagonal", 1, 0.1, 1.0))
    monkeypatch.setattr(run, "visit", lambda rows: 2)  # rows that swap their chairs: the joint stays
    settling.visit_border(run, np.arange(20, dtype=np.int32), 20)
    assert len(run.trace) == 2


def test_every_kind_of_step_counts_against_the_budget(monkeypatch):
    X, labels = two_groups()
    run = run_of(X, labels, gaussian("diagonal", 1, 0.1, 1.0), Budget(max_iter=3))
    rising = iter(range(10**6))
    monkeypatch.setattr(run, "visit", lambda rows: 1)
    monkeypatch.setattr(run, "log_joint", lambda state=None: float(next(rising)))  # as if it rose for ever
    monkeypatch.setattr(run, "leads", lambda rows: np.zeros(len(rows)))
    settling.visit_border(run, np.arange(2, dtype=np.int32), 10**9)
    assert len(run.trace) == 31  # the start, and 3 sweeps of 20 rows as 30 visits of two
    assert not settling.settle(run)
    assert not run.has_budget
