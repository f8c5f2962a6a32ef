"""Numbers, tables and names as C text.

Names come from people's tables, so none is pasted as it is: what is no plain letter becomes a code.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:()%+=-]")  # nothing that ends a comment, a string or a line of a table
_LONGEST_NAME = 60
_WIDTH = 100


class CArray(NamedTuple):
    """Numbers of one name: those of a prior, or a row for each chair."""

    name: str
    length: str  # how many there are, as C has it
    values: np.ndarray  # (n,) of a prior, (K, n) of chairs
    about: str
    is_whole: bool = False

    def declared(self) -> str:
        """Return a field of a struct."""
        return _beside(f"    {_type(self)} {self.name}[{self.length}];", self.about)


def _type(table: CArray) -> str:
    return "uint16_t" if table.is_whole else "mapdp_real"


def _beside(line: str, about: str) -> str:
    """Return a line with a comment behind it."""
    return f"{line:<48} /* {about} */"


def number(value: float, precision: str) -> str:
    """Return a number as C reads it back exactly."""
    text = str(np.float32(value)) if precision == "float" else repr(float(value))
    text = text if set(text) & set(".e") else f"{text}.0"
    return f"{text}f" if precision == "float" else text


def numbers(table: CArray, values: Iterable[float], precision: str) -> str:
    """Return an array of numbers in braces."""
    cells = [str(int(v)) if table.is_whole else number(v, precision) for v in values]
    return "{" + ", ".join(cells) + "}"


def constant(prefix: str, table: CArray, precision: str) -> str:
    """Return the definition of a constant array."""
    head = f"static const {_type(table)} {prefix}{table.name}[{table.length}] ="
    line = f"{head} {numbers(table, table.values, precision)};"
    return f"/* {table.about} */\n{wrapped(line)}\n"


def wrapped(line: str) -> str:
    """Return a long line of C as several."""
    lines = [""]
    for word in re.split(r"(?<=,) ", line):
        if lines[-1] and len(lines[-1]) + len(word) >= _WIDTH:
            lines.append("    ")
        lines[-1] += word if lines[-1] in ("", "    ") else f" {word}"
    return "\n".join(lines)


def escaped(name: object) -> str:
    """Return a name that is safe in a comment of C and in a table of a README."""
    text = str(name)
    if len(text) > _LONGEST_NAME:
        text = text[:_LONGEST_NAME] + "..."
    return "".join(letter if _PLAIN.match(letter) else f"\\u{ord(letter):04x}" for letter in text)


def filled(text: str, parts: dict[str, str], kinds: Sequence[str] = ()) -> str:
    """Fill in the `$names` of a piece of text; a line that names `$kind` is written once for each kind."""
    lines = []
    for line in text.splitlines():
        is_of_kind = "$kind" in line or "${kind}" in line
        for kind in kinds if is_of_kind else [""]:
            lines.append(_line(line, {**parts, "kind": kind} if is_of_kind else parts))
    return "\n".join(lines) + "\n"


def _line(line: str, parts: dict[str, str]) -> str:
    def part(match: re.Match[str]) -> str:
        return str(parts[match[1] or match[2]])

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", part, line)
