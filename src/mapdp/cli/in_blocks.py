"""`mapdp fit` on a folder of files, or within a budget of memory: read and written block by block."""

import contextlib
import dataclasses
import errno
import functools
import os
import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet

from mapdp.cli import job, show, targets
from mapdp.cli.files import TroubleError
from mapdp.cli.watched_blocks import WatchedBlocks
from mapdp.data.blocks import TableBlocks
from mapdp.data.writing import appearing_together, left_behind, write_new
from mapdp.estimators.map_dp import MAPDP
from mapdp.outputs import report, saving, summary

_DRAWN = 20_000  # rows that the report is drawn from


class BlockJob(NamedTuple):
    """A fit of a table that need not be in memory."""

    blocks: TableBlocks
    out: pathlib.Path
    resume: bool
    force: bool

    @property
    def targets(self) -> list[pathlib.Path]:
        """Return the files that are written."""
        return [self.out / name for name in ("labels.parquet", "model.mapdp", "report.html")]

    @property
    def checkpoint(self) -> pathlib.Path:
        """Return where the search is kept while it is under way."""
        return self.out / "checkpoint"

    def prepare(self) -> None:
        """Check what is there, and make the folder; a fit that was broken off goes on only on request."""
        is_there = self.checkpoint.exists()
        if is_there and not (self.resume or self.force):
            raise TroubleError(
                f"{self.checkpoint} is there: a fit was broken off. "
                "Hint: --resume goes on with it, --force begins anew."
            )
        targets.check(self.targets, self.force or (self.resume and is_there))
        self.out.mkdir(parents=True, exist_ok=True)
        if is_there or self.resume:
            for path in left_behind(self.out) + [self.checkpoint] * (not self.resume):
                path.unlink()

    def fitted(self, model: MAPDP, progress: show.ProgressLine) -> job.FitOutcome:
        """Fit; Ctrl-C ends the search with the best partition so far, and its checkpoint stays."""
        size = f"{self.blocks.n_rows:,} rows in {len(self.blocks.sizes):,} blocks"
        rows = WatchedBlocks(self.blocks, progress)
        search = functools.partial(model.fit, rows, checkpoint=self.checkpoint)
        with self._is_kept():
            return job.watched(model, progress, search, begin=size, end="writing labels")

    def write(self, model: MAPDP, outcome: job.FitOutcome, title: str) -> summary.Summary:
        """Write labels block by block, then the model and a report; nothing is there until all of it is."""
        found = self._described(model, title, outcome.seconds)
        with self._is_kept(), appearing_together(self.targets) as (labels, kept, page):
            self._write_labels(model, labels)
            write_new(kept, saving.to_bytes(model))
            write_new(page, report.to_html(found).encode())
        if not outcome.is_interrupted:
            self.checkpoint.unlink(missing_ok=True)
        return found

    @contextlib.contextmanager
    def _is_kept(self) -> Iterator[None]:
        """Say of a disk that is full how the fit can go on."""
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT) and self.checkpoint.exists():
                raise TroubleError(f"{error} Then --resume goes on where the fit was.") from error
            raise

    def _write_labels(self, model: MAPDP, path: pathlib.Path) -> None:
        labels = np.split(np.asarray(model.labels_), self.blocks.starts[1:])
        given = self.blocks.each(_chances, model, labels)
        schema = job.label_table(np.zeros(0, dtype=np.int32), np.zeros((0, 1))).schema
        with open(path, "xb") as file:
            with parquet.ParquetWriter(file, schema) as writer:
                for mine, chances in zip(labels, given, strict=True):
                    writer.write_table(job.label_table(mine, chances))
            file.flush()
            os.fsync(file.fileno())

    def _described(self, model: MAPDP, title: str, seconds: float) -> summary.Summary:
        """Return what there is to say, of all rows or a sample of them."""
        n_rows = self.blocks.n_rows
        chosen = np.arange(n_rows)
        if n_rows > _DRAWN:
            chosen = np.sort(np.random.default_rng(0).choice(n_rows, _DRAWN, replace=False))
        view = summary.view_of(model, self.blocks.rows(chosen), np.asarray(model.labels_[chosen]))
        found = summary.summarise(model, view, title=title, seconds=seconds)
        if n_rows == len(chosen):
            return found
        note = (
            f"The report is drawn from {len(chosen):,} of {n_rows:,} rows; clusters are those of all rows."
        )
        return dataclasses.replace(found, n_rows=n_rows, labels=[], notes=[*found.notes, note])


def _chances(block: Any, model: MAPDP, _: np.ndarray) -> np.ndarray:
    return model.predict_proba(block)


def is_for(table: str, memory: str | None) -> bool:
    """Say whether a table is read block by block: a folder, or any file for which a budget is named."""
    return memory is not None or (table != "-" and pathlib.Path(table).is_dir())
