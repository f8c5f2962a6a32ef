"""How large tables settle, when a search ends, and how many starts it makes."""

import numpy as np
import pytest

from mapdp import MAPDP, DiagonalGaussian, sample_mixture
from mapdp.engine.build import seated
from mapdp.engine.in_threads import survey
from mapdp.engine.problem import Budget, Model, Problem
from mapdp.engine.trace import Init
from mapdp.estimators.doubts import doubts
from mapdp.partitions.process import DirichletProcess
from mapdp.search import settling
from mapdp.search.run import Run
from mapdp.selection.alpha import Tried

PRIOR = DiagonalGaussian([0.0, 0.0], 0.05, 2.0, [1.0, 1.0])


@pytest.fixture
def few_are_many(monkeypatch):
    """Let small tables take the paths of large ones."""
    monkeypatch.setattr("mapdp.engine.problem.LARGE", 1000)
    monkeypatch.setattr("mapdp.search.climb.SAMPLE", 500)


def overlapping(n_rows, seed):
    """Return rows of many clusters that overlap: a hard table to search, and slow to settle."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 4.0, (12, 2))[rng.integers(0, 12, n_rows)] + rng.normal(size=(n_rows, 2))


def least_lead(model, X):
    """Return by how much the most restless row prefers where it sits."""
    rows = model.family_.encode(X)
    state = seated(rows, model.labels_, model.family_, DirichletProcess(model.alpha_))
    return survey(rows, np.arange(len(X), dtype=np.int32), state, 1).min()


def test_no_row_wants_to_move_at_the_exact_end(few_are_many):
    X, _ = sample_mixture(4000, 2.0, PRIOR, np.random.default_rng(5))
    exact = MAPDP(2.0, family=PRIOR, tol=0.0).fit(X)
    assert exact.trace_[-1].move == "survey"
    assert least_lead(exact, X) > -1e-6


def test_a_large_table_may_end_with_little_left_to_gain(few_are_many, monkeypatch):
    monkeypatch.setattr("mapdp.engine.problem._RELATIVE", 1e-3)
    X = overlapping(4000, 0)
    near = MAPDP(2.0, family=PRIOR).fit(X)
    exact = MAPDP(2.0, family=PRIOR, tol=0.0).fit(X)
    moves = {step.move for step in near.trace_}
    assert "tol" in moves
    assert near.converged_
    assert len(near.trace_) < len(exact.trace_)
    assert abs(near.log_joint_ - exact.log_joint_) < 0.02 * abs(exact.log_joint_)


def test_small_tables_settle_exactly_by_default():
    X, _ = sample_mixture(600, 2.0, PRIOR, np.random.default_rng(5))
    model = MAPDP(2.0, family=PRIOR).fit(X)
    assert "tol" not in {step.move for step in model.trace_}
    assert least_lead(model, X) > -1e-6


@pytest.mark.parametrize("n_wider", [10, 10_000])
def test_visits_go_on_while_they_gain_more_than_a_wider_look_would(n_wider, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = Model(PRIOR, DirichletProcess(1.0))
    run = Run(Problem(X, X, model, Budget()), seated(X, np.zeros(40, dtype=np.int32), *model[:2]))
    run.start(run.everyone)
    gains = iter([8.0, 4.0, 2.0, 1.0, *[0.0] * 50])
    monkeypatch.setattr(settling, "_visit", lambda run, rows: next(gains))
    monkeypatch.setattr(Run, "leads", lambda run, rows: np.zeros(len(rows)))
    gained = settling.visit_border(run, run.everyone[:10], n_wider)
    assert gained == (8.0 if n_wider == 10 else 15.0)


def test_a_search_ends_when_its_time_is_up():
    X, _ = sample_mixture(2000, 3.0, PRIOR, np.random.default_rng(1))
    short = MAPDP(family=PRIOR, seconds=1e-6).fit(X)
    long = MAPDP(family=PRIOR, seconds=1e6).fit(X)
    assert not short.converged_
    assert long.converged_
    assert len(short.trace_) < len(long.trace_)
    assert np.isfinite(short.log_joint_)
    assert short.log_joint_ == pytest.approx(short.log_joint_of(X, short.labels_))


class Clock:
    """A clock that moves on by a second whenever somebody looks at it."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        self.now += 1.0
        return self.now


