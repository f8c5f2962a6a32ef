import hypothesis
import numpy as np
import pytest

# The first example of a test may compile, so time limits per example would only measure that.
hypothesis.settings.register_profile("house", deadline=None, derandomize=True)
hypothesis.settings.load_profile("house")


@pytest.fixture(params=[0, 1])
def seed(request):
    return request.param


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)
