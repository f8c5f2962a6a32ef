"""Cluster data without saying how many clusters there are."""

import importlib
from typing import Any

from mapdp import datasets, diagnostics, selection
from mapdp.data.blocks import in_blocks
from mapdp.engine.model import log_joint, log_pseudo_likelihood, sample_crp, sample_mixture
from mapdp.engine.trace import Step
from mapdp.estimators.dp_means import DPMeans
from mapdp.estimators.gibbs import GibbsDPM
from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.nested import NestedMAPDP
from mapdp.families import (
    Bernoulli,
    Binomial,
    Categorical,
    DiagonalGaussian,
    Exponential,
    FixedGaussian,
    Gaussian,
    Geometric,
    LogNormal,
    Mixed,
    NegativeBinomial,
    Ordered,
    Poisson,
    Product,
    SharedGaussian,
    SphericalGaussian,
)
from mapdp.outputs.compare import compare
from mapdp.outputs.saving import load, save
from mapdp.partitions.process import DirichletProcess, MixtureOfFiniteMixtures, PitmanYor

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load plots when they are first used: most programs draw none."""
    if name == "plots":
        return importlib.import_module("mapdp.plots")
    raise AttributeError(f"module 'mapdp' has no attribute {name!r}")


__all__ = [
    "MAPDP",
    "MAPHMM",
    "Bernoulli",
    "Binomial",
    "Categorical",
    "DPMeans",
    "DiagonalGaussian",
    "DirichletProcess",
    "Exponential",
    "FixedGaussian",
    "Gaussian",
    "Geometric",
    "GibbsDPM",
    "HierarchicalMAPDP",
    "LogNormal",
    "Mixed",
    "MixtureOfFiniteMixtures",
    "NegativeBinomial",
    "NestedMAPDP",
    "Ordered",
    "PitmanYor",
    "Poisson",
    "Product",
    "SharedGaussian",
    "SphericalGaussian",
    "Step",
    "compare",
    "datasets",
    "diagnostics",
    "in_blocks",
    "load",
    "log_joint",
    "log_pseudo_likelihood",
    "plots",
    "sample_crp",
    "sample_mixture",
    "save",
    "selection",
]
