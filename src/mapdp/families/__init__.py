"""One likelihood per file; import them from here."""

from mapdp.families.bernoulli import Bernoulli
from mapdp.families.binomial import Binomial
from mapdp.families.blocks import Blocks
from mapdp.families.categorical import Categorical
from mapdp.families.diagonal_gaussian import DiagonalGaussian
from mapdp.families.exponential import Exponential
from mapdp.families.fixed_gaussian import FixedGaussian
from mapdp.families.gaussian import Gaussian
from mapdp.families.mixed import Mixed
from mapdp.families.negative_binomial import Geometric, NegativeBinomial
from mapdp.families.ordered import Ordered
from mapdp.families.poisson import Poisson
from mapdp.families.product import Product
from mapdp.families.spherical_gaussian import SphericalGaussian

__all__ = [
    "Bernoulli",
    "Binomial",
    "Blocks",
    "Categorical",
    "DiagonalGaussian",
    "Exponential",
    "FixedGaussian",
    "Gaussian",
    "Geometric",
    "Mixed",
    "NegativeBinomial",
    "Ordered",
    "Poisson",
    "Product",
    "SphericalGaussian",
]
