"""What a search remembers of many clusters is what it would work out anew."""

import numpy as np
import pytest

from mapdp import DiagonalGaussian, MixtureOfFiniteMixtures
from mapdp.engine.build import seated
from mapdp.engine.in_threads import survey_in_full
from mapdp.engine.merge import merge_buffers, merge_chairs
from mapdp.engine.problem import Model, Problem
from mapdp.partitions.labels import compact
from mapdp.search.run import Run

N_CLUSTERS = 90
PRIOR = DiagonalGaussian([0.0, 0.0], 0.01, 2.0, [1.0, 1.0])


@pytest.fixture
def run():
    """Return a search of many clusters, some of them of one row, that overlap."""
    rng = np.random.default_rng(3)
    labels = compact(np.minimum(rng.integers(N_CLUSTERS, size=900), rng.integers(5 * N_CLUSTERS, size=900)))
    X = rng.normal(0.0, 12.0, (N_CLUSTERS, 2))[labels] + rng.normal(size=(900, 2))
    labels[:2] = labels.max() + 1, labels.max() + 2
    X, process = PRIOR.encode(X), MixtureOfFiniteMixtures()
    run = Run(Problem(X, X, Model(PRIOR, process)), seated(X, compact(labels), PRIOR, process))
    run.start(run.everyone)
    return run


def in_full(run, rows):
    return survey_in_full(run.problem.X, rows, run.state, 1)


def assert_same_leads(run, rows):
    lead, expected = run.leads(rows), in_full(run, rows).lead
    close = expected < 1.0
    np.testing.assert_allclose(lead[close], expected[close], atol=1e-5)
    assert (lead <= expected + 1e-5).all()
    assert (lead[~close] >= 1.0 - 1e-5).all()
    return lead, expected


def test_leads_are_those_of_a_full_survey_where_rows_might_move(run):
    assert_same_leads(run, run.everyone)
    n_spared = 0
    for number in range(6):
        run.visit(run.everyone[20 * number : 20 * number + 8])
        some = run.everyone[number::3]
        assert_same_leads(run, some)
        run.reseat(compact(run.state.labels))
        lead, expected = assert_same_leads(run, run.everyone)
        n_spared += np.count_nonzero(lead != expected)
    assert n_spared > 0  # some rows were compared with few clusters only


def test_only_changed_clusters_are_scored(run, monkeypatch):
    run.leads(run.everyone)
    scored = []

    def counted(X, rows, state, n_threads):
        scored.append(len(rows))
        return survey_in_full(X, rows, state, n_threads)

    monkeypatch.setattr("mapdp.search.memory.survey_in_full", counted)
    run.visit(run.everyone[:3])
    run.leads(run.everyone)
    assert sum(scored) < len(run.everyone)


def test_remembered_gains_of_merges_are_those_worked_out_anew(run):
    for number in range(4):
        n_left, buffers = run.merged(run.state.n_clusters)
        fresh = merge_buffers(PRIOR, run.state.capacity)
        assert merge_chairs(run.state, run.state.n_clusters, fresh) == n_left
        n_chairs = run.state.n_clusters + 1
        known, expected = (some.log_gain[:n_chairs, :n_chairs] for some in (buffers, fresh))
        np.testing.assert_allclose(known, expected, rtol=1e-9, atol=1e-9)
        if number > 0:
            assert not buffers.is_new[:n_chairs].all()
        labels = run.state.labels.copy()
        labels[run.everyone[number::200]] = number
        run.reseat(compact(labels))


def test_merged_clusters_are_remembered(run, monkeypatch):
    monkeypatch.setattr("mapdp.search.run.FEWEST", 2)
    n_left, buffers = run.merged(1)
    assert n_left < run.state.n_clusters
    run.reseat(compact(buffers.merged_into[run.state.labels]))
    _, buffers = run.merged(run.state.n_clusters)
    assert not buffers.is_new[: run.state.n_clusters].any()
    fresh = merge_buffers(PRIOR, run.state.capacity)
    merge_chairs(run.state, run.state.n_clusters, fresh)
    n = run.state.n_clusters
    np.testing.assert_allclose(buffers.log_gain[:n, :n], fresh.log_gain[:n, :n], rtol=1e-9, atol=1e-9)
