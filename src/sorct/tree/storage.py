"""Storage: the format of trees in files, plain data both ways, checked on the way in.

Whatever a file holds, reading it gives a tree that works or a ValueError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.kinds import variable_from_dict
from sorct.data.options import MISSING_POLICIES
from sorct.data.plain import expect, field, number, numbers
from sorct.data.quantity import Quantity
from sorct.data.target import Classes
from sorct.data.variables import UNKNOWN_POLICIES
from sorct.tree.calibration import Calibration
from sorct.tree.training import TrainingRecord

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

FORMAT = "sorct-tree"
# What reads files of other formats.
_READERS = {
    "sorct-forest": "Forest.from_json",
    "sorct-path": "Path.from_json",
}
# Version 1 has only numbers scaled by their range and levels chosen one by one. A tree
# that was read from such a file is written so again, and sorct 0.1.0 can read it.
# Version 2 has every kind of variable; version 3 leaves that say more than a class, as
# those of all trees that are trained now do;
# version 4 has a quantity in place of classes, version 5 one by its logarithm.
VERSIONS = (1, 2, 3, 4, 5)
_OF_QUANTITY, _OF_LOG = 4, 5
#: What leaves may say beside their class.
_LEAF_ARRAYS = ("leaf_proba", "decision_cost", "routed")
_SIMPLE = {"name", "lower", "span", "whole", "median", "levels", "mode"}
# Products of numbers no larger than this are finite.
_LARGEST, _LARGEST_LOG = 1e75, 1e4
#: What the trees of one path have in common, and is written once.
COMMON = (
    "format", "version", "variables", "named", "unknown", "missing", "classes",
    "gamma", "cost_matrix", "quantity",
)  # fmt: skip
#: What leaves say of a quantity.
_VALUE_ARRAYS = ("leaf_value", "leaf_coef", "leaf_mean", "leaf_miss")


def tree_to_dict(tree: Tree) -> dict[str, Any]:
    """Plain data of a tree; floats survive JSON to the last bit."""
    variables = [variable.to_dict() for variable in tree.encoder.variables]
    policies = tree.encoder.unknown, tree.encoder.missing
    simple = policies in (("error", "error"), ("first_level", "error"))
    simple = simple and all(set(plain) <= _SIMPLE for plain in variables)
    if tree.of_quantity:
        return _quantity_to_dict(tree, variables)
    leaves = _leaves_to_dict(tree)
    version = 3 if leaves else 1 if simple else 2
    return {
        "format": FORMAT,
        "version": version,
        "variables": variables,
        "named": tree.encoder.named,
        "unknown": tree.encoder.unknown,
        **({} if version == 1 else {"missing": tree.encoder.missing}),
        "classes": tree.target.to_dict(),
        "gamma": tree.gamma,
        "coef": tree.coef.tolist(),
        "threshold": tree.threshold.tolist(),
        "leaf_class": tree.leaf_class.tolist(),
        "cost_matrix": tree.cost_matrix.tolist(),
        "mass": tree.mass.tolist(),
        **leaves,
        "training": tree.training.to_dict(),
    }


def _quantity_to_dict(tree: Tree, variables: list[dict[str, Any]]) -> dict[str, Any]:
    """Plain data of a tree of a quantity."""
    arrays = {name: getattr(tree, name) for name in _VALUE_ARRAYS}
    return {
        "format": FORMAT,
        "version": _OF_LOG if tree.quantity.is_log else _OF_QUANTITY,
        "variables": variables,
        "named": tree.encoder.named,
        "unknown": tree.encoder.unknown,
        "missing": tree.encoder.missing,
        "quantity": tree.quantity.to_dict(),
        "gamma": tree.gamma,
        "coef": tree.coef.tolist(),
        "threshold": tree.threshold.tolist(),
        "mass": tree.mass[0].tolist(),
        **({} if tree.routed is None else {"routed": tree.routed[0].tolist()}),
        **{name: one.tolist() for name, one in arrays.items() if one is not None},
        **_limits_to_dict(tree),
        "training": tree.training.to_dict(),
    }


def _limits_to_dict(tree: Tree) -> dict[str, Any]:
    at = tree.followed_at
    return {} if at is None else {"followed_at": at.tolist()}


def _limits_from_dict(data: dict[str, Any], n_branches: int) -> dict[str, Any]:
    if "followed_at" not in data:
        return {}
    found = numbers(data, "followed_at", (n_branches,))
    _expect_modest(found)
    return {"followed_at": found}


def _leaves_to_dict(tree: Tree) -> dict[str, Any]:
    """What leaves say beside their class, without what is not there."""
    arrays = {name: getattr(tree, name) for name in _LEAF_ARRAYS}
    found = {
        name: array.tolist() for name, array in arrays.items() if array is not None
    }
    if tree.calibration is not None:
        found["calibration"] = tree.calibration.to_dict()
    return found | _limits_to_dict(tree)


def tree_from_dict(data: Any) -> dict[str, Any]:
    """Arguments of ``Tree`` from plain data; a ValueError says what is wrong."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        own = data.get("format") if isinstance(data, dict) else None
        known = _READERS.get(own) if isinstance(own, str) else None
        hint = "" if known is None else f" It is read by sorct.{known}."
        raise ValueError(
            f"not a sorct model: expected an object of format {FORMAT!r}.{hint}"
        )
    if data.get("version") not in VERSIONS or isinstance(data["version"], bool):
        raise ValueError(
            f"model of version {data.get('version')!r:.60}, expected {VERSIONS}; load "
            "it with the version of sorct that wrote it and save it again."
        )
    try:
        return _tree_arguments(data)
    except ValueError as error:
        raise ValueError(f"damaged sorct model: {error!s:.500}.") from error


