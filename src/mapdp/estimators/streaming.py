"""Rows that arrive in batches: `partial_fit`.

While there are few rows, all of them are searched anew whenever their number has doubled. Later a batch is
seated among the clusters there are, opens the ones it needs, and clusters merge. From time to time a sample
of older rows shows whether a cluster should be parted.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import _num_samples

from mapdp.data import checks
from mapdp.data.blocks import blocks_of
from mapdp.data.frames import joined
from mapdp.engine.block_tasks import BlockModel, ClusterStats, merged
from mapdp.engine.in_threads import assign
from mapdp.engine.state import predictive_bank
from mapdp.engine.stream import faded, scaled, seat_batch, together
from mapdp.estimators.block_fit import guesses_for
from mapdp.estimators.fitted import FittedMixture
from mapdp.estimators.mixture import Mixture
from mapdp.families.slots import slots_of
from mapdp.search.block_splits import parts_of

FEW = 4096  # rows that are kept as they came, and searched anew when their number has doubled
SAMPLE = 4096  # older rows that are kept to show whether clusters should be parted
BETWEEN = 50_000  # rows between two such looks
_FEWEST = 32  # rows of a cluster in the sample that say something about its parts
_TOO_LARGE = (
    "X has {:g}, too large for its square to be added up: it looks like a code for missing. "
    "Hint: leave such cells empty (NaN)."
)


class Stream(NamedTuple):
    """What is kept of rows that were seen: nothing here grows with their number."""

    n_seen: int = 0
    tables: tuple[Any, ...] = ()  # the rows themselves, while they are few
    is_young: bool = True  # whether they are
    searched_at: int = 0  # the number of rows when all of them were last searched
    sample: np.ndarray | None = None  # encoded rows
    looked_at: int = 0  # the number of rows when clusters were last parted
    log_units: float = 0.0  # what units add to the log density of what is kept

    @property
    def is_to_be_searched(self) -> bool:
        """Say whether there are twice as many rows as when all of them were last searched."""
        return self.is_young and self.n_seen >= 2 * self.searched_at

    @property
    def is_to_be_looked_at(self) -> bool:
        """Say whether it is time to see whether clusters should be parted."""
        return self.sample is not None and self.n_seen - self.looked_at >= BETWEEN

    def _with(self, X: Any) -> "Stream":
        tables = (*self.tables, X) if self.is_young else ()
        return self._replace(n_seen=self.n_seen + _num_samples(X), tables=tables)

    def _sampled(self, rows: np.ndarray, half_life: float | None) -> "Stream":
        """Let new rows take the place of older ones in the sample, each as often as it should be in it."""
        if self.sample is None:
            return self._replace(sample=rows[:SAMPLE])
        rng = np.random.default_rng([self.n_seen, len(rows)])
        lasting = self.n_seen if half_life is None else min(self.n_seen, half_life / np.log(2.0))
        chosen = rows[rng.random(len(rows)) < SAMPLE / lasting][-SAMPLE:]
        n_free = max(0, SAMPLE - len(self.sample))
        sample = np.concatenate([self.sample, chosen[:n_free]])
        rest = chosen[n_free:]
        sample[rng.choice(len(sample), len(rest), replace=False)] = rest
        return self._replace(sample=sample)


class StreamMixin(Mixture):
    """Fitting an estimator to batches of rows."""

    _stream: Stream | None = None

    def partial_fit(self, X: Any, y: Any = None, half_life: float | None = None) -> Self:
        """Learn from a batch of rows; earlier ones need not be kept.

        The first rows, some 8,192 of them, are searched anew whenever their number has doubled. Later
        batches join the clusters there are, which may open, split, merge and fade. Memory does not grow
        with the stream.

        Parameters
        ----------
        X : array or data frame
            A batch of rows, with the columns of the first batch.
        y : ignored
        half_life : float, default None
            After so many rows an older row counts for half, so that a stream that drifts is followed and
            clusters vanish that nobody joins. None never forgets.

        Returns
        -------
        self
            `labels_` are those of the batch, `n_rows_seen_` counts all rows, `cluster_sizes_` is what their
            rows count for now, and `log_joint_` is of what is kept.

        Examples
        --------
        >>> import numpy as np
        >>> from mapdp import MAPDP
        >>> rng = np.random.default_rng(0)
        >>> model = MAPDP()
        >>> for _ in range(5):
        ...     batch = rng.normal(size=(1000, 2)) + 8.0 * (np.arange(1000) % 3)[:, None]
        ...     model = model.partial_fit(batch)
        >>> model.n_clusters_, model.n_rows_seen_
        (3, 5000)
        """
        if blocks_of(X) is not None:
            raise TypeError(
                f"partial_fit takes a batch that is in memory, got {type(X).__name__}. "
                "Hint: fit takes tables in blocks."
            )
        if half_life is not None:
            checks.positive("half_life", half_life, "the number of rows after which one counts for half.")
        if hasattr(self, "mixture_"):
            self._new_table(X)  # raises where columns are others
        stream = self._begun_stream()._with(X)
        if stream.is_to_be_searched:
            self._search_all(stream)
        else:
            self._seat(X, stream, half_life)
        self.n_rows_seen_, self._filled = stream.n_seen, None  # labels are of the batch alone
        return self

    def _keep(self, mixture: FittedMixture, labels: Any) -> Self:
        self._stream = None
        return super()._keep(mixture, labels)

    def _end_stream(self) -> None:
        """Forget that there was a stream."""
        self.__dict__.pop("n_rows_seen_", None)

    def _begun_stream(self) -> Stream:
        """Return what is kept of earlier rows; a model that was fitted or loaded has its clusters."""
        if self._stream is None and hasattr(self, "mixture_"):
            n_seen = getattr(self, "n_rows_seen_", round(float(np.sum(self.mixture_.sizes))))
            return Stream(n_seen, is_young=False)
        return self._stream or Stream()

    def _search_all(self, stream: Stream) -> None:
        """Search all rows anew; the labels that are kept are those of the last batch."""
        table, n_last = joined(stream.tables), _num_samples(stream.tables[-1])
        self._sees_all_rows = False
        try:
            self.fit(table)
        finally:
            del self._sees_all_rows
        self.labels_ = self.labels_[-n_last:]
        numbers = self._as_fitted(self.numbers_of(table))
        is_young = stream.n_seen < FEW
        self._stream = stream._replace(
            tables=(table,) if is_young else (),
            is_young=is_young,
            searched_at=stream.n_seen,
            sample=self.mixture_.encoded(numbers)[-SAMPLE:],
            log_units=float(np.sum(self.schema_.log_units(numbers))),
        )

    def _seat(self, X: Any, stream: Stream, half_life: float | None) -> None:
        """Let a batch join the clusters, once they have faded."""
        numbers, mixture = self.mixture_.without_open_gaps(self.numbers_of(X)), self.mixture_
        if not mixture.family.takes_gaps(numbers):
            mixture, stream = _with_gaps(mixture, stream)
        rows = np.ascontiguousarray(mixture.encoded(numbers))
        times = 1.0 if half_life is None else 0.5 ** (len(rows) / half_life)
        clusters = ClusterStats(slots_of(mixture.bank, self.n_clusters_), mixture.sizes.astype(float))
        if times < 1.0:
            clusters = faded(mixture.family, clusters, times)
        process = mixture.process.counted_as(float(clusters.sizes.sum() + len(rows)))
        model = BlockModel(self.schema_, mixture.family, process)
        clusters = seat_batch(model, clusters, rows)
        if not np.isfinite(model.log_joint(clusters.rounded())):
            raise ValueError(_TOO_LARGE.format(np.nanmax(np.abs(numbers))))
        log_units = times * stream.log_units + float(np.sum(self.schema_.log_units(numbers)))
        stream = stream._sampled(rows, half_life)._replace(log_units=log_units)
        if stream.is_to_be_looked_at:
            clusters = together(_parted(model, clusters, stream.sample, stream.n_seen))
            stream = stream._replace(looked_at=stream.n_seen)
        self._keep_clusters(model, merged(model, clusters)[0], rows, stream)

    def _keep_clusters(
        self, model: BlockModel, clusters: ClusterStats, rows: np.ndarray, stream: Stream
    ) -> None:
        """Store clusters by falling size, and where the rows of the batch belong."""
        order = np.argsort(-clusters.sizes, kind="stable")
        clusters = ClusterStats(
            [slot.take(order, axis=-1) for slot in clusters.slots], clusters.sizes[order]
        )
        state = model.state(clusters.rounded())
        labels = assign(rows, np.arange(len(rows), dtype=np.int32), state.n_clusters, state, 1)
        bank = predictive_bank(state.bank, model.family, state.n_clusters)
        is_whole = bool((clusters.sizes == np.rint(clusters.sizes)).all())
        sizes = clusters.sizes.astype(np.int64) if is_whole else clusters.sizes
        self._keep(self.mixture_._replace(family=model.family, bank=bank, sizes=sizes), labels)
        self.log_joint_, self._stream = model.log_joint(clusters.rounded()) - stream.log_units, stream


def _with_gaps(mixture: FittedMixture, stream: Stream) -> tuple[FittedMixture, Stream]:
    """Go on with a family that takes gaps, where the rows that the stream began with had none."""
    new = mixture.for_gaps()
    if stream.sample is None:
        return new, stream
    sample = new.family.encode(mixture.family.decode(stream.sample), new.schema.names())
    return new, stream._replace(sample=sample)


def _parted(model: BlockModel, clusters: ClusterStats, rows: Any, seed: int) -> list[ClusterStats]:
    """Return clusters, in parts where the sample says so; a part counts for its share of the cluster."""
    state, found, rng = model.state(clusters.rounded()), [], np.random.default_rng(seed)
    owners = assign(rows, np.arange(len(rows), dtype=np.int32), state.n_clusters, state, 1)
    for k in range(state.n_clusters):
        mine = np.ascontiguousarray(rows[owners == k])
        parts = None if len(mine) < _FEWEST else parts_of(model, mine, guesses_for(model)(mine), rng)
        if parts is None:
            found.append(scaled(model.family, clusters, np.array([k]), np.ones(1)))
        else:
            n_parts, times = len(parts.sizes), float(clusters.sizes[k]) / len(mine)
            found.append(scaled(model.family, parts, np.arange(n_parts), np.full(n_parts, times)))
    return found
