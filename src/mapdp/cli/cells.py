"""Words that are numbers or dates as people write them: $ 1,234.50, 12 %, 24.12.2021.

Whether a comma is a decimal mark is known of the file as a whole; columns are then read one by one, each
only if all of its cells can be.
"""

import datetime
import re
import shlex
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mapdp.cli.formats import TroubleError

_SYMBOLS = r"[$€£¥₹₩₽%‰]|USD|EUR|GBP|CHF|JPY|INR|CNY|SEK|NOK|DKK|PLN|CAD|AUD"
_BLANKS = " \u00a0\u202f'\u2019"  # that stand between thousands
_SIGNS = "-+\u2212"  # the last one is the minus of printed text
_DATE = re.compile(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{2}|\d{4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?$", re.ASCII
)
_SLIPS = 0.1  # share of other cells up to which a column of numbers is one with slips
_CENTURY = 69  # two digits from here on are of the last century, as everywhere


class ReadColumn(NamedTuple):
    """A column of words that was read as something else."""

    cells: pa.Array
    note: str


def _number_form(decimal: str) -> re.Pattern[str]:
    """Return what numbers look like: a sign, a symbol, thousands, decimals, an exponent."""
    thousands = "." if decimal == "," else ","
    digits = rf"\d{{1,3}}(?:[{re.escape(thousands)}]\d{{3}})+|\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+|\d+"
    whole = rf"(?P<whole>{digits})?(?:{re.escape(decimal)}(?P<decimals>\d*))?(?P<power>[eE][+-]?\d+)?"
    before, after = rf"(?P<before>{_SYMBOLS})?", rf"(?P<after>{_SYMBOLS})?"
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[{_SIGNS}]?)\s?{before}\s?(?P<inner>[{_SIGNS}]?){whole}\s?{after}(?P<close>\))?$",
        re.ASCII,
    )


_FORMS = {decimal: _number_form(decimal) for decimal in ".,"}


def number_of(word: str, decimal: str) -> tuple[float, str] | None:
    """Return a number and the symbol beside it, None where a word is not a number.

    >>> number_of("$ 1,234.50", "."), number_of("(12 %)", "."), number_of("1.234,5", ",")
    ((1234.5, '$'), (-12.0, '%'), (1234.5, ''))
    """
    found = _FORMS[decimal].match(word.strip())
    if (
        found is None
        or not (found["whole"] or found["decimals"])
        or bool(found["open"]) != bool(found["close"])
    ):
        return None
    whole = re.sub(r"\D", "", found["whole"] or "0")
    signs = found["sign"] + found["inner"] + ("-" if found["open"] else "")
    number = float(f"{whole}.{found['decimals'] or '0'}{found['power'] or ''}")
    minus = sum(sign in "-\u2212" for sign in signs)
    symbol = found["before"] or found["after"] or ""
    return (-number if minus % 2 else number), symbol


def _as_numbers(
    name: str, coded: pa.DictionaryArray, words: Sequence[str], decimal: str
) -> ReadColumn | None:
    """Read all words as numbers; None where some are not, or symbols differ."""
    read = [number_of(word, decimal) for word in words]
    if None in read:
        _check_slips(name, coded, words, [one is None for one in read])
        return None
    numbers = [one for one in read if one is not None]
    symbols = sorted({symbol for _, symbol in numbers})
    if len([symbol for symbol in symbols if symbol]) > 1:
        return None
    beside = f", without {symbols[-1]}" if symbols[-1] else ""
    return ReadColumn(
        pa.array([number for number, _ in numbers]), f"{name}: numbers such as {words[0]!r}{beside}"
    )


def _check_slips(name: str, coded: pa.DictionaryArray, words: Sequence[str], is_slip: list[bool]) -> None:
    """Raise where a column holds numbers but for a few cells."""
    places = coded.indices.drop_null().to_numpy()
    if np.asarray(is_slip)[places].mean() > _SLIPS:
        return
    slip, like = is_slip.index(True), words[is_slip.index(False)]
    raise TroubleError(
        f"column {name!r} holds numbers such as {like!r}, but got {words[slip]!r} in row "
        f"{coded.indices.to_pylist().index(slip)}. Hint: --missing {shlex.quote(words[slip])} leaves such "
        "cells empty, "
        f"--columns {shlex.quote(name)}=category takes words."
    )


def _as_dates(name: str, words: Sequence[str]) -> ReadColumn | None:
    """Read all words as dates in the one order that all of them allow."""
    read = [_DATE.match(word) for word in words]
    parts = [match.groups() for match in read if match]
    if len(parts) < len(words):
        return None
    mark = parts[0][1]
    orders = [order for order in _orders(mark, parts) if all(_moment(one, order) for one in parts)]
    if not orders:
        return None
    moments = [_moment(one, orders[0]) for one in parts]
    has_times = any(one[4] is not None for one in parts)
    kind = pa.timestamp("s") if has_times else pa.date32()
    doubt = "; no value says which comes first" if len(orders) > 1 and mark == "/" else ""
    shown = {"d": "day", "m": "month", "y": "year"}
    order = mark.join(shown[part] for part in orders[0])
    return ReadColumn(
        pa.array(moments).cast(pa.timestamp("s")).cast(kind), f"{name}: dates as {order}{doubt}"
    )


def _orders(mark: str, parts: Sequence[tuple]) -> Iterable[str]:
    """Return the orders of day, month and year that are tried: those that people use with this mark."""
    if all(len(one[0]) == 4 for one in parts):
        return ("ymd",)
    return ("mdy", "dmy") if mark == "/" else ("dmy", "mdy")


def _moment(parts: tuple, order: str) -> datetime.datetime | None:
    """Return the moment that the parts of a date name in this order, None where there is none."""
    by_name = dict(zip(order, (parts[0], parts[2], parts[3]), strict=True))
    year = int(by_name["y"])
    if len(by_name["y"]) == 2:
        year += 1900 if year >= _CENTURY else 2000
    hour, minute, second = (int(part or 0) for part in parts[4:7])
    try:
        return datetime.datetime(year, int(by_name["m"]), int(by_name["d"]), hour, minute, second)
    except ValueError:
        return None


def settled(table: pa.Table, decimal: str, kept: frozenset[str]) -> tuple[pa.Table, list[str]]:
    """Return a table whose words are numbers and dates where they can be; `kept` ones stay."""
    notes = []
    for j, field in enumerate(table.schema):
        name = field.name
        if pa.types.is_string(field.type) and name not in kept:
            coded = table.column(j).combine_chunks().dictionary_encode()
            words = coded.dictionary.to_pylist()
            read = words and (_as_dates(name, words) or _as_numbers(name, coded, words, decimal))
            if read:
                table = table.set_column(j, name, read.cells.take(coded.indices))
                notes.append(read.note)
    return table, notes
