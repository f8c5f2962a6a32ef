"""Cluster data without saying how many clusters there are."""

import importlib
import sys as _sys
from typing import Any

if _sys.argv[:1] in (["-m"], ["mapdp"]) or _sys.argv[0].endswith(("/mapdp", "mapdp.exe")):
    # the command line itself is starting, which takes a second or two: Ctrl-C is no traceback even then
    importlib.import_module("mapdp.cli.interrupts").while_loading()

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
from mapdp.estimators.refine import refine
from mapdp.families import (
    AnyLikelihood,
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    DiagonalGaussian,
    Exponential,
    FixedGaussian,
    Gamma,
    Gaussian,
    Geometric,
    LinearRegression,
    LogNormal,
    Mixed,
    Multinomial,
    NegativeBinomial,
    Ordered,
    Poisson,
    Product,
    SharedGaussian,
    SphericalGaussian,
    StudentT,
    VonMises,
    Weibull,
    ZeroInflated,
    grid,
)
from mapdp.outputs.c_code import export_c, import_state
from mapdp.outputs.compare import compare
from mapdp.outputs.saving import load, save
from mapdp.partitions.process import DirichletProcess, MixtureOfFiniteMixtures, PitmanYor

__version__ = "0.2.0"


def __getattr__(name: str) -> Any:
    """Load plots when they are first used: most programs draw none."""
    if name == "plots":
        return importlib.import_module("mapdp.plots")
    raise AttributeError(f"module 'mapdp' has no attribute {name!r}")


__all__ = [
    "MAPDP",
    "MAPHMM",
    "AnyLikelihood",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "DPMeans",
    "DiagonalGaussian",
    "DirichletProcess",
    "Exponential",
    "FixedGaussian",
    "Gamma",
    "Gaussian",
    "Geometric",
    "GibbsDPM",
    "HierarchicalMAPDP",
    "LinearRegression",
    "LogNormal",
    "Mixed",
    "MixtureOfFiniteMixtures",
    "Multinomial",
    "NegativeBinomial",
    "NestedMAPDP",
    "Ordered",
    "PitmanYor",
    "Poisson",
    "Product",
    "SharedGaussian",
    "SphericalGaussian",
    "Step",
    "StudentT",
    "VonMises",
    "Weibull",
    "ZeroInflated",
    "compare",
    "datasets",
    "diagnostics",
    "export_c",
    "grid",
    "import_state",
    "in_blocks",
    "load",
    "log_joint",
    "log_pseudo_likelihood",
    "plots",
    "refine",
    "sample_crp",
    "sample_mixture",
    "save",
    "selection",
]
