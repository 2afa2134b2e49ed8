"""The paper's own stack: the formulation of ``ipopt.py`` in Pyomo, for a program.

Pyomo writes the model to a file, and the program ``ipopt`` on the path solves it. Where
there is no such program nothing can be measured: `ipopt_program` returns None.
"""

from __future__ import annotations

import shutil
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.ipopt import FloatArray, IpoptResult, Point, evaluate


def ipopt_program() -> str | None:
    """Where the program is, if it is installed."""
    return shutil.which("ipopt")


class PyomoModel:
    """The smooth problem with costs of 0.5, built once and solved from many starts.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,), codes of the classes
    depth : int
    alpha_local, alpha_global, min_recall, gamma : float
    """

    def __init__(
        self,
        X: FloatArray,
        y: np.ndarray,
        depth: int,
        *,
        alpha_local: float = 0.0,
        alpha_global: float = 0.0,
        min_recall: float = 0.0,
        gamma: float = 512.0,
    ) -> None:
        self._pyo = _import_pyomo()
        self._X, self._y = X, y
        self._terms = {
            "alpha_local": alpha_local,
            "alpha_global": alpha_global,
            "min_recall": min_recall,
            "gamma": gamma,
        }
        self._model = self._build(2**depth - 1, int(y.max()) + 1)

    def solve(self, start: Point) -> IpoptResult:
        """Run IPOPT from `start`; the time includes writing and reading the files."""
        self._put(start)
        solver = self._pyo.SolverFactory("ipopt")
        begun = perf_counter()
        answer = solver.solve(self._model, load_solutions=False)
        if len(answer.solution):
            self._model.solutions.load_from(answer)
        seconds = perf_counter() - begun
        point = self._take()
        value = evaluate(self._X, self._y, point, **self._terms)
        status = str(answer.solver.termination_condition)
        return IpoptResult(point, *value, -1, status, seconds)

    def _build(self, n_branches: int, n_classes: int) -> Any:
        pyo, (n, p), terms = self._pyo, self._X.shape, self._terms
        model = pyo.ConcreteModel()
        columns, cuts = range(p), range(n_branches)
        classes, leaves = range(n_classes), range(n_branches + 1)
        model.plus = pyo.Var(columns, cuts, bounds=(0, 1))
        model.minus = pyo.Var(columns, cuts, bounds=(0, 1))
        model.threshold = pyo.Var(cuts, bounds=(-1, 1))
        model.share = pyo.Var(classes, leaves, bounds=(0, 1))
        model.peak = pyo.Var(columns, bounds=(0, 1))
        model.left = pyo.Expression(range(n), cuts, rule=self._left)
        reach = [self._reach(model, i, n_branches) for i in range(n)]
        model.mass = pyo.Expression(
            classes,
            leaves,
            rule=lambda _, k, leaf: sum(reach[i][leaf] for i in self._members(k)),
        )
        model.hits = pyo.Expression(
            classes,
            rule=lambda m, k: sum(
                m.mass[k, leaf] * m.share[k, leaf] for leaf in leaves
            ),
        )
        size = sum(model.plus[j, t] + model.minus[j, t] for j in columns for t in cuts)
        model.objective = pyo.Objective(
            expr=0.5 * (1.0 - sum(model.hits[k] for k in classes) / n)
            + terms["alpha_local"] / (p * n_branches) * size
            + terms["alpha_global"] / p * sum(model.peak[j] for j in columns)
        )
        self._constrain(model, columns, cuts, classes, leaves)
        return model

    def _constrain(
        self, model: Any, columns: range, cuts: range, classes: range, leaves: range
    ) -> None:
        pyo, floor = self._pyo, self._terms["min_recall"]
        model.one_label = pyo.Constraint(
            leaves, rule=lambda m, leaf: sum(m.share[k, leaf] for k in classes) == 1
        )
        model.owned = pyo.Constraint(
            classes, rule=lambda m, k: sum(m.share[k, leaf] for leaf in leaves) >= 1
        )
        model.tops = pyo.Constraint(
            columns,
            cuts,
            rule=lambda m, j, t: m.peak[j] >= m.plus[j, t] + m.minus[j, t],
        )
        model.floors = pyo.Constraint(
            classes, rule=lambda m, k: m.hits[k] >= floor * len(self._members(k))
        )

    def _members(self, k: int) -> np.ndarray:
        return np.flatnonzero(self._y == k)

    def _left(self, model: Any, i: int, t: int) -> Any:
        """Probability of going left, by tanh: exp would overflow."""
        p = self._X.shape[1]
        score = sum(
            float(self._X[i, j]) * (model.plus[j, t] - model.minus[j, t])
            for j in range(p)
        )
        cut = score / p - model.threshold[t]
        return 0.5 * (1.0 + self._pyo.tanh(0.5 * self._terms["gamma"] * cut))

    def _reach(self, model: Any, i: int, n_branches: int) -> list[Any]:
        """Probability that sample i reaches each leaf."""
        reach: list[Any] = [1.0]
        for t in range(n_branches):
            left = model.left[i, t]
            reach += [reach[t] * left, reach[t] * (1.0 - left)]
        return reach[n_branches:]

    def _put(self, start: Point) -> None:
        model = self._model
        for j, t in np.ndindex(start.coef.shape):
            model.plus[j, t] = max(float(start.coef[j, t]), 0.0)
            model.minus[j, t] = max(-float(start.coef[j, t]), 0.0)
        for t, threshold in enumerate(start.threshold):
            model.threshold[t] = float(threshold)
        for k, leaf in np.ndindex(start.label_share.shape):
            model.share[k, leaf] = float(start.label_share[k, leaf])
        for j, peak in enumerate(np.abs(start.coef).max(axis=1)):
            model.peak[j] = float(peak)

    def _take(self) -> Point:
        model, value = self._model, self._pyo.value
        p, n_branches = self._X.shape[1], len(model.threshold)
        coef = [
            [
                value(model.plus[j, t]) - value(model.minus[j, t])
                for t in model.threshold
            ]
            for j in range(p)
        ]
        threshold = [value(model.threshold[t]) for t in range(n_branches)]
        share = [
            [value(model.share[k, leaf]) for leaf in range(n_branches + 1)]
            for k in range(int(self._y.max()) + 1)
        ]
        return Point(*map(np.array, (coef, threshold, share))).cleaned()


def _import_pyomo() -> ModuleType:
    try:
        import pyomo.environ
    except ImportError as error:
        hint = 'PyomoModel needs Pyomo: pip install "sorct[bench]"'
        raise ImportError(hint) from error
    return pyomo.environ
