"""A fitted estimator as one file, and back: numbers and JSON, nothing that runs.

What is kept is a tree of plain values and of records of our own classes; arrays are tensors beside it. A
file says which version wrote it and carries a digest of all that it holds, so that a newer, a damaged or
a foreign file is refused with a sentence. A digest proves nothing about who made it, so all that a file
says is checked before it is used, and loading calls no code but our constructors.
"""

import hashlib
import json
import os
import pathlib
import struct
import warnings
from typing import Any

import numpy as np
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as tensor_bytes
from sklearn.utils.validation import check_is_fitted

from mapdp.data.writing import write_whole
from mapdp.estimators.dp_means import DPMeans
from mapdp.estimators.gibbs import GibbsDPM
from mapdp.estimators.hidden_markov import MAPHMM
from mapdp.estimators.hierarchical import HierarchicalMAPDP
from mapdp.estimators.map_dp import MAPDP
from mapdp.estimators.mixture import Mixture
from mapdp.estimators.nested import NestedMAPDP
from mapdp.outputs.functions import MissingFunctionError
from mapdp.outputs.packing import check_is_a, packed, unpacked
from mapdp.outputs.saved_parts import arrays_of, check_estimator, checked_mixture

FORMAT, VERSION = "mapdp model", 2

_ESTIMATORS: dict[str, Any] = {
    kind.__name__: kind for kind in (MAPDP, GibbsDPM, DPMeans, HierarchicalMAPDP, NestedMAPDP, MAPHMM)
}
_PARTS = ("schema", "family", "process", "sizes")  # of a mixture; its bank goes to the tensors


