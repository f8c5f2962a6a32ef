"""`mapdp fit` on a folder of files, or within a budget of memory: read and written block by block."""

import dataclasses
import os
import pathlib
import re
import secrets
import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv as arrow_csv
import pyarrow.dataset as dataset
import pyarrow.parquet as parquet

from mapdp.cli import job, show
from mapdp.cli.files import Asked, TroubleError
from mapdp.data.blocks import ROWS, TableBlocks, in_blocks
from mapdp.data.writing import write_together
from mapdp.engine.trace import Step
from mapdp.estimators.map_dp import MAPDP
from mapdp.outputs import report, saving, summary

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".arrow": "arrow", ".feather": "arrow"}
_COPIES = 8  # of a block that are in memory at a time: as it was read, as numbers, encoded, scored
_FEWEST = 4096  # rows of a block
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
        """Make the folder; a search that was broken off goes on only where that was asked for."""
        self.out.mkdir(parents=True, exist_ok=True)
        if self.checkpoint.exists() and not self.resume:
            if not self.force:
                raise TroubleError(
                    f"{self.checkpoint} is there: a fit was broken off. "
                    "Hint: --resume goes on with it, --force begins anew."
                )
            self.checkpoint.unlink()

    def fitted(self, model: MAPDP, progress: show.ProgressLine) -> job.FitOutcome:
        """Fit; Ctrl-C ends the search with the best partition so far, and its checkpoint stays."""
        began = time.perf_counter()
        with job.Interrupt() as interrupt, progress:

            def on_step(step: Step) -> bool:
                progress.step(step)
                return interrupt.requested

            progress.say(f"{self.blocks.n_rows:,} rows in {len(self.blocks.sizes):,} blocks")
            model.set_params(callback=on_step)
            model.fit(self.blocks, checkpoint=self.checkpoint)
            model.set_params(callback=None)
            progress.say("writing labels")
            return job.FitOutcome(None, time.perf_counter() - began, interrupt.requested)

    def write(self, model: MAPDP, outcome: job.FitOutcome, title: str) -> summary.Summary:
        """Write labels block by block, then the model and a report; nothing is there until all of it is."""
        found = self._described(model, title, outcome.seconds)
        partial = self.out / f".mapdp-{secrets.token_hex(8)}"
        try:
            self._write_labels(model, partial)
            contents = (saving.to_bytes(model), report.to_html(found).encode())
            write_together(dict(zip(self.targets[1:], contents, strict=True)))
            os.replace(partial, self.targets[0])
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        if not outcome.is_interrupted:
            self.checkpoint.unlink(missing_ok=True)
        return found

    def _write_labels(self, model: MAPDP, path: pathlib.Path) -> None:
        writer: Any = None
        labels = np.split(np.asarray(model.labels_), self.blocks.starts[1:])
        for mine, chances in zip(labels, self.blocks.each(_chances, model, labels), strict=True):
            table = job.label_table(mine, chances)
            writer = writer or parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()

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


def job_of(
    table: str, asked: Asked, memory: str | None, out: pathlib.Path, *, resume: bool, force: bool
) -> BlockJob:
    """Return the fit of a folder of files, or of one file."""
    files = _files(table)
    kind = _FORMATS[files[0].suffix.lower()]
    rows = dataset.dataset(
        [str(one) for one in files], format=_csv(asked, files[0]) if kind == "csv" else kind
    )
    return BlockJob(in_blocks(rows, _rows_of_block(len(rows.schema.names), memory)), out, resume, force)


def _files(table: str) -> list[pathlib.Path]:
    """Return the files of a folder that can be read in blocks, in the order of their names."""
    path = pathlib.Path(table)
    if table == "-" or not path.exists():
        raise TroubleError(f"{table} cannot be read in blocks. Hint: name a file or a folder.")
    files = (
        [path]
        if path.is_file()
        else sorted(one for one in path.rglob("*") if one.suffix.lower() in _FORMATS)
    )
    if not files:
        raise TroubleError(f"{table} holds no file of {', '.join(_FORMATS)}. Hint: name another folder.")
    if files[0].suffix.lower() not in _FORMATS:
        raise TroubleError(
            f"{table} cannot be read in blocks: only {', '.join(_FORMATS)} can. Hint: leave out --memory."
        )
    others = [one for one in files if _FORMATS[one.suffix.lower()] != _FORMATS[files[0].suffix.lower()]]
    if others:
        raise TroubleError(
            f"{files[0].name} and {others[0].name} are of two formats. Hint: one folder, one format."
        )
    return files


def _csv(asked: Asked, first: pathlib.Path) -> Any:
    separator = asked.separator or ("\t" if first.suffix.lower() == ".tsv" else ",")
    missing = ["", "?", "NA", "N/A", "NaN", "nan", "null", *asked.missing]
    return dataset.CsvFileFormat(
        parse_options=arrow_csv.ParseOptions(delimiter=separator),
        convert_options=arrow_csv.ConvertOptions(null_values=missing, strings_can_be_null=True),
    )


def _rows_of_block(n_columns: int, memory: str | None) -> int:
    """Return how many rows a block may have, so that the blocks that are in memory keep to a budget."""
    room = bytes_of(memory) if memory is not None else _free() // 2
    n_threads = (os.cpu_count() or 1) + 1
    return int(np.clip(room / 2 / (8 * n_columns * _COPIES * n_threads), _FEWEST, ROWS))


def bytes_of(memory: str) -> int:
    """Return a budget such as 2GB in bytes."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(?:i?b)?\s*", memory.lower())
    try:
        found = float(match.group(1)) * _UNITS[match.group(2)] if match else 0.0
    except ValueError:
        found = 0.0
    if not found > 0.0:
        raise TroubleError(f"--memory must be a size, got {memory!r}. Hint: --memory 2GB.")
    return int(found)


def _free() -> int:
    """Return the bytes that the machine has free, 2 GB where it does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 2 * 10**9
