"""Log probabilities of small counts, kept for each chair: most counts in real tables are small.

They follow from the probability of 0 and from how much more probable each count is than the one before.
"""

from mapdp.compiled.jit import inlined, verb
from mapdp.compiled.special import log

KEPT = 20  # counts below this have their log probability kept, as if they were levels


@verb
def ratio_of_counts(bank, j, k, v):
    """Return how much more probable the count v + 1 is than v, in column j on chair k."""


@inlined
def keep_small_counts(bank, j, k, log_chance):
    """Fill in the log probabilities of small counts, from that of 0 upwards."""
    first, last = bank.prior.first[j], bank.prior.first[j + 1]
    for level in range(first, last):
        bank.log_chance[level, k] = log_chance
        log_chance += log(ratio_of_counts(bank, j, k, float(level - first)))


@inlined
def is_kept(bank, j, v):
    """Say whether the log probability of a count is kept."""
    return v < bank.prior.first[j + 1] - bank.prior.first[j]
