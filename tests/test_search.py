"""The search reaches the mode where that can be enumerated, and cannot be improved where it cannot."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, DiagonalGaussian, PitmanYor, Poisson, log_joint, sample_mixture
from mapdp.data.moments import gaps_filled_by_means
from mapdp.engine.build import seated, sort_by_chair
from mapdp.engine.problem import Model, Problem
from mapdp.engine.propose import part_by_seeds, whiten
from mapdp.engine.regroup import Regrouping, seat_parts
from mapdp.partitions.labels import adjusted_rand, compact
from mapdp.search import climb
from mapdp.search.moves.regroup import TrialRoom
from mapdp.search.run import Found, Run
from tests.contract.cases import FAMILIES, PROCESSES, over_families, over_processes
from tests.data import UCI, uci
from tests.partitions import ExactModel, SetsOfRows, all_partitions, clusters_of

PARTITIONS_OF_7 = [clusters_of(labels) for labels in all_partitions(7)]


def best_of_all_partitions(case, process, X):
    exact = ExactModel(SetsOfRows(case.family, X), process)
    return max(map(exact.log_joint_of, PARTITIONS_OF_7))


def fitted_joints(case, process, X, n_init):
    """Return the joint that the first start reached, and that of the fit."""
    model = MAPDP(process=process, family=case.family, n_init=n_init).fit(X)
    return model.inits_[0].log_joint, model.log_joint_


@pytest.mark.parametrize("case", FAMILIES, ids=[case.name for case in FAMILIES])
def test_the_best_of_all_877_partitions_is_found(case):
    """More than 1,000 data sets of all families together: 99% by one start, all by five.

    The first of five starts is what one start is, and five are never worse: the next test shows it. So five
    starts are needed only where one has missed the best.
    """
    assert len(PARTITIONS_OF_7) == 877
    rng, missed = np.random.default_rng(7), 0
    processes = list(PROCESSES.values())
    for number in range(1000 // len(FAMILIES) + 1):
        X, process = case.rows(rng, 7), processes[number % len(processes)]
        best = best_of_all_partitions(case, process, X)
        if fitted_joints(case, process, X, 1)[1] < best - 1e-7:
            missed += 1
            assert fitted_joints(case, process, X, 5)[1] >= best - 1e-7
    assert missed <= 1


@over_families
def test_the_first_of_five_starts_is_what_one_start_is(case, rng):
    X, process = case.rows(rng, 7), PROCESSES["pitman-yor"]
    (first, reached), alone = (fitted_joints(case, process, X, n) for n in (5, 1))
    assert alone == (first, first)
    assert reached >= first


def improvements(X, labels, joint):
    """Yield the gain of every single move, merge and dissolution of a partition."""
    before = joint(labels)
    n_clusters = labels.max() + 1
    for a in range(n_clusters):
        for b in range(a):
            yield joint(np.where(labels == a, b, labels)) - before
    for i in range(0, len(X), max(1, len(X) // 60)):
        for k in range(n_clusters + 1):
            moved = labels.copy()
            moved[i] = k
            yield joint(moved) - before


@pytest.mark.parametrize("name", UCI)
def test_no_small_move_improves_a_real_partition(name):
    X, _ = uci(name)
    model = MAPDP(1.0, family=DiagonalGaussian).fit(X)

    def joint(labels):
        return log_joint(X, labels, alpha=1.0, family=model.family_)

    assert max(improvements(X, model.labels_, joint)) < 1e-6


@pytest.mark.parametrize("name", UCI)
def test_no_cluster_gains_by_dissolving(name):
    """Its rows join, one after another, the cluster that suits them best among the others."""
    X, _ = uci(name)
    model = MAPDP(1.0, family=DiagonalGaussian).fit(X)
    for k in range(model.n_clusters_ if model.n_clusters_ > 1 else 0):
        labels = model.labels_.copy()
        labels[labels == k] = -1
        for i in np.flatnonzero(model.labels_ == k):
            seated = labels >= 0
            others = np.unique(labels[seated])
            scores = [_score(X, labels, i, other, model.family_) for other in others]
            labels[i] = others[int(np.argmax(scores))]
        assert log_joint(X, labels, alpha=1.0, family=model.family_) < model.log_joint_ + 1e-6


def _score(X, labels, i, k, family):
    """Log weight of a Student t seat, from the cluster's mean and variance (paper, appendix)."""
    rows = X[labels == k] - family.mean
    n, x = len(rows), X[i] - family.mean
    strength, shape = family.strength + n, family.shape + n / 2
    mean = rows.sum(axis=0) / strength
    between = family.strength * n / strength * rows.mean(axis=0) ** 2
    rate = family.rate + 0.5 * (n * rows.var(axis=0) + between)
    weight = strength / (2 * rate * (strength + 1))
    density = -0.5 * np.log(rate) - (shape + 0.5) * np.log1p(weight * (x - mean) ** 2)
    return np.log(n) + (density + _level(strength, shape)).sum()


