"""Knows what happened in a run: one Step per sweep."""

from typing import NamedTuple


class Step(NamedTuple):
    """What one sweep did.

    Examples
    --------
    >>> print(Step(sweep=1, n_clusters=3, n_moved=7, n_emptied=0, log_joint=-12.5, seconds=0.01))
    sweep   1    3 clusters       7 rows moved  log joint -12.5000  0.01 s
    """

    sweep: int  # 0 is the start, before the first full sweep
    n_clusters: int
    n_moved: int  # rows that changed their cluster
    n_emptied: int  # clusters that lost their last row
    log_joint: float
    seconds: float  # since the start of the fit

    def __str__(self) -> str:
        return (
            f"sweep {self.sweep:3d} {self.n_clusters:4d} clusters {self.n_moved:7d} rows moved  "
            f"log joint {self.log_joint:.4f}  {self.seconds:.2f} s"
        )