def save(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted estimator to one file, which appears whole or not at all.

    Parameters
    ----------
    model : MAPDP, GibbsDPM, DPMeans, HierarchicalMAPDP, NestedMAPDP or MAPHMM
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
    write_whole(path, to_bytes(model))


def load(path: str | os.PathLike) -> Any:
    """Read an estimator that `save` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : path

    Returns
    -------
    MAPDP, GibbsDPM, DPMeans, HierarchicalMAPDP, NestedMAPDP or MAPHMM
        Fitted. A parameter that a file cannot hold, such as a callback, has its default; a warning names
        it.
    """
    return from_bytes(pathlib.Path(path).read_bytes(), str(path))


def to_bytes(model: Any) -> bytes:
    """Return a fitted estimator as the bytes of a file; the same model gives the same bytes."""
    if type(model) not in _ESTIMATORS.values():
        raise TypeError(
            f"model must be a fitted {', '.join(_ESTIMATORS)}, got {model!r}. "
            "Hint: pickle keeps other estimators."
        )
    check_is_fitted(model)
    if hasattr(model, "device_clusters_"):
        raise ValueError(
            "a model of what a device has learned has no labels to save. "
            "Hint: keep the bytes of its state beside the model that was exported."
        )
    tensors: dict[str, np.ndarray] = {}
    names = getattr(model, "feature_names_in_", None)
    params, lost = _params(model, tensors)
    there = [name for name in model._saved if hasattr(model, name)]
    content = {
        "estimator": type(model).__name__,
        "params": params,
        "lost": lost,
        "fitted": {name: packed(_in_memory(getattr(model, name)), name, tensors) for name in there},
        "mixture": _packed_mixture(model.mixture_, tensors) if isinstance(model, Mixture) else None,
        "names": None if names is None else [str(name) for name in names],
    }
    text = json.dumps(content)
    about = {"format": FORMAT, "version": VERSION, "model": text, "sha256": _digest(text, tensors)}
    return tensor_bytes(tensors, metadata={"mapdp": json.dumps(about)})  # one entry: several have no order


def _in_memory(value: Any) -> Any:
    """Return labels that are a Dask array, or in a file, as an array."""
    return np.asarray(value) if hasattr(value, "chunks") or isinstance(value, np.memmap) else value


def _packed_mixture(mixture: Any, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return a fitted mixture as plain JSON; its bank goes to the tensors."""
    for place, array in enumerate(arrays_of(mixture.bank)):
        tensors[f"bank.{place:02d}"] = np.ascontiguousarray(array)
    return {name: packed(getattr(mixture, name), name, tensors) for name in _PARTS}


def _params(model: Any, tensors: dict[str, np.ndarray]) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters as plain JSON, and the names of those that no file can hold."""
    kept, lost = {}, []
    defaults = type(model)().get_params(deep=False)
    for name, value in model.get_params(deep=False).items():
        try:
            if callable(value) and not isinstance(value, type):
                raise TypeError(f"{name} is code.")
            kept[name] = packed(value, f"params.{name}", tensors)
        except TypeError:
            kept[name] = packed(defaults[name], f"params.{name}", tensors)
            lost.append(name)
    return kept, lost


def _digest(text: str, tensors: dict[str, np.ndarray]) -> str:
    """Return the SHA-256 of all that a file says."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def from_bytes(content: bytes, name: str = "model file") -> Any:
    """Return the model that `to_bytes` wrote, or say why these bytes are none."""
    about = _about(content, name)
    try:
        tensors = read_tensors(content)
        if _digest(about["model"], tensors) != about["sha256"]:
            raise ValueError("its digest is another")
        with np.errstate(all="ignore"):  # what is not finite is refused
            model, lost = _model(json.loads(about["model"]), tensors)
    except MissingFunctionError as error:
        raise ValueError(f"{name} cannot be read: {error}") from error
    except Exception as error:  # any: a forged file may bring every constructor to every error it has
        raise ValueError(f"{name} is damaged: {_reason(error)}. Hint: save the model again.") from error
    for one in lost:
        warnings.warn(f"{one} was not kept in the file and has its default.", UserWarning, stacklevel=3)
    return model


def _reason(error: Exception) -> str:
    """Return what went wrong in a few words on one line."""
    words = " ".join(str(error).split(" Hint:")[0].split()).rstrip(".")[:200]
    words = "".join(letter if letter.isprintable() else "?" for letter in words)
    return words if isinstance(error, ValueError) and words else f"{type(error).__name__} {words}".strip()


def _about(content: bytes, name: str) -> dict[str, Any]:
    """Return the metadata of a file, or say that it is no model, or of another version."""
    try:
        (length,) = struct.unpack("<Q", content[:8])
        about = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["mapdp"])
        version = about["version"] if type(about["version"]) is int else 0
        foreign = about["format"] != FORMAT or not 0 < version < 2**31
    except (struct.error, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        foreign = True
    if foreign:
        raise ValueError(f"{name} is not a mapdp model. Hint: `mapdp fit` and `mapdp.save` write them.")
    if about["version"] != VERSION:
        newer = about["version"] > VERSION
        raise ValueError(
            f"{name} has format version {about['version']}, and this mapdp reads {VERSION}. "
            f"Hint: {'update mapdp' if newer else 'fit and save the model again'}."
        )
    return about


def _model(content: dict[str, Any], tensors: dict[str, np.ndarray]) -> tuple[Any, list[str]]:
    """Put an estimator together from what a file says; name the parameters that were not kept."""
    kind = _ESTIMATORS[content["estimator"]]
    model = kind(**{name: unpacked(value, tensors) for name, value in content["params"].items()})
    fitted = {name: unpacked(value, tensors) for name, value in content["fitted"].items()}
    for name in kind._saved.keys() | fitted.keys():
        check_is_a(name, fitted.get(name), kind._saved[name])
    for name, value in fitted.items():
        setattr(model, name, value)
    if content["names"] is not None:
        check_is_a("names", content["names"], list[str])
        model.feature_names_in_ = np.array(content["names"], dtype=object)
    if issubclass(kind, Mixture):
        parts = {name: unpacked(content["mixture"][name], tensors) for name in _PARTS}
        model._keep(checked_mixture(parts, tensors), model.labels_)
    if tensors:
        raise ValueError(f"nothing names the tensor {min(tensors)[:60]!r}")
    check_estimator(model)
    check_is_a("lost", content["lost"], list[str])
    if not set(content["lost"]) <= content["params"].keys():
        raise ValueError("it has lost what is no parameter")
    return model, content["lost"]
