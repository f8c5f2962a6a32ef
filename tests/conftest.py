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


def pytest_collection_modifyitems(items):
    """Keep the tests of a family together, so that two workers do not compile for the same families."""
    items.sort(key=_family_of)


def _family_of(item):
    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return getattr(case, "name", "")
