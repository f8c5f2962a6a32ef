"""A model as C text: constants, then pieces of plain C that the kinds of its columns name.

A piece is a file of C with a few `$names` to fill in, and a line that names `$kind` is written once for
each kind. So the pieces read, and are highlighted, as the C they are, and no template engine is needed.
"""

import functools
import importlib.resources
import math
import zlib
from collections.abc import Mapping

import numpy as np

from mapdp.estimators.fitted import FittedMixture
from mapdp.outputs.c_code.choice import Export, of_process
from mapdp.outputs.c_code.encoding import Cell, cells_of, encoding, log_units
from mapdp.outputs.c_code.kinds import Kind
from mapdp.outputs.c_code.text import CArray, constant, escaped, filled, number, numbers, wrapped
from mapdp.partitions.process import PitmanYor

_OF_PRECISION: Mapping[str, Mapping[str, str]] = {
    "double": {
        "real": "double",
        "suffix": "",
        "log": "log",
        "lowest_exp": "-708.0",
        "log_2_high": "0.6931471803691238",
        "log_2_low": "1.9082149292705877e-10",
        "exp_terms": "14",
        "splitter": "134217729.0",
        "largest_count": "9007199254740992.0",
        "whole": "uint64_t",
        "largest": "1e308",
        "most_rows": "4503599627370496.0",
        "bits": "uint64_t",
        "negligible": "1e-18",
    },
    "float": {
        "real": "float",
        "suffix": "##f",
        "log": "logf",
        "lowest_exp": "-87.0",
        "log_2_high": "0.693359375",
        "log_2_low": "-2.12194440e-4",
        "exp_terms": "7",
        "splitter": "4097.0",
        "largest_count": "16777216.0",
        "whole": "uint32_t",
        "largest": "3e38",
        "most_rows": "8388608.0",
        "bits": "uint32_t",
        "negligible": "1e-9",
    },
}
_TO_MERGE = ("log_rate", "log_prior_det")  # constants that only the search for a pair to merge reads
_ORDER = ("log1p", "gamma", "half_step", "exact", "exact_sums", "about_means", "large_counts")


@functools.cache
def pieces() -> dict[str, str]:
    """Return all pieces of C, by name."""
    folder = importlib.resources.files("mapdp.outputs.c_code") / "pieces"
    return {file.name.removesuffix(".c"): file.read_text(encoding="utf-8") for file in folder.iterdir()}


def parts_of(choice: Export, cells: list[Cell]) -> dict[str, str]:
    """Return what is filled in for the names in pieces."""
    is_full = "            room = mapdp_merge_for(s, opened - empty->log_join - joined);"
    rate = getattr(choice.mixture.process, "rate", 1.0)
    knows_gaps = choice.mixture.family.has_columns
    return {
        **_OF_PRECISION[choice.precision],
        "n_columns": str(len(choice.mixture.schema.columns)),
        "n_features": str(choice.mixture.family.n_features),
        "n_clusters": str(choice.mixture.n_clusters),
        "capacity": str(choice.capacity),
        "log_units": log_units(choice, cells),
        "when_full": is_full if choice.when_full == "merge" else "            return MAPDP_FULL;",
        "no_gaps": "" if knows_gaps else " || mapdp_has_gaps(x)",
        "gaps_refused": "" if knows_gaps else ", or the row has a gap",
        "or_learn": " or\n * mapdp_learn" if choice.learn else "",
        "most_components": str(int(rate + 20.0 * math.sqrt(rate)) + 59),  # the sum that Python takes, too
        "about": about(choice),
        "full": _when_full(choice),
    }


def about(choice: Export) -> str:
    """Return in a line what the model is."""
    family, mixture = type(choice.mixture.family).__name__, choice.mixture
    return f"{mixture.n_clusters} clusters of {mixture.sizes.sum():g} rows, {family}, {choice.precision}"


def _when_full(choice: Export) -> str:
    if choice.when_full == "refuse":
        return "Where there is no room it is not learned: MAPDP_FULL."
    return (
        "Where there is no room, the two clusters that lose least by becoming one\n"
        " * make some, if the row gains more: s->merged is then part of s->merged_into, and its number is\n"
        " * that of the row. Else the row joins the best cluster there is."
    )


