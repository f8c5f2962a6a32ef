"""Cluster data without being told how many clusters there are."""

from mapdp import datasets, diagnostics, selection
from mapdp.comparison import compare
from mapdp.estimators.dp_means import DPMeans
from mapdp.estimators.gibbs import GibbsDPM
from mapdp.estimators.map_dp import MAPDP
from mapdp.families import (
    Bernoulli,
    Binomial,
    Categorical,
    DiagonalGaussian,
    Exponential,
    FixedGaussian,
    Gaussian,
    Geometric,
    Mixed,
    NegativeBinomial,
    Ordered,
    Poisson,
    Product,
    SphericalGaussian,
)
from mapdp.model import log_joint, log_pseudo_likelihood, sample_crp, sample_mixture
from mapdp.process import DirichletProcess, MixtureOfFiniteMixtures, PitmanYor
from mapdp.saving import load, save
from mapdp.trace import Step

__version__ = "0.1.0"

__all__ = [
    "MAPDP",
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
    "Mixed",
    "MixtureOfFiniteMixtures",
    "NegativeBinomial",
    "Ordered",
    "PitmanYor",
    "Poisson",
    "Product",
    "SphericalGaussian",
    "Step",
    "compare",
    "datasets",
    "diagnostics",
    "load",
    "log_joint",
    "log_pseudo_likelihood",
    "sample_crp",
    "sample_mixture",
    "save",
    "selection",
]
