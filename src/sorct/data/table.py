"""Table: what users hand in as X, checked.

Frames of pandas are taken as they are, frames of other libraries (polars, pyarrow and
whatever narwhals knows) are read column by column under their names, anything else is a
matrix of numbers.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array

from sorct._typing import FloatArray, IntArray
from sorct.data.dates import is_dates
from sorct.data.terms import is_missing
from sorct.data.wording import listed

# Rows that are looked at for a first impression of a column.
_LOOK = 1000


@dataclass(frozen=True)
class Table:
    """A checked table; variables are known by their positions.

    Attributes
    ----------
    numbers : array of shape (n_samples, n_numbers)
        Raw numbers, side by side, of the variables that are scaled by their range.
    others : dict from position to array of shape (n_samples,)
        Raw numbers of all other continua, NaN where missing.
    codes : dict from position to array of shape (n_samples,)
        Positions among the choices of a variable; -1 adds nothing.
    """

    numbers: FloatArray
    others: dict[int, FloatArray]
    codes: dict[int, IntArray]

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def take(self, rows: IntArray | slice) -> Table:
        """Some of the rows, by positions or a slice."""
        others = {i: numbers[rows] for i, numbers in self.others.items()}
        codes = {i: codes[rows] for i, codes in self.codes.items()}
        if isinstance(rows, slice) or not self.numbers.flags.c_contiguous:
            return Table(self.numbers[rows], others, codes)
        # Quicker, if rows are side by side.
        return Table(self.numbers.take(rows, axis=0), others, codes)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas DataFrame, told without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def has_numbers(X: Any) -> bool:
    """Whether a checked table has a column of numbers."""
    if not is_frame(X):
        return True
    return bool(X.select_dtypes("number").shape[1] > 0)


def has_levels(X: Any) -> bool:
    """Whether a checked table has, as far as one sees, a category of three levels."""
    if not is_frame(X):
        return False
    texts = [X[name].head(_LOOK).dropna() for name in X.columns if is_text(X[name])]
    return any(column.astype(str).nunique() > 2 for column in texts)


def as_table(X: Any) -> Any:
    """A checked frame of pandas, or a float64 matrix."""
    if type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size:
        # As it is; all checks of scikit-learn would come to that, later.
        return X
    if isinstance(X, (str, dict)) and not issparse(X):
        raise TypeError(
            "Expected a frame or an array of shape (n_samples, n_variables), got a "
            f"{type(X).__name__}. Read a file by sorct.read_table, and make a frame of "
            "a dict by pandas.DataFrame."
        )
    X = in_pandas(X)
    if np.ma.is_masked(X):
        # A masked cell is a missing one.
        X = np.ma.filled(X.astype(np.float64), np.nan)
    if is_frame(X):
        _check_frame(X)
        return X
    if issparse(X):
        raise TypeError(
            f"Expected a dense table, got a sparse matrix of shape {X.shape}. Sparse "
            "data are taken by SORCTClassifier alone; choose some columns and pass "
            "them as X[:, columns].toarray()."
        )
    try:
        return check_array(X, dtype=np.float64, ensure_all_finite=False)
    except OverflowError as error:
        raise ValueError(
            "X has whole numbers beyond the largest float (1.8e308); rescale them."
        ) from error
    except ValueError as error:
        if "convert" not in str(error):
            raise
        raise ValueError(
            f"{error!s:.300}. Plain arrays must be numeric; pass a pandas DataFrame "
            "for categorical columns."
        ) from error


def refuse_masked(values: Any, name: str) -> None:
    """Refuse masked cells where nothing may be missing."""
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked cells, which are missing values; only X may have such. "
            "Fill them in (filled), or drop these rows first."
        )


def refuse_gaps(target: Any, what: str) -> None:
    """Refuse a target some of whose labels or numbers are missing, and say where."""
    if hasattr(target, "isna"):
        missing = np.asarray(target.isna()).ravel()
    else:
        cells = np.asarray(target)
        if cells.dtype.kind == "f":
            missing = np.isnan(cells).ravel()
        elif cells.dtype.kind == "O":
            missing = np.array([is_missing(cell) for cell in cells.ravel()])
        else:
            return
    places = np.flatnonzero(missing)
    if places.size:
        raise ValueError(
            f"Input y contains NaN: {places.size} of {missing.size} {what} "
            f"{'is' if places.size == 1 else 'are'} missing, the first at row "
            f"{places[0]}. Leave these rows out of X and y."
        )


def in_pandas(X: Any) -> Any:
    """A frame of another library as one of pandas; all else as it is."""
    # Asked of the type: a lazy frame would work to know its columns.
    if is_frame(X) or not (
        hasattr(type(X), "columns") or hasattr(type(X), "column_names")
    ):
        return X
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"Expected a table with its rows at hand, got a {type(X).__name__}, which "
            "is lazy; collect it first."
        )
    if not isinstance(frame, nw.DataFrame):
        return X
    import pandas as pd

    columns = {name: _column(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, columns=frame.columns)


def _column(column: Any) -> Any:
    """A column of another library for a frame of pandas."""
    import narwhals.stable.v2 as nw
    import pandas as pd

    dtype = column.dtype
    if dtype in (nw.Categorical, nw.Enum):
        levels = column.cat.get_categories().to_list()
        # Arrow's dictionaries say whether their order means anything.
        kind = getattr(column.to_native(), "type", None)
        ordered = bool(getattr(kind, "ordered", False))
        return pd.Categorical(column.to_list(), categories=levels, ordered=ordered)
    if dtype == nw.Boolean:
        return pd.array(column.to_list(), dtype="boolean")
    if dtype == nw.Decimal:
        return column.cast(nw.Float64).to_numpy()
    if dtype == nw.String:
        return np.array(column.to_list(), dtype=object)
    return column.to_numpy()


def take_rows(X: Any, rows: Any) -> Any:
    """Some rows of a frame or matrix, by position."""
    return X.iloc[rows] if is_frame(X) else X[rows]


def _check_frame(X: Any) -> None:
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) "
            f"(shape={X.shape}) while a minimum of 1 is required."
        )
    names = [str(name) for name in X.columns]
    if len(set(names)) < len(names):
        double = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(
            f"Expected distinct column names, got twice: {listed(double)}."
        )
    plain = plain_numbers(X)
    for name in X.columns:
        if name in plain:
            continue
        dtype = X[name].dtype
        if getattr(dtype, "kind", "O") == "c":
            raise ValueError(f"Complex data not supported: column {str(name)!r}.")
        known = is_categorical(X[name]) or is_dates(X[name])
        if not known and getattr(dtype, "kind", "O") not in "biuf":
            raise ValueError(
                f"Column {str(name)!r} has dtype {dtype}; expected numbers, dates or "
                "categories. Turn durations and the like into numbers first."
            )


def plain_numbers(X: Any) -> set[Any]:
    """Columns of a frame that hold numbers of NumPy, as most do.

    Their types tell so, which is much quicker to ask than the columns themselves.
    """
    return {
        name
        for name, dtype in zip(X.columns, X.dtypes, strict=True)
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf"
    }


def is_text(column: Any) -> bool:
    """Whether a column of a frame holds text or categories."""
    name: str = column.dtype.name
    return name.startswith(("category", "object", "str", "large_string", "dictionary<"))


def is_categorical(column: Any) -> bool:
    """Whether a column of a frame is treated as a category."""
    return is_text(column) or str(column.dtype.name).startswith("bool")


def numeric_part(X: Any, names: list[Any]) -> FloatArray:
    """Some columns of a frame as a matrix; missing cells become NaN."""
    part, given = X, list(X.columns)
    if given != names:
        # By place: pandas cannot look up names that are no valid text.
        place = {name: j for j, name in enumerate(given)}
        part = X.iloc[:, [place[name] for name in names]]
    numeric = part.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(numeric, dtype=np.float64)


def check_finite(numbers: FloatArray, names: list[str]) -> None:
    """Raise an error that names the columns with missing cells or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(numbers.sum()):
            return
    refuse_infinite(numbers, names)
    refuse_missing(
        [name for name, column in zip(names, numbers.T) if np.isnan(column).any()]  # noqa: B905
    )


