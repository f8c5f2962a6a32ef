"""The searches by name, the order of their moves, and how several starts compete."""

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mapdp.engine.build import seated
from mapdp.engine.in_threads import assign
from mapdp.engine.problem import Problem
from mapdp.engine.score import beats
from mapdp.engine.starts import FEW, around_seeds, other_inits, starting_state
from mapdp.engine.state import State, new_state
from mapdp.engine.trace import StoppedError
from mapdp.partitions.labels import compact
from mapdp.search.moves.base import Move, climb_by
from mapdp.search.moves.cut import Cut
from mapdp.search.moves.dissolve import Dissolve
from mapdp.search.moves.merge import Merge
from mapdp.search.moves.regroup import Divide, Regrouper, Split, TrialRoom
from mapdp.search.run import Found, Run, best_of
from mapdp.search.settling import settle, settle_by_sweeps, settle_roughly, settle_touched

NAMES = ("split-merge", "icm")
SAMPLE = 10_000  # rows that the search of a large table starts on
_MANY_COLUMNS = 16  # from which on rows seated in turn may find no company: all distances are alike
_FIRST_ROWS = 256  # that show whether they do
_MOST_CELLS = 10**8  # of chairs, had every row one: a chair has all columns, also where rows are sparse
_CROWDED = 8  # rows for each cluster of theirs: with fewer, too many are opened


class Start(NamedTuple):
    """How one start begins."""

    init: object  # a name, labels or a state
    order: np.ndarray  # (N,) in which rows are seated
    rng: np.random.Generator
    move: str = "start"  # what the trace calls the first step


class SearchPlan(NamedTuple):
    """How a problem is searched."""

    name: str  # of the search
    starts: Sequence[Start]
    n_jobs: int = 1
    is_open: bool = False  # whether one start follows another only while that finds something better

    def begun_with(self, init: object) -> "SearchPlan":
        """Return the plan whose first start is another one."""
        return self._replace(starts=[self.starts[0]._replace(init=init), *self.starts[1:]])

    def only_first(self) -> "SearchPlan":
        """Return the plan without its other starts."""
        return self._replace(starts=self.starts[:1])


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


def moves_in_order(room: TrialRoom, rng: np.random.Generator) -> tuple[list[Move], list[Move]]:
    """Return the moves of the search, cheapest first: those to repeat at once, then the others."""
    regrouper = Regrouper(room, rng)
    return [Merge(), Split(regrouper)], [Divide(regrouper), Dissolve(), Cut(rng)]


def icm(run: Run, _: np.random.Generator) -> bool:
    """The paper's algorithm: sweep until nobody moves; False where sweeps ran out.

    Where alpha is learned it follows, and the sweeps go on until it stays, too.
    """
    while settle_by_sweeps(run):
        if not run.learn_alpha():
            return True
    return False


def split_merge(run: Run, rng: np.random.Generator, room: TrialRoom) -> bool:
    """Settle, then try the moves, until none raises the joint; False where sweeps ran out.

    Merges and splits follow one another while only the clusters they change settle. Where alpha is
    learned, it follows whenever the clusters have settled.
    """
    repeated, others = moves_in_order(room, rng)
    settled_at = -np.inf  # the joint after all rows settled last: what it rose by since is owed to moves
    while settle_roughly(run, run.trace[-1].log_joint - settled_at):
        log_gain, settled_at = run.trace[-1].log_joint - settled_at, run.trace[-1].log_joint
        if run.problem.is_large and log_gain <= run.least_gain:
            run.record("tol", 0)
            return True
        if run.learn_alpha():
            continue
        if _any_gains(repeated, run):
            settle_touched(run)
            while run.has_budget and _any_gains(repeated, run):
                settle_touched(run)
        elif not _any_gains(others, run) and _is_settled(run):
            return True
    return False


def _is_settled(run: Run) -> bool:
    """Settle to the end where that has not been done; say whether nothing was left to gain."""
    if not run.problem.is_large:
        return True
    before = run.trace[-1].log_joint
    return settle(run) and run.trace[-1].log_joint - before <= run.least_gain


def _any_gains(moves: list[Move], run: Run) -> bool:
    """Try moves in their order until one takes effect; say whether one did."""
    return any(climb_by(move, run) for move in moves)


def search(problem: Problem, name: str, start: Start) -> Found:
    """Start once and climb; with few rows, where it costs little, from many other places, too."""
    problem = problem._replace(budget=problem.budget.started())
    if name == "icm":
        return _climbed(problem, start, icm)
    if isinstance(start.init, str) and problem.is_large:
        found = search_in_sample(problem, start)
        problem = problem.under(found.process)
        start = start._replace(init=joined_by_all(problem, found))
    climb = functools.partial(split_merge, room=TrialRoom(problem))
    return best_of([_climbed(problem, start._replace(init=i), climb) for i in _inits(problem, start)])


def _inits(problem: Problem, start: Start) -> list[object]:
    """Return where to climb from: as the start says, and from where that could get stuck.

    A state is a search that goes on, so it is where to climb from and nothing else is.
    """
    if isinstance(start.init, State):
        return [start.init]
    n_rows, n_columns = problem.X.shape
    if n_rows <= FEW:
        return [start.init, *other_inits(n_rows, n_columns, start.rng)]
    if isinstance(start.init, str) and start.init == "sequential":
        return _sequential_or_single(problem, start.order)
    return [start.init]


