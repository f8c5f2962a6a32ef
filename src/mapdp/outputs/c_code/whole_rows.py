"""Clusters that are described as a whole in C: round ones, a common shape, full covariances."""

import numpy as np

from mapdp.families import Gaussian, SharedGaussian, SphericalGaussian
from mapdp.families.base import Bank
from mapdp.families.gaussian.full_bank import GaussianPrior
from mapdp.families.gaussian.spherical import SphericalPrior
from mapdp.families.gaussian.student import blur_of
from mapdp.outputs.c_code.kinds import Chairs, Kind, moments
from mapdp.outputs.c_code.text import CArray

_D, _TRIANGLE = "MAPDP_FEATURES", "MAPDP_TRIANGLE"


def sphere(family: SphericalGaussian | SharedGaussian, bank: Bank, chairs: Chairs, learn: bool) -> Kind:
    """Return round clusters; those of a common shape are round once rows are mapped, and know no gaps."""
    prior, strength = bank.prior, bank.prior.strength + bank.n
    shape = prior.shape + 0.5 * len(prior.precision) * bank.n
    scalars = {"strength": prior.strength, "shape": prior.shape, "rate": prior.rate}
    scalars["log_rate"] = np.log(prior.rate)
    return Kind(
        "sphere",
        {"MAPDP_SPHERES_HAVE_GAPS": int(isinstance(family, SphericalGaussian))},
        [*_sphere_columns(family, prior, chairs), *(_scalars(scalars) if learn else [])],
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


def _sphere_columns(
    family: SphericalGaussian | SharedGaussian, prior: SphericalPrior, chairs: Chairs
) -> list[CArray]:
    """Return the constants of each column."""
    d = len(prior.precision)
    if isinstance(family, SphericalGaussian):
        blur, log_variance = prior.precision * blur_of(family.resolution), -np.log(prior.precision)
        reach = chairs.reach(family.widths)
    else:  # mapped columns share what the common shape has
        blur, log_variance = np.full(d, prior.blur / d), np.full(d, prior.log_variances / d)
        reach = chairs.reach(np.ones(d))
    return [
        CArray("reach", _D, reach, "largest number, from the prior mean"),
        CArray("precision", _D, prior.precision, "one over the squared unit of a column"),
        CArray("log_variance", _D, log_variance, "log of the squared unit"),
        CArray("blur", _D, blur, "what rounding adds to b for each row"),
    ]


def _scalars(values: dict[str, float]) -> list[CArray]:
    return [CArray(name, "1", np.array([value]), "of the prior") for name, value in values.items()]


def full(family: Gaussian, bank: Bank, chairs: Chairs, learn: bool) -> Kind:
    """Return clusters with a full covariance matrix."""
    lower = np.tril_indices(family.n_features)
    strength = bank.prior.strength + bank.n
    factor = _unit_factors(bank.wider)[lower]
    return Kind(
        "full",
        {_TRIANGLE: len(lower[0])},
        _full_prior(family, bank.prior, chairs, learn),
        [
            chairs.predictive("mean", _D, bank.mean, "posterior mean, from the prior mean"),
            chairs.predictive("factor", _TRIANGLE, factor, "L D L' of the scale"),
            chairs.predictive("dof", "1", bank.prior.dof + bank.n, "degrees of freedom of the posterior"),
            chairs.predictive("share", "1", strength / (strength + 1.0), "c / (c + 1)"),
            chairs.predictive("peak", "1", bank.constant, "log density at the mean"),
        ],
        _full_sums(bank, chairs),
        ("log1p", "gamma"),
        ("exact", "exact_sums", "about_means"),
        (),
    )


def _full_prior(family: Gaussian, prior: GaussianPrior, chairs: Chairs, learn: bool) -> list[CArray]:
    constants = [
        CArray("reach", _D, chairs.reach(family.widths), "largest number, from the prior mean"),
        CArray("pivot", _D, prior.pivots**2, "least variance of a column given those before it"),
        CArray("rounding", _D, prior.rounding, "variance of the rounding error"),
    ]
    if learn:
        scalars = {"strength": prior.strength, "dof": prior.dof, "log_prior_det": prior.log_det}
        scale = prior.scale[np.tril_indices(family.n_features)]
        constants += [*_scalars(scalars), CArray("prior_scale", _TRIANGLE, scale, "of the prior")]
    return constants


def _full_sums(bank: Bank, chairs: Chairs) -> list[CArray]:
    lower = np.tril_indices(bank.mean.shape[0])
    return [
        chairs.sums("n", "1", bank.n, "rows"),
        chairs.sums("sum", _D, bank.sum_high, "sum of x, from the prior mean, ..."),
        chairs.sums("sum_low", _D, bank.sum_low, "... and what it lost to rounding"),
        chairs.sums("product", _TRIANGLE, bank.product_high[lower], "sum of xx' ..."),
        chairs.sums("product_low", _TRIANGLE, bank.product_low[lower], "... and what it lost to rounding"),
    ]


def _unit_factors(factor: np.ndarray) -> np.ndarray:
    """Return Cholesky factors (D, D, K) as L D L': ones on the diagonal, in whose place D stands."""
    d = factor.shape[0]
    pivots = factor[np.arange(d), np.arange(d)]  # (D, K)
    with np.errstate(divide="ignore", invalid="ignore"):  # chairs that were never refreshed are not read
        unit = factor / pivots[None]
    unit[np.arange(d), np.arange(d)] = pivots**2
    return unit
