"""What is typical of some rows in one column: in a few characters, and as numbers."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mapdp.data.column import Column
from mapdp.data.times import in_words, span_in_words
from mapdp.families import DiagonalGaussian, LogNormal, Mixed, ZeroInflated
from mapdp.families.base import Family
from mapdp.families.columns import Sums

_ROUNDING = 1e-7  # of a number: a smaller spread is what rounding leaves of none
_MINUTES = 1440  # of a day
_RESIDUE = 1e-9  # of what was added: a smaller number is what rounding leaves of 0


class Typical(str):
    """A few characters for people, such as "37.2 ± 2.0"; `numbers` are for programs.

    Measurements have a mean and a standard deviation `sd` (of dates in days), those whose logarithm is used
    `median`, `low` and `high`; levels have the most frequent `value` and its `share`. Columns whose zeros
    mean none have that value with its share, and the numbers of the other cells.
    """

    numbers: dict[str, Any]

    @classmethod
    def of(cls, text: str, **numbers: Any) -> Self:
        """Return a text with its numbers."""
        typical = cls(text)
        typical.numbers = numbers
        return typical


def typical_values(family: Family, sums: Sums, columns: Sequence[Column]) -> list[Typical]:
    """Return what rows with these sums are like in each column."""
    priors = (family,) if has_one_column_for_all(family) else tuple(Mixed.of(family).columns)
    return [
        _typical(prior, sums, j, column)
        for j, (prior, column) in enumerate(zip(priors, columns, strict=True))
    ]


def has_one_column_for_all(family: Family) -> bool:
    """Say whether clusters are described by their rows as a whole."""
    return family.is_whole and family.n_described == 1


def short(number: float, digits: int = 4) -> str:
    """Return a number with few digits, but all of those before the point."""
    if number == 0.0 or not np.isfinite(number):
        return f"{number:g}"
    before = int(np.floor(np.log10(abs(number)))) + 1
    if not -4 < before < 10:
        return f"{number:.{digits}g}"
    return f"{number:.{max(digits - before, 0)}f}"


def plain(number: float, digits: int = 4) -> str:
    """Return a number with few digits, a whole one without a point."""
    return f"{number:.0f}" if number == round(number) and abs(number) < 1e9 else short(number, digits)


def _typical(prior: Family, sums: Sums, j: int, column: Column) -> Typical:
    """Return what rows with these sums are like in column j."""
    n, tally = float(sums.n[j]), sums.tallies[j]
    if n == 0:
        return Typical.of("no values")
    if isinstance(prior, ZeroInflated):
        return _some(prior, sums.among(np.array([j])), column)
    if prior.has_words:
        return Typical.of(prior.in_words(sums.among(np.array([j]))))
    if len(tally):
        return _level(prior, tally, column)
    mean, spread = float(sums.total[j] / n), 0.0
    if isinstance(prior, DiagonalGaussian):
        spread = float(np.sqrt(max(sums.second[j] / n - mean * mean, 0.0)))
        spread = spread if spread > _ROUNDING * abs(mean) else 0.0
    centre = settled(mean + float(prior.origin[0]), float(prior.origin[0]))
    if column.kind == "log" or isinstance(prior, LogNormal):
        return _skewed(centre, spread, column.shift)
    return _measured(centre * column.unit, spread * column.unit, column)


def _some(prior: ZeroInflated, sums: Sums, column: Column) -> Typical:
    """Return how many cells hold the special value, and what the others are like."""
    others = prior.of_others(sums)
    value, share = prior.value * column.unit, 1.0 - float(others.n[0] / sums.n[0])
    word, rest = column.word(value), _typical(prior.family, others, 0, column)
    numbers = {"value": value, "share": share} | rest.numbers
    if others.n[0] == 0.0:
        return Typical.of(f"always {word}", **numbers)
    return Typical.of(f"{word} {100.0 * share:.0f}%, else {rest}" if share else rest, **numbers)


def settled(number: float, added: float) -> float:
    """Return a number, 0 where it is only what rounding leaves of something that was added."""
    return 0.0 if abs(number) < _RESIDUE * abs(added) else number


def _skewed(centre: float, spread: float, shift: float) -> Typical:
    """Return what is typical of numbers whose logarithm is used."""
    ends = [np.exp(centre + side * spread) - shift for side in (-1.0, 0.0, 1.0)]
    low, middle, high = (max(settled(float(end), shift), 0.0) for end in ends)
    text = f"{short(middle)} ({short(low, 3)} to {short(high, 3)})" if high > low else plain(middle)
    return Typical.of(text, median=middle, low=low, high=high)


def _measured(mean: float, sd: float, column: Column) -> Typical:
    """Return what is typical of measurements, dates among them."""
    if column.measure:
        text, about = _moment(mean, sd, column), f" ± {span_in_words(sd, 2)}" if sd > 0.0 else ""
        return Typical.of(text + about, mean=text, sd=sd)
    text = f"{short(mean)} ± {short(sd, 2)}" if sd > 0.0 else plain(mean)
    return Typical.of(text, mean=mean, sd=sd)


def _moment(mean: float, sd: float, column: Column) -> str:
    """Return a mean date, or time, as exactly as its spread makes sense of."""
    if column.measure == "moment" and sd >= 1.0:
        return in_words(mean, "date")
    return column.word(round(mean * _MINUTES) / _MINUTES if sd * _MINUTES >= 1.0 else mean)


def _level(prior: Family, tally: np.ndarray, column: Column) -> Typical:
    """Return the most frequent level of a column, and its share."""
    level, share = int(np.argmax(tally)), float(tally.max() / tally.sum())
    value = column.values[level] if column.values else prior.decode(np.array([[float(level)]]))[0, 0]
    word = column.word(value)
    plain = word if isinstance(value, str) or column.measure else float(value)
    return Typical.of(f"{word} {100.0 * share:.0f}%", value=plain, share=share)
