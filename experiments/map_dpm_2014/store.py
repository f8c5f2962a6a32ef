"""Experiments run piece by piece, in processes, so that a killed run goes on where it stopped."""

import concurrent.futures
import csv
import json
import multiprocessing
import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mapdp.outputs.saving import write_whole


def winning_steps(model):
    """Return the steps of the climb that won: a fit may climb several times."""
    return [step for step in model.trace_ if step.climb == model.winning_climb_]


def results(
    name: str, pieces: Sequence[str], work: Callable[[str], Any], folder: pathlib.Path
) -> list[Any]:
    """Return what `work` gives for each piece; what is in the folder already is not done again."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [piece for piece in pieces if not _file(folder, piece).exists()]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), mp_context=context) as pool:
        running = {pool.submit(work, piece): piece for piece in todo}
        for done, future in enumerate(concurrent.futures.as_completed(running), start=1):
            text = json.dumps(future.result())
            write_whole(_file(folder, running[future]), text.encode())
            print(f"{name}: {done} of {len(todo)} done", file=sys.stderr, flush=True)
    return [json.loads(_file(folder, piece).read_text()) for piece in pieces]


def _file(folder: pathlib.Path, piece: str) -> pathlib.Path:
    return folder / f"{piece}.json"


def write_csv(path: pathlib.Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the same fields."""
    rows = list(rows)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def verdict(ours: float, paper: float, spread: float) -> str:
    """Say how far our number is from the paper's, in standard deviations that the paper gives."""
    away = (ours - paper) / spread
    word = "agrees" if abs(away) < 0.5 else "near" if abs(away) < 1.0 else "differs"
    return f"{word} ({away:+.1f} sd)"
