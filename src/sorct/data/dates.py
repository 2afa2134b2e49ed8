"""Dates: days since an origin, whatever a date is written as."""

from __future__ import annotations

from typing import Any

import numpy as np

from sorct._typing import FloatArray


def is_dates(column: Any) -> bool:
    """Whether a column of a frame holds dates or times."""
    return str(getattr(column, "dtype", "")).startswith("date")


def first_day(column: Any) -> str:
    """The earliest day of a column of dates."""
    days = _days(column)
    known = days[~np.isnat(days)]
    return str(known.min()) if known.size else "1970-01-01"


def days_of(column: Any, origin: str) -> FloatArray:
    """Whole days since the origin, NaN where missing."""
    days = _days(column)
    since = (days - np.datetime64(origin, "D")).astype(np.float64)
    since[np.isnat(days)] = np.nan
    return np.asarray(since)


def as_days(cell: Any, origin: str) -> float:
    """Days since the origin of one cell, such as "2020-01-31"; NaN if it is no date."""
    text = str(cell)[:10]
    try:
        # NumPy takes 20200131 for a year.
        day = np.datetime64(text if text[4:5] == "-" else "", "D")
    except ValueError:
        return np.nan
    if np.isnat(day):
        return np.nan
    return float((day - np.datetime64(origin, "D")).astype(np.float64))


def iso_date(days: float, origin: str) -> str:
    """The day that is so many days after the origin."""
    return str(np.datetime64(origin, "D") + np.timedelta64(int(np.floor(days)), "D"))


def _days(column: Any) -> Any:
    """A column as days; cells that are not dates are refused by pandas."""
    import pandas as pd

    dates = pd.Series(column)
    if not is_dates(dates):
        dates = pd.to_datetime(dates.astype("string"), format="ISO8601")
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_localize(None)
    return dates.to_numpy(dtype="datetime64[D]")
