"""Saved models come back as they were; anything else is refused with a sentence."""

import json
import pickle
import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

import mapdp
from mapdp import MAPDP, DiagonalGaussian, DPMeans, Gaussian, GibbsDPM, PitmanYor
from mapdp.outputs.saving import from_bytes, to_bytes
from tests.contract.cases import over_families


def mixed_table(rng, n=60):
    group = rng.integers(0, 2, n)
    return pd.DataFrame(
        {"x": rng.normal(6.0 * group), "c": np.array(["a", "b", "c"])[group + rng.integers(0, 2, n)]}
    )


@over_families
def test_every_family_comes_back_as_it_was(case, rng):
    X = case.rows(rng, 30)
    model = MAPDP(alpha=1.0, family=case.family).fit(X)
    again = from_bytes(to_bytes(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.describe()) == str(model.describe())
    assert again.log_joint_ == model.log_joint_
    assert again.trace_ == model.trace_
    assert to_bytes(again) == to_bytes(model)


def test_files_keep_names_kinds_and_parameters(rng, tmp_path):
    table = mixed_table(rng)
    model = MAPDP(n_init=2, random_state=3).fit(table)
    mapdp.save(model, tmp_path / "m.mapdp")
    again = mapdp.load(tmp_path / "m.mapdp")
    assert again.schema_ == model.schema_
    assert again.get_params() == model.get_params()
    assert list(again.feature_names_in_) == ["x", "c"]
    np.testing.assert_array_equal(again.labels_, model.labels_)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table.rename(columns={"x": "y"}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.mapdp"]


def test_weighted_models_and_pickles_come_back(rng):
    table = mixed_table(rng)
    model = MAPDP(alpha=1.0, weights="repeats").fit(table, sample_weight=np.full(60, 2))
    for again in (from_bytes(to_bytes(model)), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
        np.testing.assert_array_equal(again.cluster_sizes_, model.cluster_sizes_)


def test_every_estimator_comes_back(rng):
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9.0])
    means = DPMeans(lam=20.0).fit(X)
    np.testing.assert_array_equal(from_bytes(to_bytes(means)).predict(X), means.predict(X))
    chain = GibbsDPM(n_sweeps=20, n_chains=2, random_state=0).fit(X)
    again = from_bytes(to_bytes(chain))
    np.testing.assert_array_equal(again.samples_, chain.samples_)
    np.testing.assert_array_equal(again.score_samples(X), chain.score_samples(X))
    np.testing.assert_array_equal(again.n_clusters_posterior_, chain.n_clusters_posterior_)
    np.testing.assert_array_equal(again.predict_proba(X), chain.predict_proba(X))


def test_parameters_of_all_sorts_come_back(rng):
    """Classes, families, processes, dicts and arrays are kept; a callback is not, and that is said."""
    X = rng.normal(size=(20, 2))
    model = MAPDP(alpha=1.0, family=Gaussian, init=np.zeros(20, dtype=int)).fit(X)
    again = from_bytes(to_bytes(model))
    assert again.family is Gaussian
    np.testing.assert_array_equal(again.init, model.init)
    model = MAPDP(process=PitmanYor(2.0, 0.1), columns={0: "real"}).fit(X)
    again = from_bytes(to_bytes(model))
    assert again.process == model.process
    assert again.columns == {0: "real"}
    model = MAPDP(alpha=1.0, callback=lambda step: False).fit(X)
    with pytest.warns(UserWarning, match="callback was not kept"):
        assert from_bytes(to_bytes(model)).callback is None


@pytest.mark.parametrize("family", [Gaussian, None])
def test_a_loaded_model_compares_as_it_did(family, rng):
    """What is fitted again, with some rows left out, is the same model with the same parameters."""
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9.0])
    model = MAPDP(alpha=1.0, discount=0.2, family=family, n_init=2, random_state=3).fit(X)
    again = from_bytes(to_bytes(model))
    assert str(again.get_params()) == str(model.get_params())
    before, after = mapdp.compare([model, model], X), mapdp.compare([again, again], X)
    assert str(before) == str(after)


def test_a_class_of_another_with_our_name_is_not_taken_for_ours(rng):
    kind = type("Gaussian", (DiagonalGaussian,), {})
    model = MAPDP(alpha=1.0, family=kind).fit(rng.normal(size=(20, 2)))
    with pytest.raises(TypeError, match="Gaussian cannot be kept in a file"):
        to_bytes(model)


def test_the_same_model_is_the_same_bytes(rng):
    model = MAPDP(alpha=1.0).fit(mixed_table(rng))
    assert to_bytes(model) == to_bytes(model) == to_bytes(from_bytes(to_bytes(model)))


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(TypeError, match=r"must be a fitted MAPDP, GibbsDPM, DPMeans, .*MAPHMM, got KMeans"):
        mapdp.save(KMeans(), tmp_path / "g")
    with pytest.raises(Exception, match="not fitted"):
        mapdp.save(MAPDP(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def saved():
    table = mixed_table(np.random.default_rng(0))
    return to_bytes(MAPDP(alpha=1.0).fit(table)), table


def header_of(content):
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def with_header(header, rest):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + rest


def test_a_newer_file_and_a_foreign_one_are_refused(saved):
    header, rest = header_of(saved[0])
    for version, hint in ((3, "update mapdp"), (1, "fit and save the model again")):
        about = json.loads(header["__metadata__"]["mapdp"]) | {"version": version}
        header["__metadata__"]["mapdp"] = json.dumps(about)
        with pytest.raises(ValueError, match=f"version {version}, and this mapdp reads 2. Hint: {hint}"):
            from_bytes(with_header(header, rest))
    header["__metadata__"] = {}
    with pytest.raises(ValueError, match="not a mapdp model"):
        from_bytes(with_header(header, rest))
    for content in (b"", b"row,cluster\n1,2\n", pickle.dumps([1, 2])):
        with pytest.raises(ValueError, match="not a mapdp model"):
            from_bytes(content)


def test_a_file_that_names_another_class_is_refused(saved):
    header, rest = header_of(saved[0])
    about = json.loads(header["__metadata__"]["mapdp"])
    about["model"] = about["model"].replace('"Mixed"', '"os.system"')
    header["__metadata__"]["mapdp"] = json.dumps(about)
    with pytest.raises(ValueError, match="damaged"):
        from_bytes(with_header(header, rest))


@settings(max_examples=200)
@given(data=st.data())
def test_damaged_files_are_refused_never_misread(saved, data):
    """Cut short, with bits flipped, or with bytes replaced: an error each time."""
    content, _ = saved
    how = data.draw(st.sampled_from(["cut", "flip", "replace", "append"]))
    if how == "cut":
        broken = content[: data.draw(st.integers(0, len(content) - 1))]
    elif how == "append":
        broken = content + data.draw(st.binary(min_size=1, max_size=9))
    else:
        place = data.draw(st.integers(0, len(content) - 1))
        byte = content[place] ^ (1 << data.draw(st.integers(0, 7)))
        if how == "replace":
            byte = data.draw(st.integers(0, 255).filter(lambda b: b != content[place]))
        broken = content[:place] + bytes([byte]) + content[place + 1 :]
    try:
        again = from_bytes(broken)
    except ValueError:
        return
    assert to_bytes(again) == content  # a space in the padding, say: nothing that is said has changed
