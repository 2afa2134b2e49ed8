"""Quantities: how fit and path train where the target is a number to predict."""

from __future__ import annotations

from argparse import Namespace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.cli import bars
from sorct.cli.data import Training
from sorct.cli.folding import CV, folds_of
from sorct.cli.messages import UsageError, note
from sorct.cli.model_options import grid, refits
from sorct.cli.printing import OF_LEVELS, number
from sorct.data.quantity import Quantity, quantile_of
from sorct.data.wording import printable
from sorct.show.notes import wrapped

if TYPE_CHECKING:
    from sorct.estimators.regressor import SORCTRegressor
    from sorct.estimators.regressor_cv import SORCTRegressorCV
    from sorct.tree.tree import Tree

#: Flags of bounds on groups, and their values if they were not given.
OF_GROUPS: dict[str, Any] = {"groups": None, "group_bound": [], "group_measure": None}
#: Losses of a quantity; the others are of classes.
LOSSES = ("square", "absolute", "huber", "quantile")
# Flags that only trees of classes know, and their values if they were not given.
_OF_CLASSES: dict[str, Any] = {
    "min_recall": [], "cost_matrix": None, "class_weight": [], "calibration": None,
    "confidence": None, "positive_class": None, "followable": None,
    "min_followed": None, "preselect": None, "paper": False,
}  # fmt: skip
_OF_QUANTITIES: dict[str, Any] = {
    "quantile": None, "leaf": None, "link": None, **OF_GROUPS,
}  # fmt: skip
# Numbers of a target that may be a quantity, though they are taken for classes.
_MANY_NUMBERS = 5
# Groups that are told of; of more, those that are missed most.
_MOST_GROUPS = 10
_SQUARED = "minus the mean squared error"


def check_task(args: Namespace, data: Training) -> None:
    """Refuse flags of the other task, and say which task it is."""
    loss = getattr(args, "loss", None)
    if data.of_quantity:
        if args.task is None:
            note(
                args.quiet,
                f"the target {args.target!r} is a quantity: a regression tree is "
                "trained (--task classes would take its numbers for classes).",
            )
        _refuse(args, _OF_CLASSES, "classes, and the target is a quantity")
        if loss is not None and loss not in LOSSES:
            raise UsageError(
                f"--loss {loss} is for classes, and the target is a quantity: "
                f"expected one of {', '.join(LOSSES)}"
            )
        if getattr(args, "quantile", None) is not None and loss != "quantile":
            raise UsageError("--quantile needs --loss quantile")
        return
    _refuse(args, _OF_QUANTITIES, "quantities, and the target has classes")
    n_numbers = len(np.unique(data.y)) if data.y.dtype.kind in "iuf" else 0
    if args.task is None and n_numbers >= _MANY_NUMBERS:
        note(
            args.quiet,
            f"the {n_numbers} numbers of the target {args.target!r} are taken for "
            "classes (--task quantity would predict a number).",
        )
    if loss in LOSSES:
        raise UsageError(
            f"--loss {loss} is for quantities, and the target has classes; "
            "--task quantity takes its numbers for a quantity"
        )
    if 0 in (args.depth or ()):
        raise UsageError(
            "--depth: expected a whole number >= 1, got '0', which is a single linear "
            "leaf of a quantity"
        )


def _refuse(args: Namespace, flags: dict[str, Any], what: str) -> None:
    for name, usual in flags.items():
        if getattr(args, name, usual) != usual:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is for {what}; leave it out")


