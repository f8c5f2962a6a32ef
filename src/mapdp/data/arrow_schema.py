"""The columns that all files of a pyarrow Dataset have, and a type for each that holds the cells of all."""

import re
from collections.abc import Sequence
from typing import Any

_HINT = "Hint: all files of a table have the same columns; leave this one out, or write it anew."


def shared_schema(dataset: Any, fragments: Sequence[Any]) -> Any:
    """Return the columns of a dataset; raise where a file has others than the first one."""
    if getattr(dataset, "format", None) is None or not fragments:
        return dataset.schema
    schema, first = dataset.schema, fragments[0]
    is_text = dataset.format.default_extname == "csv"  # whose types are guesses by the first lines
    for fragment in fragments[1:]:
        _check_names(fragment, first)
        if not is_text:
            _check_kinds(fragment, first)
        schema = _widened(schema, fragment.physical_schema)
    return _without_integers(schema) if is_text else schema


def _check_names(fragment: Any, first: Any) -> None:
    here, there = fragment.physical_schema.names, first.physical_schema.names
    for name in (*there, *here):
        if (name in here) != (name in there):
            has = "has a" if name in here else "has no"
            raise ValueError(f"{fragment.path} {has} column {name!r}, unlike {first.path}. {_HINT}")


def _check_kinds(fragment: Any, first: Any) -> None:
    for field in fragment.physical_schema:
        here, there = _kind(field.type), _kind(first.physical_schema.field(field.name).type)
        if "nothing" not in (here, there) and here != there:
            what = f"has {here} in column {field.name!r} where {first.path} has {there}"
            raise ValueError(f"{fragment.path} {what}. {_HINT}")


def _kind(kind: Any) -> str:
    """Return what cells of a type are."""
    from pyarrow import types

    if types.is_null(kind):
        return "nothing"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    words = types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
    return "words" if words else "times" if types.is_temporal(kind) else str(kind)


def _widened(schema: Any, other: Any) -> Any:
    """Return a schema whose types also hold the cells of another file."""
    import pyarrow

    for j, field in enumerate(schema):
        kind = other.field(field.name).type if field.name in other.names else field.type
        is_broken = pyarrow.types.is_integer(field.type) and pyarrow.types.is_floating(kind)
        if is_broken or pyarrow.types.is_null(field.type):
            schema = schema.set(j, field.with_type(pyarrow.float64() if is_broken else kind))
    return schema


def _without_integers(schema: Any) -> Any:
    """Return a schema for numbers that need not be whole."""
    import pyarrow

    real = pyarrow.float64()
    fields = [one.with_type(real) if pyarrow.types.is_integer(one.type) else one for one in schema]
    return pyarrow.schema(fields)


def said_by_arrow(error: Exception) -> str:
    """Return what Arrow says of a file, without what comes before: its name, and what was tried."""
    line = str(error).splitlines()[0]
    return re.sub(
        r"^(.*' file\?: )?Could not open \S+ input source '[^']*': (Invalid: )?", "", line
    ).rstrip(".")