def _level(strength, shape):
    return gammaln(shape + 0.5) - gammaln(shape) + 0.5 * np.log(strength / (strength + 1))


@over_families
@over_processes
def test_joint_never_drops_whatever_the_move(case, process, rng):
    X = case.rows(rng, 80)
    model = MAPDP(process=process, family=case.family, init="single").fit(X)
    joints = [step.log_joint for step in model.trace_]
    assert (np.diff(joints) > -1e-8).all()
    exact = log_joint(X, model.labels_, process=process, family=case.family)
    assert_allclose(joints[-1], exact, rtol=1e-10)


def test_moves_free_the_printed_start():
    """From one cluster the paper's sweep makes no move on these rows; splits do."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 1.0, size=(60, 2)) for centre in (-6.0, 0.0, 6.0)])
    assert MAPDP(init="single", search="icm", prior="paper").fit(X).n_clusters_ == 1
    assert MAPDP(init="single", prior="paper").fit(X).n_clusters_ == 3
    assert MAPDP(init="single").fit(X).n_clusters_ == 3


def test_every_start_is_reported(rng):
    X = np.concatenate([rng.normal(centre, 1.0, size=(40, 2)) for centre in (-3.0, 0.0, 3.0)])
    model = MAPDP(1.0, n_init=6, random_state=1).fit(X)
    assert len(model.inits_) == 6
    best = max(model.inits_, key=lambda init: init.log_joint)
    assert best.log_joint == model.log_joint_  # crossing gains nothing here
    assert best.agreement == 1.0
    assert best.n_clusters == model.n_clusters_


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_crossing_begins_where_both_partitions_agree(discount, monkeypatch, rng):
    X, process = rng.normal(size=(80, 2)), PitmanYor(1.0, discount)
    family = DiagonalGaussian.empirical(X)
    problem = Problem(X, X, Model(family, process))
    labels = [np.arange(80) // 40, np.arange(80) // 20 % 2, np.arange(80) // 40]
    ends = [
        Found(seated(X, one, family, process), process, -float(i), True, ([],), 0)
        for i, one in enumerate(labels)
    ]
    begun = []

    def ended(_problem, _name, start):
        begun.append(start.init)
        return ends[0]._replace(log_joint=5.0)

    monkeypatch.setattr(climb, "search", ended)
    assert climb.crossed(problem, "split-merge", ends[::-1], rng).log_joint == 5.0
    assert len(begun) == 1  # and not with the third, which is the first once more
    assert adjusted_rand(begun[0], np.arange(80) // 20) == 1.0
    best = climb.crossed(problem, "icm", ends, rng)
    assert best.state is ends[0].state
    assert (best.won, len(best.climbs)) == (0, 3)


def test_crossing_reaches_more_than_the_starts():
    X, reached = uci("breast_cancer")[0], []
    for seed in range(4):
        model = MAPDP(3.0, family=DiagonalGaussian, n_init=6, random_state=seed).fit(X)
        reached.append(model.log_joint_ - max(init.log_joint for init in model.inits_))
    assert min(reached) >= 0.0
    assert max(reached) > 1.0


def test_starts_do_not_depend_on_threads(rng):
    X = rng.normal(size=(150, 3)) * rng.choice([0.2, 3.0], size=(150, 1))
    one, two = (MAPDP(n_init=5, n_jobs=n, random_state=0).fit(X) for n in (1, 2))
    assert one.inits_ == two.inits_
    assert (one.labels_ == two.labels_).all()


def test_a_large_table_starts_on_some_of_its_rows(monkeypatch):
    """With few rows allowed at once, everything large takes the large paths, and threads agree."""
    monkeypatch.setattr("mapdp.engine.problem.LARGE", 1000)
    monkeypatch.setattr("mapdp.search.climb.SAMPLE", 500)
    monkeypatch.setattr("mapdp.search.moves.regroup._SAMPLE", 200)
    monkeypatch.setattr("mapdp.search.moves.regroup._CELLS", 400)
    monkeypatch.setattr("mapdp.engine.in_threads._BLOCK", 300)
    monkeypatch.setattr("mapdp.engine.build._BLOCK", 700)
    prior = DiagonalGaussian([0.0, 0.0], 0.05, 2.0, [1.0, 1.0])
    X, truth = sample_mixture(4000, 2.0, prior, np.random.default_rng(3))
    one, two = (MAPDP(2.0, family=prior, n_init=1, n_jobs=n).fit(X) for n in (1, 2))
    assert (one.labels_ == two.labels_).all()
    assert adjusted_rand_score(truth, one.labels_) > 0.7
    assert one.log_joint_ >= log_joint(X, truth, alpha=2.0, family=one.family_) - 1e-6
    joints = [step.log_joint for step in one.trace_]
    assert (np.diff(joints) > -1e-7).all()


def test_ten_starts_beat_ten_of_the_paper():
    """On 20 draws of the paper's experiment, by the mean of the joint."""
    family = DiagonalGaussian(mean=[1, 1], strength=0.1, shape=1.0, rate=[10, 10])
    gains = []
    for draw in range(20):
        X, _ = sample_mixture(600, 3.0, family, np.random.default_rng(draw))
        ten, ours = (MAPDP(3.0, family=family, search=s, n_init=10).fit(X) for s in ("icm", "split-merge"))
        gains.append(ours.log_joint_ - ten.log_joint_)
    assert np.mean(gains) > 1.0


