"""Clusters that are described as a whole in C: round ones, a common shape, full covariances."""

import numpy as np

from mapdp.families import Gaussian, SharedGaussian, SphericalGaussian
from mapdp.families.base import Bank
from mapdp.families.gaussian.student import blur_of
from mapdp.outputs.c_code.kinds import Chairs, Kind, moments
from mapdp.outputs.c_code.text import Table

_D, _TRIANGLE = "MAPDP_FEATURES", "MAPDP_TRIANGLE"


def sphere(family: SphericalGaussian | SharedGaussian, bank: Bank, chairs: Chairs, learn: bool) -> Kind:
    """Return round clusters; those of a common shape are round once rows are mapped, and know no gaps."""
    prior, d = bank.prior, len(bank.prior.precision)
    if isinstance(family, SphericalGaussian):
        blur, log_variance = prior.precision * blur_of(family.resolution), -np.log(prior.precision)
        reach = chairs.reach(family.widths)
    else:  # mapped columns share what the common shape has
        blur, log_variance = np.full(d, prior.blur / d), np.full(d, prior.log_variances / d)
        reach = chairs.reach(np.ones(d))
    constants = [
        Table("reach", _D, reach, "largest number, from the prior mean"),
        Table("precision", _D, prior.precision, "one over the squared unit of a column"),
        Table("log_variance", _D, log_variance, "log of the squared unit"),
        Table("blur", _D, blur, "what rounding adds to b for each row"),
    ]
    strength, shape = prior.strength + bank.n, prior.shape + 0.5 * d * bank.n
    if learn:
        scalars = {"strength": prior.strength, "shape": prior.shape, "rate": prior.rate}
        scalars["log_rate"] = np.log(prior.rate)
        constants += [
            Table(name, "1", np.array([value]), "of the prior") for name, value in scalars.items()
        ]
    return Kind(
        "sphere",
        {"MAPDP_SPHERES_HAVE_GAPS": int(isinstance(family, SphericalGaussian))},
        constants,
        [
            chairs.predictive("mean", _D, bank.mean, "posterior mean, from the prior mean"),
            chairs.predictive("shape", "1", shape, "a of the posterior"),
            chairs.predictive("rate", "1", bank.rate, "b of the posterior"),
            chairs.predictive("share", "1", strength / (strength + 1.0), "c / (c + 1)"),
            chairs.predictive("peak", "1", bank.constant, "log density at the mean"),
        ],
        moments(bank, chairs, "1", _D),
        ("log1p", "gamma"),
        ("exact", "exact_sums", "about_means"),
        (),
    )


def full(family: Gaussian, bank: Bank, chairs: Chairs, learn: bool) -> Kind:
    """Return clusters with a full covariance matrix."""
    prior, d = bank.prior, family.n_features
    lower = np.tril_indices(d)
    constants = [
        Table("reach", _D, chairs.reach(family.widths), "largest number, from the prior mean"),
        Table("pivot", _D, prior.pivots**2, "least variance of a column given those before it"),
        Table("rounding", _D, prior.rounding, "variance of the rounding error"),
    ]
    if learn:
        scalars = {"strength": prior.strength, "dof": prior.dof, "log_prior_det": prior.log_det}
        constants += [
            Table(name, "1", np.array([value]), "of the prior") for name, value in scalars.items()
        ]
        constants.append(Table("prior_scale", _TRIANGLE, prior.scale[lower], "of the prior"))
    strength = prior.strength + bank.n
    products = (bank.product_high[lower], bank.product_low[lower])
    return Kind(
        "full",
        {_TRIANGLE: len(lower[0])},
        constants,
        [
            chairs.predictive("mean", _D, bank.mean, "posterior mean, from the prior mean"),
            chairs.predictive("factor", _TRIANGLE, _unit_factors(bank.wider)[lower], "L D L' of the scale"),
            chairs.predictive("dof", "1", prior.dof + bank.n, "degrees of freedom of the posterior"),
            chairs.predictive("share", "1", strength / (strength + 1.0), "c / (c + 1)"),
            chairs.predictive("peak", "1", bank.constant, "log density at the mean"),
        ],
        [
            chairs.sums("n", "1", bank.n, "rows"),
            chairs.sums("sum", _D, bank.sum_high, "sum of x, from the prior mean, ..."),
            chairs.sums("sum_low", _D, bank.sum_low, "... and what it lost to rounding"),
            chairs.sums("product", _TRIANGLE, products[0], "sum of xx' ..."),
            chairs.sums("product_low", _TRIANGLE, products[1], "... and what it lost to rounding"),
        ],
        ("log1p", "gamma"),
        ("exact", "exact_sums", "about_means"),
        (),
    )


def _unit_factors(factor: np.ndarray) -> np.ndarray:
    """Return Cholesky factors (D, D, K) as L D L': ones on the diagonal, in whose place D stands."""
    d = factor.shape[0]
    pivots = factor[np.arange(d), np.arange(d)]  # (D, K)
    with np.errstate(divide="ignore", invalid="ignore"):  # chairs that were never refreshed are not read
        unit = factor / pivots[None]
    unit[np.arange(d), np.arange(d)] = pivots**2
    return unit
