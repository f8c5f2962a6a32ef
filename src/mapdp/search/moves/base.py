"""What a move of whole clusters is: it proposes labels, is judged by the exact joint, and takes effect.

A move's kernel works out exactly what it would gain. The climbing search accepts what gains; a sampler can
accept with a probability instead.
"""

from typing import NamedTuple, Protocol

import numpy as np

from mapdp.search.run import Run


class Proposal(NamedTuple):
    """Labels that a move proposes, and what the log joint gains by them."""

    labels: np.ndarray  # (N,)
    before: np.ndarray  # (N,) the labels that it started from
    log_gain: float


class Move(Protocol):
    """One way to change several clusters at once."""

    name: str

    def propose(self, run: Run) -> Proposal | None:
        """Return the labels that the move would give the rows, None where it has nothing to propose."""


def climb_by(move: Move, run: Run) -> bool:
    """Let a move take effect if it raises the joint by more than rounding; say whether it did."""
    proposal = move.propose(run)
    if proposal is None or not proposal.log_gain > 0.0:
        return False
    return run.adopt(move.name, proposal.labels, proposal.before) is not None
