"""Tables of any kind become columns of known kinds, and mean the same wherever they come from."""

import datetime
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from mapdp import MAPDP, Categorical, Gaussian, GibbsDPM, Mixed, Poisson
from mapdp.data.columns import Schema
from mapdp.data.frames import Raw
from tests.data import extra

KINDS = ("real", "log", "count", "binary", "category", "ordered")


def kind_of(cells, name="x", **about):
    """Tell one column's kind; a second one keeps it from being kept for want of others."""
    other = Raw("other", np.random.default_rng(0).normal(size=len(cells)))
    return Schema.infer([Raw(name, cells, **about), other]).columns[0].kind


def words(cells):
    out = np.empty(len(cells), dtype=object)
    out[:] = cells
    return out


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.random.default_rng(1).normal(size=60), "real"),
        (np.random.default_rng(1).lognormal(0.0, 2.0, size=60), "log"),
        (np.append(np.random.default_rng(1).lognormal(3.0, 2.0, size=200), [0.0] * 9), "log"),
        (np.random.default_rng(1).poisson(6.0, size=200) * 1.0, "real"),  # next to no zeros
        (np.random.default_rng(1).poisson(2.5, size=200) * 1.0, "count"),
        (np.random.default_rng(1).integers(100, 900, size=60) * 1.0, "real"),
        (np.arange(60.0), "identifier"),
        (np.tile([3.0, 7.0], 30), "binary"),
        (np.tile([1.0, 2.0, 5.0], 20), "ordered"),
        (np.full(60, 4.0), "constant"),
        (np.full(60, np.nan), "empty"),
    ],
)
def test_kinds_of_numbers(cells, kind):
    assert kind_of(cells) == kind
    if kind not in ("empty", "identifier"):
        with_gaps = np.append(cells, [np.nan] * 5)
        assert kind_of(with_gaps) == kind


def test_kinds_of_words():
    assert kind_of(words(["a", "b", None] * 9), is_text=True) == "binary"
    assert kind_of(words(["a", "b", "c"] * 9), is_text=True) == "category"
    assert kind_of(words(["a", "b", "c"] * 9), is_text=True, ranks=("c", "b", "a")) == "ordered"
    assert kind_of(words([f"row {i}" for i in range(30)]), is_text=True) == "identifier"
    assert kind_of(words(["a"] * 9), is_text=True) == "constant"


def test_a_column_called_id_with_all_values_different_is_set_aside(rng):
    cells = rng.permutation(10_000)[:60] * 1.0
    assert kind_of(cells, "customer_id") == "identifier"
    assert kind_of(cells, "income") == "real"


def test_few_values_in_a_short_table_are_not_levels():
    assert kind_of(np.array([1.0, 2.5, 4.0, 2.5, 1.0])) == "real"


def test_users_have_the_last_word(rng):
    table = pd.DataFrame({"a": rng.normal(size=40), "b": np.tile([1, 2, 3, 4], 10)})
    model = MAPDP(columns={"b": "category", "a": "ignore"}).fit(table)
    assert [column.kind for column in model.schema_.columns] == ["ignore", "category"]
    lines = str(model.schema_).splitlines()
    assert len(lines) == 3
    assert "on request" in lines[1]
    assert "4 values" in lines[2]


@pytest.mark.parametrize(
    ("columns", "error", "says"),
    [
        ({"c": "real"}, ValueError, "no such column"),
        ({"a": "number"}, ValueError, "one of"),
        (["a"], TypeError, "dict"),
        ({"a": "binary"}, ValueError, "not binary"),
        ({"a": "ignore", "b": "ignore"}, ValueError, "no column is left"),
    ],
)
def test_what_is_said_of_columns_is_checked(columns, error, says, rng):
    table = pd.DataFrame({"a": rng.normal(size=9), "b": rng.normal(size=9)})
    with pytest.raises(error, match=says):
        MAPDP(columns=columns).fit(table)


def test_columns_and_family_are_not_given_together(rng):
    with pytest.raises(ValueError, match="leave family at None"):
        MAPDP(columns={0: "real"}, family=Gaussian).fit(rng.normal(size=(9, 2)))


def people(rng, n=90):
    """A table with every kind of column, in two groups."""
    group = rng.integers(0, 2, size=n)
    day = datetime.datetime(2020, 1, 1)
    return pd.DataFrame(
        {
            "height": rng.normal(170 + 20 * group, 5),
            "visits": rng.poisson(1 + 3 * group),
            "member": rng.random(n) < 0.2 + 0.6 * group,
            "city": np.array(["Rome", "Oslo", "Bonn"])[rng.integers(0, 2, n) + group],
            "size": pd.Categorical(
                np.array(["S", "M", "L"])[rng.integers(0, 2, n) + group], ["S", "M", "L"], ordered=True
            ),
            "since": [day + datetime.timedelta(days=float(d)) for d in rng.normal(900 * group, 90)],
            "note": [f"person {i}" for i in range(n)],
            "always": 1,
        }
    )


