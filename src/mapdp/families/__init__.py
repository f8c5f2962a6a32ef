"""One likelihood per file; import them from here."""

from mapdp.families.counts.binomial import Binomial
from mapdp.families.counts.negative_binomial import Geometric, NegativeBinomial
from mapdp.families.counts.poisson import Poisson
from mapdp.families.exponential import Exponential
from mapdp.families.gaussian.diagonal import DiagonalGaussian
from mapdp.families.gaussian.fixed import FixedGaussian
from mapdp.families.gaussian.full import Gaussian
from mapdp.families.gaussian.log_normal import LogNormal
from mapdp.families.gaussian.shared import SharedGaussian
from mapdp.families.gaussian.spherical import SphericalGaussian
from mapdp.families.grid.any_likelihood import AnyLikelihood
from mapdp.families.grid.beta import Beta
from mapdp.families.grid.candidates import grid
from mapdp.families.grid.gamma import Gamma
from mapdp.families.grid.student_t import StudentT
from mapdp.families.grid.von_mises import VonMises
from mapdp.families.grid.weibull import Weibull
from mapdp.families.levels.bernoulli import Bernoulli
from mapdp.families.levels.categorical import Categorical
from mapdp.families.levels.multinomial import Multinomial
from mapdp.families.levels.ordered import Ordered
from mapdp.families.mixed import Mixed
from mapdp.families.product import Product
from mapdp.families.regression import LinearRegression
from mapdp.families.row_blocks import Blocks
from mapdp.families.zero_inflated import ZeroInflated

__all__ = [
    "AnyLikelihood",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Blocks",
    "Categorical",
    "DiagonalGaussian",
    "Exponential",
    "FixedGaussian",
    "Gamma",
    "Gaussian",
    "Geometric",
    "LinearRegression",
    "LogNormal",
    "Mixed",
    "Multinomial",
    "NegativeBinomial",
    "Ordered",
    "Poisson",
    "Product",
    "SharedGaussian",
    "SphericalGaussian",
    "StudentT",
    "VonMises",
    "Weibull",
    "ZeroInflated",
    "grid",
]
