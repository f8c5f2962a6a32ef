import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs

from mapdp import MAPDP, PitmanYor
from mapdp.engine.trace import Step, silent
from mapdp.sampling import chains as sampler
from mapdp.sampling.agreement import Agreement
from mapdp.sampling.stability import uncertainty_of
from tests.contract.cases import FAMILIES
from tests.partitions import ExactModel, SetsOfRows, all_partitions

GOOD = Agreement({"n_clusters": 1.0}, {"n_clusters": 500.0}, (1, 3), 0.93)


def test_a_count_by_hand():
    labels = np.array([0, 0, 0, 1, 1])
    samples = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 1, 1, 2, 2], [0, 0, 0, 0, 0]])
    found = uncertainty_of(labels, samples, GOOD)
    # Rows 2, 3, 4 of the second sample are most like cluster 1, all rows together like cluster 0; in the
    # third sample rows 1 and 2 are, so that row 0 is in another cluster.
    assert_allclose(found.membership[:, 0] * 4, [3, 4, 3, 1, 1])
    assert_allclose(found.membership[:, 1] * 4, [0, 0, 1, 3, 3])
    assert_allclose(found.membership[:, 2] * 4, [1, 0, 0, 0, 0])
    assert_allclose(found.stability[0] * 4, 1 + 2 / 3 + 2 / 3 + 3 / 5)
    assert_allclose(found.stability[1] * 4, 1 + 2 / 3 + 1 + 2 / 5)
    assert_allclose(found.n_clusters_posterior, [0, 0.25, 0.5, 0.25])
    assert_allclose(found.entropy[[1, 2]], [0.0, -0.25 * np.log(0.25) - 0.75 * np.log(0.75)], atol=1e-6)
    assert str(found).startswith("4 samples; the chains agree: 1 to 3 clusters (93%); stability from 0.7")


def test_rows_that_samples_put_elsewhere_are_not_sure():
    labels, alone = np.zeros(6, dtype=int), np.array([[0, 0, 0, 0, 0, 1]] * 3 + [[0] * 6])
    found = uncertainty_of(labels, alone, GOOD)
    assert_allclose(found.membership[5], [0.25, 0.75])
    assert found.entropy[5] > found.entropy[0] == 0.0


class Counted:
    """Stands for a chain: its partitions are the numbers of its sweeps."""

    def __init__(self):
        self.n_sweeps, self.samples = 0, []

    def sweep(self):
        self.n_sweeps += 1
        return Step("gibbs", self.n_sweeps, 1, 0, 0, 0.0, 0.0)

    def keep(self):
        self.samples.append(np.array([self.n_sweeps]))


