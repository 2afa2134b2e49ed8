"""Forests: a forest, and data to show it on, as one plain dict of all that is shown.

The page computes predictions, the agreement of the trees and what single values do from
the trees themselves; curves, importances and measures on the data are computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.wording import printable
from sorct.show.export import to_sql
from sorct.show.forests import (
    CURVE_PLACES,
    PartialCurve,
    direction,
    partial_curve,
)
from sorct.show.report.rows import Shown, listed_rows, samples, short, shown_name
from sorct.show.report.summarize import FORMAT, VERSION, told_of
from sorct.show.report.variables import choice_names, columns, variables
from sorct.tree.storage import COMMON

if TYPE_CHECKING:
    from sorct.tree.forest import Forest

# Rows are told apart by the share of the trees that agree.
_AGREED = (0.0, 0.6, 0.8, 0.95, 1.0)
# Rows of a quantity by the deviation of the trees: so many parts, of so many rows each.
_PARTS, _LEAST_ROWS = 4, 8


def summarize_forest(
    forest: Forest, shown: Shown | None, *, title: str, n_rows: int, call: str | None
) -> dict[str, Any]:
    """Everything that the page of a forest shows, as plain data."""
    first = forest.trees[0]
    told, listed = told_of(first), listed_rows(shown, n_rows)
    cost = forest.decision_cost
    on_rows: dict[str, Any] = {}
    point: dict[str, Any] = {}
    doubt = said = None
    if shown is not None:
        said = _said(forest, shown)
        point = told.measures(first, forest.decision_cost, shown, said)
        on_rows = told.worth(shown, said, listed)
        doubt = _doubt(forest, shown, said)
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": "forest",
        "title": shown_name(title),
        **told.page(first, shown),
        "gamma": first.gamma,
        "variables": variables(first.encoder),
        "columns": columns(first.encoder),
        "n_trees": forest.n_trees,
        "depths": sorted({tree.depth for tree in forest.trees}),
        "weights": forest.weights.tolist(),
        "trees": [_model(tree.to_dict()) for tree in forest.trees],
        "decision_cost": None if cost is None else cost.tolist(),
        "used": _used(forest),
        "samples": samples(first, shown, listed),
        "data": {
            "n_training": forest.training.n_samples,
            "n_variables": len(first.encoder.variables),
            "n_columns": first.n_columns,
            "n_groups": first.encoder.n_groups,
            "n_shown": None if shown is None else len(shown.code),
            **told.sizes(first, shown),
            **_overlap(
                forest, said is not None and _is_training(forest, shown, said), shown
            ),
        },
        "point": point,
        "on_rows": on_rows,
        "doubt": doubt,
        "training": forest.training.to_dict(),
        "rules": str(forest),
        **_sql(forest),
        "call": printable(call or forest.training.call or ""),
    }


def _model(plain: dict[str, Any]) -> dict[str, Any]:
    """What the page needs to predict with a tree."""
    left_out = {*COMMON, "training", "mass", "routed"}
    return {key: value for key, value in plain.items() if key not in left_out}


def _sql(forest: Forest) -> dict[str, str]:
    """The forest as SQL, or nothing and why."""
    try:
        return {"sql": to_sql(forest)}
    except (TypeError, ValueError) as error:
        return {"sql": "", "no_sql": str(error)}


def _said(forest: Forest, shown: Shown) -> FloatArray:
    """Probabilities (n, n_classes), or predictions of a quantity (n,)."""
    return forest.predict_of_table(shown.table)


def _overlap(forest: Forest, same: bool, shown: Shown | None) -> dict[str, bool]:
    """Whether the rows shown are those of training, else whether they may be there."""
    n, score = forest.training.n_samples, forest.training.training_score
    n_shown = 0 if shown is None or n is None else len(shown.code)
    more = n is not None and (n_shown > n or (n_shown == n and score is None))
    return {"is_training": same, "may_be_training": more and not same}


def _is_training(forest: Forest, shown: Shown | None, said: FloatArray) -> bool:
    """Whether the rows shown are those of training: as many, told as well."""
    told = forest.training
    if shown is None or told.training_score is None or told.n_samples != len(said):
        return False
    if shown.y is not None:
        score = 1.0 - np.mean((shown.y - said) ** 2) / max(shown.y.var(), 1e-300)
    elif (shown.code < 0).any():
        return False
    else:
        score = said[np.arange(len(said)), shown.code].mean()
    return bool(np.isclose(score, told.training_score, rtol=0.0, atol=1e-9))


def _used(forest: Forest) -> list[dict[str, Any]]:
    """Variables that some tree uses, the most important first."""
    told, used = forest.training, forest.variables_at()
    order = used[np.argsort(-forest.importances[used], kind="stable")]
    found = []
    for i in order.tolist():
        name = forest.encoder.names[i]
        curve = partial_curve(forest, name, CURVE_PLACES)
        found.append(
            {
                "variable": i,
                "importance": float(forest.importances[i]),
                "n_trees": sum(i in tree.variables_at() for tree in forest.trees),
                "direction": direction(forest, curve),
                "drop": (told.drop or {}).get(name),
                "permutation": (told.permutation or {}).get(name),
                "curve": _curve(forest, i, curve),
            }
        )
    return found


def _curve(forest: Forest, i: int, curve: PartialCurve) -> dict[str, Any]:
    said = [short(row) for row in curve.said]
    if curve.numbers is None:
        names = choice_names(forest.encoder.variables[i])
        return {"at": names, "numbers": None, "said": said}
    assert curve.places is not None
    missing = None if curve.missing is None else short(curve.missing)
    numbers = short(curve.numbers)
    places = short(curve.places)
    return {
        "at": [],
        "numbers": numbers,
        "places": places,
        "said": said,
        "missing": missing,
    }


def _doubt(forest: Forest, shown: Shown, said: FloatArray) -> list[dict[str, Any]]:
    """How good predictions are, by how far the trees agree."""
    agreement = forest.agreement_of_table(shown.table)
    if shown.y is not None:
        return _by_deviation(agreement, np.abs(shown.y - said))
    right = forest.codes_of(said) == shown.code
    found = []
    for low, high in zip(_AGREED, _AGREED[1:], strict=False):
        here = (agreement >= low - 1e-9) & (agreement < high - 1e-9)
        found.append(_part(low, high, here, right))
    found.append(_part(1.0, 1.0, agreement > 1.0 - 1e-9, right))
    return [part for part in found[::-1] if part["count"]]


def _part(low: float, high: float, here: Any, right: Any) -> dict[str, Any]:
    share = float(right[here].mean()) if here.any() else None
    return {"from": low, "to": high, "count": int(here.sum()), "right": share}


def _by_deviation(spread: FloatArray, missed: FloatArray) -> list[dict[str, Any]]:
    """Equally many rows each, from those about which the trees agree most."""
    n_parts = max(min(len(spread) // _LEAST_ROWS, _PARTS), 1)
    parts: list[IntArray] = np.array_split(np.argsort(spread, kind="stable"), n_parts)
    return [
        {
            "from": float(spread[rows].min()),
            "to": float(spread[rows].max()),
            "count": len(rows),
            "missed": float(missed[rows].mean()),
        }
        for rows in parts
    ]
