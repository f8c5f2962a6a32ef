"""Searches find the best seating of all on problems that are small enough to know it."""

import pytest

from mapdp.search.structured.franchise import FranchiseRun
from mapdp.search.structured.markov import MarkovRun
from mapdp.search.structured.nested import NestedRun
from tests.structured.tiny import share_found


@pytest.mark.parametrize("kind", [FranchiseRun, MarkovRun, NestedRun])
def test_one_search_finds_the_best_seating_of_all(kind):
    """All of 12 tables; `benchmarks/bench_tiny.py` counts 500."""
    assert share_found(kind, n_tables=12, n_init=1)[0] == 1.0


@pytest.mark.parametrize("kind", [FranchiseRun, MarkovRun, NestedRun])
def test_five_starts_find_it_too(kind):
    """All of 3 other tables; the benchmark counts more."""
    assert share_found(kind, n_tables=3, n_init=5, seed=1)[0] == 1.0
