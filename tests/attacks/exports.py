"""Exports: whatever a tree or forest is, what is exported gives what it gives.

Trees go through in batches: one process of Node and one session of PostgreSQL for many.
"""

from contextlib import ExitStack
from dataclasses import replace

import numpy as np

from sorct import Forest
from sorct.tree.calibration import SILENT, CurveMap
from tests.attacks.outcome import Outcome, attempt, chunks
from tests.attacks.random_forests import random_forest
from tests.attacks.random_trees import random_model
from tests.attacks.runners import (
    Case,
    run_duckdb,
    run_javascript,
    run_onnx,
    run_postgresql,
    run_python,
    run_sqlite,
    server,
)
from tests.show.export.spoken import margin

_BATCH = 100
# A short attack does not wait for a server to start.
_WORTH_A_SERVER = 200
_SINGLE = {"onnx float32": 1e-3}
_EXACT = 1e-9
_FORESTS = 0.2


def attack(rng, n_cases):
    """Export random trees everywhere, and compare the probabilities and labels."""
    outcome = Outcome()
    with ExitStack() as stack:
        database = None
        if n_cases >= _WORTH_A_SERVER:
            database = stack.enter_context(server())
        for own in chunks(rng, n_cases, _BATCH):
            cases = [_drawn(case) for case in own]
            for found in _compared(cases, database):
                outcome.tell(_verdict(found))
                outcome.ends.update(_counted(found))
    return outcome


def _drawn(rng):
    """A tree or, one in five, a forest around it; and rows."""
    tree, rows = random_model(rng)
    forest = rng.random() < _FORESTS
    return Case(random_forest(rng, tree, rows) if forest else tree, rows)


def _compared(cases, database):
    """For every case, by runner: an error, "refused" or "agrees"."""
    found = [{} for _ in cases]
    batches = {"javascript": run_javascript(cases)}
    if database is not None:
        batches["postgresql"] = run_postgresql(cases, database)
    single = {
        "python": run_python, "sqlite": run_sqlite, "duckdb": run_duckdb,
        "onnx float64": lambda case: run_onnx(case, "float64"),
        "onnx float32": lambda case: run_onnx(case, "float32"),
    }  # fmt: skip
    for place, case in enumerate(cases):
        results = {name: results[place] for name, results in batches.items()}
        for name, run in single.items():
            results[name] = attempt(run, case)
        for name, result in results.items():
            atol = _SINGLE.get(name, _EXACT)
            truth = case.in_tensors if name.startswith("onnx") else case
            found[place][name] = attempt(_agrees, truth, result, atol)
    return found


def _agrees(case, result, atol):
    """Compare the result of a runner with the tree; a refusal is an answer."""
    if isinstance(result, str):
        return result
    if isinstance(result, ValueError) and str(result):
        return "refused"
    if isinstance(result, BaseException):
        raise result
    labels, proba = result
    if case.tree.of_quantity:
        return _near(case, np.ravel(proba), atol)
    truth, atol = case.proba, atol * steepness(case.tree, case.rows)
    wrong = np.abs(np.asarray(proba, dtype=np.float64) - truth).max(axis=1)
    assert (wrong <= atol).all(), f"a probability is wrong by {wrong.max():.1e}"
    clear = margin(case.tree, truth) > 4 * atol
    expected = case.labels[clear].tolist()
    got = [label for label, sure in zip(labels, clear, strict=True) if sure]
    assert got == expected, f"labels are {got[:3]}, not {expected[:3]}"
    return "agrees"


def _near(case, values, atol):
    """Compare predicted quantities, by the size of what leaves say of each row.

    Where leaves say logarithms, these are compared.
    """
    tree, scaled = case.tree, case.tree.encoder.encode(case.rows)
    truth = case.values
    if tree.quantity.is_log:
        values, truth = np.log(values), np.log(truth)
    size = sum(
        weight * _size(tree, scaled) for tree, weight in zip(*_trees(tree), strict=True)
    )
    wrong = np.abs(values - truth) / size
    assert (wrong <= atol).all(), f"a value is wrong by {wrong.max():.1e} of its size"
    return "agrees"


def _trees(model):
    """Trees and how much each counts; a tree is all of itself."""
    if isinstance(model, Forest):
        return model.trees, model.weights
    return [model], [1.0]


def _size(tree, scaled):
    """Size of what leaves say of each row."""
    size = np.abs(tree.leaf_value).max()
    if tree.leaf_coef is not None:
        size = size + (np.abs(scaled) @ np.abs(tree.leaf_coef)).max(axis=1)
    return size


def steepness(tree, rows):
    """How much calibration may blow up a rounding of each row's probabilities.

    Where the maps say little of all classes, they are divided by little.
    """
    if isinstance(tree, Forest) or tree.calibration is None:
        return np.ones(len(rows))
    maps = tree.calibration.maps
    steepest = max(1.0, *(_steepest(one) for one in maps))
    if len(maps) == 1:
        return np.full(len(rows), steepest)
    own = replace(tree, calibration=None).predict_proba(rows)
    total = sum(one(own[:, k]) for k, one in enumerate(maps))
    return steepest / np.clip(total, SILENT, 1.0)


def _steepest(one):
    if isinstance(one, CurveMap):
        return max([0.0, *(np.diff(one.values) / np.diff(one.points))])
    return abs(one.slope)


def _verdict(found):
    """The first error, with the runner that it is of, or that all is well."""
    for name, result in found.items():
        if isinstance(result, BaseException):
            result.args = (f"{name}: {result}",)
            return result
    return "compared"


def _counted(found):
    return [f"{name} refused" for name, result in found.items() if result == "refused"]
