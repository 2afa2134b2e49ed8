"""Forests: how fit trains with --trees, and what the verbs do with a forest's file."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sorct.cli.data import Training
from sorct.cli.messages import UsageError
from sorct.cli.model_options import check_single, demands, promises, single_model
from sorct.cli.quantities import OF_GROUPS, loss_line, single_tree
from sorct.show.notes import wrapped
from sorct.tree.forest import Forest
from sorct.tree.tree import Tree

if TYPE_CHECKING:
    from sorct.data.sheet import ReadOptions

# Flags of fit that forests have no use for, and their values if they were not given.
_OF_TREES: dict[str, Any] = {
    "alphas_local": None, "alphas_global": None, "scoring": None, "n_solutions": None,
    "followable": None, "min_recall": [], "confidence": None, "calibration": None,
    "min_followed": None, "preselect": None, "paper": False, **OF_GROUPS,
}  # fmt: skip
# What forests of a quantity choose if they are asked to, which is the default.
_CHOSEN = ("leaf", "link")


def check_forest(args: Namespace) -> None:
    """Refuse flags that forests have no use for."""
    for name, usual in _OF_TREES.items():
        if getattr(args, name) != usual:
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag} is for single trees; leave out --{flag} or --trees"
            )
    check_single(args, "with --trees", _CHOSEN)
    if args.n_starts == "auto":
        raise UsageError("--n-starts takes a whole number with --trees")


def fit_forest(
    args: Namespace, data: Training, columns: dict[str, Any], reading: ReadOptions
) -> tuple[Forest, list[str]]:
    """Train a forest; what is said of it."""
    from sorct.estimators.forest import SORCTForestClassifier
    from sorct.estimators.forest_regressor import SORCTForestRegressor

    names = (
        "alpha_local", "alpha_global", "max_features", "max_features_per_cut",
        "max_cost", "rule", "relax", "n_starts", "time_limit", "cv",
    )  # fmt: skip
    given = {name: getattr(args, name) for name in names}
    options = {name: value for name, value in given.items() if value is not None}
    if "cv" in options:
        options["n_folds"] = options.pop("cv")
    options |= {"n_jobs": args.jobs, "random_state": args.seed, **columns}
    model: Any
    n_trees = args.trees if len(args.trees) > 1 else args.trees[0]
    if data.of_quantity:
        model = SORCTForestRegressor(n_trees, **single_tree(args), **options)
    else:
        options |= promises(args, data.y)
        options["cost_matrix"] = demands(args, data.y, reading)["cost_matrix"]
        model = SORCTForestClassifier(n_trees, **single_model(args), **options)
    model.fit(data.X, data.y, data.weight)
    lines = _lines(model.forest_)
    if data.of_quantity:
        lines += wrapped(" ".join(loss_line(data, model, model.forest_.trees[0])))
    return model.forest_, lines


def _lines(forest: Forest) -> list[str]:
    """How the forest came about."""
    told, first = forest.training, forest.trees[0]
    raced = forest.weights[0] > forest.weights[-1]
    leaves = f", {first.leaf_kind} leaves" if forest.of_quantity else ""
    lines = [
        f"{'A race chose the first tree: depth' if raced else 'Depth'} {first.depth}"
        f"{leaves}, steepness {first.gamma:g}, alpha_local {told.alpha_local or 0.0:g},"
        f" alpha_global {told.alpha_global or 0.0:.4g}."
    ]
    if told.cv_loss is not None:
        lines.append(
            "The number of variables was chosen by the loss on held-out rows, "
            f"{told.cv_loss:.4g}."
        )
    if told.status == "time_limit":
        lines.append("The time limit ended the training.")
    return lines


def with_policies(model: Tree | Forest, told: dict[str, str]) -> Tree | Forest:
    """The model with what the command line says of new cells."""
    if not told:
        return model
    encoder = replace(model.encoder, **told)  # type: ignore[arg-type]
    if isinstance(model, Tree):
        return replace(model, encoder=encoder)
    trees = tuple(replace(tree, encoder=encoder) for tree in model.trees)
    return replace(model, trees=trees)
