"""Model options: what is minimised and what trees have to meet, as Python has it.

Only what was given is passed on; the library knows the defaults of the rest.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from sorct._typing import AnyArray
from sorct.cli.costs import read_costs
from sorct.cli.data import label_named
from sorct.cli.messages import UsageError
from sorct.data.options import PAPER
from sorct.data.sheet import ReadOptions
from sorct.data.target import Classes
from sorct.estimators.path import PAPER_ALPHAS
from sorct.tree.topology import smallest_depth

CHOOSE = "choose"
_PAPER_MODEL = {name: PAPER[name] for name in ("loss", "gamma", "followable")}
# Trees that the paper's paths carry along.
_PAPER_SOLUTIONS = 20
_WEIGHTS = "balanced"


# -- loss and steepness ----------------------------------------------------------------


def check_single(args: Namespace, where: str, chosen: tuple[str, ...] = ()) -> None:
    """Refuse several values, or a choice, where nothing is chosen but some options."""
    for name in ("depth", "gamma"):
        given = getattr(args, name)
        if given is not None and len(given) > 1:
            raise UsageError(f"--{name} takes one value {where}, got {given}")
    choices = {
        "loss": args.loss,
        "gamma": _one_of(args.gamma),
        "leaf": args.leaf,
        "link": args.link,
    }
    for name, given in choices.items():
        if given == CHOOSE and name not in chosen:
            raise UsageError(f"--{name} cannot be '{CHOOSE}' {where}: say which")


def single_model(args: Namespace) -> dict[str, Any]:
    """Depth, loss and steepness of one tree, or of the trees of a path."""
    found = dict(_PAPER_MODEL) if args.paper else {}
    for name in ("loss", "followable"):
        if getattr(args, name) is not None:
            found[name] = getattr(args, name)
    for name in ("depth", "gamma"):
        if getattr(args, name) is not None:
            (found[name],) = getattr(args, name)
    return found


def compared_model(args: Namespace) -> dict[str, Any]:
    """Loss and steepness of trees to compare with others."""
    return {**_PAPER_MODEL, "relax": False} if args.paper else {}


def searched_model(args: Namespace) -> dict[str, Any]:
    """Depths, losses and steepnesses to choose from, and how paths are traced."""
    found: dict[str, Any] = {}
    if args.paper:
        found = {**_PAPER_MODEL, "depths": None, "n_solutions": _PAPER_SOLUTIONS}
    given = {
        "depths": _one_of(args.depth),
        "loss": args.loss,
        # Steeper cuts are tried without being asked for.
        "gamma": None if (gamma := _one_of(args.gamma)) == CHOOSE else gamma,
        "followable": args.followable,
        "n_solutions": args.n_solutions,
    }
    found |= {name: value for name, value in given.items() if value is not None}
    return found | refits(args)


def refits(args: Namespace) -> dict[str, Any]:
    """Whether trees of a path are offered refitted; the paper has none such."""
    relax = False if args.paper and args.relax is None else args.relax
    return {} if relax is None else {"relax": relax}


def check_limits(args: Namespace) -> None:
    """Refuse limits on relaxed trees where a path has none."""
    if refits(args).get("relax", True):
        return
    for name in ("max_features", "max_cost"):
        if getattr(args, name) is not None:
            flag, way = f"--{name.replace('_', '-')}", "leave out --no-relax"
            if args.relax is None:
                way = "add --relax to --paper"
            raise UsageError(
                f"{flag} of a path limits its relaxed trees, and there are none; {way} "
                f"or leave out {flag}"
            )


def _one_of(values: list[Any] | None) -> Any:
    """The only value, or all of them."""
    return values[0] if values is not None and len(values) == 1 else values


def grid(args: Namespace, y: AnyArray | None = None) -> dict[str, Any]:
    """Strengths of the penalties that were given, or else those of the paper.

    Labels say that the grid is a path's, which the paper traces over both penalties
    where there is more than one cut.
    """
    found: dict[str, Any] = {}
    if args.paper:
        found = {"alphas_local": PAPER_ALPHAS, "alphas_global": 0.0}
        if y is not None and (_one_of(args.depth) or _least_depth(y)) > 1:
            found["alphas_global"] = PAPER_ALPHAS
    given = {name: getattr(args, name) for name in ("alphas_local", "alphas_global")}
    return found | {name: value for name, value in given.items() if value is not None}


def _least_depth(y: AnyArray) -> int:
    return smallest_depth(len(np.unique(y)))


# -- what trees have to meet -----------------------------------------------------------


def demands(args: Namespace, y: AnyArray, reading: ReadOptions) -> dict[str, Any]:
    """Floors and costs, which need to know the classes."""
    classes, costs = Classes(np.unique(y)), args.cost_matrix
    return {
        "min_recall": _floors(args.min_recall, classes),
        "cost_matrix": None if costs is None else read_costs(costs, classes, reading),
    }


def _floors(given: list[tuple[str | None, float]], classes: Classes) -> Any:
    """Floors as the library takes them; one for a class goes before one for all."""
    everywhere = [rate for name, rate in given if name is None][-1:]
    named = {
        label_named(name, classes, "--min-recall"): rate
        for name, rate in given
        if name is not None
    }
    if not named:
        return everywhere[0] if everywhere else None
    return {
        label: rate for rate in everywhere for label in classes.labels.tolist()
    } | named


def promises(args: Namespace, y: AnyArray) -> dict[str, Any]:
    """Weights of classes, calibration and confidence, where they were given."""
    found = _class_weights(args, y)
    for name in ("calibration", "confidence"):
        if getattr(args, name) is not None:
            found[name] = getattr(args, name)
    return found


def _class_weights(args: Namespace, y: AnyArray) -> dict[str, Any]:
    """Balanced, or a weight for every class that was named, if any was."""
    given, classes = args.class_weight, Classes(np.unique(y))
    if not given:
        return {}
    if any(name is None for name, _ in given):
        return {"class_weight": _WEIGHTS}
    named = {
        label_named(name, classes, "--class-weight"): weight
        for name, weight in given
        if name is not None
    }
    return {"class_weight": named}


def check_promises(args: Namespace) -> None:
    """Refuse weights that contradict each other, and a confidence in nothing."""
    balanced = [name is None for name, _ in args.class_weight or ()]
    if any(balanced) and not all(balanced):
        raise UsageError(
            "--class-weight takes balanced or weights of classes, such as fraud=5, not "
            "both"
        )
    if args.confidence is not None and not args.min_recall:
        raise UsageError(
            "--confidence needs --min-recall, the floor that is to hold on new rows"
        )
