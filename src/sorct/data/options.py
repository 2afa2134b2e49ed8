"""Options: how a table is read, as users say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any

from sorct.data.variables import UNKNOWN_POLICIES
from sorct.data.wording import listed, shown

CATEGORICAL = ("whole", "dummies")
#: Scaling with which lines may bend.
BENT = "bent"
SCALINGS = ("auto", "minmax", "standard", "quantile", BENT)
MISSING_POLICIES = ("error", "typical")


@dataclass(frozen=True)
class TableOptions:
    """How the columns of a table become variables.

    Attributes
    ----------
    categorical : {"whole", "dummies"}
        Whether the levels of a category are chosen together, as one variable, or each
        by itself, as in the paper.
    categorical_features : "from_dtype", or names, positions or a mask of columns
        Which columns are categories.
    min_frequency : int or float
        Levels with fewer rows (or a smaller share of them) are pooled as "other".
    handle_unknown : {"other", "error", "first_level"}
        What to do at prediction with levels that training never saw.
    handle_missing : {"error", "typical"}
        What to do at prediction with a missing cell where training had none: refuse
        it, or take the median of training (of a category, the most frequent level).
    scaling : one of SCALINGS, or a mapping from columns
        How numbers become columns in [0, 1]. Columns that a mapping does not name are
        scaled by "auto". "standard" scales as "minmax" does, and penalties count what a
        variable can add in standard deviations. "bent" lets every cut and every linear
        leaf bend its line at up to three quantiles.
    """

    categorical: str = "whole"
    categorical_features: Any = "from_dtype"
    min_frequency: int | float = 5
    handle_unknown: str = "other"
    handle_missing: str = "error"
    scaling: Any = "auto"

    @classmethod
    def of(cls, estimator: Any) -> TableOptions:
        """Options of an estimator, which has them by the same names."""
        return cls(**{one.name: getattr(estimator, one.name) for one in fields(cls)})

    @property
    def forgiving(self) -> TableOptions:
        """The same options, except that nothing is refused at prediction."""
        unknown = self.handle_unknown
        if unknown == "error":
            unknown = "first_level" if self.categorical == "dummies" else "other"
        return replace(self, handle_unknown=unknown, handle_missing="typical")

    def check(self) -> None:
        """Refuse values that are not among the choices; columns are checked later."""
        for name, choices in (
            ("categorical", CATEGORICAL),
            ("handle_unknown", UNKNOWN_POLICIES),
            ("handle_missing", MISSING_POLICIES),
        ):
            _check_choice(name, getattr(self, name), choices)
        if isinstance(self.scaling, Mapping):
            for column, scaling in self.scaling.items():
                _check_choice(f"scaling[{shown(column)}]", scaling, SCALINGS)
        else:
            _check_choice("scaling", self.scaling, SCALINGS)
        least = self.min_frequency
        number = isinstance(least, Real) and not isinstance(least, bool)
        if not (number and (0.0 < least < 1.0 or (least >= 1 and least % 1 == 0))):
            raise ValueError(
                "min_frequency must be a whole number of rows >= 1 or a share between "
                f"0 and 1, got {shown(least)}."
            )

    def scaling_of(self, name: str) -> str:
        """How a column of numbers is scaled."""
        if isinstance(self.scaling, Mapping):
            named = {str(column): scaling for column, scaling in self.scaling.items()}
            return str(named.get(name, "auto"))
        return str(self.scaling)

    def least_rows(self, n_rows: float) -> float:
        """Number of rows that a level needs to stand alone."""
        least = self.min_frequency
        return least * n_rows if least < 1.0 else least

    def check_columns(self, names: list[str]) -> None:
        """Refuse a scaling for columns that are not there."""
        if isinstance(self.scaling, Mapping):
            strange = [name for name in self.scaling if str(name) not in names]
            if strange:
                raise ValueError(
                    f"scaling names columns that the table does not have: "
                    f"{listed(strange)}. Expected some of {listed(names)}."
                )


_PAPER_TABLE: dict[str, Any] = {
    "categorical": "dummies",
    "min_frequency": 1,
    "handle_unknown": "error",
    "scaling": "minmax",
}
PAPER_TABLE = TableOptions(**_PAPER_TABLE)
#: Options of an estimator with which it reads a table and trains as the paper does.
PAPER: dict[str, Any] = {
    **_PAPER_TABLE,
    "loss": "cost",
    "gamma": 512.0,
    "followable": False,
}


def _check_choice(name: str, given: Any, choices: tuple[str, ...]) -> None:
    if not isinstance(given, str) or given not in choices:
        raise ValueError(f"{name} must be one of {choices}, got {shown(given)}.")