@pytest.mark.parametrize("share", [1e-3, 0.3, 0.7])
@pytest.mark.parametrize("parameters", [{}, {"n_init": 6, "prior": "paper", "alpha": 1.0}])
def test_a_search_of_many_columns_ends_in_time_too(share, parameters, monkeypatch):
    """From 16 columns on a few rows are seated on trial, which must not be broken off."""
    rng = np.random.default_rng(0)
    X = 2.0 * rng.normal(size=(6, 18))[rng.integers(0, 6, 400)] + rng.normal(size=(400, 18))
    monkeypatch.setattr("mapdp.engine.problem.time", clock := Clock())
    whole = MAPDP(**parameters, seconds=1e9).fit(X)
    model = MAPDP(**parameters, seconds=share * clock.now).fit(X)
    assert whole.converged_
    assert not model.converged_
    assert len(model.inits_) <= len(whole.inits_)
    assert model.log_joint_ == pytest.approx(model.log_joint_of(X, model.labels_))


class Stopper:
    """A callback that ends a fit after so many steps."""

    def __init__(self, last):
        self.left = last

    def __call__(self, _):
        self.left -= 1
        return self.left <= 0


def test_a_fit_that_a_callback_ends_is_not_converged():
    X, _ = sample_mixture(500, 3.0, PRIOR, np.random.default_rng(1))
    n_steps = len(MAPDP(2.0, family=PRIOR, n_init=3).fit(X).trace_)
    for last in range(1, n_steps, 5):
        assert not MAPDP(2.0, family=PRIOR, n_init=3, callback=Stopper(last)).fit(X).converged_


def test_starts_go_on_while_one_finds_something_better():
    improved = 0
    for draw in range(8):
        X = overlapping(300, draw)
        one, auto = (MAPDP(3.0, family=PRIOR, n_init=n).fit(X) for n in (1, "auto"))
        assert len(auto.inits_) >= 2
        assert auto.log_joint_ >= one.log_joint_ - 1e-9
        if len(auto.inits_) > 2:
            improved += 1
            assert auto.log_joint_ > one.log_joint_
    assert improved > 0
    again = MAPDP(3.0, family=PRIOR).fit(X)
    assert (again.labels_ == auto.labels_).all()


@pytest.mark.parametrize("init", ["single", np.arange(300) % 3])
def test_a_start_that_was_chosen_is_the_only_one(init):
    X, _ = sample_mixture(300, 3.0, PRIOR, np.random.default_rng(0))
    assert len(MAPDP(3.0, family=PRIOR, init=init).fit(X).inits_) == 1


def test_bad_limits_are_refused():
    X = np.zeros((4, 2)) + np.arange(4)[:, None]
    with pytest.raises(ValueError, match="seconds must be positive and finite, got 0"):
        MAPDP(seconds=0).fit(X)
    with pytest.raises(ValueError, match="tol must"):
        MAPDP(tol=-1.0).fit(X)
    with pytest.raises((TypeError, ValueError), match="n_init"):
        MAPDP(n_init="many").fit(X)
    with pytest.raises(ValueError, match="n_jobs must be a whole number other than 0, got 0"):
        MAPDP(n_jobs=0).fit(X)


def test_doubts_are_said_where_there_are_some():
    sizes = np.array([500, 500])
    apart = [Init(-1000.0, 3, 1.0), Init(-1000.5, 4, 0.4)]
    assert "disagree" in doubts(apart, [], np.nan, sizes)[0]
    assert doubts([apart[0], Init(-1200.0, 4, 0.4)], [], np.nan, sizes) == []  # a bad start says nothing
    assert "end of its grid" in doubts([], [Tried(100.0, 3, 0.0, np.nan)], 100.0, sizes)[0]
    assert "square root" in doubts([], [], np.nan, np.full(40, 25))[0]
    assert doubts([], [], np.nan, np.full(30, 33)) == []