def _given(args: Namespace, *names: str) -> dict[str, Any]:
    values = {name: getattr(args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def single_tree(args: Namespace) -> dict[str, Any]:
    """Depth, loss, leaves and steepness of one tree, or of the trees of a path."""
    found = _given(args, "loss", "quantile", "leaf", "link")
    for name in ("depth", "gamma"):
        if getattr(args, name) is not None:
            (found[name],) = getattr(args, name)
    return found


def groups_of(args: Namespace, data: Training) -> AnyArray | None:
    """Group of every row, as text, if groups are bound."""
    if args.groups is None and not args.group_bound:
        if args.group_measure is not None:
            raise UsageError("--group-measure needs --groups and --group-bound")
        return None
    if args.groups is None or not args.group_bound:
        raise UsageError("--groups and --group-bound need each other")
    if args.groups not in data.X.columns:
        known = ", ".join(map(repr, data.X.columns))
        raise UsageError(
            f"--groups: there is no variable {args.groups!r}, expected one of {known}"
        )
    column = data.X[args.groups]
    found: AnyArray = column.astype(str).where(column.notna(), None).to_numpy()
    return found


def group_options(args: Namespace) -> dict[str, Any]:
    """Bounds on groups, as estimators take them."""
    named = dict(args.group_bound)
    if not named:
        return {}
    if None in named and len(args.group_bound) > 1:
        raise UsageError("--group-bound: either one bound for all groups, or by name")
    names = [name for name, _ in args.group_bound]
    twice = [name for name in named if names.count(name) > 1]
    if twice:
        raise UsageError(f"--group-bound: more than one bound for {twice[0]!r}")
    bounds = named.get(None, named)
    return {"group_bounds": bounds, **_given(args, "group_measure")}


def group_line(args: Namespace, data: Training, model: Any) -> list[str]:
    """By how much training rows of every group are missed, where that is bound."""
    groups = groups_of(args, data)
    if groups is None:
        return []
    missed = data.y - model.predict(data.X)
    weight = np.ones(missed.size) if data.weight is None else data.weight
    by_error = args.group_measure == "error"
    found: dict[str, float] = {}
    for name in np.unique(groups).tolist():
        own = groups == name
        mean = np.average(missed[own] ** (2 if by_error else 1), weights=weight[own])
        found[name] = sqrt(mean) if by_error else float(mean)
    shown, of_many = list(found), ""
    if len(found) > _MOST_GROUPS:
        shown = sorted(found, key=lambda name: -abs(found[name]))[:_MOST_GROUPS]
        of_many = f" (of {len(found)} groups the {_MOST_GROUPS} that are missed most)"
    told = ", ".join(f"{printable(name)} {number(found[name])}" for name in shown)
    what = "root mean squared error" if by_error else "mean of observed minus predicted"
    return [f"By {printable(args.groups)}, the {what} is {told}{of_many}."]


def _effort(args: Namespace) -> dict[str, Any]:
    return {
        "tol": args.tol,
        "max_iter": args.max_iter,
        "n_jobs": args.jobs,
        "random_state": args.seed,
    }


def fit_fixed(
    args: Namespace, data: Training, columns: dict[str, Any]
) -> tuple[SORCTRegressor, list[str]]:
    """Train with the penalties given; what is said of the tree."""
    from sorct.estimators.regressor import SORCTRegressor

    found = SORCTRegressor(
        **_given(args, "alpha_local", "alpha_global", "n_starts", "time_limit"),
        **single_tree(args),
        **group_options(args),
        **_effort(args),
        **columns,
    )
    groups = groups_of(args, data)
    with bars.bar("search", shown=bars.are_shown(args.quiet)) as update:
        found.fit(
            data.X,
            data.y,
            data.weight,
            groups=groups,
            callback=lambda now: update(now.n_done, now.n_starts),
        )
    told = loss_line(data, found, found.tree_)
    if not told:
        r2 = Quantity.agreement(data.y, found.predict(data.X), data.weight)
        told = [f"R² on the rows of training: {r2:.3f}, which says little of new rows."]
    alphas = f"alpha_local {found.alpha_local:g}, alpha_global {found.alpha_global:g}"
    return found, [
        *wrapped(" ".join(told)),
        f"Penalties as given: {alphas}.",
        *group_line(args, data, found),
    ]


def search_for(
    args: Namespace, data: Training, columns: dict[str, Any]
) -> SORCTRegressorCV:
    """A search for settings by cross-validation, not yet fitted."""
    from sorct.estimators.contest import n_drawings
    from sorct.estimators.regressor_cv import SORCTRegressorCV

    repeats = n_drawings(len(data.y)) if args.cv is None else None
    model: dict[str, Any] = {}
    for flag, name in (("depth", "depths"), ("gamma", "gamma")):
        values = getattr(args, flag)
        if values is not None and values != ["choose"]:
            model[name] = values
    return SORCTRegressorCV(
        cv=folds_of(args.cv or CV, data, args.seed, repeats),
        rule=args.rule or "paired",
        progress=bars.are_shown(args.quiet),
        **model,
        **grid(args),
        **refits(args),
        **_given(
            args, "scoring", "max_features", "max_features_per_cut", "max_cost",
            "n_solutions", "loss", "quantile", "leaf", "link", "time_limit",
        ),
        **group_options(args),
        **_effort(args),
        **columns,
    )  # fmt: skip


def loss_line(data: Training, model: Any, tree: Tree) -> list[str]:
    """What trees of a quantile or of the median are judged by, on the training rows.

    Beside it stands what the best constant gets. ``tree`` tells the loss of a model.
    """
    loss, level = tree.training.loss, tree.training.quantile or 0.5
    if loss not in OF_LEVELS:
        return []
    y, predicted = data.y, model.predict(data.X)
    weight = np.ones(y.size) if data.weight is None else data.weight
    constant = quantile_of(y, weight, level)

    def missed(by: FloatArray) -> str:
        size = by * (level - (by < 0.0))
        mean = float(np.average(size, weights=weight))
        return number(mean if loss == "quantile" else 2.0 * mean)

    mine, other = missed(y - predicted), missed(y - constant)
    always = f"always saying {number(constant)}"
    if loss == "absolute":
        return [
            f"On the training rows the mean absolute error is {mine}; {always}, the "
            f"median, has {other}."
        ]
    below = 100.0 * float(np.average(y <= predicted, weights=weight))
    return [
        f"Of the training rows {below:.1f} % are not above the predicted quantile, "
        f"where {100.0 * level:g} % are asked for. Their mean pinball loss is {mine}; "
        f"{always}, their own quantile, has {other}."
    ]


def baseline_line(tree: Tree) -> list[str]:
    """What somebody gets who knows the mean alone, beside a tree chosen on folds."""
    told, target = tree.training, tree.quantity
    if told.cv_score is None or told.cv_scoring != _SQUARED:
        if told.loss in OF_LEVELS and told.cv_scoring != "r2":
            return []
        return ["R² 0 is what always saying the mean would have."]
    error, mean = sqrt(max(-told.cv_score, 0.0)), target.value_text(target.centre)
    return [
        f"Held-out rows are missed by {number(error)} (root mean squared error); "
        f"always saying {mean}, the mean, misses by {number(target.spread)} (R² 0)."
    ]