def _sequential_or_single(problem: Problem, order: np.ndarray) -> list[object]:
    """Return "single", too, where rows seated in turn sit nearly alone; instead, where that is worse.

    In many columns a row that sits alone can be a better guess at the next one's width than at its place,
    so that all sit alone, and no two of them gain by merging.
    """
    if problem.rows_for_guesses.shape[1] < _MANY_COLUMNS:
        return ["sequential"]
    some = problem.among(np.sort(order[:_FIRST_ROWS])).silenced().timeless()
    n_rows, model = len(some.X), some.model
    run = Run(some, new_state(n_rows, model.family, model.process))
    run.start(np.arange(n_rows, dtype=np.int32))
    if run.state.n_clusters * _CROWDED <= n_rows:
        return ["sequential"]
    if model.family.has_list and len(problem.X) * model.family.n_features > _MOST_CELLS:
        return ["single"]
    together = Run(some, starting_state(some.X, "single", model.family, model.process))
    return ["single"] if together.log_joint() > run.log_joint() else ["sequential", "single"]


def _climbed(problem: Problem, start: Start, climb: Callable) -> Found:
    run = Run(problem, _first_state(problem, start))
    try:
        run.start(start.order, start.move)
        converged = climb(run, start.rng)
        if not converged:
            run.learn_alpha()
    except StoppedError:
        converged = False
    return run.finished(converged)


def _first_state(problem: Problem, start: Start) -> State:
    X, family, process = problem.X, problem.model.family, problem.model.process
    if isinstance(start.init, State):
        return start.init
    if isinstance(start.init, str) and start.init == "sequential":
        return new_state(len(X), family, process)
    if isinstance(start.init, str) and start.init == "seeds":
        return seated(X, around_seeds(problem.rows_for_guesses, start.rng), family, process)
    return starting_state(X, start.init, family, process)


def search_in_sample(problem: Problem, start: Start) -> Found:
    """Search among some of the rows."""
    some = start.rng.choice(len(problem.X), SAMPLE, replace=False, shuffle=False)
    small = problem.among(np.sort(some).astype(np.int32)).silenced()
    return search(small, "split-merge", start._replace(order=np.arange(SAMPLE, dtype=np.int32)))


def joined_by_all(problem: Problem, found: Found) -> State:
    """Let all rows join the clusters that were found among some of them."""
    state, everyone, n_threads = found.state, np.arange(len(problem.X)), problem.budget.n_threads
    labels = assign(problem.X, everyone.astype(np.int32), state.n_clusters, state, n_threads)
    return seated(problem.X, compact(labels), problem.model.family, problem.model.process, n_threads)


def crossed(problem: Problem, name: str, found: list[Found], rng: np.random.Generator) -> Found:
    """Return the best of what several starts found, or better: what comes of crossing it with the others.

    Rows that two partitions both keep together begin as one cluster. Merges then take from either what is
    better. Large tables have the best of the starts.
    """
    best = best_of(found)
    if name == "icm" or problem.is_large:
        return best
    order = np.arange(len(problem.X), dtype=np.int32)
    for other in sorted(found, key=lambda one: -one.log_joint)[1:]:
        both = best.state.labels.astype(np.int64) * other.state.n_clusters + other.state.labels
        if len(np.unique(both)) > best.state.n_clusters:
            best = best_of([best, search(problem, name, Start(both, order, rng))])
    return best


def searched_as_planned(problem: Problem, plan: SearchPlan) -> tuple[Found, list[Found]]:
    """Search from all starts; return the best outcome, which may come of crossing, and each start's."""
    if plan.is_open:
        return while_better(problem, plan, search(problem, plan.name, plan.starts[0]))
    found = from_every_start(problem, plan)
    return crossed(problem, plan.name, found, plan.starts[0].rng), found


def while_better(problem: Problem, plan: SearchPlan, first: Found) -> tuple[Found, list[Found]]:
    """Go on from start to start, crossing as we go, until one finds nothing better; the first is done."""
    found = [first]
    best = found[0]
    for start in plan.starts[1:]:
        if not found[-1].converged:  # somebody ended the fit, or its budget is spent
            break
        found.append(search(problem, plan.name, start))
        before, best = best, crossed(problem, plan.name, [best, found[-1]], start.rng)
        if not beats(best.log_joint, before.log_joint):
            break
    return best, found


def from_every_start(problem: Problem, plan: SearchPlan) -> list[Found]:
    """Search from every start, in threads; return what each found, in the same order.

    When the time is up, starts that have not begun are left out.
    """

    def searched(number: int) -> Found | None:
        is_late = number > 0 and problem.budget.is_over
        return None if is_late else search(problem, plan.name, plan.starts[number])

    if plan.n_jobs == 1 or len(plan.starts) == 1:
        found = [searched(number) for number in range(len(plan.starts))]
    else:
        with ThreadPoolExecutor(plan.n_jobs) as pool:
            found = list(pool.map(searched, range(len(plan.starts))))
    return [one for one in found if one is not None]
