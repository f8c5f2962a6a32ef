"""Zeros that mean none: exact beside closed forms, scipy and enumeration, and in whole tables."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate
from scipy.special import betaln
from sklearn.base import clone

import mapdp
from mapdp import (
    MAPDP,
    Bernoulli,
    Categorical,
    DiagonalGaussian,
    Gamma,
    Gaussian,
    GibbsDPM,
    LogNormal,
    Mixed,
    Poisson,
    Product,
    ZeroInflated,
)
from mapdp.data.columns import Schema
from mapdp.data.frames import columns_of
from mapdp.families.background import Background
from mapdp.outputs.saving import from_bytes, to_bytes
from mapdp.outputs.summary import summarise, view_of
from mapdp.outputs.unusual import _reason
from tests.contract.cases import ZEROS, ZEROS_IN_TABLE, _amounts, _amounts_in_table
from tests.data import extra, uci
from tests.partitions import all_partitions

PROCESS = mapdp.DirichletProcess(1.0)


def rain(rng, n=160):
    """Two sorts of days: dry and cool, or wet and warm; amounts have long tails."""
    group = np.arange(n) % 2
    amount = rng.lognormal(np.where(group == 1, 3.0, 0.0), 0.9)
    dry = rng.random(n) < np.where(group == 1, 0.2, 0.8)
    return pd.DataFrame({"rain": np.where(dry, 0.0, amount), "degrees": rng.normal(4.0 * group)}), group


def log_marginal(family, cells):
    """Return the Beta-Bernoulli marginal times that of the cells that are not special."""
    seen = cells[~np.isnan(cells)]
    n_special, others = (seen == family.value).sum(), seen[seen != family.value]
    flags = betaln(family.special + n_special, family.other + len(others))
    return flags - betaln(family.special, family.other) + family.family.log_marginal(others[:, None])


@pytest.mark.parametrize("value", [0.0, -9.0])
def test_the_marginal_is_that_of_flags_and_of_others(value, rng):
    family = dataclasses.replace(ZEROS, value=value)
    cells = np.where((X := _amounts(rng, 30)[:, 0]) == 0.0, value, X)
    assert_allclose(family.log_marginal(cells[:, None]), log_marginal(family, cells), rtol=1e-12)
    others = Mixed([DiagonalGaussian([1.0], 0.2, 1.0, [2.0]), family])
    cells[rng.random(30) < 0.3] = np.nan
    both = np.column_stack([rng.normal(size=30), cells])
    expected = others.columns[0].log_marginal(both[:, :1]) + log_marginal(family, cells)
    assert_allclose(others.log_marginal(both), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "inner", [ZEROS.family, Gamma([[[2.0, 3.0], [9.0, 1.0]]]), DiagonalGaussian([1.0], 0.3, 2.0, [1.0])]
)
def test_the_mass_of_the_special_value_and_the_density_of_others_make_one(inner, rng):
    family, X = ZeroInflated(inner, 0.8, 1.3), _amounts(rng, 12)

    def density(x):
        return np.exp(family.log_predictive([x], X))

    low = -np.inf if isinstance(inner, DiagonalGaussian) and not isinstance(inner, LogNormal) else 0.0
    others = integrate.quad(density, low, 3.0, limit=200)[0] + integrate.quad(density, 3.0, np.inf)[0]
    mass = np.exp(family.log_predictive([0.0], X))
    assert_allclose(mass, (0.8 + (X == 0.0).sum()) / (0.8 + 1.3 + 12), rtol=1e-12)
    assert_allclose(mass + others, 1.0, atol=2e-4)  # a LogNormal's tail is beyond any integral


def naive_log_joint(family, X, labels):
    """Return the joint of a partition, column by column, from formulas of one column."""
    total = PROCESS.log_eppf(np.bincount(labels))
    for k in range(labels.max() + 1):
        for column, cells in zip(family.columns, X[labels == k].T, strict=True):
            one = isinstance(column, ZeroInflated)
            seen = cells[~np.isnan(cells)]
            total += log_marginal(column, cells) if one else column.log_marginal(seen[:, None])
    return total


@pytest.mark.parametrize("seed", [0, 1])
def test_the_search_finds_the_best_of_all_partitions(seed):
    X = _amounts_in_table(np.random.default_rng(seed), 6)
    model = MAPDP(1.0, family=ZEROS_IN_TABLE, n_init=3).fit(X)
    joints = [naive_log_joint(ZEROS_IN_TABLE, X, labels) for labels in all_partitions(6)]
    assert_allclose(model.log_joint_, max(joints), rtol=1e-10)


def may_have_zeros(cells, **kinds):
    (column,) = Schema.infer(columns_of(pd.DataFrame({"x": cells})), kinds).columns
    return column.has_zeros


def test_the_schema_notices_zeros_that_may_mean_none(rng):
    amounts = np.where(rng.random(300) < 0.4, 0.0, rng.lognormal(size=300))
    assert may_have_zeros(amounts)
    assert may_have_zeros(np.where(amounts == 0.0, -99.0, amounts))
    assert not may_have_zeros(amounts, x="real")  # who names a kind has thought of it


@pytest.mark.parametrize("what", ["few zeros", "zeros amid others", "counts", "scores", "two values"])
def test_the_schema_leaves_other_columns_alone(what, rng):
    numbers, share = rng.normal(size=300), rng.random(300)
    cells = {
        "few zeros": np.where(share < 0.15, 0.0, np.exp(numbers)),
        "zeros amid others": np.where(share < 0.5, 0.0, numbers),
        "counts": rng.poisson(1.0, 300).astype(float),
        "scores": np.where(share < 0.5, 0.0, rng.integers(1, 11, 300) / 2.0),
        "two values": np.where(share < 0.4, 0.0, np.where(share < 0.7, 1.0, np.exp(numbers))),
    }
    assert not may_have_zeros(cells[what])


def test_a_sentence_says_what_to_write(rng):
    frame, _ = rain(rng)
    (sentence,) = [one for one in MAPDP().fit(frame).warnings_ if "zeros" in one]
    assert "columns={'rain': 'zeros'}" in sentence
    asked = MAPDP(columns={"rain": "zeros"}).fit(frame)
    assert asked.schema_.columns[0].kind == "zeros"
    assert not any("zeros" in one for one in asked.warnings_)
    with pytest.raises(ValueError, match="'word'"):
        MAPDP(columns={"word": "zeros"}).fit(frame.assign(word=list("abcd") * 40))


def test_which_columns_of_real_tables_may_have_zeros():
    tables = {"credit_approval.csv": ["A15"], "heart_cleveland.csv": ["oldpeak"], "penguins.csv": []}
    for name, expected in tables.items():
        schema = Schema.infer(columns_of(extra(name).drop(columns="label")))
        assert [column.name for column in schema.columns if column.has_zeros] == expected
    pima = Schema.infer(columns_of(uci("pima")[0]))
    assert [j for j, column in enumerate(pima.columns) if column.has_zeros] == [4]  # insulin


@pytest.fixture(scope="module")
def fitted():
    frame, group = rain(np.random.default_rng(7))
    frame.loc[[3, 10], "rain"] = np.nan
    model = MAPDP(covariance="diagonal", columns={"rain": "zeros"}, random_state=0).fit(frame)
    return model, frame, group


def test_clusters_are_described_by_zeros_and_by_others(fitted):
    model, frame, _ = fitted
    for cluster in model.describe():
        feature = next(one for one in cluster.features if one.name == "rain")
        cells = frame["rain"].to_numpy()[model.labels_ == cluster.number]
        seen = cells[~np.isnan(cells)]
        assert_allclose(feature.here.numbers["share"], (seen == 0.0).mean())
        assert_allclose(feature.here.numbers["median"], np.exp(np.log(seen[seen > 0.0]).mean()))
        assert feature.here.startswith(f"0 {100 * (seen == 0.0).mean():.0f}%, else ")
    assert "0 is a level of its own" in str(model.schema_)


def test_a_cluster_of_zeros_alone_is_always_zero():
    rng = np.random.default_rng(2)
    amounts = np.concatenate([np.zeros(60), rng.lognormal(3.0, 0.3, 60)])
    frame = pd.DataFrame({"rain": amounts, "degrees": np.repeat([0.0, 9.0], 60) + rng.normal(size=120)})
    texts = [cluster.features for cluster in MAPDP(columns={"rain": "zeros"}).fit(frame).describe()]
    here = [str(one.here) for features in texts for one in features if one.name == "rain"]
    assert "always 0" in here
    assert any("%" not in text and "always" not in text for text in here)


def test_explanations_add_up(fitted):
    model, frame, _ = fitted
    told = model.explain(frame)
    assert_allclose(told.by_size + told.by_column.sum(axis=1), told.log_odds, atol=1e-9)
    assert told.by_column.shape == frame.shape
    assert (told.by_column[[3, 10], 0] == 0.0).all()


def test_nats_of_a_column_are_those_of_its_two_cells(fitted):
    model, frame, _ = fitted
    family, cells = model.family_.columns[0], frame["rain"].to_numpy()
    parts = [log_marginal(family, cells[model.labels_ == k]) for k in range(2)]
    apart = sum(parts) - log_marginal(family, cells)
    nats = [one.nats for cluster in model.describe() for one in cluster.features if one.name == "rain"]
    assert_allclose(nats, apart, rtol=1e-8)


def test_gaps_are_filled_with_zero_where_that_is_more_probable(fitted):
    model, frame, group = fitted
    new, spread = model.impute(frame, return_spread=True)
    dry, wet = (3, 10) if group[3] == 0 else (10, 3)
    assert new["rain"][dry] == 0.0
    assert 0.05 < spread[dry, 0] < 0.5  # that it is another number
    assert 10.0 < new["rain"][wet] < 40.0
    untouched = frame["rain"].notna()
    assert_array_equal(new["rain"][untouched], frame["rain"][untouched])


def test_drawn_rows_are_zero_as_often_as_those_of_the_table(fitted):
    model, frame, _ = fitted
    X, labels = model.sample(4000, random_state=0)
    for k in range(2):
        cells = frame["rain"][(model.labels_ == k) & frame["rain"].notna()]
        assert abs((X[labels == k, 0] == 0.0).mean() - (cells == 0.0).mean()) < 0.05
    assert (X[:, 0] >= 0.0).all()


def test_files_keep_columns_with_zeros(fitted):
    model, frame, _ = fitted
    again = from_bytes(to_bytes(model))
    assert_array_equal(again.predict(frame), model.predict(frame))
    assert_allclose(again.score_samples(frame), model.score_samples(frame))
    sampler = GibbsDPM(1.0, family=model.family_, n_sweeps=12, random_state=0).fit(frame)
    assert from_bytes(to_bytes(sampler)).log_joint_ == sampler.log_joint_
    column = dataclasses.replace(model.schema_.columns[0], values=())
    forged = model.mixture_._replace(schema=Schema((column, model.schema_.columns[1])))
    broken = from_bytes(to_bytes(model))
    broken.mixture_ = forged
    with pytest.raises(ValueError, match="zeros has no zero"):
        from_bytes(to_bytes(broken))


def test_c_code_does_not_know_zeros(fitted, tmp_path):
    with pytest.raises(ValueError, match=r"'rain' is a column of zeros.*columns=.*'log'"):
        mapdp.export_c(fitted[0], tmp_path / "c")


def test_reports_count_zeros_apart(fitted):
    model, frame, _ = fitted
    told = summarise(model, view_of(model, frame))
    bars = next(one for one in told.distributions if one["name"] == "rain")
    assert bars["bins"][0] == "0"
    assert np.sum(bars["counts"], axis=0)[0] == (frame["rain"] == 0.0).sum()
    assert np.sum(bars["counts"]) == frame["rain"].notna().sum()


def test_zeros_beside_columns_that_vary_together(rng):
    """The block's rows may lack cells, too; densities are those of the parts."""
    block = Gaussian([0.0, 0.0], 0.5, 4.0, [[1.0, 0.3], [0.3, 1.0]])
    family = Product([(block, [0, 2]), (Mixed([ZEROS]), [1])])
    X = np.column_stack([rng.normal(size=20), _amounts(rng, 20), rng.normal(size=20)])
    X[3, 1] = X[4, 0] = np.nan
    model = MAPDP(1.0, family=family, n_init=1).fit(X[5:])
    bank = model.mixture_.bank
    scores = model.mixture_.scores(model.mixture_.encoded(X), np.copy)
    for k in range(model.n_clusters_):
        known = family.posterior(bank, k)
        (own, _), (others, _) = known.parts
        for i in (0, 3, 4):
            seen = np.flatnonzero(~np.isnan(X[i, [0, 2]]))
            expected = own.log_densities(seen, X[i, [0, 2]][seen][None])[0]
            expected += others.log_marginal(X[i, 1:2][None])
            assert_allclose(scores[i, k] - model.mixture_.log_weights[k], expected, rtol=1e-9)
    rows = family.encode(X[:4])
    assert_allclose(family.decode(rows), X[:4])


