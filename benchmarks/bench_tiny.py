"""How often one search of a tiny structured problem finds the best seating of all; see tests/structured/tiny.py."""

import sys

from mapdp.search.structured.franchise import FranchiseRun
from mapdp.search.structured.markov import MarkovRun
from mapdp.search.structured.nested import NestedRun
from tests.structured.tiny import share_found

if __name__ == "__main__":
    n_tables = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for n_init in [int(n) for n in sys.argv[2:]] or [1, 5]:
        for kind in (FranchiseRun, MarkovRun, NestedRun):
            share, seconds = share_found(kind, n_tables, n_init)
            print(
                f"{kind.__name__:14s} n_init={n_init}: best of all in {share:.1%} of {n_tables}, "
                f"{1000 * seconds:.0f} ms each",
                flush=True,
            )
