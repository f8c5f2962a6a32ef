"""What cannot be C code is refused before anything is written; a state of another model is noticed."""

import numpy as np
import pandas
import pytest

import mapdp
from mapdp import MAPDP, MAPHMM, GibbsDPM, HierarchicalMAPDP, MixtureOfFiniteMixtures, NestedMAPDP
from mapdp.outputs.c_code.choice import kinds_of
from mapdp.outputs.c_code.writer import fingerprint


def two_blobs(rng, n=60):
    return rng.normal(size=(n, 2)) + 8.0 * (np.arange(n) % 2)[:, None]


def refused(model, folder, error=ValueError, **options):
    with pytest.raises(error) as told:
        mapdp.export_c(model, folder, **options)
    assert not folder.exists()
    return str(told.value)


@pytest.mark.parametrize("kind", [HierarchicalMAPDP, NestedMAPDP, MAPHMM, GibbsDPM])
def test_models_whose_predictions_are_not_a_plain_mixture(kind, tmp_path, rng):
    model = kind(n_sweeps=10) if kind is GibbsDPM else kind()
    words = refused(model.fit(two_blobs(rng)), tmp_path / "c", TypeError)
    assert "model must be a fitted MAPDP" in words


def test_many_components_that_a_float_cannot_add_up(tmp_path, rng):
    model = MAPDP(process=MixtureOfFiniteMixtures(rate=200.0)).fit(two_blobs(rng))
    assert "rate of at most 20" in refused(model, tmp_path / "c", learn=True)
    mapdp.export_c(model, tmp_path / "c")


def test_levels_that_are_one_float(tmp_path, rng):
    codes = np.array([40_000_001.0, 40_000_002.0, 40_000_003.0])[np.arange(90) % 3]
    frame = pandas.DataFrame({"x": rng.normal(9.0 * (np.arange(90) % 3)), "code": codes})
    model = MAPDP(columns={"code": "category"}).fit(frame)
    assert "all levels of 'code'" in refused(model, tmp_path / "c", precision="float")
    mapdp.export_c(model, tmp_path / "c")


def stamp(model):
    return fingerprint(model.mixture_, kinds_of(model.mixture_, "double", learn=True))


def test_states_of_other_models_have_other_fingerprints(tmp_path, rng):
    X = two_blobs(rng)
    model = MAPDP(alpha=1.0, covariance="diagonal").fit(X)
    others = [MAPDP(alpha=1.0, covariance="diagonal").fit(X + 1024.0)]
    others += [MAPDP(alpha=1.5, covariance="diagonal").fit(X)]
    assert stamp(model) not in [stamp(one) for one in others]
    mapdp.save(model, tmp_path / "kept.mapdp")
    assert stamp(mapdp.load(tmp_path / "kept.mapdp")) == stamp(model)


def test_words_are_part_of_the_fingerprint(rng):
    X, tables = rng.normal(size=60), []
    for words in (["red", "green"], ["oil", "water"]):
        tables.append(pandas.DataFrame({"x": X + 9.0 * (np.arange(60) % 2), "word": words * 30}))
    one, other = (MAPDP(alpha=1.0).fit(table) for table in tables)
    assert stamp(one) != stamp(other)
