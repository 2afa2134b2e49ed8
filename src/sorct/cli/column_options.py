"""Column options: what the command line says of columns, as the library takes it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.cli.costs import read_prices
from sorct.cli.data import Training, label_named
from sorct.cli.messages import UsageError, no_such
from sorct.data.options import PAPER_TABLE, TableOptions
from sorct.data.sheet import ReadOptions
from sorct.data.table import is_text
from sorct.data.target import Classes

if TYPE_CHECKING:
    import pandas as pd


def check_column_options(args: Namespace) -> None:
    """Refuse flags that would have no effect."""
    if args.positive_class is not None and not args.monotonic:
        raise UsageError("--positive-class needs --monotonic, the directions")
    if getattr(args, "max_cost", None) is not None and not args.feature_cost:
        raise UsageError("--max-cost needs --feature-cost, what columns cost")


def price_files(args: Namespace) -> list[str]:
    """Files that --feature-cost names."""
    return [value for name, value in args.feature_cost if name is None]


def table_options(args: Namespace, X: pd.DataFrame) -> dict[str, Any]:
    """How columns become variables: what was given, on top of the paper's reading.

    Text was read as such on purpose: it is named as a category, so that nobody warns of
    numbers in it.
    """
    found = _paper_reading() if args.paper else {}
    for name in ("categorical", "min_frequency", "handle_unknown", "handle_missing"):
        if getattr(args, name) is not None:
            found[name] = getattr(args, name)
    if args.scaling:
        found["scaling"] = _scaling(args.scaling, X, found.get("scaling", "auto"))
    texts = [str(name) for name in X.columns if is_text(X[name])]
    return found | ({"categorical_features": texts} if texts else {})


def _paper_reading() -> dict[str, Any]:
    """Where the paper reads a table otherwise than we do."""
    usual = vars(TableOptions())
    return {k: v for k, v in vars(PAPER_TABLE).items() if v != usual[k]}


def _scaling(
    given: list[tuple[str | None, str]], X: pd.DataFrame, usual: str
) -> str | dict[str, str]:
    """One scaling for all columns, or one by name for each."""
    named = {name: kind for name, kind in given if name is not None}
    everywhere = [kind for name, kind in given if name is None]
    usual = everywhere[-1] if everywhere else usual
    _check_names(named, X, "--scaling")
    if not named:
        return usual
    return {str(name): usual for name in X.columns} | named


def column_rules(
    args: Namespace, data: Training, reading: ReadOptions
) -> dict[str, Any]:
    """Directions and prices of columns."""
    found: dict[str, Any] = {}
    if args.monotonic:
        found["monotonic_cst"] = dict(args.monotonic)
        _check_names(found["monotonic_cst"], data.X, "--monotonic")
    if args.positive_class is not None:
        classes = Classes(np.unique(data.y))
        label = label_named(args.positive_class, classes, "--positive-class")
        found["positive_class"] = label
    if args.feature_cost:
        found["feature_cost"] = _prices(args, data, reading)
    return found


def _prices(args: Namespace, data: Training, reading: ReadOptions) -> dict[str, float]:
    """Prices of columns; those of a flag go before those of a file.

    A file may also price columns that are not trained on.
    """
    listed: dict[str, float] = {}
    for file in price_files(args):
        listed |= read_prices(file, data.columns, reading)
    prices = {name: listed[name] for name in data.X.columns if name in listed}
    named = {name: price for name, price in args.feature_cost if name is not None}
    _check_names(named, data.X, "--feature-cost")
    return prices | named


def _check_names(given: Iterable[str], X: pd.DataFrame, option: str) -> None:
    for name in given:
        if name not in X.columns:
            place = f"what is trained on, as {option} says"
            raise no_such("column", name, X.columns, place)
