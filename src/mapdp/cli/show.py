"""What a person sees in the terminal: progress on standard error, the summary on standard output."""

import dataclasses
import json
import pathlib
import time
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mapdp.cli.show_structure import structure_table
from mapdp.cli.time_left import seconds_left
from mapdp.data.wording import counted
from mapdp.engine.trace import Step
from mapdp.insights.typical import Typical
from mapdp.outputs.summary import Summary

_FEATURES = 3  # columns that a cluster is introduced by
_EVERY = 10.0  # seconds between two lines where nobody watches
_BAR = 20  # signs that show how far a pass has come
_CLUSTERS = 20  # that are shown; the report has all


class Pass(NamedTuple):
    """A pass over all rows of a table in blocks."""

    number: int
    n_rows: int
    began: float

    def shown(self, n_done: int, seconds: float) -> str:
        """Return a bar, the rows per second, and about how long the pass will still take."""
        n_signs, speed = _BAR * n_done // self.n_rows, n_done / max(seconds, 1e-9)
        bar = "#" * n_signs + "." * (_BAR - n_signs)
        left = (self.n_rows - n_done) / speed
        about = f", about {left:.0f} s left of it" if n_done < self.n_rows else ""
        return f"pass {self.number} {bar} {n_done:,} of {self.n_rows:,} rows, {speed:,.0f} rows/s{about}"


class ProgressLine:
    """Shows one line of progress that changes in place; off a terminal, a line every ten seconds."""

    def __init__(self, quiet: bool, seconds: float | None = None) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._status: Any = None
        self._seconds = seconds  # that the fit may take
        self._began = self._said = time.perf_counter()
        self._climb: list[Step] = []  # of the climb under way
        self._last_step, self._pass = "", Pass(0, 0, 0.0)

    def __enter__(self) -> "ProgressLine":
        self._status = self._console.status("reading")
        self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._status.stop()

    def say(self, text: str) -> None:
        """Show what is being done."""
        self._status.update(text)
        now = time.perf_counter()
        if not self._console.is_terminal and now - self._said >= _EVERY:
            self._said = now
            self._console.print(text, markup=False, soft_wrap=True)

    def step(self, step: Step) -> None:
        """Show one step of the search."""
        if self._climb and self._climb[0].climb != step.climb:
            self._climb = []
        self._climb.append(step)
        first = self._climb[0]
        spent, gained = step.seconds - first.seconds, step.log_joint - first.log_joint
        rate = f", {gained / spent:,.0f} nats/s" if spent > 0.0 else ""
        self._last_step = (
            f"climb {step.climb + 1}, {step.move}: {counted(step.n_clusters, 'cluster')}, "
            f"log joint {step.log_joint:,.1f}{rate}, {counted(step.n_moved, 'row')} moved"
        )
        self.say(f"{self._last_step}, {self._time()}")

    def begin_pass(self, n_rows: int) -> None:
        """Begin to show how far a pass over all rows has come."""
        self._pass = Pass(self._pass.number + 1, n_rows, time.perf_counter())

    def rows_done(self, n_rows: int) -> None:
        """Show how far the pass has come, and the last step of the search."""
        seconds = time.perf_counter() - self._pass.began
        parts = [self._pass.shown(n_rows, seconds), self._last_step, self._time()]
        self.say(", ".join(part for part in parts if part))

    def _time(self) -> str:
        """Return how long it has taken, and how long it will or may go on where that can be said."""
        seconds = time.perf_counter() - self._began
        left = seconds_left(
            [step.seconds for step in self._climb], [step.log_joint for step in self._climb]
        )
        about = "" if left is None else f", about {left:.0f} s left of this climb"
        most = "" if self._seconds is None else f", at most {max(0.0, self._seconds - seconds):.0f} s left"
        return f"{seconds:.1f} s{about}{most}"


def found(summary: Summary, as_json: bool, quiet: bool, paths: list[pathlib.Path]) -> None:
    """Print what was found: for programs, for people, or not at all."""
    if as_json:
        values = dataclasses.asdict(summary) | {"files": [str(path) for path in paths]}
        print(json.dumps(plain(values), default=str))
    elif not quiet:
        _for_people(summary, paths)


def plain(value: Any) -> Any:
    """Return values with numbers in place of what is typical in a few characters."""
    if isinstance(value, Typical):
        return value.numbers
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def _for_people(found: Summary, targets: list[pathlib.Path]) -> None:
    console = Console(highlight=False)
    console.print(_schema(found))
    alpha = "" if found.alpha is None else f", alpha {found.alpha:g}"
    console.print(
        f"\n[bold]{counted(found.n_clusters, 'cluster')}[/] of {counted(found.n_rows, 'row')}, "
        f"log joint {found.log_joint:.1f}{alpha}"
    )
    if found.model:
        console.print(f"Model: {found.model}.", markup=False)
    if found.sure:
        console.print(f"How certain is that number? {found.sure[0].upper()}{found.sure[1:]}.", markup=False)
    console.print(_clusters(found))
    if found.n_clusters > _CLUSTERS:
        console.print(f"... and {found.n_clusters - _CLUSTERS} more in the report.")
    if found.structure:
        console.print(structure_table(found.structure))
    if found.scored:
        nmi, ari = found.scored["nmi"], found.scored["ari"]
        console.print(
            f"Agreement with the label column, which was not used: NMI {nmi:.2f}, adjusted Rand {ari:.2f}."
        )
    for note in found.notes:
        console.print(f"Note: {note}", markup=False)
    console.print(f"Wrote {', '.join(map(str, targets))}.", markup=False, soft_wrap=True)


def _schema(found: Summary) -> Table:
    table = Table("column", "taken for", "missing", "", box=None, header_style="dim", pad_edge=False)
    for column in found.columns[:30]:
        table.add_row(
            *map(escape, (column["name"], column["kind"], str(column["missing"]), column["note"]))
        )
    if len(found.columns) > 30:
        table.add_row(f"... {len(found.columns) - 30} more", "", "", "")
    return table


def _clusters(found: Summary) -> Table:
    table = Table(
        "cluster", "rows", "stability", "what sets it apart", box=None, header_style="dim", pad_edge=False
    )
    for cluster in found.clusters[:_CLUSTERS]:
        traits = ", ".join(f"{f['name']} {f['here']}" for f in cluster["features"][:_FEATURES])
        sure = "" if cluster["stability"] is None else f"{cluster['stability']:.0%}"
        table.add_row(
            str(cluster["number"]), counted(cluster["size"], "row").split()[0], sure, escape(traits)
        )
    return table
