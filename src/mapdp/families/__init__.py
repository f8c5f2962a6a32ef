"""One likelihood per file; import them from here."""

from mapdp.families.bernoulli import Bernoulli
from mapdp.families.categorical import Categorical
from mapdp.families.diagonal_gaussian import DiagonalGaussian
from mapdp.families.gaussian import Gaussian
from mapdp.families.poisson import Poisson
from mapdp.families.product import Product

__all__ = ["Bernoulli", "Categorical", "DiagonalGaussian", "Gaussian", "Poisson", "Product"]
