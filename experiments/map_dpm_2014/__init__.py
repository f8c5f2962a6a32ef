"""Raykov, Boukouvalas, Little (2014), "Simple approximate MAP inference for Dirichlet processes", run again."""

import pathlib

from experiments.map_dpm_2014 import crp, uci

OUT = pathlib.Path("docs/experiments")
EXPERIMENTS = {"crp": crp.main, "uci": uci.main}


def run(experiment: str, quick: bool, out: pathlib.Path = OUT) -> None:
    """Run one experiment, or go on with it where it stopped; write its tables and figures."""
    if experiment not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {experiment!r}.")
    EXPERIMENTS[experiment](out / "quick" if quick else out, quick)
