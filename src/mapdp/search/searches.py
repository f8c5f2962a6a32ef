"""Knows the searches by name, and how several starts compete."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mapdp.model import seated
from mapdp.search.frozen import assign
from mapdp.search.merge import dissolve, merge
from mapdp.search.regroup import Regrouper
from mapdp.search.run import Found, Problem, Run, compact
from mapdp.search.starts import FEW, around_seeds, other_inits, starting_state
from mapdp.state import State
from mapdp.trace import StoppedError, silent

NAMES = ("split-merge", "icm")
_LARGE = 20_000  # rows above which a search starts on some of them, and sweeps the border only
_SAMPLE = 10_000  # as many as that


class Start(NamedTuple):
    """How one start begins."""

    init: object  # a name, labels or a state
    order: np.ndarray  # (N,) in which rows are seated
    rng: np.random.Generator


def plan_starts(
    init: object, name: str, n_rows: int, rngs: Sequence[np.random.Generator], *, in_row_order: bool
) -> list[Start]:
    """Return how each start of a search begins; the first may seat the rows in row order.

    Every second start of a split-merge search is around seeds instead of sequential: the two kinds get
    stuck in different places.
    """
    order, starts = np.arange(n_rows, dtype=np.int32), []
    by_seeds = name == "split-merge" and isinstance(init, str) and init == "sequential"
    for number, rng in enumerate(rngs):
        seats = order if in_row_order and number == 0 else rng.permutation(order)
        starts.append(Start("seeds" if by_seeds and number % 2 == 1 else init, seats, rng))
    return starts


def icm(run: Run, _: np.random.Generator) -> bool:
    """The paper's algorithm: sweep until nobody moves; False where sweeps ran out.

    Where alpha is learned it follows, and the sweeps go on until it stays, too.
    """
    while run.settle():
        if not run.learn_alpha():
            return True
    return False


def split_merge(run: Run, rng: np.random.Generator) -> bool:
    """Settle, then try the moves, until none raises the joint; False where sweeps ran out.

    The cheapest come first: merges, splits of one cluster, fresh divisions of two, dissolving one. One
    split follows another while only the clusters they change settle. Where alpha is learned, it follows
    whenever the clusters have settled.
    """
    regrouper, large = Regrouper(run, rng), len(run.problem.X) > _LARGE
    while run.settle_border() if large else run.settle():
        if run.learn_alpha():
            continue
        split = merge(run) or regrouper.split()
        if not (split or regrouper.divide_pairs() or dissolve(run)):
            return True
        while split:
            if large:
                run.settle_touched()
            else:
                run.visit_touched()
            split = merge(run) or regrouper.split()
    return False


def search(problem: Problem, name: str, start: Start) -> Found:
    """Start once and climb; with few rows, where it costs little, from many other places, too."""
    if name == "icm":
        return _climbed(problem, start, icm)
    if isinstance(start.init, str) and len(problem.X) > _LARGE:
        found = search_in_sample(problem, start)
        problem = problem._replace(process=found.process)
        start = start._replace(init=joined_by_all(problem, found))
    others = other_inits(len(problem.X), start.rng) if len(problem.X) <= FEW else []
    climbs = [_climbed(problem, start._replace(init=init), split_merge) for init in [start.init, *others]]
    return max(climbs, key=lambda found: found.log_joint)


def _climbed(problem: Problem, start: Start, climb: Callable) -> Found:
    run = Run(problem, _first_state(problem, start))
    try:
        run.start(start.order)
        converged = climb(run, start.rng)
        if not converged:
            run.learn_alpha()
    except StoppedError:
        converged = False
    return run.finished(converged)


def _first_state(problem: Problem, start: Start) -> State:
    X, outline, family, process, *_ = problem
    if isinstance(start.init, State):
        return start.init
    if isinstance(start.init, str) and start.init == "seeds":
        return seated(X, around_seeds(outline, start.rng), family, process)
    return starting_state(X, start.init, family, process)


def search_in_sample(problem: Problem, start: Start) -> Found:
    """Search among some of the rows."""
    sample = np.sort(start.rng.choice(len(problem.X), _SAMPLE, replace=False, shuffle=False)).astype(
        np.int32
    )
    small = problem.among(sample)._replace(tell=silent)
    return search(small, "split-merge", start._replace(order=np.arange(_SAMPLE, dtype=np.int32)))


def joined_by_all(problem: Problem, found: Found) -> State:
    """Let all rows join the clusters that were found among some of them."""
    state, everyone = found.state, np.arange(len(problem.X), dtype=np.int32)
    labels = compact(assign(problem.X, everyone, state.n_clusters, state, problem.n_threads))
    return seated(problem.X, labels, problem.family, problem.process, problem.n_threads)


def crossed(problem: Problem, name: str, found: list[Found], rng: np.random.Generator) -> Found:
    """Return the best of what several starts found, or better: what comes of crossing it with the others.

    Rows that two partitions both keep together begin as one cluster. Merges then take from either what is
    better. Large tables have the best of the starts.
    """
    best, *others = sorted(found, key=lambda one: -one.log_joint)
    if name == "icm" or len(problem.X) > _LARGE:
        return best
    order = np.arange(len(problem.X), dtype=np.int32)
    for other in others:
        both = best.state.labels.astype(np.int64) * other.state.n_clusters + other.state.labels
        if len(np.unique(both)) > best.state.n_clusters:
            best = max(best, search(problem, name, Start(both, order, rng)), key=lambda one: one.log_joint)
    return best


def from_every_start(problem: Problem, name: str, starts: list[Start], n_jobs: int) -> list[Found]:
    """Search from every start, in threads; return what each found, in the same order."""
    if n_jobs == 1 or len(starts) == 1:
        return [search(problem, name, start) for start in starts]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(lambda start: search(problem, name, start), starts))