def test_pitman_yor_counts_the_clusters_that_stand_by(rng):
    """With a discount, what a new cluster costs depends on how many there are."""
    X = np.concatenate([rng.normal(centre, 1.0, size=(30, 2)) for centre in (-8.0, 0.0, 8.0)])
    process = PitmanYor(0.5, 0.6)
    model = MAPDP(0.5, discount=0.6).fit(X)
    split = model.labels_.copy()
    split[np.flatnonzero(split == 0)[::2]] = split.max() + 1
    gain = log_joint(X, split, alpha=0.5, discount=0.6, family=model.family_) - model.log_joint_
    assert gain < 0.0
    assert process.log_open(3, len(X)) > process.log_open(2, len(X))


def test_rows_are_sorted_by_chair():
    labels = np.array([1, 0, 3, 1, 0, 1], dtype=np.int32)
    order, ends = np.empty(6, dtype=np.int32), np.empty(8, dtype=np.int64)
    sort_by_chair(labels, np.bincount(labels, minlength=8), order, ends)
    assert order.tolist() == [1, 4, 0, 3, 5, 2]
    assert ends.tolist() == [2, 5, 5, 6, 6, 6, 6, 6]


def test_parts_take_the_chairs_of_their_group_then_fresh_ones():
    outcome = Regrouping(np.full(6, 2), np.zeros(4, dtype=bool), np.array([4]), np.empty(1), np.zeros(1))
    rows, parts = np.array([1, 2, 4, 5]), np.array([7, 3, 7, 0])
    seat_parts(np.array([1, 3]), rows, parts, np.empty(8, dtype=np.int64), outcome)
    assert outcome.labels.tolist() == [2, 1, 3, 2, 1, 4]
    assert outcome.changed.tolist() == [False, True, False, True]
    assert outcome.fresh.tolist() == [5]


