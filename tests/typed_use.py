"""A program as a user may write it; `mypy --strict` (scripts/check) sees the types of what is public."""

from pathlib import Path
from typing import assert_type

import numpy as np

import mapdp


def uses_estimators(X: np.ndarray) -> None:
    model = mapdp.MAPDP(alpha="auto", covariance="full", random_state=0).fit(X)
    assert_type(model, mapdp.MAPDP)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.predict_proba(X), np.ndarray)
    assert_type(model.score_samples(X), np.ndarray)
    assert_type(model.score(X), float)
    assert_type(model.log_joint_of(X, model.labels_), float)
    assert_type(model.cut(n_clusters=2), mapdp.MAPDP)
    assert_type(model.sample(3), tuple[np.ndarray, np.ndarray])
    assert_type(model.partial_fit(X, half_life=100.0), mapdp.MAPDP)
    assert_type(mapdp.GibbsDPM(n_sweeps=10).fit(X), mapdp.GibbsDPM)
    assert_type(mapdp.DPMeans().fit(X), mapdp.DPMeans)
    assert_type(mapdp.HierarchicalMAPDP().fit(X, groups=[0, 0, 1]), mapdp.HierarchicalMAPDP)
    assert_type(mapdp.MAPHMM().fit(X), mapdp.MAPHMM)


def uses_priors(X: np.ndarray) -> None:
    family = mapdp.DiagonalGaussian.empirical(X, scale=0.2)
    assert_type(family, mapdp.DiagonalGaussian)
    process = mapdp.MixtureOfFiniteMixtures(concentration=1.0, rate=2.0)
    assert_type(process.log_eppf([2, 1]), float)
    assert_type(mapdp.sample_crp(10, 1.0, np.random.default_rng(0)), np.ndarray)
    mapdp.MAPDP(process=process, family=family).fit(X)


def uses_files(model: mapdp.MAPDP, folder: Path) -> None:
    mapdp.save(model, folder / "model.mapdp")
    mapdp.export_c(model, folder, precision="float", capacity=16, learn=True)
    mapdp.import_state(model, (folder / "state.bin").read_bytes())