def with_gaps(table, rng):
    out = table.copy()
    for name in out.columns[:-2]:
        holes = rng.random(len(out)) < 0.15
        column = out[name].astype("boolean") if name == "member" else out[name]
        out[name] = column.where(~holes)
    return out


def as_polars(table):
    sizes = pl.Series("size", table["size"].astype(object).where(table["size"].notna(), None).tolist())
    frame = pl.from_pandas(table.drop(columns="size"))
    return frame.with_columns(sizes.cast(pl.Enum(["S", "M", "L"]))).select(table.columns.tolist())


@pytest.mark.parametrize("gaps", [False, True])
def test_every_kind_of_table_gives_the_same_labels(gaps, rng):
    table = people(rng)
    if gaps:
        table = with_gaps(table, rng)
    kinds = ["real", "count", "binary", "category", "ordered", "real", "identifier", "constant"]
    fits = [MAPDP().fit(made) for made in (table, as_polars(table), pa.Table.from_pandas(table))]
    for model in fits:
        assert [column.kind for column in model.schema_.columns] == kinds
        np.testing.assert_array_equal(model.labels_, fits[0].labels_)
        assert model.log_joint_ == fits[0].log_joint_
    assert fits[0].n_clusters_ == 2


def test_numpy_gives_the_same_labels_where_all_is_numbers(rng):
    table = people(rng)[["height", "visits", "member"]].astype(float)
    framed, plain = MAPDP().fit(table), MAPDP().fit(table.to_numpy())
    assert framed.log_joint_ == plain.log_joint_
    np.testing.assert_array_equal(framed.labels_, plain.labels_)


def test_numbers_written_as_text_are_numbers(rng):
    table = people(rng)[["height", "city"]]
    text = table.astype(str).to_numpy().astype(object)
    text[3, 0] = "?"
    numbers = table.copy()
    numbers.loc[3, "height"] = np.nan
    assert MAPDP().fit(text).log_joint_ == pytest.approx(MAPDP().fit(numbers).log_joint_, rel=1e-9)


def test_a_value_never_seen_is_taken_as_missing_with_a_warning(rng):
    table = people(rng)
    model = MAPDP().fit(table)
    strange = table.head(3).assign(city="Lima")
    with pytest.warns(UserWarning, match="'Lima'"):
        labels = model.predict(strange)
    blank = table.head(3).assign(city=None)
    np.testing.assert_array_equal(labels, model.predict(blank))


def test_a_logarithm_of_less_than_nothing_is_refused(rng):
    table = pd.DataFrame({"income": rng.lognormal(3, 2, 80), "age": rng.normal(size=80)})
    model = MAPDP().fit(table)
    assert model.schema_.columns[0].kind == "log"
    with pytest.raises(ValueError, match=r"'income' must be positive .* got -1\.0 in row 0"):
        model.predict(pd.DataFrame({"income": [-1.0], "age": [0.0]}))


def test_samples_come_in_the_units_of_the_table(rng):
    table = people(rng)[["height", "city", "note"]]
    rows, labels = MAPDP().fit(table).sample(50, random_state=0)
    assert rows.shape == (50, 3)
    assert labels.shape == (50,)
    assert set(rows[:, 1]) <= {"Rome", "Oslo", "Bonn"}
    assert 150 < np.mean(rows[:, 0].astype(float)) < 210
    assert all(cell is None for cell in rows[:, 2])


def test_empty_tables_and_double_names_are_refused():
    with pytest.raises(ValueError, match="0 sample"):
        MAPDP().fit(pd.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="twice"):
        MAPDP().fit(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


def test_infinite_cells_are_refused(rng):
    X = rng.normal(size=(9, 2))
    X[4, 1] = np.inf
    with pytest.raises(ValueError, match="infinite, got inf in column 1, row 4"):
        MAPDP().fit(X)
    left_out = MAPDP(columns={1: "ignore"}).fit(X)
    assert left_out.schema_.used == [0]
    assert left_out.predict(X).shape == (9,)


def test_a_given_family_takes_numbers_only(rng):
    with pytest.raises(ValueError, match="column 'city'"):
        MAPDP(family=Poisson).fit(people(rng)[["city", "visits"]])


def test_gibbs_takes_mixed_tables_with_gaps(rng):
    table = with_gaps(people(rng), rng)
    model = GibbsDPM(alpha=1.0, n_sweeps=40, random_state=0).fit(table)
    assert isinstance(model.family_, Mixed)
    assert model.predict(table).shape == (90,)


def test_all_numbers_from_every_library(rng):
    X = rng.normal(size=(40, 2))
    made = [pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})]
    for table in (*made, pa.table({"a": X[:, 0], "b": X[:, 1]})):
        np.testing.assert_array_equal(MAPDP(1.0).fit(table).labels_, MAPDP(1.0).fit(X).labels_)
    with pytest.raises(TypeError, match="collect"):
        MAPDP().fit(made[1].lazy())


