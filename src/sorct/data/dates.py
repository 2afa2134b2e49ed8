"""Dates: days since an origin, whatever a date is written as."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from sorct._typing import FloatArray

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ].*)?", re.DOTALL)


def is_dates(column: Any) -> bool:
    """Whether a column of a frame holds dates or times, also those of Arrow."""
    return str(getattr(column, "dtype", "")).startswith(("date", "timestamp"))


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
    text = str(cell)
    try:
        if not _ISO.fullmatch(text):
            return np.nan
        day = np.datetime64(text[:10], "D")
    except ValueError:
        return np.nan
    return float((day - np.datetime64(origin, "D")).astype(np.float64))


def iso_date(days: float, origin: str) -> str:
    """The day that is so many days after the origin."""
    return str(np.datetime64(origin, "D") + np.timedelta64(int(np.floor(days)), "D"))


def _days(column: Any) -> Any:
    """A column as days; a ValueError names the first cell that is no date."""
    import pandas as pd

    dates = pd.Series(column)
    if not is_dates(dates):
        known = dates[dates.notna()]
        for cell in known:
            if np.isnan(as_days(cell, "1970-01-01")):
                raise ValueError(f"must hold dates such as 2020-01-31, got {cell!r}")
        days = np.full(len(dates), "NaT", dtype="datetime64[D]")
        days[dates.notna().to_numpy()] = [str(cell)[:10] for cell in known]
        return days
    if str(dates.dtype).startswith(("date32", "date64")):
        # Days of Arrow have no time zone to ask for.
        dates = dates.astype("datetime64[s]")
    if getattr(dates.dt, "tz", None) is not None:
        dates = dates.dt.tz_localize(None)
    return dates.to_numpy(dtype="datetime64[D]")
