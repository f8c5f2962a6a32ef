"""Knows how several chains run side by side, how long, and what they keep."""

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mapdp.diagnostics import RafteryLewis, least_sweeps, raftery_lewis
from mapdp.sampling.chain import Chain
from mapdp.trace import Chains, Step

Rule = tuple[float, float, float]  # q, r and s of Raftery and Lewis


class Plan(NamedTuple):
    """What is kept, who works, who is told."""

    first_kept: int  # sweeps before the first that is kept
    thin: int  # sweeps from one that is kept to the next
    n_jobs: int
    tell: Callable[[Step], None]  # is told of every sweep of the first chain
    deadline: float = math.inf  # of time.perf_counter


def advance(chains: list[Chain], n_sweeps: int, plan: Plan) -> None:
    """Run every chain until it has made `n_sweeps` sweeps, in threads; only one where time is over."""

    def work(chain: Chain) -> None:
        while len(chain.steps) < n_sweeps and not (chain.steps and time.perf_counter() > plan.deadline):
            step = chain.sweep()
            past = len(chain.steps) - 1 - plan.first_kept
            if past >= 0 and past % plan.thin == 0:
                chain.keep()
            if chain is chains[0]:
                plan.tell(step)

    if plan.n_jobs == 1 or len(chains) == 1:
        for chain in chains:
            work(chain)
    else:
        with ThreadPoolExecutor(plan.n_jobs) as pool:
            list(pool.map(work, chains))


def advance_until_content(
    chains: list[Chain], rule: Rule, max_sweeps: int, plan: Plan
) -> list[RafteryLewis]:
    """Run until Raftery and Lewis ask for no more sweeps of any chain, by its log joint and by its K.

    Return what they say at the end; a total above `max_sweeps` says that they are not content.
    """
    target = wanted = least_sweeps(*rule)
    while True:
        advance(chains, min(target, max_sweeps), plan)
        told = gathered(chains)
        needs = [raftery_lewis(series, *rule) for series in (*told.log_joint, *told.n_clusters)]
        wanted, done = max(need.total for need in needs), told.alpha.shape[1]
        if done >= min(wanted, max_sweeps):
            return needs
        target = min(wanted, done + done // 2)  # the first estimates may be far too high


def gathered(chains: list[Chain]) -> Chains:
    """Return what all chains visited, as arrays with a row per chain; all as long as the shortest."""
    shortest = min(len(chain.steps) for chain in chains)
    steps = [chain.steps[:shortest] for chain in chains]
    return Chains(
        n_clusters=np.array([[step.n_clusters for step in chain] for chain in steps]),
        log_joint=np.array([[step.log_joint for step in chain] for chain in steps]),
        n_emptied=np.array([[step.n_emptied for step in chain] for chain in steps]),
        alpha=np.array([chain.alphas[:shortest] for chain in chains]),
    )


def second_halves(chains: list[Chain]) -> np.ndarray:
    """Return the labels that the chains kept, without the first half of each."""
    return np.concatenate([chain.samples[len(chain.samples) // 2 :] for chain in chains])
