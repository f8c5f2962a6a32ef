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
from mapdp.compiled.moulds import Mould, cast
from mapdp.families.slots import arrays_of
from tests.contract.cases import over_likelihoods


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
    bank, scratch = outer(rng), np.arange(4.0).reshape(2, 2)
    assert_is_read(handle(bank, addresses_for([(_weighed, "bias")], bank, scratch)), scratch, rng)


def assert_is_read(known, scratch, rng):
    """Compare what machine code reads with what Python does."""
    bank, x = known.contents, rng.normal(size=3)
    for k in range(4):
        expected = (
            7 - 1.5 * 0.25 + 1.0 + (x * bank.inner.weights * bank.table[:, k] * bank.cube[:, 0, k]).sum()
        )
        assert _call(known, k, x, handle(scratch)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.skipif(not is_compiled(), reason="addresses are of machine code")
def test_machine_code_reads_the_arrays_of_a_cast(rng):
    bank, scratch = outer(rng), np.arange(4.0).reshape(2, 2)
    mould = Mould(handle(bank, addresses_for([(_weighed, "bias")], bank, scratch)))
    one, other = mould.cast(), mould.cast()
    for array in (one.contents.inner.weights, one.contents.table, one.contents.cube):
        array += 1.0
    assert_is_read(one, scratch, rng)
    assert_is_read(other, scratch, rng)
    np.testing.assert_array_equal(other.contents.table, bank.table)
    np.testing.assert_array_equal(one.contents.table, bank.table + 1.0)


@over_likelihoods
def test_casts_of_chairs_are_like_new_ones_and_share_no_array(case):
    new, *casts = (case.family._new_chairs(8), *[case.family.chairs(8) for _ in range(4)])
    assert casts[-1].known is None  # nobody has looked it up
    expected = list(arrays_of(new.contents))
    for one in casts:
        arrays = list(arrays_of(one.contents))
        others = [array for other in casts if other is not one for array in arrays_of(other.contents)]
        for array, like in zip(arrays, expected, strict=True):
            np.testing.assert_array_equal(array, like)
            assert not any(np.shares_memory(array, other) for other in others)
            assert [array is other for other in arrays] == [like is other for other in expected]
        assert (one.addresses == new.addresses).all()
        assert len(one.memory) == len(new.memory)


def test_what_is_large_or_needed_once_has_no_mould():
    class Owner:
        pass

    owner, small, large = Owner(), (np.zeros(4),), (np.zeros(2**14),)
    for contents, is_cast in ((small, [False, False, True]), (large, [False] * 3)):
        made = [cast(owner, len(contents[0]), lambda c=contents: handle(c)) for _ in range(3)]
        assert [one.contents[0] is not contents[0] for one in made] == is_cast


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
