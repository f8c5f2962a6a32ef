"""Dates, times of day and spans of time: days to count with, words to show.

A moment is a number of days since 1970, a time of day a share of a day, a span a number of days.
"""

import datetime
from typing import Any

import narwhals as nw
import numpy as np

MEASURES = ("", "date", "moment", "time", "span", "truth")  # what numbers of a column are
PARTS = ("weekday", "time")  # of a moment, that a column can be taken for
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_WEEKDAY = 3  # 1970 began on a Thursday
_DAY = 86_400e6  # microseconds
_UNITS = (("days", 1.0), ("hours", 1 / 24), ("minutes", 1 / 1440), ("seconds", 1 / 86_400))


def measure_of(dtype: Any) -> str:
    """Return what a column of a data frame measures: "date", "moment", "time" or "span"."""
    names = {nw.Date: "date", nw.Time: "time", nw.Duration: "span"}
    return next((name for kind, name in names.items() if dtype == kind), "moment")


def days_of(series: Any) -> np.ndarray:
    """Return dates and times as days since 1970, spans as days, times of day as a share of it."""
    if series.dtype == nw.Duration:
        return _floats(series.dt.total_microseconds()) / _DAY
    if series.dtype == nw.Time:
        return np.array([_share_of_day(time) for time in series])
    return _floats(series.dt.timestamp("us")) / _DAY


def _floats(series: Any) -> np.ndarray:
    return np.asarray(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)


def _share_of_day(time: datetime.time | None) -> float:
    if time is None:
        return np.nan
    return (time.hour * 3600 + time.minute * 60 + time.second + time.microsecond / 1e6) / 86_400.0


def as_time(days: float, dtype: Any) -> Any:
    """Turn days back into what they were read from."""
    if dtype == nw.Duration:
        return datetime.timedelta(days=days)
    zone = datetime.UTC if getattr(dtype, "time_zone", None) else None
    moment = datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(days=days)
    if dtype == nw.Date:
        return moment.date()
    return moment.time() if dtype == nw.Time else moment


def weekdays(days: np.ndarray) -> np.ndarray:
    """Return the names of weekdays, None for a gap."""
    names = np.empty(len(days), dtype=object)
    known = ~np.isnan(days)
    places = (np.floor(days[known]).astype(np.int64) + _FIRST_WEEKDAY) % 7
    names[known] = np.array(WEEKDAYS, dtype=object)[places]
    return names


def in_words(days: float, measure: str) -> str:
    """Return a date, a moment, a time of day or a span as people write it.

    >>> in_words(18_691.5, "date"), in_words(18_691.5, "moment"), in_words(0.75, "time")
    ('2021-03-05', '2021-03-05 12:00', '18:00')
    """
    if measure == "span":
        return span_in_words(days)
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=float(days))
    except (OverflowError, ValueError):  # before year 1, or after 9999
        return f"{days:g} days since 1970"
    seconds = "" if moment.second == 0 else ":%S"
    form = {"date": "%Y-%m-%d", "time": f"%H:%M{seconds}"}.get(measure, f"%Y-%m-%d %H:%M{seconds}")
    return moment.strftime(form)


def span_in_words(days: float, digits: int = 3) -> str:
    """Return a span in the largest unit of which it has one, seconds where it has none.

    >>> span_in_words(45.25), span_in_words(0.125), span_in_words(0.0)
    ('45.2 days', '3 hours', '0 days')
    """
    if days == 0.0:
        return "0 days"
    name, unit = next((pair for pair in _UNITS if abs(days) >= pair[1]), _UNITS[-1])
    number = f"{days / unit:.{digits}g}" if abs(days / unit) < 1e3 else f"{days / unit:.0f}"
    return f"{number} {name.removesuffix('s') if number == '1' else name}"