def _cuts(data: dict[str, Any], encoder: TableEncoder, least: int) -> dict[str, Any]:
    """Coefficients, thresholds and gamma, of at least so many cuts."""
    coef = numbers(data, "coef", (encoder.n_columns, None))
    idle = not coef[encoder.constant_columns].any()
    expect(idle, "'coef' must be 0 for a constant variable")
    n_branches = coef.shape[1]
    whole = n_branches >= least and (n_branches + 1).bit_count() == 1
    expect(whole, f"coef must have 2^depth - 1 columns, got {n_branches}")
    gamma = number(data, "gamma")
    expect(gamma > 0, f"gamma must be positive, got {gamma!r}")
    threshold = numbers(data, "threshold", (n_branches,))
    _expect_modest(coef, threshold, np.array([gamma]))
    return {"coef": coef, "threshold": threshold, "gamma": gamma}


def _expect_modest(*parts: FloatArray) -> None:
    for part in parts:
        modest = part.size == 0 or float(np.abs(part).max()) <= _LARGEST
        expect(modest, f"a number is larger than {_LARGEST:g}")


def _quantity_arguments(data: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a tree of a quantity."""
    target = Quantity.from_dict(field(data, "quantity", dict))
    encoder = _encoder(data)
    cuts = _cuts(data, encoder, 0)
    n_leaves = cuts["threshold"].size + 1
    mass = numbers(data, "mass", (n_leaves,))
    expect(bool(mass.min() >= 0 and mass.sum() > 0), "'mass' must be positive")
    routed = numbers(data, "routed", (n_leaves,)) if "routed" in data else None
    fine = routed is None or bool(routed.min() >= 0 and routed.sum() > 0)
    expect(fine, "'routed' must be positive")
    by_leaf = (n_leaves,)
    shapes = (by_leaf, (encoder.n_columns, n_leaves), by_leaf, by_leaf)
    leaves = {
        name: numbers(data, name, shape)
        for name, shape in zip(_VALUE_ARRAYS, shapes, strict=True)
        if name in data or name == "leaf_value"
    }
    ends = [target.centre, target.spread, target.low, target.high]
    _expect_modest(mass, *leaves.values(), np.array(ends))
    _expect_link(data["version"], target, leaves)
    if "leaf_coef" in leaves:
        idle = not leaves["leaf_coef"][encoder.constant_columns].any()
        expect(idle, "'leaf_coef' must be 0 for a constant variable")
    expect(n_leaves > 1 or "leaf_coef" in leaves, "a single leaf must be linear")
    if "leaf_miss" in leaves:
        expect(bool(leaves["leaf_miss"].min() >= 0), "'leaf_miss' must not be negative")
    return {
        "encoder": encoder,
        **cuts,
        "leaf_class": np.zeros(n_leaves, dtype=np.int64),
        "target": target,
        "cost_matrix": np.zeros((1, 1)),
        "mass": mass[np.newaxis],
        "routed": None if routed is None else routed[np.newaxis],
        **leaves,
        **_limits_from_dict(data, n_leaves - 1),
        "training": TrainingRecord.from_dict(field(data, "training", dict), 1),
    }


def _expect_link(version: int, target: Quantity, leaves: dict[str, FloatArray]) -> None:
    """A quantity by its logarithm is told by the version, and tells means."""
    expect(target.is_log == (version == _OF_LOG), f"a 'link' that {version} has not")
    if target.is_log:
        expect("leaf_mean" in leaves, "'leaf_mean' is missing")
        modest = bool(np.abs(leaves["leaf_value"]).max() <= _LARGEST_LOG)
        expect(modest, f"a logarithm is larger than {_LARGEST_LOG:g}")


def _tree_arguments(data: dict[str, Any]) -> dict[str, Any]:
    if data["version"] in (_OF_QUANTITY, _OF_LOG):
        return _quantity_arguments(data)
    target = Classes.from_dict(field(data, "classes", dict))
    encoder = _encoder(data)
    cuts = _cuts(data, encoder, 1)
    n_branches, n_classes = cuts["threshold"].size, len(target)
    mass = numbers(data, "mass", (n_classes, n_branches + 1))
    cost_matrix = numbers(data, "cost_matrix", (n_classes, n_classes))
    _expect_modest(mass, cost_matrix)
    least = min(mass.min(), cost_matrix.min())
    expect(bool(least >= 0), "'mass' and 'cost_matrix' must not be negative")
    expect(bool((mass.sum(axis=1) > 0).all()), "mass must be positive for every class")
    return {
        "encoder": encoder,
        **cuts,
        "leaf_class": _leaf_class(data, n_branches + 1, n_classes),
        "target": target,
        "cost_matrix": cost_matrix,
        "mass": mass,
        **_leaves_from_dict(data, n_classes, n_branches + 1),
        "training": TrainingRecord.from_dict(field(data, "training", dict), n_classes),
    }


def _leaves_from_dict(
    data: dict[str, Any], n_classes: int, n_leaves: int
) -> dict[str, Any]:
    """What leaves say beside their class; files of earlier versions have none of it."""
    found: dict[str, Any] = {}
    by_leaf, by_class = (n_classes, n_leaves), (n_classes, n_classes)
    for name, shape in zip(_LEAF_ARRAYS, (by_leaf, by_class, by_leaf), strict=True):
        if name in data:
            found[name] = array = numbers(data, name, shape)
            modest = float(array.min()) >= 0.0 and float(array.max()) <= _LARGEST
            expect(modest, f"{name!r} must lie between 0 and {_LARGEST:g}")
    if "leaf_proba" in found:
        sums = found["leaf_proba"].sum(axis=0)
        good = bool(np.allclose(sums, 1.0, rtol=0.0, atol=1e-9))
        expect(good, "'leaf_proba' must sum to 1 in every leaf")
    if "calibration" in data:
        plain = field(data, "calibration", dict)
        found["calibration"] = Calibration.from_dict(plain, n_classes)
    return found | _limits_from_dict(data, n_leaves - 1)


def _leaf_class(data: dict[str, Any], n_leaves: int, n_classes: int) -> IntArray:
    labels = field(data, "leaf_class", list)
    whole = all(type(k) is int and 0 <= k < n_classes for k in labels)
    right = whole and len(labels) == n_leaves
    expect(right, f"'leaf_class' must be {n_leaves} positions of classes")
    return np.array(labels, dtype=np.int64)


def _encoder(data: dict[str, Any]) -> TableEncoder:
    variables = tuple(variable_from_dict(v) for v in field(data, "variables", list))
    expect(len(variables) > 0, "there are no variables")
    names = {variable.name for variable in variables}
    expect(len(names) == len(variables), "two variables have the same name")
    unknown = data.get("unknown")
    expect(unknown in UNKNOWN_POLICIES, f"'unknown' must be one of {UNKNOWN_POLICIES}")
    named = field(data, "named", bool)
    numeric = all(variable.choices is None for variable in variables)
    expect(named or numeric, "a tree of an array must have numeric variables only")
    missing = data.get("missing", "error")
    expect(missing in MISSING_POLICIES, f"'missing' must be one of {MISSING_POLICIES}")
    return TableEncoder(variables, named, str(unknown), str(missing))
