"""The sweep is the paper's algorithm, for every family and process."""

import numpy as np
from numpy.testing import assert_allclose

from mapdp import MAPDP, log_joint, log_pseudo_likelihood
from mapdp.data.moments import gaps_filled_by_means
from mapdp.engine.build import seated
from mapdp.engine.in_threads import survey
from mapdp.engine.problem import Budget, Model, Problem
from mapdp.engine.state import new_state
from mapdp.search.run import Run
from mapdp.search.settling import settle, settle_by_surveys
from tests.contract.cases import PROCESSES, over_families, over_processes
from tests.partitions import ExactModel, SetsOfRows, all_partitions, canonical, naive_sweep


def run_from(X, family, process, labels=None, capacity=16):
    problem = Problem(X, gaps_filled_by_means(X), Model(family, process), Budget(max_iter=100))
    if labels is None:
        return Run(problem, new_state(len(X), family, process, capacity))
    return Run(problem, seated(X, labels, family, process))


@over_families
@over_processes
def test_joint_of_every_partition_is_exact(case, process, rng):
    X = case.rows(rng, 5)
    exact = ExactModel(SetsOfRows(case.family, X), process)
    for labels in all_partitions(5):
        value = log_joint(X, labels, process=process, family=case.family)
        assert_allclose(value, exact.log_joint(labels), rtol=1e-10)


@over_families
@over_processes
def test_labels_are_those_of_the_naive_algorithm_after_every_sweep(case, process, rng):
    X = case.rows(rng, 30)
    encoded = case.family.encode(X)
    order = rng.permutation(30).astype(np.int32)
    run = run_from(encoded, case.family, process)
    sets = SetsOfRows(case.family, X)
    naive = naive_sweep(sets, process, np.full(30, -1), order)
    run.start(order)
    for _ in range(3):
        assert canonical(run.state.labels) == canonical(naive)
        run.record("sweep", run.visit(np.arange(30, dtype=np.int32)))
        naive = naive_sweep(sets, process, naive, range(30))


@over_families
@over_processes
def test_a_survey_finds_by_how_much_each_row_prefers_its_chair(case, process, rng):
    X, labels = case.rows(rng, 9), np.array([0, 0, 0, 1, 1, 1, 2, 2, 3])
    exact = ExactModel(SetsOfRows(case.family, X), process)
    encoded = case.family.encode(X)
    state = seated(encoded, labels, case.family, process)
    lead = survey(encoded, np.arange(9, dtype=np.int32), state, 1)
    for i in range(9):
        others = {k: exact.log_joint(np.where(np.arange(9) == i, k, labels)) for k in range(5)}
        own = others.pop(labels[i])
        if i == 8:  # alone: its own chair and the empty one are the same
            others.pop(4)
        assert_allclose(lead[i], own - max(others.values()), rtol=1e-5, atol=1e-5)


@over_families
def test_settling_the_border_ends_where_nobody_moves(case, rng):
    X, process = case.rows(rng, 60), PROCESSES["dp"]
    encoded = case.family.encode(X)
    runs = [run_from(encoded, case.family, process, rng.integers(0, 4, 60)) for _ in range(3)]
    visited = []
    for run in runs:
        run.start(np.arange(60, dtype=np.int32))
        start, visit, seen = run.state.labels.copy(), run.visit, []
        run.visit = lambda rows, visit=visit, seen=seen: (seen.append(rows), visit(rows))[1]
        assert settle_by_surveys(run)
        visited.append((start, seen, run))
        assert (np.diff([step.log_joint for step in run.trace]) > -1e-9).all()
        assert visit(np.arange(60, dtype=np.int32)) == 0
    start, seen, run = visited[0]
    naive, sets = start, SetsOfRows(case.family, X)
    for rows in seen:
        naive = naive_sweep(sets, process, naive, rows)
    assert canonical(naive) == canonical(run.state.labels)


