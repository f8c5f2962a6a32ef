"""Several chains side by side: how long they run, and what is kept of them."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from mapdp.engine.problem import Problem
from mapdp.engine.trace import Chains, Step
from mapdp.sampling.chain import Chain
from mapdp.sampling.diagnostics import RafteryLewis, least_sweeps, raftery_lewis

Rule = tuple[float, float, float]  # q, r and s of Raftery and Lewis
_TURN = 10  # sweeps of each chain between two looks at the clock
_MOST_KEPT = 1000  # partitions of one chain that are kept within a time; then every second one goes


def checked_rule(accuracy: Any) -> Rule:
    """Return the accuracy that the Raftery-Lewis diagnostic aims at, or raise."""
    if not isinstance(accuracy, tuple) or len(accuracy) != 3:
        raise ValueError(
            f"accuracy must be three numbers (q, r, s), got {accuracy!r}. "
            "Hint: (0.025, 0.01, 0.95) estimates the 2.5% quantile to a percent."
        )
    return accuracy


class Plan(NamedTuple):
    """What is kept, and on how many threads chains run."""

    first_kept: int  # sweeps before the first that is kept
    thin: int  # sweeps from one that is kept to the next
    n_jobs: int
    listener: Callable[[Step], None]  # is called with every sweep of the first chain


class Sampled(NamedTuple):
    """What chains give: all they visited, and what is kept of it."""

    chains: Chains
    burn_in: int
    kept: Chains
    samples: np.ndarray  # (chains * kept, N)


def started(
    problem: Problem, inits: list, rngs: list[np.random.Generator], n_jobs: int, **kind: Any
) -> list[Chain]:
    """Return a chain for each generator, seated in threads; `kind` says what sort of `Chain`."""
    pairs = list(zip(inits, rngs, strict=True))
    return _in_threads(lambda pair: Chain(problem, *pair, **kind), pairs, n_jobs)


def _in_threads(work: Callable, items: list, n_jobs: int) -> list:
    if n_jobs == 1 or len(items) == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(n_jobs) as pool:
        return list(pool.map(work, items))


def advance(chains: list[Chain], n_sweeps: int, plan: Plan) -> None:
    """Run every chain until it has made `n_sweeps` sweeps, in threads."""

    def work(chain: Chain) -> None:
        while chain.n_sweeps < n_sweeps:
            step = chain.sweep()
            past = step.sweep - 1 - plan.first_kept
            if past >= 0 and past % plan.thin == 0:
                chain.keep()
            if chain is chains[0]:
                plan.listener(step)

    _in_threads(work, chains, plan.n_jobs)


def advance_until_satisfied(
    chains: list[Chain], rule: Rule, max_sweeps: int, plan: Plan
) -> list[RafteryLewis]:
    """Run until the Raftery-Lewis diagnostic of every chain's log joint and K is satisfied.

    Return the diagnostics at the end; a total above `max_sweeps` means that they are not satisfied.
    """
    target = plan.first_kept + least_sweeps(*rule)
    while True:
        advance(chains, min(target, max_sweeps), plan)
        visited = gathered(chains)
        needs = [raftery_lewis(series, *rule) for series in (*visited.log_joint, *visited.n_clusters)]
        wanted, done = max(need.total for need in needs), visited.alpha.shape[1]
        if done >= min(wanted, max_sweeps):
            return needs
        target = min(wanted, done + done // 2)  # the first estimates may be far too high


def sample_within(chains: list[Chain], n_sweeps: int, deadline: float, plan: Plan) -> np.ndarray:
    """Run for so many sweeps or so long; return the partitions of the second half of each chain.

    All chains make as many sweeps, one at least. Where many are kept, ever fewer of them are.
    """
    done = 0
    while done < n_sweeps and (done == 0 or time.perf_counter() < deadline):
        done = min(done + _TURN, n_sweeps) if done else 1
        advance(chains, done, plan)
        if len(chains[0].samples) > _MOST_KEPT:
            plan = plan._replace(thin=2 * plan.thin)
            for chain in chains:
                chain.samples = chain.samples[::2]
    return np.concatenate([chain.samples[len(chain.samples) // 2 :] for chain in chains])


def second_half(chains: list[Chain]) -> Chains:
    """Return what chains visited in the second half of their sweeps."""
    visited = gathered(chains)
    return Chains(*[numbers[:, numbers.shape[1] // 2 :] for numbers in visited])


def gathered(chains: list[Chain]) -> Chains:
    """Return what all chains visited, as arrays with a row per chain."""
    return Chains(
        n_clusters=np.array([[step.n_clusters for step in chain.trace] for chain in chains]),
        log_joint=np.array([_log_joints(chain) for chain in chains]),
        n_emptied=np.array([[step.n_emptied for step in chain.trace] for chain in chains]),
        alpha=np.array([chain.alphas for chain in chains]),
    )


def _log_joints(chain: Chain) -> list[float]:
    """Return the joints of the table as it came."""
    return [step.log_joint - chain.problem.budget.log_units for step in chain.trace]


def sampled(chains: list[Chain], burn_in: int, plan: Plan) -> Sampled:
    """Leave out what was kept before the chains had forgotten their start; one sweep stays at least."""
    visited, n_kept = gathered(chains), len(chains[0].samples)
    first = min(-(-max(burn_in - plan.first_kept, 0) // plan.thin), n_kept - 1)
    samples = np.concatenate([chain.samples[first:] for chain in chains])
    burn_in = plan.first_kept + first * plan.thin
    kept = Chains(*[numbers[:, burn_in :: plan.thin] for numbers in visited])
    return Sampled(visited, burn_in, kept, samples)