def refuse_infinite(numbers: FloatArray, names: list[str]) -> None:
    """Raise an error that names the columns with infinity."""
    bad = [name for name, column in zip(names, numbers.T) if np.isinf(column).any()]  # noqa: B905
    if bad:
        raise ValueError(
            f"Input X contains infinity (inf is not supported) in column {listed(bad)}."
            " Replace it by a number or by a missing cell."
        )


def refuse_missing(names: list[str]) -> None:
    """Raise an error that names columns that have missing cells, if there are any."""
    if names:
        raise ValueError(
            f"Input X contains NaN (missing cells) in column {listed(names)}, which had"
            " none in training. Fill them in, or pass handle_missing='typical' to the "
            "estimator to take the median or most frequent value of training."
        )


def chosen_columns(given: Any, names: list[str]) -> list[str]:
    """Columns named as categories: by names, positions or a mask; those of a dtype too.

    "from_dtype" and None name none: text, categories and truth values are categories
    anyway.
    """
    if given is None or (isinstance(given, str) and given == "from_dtype"):
        return []
    chosen = np.atleast_1d(np.asarray(given, dtype=object)).tolist()
    if len(chosen) == len(names) and all(
        isinstance(c, (bool, np.bool_)) for c in chosen
    ):
        return [name for name, flag in zip(names, chosen, strict=True) if flag]
    places = [c for c in chosen if isinstance(c, (int, np.integer))]
    if len(places) == len(chosen) and not any(isinstance(c, bool) for c in chosen):
        if all(-len(names) <= place < len(names) for place in places):
            return [names[place] for place in places]
    elif all(isinstance(c, str) and c in names for c in chosen):
        return list(chosen)
    raise ValueError(
        "categorical_features must be 'from_dtype', or names, positions or a mask of "
        f"the {len(names)} columns ({listed(names)}); got {listed(chosen)}."
    )
