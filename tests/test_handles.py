"""Values that kernels know by their address: what is written down is what machine code reads."""

import copy
import pickle
from typing import NamedTuple

import numpy as np
import pytest

from mapdp import Bernoulli, DiagonalGaussian, Gaussian, Poisson, Product
from mapdp.compiled.entries import addresses_for, array_at, invoke
from mapdp.compiled.handles import copied, handle
from mapdp.compiled.jit import is_compiled, kernel


class Inner(NamedTuple):
    weights: np.ndarray
    share: float


class Outer(NamedTuple):
    first: int
    inner: Inner
    table: np.ndarray
    cube: np.ndarray
    last: float


def _weighed(bank, k, x, n, scratch):
    outer, row = bank[0], array_at(x, n)
    total = outer.first + outer.last * outer.inner.share + scratch[0][0, 1]
    for j in range(row.shape[0]):
        total += row[j] * outer.inner.weights[j] * outer.table[j, k] * outer.cube[j, 0, k]
    return total


@kernel
def _call(known, k, x, scratch):
    return invoke(known.addresses[0], (known.memory, k, x, scratch.memory))


def outer(rng):
    inner = Inner(rng.normal(size=3), 0.25)
    return Outer(7, inner, rng.normal(size=(3, 4)), rng.normal(size=(3, 2, 4)), -1.5)


@pytest.mark.skipif(not is_compiled(), reason="addresses are of machine code")
def test_machine_code_reads_what_python_wrote(rng):
    bank, x, scratch = outer(rng), rng.normal(size=3), np.arange(4.0).reshape(2, 2)
    known = handle(bank, addresses_for([(_weighed, "bias")], bank, scratch))
    for k in range(4):
        expected = (
            7 - 1.5 * 0.25 + 1.0 + (x * bank.inner.weights * bank.table[:, k] * bank.cube[:, 0, k]).sum()
        )
        assert _call(known, k, x, handle(scratch)) == pytest.approx(expected, rel=1e-13)


def test_a_handle_shares_its_arrays_and_a_copy_does_not(rng):
    known = handle(outer(rng))
    again = copied(known)
    known.contents.table[0, 0] = 99.0
    assert again.contents.table[0, 0] != 99.0
    assert again.memory[0] == known.memory[0] == 7
    assert not np.array_equal(again.memory, known.memory)  # other addresses


def test_a_handle_belongs_to_its_process(rng):
    with pytest.raises(TypeError, match="pickle its contents"):
        pickle.dumps(handle(outer(rng)))


@pytest.mark.parametrize("part", [True, "word", np.zeros((4, 4))[:, ::2], np.float32(1.0)])
def test_only_what_machine_code_can_read_is_written(part):
    with pytest.raises(TypeError, match="bank"):
        handle((part,))


@pytest.mark.parametrize(
    "family",
    [
        DiagonalGaussian([0.0, 0.0], 1.0, 1.0, [1.0, 1.0]),
        Gaussian([0.0, 0.0], 1.0, 3.0, np.eye(2)),
        Product([(Poisson(1.0, 1.0), [0]), (Bernoulli(1.0, 1.0), [1])]),
    ],
    ids=lambda family: type(family).__name__,
)
def test_families_that_were_used_can_be_copied_and_pickled(family):
    X = [[1.0, 0.0], [2.0, 1.0]]
    expected = family.log_marginal(X)
    family.bank(4)
    for again in (copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert again.log_marginal(X) == expected
