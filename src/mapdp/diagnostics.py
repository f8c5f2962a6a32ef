"""When a chain has run for long enough: the public path of `mapdp.sampling.diagnostics`."""

from mapdp.sampling.diagnostics import RafteryLewis, least_sweeps, raftery_lewis, to_arviz

__all__ = ["RafteryLewis", "least_sweeps", "raftery_lewis", "to_arviz"]
