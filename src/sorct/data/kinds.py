"""Kinds of variables: which one a column becomes, and how each is read from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.categorical import Categorical, Ordered
from sorct.data.dates import days_of, first_day
from sorct.data.missing import WithMissing
from sorct.data.numeric import Curve, Numeric, learn_number
from sorct.data.options import TableOptions
from sorct.data.plain import expect, field
from sorct.data.variables import Variable
from sorct.data.wording import write_out

#: Kinds of variables by a key that only their plain data has; all else are numbers.
KINDS: dict[str, Any] = {"ordered": Ordered, "levels": Categorical, "at": Curve}


def variable_from_dict(data: Any) -> Variable:
    """Check plain data of a variable of any kind."""
    expect(isinstance(data, dict), "a variable must be an object")
    kinds = [kind for key, kind in KINDS.items() if key in data]
    variable: Variable = (kinds or [Numeric])[0].from_dict(data)
    if "missing" in data and field(data, "missing", bool):
        return WithMissing(variable)
    return variable


def learn_numbers(
    name: str, values: FloatArray, count: FloatArray | None, options: TableOptions
) -> Variable:
    """Variable of a column of numbers, NaN where missing.

    ``count`` says how many rows every row stands for; None means one each.
    """
    variable = learn_number(name, values, count, options.scaling_of(name))
    return WithMissing(variable) if np.isnan(values).any() else variable


def learn_dates(
    name: str, column: Any, count: FloatArray | None, options: TableOptions
) -> Variable:
    """Variable of a column of dates: days since the earliest."""
    origin = first_day(column)
    days = days_of(column, origin)
    variable = learn_number(name, days, count, options.scaling_of(name))
    variable = replace(variable, origin=origin)
    return WithMissing(variable) if np.isnan(days).any() else variable


def learn_levels(
    name: str, column: Any, count: FloatArray | None, options: TableOptions
) -> Variable:
    """Variable of a column of levels; ordered ones are scored by their order."""
    separate = options.categorical == "dummies"
    ordered = column.dtype.name == "category" and column.cat.ordered
    variable: Variable
    if ordered and not separate:
        variable = Ordered.declared(name, column, count)
    else:
        variable = Categorical.learn(
            name,
            column,
            count,
            separate=separate,
            least=options.least_rows(len(column) if count is None else count.sum()),
            keep_rare=options.handle_unknown == "error",
        )
    return WithMissing(variable) if column.isna().any() else variable


def treatment(variable: Variable) -> str:
    """How the known cells of a variable are treated, in a few words."""
    if isinstance(variable, WithMissing):
        return treatment(variable.known)
    if isinstance(variable, Categorical):
        n_levels = len(variable.levels)
        kind = "dummies" if variable.separate else "category"
        kind = "ordered" if isinstance(variable, Ordered) else kind
        told = f"{kind}, {n_levels} level{'s' * (n_levels != 1)}"
        return f"{told} + other" if variable.pooled else told
    kind = "number" if variable.origin is None else "date"
    if isinstance(variable, Curve) and len(variable.at) > 2:
        return f"{kind}, by quantiles"
    if isinstance(variable, Curve):
        low, high = variable.at
        ends = ""
        if variable.origin is None:
            digits = 6 if variable.whole else 4
            low_text, high_text = (
                write_out(f"{end:.{digits}g}") for end in (low, high)
            )
            ends = f" to {low_text}..{high_text}"
        return f"{kind}, clipped{ends}"
    if isinstance(variable, Numeric):
        return f"{kind}, by range" if variable.span > 0.0 else f"{kind}, constant"
    return kind if variable.choices is None else "category"
