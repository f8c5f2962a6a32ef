"""Clusters that differ in one or two columns of any kind are found among columns that say nothing."""

import numpy as np
import pandas as pd
import pytest

from mapdp import MAPDP, Categorical, DiagonalGaussian, Mixed
from mapdp.engine.build import seated
from mapdp.engine.column_cuts import parts_by_column, screen, screen_buffers
from mapdp.engine.problem import Model, Problem
from mapdp.engine.state import new_state
from mapdp.partitions.process import MixtureOfFiniteMixtures, PitmanYor
from mapdp.search.moves import cut
from mapdp.search.moves.cut import Cut, _ByColumns
from mapdp.search.run import Run

N = 600


def noise(rng):
    """Return a table in which no column says anything about another."""
    table = {f"real{j}": rng.normal(size=N) for j in range(8)}
    table |= {f"word{j}": rng.choice(list("pqrst"), N) for j in range(4)}
    table |= {f"count{j}": rng.poisson(3.0, N) for j in range(4)}
    return pd.DataFrame(table)


def planted_numbers(rng, truth):
    """One column of measurements with a gap in the middle."""
    return {"planted": rng.normal(size=N) + 7.0 * truth}


def planted_counts(rng, truth):
    return {"planted": rng.poisson(np.where(truth, 80.0, 1.0))}


def planted_words(rng, truth):
    """Two columns whose words go together, in another order than that of their frequencies."""
    words = np.array(list("abcdef"))
    return {
        "planted": words[2 * rng.integers(0, 3, N) + truth],
        "other": words[(3 * rng.integers(0, 2, N) + truth) % 6],
    }


def planted_truths(rng, truth):
    return {name: np.where(rng.random(N) < 0.03, 1 - truth, truth).astype(bool) for name in ("a", "b", "c")}


def planted_ranks(rng, truth):
    grades = pd.Categorical.from_codes(rng.integers(0, 3, N) + 3 * truth, list("uvwxyz"), ordered=True)
    return {"planted": grades, "other": rng.normal(size=N) + 3.0 * truth}


def planted_gaps(rng, truth):
    """Cells are missing where three other columns are somewhat higher."""
    others = {f"other{j}": rng.normal(size=N) + 2.5 * truth for j in range(3)}
    return {"planted": np.where(truth == 1, np.nan, rng.normal(size=N)), **others}


KINDS = [planted_numbers, planted_counts, planted_words, planted_truths, planted_ranks, planted_gaps]
over_kinds = pytest.mark.parametrize("planted", KINDS, ids=[kind.__name__ for kind in KINDS])


@over_kinds
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_a_split_that_one_kind_of_column_shows_is_found(planted, share, rng):
    truth = (rng.random(N) < share).astype(int)
    table = noise(rng).assign(**planted(rng, truth))
    model = MAPDP(1.0, prior="paper", init="single").fit(table)
    assert model.log_joint_of(table, truth) > model.log_joint_of(table, np.zeros(N, dtype=int)) + 10.0
    assert model.log_joint_ >= model.log_joint_of(table, truth) - 1e-6


def promise_of(cells, is_level):
    promise, buffers = np.empty(cells.shape[1]), screen_buffers(len(cells), cells.shape[1])
    screen(cells, np.arange(len(cells), dtype=np.int32), is_level, buffers, promise)
    return promise


def test_columns_that_say_something_promise_most(rng):
    truth = rng.integers(0, 2, 400)
    cells = rng.normal(size=(400, 12))
    cells[:, 4] += 6.0 * truth
    cells[:, 7] = truth + 2.0 * rng.integers(0, 3, 400)
    cells[:, 9] = 1.0 - truth
    cells[truth == 0, 10] = np.nan
    promise = promise_of(cells, np.isin(np.arange(12), [7, 9]))
    assert set(np.argsort(-promise)[:4]) == {4, 7, 9, 10}
    assert np.sort(promise)[-4] > 10.0 * np.sort(promise)[-5]


def test_what_a_cut_saves_in_its_own_column_is_that_of_two_gaussians(rng):
    """Two groups far apart: the spread shrinks to what is left in each, and naming a group has a price."""
    low, high = rng.normal(size=30), 20.0 + rng.normal(size=70)
    X = np.column_stack([np.concatenate([low, high]), np.zeros(100)])
    left = np.array([group.var() / X[:, 0].var() for group in (low, high)])
    expected = [0.3, 0.7] @ (np.log([0.3, 0.7]) - 0.5 * np.log(np.maximum(left, 0.01)))
    by_chance = 0.5 * (len(np.unique((_whitened(X[:, 0]) + 3.0) // 0.4)) - 1) / 100
    assert promise_of(X, np.zeros(2, dtype=bool))[0] == pytest.approx(expected - by_chance, abs=1e-9)


def _whitened(column):
    return (column - column.mean()) / column.std()


def test_gaps_are_a_part_of_their_own(rng):
    cells = np.column_stack([np.arange(100.0), rng.integers(0, 3, 100)])
    cells[:20] = np.nan
    numbers, levels = parts_by_column(cells[:, 0]), parts_by_column(cells[:, 1])
    assert set(numbers[:20]).isdisjoint(numbers[20:])
    assert len(np.unique(numbers)) == 16
    assert (levels[:20] == 3).all()
    assert levels[20:].tolist() == cells[20:, 1].tolist()


def run_of_two(rng, process):
    """Return a run with two clusters far apart; each has a gap in the middle of a column of its own."""
    X, labels = rng.normal(size=(600, 6)), np.arange(600, dtype=np.int32) // 300
    X[:, 0] += 40.0 * labels
    X[np.arange(600), 2 + labels] += 9.0 * rng.integers(0, 2, 600)
    family = DiagonalGaussian.empirical(X)
    run = Run(Problem(X, X, Model(family, process)), seated(X, labels, family, process))
    run.record("start", 0)
    return run


@pytest.mark.parametrize("process", [PitmanYor(1.0), PitmanYor(0.7, 0.3), MixtureOfFiniteMixtures()])
def test_a_cut_gains_what_it_says(process, rng):
    run = run_of_two(rng, process)
    before = run.log_joint()
    move = Cut(rng)
    proposal = move.propose(run)
    assert len(np.unique(proposal.labels)) == 4
    step = run.adopt(move.name, proposal.labels, proposal.before)
    assert step.log_joint - before == pytest.approx(proposal.log_gain, rel=1e-9)
    assert move.propose(run) is None


def test_a_cluster_that_was_refused_is_not_tried_again(rng, monkeypatch):
    run = run_of_two(rng, PitmanYor(1.0))
    move = Cut(rng)
    while (proposal := move.propose(run)) is not None:
        run.adopt(move.name, proposal.labels, proposal.before)
    monkeypatch.setattr(cut, "screen", None)
    assert move.propose(run) is None


@pytest.mark.parametrize(("n_rows", "tried"), [(20_000, {1}), (20_001, {1, 4, 5})])
def test_levels_of_a_large_table_are_tried_whatever_they_promise(n_rows, tried, rng):
    X = np.column_stack([rng.normal(size=(n_rows, 4)), rng.integers(0, 3, (n_rows, 2))])
    X[:, 1] += 9.0 * rng.integers(0, 2, n_rows)
    family, process = Mixed.empirical(X, [DiagonalGaussian] * 4 + [Categorical] * 2), PitmanYor(1.0)
    run = Run(Problem(X, X, Model(family, process)), new_state(n_rows, family, process))
    assert set(_ByColumns(run, rng)._promising(np.arange(2000, dtype=np.int32)).tolist()) == tried
