"""Values as plain JSON with tensors beside it, and back: numbers and words, and records of our own classes.

Whoever wrote a file may have wished us ill. So only classes that are listed here are made, each tensor is
used once, nesting has a limit, and the fields of a record must have the types that its class names.
"""

import dataclasses
import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from mapdp import families
from mapdp.data.column import Column
from mapdp.data.columns import Schema
from mapdp.engine.trace import Chains, Init, Step
from mapdp.estimators.filled_gaps import FilledCells
from mapdp.families import Product
from mapdp.families.background import Background
from mapdp.outputs.functions import function_at, path_of
from mapdp.partitions import process
from mapdp.sampling.diagnostics import RafteryLewis
from mapdp.selection.alpha import Tried
from mapdp.selection.structure import TriedModel

_RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (Chains, Column, FilledCells, Init, RafteryLewis, Schema, Step, Tried, TriedModel)
}
_FAMILIES: dict[str, Any] = {
    name: getattr(families, name) for name in families.__all__ if name not in ("Blocks", "grid")
}
_FAMILIES["Background"] = Background
_PROCESSES: dict[str, Any] = {
    kind.__name__: kind for kind in (process.PitmanYor, process.MixtureOfFiniteMixtures)
}
_KINDS = _RECORDS | _FAMILIES | _PROCESSES
_DEEPEST = 16  # levels of nesting; a product of products of categories has 11
_MOST_PARTS = 32  # of a product: code is compiled for each, which takes a second or two
_LARGEST = 2**63  # whole numbers are below this, as in NumPy


def packed(value: Any, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """Return a value as plain JSON; arrays go to the tensors under their name."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        tensors[name] = np.ascontiguousarray(value)
        return {"tensor": name}
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return {"words": value.tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if inspect.isfunction(value) or (isinstance(value, type) and value in _FAMILIES.values()):
        return _named(value)
    fields = _fields(value)
    if fields is not None:
        parts = {field: packed(getattr(value, field), f"{name}.{field}", tensors) for field in fields}
        return {"kind": _kind(value), "fields": parts}
    if isinstance(value, Mapping):
        pairs = [
            [packed(part, f"{name}.{i}", tensors) for part in pair] for i, pair in enumerate(value.items())
        ]
        return {"pairs": pairs}
    if isinstance(value, tuple):
        return {"tuple": [packed(one, f"{name}.{place}", tensors) for place, one in enumerate(value)]}
    if isinstance(value, list):
        return [packed(one, f"{name}.{place}", tensors) for place, one in enumerate(value)]
    if not isinstance(value, bool | int | float | str | None):
        raise TypeError(f"{name} cannot be kept in a file, got {type(value).__name__}.")
    return value


def _named(value: Any) -> dict[str, str]:
    """Return a class of ours, or a function of the user's, by its name."""
    return {"class": value.__name__} if isinstance(value, type) else {"function": path_of(value)}


def _fields(value: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a record, None where it is none."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(field.name for field in dataclasses.fields(value))
    return value._fields if isinstance(value, tuple) and hasattr(value, "_fields") else None


def _kind(value: Any) -> str:
    """Return the class of a record by name; one that cannot be read back is refused when it is written."""
    kind = process.PitmanYor if type(value) is process.DirichletProcess else type(value)
    if _KINDS.get(kind.__name__) is not kind:
        raise TypeError(f"{kind.__name__} cannot be kept in a file.")
    if kind is Product and len(value.parts) > _MOST_PARTS:
        raise TypeError(f"a Product of more than {_MOST_PARTS} parts cannot be kept in a file.")
    return kind.__name__


def unpacked(value: Any, tensors: dict[str, np.ndarray], depth: int = 0) -> Any:
    """Turn plain JSON back into values of our own classes; tensors that are used are taken out."""
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    if isinstance(value, list):
        return [unpacked(one, tensors, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        return _unpacked_alone(*next(iter(value.items())), tensors, depth)
    if value.keys() != {"kind", "fields"}:
        raise ValueError(f"a part says {', '.join(value)[:60]!r}, and not what kind it is")
    fields = {name: unpacked(one, tensors, depth + 1) for name, one in value["fields"].items()}
    return _record(_KINDS[value["kind"]], fields)


def _unpacked_alone(what: str, value: Any, tensors: dict[str, np.ndarray], depth: int) -> Any:
    """Return a tensor, a class, a dict or a tuple."""
    if what == "tensor":
        return tensors.pop(value).copy()  # once: many copies of one would fill the memory
    if what == "function":
        check_is_a("function", value, str)
        return function_at(value)
    if what == "class":
        return _FAMILIES[value]
    if what == "words":
        check_is_a("words", value, list[str])
        return np.array(value)
    if what == "tuple":
        return tuple(unpacked(value, tensors, depth))
    if what != "pairs":
        raise ValueError(f"{what[:60]!r} is no kind of value")
    pairs = [unpacked(pair, tensors, depth + 1) for pair in value]
    return dict(pairs)


def _record(kind: Any, fields: dict[str, Any]) -> Any:
    """Make a record; its class checks the fields, or its annotations say what they are."""
    if kind is Product:
        _check_parts(fields["parts"])
    record = kind(**fields)
    if kind.__name__ in _RECORDS:
        for name, type_ in typing.get_type_hints(kind).items():
            check_is_a(f"{name} of a {kind.__name__}", getattr(record, name), type_)
    return record


def _check_parts(parts: Any) -> None:
    """Raise where parts of a product would have to be spread over more columns than they describe."""
    check_is_a("parts", parts, tuple[tuple, ...])
    if len(parts) > _MOST_PARTS or any(part.n_features != len(columns) for part, columns in parts):
        raise ValueError("the parts of a product are not about its columns")
    check_is_a("columns of a part", [tuple(columns) for _, columns in parts], list[tuple[int, ...]])


def check_is_a(name: str, value: Any, type_: Any) -> None:
    """Raise unless a value, and all in it, is of the type."""
    if not _is_a(value, type_):
        wanted = type_.__name__ if isinstance(type_, type) else str(type_)
        raise ValueError(f"{name} must be {wanted}, got {type(value).__name__}")


def _is_a(value: Any, type_: Any) -> bool:
    """Say whether a value, and all in it, is of the type; a float may be given as a whole number."""
    origin, parts = typing.get_origin(type_), typing.get_args(type_)
    if origin is types.UnionType:
        return any(_is_a(value, part) for part in parts)
    if origin is not None:
        return isinstance(value, origin) and all(_is_a(one, parts[0]) for one in value)
    if isinstance(value, bool):
        return type_ in (bool, object)
    if isinstance(value, int):
        return type_ in (int, float, object) and abs(value) < _LARGEST
    return isinstance(value, type_)
