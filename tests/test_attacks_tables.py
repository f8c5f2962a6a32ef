"""Tables as people have them: labels and gaps in every spelling, and many clusters."""

import numpy as np
import pandas as pd
import pytest

from mapdp import (
    MAPDP,
    DiagonalGaussian,
    DPMeans,
    Gaussian,
    GibbsDPM,
    SphericalGaussian,
    load,
    log_joint,
    save,
)
from mapdp.data.column_order import order_by_content
from mapdp.data.frames import filled, read_table, some_rows
from mapdp.data.known_labels import known_labels
from mapdp.engine.build import seated
from mapdp.engine.problem import Model, Problem
from mapdp.engine.state import new_state
from mapdp.partitions.process import MixtureOfFiniteMixtures, PitmanYor
from mapdp.search.moves import merge, merge_in_blocks
from mapdp.search.run import Run
from mapdp.search.weighted_rows import row_blocks
from tests.data import UCI, extra, uci


def blobs(rng, n=60, spread=1.0):
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
    return centres[np.arange(n) % 3] + rng.normal(scale=spread, size=(n, 2))


def some_known(n=60):
    """Rows 0, 3 and 6 are of one blob, 1 and 4 of another; 9 is of the first, and said to be apart."""
    y = np.full(n, -1)
    y[[0, 3, 6]], y[[1, 4]], y[9] = 0, 1, 2
    return y


def spellings():
    y = some_known()
    words = np.array(["red", "green", "blue", ""])
    with_nan = np.where(y < 0, np.nan, y)
    with_none = [None if label < 0 else int(label) for label in y]
    return {
        "nan": with_nan,
        "both": np.where(np.arange(60) == 59, np.nan, y),
        "none": with_none,
        "nullable": pd.Series(with_none, dtype="Int64"),
        "masked": np.ma.masked_less(y, 0),
        "text": words[y].tolist(),
        "text and None": [word or None for word in words[y]],
        "text and NaN": pd.Series(words[y]).replace("", np.nan),
        "text array": np.array([word or np.nan for word in words[y]]),
        "text and -1": np.array([word or -1 for word in words[y]]),
        "category": pd.Series([word or None for word in words[y]], dtype="category"),
    }


@pytest.mark.parametrize("name", spellings())
def test_labels_that_are_not_known_may_be_spelt_in_any_way(name):
    y = some_known()
    expected, blocks = row_blocks(60, None, None, y), row_blocks(60, None, None, spellings()[name])
    np.testing.assert_array_equal(blocks.block_of, expected.block_of)
    named = np.array([{"red": 0, "green": 1, "blue": 2}.get(label, label) for label in blocks.names])
    np.testing.assert_array_equal(named[blocks.known[blocks.known >= 0]], y[[0, 1, 9]])


def test_text_labels_name_the_clusters(rng, tmp_path):
    y = spellings()["text"]
    model = MAPDP(alpha=1.0, family=DiagonalGaussian).fit(blobs(rng), y)
    is_known = np.array(y) != ""
    assert (model.known_labels_[model.labels_[is_known]] == np.array(y)[is_known]).all()
    save(model, tmp_path / "model.mapdp")
    again = load(tmp_path / "model.mapdp")
    np.testing.assert_array_equal(again.known_labels_, model.known_labels_)


@pytest.mark.parametrize("y", [None, np.arange(60), ["a", "b"] * 30, np.linspace(0.0, 1.0, 60), [-1] * 60])
def test_labels_that_leave_nothing_to_find_are_ignored(y):
    assert known_labels(y, 60) is None


def test_measurements_are_no_labels():
    with pytest.raises(ValueError, match=r"y must hold labels, got 0\.5 in row 1"):
        known_labels([np.nan, 0.5, 1.0], 3)


