"""Quantities: how fit trains where the target is a number to predict."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from sklearn.metrics import r2_score

from sorct.cli import bars
from sorct.cli.data import Training
from sorct.cli.messages import UsageError, WorkError, note
from sorct.cli.model_options import grid, refits
from sorct.data.quantity import Quantity

if TYPE_CHECKING:
    from sorct.estimators.regressor import SORCTRegressor
    from sorct.estimators.regressor_cv import SORCTRegressorCV

#: Losses of a quantity; the others are of classes.
LOSSES = ("square", "absolute", "huber", "quantile")
# Flags that only trees of classes know, and their values if they were not given.
_OF_CLASSES: dict[str, Any] = {
    "min_recall": [], "cost_matrix": None, "class_weight": [], "calibration": None,
    "confidence": None, "positive_class": None, "followable": None,
    "paper": False,
}  # fmt: skip
_OF_QUANTITIES: dict[str, Any] = {"quantile": None, "leaf": None}
_CV = 5


def check_task(args: Namespace, data: Training) -> None:
    """Refuse flags of the other task, and say which task it is."""
    if data.of_quantity:
        if args.task is None:
            note(
                args.quiet,
                f"the target {args.target!r} is a quantity: a regression tree is "
                "trained (--task classes would take its numbers for classes).",
            )
        _refuse(args, _OF_CLASSES, "classes, and the target is a quantity")
        if args.loss is not None and args.loss not in LOSSES:
            raise UsageError(
                f"--loss {args.loss} is for classes, and the target is a quantity: "
                f"expected one of {', '.join(LOSSES)}"
            )
        if args.quantile is not None and args.loss != "quantile":
            raise UsageError("--quantile needs --loss quantile")
        return
    _refuse(args, _OF_QUANTITIES, "quantities, and the target has classes")
    if args.loss in LOSSES:
        raise UsageError(
            f"--loss {args.loss} is for quantities, and the target has classes; "
            "--task quantity takes its numbers for a quantity"
        )


def _refuse(args: Namespace, flags: dict[str, Any], what: str) -> None:
    for name, usual in flags.items():
        if getattr(args, name, usual) != usual:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is for {what}; leave it out")


def _given(args: Namespace, *names: str) -> dict[str, Any]:
    values = {name: getattr(args, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _shared(args: Namespace) -> dict[str, Any]:
    return {
        **_given(args, "loss", "quantile", "leaf"),
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

    model: dict[str, Any] = {}
    for name in ("depth", "gamma"):
        if getattr(args, name) is not None:
            (model[name],) = getattr(args, name)
    found = SORCTRegressor(
        **_given(args, "alpha_local", "alpha_global", "n_starts", "time_limit"),
        **model,
        **_shared(args),
        **columns,
    )
    with bars.bar("search", shown=bars.are_shown(args.quiet)) as update:
        found.fit(
            data.X,
            data.y,
            data.weight,
            callback=lambda now: update(now.n_done, now.n_starts),
        )
    r2 = r2_score(data.y, found.predict(data.X), sample_weight=data.weight)
    alphas = f"alpha_local {found.alpha_local:g}, alpha_global {found.alpha_global:g}"
    return found, [
        f"R² on the rows of training: {r2:.3f}, which says little of new rows.",
        f"Penalties as given: {alphas}.",
    ]


def search_for(
    args: Namespace, data: Training, columns: dict[str, Any]
) -> SORCTRegressorCV:
    """A search for settings by cross-validation, not yet fitted."""
    from sorct.estimators.contest import n_drawings
    from sorct.estimators.regressor_cv import SORCTRegressorCV

    n_folds = args.cv or _CV
    if len(data.y) < n_folds:
        raise WorkError(
            f"{n_folds} folds need at least as many rows, got {len(data.y)}; give a "
            "smaller --cv, or fixed penalties (--alpha-local)."
        )
    repeats = n_drawings(len(data.y)) if args.cv is None else None
    model: dict[str, Any] = {}
    for flag, name in (("depth", "depths"), ("gamma", "gamma")):
        values = getattr(args, flag)
        if values is not None and values != ["choose"]:
            model[name] = values
    return SORCTRegressorCV(
        cv=Quantity.splitter(n_folds, args.seed, repeats),
        rule=args.rule or "paired",
        progress=bars.are_shown(args.quiet),
        **model,
        **grid(args),
        **refits(args),
        **_given(
            args, "scoring", "max_features", "max_features_per_cut", "max_cost",
            "n_solutions",
        ),
        **_shared(args),
        **columns,
    )  # fmt: skip
