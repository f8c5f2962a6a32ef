"""The bank of a product: one for the first columns, and one for the rest, which may be such a pair again.

A row that has no cell of a part adds nothing to it.
"""

from typing import Any, NamedTuple

from mapdp.compiled.jit import inlined
from mapdp.families import verbs
from mapdp.families.mixed import clear, log_marginal, pour, refresh


class ProductPrior(NamedTuple):
    """Where the right bank's columns begin."""

    split: int


class ProductBank(NamedTuple):
    """The statistics of all chairs: a bank for the first columns, a bank for the rest."""

    prior: ProductPrior
    left: Any
    right: Any


verbs.clear.on(ProductBank)(clear)
verbs.refresh.on(ProductBank)(refresh)
verbs.pour.on(ProductBank)(pour)
verbs.log_marginal.on(ProductBank)(log_marginal)


@inlined
def _is_there(x):
    """Say whether a row has a cell that is no gap."""
    n_there = 0
    for j in range(x.shape[0]):
        n_there += x[j] == x[j]
    return n_there > 0


@verbs.insert.on(ProductBank)
def insert(bank, k, x, scratch):
    left, right = x[: bank.prior.split], x[bank.prior.split :]
    if _is_there(left):
        verbs.insert(bank.left, k, left, scratch[0])
    if _is_there(right):
        verbs.insert(bank.right, k, right, scratch[1])


@verbs.remove.on(ProductBank)
def remove(bank, k, x, scratch):
    left, right = x[: bank.prior.split], x[bank.prior.split :]
    if _is_there(left):
        verbs.remove(bank.left, k, left, scratch[0])
    if _is_there(right):
        verbs.remove(bank.right, k, right, scratch[1])


@verbs.log_predictive.on(ProductBank)
def log_predictive(bank, x, n_chairs, scores, scratch):
    left, right = x[: bank.prior.split], x[bank.prior.split :]
    if _is_there(left):
        verbs.log_predictive(bank.left, left, n_chairs, scores, scratch[0])
    if _is_there(right):
        verbs.log_predictive(bank.right, right, n_chairs, scores, scratch[1])


@verbs.log_leave_one_out.on(ProductBank)
def log_leave_one_out(bank, k, x, scratch):
    left, right, total = x[: bank.prior.split], x[bank.prior.split :], 0.0
    if _is_there(left):
        total += verbs.log_leave_one_out(bank.left, k, left, scratch[0])
    if _is_there(right):
        total += verbs.log_leave_one_out(bank.right, k, right, scratch[1])
    return total
