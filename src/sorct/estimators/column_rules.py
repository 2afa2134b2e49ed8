"""Column rules: what users say of single columns, their directions and their prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.options import TableOptions
from sorct.data.plain import is_finite_number
from sorct.data.quantity import Quantity
from sorct.data.target import Classes
from sorct.data.wording import listed, shown

#: What a variable costs that a mapping of prices does not name.
USUAL_PRICE = 1.0
# Standard deviation, as a share of the range, at which a variable that is penalised by
# its spread pays as much as others do; and the least that counts.
_USUAL_SPREAD, _LEAST_SPREAD = 0.25, 1e-3


@dataclass(frozen=True)
class ColumnRules:
    """Directions and prices of columns, checked.

    Attributes
    ----------
    signs : dict from variable to +1 or -1
    positive : int
        Position of the class that the signs are about, -1 if there are none.
    prices : dict from variable to price, empty if none was given
    """

    signs: dict[str, int]
    positive: int
    prices: dict[str, float]

    @classmethod
    def of(
        cls,
        monotonic_cst: Any,
        positive_class: Any,
        feature_cost: Any,
        encoder: TableEncoder,
        target: Classes,
    ) -> ColumnRules:
        """Check what a user said of columns."""
        signs = _checked_signs(monotonic_cst, encoder)
        positive = _checked_positive(positive_class, target, signs)
        return cls(signs, positive, _checked_prices(feature_cost, encoder))

    @classmethod
    def of_quantity(
        cls, monotonic_cst: Any, feature_cost: Any, encoder: TableEncoder
    ) -> ColumnRules:
        """The same for a quantity: directions are those of its number."""
        signs = _checked_signs(monotonic_cst, encoder)
        return cls(signs, -1, _checked_prices(feature_cost, encoder))

    def arrays(self, encoder: TableEncoder) -> dict[str, FloatArray]:
        """Arrays of the penalty."""
        lower, upper = _bounds_of(self.signs, encoder)
        strength = _strengths_of(self.prices, encoder)
        return {"lower": lower, "upper": upper, "local": strength, "linf": strength}

    def record(self, target: Classes | Quantity) -> dict[str, Any]:
        """What the training record says of them."""
        told: dict[str, Any] = {}
        if self.signs:
            told["monotonic"] = dict(self.signs)
        if self.signs and isinstance(target, Classes):
            told["positive_class"] = target.labels.tolist()[self.positive]
        if self.prices:
            told["feature_cost"] = dict(self.prices)
        return told


# -- directions ------------------------------------------------------------------------


def _checked_signs(monotonic_cst: Any, encoder: TableEncoder) -> dict[str, int]:
    """Direction of every variable that has one: +1 or -1 by name."""
    if monotonic_cst is None:
        return {}
    given = _by_column("monotonic_cst", monotonic_cst, list(encoder.names))
    for name, sign in given.items():
        whole = isinstance(sign, (int, float, np.number)) and not isinstance(sign, bool)
        if not (whole and sign in (-1, 0, 1)):
            raise ValueError(
                f"monotonic_cst must be -1, 0 or 1 for column {name!r}, got "
                f"{shown(sign)}."
            )
    signs = {name: int(sign) for name, sign in given.items() if sign != 0}
    unordered = [
        name
        for name in signs
        if not encoder.variables[encoder.names.index(name)].ordered
    ]
    if unordered:
        raise ValueError(
            f"monotonic_cst names columns whose levels have no order: "
            f"{listed(unordered)}. Make them ordered pandas categories (for a file: "
            "--ordered, or ordered= of sorct.read_table), with categorical='whole'."
        )
    return signs


def _bounds_of(
    signs: dict[str, int], encoder: TableEncoder
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound of every column; a missing cell has no direction."""
    lower, upper = -np.ones(encoder.n_columns), np.ones(encoder.n_columns)
    for name, sign in signs.items():
        i = encoder.names.index(name)
        variable = encoder.variables[i]
        bound, own = lower if sign > 0 else upper, encoder.columns_of(i)
        bound[own.start : own.stop - variable.takes_missing] = 0.0
    return lower, upper


def _checked_positive(
    positive_class: Any, target: Classes, signs: dict[str, int]
) -> int:
    """Position of the class that directions are about; -1 if there are none."""
    labels = target.labels.tolist()
    if positive_class is not None:
        if positive_class not in labels:
            raise ValueError(
                f"positive_class must be one of the classes {listed(labels)}, got "
                f"{shown(positive_class)}."
            )
        return labels.index(positive_class) if signs else -1
    if not signs:
        return -1
    if len(labels) != 2:
        raise ValueError(
            "monotonic_cst needs positive_class, the class whose probability is to "
            f"rise or fall, with {len(labels)} classes: one of {listed(labels)}."
        )
    return 1


# -- prices ----------------------------------------------------------------------------


def _checked_prices(feature_cost: Any, encoder: TableEncoder) -> dict[str, float]:
    """Price of every variable by name; nothing if none is given."""
    if feature_cost is None:
        return {}
    names = list(encoder.names)
    given = _by_column("feature_cost", feature_cost, names)
    for name, price in given.items():
        if not (is_finite_number(price) and price >= 0):
            raise ValueError(
                f"feature_cost must be a finite number >= 0 for column {name!r}, got "
                f"{shown(price)}."
            )
    known = {name: float(given.get(name, USUAL_PRICE)) for name in names}
    if not any(known.values()):
        raise ValueError("feature_cost must not be 0 for all columns.")
    return known


def _strengths_of(prices: dict[str, float], encoder: TableEncoder) -> FloatArray:
    """Strength of every group beside that of others: its price by the mean price."""
    variable = encoder.column_variable[encoder.group_start[:-1]]
    if not prices:
        return np.ones(variable.size)
    price = np.array([prices[encoder.names[i]] for i in variable])
    return np.asarray(price / price.mean()) if price.any() else np.zeros(variable.size)


def penalised_by_spread(
    arrays: dict[str, FloatArray],
    encoder: TableEncoder,
    options: TableOptions,
    variance: FloatArray,
) -> dict[str, FloatArray]:
    """Arrays of a penalty in which variables scaled as "standard" pay by their spread.

    Of several columns, such as the levels of a category, it is the largest standard
    deviation of what they add, each counting at most 1: for two levels it is twice that
    of either, for more this is a bound.
    """
    first = encoder.group_start
    total = np.add.reduceat(variance, first[:-1])
    spread = np.sqrt(np.where(np.diff(first) > 1, np.minimum(2.0 * total, 1.0), total))
    pays = [
        options.scaling_of(encoder.names[i]) == "standard"
        for i in encoder.column_variable[first[:-1]].tolist()
    ]
    factor = np.where(pays, np.maximum(spread, _LEAST_SPREAD) / _USUAL_SPREAD, 1.0)
    scaled = {name: arrays[name] * factor for name in ("local", "linf")}
    return {**arrays, **scaled}


def _by_column(option: str, given: Any, names: list[str]) -> dict[str, Any]:
    """What was given for columns, by name: a mapping, or an entry for each."""
    if isinstance(given, Mapping):
        named = {str(name): value for name, value in given.items()}
        strange = [name for name in named if name not in names]
        if strange:
            raise ValueError(
                f"{option} names columns that the table does not have: "
                f"{listed(strange)}. Expected some of {listed(names)}."
            )
        return named
    values = np.asarray(given, dtype=object)
    if values.shape != (len(names),):
        raise ValueError(
            f"{option} must be a mapping from columns, or have one entry for each of "
            f"the {len(names)} columns, got {shown(given)}."
        )
    return dict(zip(names, values.tolist(), strict=True))