def test_negative_labels_but_one_are_labels():
    numbers, names = known_labels([-2, -1, 3], 3)
    assert (numbers.tolist(), names.tolist()) == ([0, -1, 1], [-2, 3])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_masked_cells_are_gaps_wherever_a_table_is_read(dtype):
    hidden = np.array([[0, 1], [0, 0], [1, 0]], dtype=bool)
    X = np.ma.array(np.arange(6).reshape(3, 2).astype(dtype), mask=hidden)
    expected = np.where(hidden, np.nan, np.arange(6).reshape(3, 2))
    table = read_table(MAPDP(), X, reset=True)
    np.testing.assert_array_equal(np.column_stack([raw.cells for raw in table]), expected)
    np.testing.assert_array_equal(some_rows(X, np.array([2]))[0].astype(float), expected[2])
    np.testing.assert_array_equal(filled(X, {}).astype(float), expected)


def test_masked_words_are_gaps():
    X = np.ma.array([["a", "x"], ["b", "y"]], mask=[[0, 0], [1, 0]])
    assert read_table(MAPDP(), X, reset=True)[0].cells.tolist() == ["a", None]


def test_masked_cells_are_no_numbers_where_gaps_are_refused():
    X = np.ma.array(np.arange(6.0).reshape(3, 2), mask=[[0, 1], [0, 0], [0, 0]])
    with pytest.raises(ValueError, match="finite"):
        DPMeans(n_clusters=1).fit(X)
    with pytest.raises(ValueError, match="finite"):
        log_joint(X, [0, 0, 0], alpha=1.0, family=SphericalGaussian.empirical(X.data))


def test_masked_weights_and_groups_are_not_read():
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        row_blocks(3, np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]), None, None)
    blocks = row_blocks(3, None, np.ma.array([1, 1, 1], mask=[0, 0, 1]), None)
    assert blocks.block_of.tolist() == [0, 0, 1]


@pytest.mark.parametrize("family", [DiagonalGaussian, Gaussian, SphericalGaussian, "instance"])
@pytest.mark.parametrize("estimator", [MAPDP, GibbsDPM])
def test_a_column_without_values_is_refused_by_every_given_family(estimator, family, rng):
    X = blobs(rng, 12)
    family = DiagonalGaussian.empirical(X) if family == "instance" else family
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match=r"column 1 has no value at all\. Hint: leave it out"):
        estimator(family=family).fit(X)
    with pytest.raises(ValueError, match=r"column 'b' has no value at all\. Hint: leave it out"):
        estimator(family=family).fit(pd.DataFrame(X, columns=["a", "b"]))


def run_from(X, labels, process):
    family = DiagonalGaussian.empirical(X)
    run = Run(Problem(X, X, Model(family, process)), seated(X, labels, family, process))
    run.record("start", 0)
    return run


def test_many_chairs_do_not_take_memory_for_all_pairs(rng):
    X, process = blobs(rng, 6), PitmanYor(1.0)
    run = run_from(X, np.zeros(6, dtype=np.int32), process)
    run.state = new_state(6, run.family, process, 20_000)
    assert run.merges().log_gain.nbytes < 2**26


@pytest.mark.parametrize(
    "process", [PitmanYor(1.0), PitmanYor(0.7, 0.3), MixtureOfFiniteMixtures()], ids=["dp", "py", "mfm"]
)
def test_merges_in_blocks_gain_what_they_say(process, monkeypatch, rng):
    monkeypatch.setattr(merge, "MANY", 8)
    monkeypatch.setattr(merge_in_blocks, "_BLOCK", 5)
    X = blobs(rng, 24, spread=0.1)
    run = run_from(X, np.arange(24, dtype=np.int32) % 12, process)
    proposal = merge.Merge().propose(run)
    assert 3 <= len(np.unique(proposal.labels)) < 12
    after = run_from(X, np.unique(proposal.labels, return_inverse=True)[1].astype(np.int32), process)
    assert proposal.log_gain == pytest.approx(after.log_joint() - run.log_joint(), rel=1e-9)


