"""The file format of a tree: plain data both ways, checked on the way in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.data.encoder import (
    UNKNOWN_POLICIES,
    Categorical,
    Numeric,
    TableEncoder,
    Variable,
)

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

FORMAT, VERSION = "sorct-tree", 1
#: What the trees of one path have in common, and is written once.
COMMON = (
    "format", "version", "variables", "named", "unknown", "classes", "gamma",
    "cost_matrix",
)  # fmt: skip
_PLAIN = (str, int, float, bool)
_LABEL_KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}


def write_json(data: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write plain data to a file, whole or not at all."""
    write_text(json.dumps(data, indent=1, allow_nan=False), path)


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write text to a file as UTF-8, whole or not at all."""
    with _replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_bytes(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write bytes to a file, whole or not at all."""
    with _replacing(path) as partial:
        partial.write_bytes(content)


@contextmanager
def _replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write to, which takes the place of another once all is written."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read_json(path: str | os.PathLike[str], kind: str) -> Any:
    """Plain data of a file that should hold a model or a path."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{path} is not a sorct {kind}: expected JSON, got {error}. The file may "
            "be truncated."
        ) from error


def tree_to_dict(tree: Tree) -> dict[str, Any]:
    """Plain data of a tree; floats survive JSON to the last bit."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "variables": [_variable_to_dict(v) for v in tree.encoder.variables],
        "named": tree.encoder.named,
        "unknown": tree.encoder.unknown,
        "classes": _classes_to_dict(tree.classes),
        "gamma": tree.gamma,
        "coef": tree.coef.tolist(),
        "threshold": tree.threshold.tolist(),
        "leaf_class": tree.leaf_class.tolist(),
        "cost_matrix": tree.cost_matrix.tolist(),
        "mass": tree.mass.tolist(),
        "training": dict(tree.training),
    }


def without_call(data: dict[str, Any]) -> dict[str, Any]:
    """Plain data of a tree but for how it was asked for, and of which versions."""
    left_out = ("call", "versions")
    told = {key: data["training"][key] for key in data["training"].keys() - left_out}
    return {**data, "training": told}