def test_weights_are_repeated_rows(rng):
    X, times = _amounts(rng, 20), rng.integers(1, 4, 20)
    weighted = MAPDP(1.0, family=ZEROS).fit(X, sample_weight=times)
    repeated = MAPDP(1.0, family=ZEROS).fit(
        np.repeat(X, times, axis=0), groups=np.repeat(np.arange(20), times)
    )
    assert_allclose(weighted.log_joint_, repeated.log_joint_, rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_numbers_of_any_size_beside_zeros(unit, rng):
    frame, _ = rain(rng)
    plain = MAPDP(random_state=0, columns={"rain": "zeros"}).fit(frame)
    scaled = clone(plain).fit(frame.assign(rain=frame["rain"] * unit))
    assert_array_equal(scaled.labels_, plain.labels_)
    shift = (frame["rain"] > 0.0).sum() * np.log(unit)
    assert_allclose(scaled.log_joint_ + shift, plain.log_joint_, rtol=1e-6)


def test_a_background_counts_zeros(rng):
    X = np.column_stack([_amounts(rng, 80)[:, 0], rng.normal(size=80)])
    family = Mixed([ZEROS, DiagonalGaussian([0.0], 0.2, 1.0, [1.0])])
    broad = Background.around(family, X, np.zeros(2, bool), np.array([0.0, np.nan]))
    flat = broad.log_broad(np.array([[np.nan, 0.3]]))

    def density(x):
        return np.exp(broad.log_broad(np.array([[x, 0.3]])) - flat)[0]

    others = integrate.quad(density, -np.inf, broad.centre[0])[0]
    others += integrate.quad(density, broad.centre[0], np.inf)[0]
    assert_allclose(density(0.0), ((X[:, 0] == 0.0).sum() + 1) / 82)
    assert_allclose(density(0.0) + others, 1.0, rtol=1e-6)


def test_learning_raises_the_joint(rng):
    frame, _ = rain(rng)
    learned, paper = (
        MAPDP(1.0, columns={"rain": "zeros"}, prior=p).fit(frame) for p in ("learned", "paper")
    )
    first = MAPDP(1.0, family=learned.family_, init=paper.labels_, search="icm", n_init=1).fit(frame)
    assert first.log_joint_ > paper.log_joint_
    assert learned.family_.columns[0].special != paper.family_.columns[0].special


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Categorical([[0, 1]], [[1.0, 1.0]]),), "one column of numbers"),
        ((Bernoulli([1.0], [1.0]),), "one column of numbers"),
        ((DiagonalGaussian([0.0, 1.0], 1.0, 1.0, [1.0, 1.0]),), "one column of numbers"),
        ((ZEROS,), "one column of numbers"),
        ((Poisson,), "one column of numbers"),
        ((Poisson([1.0], [1.0]), 0.0), "special must be positive"),
        ((Poisson([1.0], [1.0]), 1.0, 1.0, np.nan), "value"),
    ],
)
def test_what_is_no_column_with_zeros_is_told_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        ZeroInflated(*arguments)


def test_a_class_serves_all_columns(rng):
    X = np.hstack([_amounts(rng, 60), _amounts(rng, 60)])
    model = MAPDP(1.0, family=ZeroInflated).fit(X)
    assert [type(one) for one in model.family_.columns] == [ZeroInflated, ZeroInflated]
    X[3, 0] = np.nan
    assert MAPDP(1.0, family=ZeroInflated).fit(X).n_clusters_ >= 1


def test_what_is_odd_about_a_zero_and_about_another_number():
    column = Schema.infer([columns_of(pd.DataFrame({"x": [0.0, 1.0, 2.0]}))[0]], {"x": "zeros"}).columns[0]
    mostly_zero = np.array([0.0] * 9 + [5.0])
    assert _reason(column, 0.0, mostly_zero) is None
    assert _reason(column, 4.0, mostly_zero) == {"value": "4", "typical": "0 90%", "nats": 2.2}  # log 9
    hardly_zero = np.array([0.0, 4.0, 6.0, 4.0, 6.0])
    assert _reason(column, 0.0, hardly_zero) == {"value": "0", "typical": "5", "nats": 1.39}  # log 4
    assert _reason(column, 7.0, hardly_zero) == {"value": "7", "typical": "5", "nats": 2.0}  # two spreads
