"""Zoo: values that no argument expects, made anew whenever they are asked for."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import scipy.sparse as sp


class UnwillingError(Exception):
    """What a thing of a user's own raises, which is nobody else's to hide."""


class Unwilling:
    """Every question about it is an error."""

    def __array__(self, *_, **__):
        """Refuse to be an array."""
        raise UnwillingError("no array")

    def __len__(self):
        """Refuse to have a length."""
        raise UnwillingError("no length")

    def __repr__(self):
        """Say who it is."""
        return "Unwilling()"


class LikeFrame:
    """Has the attributes of a frame and nothing else."""

    columns, dtypes, iloc, shape = (), (), None, (3,)


def _looped():
    value = []
    value.append(value)
    return value


def _nested(depth):
    value = 1.0
    for _ in range(depth):
        value = [value]
    return value


def _polars(**columns):
    import polars

    return polars.DataFrame(columns)


def _arrow(**columns):
    import pyarrow

    return pyarrow.table(columns)


_NUMBERS = [0, 1, -1, 2, 3, 12, 13, 50, 2**31, 2**63, 2**64, 10**400, -(10**400)]
_NUMBERS += [0.0, 0.5, -0.5, 1.5, 1e-320, 1e-300, 1e300, float("nan"), float("inf")]
_NUMBERS += [Fraction(1, 3), Decimal("0.1"), Decimal("NaN"), 1j, True, False]
_NUMBERS += [np.float32(0.5), np.float64("nan"), np.int8(2), np.uint64(2**64 - 1)]
_NUMBERS += [np.bool_(True), np.datetime64("2026-01-01"), np.timedelta64(3, "s")]
_TEXTS = ["", "a", "auto", "1", "0.5", "x" * 1500, "é\ud800", "\0", b"bytes", "local"]
_THINGS = [None, object, object(), Ellipsis, NotImplemented, len, slice(3), range(24)]
_THINGS += [datetime.date(2026, 1, 1), datetime.timedelta(1), pd.NaT, pd.NA]
_THINGS += [pd.Timestamp("2026"), Exception("x"), {1, 2}, frozenset({1}), {}, {"a": 1}]
_THINGS += [{0: 0.5}, {0: float("nan")}, {"no": 0.5}, {(1,): 1}, (), [], [[]], [[], []]]
_THINGS += [[1], [1, "a"], [None], [[1, 2], [3]], [10**400], [[10**400]], (0.1, 0.2)]
#: Makers of values: those that cannot be used twice are drawn anew.
_MAKERS = [
    *(lambda value=value: value for value in [*_NUMBERS, *_TEXTS, *_THINGS]),
    lambda: (k for k in range(24)),
    lambda: iter([]),
    Unwilling,
    LikeFrame,
    _looped,
    lambda: _nested(40),
    lambda: np.zeros(0),
    lambda: np.zeros((0, 3)),
    lambda: np.zeros((24, 0)),
    lambda: np.zeros((24, 3)),
    lambda: np.zeros((24, 3, 2)),
    lambda: np.zeros(24),
    lambda: np.arange(24.0),
    lambda: np.arange(24) % 2,
    lambda: np.arange(24) % 5,
    lambda: np.array(3.0),
    lambda: np.full((24, 3), np.nan),
    lambda: np.full((24, 3), np.inf),
    lambda: np.full((24, 3), 1j),
    lambda: np.full((24, 3), 1e308),
    lambda: np.array([["a"] * 3] * 24),
    lambda: np.array([[b"a"] * 3] * 24),
    lambda: np.array([[None] * 3] * 24),
    lambda: np.array([[Decimal(1)] * 3] * 24, dtype=object),
    lambda: np.array([Fraction(k, 3) for k in range(24)], dtype=object),
    lambda: np.array([10**400] * 24, dtype=object),
    lambda: np.array(["2026-01-01"] * 24, dtype="M8[D]"),
    lambda: np.zeros(24, dtype=[("a", float), ("b", int)]),
    lambda: np.ma.masked_array(np.ones((24, 3)), mask=np.eye(24, 3)),
    lambda: np.ma.masked_array(np.arange(24) % 2, mask=np.arange(24) == 3),
    lambda: np.ones((24, 3)).view(np.recarray),
    lambda: np.arange(72.0).reshape(24, 3).astype(np.float16),
    lambda: np.arange(72.0).reshape(24, 3)[::-1],
    lambda: sp.csr_matrix(np.eye(24, 3)),
    lambda: sp.coo_array(np.eye(24, 3)),
    lambda: pd.DataFrame(),
    lambda: pd.DataFrame(np.ones((24, 3)), columns=list("aab")),
    lambda: pd.DataFrame(np.ones((24, 2)), columns=["a", 1]),
    lambda: pd.DataFrame({"a": [1, "x"] * 12}),
    lambda: pd.DataFrame({"a": [[1], [2]] * 12}),
    lambda: pd.DataFrame({"a": pd.date_range("2026", periods=24)}),
    lambda: pd.DataFrame({"a": pd.array([1, None] * 12, dtype="Int64")}),
    lambda: pd.DataFrame({"a": pd.Categorical(["u", None] * 12)}),
    lambda: pd.DataFrame({"a": [Decimal(1), Decimal(2)] * 12}),
    lambda: pd.DataFrame({("a", 1): range(24), ("a", 2): range(24)}),
    lambda: pd.DataFrame({"a": ["u", "v"] * 12}, index=range(0, 48, 2)),
    lambda: pd.DataFrame({"a": [b"u", b"v"] * 12}),
    lambda: pd.DataFrame({"a": [10**400, 1] * 12}),
    lambda: pd.DataFrame([[0.0, 1.0], [1.0, 0.0]]),
    lambda: pd.Series(np.arange(24) % 2, index=range(24, 0, -1)),
    lambda: pd.Series(["u", "v"] * 12, dtype="category"),
    lambda: pd.Series([pd.NA, True] * 12, dtype="boolean"),
    lambda: pd.Index(range(24)),
    lambda: _polars(a=list(range(24)), b=["u", "v"] * 12, c=[1.5] * 24),
    lambda: _polars(a=[None, 1.0] * 12),
    lambda: _polars(a=list(range(24))).lazy(),
    lambda: _polars(a=list(range(24)))["a"],
    lambda: _arrow(a=list(range(24)), b=["u", "v"] * 12),
    lambda: _arrow(a=[[1], [2]] * 12),
    lambda: [["a", "b"]] * 24,
    lambda: [[1.0, 2.0, 3.0]] * 24,
    lambda: [0, 1] * 12,
    lambda: ["no", "yes"] * 12,
    lambda: [True, None] * 12,
    lambda: [datetime.date(2026, 1, 1 + k) for k in range(24)],
    lambda: [b"u", b"v"] * 12,
    lambda: [(1, 2)] * 24,
]


def draw(rng):
    """Draw a value."""
    return _MAKERS[rng.integers(len(_MAKERS))]()