def test_missing_in_every_spelling_is_a_gap():
    cells = ["a", "b", None, "a", "b", "a"] * 5
    for dtype in ("string", object):
        table = pd.DataFrame({"c": pd.Series(cells, dtype=dtype)})
        if dtype == "string":
            assert table["c"][2] is pd.NA
        assert MAPDP(1.0).fit(table).schema_.columns[0].n_missing == 5


def test_categories_that_nobody_has_do_no_harm(rng):
    sizes = pd.Categorical(["S", "L"] * 20, ["S", "M", "L"], ordered=True)
    table = pd.DataFrame({"size": sizes, "x": np.tile([0.0, 9.0], 20) + rng.normal(size=40)})
    model = MAPDP(1.0).fit(table)
    assert model.schema_.columns[0].values == ("S", "L")
    table.loc[1, "size"] = None
    assert model.impute(table)["size"][1] == "L"
    only = MAPDP(1.0).fit(table.assign(size=pd.Categorical(["L"] * 40, ["S", "L"], ordered=True)))
    assert only.schema_.columns[0].values == ("L",)


def test_values_mean_the_same_however_they_are_stored(rng):
    z = np.tile([0, 1, 2], 20)
    words = pd.DataFrame(
        {"flag": np.array(["true", "false", "maybe"])[z], "code": np.array(["01", "02", "A1"])[z]}
    )
    model = MAPDP(1.0).fit(words)
    some = words.iloc[[0, 1, 3]]
    other = pd.DataFrame({"flag": [True, False, True], "code": [1, 2, 1]})
    np.testing.assert_allclose(model.predict_proba(other), model.predict_proba(some))


def test_kinds_of_long_columns_do_not_depend_on_which_cells_are_looked_at():
    cells = (np.arange(25_000) // 2 % 2).astype(float)
    cells[1] = 2.0
    assert kind_of(cells) == "ordered"
    sparse = np.full(100_000, np.nan)
    sparse[7:9000:900] = np.random.default_rng(0).normal(size=10)
    assert kind_of(sparse) == "real"


def test_values_never_seen_are_not_overwritten(rng):
    table = people(rng)[["height", "city"]]
    model = MAPDP(1.0).fit(table)
    table.loc[0, "city"], table.loc[1, "city"] = "Lima", None
    with pytest.warns(UserWarning, match="Lima"):
        filled = model.impute(table)
    assert filled["city"][0] == "Lima"
    assert filled["city"][1] in ("Rome", "Oslo", "Bonn")


def test_levels_of_a_given_family_are_filled_with_levels():
    X = np.tile([[10.0, 10.0], [30.0, 20.0]], (20, 1))
    model = MAPDP(1.0, family=Categorical).fit(X)
    X[0, 0] = X[1, 0] = np.nan
    assert model.impute(X)[:2, 0].tolist() == [10.0, 30.0]


def test_gibbs_scores_rows_with_gaps(rng):
    table = people(rng)[["height"]].assign(width=rng.normal(size=90))
    model = GibbsDPM(n_sweeps=40, random_state=0).fit(table)
    holed = table.head(2).assign(width=[np.nan, 0.0])
    alone = GibbsDPM(n_sweeps=40, random_state=0, family=Mixed.of(model.family_)).fit(table)
    np.testing.assert_allclose(model.score_samples(holed), alone.score_samples(holed), rtol=1e-6)


@st.composite
def tables(draw):
    """Draw a table of random kinds with gaps, and what its columns are."""
    n = draw(st.integers(12, 40))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=0, max_size=4))
    kinds += ["real", "count", "category", "ordered"]  # one set of kinds: each is compiled by itself
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.2, 0.6]))
    draws = {
        "real": lambda: rng.normal(1000.0, 3.0, n),
        "log": lambda: rng.lognormal(0.0, 2.0, n),
        "count": lambda: rng.poisson(3.0, n).astype(float),
        "binary": lambda: rng.integers(0, 2, n).astype(float),
        "category": lambda: rng.integers(0, 4, n).astype(float),
        "ordered": lambda: rng.integers(1, 6, n).astype(float),
    }
    columns = {}
    for j, kind in enumerate(kinds):
        holes = rng.random(n) < share
        holes[:2] = False
        columns[f"c{j}"] = np.where(holes, np.nan, draws[kind]())
    return pd.DataFrame(columns), {f"c{j}": kind for j, kind in enumerate(kinds)}


