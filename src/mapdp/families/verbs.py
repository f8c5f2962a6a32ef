"""What a likelihood must be able to do, as functions on a bank.

A bank is a NamedTuple of arrays with one slot per chair along the last axis, so that all chairs of a row
are scored in vector code. It holds two sorts of things. Statistics are changed by `insert`, `remove` and
`pour`, and `log_marginal` reads nothing else; the cached predictive is brought up to date by `refresh`
and is all that scoring reads. An empty chair holds the prior, so a new cluster is scored like an old one.

Rows reach these functions relative to the family's `origin`, which keeps sums small on data far from
zero. `scratch` is working space that the family made: a bank holds none, so that threads can share it
while they score.

The second half is for families whose columns are independent within a cluster: what one cell does to one
column. From these `columns.py` makes everything in the first half, for rows with gaps and for mixed tables.
"""

from typing import Any

import numpy as np

from mapdp.compiled.entries import addresses_for, array_at, invoke
from mapdp.compiled.handles import Handle
from mapdp.compiled.jit import verb


@verb
def clear(bank, k):
    """Make chair k empty: it then holds the prior."""


@verb
def insert(bank, k, x, scratch):
    """Add row x to the statistics of chair k."""


@verb
def remove(bank, k, x, scratch):
    """Subtract row x from the statistics of chair k."""


@verb
def pour(bank, k, other, j, times, scratch):
    """Add the statistics of chair j of another bank to chair k, `times` times; -1 subtracts them."""


@verb
def refresh(bank, k):
    """Bring the cached predictive of chair k up to date with its statistics."""


@verb
def log_predictive(bank, x, n_chairs, scores, scratch):
    """Add to scores[k] the log density of row x given chair k, for the first `n_chairs` chairs.

    Chairs are scored in whole lanes, so those after the first `n_chairs` may be scored, too.
    """


@verb
def log_leave_one_out(bank, k, x, scratch):
    """Return the log density of row x, which sits on chair k, given the others there."""


@verb
def log_marginal(bank, k):
    """Return the log density of all rows on chair k, cluster parameters integrated out.

    It reads nothing but statistics. It may refresh what chair k caches, so it is not for threads that share
    a bank.
    """


@verb
def draw(bank, k, noise):
    """Draw the parameters of chair k from their posterior, for banks that hold parameters.

    `noise` is a row of what the family's `noise` gives for as many rows as the chair has.
    """


@verb
def add_cell(bank, j, k, v, sign):
    """Add cell v to the statistics of column j on chair k (sign 1), or subtract it (sign -1)."""


@verb
def second_of_cell(bank, j, v):
    """Return what cell v adds to the second sum of column j, and the rounding error of that."""


@verb
def refresh_column(bank, j, k):
    """Bring the cached predictive of column j on chair k up to date."""


@verb
def score_cell(bank, j, v, n_chairs, scores):
    """Add to scores[k] the log density of cell v in column j given chair k."""


@verb
def log_density_of_cell(bank, j, v, s, e, q, r, n):
    """Return the log density of cell v in column j, given n others with these exact sums."""


@verb
def log_cell_without(bank, j, k, v):
    """Return the log density of cell v, which is on chair k, given the other cells of its column there."""


@verb
def log_marginal_of_column(bank, j, k):
    """Return the log density of the cells of column j on chair k."""


# How kernels reach the verbs of a bank that they know by its address: what they call, and what is called.


@clear.on(Handle)
def _call_clear(bank, k):
    invoke(bank.addresses[0], (bank.memory, k))


def _clear(bank, k):
    clear(bank[0], k)
    return 0.0


@insert.on(Handle)
def _call_insert(bank, k, x, scratch):
    invoke(bank.addresses[1], (bank.memory, k, x, scratch.memory))


def _insert(bank, k, x, n, scratch):
    insert(bank[0], k, array_at(x, n), scratch[0])
    return 0.0


@remove.on(Handle)
def _call_remove(bank, k, x, scratch):
    invoke(bank.addresses[2], (bank.memory, k, x, scratch.memory))


def _remove(bank, k, x, n, scratch):
    remove(bank[0], k, array_at(x, n), scratch[0])
    return 0.0


@pour.on(Handle)
def _call_pour(bank, k, other, j, times, scratch):
    invoke(bank.addresses[3], (bank.memory, k, other.memory, j, times, scratch.memory))


def _pour(bank, k, other, j, times, scratch):
    pour(bank[0], k, other[0], j, times, scratch[0])
    return 0.0


@refresh.on(Handle)
def _call_refresh(bank, k):
    invoke(bank.addresses[4], (bank.memory, k))


def _refresh(bank, k):
    refresh(bank[0], k)
    return 0.0


@log_predictive.on(Handle)
def _call_log_predictive(bank, x, n_chairs, scores, scratch):
    invoke(bank.addresses[5], (bank.memory, x, n_chairs, scores, scratch.memory))


def _log_predictive(bank, x, n, n_chairs, scores, n_scores, scratch):
    log_predictive(bank[0], array_at(x, n), n_chairs, array_at(scores, n_scores), scratch[0])
    return 0.0


@log_leave_one_out.on(Handle)
def _call_log_leave_one_out(bank, k, x, scratch):
    return invoke(bank.addresses[6], (bank.memory, k, x, scratch.memory))


def _log_leave_one_out(bank, k, x, n, scratch):
    return log_leave_one_out(bank[0], k, array_at(x, n), scratch[0])


@log_marginal.on(Handle)
def _call_log_marginal(bank, k):
    return invoke(bank.addresses[7], (bank.memory, k))


def _log_marginal(bank, k):
    return log_marginal(bank[0], k)


@draw.on(Handle)
def _call_draw(bank, k, noise):
    invoke(bank.addresses[8], (bank.memory, k, noise))


def _draw(bank, k, noise, n):
    draw(bank[0], k, array_at(noise, n))
    return 0.0


_ENTRIES = (
    (clear, _clear, "bi"),
    (insert, _insert, "bias"),
    (remove, _remove, "bias"),
    (pour, _pour, "bibifs"),
    (refresh, _refresh, "bi"),
    (log_predictive, _log_predictive, "baias"),
    (log_leave_one_out, _log_leave_one_out, "bias"),
    (log_marginal, _log_marginal, "bi"),
    (draw, _draw, "bia"),
)


def addresses_of(bank: Any, scratch: Any) -> np.ndarray:
    """Return where the verbs of a bank are in machine code, in the order of `_ENTRIES`."""
    entries = [(entry, kinds) if one.serves(type(bank)) else None for one, entry, kinds in _ENTRIES]
    return addresses_for(entries, bank, scratch)
