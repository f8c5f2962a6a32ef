"""Batches of a stream: exact statistics, clusters that follow a drift, bounded memory."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.metrics import adjusted_rand_score

import mapdp
from mapdp import MAPDP
from mapdp.estimators import streaming

CENTRES = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])


def batch(n, rng, centres=CENTRES):
    z = rng.integers(len(centres), size=n)
    return centres[z] + rng.normal(size=(n, 2)), z


def fed(n_batches, n=1000, seed=0, **options):
    rng, model, seen = np.random.default_rng(seed), MAPDP(), []
    for _ in range(n_batches):
        seen.append(batch(n, rng))
        model.partial_fit(seen[-1][0], **options)
    return model, seen


def test_statistics_and_the_joint_are_those_of_all_rows():
    model, seen = fed(7)
    X, z = np.concatenate([X for X, _ in seen]), np.concatenate([z for _, z in seen])
    labels = model.predict(X)
    assert adjusted_rand_score(z, labels) > 0.99
    assert model.n_rows_seen_ == model.cluster_sizes_.sum() == 7000
    assert model.log_joint_ == pytest.approx(model.log_joint_of(X, labels), abs=3.0)  # rows on a border


def test_labels_are_those_of_the_batch():
    model, seen = fed(6, n=900)
    assert model.labels_.shape == (900,)
    np.testing.assert_array_equal(model.labels_, model.predict(seen[-1][0]))


def test_single_rows_make_a_stream():
    rng, model = np.random.default_rng(2), MAPDP()
    X, z = batch(300, rng)
    for x in X:
        model.partial_fit(x[None])
    assert model.n_rows_seen_ == 300
    assert adjusted_rand_score(z, model.predict(X)) > 0.99


def test_all_rows_are_searched_anew_when_their_number_has_doubled(monkeypatch):
    sizes, fit = [], MAPDP.fit
    monkeypatch.setattr(MAPDP, "fit", lambda self, X: sizes.append(len(X)) or fit(self, X))
    fed(9, n=700)
    assert sizes == [700, 1400, 2800, 5600]


def test_clusters_that_appear_late_are_found_and_old_ones_fade():
    rng, model = np.random.default_rng(0), MAPDP()
    for _ in range(6):
        model.partial_fit(batch(1000, rng)[0], half_life=1500)
    assert model.n_clusters_ == 4
    moved = CENTRES + np.array([40.0, 0.0])
    for _ in range(24):
        X, z = batch(1000, rng, moved)
        model.partial_fit(X, half_life=1500)
    assert adjusted_rand_score(z, model.labels_) > 0.99
    assert model.cluster_sizes_[4:].sum() < 3.0  # rows on their own, and none of the old ones
    assert (model.predict(CENTRES) == -1).all()
    assert model.cluster_sizes_.sum() == pytest.approx(1000 / (1 - 0.5 ** (1000 / 1500)), rel=0.01)


def test_without_a_half_life_nothing_fades():
    rng, model = np.random.default_rng(0), MAPDP()
    for shift in (0.0, 40.0):
        for _ in range(6):
            model.partial_fit(batch(1000, rng, CENTRES + np.array([shift, 0.0]))[0])
    assert model.n_clusters_ == 8
    assert model.cluster_sizes_.sum() == 12_000


def test_a_cluster_that_comes_apart_is_parted(monkeypatch):
    monkeypatch.setattr(streaming, "BETWEEN", 2000)
    rng, model = np.random.default_rng(4), MAPDP()
    for _ in range(6):
        model.partial_fit(rng.normal(size=(1000, 2)), half_life=2000)
    assert model.n_clusters_ == 1
    for apart in np.linspace(0.0, 5.0, 12):
        z = np.arange(1000) % 2
        X = rng.normal(size=(1000, 2)) + np.column_stack([apart * z, np.zeros(1000)])
        model.partial_fit(X, half_life=2000)
    assert adjusted_rand_score(z, model.labels_) > 0.9


def test_nothing_that_is_kept_grows_with_the_stream():
    model, _ = fed(12)
    early = len(pickle.dumps(model))
    rng = np.random.default_rng(9)
    for _ in range(20):
        model.partial_fit(batch(1000, rng)[0])
    assert model._stream.tables == ()
    assert len(model._stream.sample) == streaming.SAMPLE
    assert len(pickle.dumps(model)) < 1.05 * early


@pytest.mark.parametrize("half_life", [None, 2000.0])
def test_a_stream_that_was_saved_goes_on(half_life, tmp_path):
    rng = np.random.default_rng(6)
    model = MAPDP()
    for _ in range(12):
        model.partial_fit(batch(1000, rng)[0], half_life=half_life)
    mapdp.save(model, tmp_path / "kept.mapdp")
    more = batch(500, rng)[0]
    loaded = mapdp.load(tmp_path / "kept.mapdp")
    np.testing.assert_array_equal(loaded.predict_proba(more), model.predict_proba(more))
    assert loaded.partial_fit(more, half_life=half_life).n_rows_seen_ == 12_500
    assert not hasattr(loaded.fit(more), "n_rows_seen_")
    mapdp.save(loaded, tmp_path / "kept.mapdp")
    np.testing.assert_array_equal(mapdp.load(tmp_path / "kept.mapdp").labels_, loaded.labels_)


def test_a_fitted_model_and_a_saved_one_go_on_alike(tmp_path):
    rng = np.random.default_rng(5)
    model = MAPDP().fit(batch(6000, rng)[0])
    mapdp.save(model, tmp_path / "kept.mapdp")
    more = batch(1000, rng)[0]
    loaded = mapdp.load(tmp_path / "kept.mapdp").partial_fit(more)
    model.partial_fit(more)
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    assert loaded.log_joint_ == pytest.approx(model.log_joint_, rel=1e-12)
    assert model.n_rows_seen_ == 7000


def test_the_same_stream_has_the_same_labels():
    one, other = fed(8, half_life=2500)[0], fed(8, half_life=2500)[0]
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.log_joint_ == other.log_joint_


def test_frames_with_words_and_gaps_are_followed():
    rng, model = np.random.default_rng(1), MAPDP()
    for _ in range(6):
        z = rng.integers(3, size=1000)
        frame = pandas.DataFrame({"x": rng.normal(9.0 * z), "word": np.array(["a", "b", "c"])[z]})
        frame.loc[::50, "x"] = np.nan
        model.partial_fit(frame)
    assert adjusted_rand_score(z, model.labels_) > 0.95


def test_where_all_earlier_rows_have_faded_the_batch_is_all_there_is():
    model = fed(5)[0]
    X, z = batch(600, np.random.default_rng(7))
    model.partial_fit(X, half_life=1.0)
    assert adjusted_rand_score(z, model.labels_) == 1.0
    assert model.cluster_sizes_.tolist() == np.bincount(model.labels_).tolist()
    assert model.log_joint_ == pytest.approx(model.log_joint_of(X, model.labels_), rel=1e-9)


def test_a_stream_can_be_saved_after_a_batch_of_fewer_rows_than_clusters(tmp_path):
    model = fed(5)[0].partial_fit([[0.1, 0.1]])
    mapdp.save(model, tmp_path / "kept.mapdp")
    loaded = mapdp.load(tmp_path / "kept.mapdp")
    np.testing.assert_array_equal(loaded.predict_proba(CENTRES), model.predict_proba(CENTRES))
    assert loaded.labels_.shape == (1,)


class TestBadInput:
    @pytest.mark.parametrize("has_gap", [False, True])
    def test_a_refused_batch_leaves_the_stream_as_it_was(self, has_gap):
        model, untouched = fed(10)[0], fed(10)[0]
        odd = np.array([[np.nan if has_gap else 0.0, 0.0], [1.0, 1e200]])
        with pytest.raises(ValueError, match=r"X has 1e\+200, too large .* Hint: leave such cells empty"):
            model.partial_fit(odd)
        odd[1, 1] = 1.0
        model.partial_fit(odd)
        untouched.partial_fit(odd)
        assert model.n_rows_seen_ == 10_002
        assert model.log_joint_ == untouched.log_joint_

    def test_what_is_no_batch(self):
        with pytest.raises(TypeError, match="a batch that is in memory, got ArrayBlocks"):
            MAPDP().partial_fit(mapdp.in_blocks(np.ones((5, 2)), rows=2))
        with pytest.raises(ValueError, match="X must be a table"):
            MAPDP().partial_fit("abc")

    def test_other_columns(self):
        model = MAPDP().partial_fit(np.zeros((5, 2)) + np.arange(5)[:, None])
        with pytest.raises(ValueError, match="3 features"):
            model.partial_fit(np.ones((5, 3)))

    def test_a_half_life_of_nothing(self):
        with pytest.raises(ValueError, match="half_life must be positive"):
            MAPDP().partial_fit(np.ones((5, 2)), half_life=0.0)