def header(choice: Export) -> str:
    """Return mapdp_model.h."""
    cells = cells_of(choice)
    parts = parts_of(choice, cells)
    learning = filled(pieces()["learning.h"], parts) if choice.learn else ""
    rest = {
        "columns": "\n".join(f" *   {line}" for line in _columns(choice)),
        "lengths": "\n".join(
            f"    {name} = {n}," for kind in choice.kinds for name, n in kind.lengths.items()
        ),
        "structs": _structs(choice),
        "state": _state(choice),
        "learning": learning,
    }
    return filled(pieces()["model.h"], {**parts, **rest})


def _columns(choice: Export) -> list[str]:
    """Return number, name and kind of each column of the table."""
    schema = choice.mixture.schema
    names = [
        f"column {j}" if column.name is None else column.name for j, column in enumerate(schema.columns)
    ]
    return [
        f"{j}  {escaped(name)}: {column.kind if column.is_used else 'not used'}"
        for j, (name, column) in enumerate(zip(names, schema.columns, strict=True))
    ]


def _structs(choice: Export) -> str:
    """Return the types of what a chair holds."""
    text = []
    members = (
        {"sums": "statistics", "predictive": "cached predictive"} if choice.learn else {"predictive": ""}
    )
    for kind in choice.kinds:
        for member in members:
            fields = "\n".join(table.declared() for table in getattr(kind, member))
            text.append(f"typedef struct {{\n{fields}\n}} mapdp_{kind.name}_{member};\n\n")
    for member in members:
        fields = "\n".join(f"    mapdp_{kind.name}_{member} {kind.name};" for kind in choice.kinds)
        rows = "    mapdp_real n;   /* rows */\n" if member == "sums" else ""
        text.append(f"typedef struct {{\n{rows}{fields}\n}} mapdp_{member};\n\n")
    sums = "    mapdp_sums sums;\n" if choice.learn else ""
    return (
        "".join(text) + f"typedef struct {{   /* a chair: what a cluster knows */\n{sums}"
        "    mapdp_predictive predictive;\n"
        "    mapdp_real log_join;   /* log prior weight */\n} mapdp_chair;\n"
    )


def _state(choice: Export) -> str:
    if not choice.learn:
        return "    const mapdp_chair *chairs;   /* in flash */\n    int n_chairs;"
    return (
        "    mapdp_chair chairs[MAPDP_CAPACITY + 1];   /* the last one is empty */\n"
        "    int n_chairs;      /* chairs that were ever taken */\n"
        "    int merged;        /* cluster that the last mapdp_learn made a part of ... */\n"
        "    int merged_into;   /* ... this one; -1 where it merged none */"
    )


def source(choice: Export) -> str:
    """Return mapdp_model.c."""
    cells, known = cells_of(choice), pieces()
    names = [kind.name for kind in choice.kinds]
    text = ['#include "mapdp_model.h"\n\n#include <string.h>\n\n', known["real"], known["log_libm"]]
    text += [known[f"own_log_{choice.precision}"], known["exp"]]
    text += [known[name] for name in _needed(choice)]
    text += [_constants(choice), encoding(choice, cells, known)]
    for kind in choice.kinds:
        text += [known.get(kind.moving if choice.learn else kind.fixed, ""), known[f"{kind.name}_score"]]
        text.append(known[f"{kind.name}_learn"] if choice.learn else "")
        text.append(known[f"{kind.name}_merge"] if choice.merges else "")
    text.append(known["moving" if choice.learn else "fixed"] + known["verbs"])
    if choice.learn:
        merging = known["merge"] if choice.merges else ""
        gaps = "" if choice.mixture.family.has_columns else known["has_gaps"]
        text.append(known["open_alpha" if _has_alpha(choice) else "open_finite"])
        text += [known["learn"], merging, gaps, known["learn_row"], known["state"]]
    return filled("".join(text), parts_of(choice, cells), names)


def _needed(choice: Export) -> list[str]:
    """Return the names of the pieces that the kinds need, each after those it needs itself."""
    wanted = {piece for kind in choice.kinds for piece in kind.needs}
    if choice.learn:
        wanted |= {"log1p"} | {piece for kind in choice.kinds for piece in kind.needs_to_learn}
        wanted |= set() if _has_alpha(choice) else {"gamma"}
    if choice.merges:
        wanted |= {"gamma"} | {piece for kind in choice.kinds for piece in kind.needs_to_merge}
    return [name for name in _ORDER if name in wanted]


