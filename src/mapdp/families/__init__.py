"""One likelihood per file; import them from here."""

from mapdp.families.bernoulli import Bernoulli
from mapdp.families.categorical import Categorical
from mapdp.families.diagonal_gaussian import DiagonalGaussian
from mapdp.families.exponential import Exponential
from mapdp.families.fixed_gaussian import FixedGaussian
from mapdp.families.gaussian import Gaussian
from mapdp.families.poisson import Poisson
from mapdp.families.product import Product
from mapdp.families.trials import Binomial, Geometric, NegativeBinomial

__all__ = [
    "Bernoulli",
    "Binomial",
    "Categorical",
    "DiagonalGaussian",
    "Exponential",
    "FixedGaussian",
    "Gaussian",
    "Geometric",
    "NegativeBinomial",
    "Poisson",
    "Product",
]