@settings(max_examples=40, deadline=None)
@given(tables())
def test_any_schema_fits_predicts_explains_and_fills(drawn):
    """Whatever the columns: the joint never drops, probabilities add up, every gap is filled."""
    table, columns = drawn
    model = MAPDP(alpha=1.0, columns=columns).fit(table)
    for before, after in itertools.pairwise(model.trace_):
        assert after.climb != before.climb or after.log_joint >= before.log_joint - 1e-6
    assert model.cluster_sizes_.sum() == len(table)
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1.0)
    why = model.explain(table)
    if model.family_.has_columns:  # columns that vary together are judged one by one
        np.testing.assert_allclose(why.by_size + why.by_column.sum(axis=1), why.log_odds, atol=1e-8)
    filled, spread = model.impute(table, return_spread=True)
    assert not filled.isna().any(axis=None)
    there = table.notna().to_numpy()
    assert (filled.to_numpy()[there] == table.to_numpy()[there]).all()
    assert (spread[there] == 0.0).all()
    assert (spread[~there] >= 0.0).all()
    assert len(model.describe()) == model.n_clusters_


@pytest.mark.parametrize(
    "name", ["penguins.csv", "heart_cleveland.csv", "credit_approval.csv", "house_votes84.csv"]
)
def test_real_tables_fit_as_they_are(name):
    table = extra(name)
    truth = table.pop("label")
    model = MAPDP().fit(table)
    assert model.labels_.shape == truth.shape
    assert model.n_clusters_ > 1
    assert adjusted_rand_score(truth, model.labels_) > 0.05


def test_a_matrix_is_the_same_however_it_lies_in_memory(rng):
    X = np.concatenate([rng.normal(0.0, 1.0, size=(40, 3)), rng.normal(8.0, 1.0, size=(30, 3))])
    fixed = X.copy()
    fixed.flags.writeable = False
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for same in (np.asfortranarray(X), X[:, ::-1][:, ::-1], fixed, X.tolist(), frame):
        model = MAPDP(1.0).fit(same)
        assert model.n_features_in_ == 3
        assert (model.labels_ == MAPDP(1.0).fit(X).labels_).all()
        with pytest.raises(ValueError, match="2 features"):
            model.fit(X).predict(X[:, :2].copy())
        assert not hasattr(model, "feature_names_in_")  # the last table had no names


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_whole_numbers_beyond_floats_are_names(library):
    """Identifiers that differ by one are all the same float; times in nanoseconds are not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "row": 2**60 + np.arange(60),
            "clock": 1_700_000_000_000_000_000 + 10**12 * np.arange(60) ** 2,
            "x": rng.normal(size=60),
        }
    )
    make = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
    kinds = {column.name: column.kind for column in MAPDP().fit(make[library](frame)).schema_.columns}
    assert kinds == {"row": "identifier", "clock": "real", "x": "real"}
    gaps = frame.convert_dtypes()
    gaps.loc[3, "row"] = pd.NA
    assert MAPDP().fit(gaps).schema_.columns[0].n_missing == 1


def test_large_names_that_repeat_are_a_category():
    ids = [2**60 + i % 3 for i in range(60)]
    column = MAPDP().fit(pd.DataFrame({"shop": ids, "x": np.arange(60.0) % 7})).schema_.columns[0]
    assert (column.kind, len(column.values)) == ("category", 3)


def test_weekdays_and_times_are_parts_of_moments():
    when = pd.date_range("2021-03-01 06:30", periods=70, freq="D")
    table = pd.DataFrame({"day": when, "time": when + pd.to_timedelta(np.arange(70) % 5, unit="h")})
    table.loc[4, "day"] = pd.NaT
    model = MAPDP(columns={"day": "weekday", "time": "time"}).fit(table)
    numbers = model.numbers_of(table)
    names = np.array(model.schema_.columns[0].values, dtype=object)
    known = np.arange(70) != 4
    assert names[numbers[known, 0].astype(int)].tolist() == when[known].day_name().tolist()
    assert numbers[:, 1] == pytest.approx((6.5 + np.arange(70) % 5) / 24, abs=1e-9)
    assert np.isnan(numbers[4, 0])
    assert pd.isna(model.impute(table).loc[4, "day"])  # a weekday does not say which date it was


def test_values_print_as_they_were():
    when = pd.Series(pd.date_range("2021-03-01", periods=40, freq="D"))
    table = pd.DataFrame({"when": when.dt.date.astype("datetime64[ns]"), "ok": np.arange(40) % 4 > 0})
    described = {f.name: f for f in MAPDP().fit(table).describe()[0].features}
    assert described["when"].overall == "2021-03-20 ± 12 days"
    assert described["when"].overall.numbers["sd"] == pytest.approx(np.arange(40).std())
    assert described["ok"].overall == "true 75%"
    assert described["ok"].overall.numbers == {"value": "true", "share": 0.75}
