"""Knows how a fitted partition is judged: by sampling from the posterior, beginning with it."""

import time
from typing import Any

import numpy as np

from mapdp import checks
from mapdp.estimators.base import Mixture, cores, generator
from mapdp.estimators.telling import teller_of_sweeps
from mapdp.model import seated, state_log_joint
from mapdp.moments import has_gaps
from mapdp.sampling import sampler
from mapdp.sampling.chain import Posterior
from mapdp.sampling.uncertainty import Uncertainty, uncertainty_of


class Judged(Mixture):
    """A mixture with one partition, `labels_`, whose joint is `log_joint_`."""

    labels_: np.ndarray
    log_joint_: float
    _has_ties = False

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
        """Say how sure the partition is, by a short run of the Gibbs sampler that starts from it.

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
        posterior = Posterior(self._refitted(X), self.family_, self._process, None, True)
        checks.whole("n_sweeps", n_sweeps, 1)
        limit = np.inf if seconds is None else checks.positive("seconds", seconds, "None has no limit.")
        deadline = time.perf_counter() + limit
        n_threads = cores(n_jobs)
        rngs = generator(random_state).spawn(checks.whole("n_chains", n_chains, 1))
        chains = sampler.started(posterior, self.labels_, rngs, n_threads)
        plan = sampler.Plan(0, 1, n_threads, teller_of_sweeps(verbose))
        samples = sampler.sample_within(chains, n_sweeps, deadline, plan)
        return uncertainty_of(self.labels_, samples)

    def _refitted(self, X: Any) -> np.ndarray:
        """Return the rows, encoded, if they are those that were fitted."""
        if self._has_ties:
            raise ValueError(
                "uncertainty does not know weights, groups and known labels, with which this was fitted. "
                "Hint: predict_proba tells how sure rows are, given the clusters."
            )
        rows = self._new_rows(X)
        if has_gaps(rows) and not self.family_.has_columns:
            raise ValueError(
                f"uncertainty needs rows without gaps for {type(self.family_).__name__}, whose columns are "
                "not independent. Hint: uncertainty(model.impute(X)) of a model that was fitted to that."
            )
        if len(rows) == len(self.labels_):
            state = seated(rows, self.labels_, self.family_, self._process)
            if np.isclose(state_log_joint(state, self._process), self.log_joint_, rtol=1e-9, atol=1e-9):
                return rows
        raise ValueError(
            f"X must be the {len(self.labels_)} rows that were fitted, got {len(rows)} others. "
            "Hint: predict_proba tells how sure new rows are."
        )