@over_families
@over_processes
def test_joint_never_drops_and_is_exact_along_the_way(case, process, rng):
    X = case.rows(rng, 60)
    run = run_from(case.family.encode(X), case.family, process, np.arange(60, dtype=np.int32))
    run.start(np.arange(60, dtype=np.int32))
    for _ in range(5):
        step = run.record("sweep", run.visit(np.arange(60, dtype=np.int32)))
        fresh = log_joint(X, run.state.labels, process=process, family=case.family)
        assert_allclose(step.log_joint, fresh, rtol=1e-11)
    joints = [step.log_joint for step in run.trace]
    assert (np.diff(joints) > -1e-9).all()


@over_families
def test_capacity_does_not_change_the_result(case, rng):
    X, process = case.rows(rng, 60), PROCESSES["flat"]
    runs = [run_from(case.family.encode(X), case.family, process, capacity=c) for c in (1, 2, 64)]
    for run in runs:
        run.start(np.arange(60, dtype=np.int32))
        settle(run)
    assert runs[0].state.n_clusters > 2
    for run in runs[1:]:
        assert (run.state.labels == runs[0].state.labels).all()
        assert run.trace[-1].log_joint == runs[0].trace[-1].log_joint


@over_families
@over_processes
def test_no_single_move_improves_the_outcome(case, process, rng):
    X = case.rows(rng, 12)
    model = MAPDP(process=process, family=case.family, search="icm", init="singletons").fit(X)
    exact = ExactModel(SetsOfRows(case.family, X), process)
    best = exact.log_joint(model.labels_)
    assert_allclose(best, model.log_joint_, rtol=1e-10)
    for i in range(12):
        for k in range(model.n_clusters_ + 1):
            changed = model.labels_.copy()
            changed[i] = k
            assert exact.log_joint(changed) <= best + 1e-8


@over_families
def test_a_given_partition_settles_at_its_own_fixed_point(case, rng):
    X, labels = case.rows(rng, 30), rng.integers(0, 4, size=30)
    model = MAPDP(0.7, family=case.family, init=labels, search="icm").fit(X)
    again = MAPDP(0.7, family=case.family, init=model.labels_, search="icm").fit(X)
    assert again.trace_[1].n_moved == 0
    assert (again.labels_ == model.labels_).all()
    naive, sets = labels, SetsOfRows(case.family, X)
    for _ in range(model.n_iter_):
        naive = naive_sweep(sets, PROCESSES["dp"], naive, range(30))
    assert canonical(model.labels_) == canonical(naive)


@over_families
def test_pseudo_likelihood_is_what_the_paper_prints(case, rng):
    X, labels = case.rows(rng, 8), np.array([0, 0, 1, 1, 1, 2, 0, 1])
    expected = PROCESSES["dp"].log_eppf(np.bincount(labels))
    for i in range(8):
        others = (labels == labels[i]) & (np.arange(8) != i)
        expected += case.family.log_predictive(X[i], X[others])
    value = log_pseudo_likelihood(X, labels, alpha=0.7, family=case.family)
    assert_allclose(value, expected, rtol=1e-10)


@over_families
def test_emptied_clusters_are_counted_and_their_chairs_reused(case, rng):
    X = case.rows(rng, 40)
    model = MAPDP(0.7, family=case.family, init="singletons", search="icm").fit(X)
    assert sum(step.n_emptied for step in model.trace_) >= 40 - model.n_clusters_ > 0


@over_families
def test_threads_that_share_a_bank_score_as_one(case, monkeypatch, rng):
    """No bank holds working space: threads that survey blocks of rows agree with one to the last bit."""
    monkeypatch.setattr("mapdp.engine.in_threads._BLOCK", 16)
    X, process = case.family.encode(case.rows(rng, 400)), PROCESSES["dp"]
    state = seated(X, (np.arange(400) % 5).astype(np.int32), case.family, process)
    rows = np.arange(400, dtype=np.int32)
    alone = survey(X, rows, state, 1)
    for _ in range(5):
        assert (survey(X, rows, state, 3) == alone).all()