def test_close_pairs_in_blocks_are_pairs_of_one_block(monkeypatch, rng):
    monkeypatch.setattr(merge, "MANY", 3)
    monkeypatch.setattr(merge_in_blocks, "_BLOCK", 2)
    X = np.array([0.0, 9.0, 0.1, 9.1])[:, None] + np.zeros((1, 2))
    pairs = merge.close_pairs(run_from(X, np.arange(4, dtype=np.int32), PitmanYor(1.0)))
    assert {tuple(pair) for pair in pairs.tolist()} == {(0, 2), (1, 3)}


WORDS_AND_NUMBERS = ("penguins.csv", "heart_cleveland.csv", "credit_approval.csv", "house_votes84.csv")


def table_named(name):
    """Return a real table without its classes; numbers come as columns c0, c1, ..."""
    if name in WORDS_AND_NUMBERS:
        return extra(name).drop(columns="label")
    X = uci(name)[0]
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def with_other_words(table, rng):
    """Return a table in which every word has another name, in another order."""
    new = table.copy()
    for name in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        words = table[name].dropna().unique()
        numbers = rng.permutation(len(words))
        new[name] = table[name].map({word: f"w{i:03d}" for word, i in zip(words, numbers, strict=True)})
    return new


@pytest.mark.parametrize("name", [*UCI, *WORDS_AND_NUMBERS])
def test_names_and_the_order_of_columns_decide_nothing(name, rng):
    """The same labels, numbers and all, whatever words are called and wherever columns stand."""
    assert_same_in_other_orders(table_named(name), MAPDP(prior="paper", n_jobs=1), 3, rng)


@pytest.mark.parametrize("name", ["iris", "wine", "house_votes84.csv", "penguins.csv"])
def test_names_and_the_order_of_columns_do_not_decide_what_is_learned(name, rng):
    assert_same_in_other_orders(table_named(name), MAPDP(n_jobs=1), 1, rng)


def assert_same_in_other_orders(table, model, n_orders, rng):
    labels, log_joint = model.fit(table).labels_, model.log_joint_
    for _ in range(n_orders):
        model.fit(with_other_words(table[rng.permutation(table.columns)], rng))
        np.testing.assert_array_equal(model.labels_, labels)
        assert model.log_joint_ == pytest.approx(log_joint, rel=1e-12)


def test_the_order_of_columns_follows_from_their_content(rng):
    X = rng.gamma(1.0, size=(200, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    drawn, places = rng.normal(size=6), rng.permutation(6)
    numbers = order_by_content(X).arranged(drawn)
    turned = X[rng.permutation(200)][:, places] * np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    again = order_by_content(turned).arranged(drawn)
    np.testing.assert_array_equal(again, numbers[places] * [1.0, -1.0, 1.0, -1.0, 1.0, 1.0])
    assert len(set(np.abs(numbers))) == 6
    assert order_by_content(X).arranged(rng.normal(size=(4, 6))).flags.c_contiguous


def test_a_column_that_says_nothing_about_its_place_does_no_harm():
    X = np.array([[1.0, 0.1, np.nan], [2.0, 0.1, np.nan], [4.0, 0.1, np.nan]])
    assert sorted(order_by_content(X).rank.tolist()) == [0, 1, 2]
    assert order_by_content(X).sign.tolist()[1:] == [1.0, 1.0]
    huge = np.array([[1e308, 1.0], [-1e308, 2.0], [1e308, 4.0]])
    assert sorted(order_by_content(huge).rank.tolist()) == [0, 1]
    assert order_by_content(np.ones((1, 2))).rank.tolist() == [0, 1]


def test_words_are_numbered_by_falling_frequency():
    words = ["b", "a", "c", "c", None, "a", "c", "b", "d"]
    table = pd.DataFrame(
        {"word": words * 3, "truth": ["no", "yes", "yes"] * 9, "number": ["1", "0", "1"] * 9}
    )
    columns = MAPDP(1.0, prior="paper").fit(table).schema_.columns
    assert columns[0].values == ("c", "b", "a", "d")
    assert columns[1].values == ("yes", "no")
    assert columns[2].values == (0.0, 1.0)