def _has_alpha(choice: Export) -> bool:
    return isinstance(choice.mixture.process, PitmanYor)


def _constants(choice: Export) -> str:
    """Return the constant model: hyperparameters, and the clusters."""
    precision, process = choice.precision, choice.mixture.process
    text = ["/* ---- The model: constants in flash ---- */\n\n"]
    for kind in choice.kinds:
        tables = tables_of_prior(kind, choice)
        text += [constant(f"{kind.name}_", table, precision) + "\n" for table in tables]
    if choice.learn:
        for name, value in of_process(process).items():
            text.append(f"static const mapdp_real mapdp_{name} = {number(value, precision)};\n")
        text.append(
            f"static const uint32_t mapdp_fingerprint = {fingerprint(choice.mixture, choice.kinds)}u;\n"
        )
        text.append("#define MAPDP_NUMBERS (sizeof(mapdp_sums) / sizeof(mapdp_real))\n")
    text.append(f"#define MAPDP_EMPTY {'MAPDP_CAPACITY' if choice.learn else 'MAPDP_CLUSTERS'}\n\n")
    return "".join(text) + (_fitted_sums(choice) if choice.learn else _fitted_chairs(choice))


def tables_of_prior(kind: Kind, choice: Export) -> list[CArray]:
    """Return the hyperparameters that are written."""
    return [table for table in kind.prior if choice.merges or table.name not in _TO_MERGE]


def _fitted_sums(choice: Export) -> str:
    """Return the statistics of the fitted clusters."""
    rows = []
    for k in range(choice.mixture.n_clusters):
        inner = [_braces(kind_sums(kind, choice.precision), k, choice.precision) for kind in choice.kinds]
        size = number(float(choice.mixture.sizes[k]), choice.precision)
        rows.append(wrapped(f"    {{{', '.join([size, *inner])}}}"))
    body = ",\n".join(rows)
    return f"static const mapdp_sums mapdp_fitted[MAPDP_CLUSTERS] = {{\n{body}\n}};\n\n"


def _fitted_chairs(choice: Export) -> str:
    """Return the predictives of the fitted clusters and of an empty chair."""
    weights, rows = choice.mixture.log_weights, []
    for k in range(choice.mixture.n_clusters + 1):
        inner = [_braces(kind.predictive, k, choice.precision) for kind in choice.kinds]
        weight = number(float(weights[k]), choice.precision)
        rows.append(wrapped(f"    {{{{{', '.join(inner)}}}, {weight}}}"))
    body = ",\n".join(rows)
    return f"static const mapdp_chair mapdp_fitted[MAPDP_CLUSTERS + 1] = {{\n{body}\n}};\n\n"


def _braces(tables: list[CArray], k: int, precision: str) -> str:
    return "{" + ", ".join(numbers(table, table.values[k], precision) for table in tables) + "}"


def kind_sums(kind: Kind, precision: str) -> list[CArray]:
    """Return the statistics of a kind; two floats hold what a double and its rounding error do."""
    if precision == "double":
        return kind.sums
    tables = {table.name: table for table in kind.sums}
    for name in [name for name in tables if f"{name}_low" in tables]:
        exact, low = tables[name].values, tables[f"{name}_low"].values
        high = (exact + low).astype(np.float32).astype(np.float64)
        tables[name] = tables[name]._replace(values=high)
        tables[f"{name}_low"] = tables[f"{name}_low"]._replace(values=(exact - high) + low)
    return list(tables.values())


def fingerprint(mixture: FittedMixture, kinds: list[Kind]) -> int:
    """Return a checksum of a fitted model, by which a state of another model is noticed."""
    tables = [
        table.values for kind in kinds for table in (*kind.prior, *kind.sums) if table.name != "reach"
    ]
    numbers = [np.ascontiguousarray(values, dtype="<f8") for values in (*tables, mixture.family.origin)]
    prior = [float(number) for number in of_process(mixture.process).values()]
    columns = [
        (str(one.name), one.kind, float(one.shift), float(one.unit), *map(str, one.values))
        for one in mixture.schema.columns
    ]
    words = repr((prior, columns))
    return zlib.crc32(b"".join(one.tobytes() for one in numbers) + words.encode())
