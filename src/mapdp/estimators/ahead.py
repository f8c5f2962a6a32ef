"""A second process that compiles part of what the first fit ever needs, while the first compiles the rest.

It begins where the first gets last: the families of structures that are tried late, the last moves of the
search, the chains of a report. The cache on disk is where the two meet (`compiled/turns.py`).
"""

import atexit
import contextlib
import functools
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from mapdp import families
from mapdp.compiled.cache import is_empty
from mapdp.compiled.jit import CACHE_FOLDER, is_compiled
from mapdp.engine.build import seated
from mapdp.engine.problem import Model, Problem
from mapdp.engine.trace import silent
from mapdp.partitions.process import DirichletProcess
from mapdp.sampling import chains as sampler
from mapdp.sampling.split_merge import SPLIT_MERGE
from mapdp.search.climb import moves_in_order
from mapdp.search.moves.regroup import TrialRoom
from mapdp.search.run import Run

_SOURCES = str(pathlib.Path(__file__).parents[2])
_PROGRAM = """
import sys
sys.path[:0] = [{sources!r}]
from mapdp.estimators import ahead
ahead.compile_from_the_end({names!r})
"""


@functools.cache
def compile_ahead(names: tuple[str, ...]) -> None:
    """Start the second process, where nothing has been compiled yet and a core is free."""
    if not is_compiled() or not _is_first_fit() or _cores() < 2 or not _is_python(sys.executable):
        return
    program = _PROGRAM.format(sources=_SOURCES, names=names)
    nowhere = subprocess.DEVNULL
    with contextlib.suppress(OSError):
        command = [sys.executable, "-c", program]
        second = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        atexit.register(_end, second)


def _is_first_fit() -> bool:
    return CACHE_FOLDER is not None and is_empty(CACHE_FOLDER)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_python(program: str | None) -> bool:
    """Say whether a program is Python itself, and not something that has Python in it."""
    return pathlib.Path(program or "").name.startswith("python")


def _end(second: subprocess.Popen) -> None:
    second.terminate()
    second.wait()


def compile_from_the_end(names: Sequence[str]) -> None:
    """Compile the verbs of families, then moves of the search from the last to the first, then chains."""
    rows = np.random.default_rng(0).normal(size=(8, 2))
    for name in names or ["DiagonalGaussian"]:
        family = getattr(families, name).empirical(rows)
        family.bank(1)
    problem = Problem(rows, rows, Model(family, DirichletProcess(1.0)))
    labels = np.arange(8, dtype=np.int32) % 2
    _propose_all(problem, labels)
    chains = sampler.started(problem, [labels], [np.random.default_rng(0)], 1, moves=SPLIT_MERGE)
    sampler.advance(chains, 1, sampler.Plan(0, 1, 1, silent))


def _propose_all(problem: Problem, labels: np.ndarray) -> None:
    run = Run(problem, seated(problem.X, labels, problem.model.family, problem.model.process))
    repeated, others = moves_in_order(TrialRoom(problem), np.random.default_rng(0))
    for move in reversed([*repeated, *others]):
        move.propose(run)
