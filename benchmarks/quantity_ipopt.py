"""Trees of a quantity in CasADi and IPOPT: the outside truth for squared losses.

With a = plus - minus, reach and leaves as in ``ipopt.py``, v_l(x) what leaf l says, V =
sum of reach x v and y centred and scaled::

    min  sum_i w_i [(y_i - V_i)^2 + mixed sum_l reach_il (v_l(x_i) - V_i)^2]
         + ridge sum_l v_l(mean x)^2 + sum_gt local_g size_gt
    s.t. size_gt >= plus_jt + minus_jt for all columns j of group g,
         plus, minus in [0, 1] (slopes of leaves: >= 0),  threshold in [-1, 1],
         values of constant leaves between the least and the largest y
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ipopt import KEEP_START, _import_casadi
from sorct.problem.problem import Problem
from sorct.problem.residual import RIDGE, SLOPE_UNIT, Residual
from sorct.tree.params import Params


class QuantityResult(NamedTuple):
    """What a solve led to."""

    params: Params
    objective: float
    status: str
    seconds: float


class QuantityModel:
    """A problem of squared loss without a global penalty, built once."""

    def __init__(
        self, problem: Problem, *, keep_start: bool = False, max_iter: int = 3000
    ) -> None:
        self._ca, self._problem = _import_casadi(), problem
        assert isinstance(problem.datafit, Residual)
        assert problem.penalty.linf_strength == 0.0
        options = {"max_iter": max_iter, **(KEEP_START if keep_start else {})}
        self._build({"print_level": 0, "sb": "yes", **options})

    def solve(self, start: Params) -> QuantityResult:
        """Run IPOPT from a tree."""
        x0 = self._pack(start)
        begun = perf_counter()
        answer = self._solver(x0=x0, **self._bounds)
        seconds = perf_counter() - begun
        status = self._solver.stats()["return_status"]
        params = self._params(np.array(answer["x"]).ravel(), start)
        return QuantityResult(params, float(answer["f"]), status, seconds)

    @property
    def _sizes(self) -> tuple[int, int, int, int]:
        """Columns, cuts, leaves, and columns of the matrix of coefficients."""
        topology, p = self._problem.topology, self._problem.data.n_columns
        n_slopes = topology.n_leaves if self._problem.has_slopes else 0
        return p, topology.n_branches, topology.n_leaves, topology.n_branches + n_slopes

    def _pack(self, start: Params) -> np.ndarray:
        coef = start.penalised
        largest = np.maximum.reduceat(np.abs(coef), self._problem.penalty.start[:-1])
        parts = [np.maximum(coef, 0), np.maximum(-coef, 0)]
        parts += [start.threshold, start.leaf_value, largest]
        return np.concatenate([part.ravel(order="F") for part in parts])

    def _params(self, x: np.ndarray, start: Params) -> Params:
        p, n_branches, n_leaves, n_scores = self._sizes
        size = p * n_scores
        coef = (x[:size] - x[size : 2 * size]).reshape(p, n_scores, order="F")
        rest = x[2 * size :]
        threshold, value = rest[:n_branches], rest[n_branches : n_branches + n_leaves]
        slopes = coef[:, n_branches:] if n_scores > n_branches else None
        return Params(
            coef[:, :n_branches], threshold, start.leaf_class, None, value, slopes
        )

    def _build(self, ipopt: dict[str, Any]) -> None:
        ca, problem = self._ca, self._problem
        p, n_branches, n_leaves, n_scores = self._sizes
        plus, minus = ca.MX.sym("plus", p, n_scores), ca.MX.sym("minus", p, n_scores)
        threshold = ca.MX.sym("threshold", n_branches)
        value = ca.MX.sym("value", n_leaves)
        starts, penalty = problem.penalty.start, problem.penalty
        size = ca.MX.sym("size", starts.size - 1, n_scores)
        objective = self._fit(plus - minus, threshold, value)
        strength = penalty.local_strength * penalty.local
        objective += ca.sum1(ca.mtimes(ca.DM(strength).T, size).T)
        group = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        over = ca.vec(size[group.tolist(), :] - plus - minus)
        x = ca.veccat(plus, minus, threshold, value, size)
        low, high = np.zeros(x.numel()), np.full(x.numel(), np.inf)
        boxed = np.tile(np.arange(p * n_scores) < p * n_branches, 2)
        high[: 2 * p * n_scores][boxed] = 1.0
        begin = 2 * p * n_scores
        low[begin : begin + n_branches] = -1.0
        high[begin : begin + n_branches] = 1.0
        begin += n_branches
        datafit = problem.datafit
        low[begin : begin + n_leaves] = max(datafit.low, -1e19)
        high[begin : begin + n_leaves] = min(datafit.high, 1e19)
        nlp = {"x": x, "f": objective, "g": over}
        options = {"print_time": False, "ipopt": ipopt}
        self._solver = ca.nlpsol("quantity", "ipopt", nlp, options)
        self._bounds = {"lbx": low, "ubx": high, "lbg": 0.0, "ubg": np.inf}

    def _fit(self, coef: Any, threshold: Any, value: Any) -> Any:
        """Loss, mixing and ridge."""
        ca, problem = self._ca, self._problem
        _, n_branches, n_leaves, n_scores = self._sizes
        rows, datafit = problem.data.rows, problem.datafit
        X, n = ca.DM(rows.X.T), rows.weight.size
        w, y = ca.DM(rows.weight), ca.DM(rows.response)
        cut = ca.mtimes(X / problem.n_groups, coef[:, :n_branches])
        cut = cut - ca.repmat(threshold.T, n, 1)
        left = 0.5 * (1 + ca.tanh(0.5 * problem.gamma * cut))
        reach = [ca.DM.ones(n)]
        for t in range(n_branches):
            reach += [reach[t] * left[:, t], reach[t] * (1 - left[:, t])]
        leaves = ca.horzcat(*reach[n_branches:])
        said, at_mean = ca.repmat(value.T, n, 1), value
        if n_scores > n_branches:
            slopes = coef[:, n_branches:]
            said = said + SLOPE_UNIT * ca.mtimes(X, slopes)
            mean = ca.DM(problem.data.centre)
            at_mean = value + SLOPE_UNIT * ca.mtimes(mean.T, slopes).T
        V = ca.sum2(leaves * said)
        apart = ca.sum2(leaves * (said - ca.repmat(V, 1, n_leaves)) ** 2)
        loss = ca.dot(w, (y - V) ** 2 + datafit.mixed * apart)
        return loss + RIDGE * ca.sumsqr(at_mean)