def tree_from_dict(data: Any) -> dict[str, Any]:
    """Arguments of ``Tree`` from plain data; a ValueError says what is wrong."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"not a sorct model: expected an object of format {FORMAT!r}.")
    if data.get("version") != VERSION:
        raise ValueError(
            f"model of version {data.get('version')!r}, expected {VERSION}; load it "
            "with the version of sorct that wrote it and save it again."
        )
    classes = _classes_from_dict(_get(data, "classes", dict))
    encoder = _encoder_from_dict(data)
    coef = _floats(data, "coef", (encoder.n_columns, None))
    n_branches = coef.shape[1]
    constant = [
        isinstance(encoder.variables[i], Numeric) and encoder.variables[i].span == 0.0
        for i in encoder.column_variable
    ]
    _expect(not coef[constant].any(), "'coef' must be 0 for a constant variable")
    _expect(
        n_branches > 0 and (n_branches + 1).bit_count() == 1,
        f"coef must have 2^depth - 1 columns, got {n_branches}",
    )
    n_classes = len(classes)
    gamma = _number(data, "gamma")
    _expect(gamma > 0, f"gamma must be positive, got {gamma!r}")
    mass = _floats(data, "mass", (n_classes, n_branches + 1))
    _expect((mass.sum(axis=1) > 0).all(), "mass must be positive for every class")
    return {
        "encoder": encoder,
        "coef": coef,
        "threshold": _floats(data, "threshold", (n_branches,)),
        "leaf_class": _leaf_class(data, n_branches + 1, n_classes),
        "classes": classes,
        "gamma": gamma,
        "cost_matrix": _floats(data, "cost_matrix", (n_classes, n_classes)),
        "mass": mass,
        "training": _training(data, n_classes),
    }


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(f"damaged sorct model: {message}.")


def _get(data: dict[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    value = data.get(key)
    good = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    _expect(good, f"{key!r} is missing or of the wrong type")
    return value


def _number(data: dict[str, Any], key: str) -> float:
    value = _get(data, key, (int, float))
    try:
        finite = bool(np.isfinite(float(value)))
    except OverflowError:
        finite = False
    _expect(finite, f"{key!r} must be a finite number")
    return float(value)


def _floats(
    data: dict[str, Any], key: str, shape: tuple[int | None, ...]
) -> FloatArray:
    try:
        array = np.array(_get(data, key, list), dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"damaged sorct model: {key!r} must hold numbers.") from error
    right = array.ndim == len(shape) and all(
        want is None or got == want
        for got, want in zip(array.shape, shape, strict=True)
    )
    _expect(right, f"{key!r} has shape {array.shape}, expected {shape}")
    _expect(bool(np.isfinite(array).all()), f"{key!r} must be finite")
    return array


def _training(data: dict[str, Any], n_classes: int) -> dict[str, Any]:
    """What training tells: anything, but known keys are of their own kind."""
    told: dict[str, Any] = _get(data, "training", dict)
    for key in ("alpha_local", "alpha_global", "objective", "cost", "residual"):
        if key in told:
            _number(told, key)
    for key in ("min_recall", "recall"):
        if key in told:
            _floats(told, key, (n_classes,))
    for key in ("search", "call", "status"):
        _expect(isinstance(told.get(key, ""), str), f"{key!r} must be text")
    whole = isinstance(told.get("rounded", 1), int)
    _expect(whole, "'rounded' must be a whole number")
    _expect(isinstance(told.get("versions", {}), dict), "'versions' must be an object")
    return told


def _leaf_class(data: dict[str, Any], n_leaves: int, n_classes: int) -> AnyArray:
    labels = _get(data, "leaf_class", list)
    whole = all(type(k) is int and 0 <= k < n_classes for k in labels)
    _expect(
        whole and len(labels) == n_leaves,
        f"'leaf_class' must be {n_leaves} positions of classes",
    )
    return np.array(labels, dtype=np.int64)


def _variable_to_dict(variable: Variable) -> dict[str, Any]:
    if isinstance(variable, Numeric):
        return {"name": variable.name, "lower": variable.lower, "span": variable.span}
    if not all(isinstance(level, _PLAIN) for level in variable.levels):
        raise TypeError(
            f"Levels of column {variable.name!r} cannot be saved: expected strings, "
            f"numbers or booleans, got {variable.levels[:3]}."
        )
    return {"name": variable.name, "levels": list(variable.levels)}


def _variable_from_dict(data: Any) -> Variable:
    _expect(isinstance(data, dict), "a variable must be an object")
    name = _get(data, "name", str)
    if "levels" not in data:
        lower, span = _number(data, "lower"), _number(data, "span")
        _expect(span >= 0, f"range of variable {name!r} is negative")
        return Numeric(name, lower, span)
    levels = _get(data, "levels", list)
    plain = all(isinstance(level, _PLAIN) for level in levels)
    _expect(plain and len(levels) > 0, f"levels of variable {name!r} are not plain")
    _expect(len(set(levels)) == len(levels), f"levels of variable {name!r} repeat")
    return Categorical(name, tuple(levels))


def _encoder_from_dict(data: dict[str, Any]) -> TableEncoder:
    variables = tuple(_variable_from_dict(v) for v in _get(data, "variables", list))
    _expect(len(variables) > 0, "there are no variables")
    names = {variable.name for variable in variables}
    _expect(len(names) == len(variables), "two variables have the same name")
    unknown = data.get("unknown")
    _expect(unknown in UNKNOWN_POLICIES, f"'unknown' must be one of {UNKNOWN_POLICIES}")
    return TableEncoder(variables, _get(data, "named", bool), str(unknown))


def _classes_to_dict(classes: AnyArray) -> dict[str, Any]:
    labels = classes.tolist()
    kind = _LABEL_KINDS.get(classes.dtype.kind)
    if kind is None or not all(isinstance(label, kind) for label in labels):
        raise TypeError(
            "Only class labels that are all strings, numbers or booleans can be saved, "
            f"got {labels[:5]}."
        )
    return {"dtype": classes.dtype.str, "labels": labels}


def _classes_from_dict(data: dict[str, Any]) -> AnyArray:
    labels, code = _get(data, "labels", list), _get(data, "dtype", str)
    _expect(len(code) >= 2 and code[1] in _LABEL_KINDS, f"unknown label type {code!r}")
    kind = _LABEL_KINDS[code[1]]
    _expect(all(isinstance(label, kind) for label in labels), "labels of mixed types")
    _expect(len(labels) >= 2, "there are fewer than two classes")
    _expect(len(set(labels)) == len(labels), "two classes have the same label")
    try:
        classes = np.array(labels, dtype=np.dtype(code))
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"damaged sorct model: label type {code!r}.") from error
    _expect(classes.tolist() == labels, f"labels do not fit their type {code!r}")
    return classes
