"""Uncertainty of a partition, from Gibbs chains started at it."""

import time
from typing import Any

import numpy as np

from mapdp.data import checks
from mapdp.engine.problem import Model, Problem
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.progress import listener_to_sweeps
from mapdp.estimators.settings import cores, generator
from mapdp.sampling import chains as sampler
from mapdp.sampling.stability import Uncertainty, uncertainty_of


class UncertaintyMixin(Mixture):
    """A mixture with one partition, `labels_`, whose log joint is `log_joint_`."""

    log_joint_: float
    _has_row_blocks = False  # whether weights, groups or known labels were given to fit

    def uncertainty(
        self,
        X: Any,
        *,
        n_sweeps: int = 400,
        n_chains: int = 2,
        seconds: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> Uncertainty:
        """Return how sure the partition is, by a short run of the Gibbs sampler that starts from it.

        Parameters
        ----------
        X : array or data frame of shape (N, D)
            The rows that were fitted.
        n_sweeps : int, default 400
            Sweeps of each chain; the second half of them is used.
        n_chains : int, default 2
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
            clusters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from mapdp import MAPDP
        >>> X = load_iris().data
        >>> sure = MAPDP(alpha=0.3).fit(X).uncertainty(X, n_sweeps=100)
        >>> sure.membership.shape[0] == 150 and bool((sure.stability <= 1.0).all())
        True
        """
        rows = self._fitted_rows(X)
        problem = Problem(rows, rows, Model(self.family_, self.mixture_.process))
        checks.whole("n_sweeps", n_sweeps, 1)
        limit = np.inf if seconds is None else checks.positive("seconds", seconds, "None has no limit.")
        deadline = time.perf_counter() + limit
        n_threads = cores(n_jobs)
        rngs = generator(random_state).spawn(checks.whole("n_chains", n_chains, 1))
        chains = sampler.started(problem, [self.labels_] * n_chains, rngs, n_threads)
        plan = sampler.Plan(0, 1, n_threads, listener_to_sweeps(verbose))
        samples = sampler.sample_within(chains, n_sweeps, deadline, plan)
        return uncertainty_of(self.labels_, samples)

    def _fitted_rows(self, X: Any) -> np.ndarray:
        """Return the rows, encoded, if they are those that were fitted."""
        numbers = self.numbers_of(X)
        if self._has_row_blocks:
            raise ValueError(
                "uncertainty does not work for fits with weights, groups or known labels. "
                "Hint: predict_proba returns how sure rows are, given the clusters."
            )
        if len(numbers) == len(self.labels_):
            joint = self.log_joint_of(X, self.labels_)
            if np.isclose(joint, self.log_joint_, rtol=1e-9, atol=1e-9):
                return self.mixture_.encoded(numbers)
        raise ValueError(
            f"X must be the {len(self.labels_)} rows that were fitted, got {len(numbers)} others. "
            "Hint: predict_proba returns how sure new rows are."
        )