def test_only_the_second_half_is_used_and_no_more_than_so_many_are_kept():
    plan = sampler.Plan(0, 1, 1, silent)
    assert sampler.sample_within([Counted()], 20, np.inf, plan).ravel().tolist() == list(range(11, 21))
    many = sampler.sample_within([Counted(), Counted()], 5000, np.inf, plan).ravel()
    assert len(many) < 2 * 1000
    assert abs(many.min() - 2500) <= 8  # every eighth is left
    assert len(set(np.diff(many[: len(many) // 2]))) == 1


def test_membership_is_that_of_the_exact_posterior(rng):
    """All 52 partitions of 5 rows, weighted by their posterior, against a long run."""
    case = FAMILIES[0]
    X = case.rows(rng, 5)
    model = MAPDP(0.7, family=case.family).fit(X)
    exact = ExactModel(SetsOfRows(case.family, X), model.mixture_.process)
    partitions = list(all_partitions(5))
    joints = np.array([exact.log_joint(labels) for labels in partitions])
    weights = np.exp(joints - np.logaddexp.reduce(joints))
    judged = [uncertainty_of(model.labels_, labels[None], GOOD) for labels in partitions]
    found = model.uncertainty(X, n_sweeps=6_000, random_state=1)
    membership = sum(w * one.membership for w, one in zip(weights, judged, strict=True))
    stability = sum(w * one.stability for w, one in zip(weights, judged, strict=True))
    # Some 4,000 samples that forget within a few sweeps: the standard error of a share is below 0.01.
    assert_allclose(found.membership, membership, atol=0.04)
    assert_allclose(found.stability, stability, atol=0.04)


@pytest.fixture(scope="module")
def fitted():
    X = make_blobs(90, n_features=2, centers=[[0, 0], [30, 0], [0, 30]], random_state=1)[0]
    X[0] = 15.0, 0.0  # halfway between two clusters
    return MAPDP(prior="paper").fit(X), X


def test_clear_clusters_are_stable_and_a_row_between_them_is_not(fitted):
    model, X = fitted
    found = model.uncertainty(X)
    assert (found.stability[:3] > 0.9).all()
    assert np.argmax(found.entropy) == 0
    assert np.median(found.entropy) < 0.05


def test_same_seed_same_answer_on_any_number_of_threads(fitted):
    model, X = fitted
    found = [model.uncertainty(X, n_sweeps=50, random_state=3, n_jobs=n) for n in (1, 2)]
    assert (found[0].membership == found[1].membership).all()


def test_time_is_limited(fitted):
    model, X = fitted
    assert 2 <= model.uncertainty(X, n_sweeps=10**9, seconds=0.2, n_chains=2).n_samples <= 2000
    short = model.uncertainty(X, n_sweeps=10**9, seconds=1e-9)
    assert short.n_samples == 4  # one sweep of each chain
    assert "too short" in str(short)


def test_verbose_tells_of_the_first_chain(fitted, capsys):
    model, X = fitted
    model.uncertainty(X, n_sweeps=200, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize(
    ("change", "parameters", "words"),
    [
        (lambda X: X[:50], {}, "X must be the 90 rows that were fitted, got 50 others"),
        (lambda X: X[::-1], {}, "X must be the 90 rows that were fitted"),
        (lambda X: X, {"n_sweeps": 0}, "n_sweeps must be at least 1, got 0"),
        (lambda X: X, {"n_chains": 0}, "n_chains must be at least 1, got 0"),
        (lambda X: X, {"seconds": -1}, "seconds must be positive and finite, got -1"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(change, parameters, words, fitted):
    model, X = fitted
    with pytest.raises(ValueError, match="Hint") as caught:
        model.uncertainty(change(X), **parameters)
    assert words in str(caught.value)


def test_chains_start_in_four_places_and_say_whether_they_agree(fitted, monkeypatch):
    model, X = fitted
    starts, started = [], sampler.started

    def spy(problem, inits, *rest, **kind):
        starts.extend(inits)
        return started(problem, inits, *rest, **kind)

    monkeypatch.setattr(sampler, "started", spy)
    found = model.uncertainty(X, n_sweeps=600)
    assert (starts[0] == model.labels_).all()
    assert starts[1] == "single"
    assert starts[2].max() < starts[3].max()
    assert found.agreement.is_good
    assert "the chains agree: " in str(found)
    assert "100%" not in str(found.agreement)
    stuck = model.uncertainty(X, n_sweeps=20, moves="gibbs")
    assert "the chains disagree (R-hat" in str(stuck)


def test_summary_partition_of_clear_clusters_is_what_was_found(fitted):
    model, X = fitted
    found = model.uncertainty(X, n_sweeps=200)
    clear = np.delete(np.arange(90), 0)
    for loss in ("vi", "binder"):
        labels = found.summary_partition(loss)
        assert len(np.unique(labels[clear])) == 3
        assert (labels == found.summary_partition(loss)).all()
    ball = found.credible_ball()
    assert 0.95 <= ball.probability <= 1.0
    assert (ball.distances <= ball.radius).mean() == ball.probability
    with pytest.raises(ValueError, match="probability must be from 0 to 1, got 2"):
        found.credible_ball(probability=2.0)


WAYS = {
    "weights": lambda rng: {"sample_weight": rng.integers(1, 4, 5).astype(float)},
    "groups": lambda rng: {"groups": [0, 0, -1, -1, -1]},
    "labels": lambda rng: {"y": [0, 1, -1, -1, -1]},
}


@pytest.mark.parametrize("way", WAYS)
def test_blocks_are_sampled_from_their_exact_posterior(way, rng):
    """Partitions of repeated rows, or those that keep what is known, weighted by their joint."""
    case = FAMILIES[0]
    X, given = case.rows(rng, 5), WAYS[way](rng)
    model = MAPDP(0.7, family=case.family, weights="repeats").fit(X, **given)
    repeats = given.get("sample_weight", np.ones(5)).astype(int)
    exact = ExactModel(SetsOfRows(case.family, np.repeat(X, repeats, axis=0)), PitmanYor(0.7))
    partitions = [z for z in all_partitions(5) if _keeps(z, way)]
    joints = np.array([exact.log_joint(np.repeat(z, repeats)) for z in partitions])
    weights = np.exp(joints - np.logaddexp.reduce(joints))
    found = model.uncertainty(X, n_sweeps=4_000, random_state=1)
    together = sum(w * (z[:, None] == z[None, :]) for w, z in zip(weights, partitions, strict=True))
    assert_allclose(found.coclustering(), together, atol=0.05)


def _keeps(labels, way):
    """Say whether a partition keeps what is known of the first two rows."""
    return way == "weights" or (labels[0] == labels[1]) == (way == "groups")


def test_rows_that_count_for_nothing_are_left_out(fitted):
    _, X = fitted
    weights = np.where(np.arange(90) < 5, 0.0, 1.0)
    model = MAPDP(prior="paper").fit(X, sample_weight=weights)
    found = model.uncertainty(X, n_sweeps=50)
    assert np.isnan(found.membership[:5]).all()
    assert np.isfinite(found.membership[5:]).all()
    assert len(found.summary_partition()) == 85
