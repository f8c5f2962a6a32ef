"""Knows how a fitted model becomes one file, and a model again: numbers and JSON, nothing that runs.

The one idea: what is kept is a tree of plain values and of records of our own classes; arrays are tensors
beside it. A file says which version wrote it and carries a digest of all that it holds, so that a newer, a
damaged or a foreign file is refused with a sentence, and loading calls no code but our constructors.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import struct
import tempfile
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as tensor_bytes
from sklearn.utils.validation import check_is_fitted

from mapdp import families, process
from mapdp.estimators.map_dp import MAPDP
from mapdp.family import Bank, Family
from mapdp.schema import Column, Schema
from mapdp.selection import Tried
from mapdp.trace import Init, Step

FORMAT, VERSION = "mapdp model", 1

_RECORDS: dict[str, Any] = {kind.__name__: kind for kind in (Column, Init, Schema, Step, Tried)}
_MODELS: dict[str, Any] = {name: getattr(families, name) for name in families.__all__ if name != "Blocks"}
_MODELS |= {name: getattr(process, name) for name in ("PitmanYor", "MixtureOfFiniteMixtures")}
_KEPT = (
    *("schema_", "family_", "_process", "n_clusters_", "labels_", "cluster_sizes_", "known_labels_"),
    *("alpha_", "alphas_", "log_joint_", "trace_", "inits_", "n_iter_", "converged_", "n_features_in_"),
    "_has_ties",
)


def save(model: MAPDP, path: str | os.PathLike) -> None:
    """Write a fitted model to one file, which appears whole or not at all.

    Parameters
    ----------
    model : MAPDP
    path : path
        What is there already is replaced.

    Examples
    --------
    >>> import tempfile, mapdp
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = mapdp.MAPDP(alpha=0.3).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mapdp.save(model, folder + "/iris.mapdp")
    ...     again = mapdp.load(folder + "/iris.mapdp")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    if not isinstance(model, MAPDP):
        raise TypeError(
            f"model must be a fitted MAPDP, got {model!r}. Hint: pickle keeps other estimators."
        )
    check_is_fitted(model)
    write_whole(path, to_bytes(model))


def load(path: str | os.PathLike) -> MAPDP:
    """Read a model that `save` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : path

    Returns
    -------
    MAPDP
        Fitted, with its default parameters but for those that were kept.
    """
    return from_bytes(pathlib.Path(path).read_bytes(), str(path))


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    target = pathlib.Path(path)
    handle, partial = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def to_bytes(model: MAPDP) -> bytes:
    """Return a fitted model as the bytes of a file."""
    tensors: dict[str, np.ndarray] = {}
    names = getattr(model, "feature_names_in_", None)
    content = {
        "params": _params(model),
        "fitted": {
            name: _packed(getattr(model, name), name, tensors) for name in _KEPT if hasattr(model, name)
        },
        "names": None if names is None else [str(name) for name in names],
    }
    for place, array in enumerate(_arrays(model._bank)):
        tensors[f"bank.{place:02d}"] = np.ascontiguousarray(array)
    text = json.dumps(content)
    about = {"format": FORMAT, "version": str(VERSION), "model": text, "sha256": _digest(text, tensors)}
    return tensor_bytes(tensors, metadata=about)


def _params(model: MAPDP) -> dict[str, Any]:
    """Return the parameters that are plain values; the others have done their work."""
    return {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, bool | int | float | str | None) and value == value
    }


def _packed(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON knows it; arrays go to the tensors under their name."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        tensors[name] = np.ascontiguousarray(value)
        return {"tensor": name}
    if isinstance(value, np.generic):
        return value.item()
    kind = type(value).__name__
    if dataclasses.is_dataclass(value) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        fields = (
            [f.name for f in dataclasses.fields(value)]
            if dataclasses.is_dataclass(value)
            else value._fields
        )
        parts = {field: _packed(getattr(value, field), f"{name}.{field}", tensors) for field in fields}
        return {"kind": kind, "fields": parts}
    if isinstance(value, list | tuple):
        return [_packed(one, f"{name}.{place}", tensors) for place, one in enumerate(value)]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _digest(text: str, tensors: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of all that a file says."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _arrays(bank: Bank) -> list[np.ndarray]:
    """Return all arrays of a bank that hold slots, in their order."""
    found: list[np.ndarray] = []
    for name, value in zip(bank._fields, bank, strict=True):
        if name != "prior":
            found += _arrays(value) if hasattr(value, "_fields") else [value]
    return found


def from_bytes(content: bytes, name: str = "model file") -> MAPDP:
    """Return the model that `to_bytes` wrote, or say why these bytes are none."""
    about = _about(content, name)
    try:
        tensors = read_tensors(content)
        if _digest(about["model"], tensors) != about["sha256"]:
            raise ValueError("its digest is another")
        return _model(json.loads(about["model"]), tensors)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"{name} is damaged: {error}. Hint: save the model again.") from error


def _about(content: bytes, name: str) -> dict[str, str]:
    """Return the metadata of a file, or say that it is no model, or too new."""
    try:
        (length,) = struct.unpack("<Q", content[:8])
        about = json.loads(content[8 : 8 + length]).get("__metadata__", {})
        foreign = not isinstance(about, dict) or about.get("format") != FORMAT
    except (struct.error, ValueError, AttributeError, RecursionError, OverflowError):
        foreign = True
    if foreign:
        raise ValueError(f"{name} is not a mapdp model. Hint: `mapdp fit` and `mapdp.save` write them.")
    version = about.get("version", "")
    if not version.isdecimal() or int(version) > VERSION:
        raise ValueError(
            f"{name} has format version {version!r}, and this mapdp reads up to {VERSION}. "
            "Hint: update mapdp."
        )
    return about


def _model(content: dict[str, Any], tensors: dict[str, np.ndarray]) -> MAPDP:
    """Put a model together from what a file says."""
    model = MAPDP(**content["params"])
    for name, value in content["fitted"].items():
        if name not in _KEPT:
            raise KeyError(name)
        setattr(model, name, _unpacked(value, tensors))
    if content["names"] is not None:
        model.feature_names_in_ = np.array(content["names"], dtype=object)
    model._bank = model.family_.bank(model.n_clusters_ + 1)
    arrays = _arrays(model._bank)
    for place, array in enumerate(arrays):
        array[...] = tensors[f"bank.{place:02d}"].reshape(array.shape)
    return model


def _unpacked(value: Any, tensors: dict[str, np.ndarray]) -> Any:
    """Turn what JSON knows back into values of our own classes."""
    if isinstance(value, list):
        return [_unpacked(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    if "tensor" in value:
        return tensors[value["tensor"]].copy()
    kind, fields = value["kind"], {k: _unpacked(v, tensors) for k, v in value["fields"].items()}
    if kind in _RECORDS:
        return _RECORDS[kind](**{k: _as_tuples(v) for k, v in fields.items()})
    made = _MODELS[kind](**fields)
    if not isinstance(made, Family | process.Process):
        raise TypeError(kind)
    return made


def _as_tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
