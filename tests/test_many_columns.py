"""Tables of many columns: clusters that are clear are found, by every family."""

import numpy as np
import pytest

from mapdp import MAPDP, Bernoulli, DiagonalGaussian, Poisson, SphericalGaussian
from mapdp.partitions.labels import adjusted_rand

TRUTH = np.arange(300) % 3


def measurements(rng, n_columns, apart):
    return apart * rng.normal(size=(3, n_columns))[TRUTH] + rng.normal(size=(300, n_columns))


def bits(rng, n_columns, evenness):
    share = rng.beta(evenness, evenness, size=(3, n_columns))
    return (rng.random((300, n_columns)) < share[TRUTH]).astype(float)


def counts(rng, n_columns, mean):
    return rng.poisson(rng.gamma(mean, 1.0, size=(3, n_columns))[TRUTH]).astype(float)


CASES = [
    (SphericalGaussian, measurements, 0.6),
    (SphericalGaussian, measurements, 1.0),
    (SphericalGaussian, measurements, 3.0),
    (DiagonalGaussian, measurements, 1.0),
    (Bernoulli, bits, 2.0),
    (Bernoulli, bits, 8.0),
    (Poisson, counts, 1.0),
    (Poisson, counts, 10.0),
]
over_cases = pytest.mark.parametrize(
    ("family", "draw", "setting"), CASES, ids=[f"{case[0].__name__}-{case[2]:g}" for case in CASES]
)


@over_cases
@pytest.mark.parametrize("n_columns", [300, 500])
def test_three_clusters_are_found_in_many_columns(family, draw, setting, n_columns, rng):
    X = draw(rng, n_columns, setting)
    model = MAPDP(1.0, family=family).fit(X)
    assert model.log_joint_ >= model.log_joint_of(X, TRUTH) - 1e-6
    assert adjusted_rand(TRUTH, model.labels_) > 0.95


@pytest.mark.parametrize("covariance", ["auto", "spherical"])
def test_three_clusters_are_found_in_many_columns_with_a_learned_prior(covariance, rng):
    X = measurements(rng, 300, 1.0)
    assert adjusted_rand(TRUTH, MAPDP(covariance=covariance).fit(X).labels_) == 1.0


def test_the_algorithm_of_the_paper_still_starts_as_it_is_printed(rng):
    """Seated in turn, all of these rows sit alone; only the default search knows better."""
    model = MAPDP(1.0, family=SphericalGaussian, search="icm").fit(measurements(rng, 300, 1.0)[:70])
    assert model.n_clusters_ > 35
