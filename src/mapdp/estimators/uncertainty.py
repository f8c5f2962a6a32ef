"""Uncertainty of a partition, from chains that start at it and elsewhere."""

import time
from typing import Any

import numpy as np

from mapdp.data import checks
from mapdp.data.moments import gaps_filled_by_means
from mapdp.engine.build import seated
from mapdp.engine.joint import state_log_joint
from mapdp.engine.problem import Model, Problem
from mapdp.engine.starts import scattered
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.progress import listener_to_sweeps
from mapdp.estimators.settings import cores, generator
from mapdp.sampling import chains as sampler
from mapdp.sampling.agreement import agreement_of
from mapdp.sampling.split_merge import MOVES, SPLIT_MERGE
from mapdp.sampling.stability import Uncertainty, uncertainty_of
from mapdp.search.weighted_rows import RowBlocks, of_blocks


class UncertaintyMixin(Mixture):
    """A mixture with one partition, `labels_`, whose log joint is `log_joint_`."""

    log_joint_: float
    _has_row_blocks = False  # whether weights, groups or known labels were given to fit
    _row_blocks: RowBlocks | None = None  # what they make of the rows; files do not keep it

    def uncertainty(
        self,
        X: Any,
        *,
        n_sweeps: int = 400,
        n_chains: int = 4,
        moves: str = SPLIT_MERGE,
        seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Uncertainty:
        """Return how sure the partition is, by chains that start at it and elsewhere.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            The rows that were fitted.
        n_sweeps : int, default 400
            Sweeps of each chain; the second half of them is used.
        n_chains : int, default 4
            The first starts at the partition, the second with one cluster, the third with half as many
            clusters around seeds, the others at random: so that they agree only where they have mixed.
        moves : {"split-merge", "gibbs"}, default "split-merge"
            As in `GibbsDPM`.
        seconds : float, default None
            Ends the run early.
        random_state : int, Generator or None, default None
        n_jobs : int, default None
            Number of chains that run at a time; None is one for each core.
        verbose : int, default 0
            1 prints a line for every hundredth sweep of the first chain.

        Returns
        -------
        Uncertainty
            Membership and entropy of each row, stability of each cluster, posterior of the number of
            clusters, whether the chains agree, and what the samples have in common. Rows that counted for
            nothing in the fit have the membership nan.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris().data
        >>> sure = MAPDP(alpha=0.3).fit(X).uncertainty(X, n_sweeps=100)
        >>> sure.membership.shape[0] == 150 and bool((sure.stability <= 1.0).all())
        True
        """
        checks.whole("n_sweeps", n_sweeps, 1)
        checks.whole("n_chains", n_chains, 1)
        checks.one_of("moves", moves, MOVES)
        limit = np.inf if seconds is None else checks.positive("seconds", seconds, "None has no limit.")
        problem, labels = self._fitted_problem(X)
        deadline, n_threads = time.perf_counter() + limit, cores(n_jobs)
        rng = generator(random_state)
        inits, rngs = scattered(problem, labels, n_chains, rng), rng.spawn(n_chains)
        chains = sampler.started(problem, inits, rngs, n_threads, moves=moves)
        plan = sampler.Plan(0, 1, n_threads, listener_to_sweeps(verbose))
        samples = sampler.sample_within(chains, n_sweeps, deadline, plan)
        agreement = agreement_of(sampler.second_half(chains))
        blocks = self._row_blocks
        if blocks is None:
            return uncertainty_of(self._chairs, samples, agreement)
        by_rows = np.ascontiguousarray(samples[:, blocks.block_of])
        found = uncertainty_of(self.labels_[blocks.rows], by_rows, agreement)
        return found.among(len(self.labels_), blocks.rows)

    def _fitted_problem(self, X: Any) -> tuple[Problem, np.ndarray]:
        """Return what was fitted, with the labels of its rows or blocks, if these are the rows."""
        numbers, blocks = self._as_fitted(self.numbers_of(X)), self._row_blocks
        if self._has_row_blocks and blocks is None:
            raise ValueError(
                "a saved model does not keep its weights, groups and known labels. Hint: fit it again."
            )
        if len(numbers) == len(self.labels_):
            rows = self._rows_without_open_gaps(numbers)
            model = Model(self.family_, self.mixture_.process)
            problem, labels = Problem(rows, gaps_filled_by_means(rows), model), self._chairs
            log_units = self.schema_.log_units(numbers)
            if blocks is not None:
                problem, labels = of_blocks(problem, blocks), blocks.of_blocks(labels)
                log_units = np.broadcast_to(log_units, len(rows))[blocks.rows] * blocks.weights
            state = seated(problem.X, labels, problem.model.family, problem.model.process)
            joint = state_log_joint(state, problem.model.process) - float(np.sum(log_units))
            if np.isclose(joint, self.log_joint_, rtol=1e-9, atol=1e-9):
                return problem, labels
        raise ValueError(
            f"X must be the {len(self.labels_)} rows that were fitted, got {len(numbers)} others. "
            "Hint: predict_proba returns how sure new rows are."
        )
