"""Kinds of variables: which one a column becomes, and how each is read from a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.bent import Bent
from sorct.data.categorical import Categorical, Ordered
from sorct.data.dates import days_of, first_day, is_dates
from sorct.data.missing import WithMissing
from sorct.data.numeric import Curve, Numeric
from sorct.data.options import TableOptions
from sorct.data.plain import expect, field
from sorct.data.scales import Number, learn_number, learn_spread
from sorct.data.sketch import (
    MOST_BUCKETS,
    DateSketch,
    LevelSketch,
    NumberSketch,
    Sketch,
)
from sorct.data.table import is_categorical, refuse_infinite
from sorct.data.variables import Variable, levels_of
from sorct.data.wording import write_out

#: Kinds of variables by a key that only their plain data has; all else are numbers.
KINDS: dict[str, Any] = {
    "ordered": Ordered,
    "levels": Categorical,
    "at": Curve,
    "bends": Bent,
}


def variable_from_dict(data: Any) -> Variable:
    """Check plain data of a variable of any kind."""
    expect(isinstance(data, dict), "a variable must be an object")
    kinds = [kind for key, kind in KINDS.items() if key in data]
    variable: Variable = (kinds or [Numeric])[0].from_dict(data)
    if "missing" in data and field(data, "missing", bool):
        return WithMissing(variable)
    return variable


def learn_numbers(
    name: str,
    values: FloatArray,
    count: FloatArray | None,
    options: TableOptions,
    most: int = MOST_BUCKETS,
) -> Variable:
    """Variable of a column of numbers, NaN where missing.

    ``count`` says how many rows every row stands for; None means one each. Of more
    values than ``most`` a curve is learned by a sketch, as from a table in batches.
    """
    scaling = options.scaling_of(name)
    variable = learn_number(name, values, count, scaling)
    if isinstance(variable, (Curve, Bent)) and values.size > most:
        spread = NumberSketch.of(values, count, most).spread()
        assert spread is not None
        learned = learn_spread(name, spread, scaling)
        variable = replace(learned, median=variable.median)
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
    n_rows = len(column) if count is None else float(count.sum())
    return learn_sketch(name, LevelSketch.of(name, column, count), n_rows, options)


def sketch_column(
    name: str,
    column: Any,
    weight: FloatArray | None,
    most: int,
    *,
    category: bool = False,
) -> Sketch:
    """Sketch of a column of a frame, or of an array of numbers."""
    if category or (hasattr(column, "isna") and is_categorical(column)):
        return LevelSketch.of(name, column, weight)
    if is_dates(column):
        return DateSketch.of(column, weight, most)
    numbers = Numeric(name).numbers(column)
    refuse_infinite(numbers[:, np.newaxis], [name])
    return NumberSketch.of(numbers, weight, most)


def learn_sketch(
    name: str,
    sketch: Any,
    n_rows: float,
    options: TableOptions,
    rows_per_weight: float = 1.0,
) -> Variable:
    """Variable of a column of which a sketch is known.

    A weight of 1 stands for ``rows_per_weight`` rows, of which there are ``n_rows``.
    """
    variable: Variable
    if isinstance(sketch, LevelSketch):
        separate = options.categorical == "dummies"
        if sketch.ordered and not separate:
            variable = Ordered.counted_in_order(name, sketch.counts, sketch.declared)
        else:
            variable = Categorical.counted(
                name,
                sketch.counts,
                sketch.levels,
                separate=separate,
                least=options.least_rows(n_rows) / rows_per_weight,
                keep_rare=options.handle_unknown == "error",
            )
    else:
        number: Number = Numeric(name)
        spread = sketch.spread(rows_per_weight)
        if spread is not None:
            number = learn_spread(name, spread, options.scaling_of(name))
        if isinstance(sketch, DateSketch):
            number = replace(number, origin=sketch.origin)
        variable = number
    return WithMissing(variable) if sketch.n_missing else variable


def options_for(variables: Iterable[Variable]) -> dict[str, Any]:
    """Table options with which columns become variables of the same kinds again.

    Categories of text or truth values are recognised anyway. Only those whose levels
    are numbers have to be named, and so have numbers that are bent or scaled along
    their quantiles.
    """
    names, curves = [], {}
    for one in variables:
        known = one.known if isinstance(one, WithMissing) else one
        levels = levels_of(one)
        if levels and not isinstance(levels[0], (bool, str)):
            names.append(one.name)
        if _follows_quantiles(known):
            curves[one.name] = "quantile"
        if isinstance(known, Bent):
            curves[one.name] = "bent"
    named = {"categorical_features": names, "scaling": curves}
    return {option: value for option, value in named.items() if value}


def _follows_quantiles(variable: Variable) -> bool:
    """Whether a number is scaled along its quantiles; two points only clip it."""
    return isinstance(variable, Curve) and len(variable.at) > 2


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
    if _follows_quantiles(variable):
        return f"{kind}, by quantiles"
    if isinstance(variable, Bent):
        return f"{kind}, bent"
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
