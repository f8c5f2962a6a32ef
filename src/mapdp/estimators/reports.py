"""What a fit reports beside its partition: trace, convergence, starts, models and doubts."""

import math
import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from mapdp.engine.joint import state_log_joint
from mapdp.estimators.doubts import doubts
from mapdp.estimators.map_fit import MapFit
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.zero_width import spikes
from mapdp.selection.alpha import Choice
from mapdp.selection.structure import Models


class ReportMixin(Mixture):
    """A mixture that was searched for, and how that went."""

    max_iter: int

    @property
    def warnings_(self) -> list[str]:
        """Return what to know before the partition is trusted, in sentences; often nothing."""
        check_is_fitted(self)
        flat = spikes(self.mixture_, self.n_clusters_)
        n_filled = 0 if self._filled is None else len(self._filled.rows)
        zeros = [column.name for column in self.schema_.columns if column.has_zeros]
        return doubts(self.inits_, self.alphas_, self.alpha_, self.cluster_sizes_, flat, n_filled, zeros)

    @property
    def models_(self) -> Models:
        """Return the structures that were tried, best first; prints as a table."""
        check_is_fitted(self)
        return Models(self._models)

    def _report(self, choice: Choice, fit: MapFit, is_stopped: bool) -> None:
        """Store trace, convergence and per-start results."""
        best, log_units = choice.best, fit.reading.log_units_of(fit.blocks)
        self._models = [] if fit.chosen is None else list(fit.chosen.models)
        self.trace_ = [step._replace(climb=c) for c, steps in enumerate(best.climbs) for step in steps]
        self.winning_climb_, self.converged_ = best.won, best.converged and not is_stopped
        self.n_iter_ = sum(steps[-1].sweep for steps in best.climbs)
        if not best.converged and not is_stopped:
            warnings.warn(
                f"rows still moved after max_iter={self.max_iter} sweeps. Hint: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.log_joint_ = state_log_joint(best.state, best.process) - log_units
        starts = [one.beside(best) for one in choice.starts]
        self.inits_ = [one._replace(log_joint=one.log_joint - log_units) for one in starts]
        self.alphas_ = [one._replace(log_joint=one.log_joint - log_units) for one in choice.tried]
        self.alpha_ = getattr(best.process, "alpha", math.nan)
