"""What is kept on disk of a search in blocks, so that it can go on after it was broken off."""

import contextlib
import dataclasses
import hashlib
import json
import pathlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from mapdp.data.blocks import TableBlocks
from mapdp.data.writing import write_whole
from mapdp.engine.block_tasks import BlockModel, ClusterStats
from mapdp.search.in_blocks import BlockSearch, Partition, Progress


class Checkpoint(NamedTuple):
    """A file that is written after every step; None where none is wanted."""

    path: pathlib.Path | None
    problem: str  # a fingerprint of the model and the blocks

    @classmethod
    def at(cls, path: Any, model: BlockModel, blocks: TableBlocks) -> "Checkpoint":
        """Return the checkpoint of a search."""
        return cls(None if path is None else pathlib.Path(path), _fingerprint(model, blocks))

    def write(self, search: BlockSearch) -> None:
        """Write where a search stands; the file appears whole, in the place of the last one."""
        if self.path is None:
            return
        labels, clusters, log_joint = search.partition
        tensors = {"labels": labels, "sizes": clusters.sizes, "log_joint": np.array([log_joint])}
        tensors |= {f"slots.{i}": np.ascontiguousarray(slot) for i, slot in enumerate(clusters.slots)}
        known = {
            "problem": self.problem,
            "progress": list(search.progress),
            "refused": sorted(search.proposer.refused),
            "log_units": search.log_units,
        }
        write_whole(self.path, save(tensors, {"mapdp": json.dumps(known)}))

    def restore(self, search: BlockSearch) -> None:
        """Bring a search to where it was, if something was kept of it."""
        if self.path is None or not self.path.exists():
            return
        tensors, known = _read(self.path)
        if known.get("problem") != self.problem:
            raise ValueError(
                f"{self.path} is the checkpoint of another fit: its rows, parameters or version were "
                "others. Hint: delete it, or give another path."
            )
        with _refused(self.path):
            search.restored(*_restored(tensors, known, search.blocks.n_rows))


def _restored(
    tensors: dict[str, np.ndarray], known: dict, n_rows: int
) -> tuple[Partition, Progress, set, float]:
    """Return where a search stood; raise where that is not all there, or is none of so many rows."""
    labels, sizes = tensors["labels"], tensors["sizes"]
    counted = np.bincount(labels, minlength=len(sizes))
    if labels.shape != (n_rows,) or not np.array_equal(counted, sizes):
        raise ValueError("its labels are not those of its clusters")
    slots = [tensors[f"slots.{i}"] for i in range(len(tensors) - 3)]
    if any(slot.shape[-1] != len(sizes) for slot in slots):
        raise ValueError("its clusters are not all there")
    return (
        Partition(labels, ClusterStats(slots, sizes), float(tensors["log_joint"][0])),
        Progress(*known["progress"]),
        {(int(n), float(worth)) for n, worth in known["refused"]},
        float(known["log_units"]),
    )


def check_place(path: Any) -> None:
    """Raise where no checkpoint can be kept, before any work is done."""
    if path is not None and pathlib.Path(path).is_dir():
        raise IsADirectoryError(
            f"checkpoint must be a file, got the folder {path}. Hint: name a file in it."
        )
    if path is not None and not pathlib.Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint must be in a folder that is there, got {path}. Hint: make the folder first."
        )


def _read(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict]:
    with _refused(path), safe_open(path, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return tensors, json.loads(file.metadata()["mapdp"])


@contextlib.contextmanager
def _refused(path: pathlib.Path) -> Iterator[None]:
    """Say in one sentence that a file is no checkpoint, or not all of one."""
    try:
        yield
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a checkpoint that can be read: {error}. Hint: delete it to begin anew."
        ) from error


def _fingerprint(model: BlockModel, blocks: TableBlocks) -> str:
    """Return a digest of what a search depends on but for its labels."""
    digest = hashlib.sha256(version("mapdp").encode())
    for part in _parts((model.schema.columns, model.family, model.process, blocks.sizes)):
        digest.update(part)
    return digest.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """Yield all numbers and words that a value is made of."""
    if dataclasses.is_dataclass(value):
        yield type(value).__name__.encode()
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part)
    else:
        yield value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