@pytest.mark.parametrize("n_clusters", [1, 2, 6])
def test_agreement_is_the_adjusted_rand_index(n_clusters, rng):
    a = np.append(np.arange(n_clusters), rng.integers(0, n_clusters, 60))
    b = np.append(np.arange(4), rng.integers(0, 4, len(a) - 4))
    assert_allclose(adjusted_rand(a, b), adjusted_rand_score(a, b), atol=1e-12)
    assert adjusted_rand(a, a) == 1.0


def test_a_move_that_changes_nothing_is_no_move():
    """Large joints differ by rounding when they are added up in another order."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        means = np.where(np.arange(3000)[:, None] % 2, 20, 60)
        X = rng.poisson(means, size=(3000, 6)).astype(float)
        model = MAPDP(family=Poisson.empirical(X), max_iter=60).fit(X)
        moves = [step for step in model.trace_ if step.move not in ("start", "sweep")]
        assert all(step.n_moved > 0 for step in moves)


def test_dissolving_needs_no_open_chair():
    """The last row to move takes the last of 16 chairs, and `tol` ends the sweeps at once."""
    centres = np.repeat(np.arange(15) * 100.0, 6)
    X = np.append(centres + np.tile(np.arange(6) * 0.01, 15), 5000.0)[:, None]
    labels = np.append(np.repeat(np.arange(15), 6), 14)
    family = DiagonalGaussian(700.0, 0.001, 1.0, 0.01)
    hasty, patient = (MAPDP(family=family, init=labels, tol=tol).fit(X) for tol in (1e6, 0.0))
    assert hasty.n_clusters_ == patient.n_clusters_ == 16


@pytest.mark.parametrize("n", [10, 49, 100])
def test_columns_that_do_not_vary_do_not_steer_a_guess(n):
    X = np.column_stack([np.full(n, 0.1), np.arange(n)])
    W = np.empty((n, 2))
    whiten(X, np.arange(n, dtype=np.int32), W, np.empty(2), np.empty(2))
    assert (W[:, 0] == 0.0).all()
    assert_allclose(W[:, 1].std(), 1.0)


@over_families
def test_a_move_gains_exactly_what_it_proposes(case, rng):
    """The gain that a proposal names is the difference of the joints, for every move that proposes any."""
    X, process = case.family.encode(case.rows(rng, 60)), PitmanYor(1.0, 0.1)
    problem = Problem(X, gaps_filled_by_means(X), Model(case.family, process))
    seen = set()
    for labels in (np.zeros(60, dtype=np.int32), rng.integers(0, 12, 60).astype(np.int32)):
        run = Run(problem, seated(X, compact(labels), case.family, process))
        run.start(np.arange(60, dtype=np.int32))
        repeated, others = climb.moves_in_order(TrialRoom(problem), rng)
        for _ in range(4):
            for move in (*repeated, *others):
                before = run.log_joint()
                proposal = move.propose(run)
                if proposal is None:
                    continue
                step = run.adopt(move.name, proposal.labels, proposal.before)
                assert_allclose(step.log_joint - before, proposal.log_gain, rtol=1e-8, atol=1e-7)
                seen.add(move.name)
    assert len(seen) >= 1


@pytest.mark.parametrize("n_before", [3, 10])
def test_seeds_are_rows_of_the_group_though_buffers_hold_more(n_before):
    """Rows that are all alike leave no distance to draw by; what an earlier group left is no row."""
    rows, nearest, parts = np.zeros((3, 2)), np.full(n_before, 5.0), np.empty(3, dtype=np.int32)
    part_by_seeds(rows, np.array([0.5, 0.9]), nearest, parts)
    assert parts.tolist() == [0, 0, 0]
