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
# its spread pays as much as others do; and the least that it pays beside them.
_USUAL_SPREAD, _LEAST_PAID = 0.25, 4e-3


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

    def sign(self, encoder: TableEncoder) -> FloatArray:
        """Direction of every column, 0 if it has none; a missing cell has none."""
        sign = np.zeros(encoder.n_columns)
        for name, own in self.signs.items():
            i = encoder.names.index(name)
            columns, variable = encoder.columns_of(i), encoder.variables[i]
            sign[columns.start : columns.stop - variable.takes_missing] = own
        return sign

    def price(self, encoder: TableEncoder) -> FloatArray:
        """Price of every group by the mean price; 1 if there are no prices."""
        variable = encoder.column_variable[encoder.group_start[:-1]]
        if not self.prices:
            return np.ones(variable.size)
        price = np.array([self.prices[encoder.names[i]] for i in variable])
        known = price.any()
        return np.asarray(price / price.mean()) if known else np.zeros(variable.size)

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


def paid_by_spread(spread: FloatArray, usual: float, least: float) -> FloatArray:
    """What groups pay by their spread: 1 at the usual one, and at least ``least``."""
    return np.maximum(spread / usual, least)


def paid_if_standard(
    encoder: TableEncoder, options: TableOptions, variance: FloatArray
) -> FloatArray:
    """What groups pay if variables scaled as "standard" pay by their spread.

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
    return np.where(pays, paid_by_spread(spread, _USUAL_SPREAD, _LEAST_PAID), 1.0)


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
