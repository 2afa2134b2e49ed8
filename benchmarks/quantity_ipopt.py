"""Trees of a quantity and likelihoods in CasADi and IPOPT: an outside truth for both.

With a = plus - minus, reach and leaves as in ``ipopt.py``, v_l(x) what leaf l says, V =
sum of reach x v and y centred and scaled::

    min  sum_i w_i [(y_i - V_i)^2 + mixed sum_l reach_il (v_l(x_i) - V_i)^2]
         + ridge sum_l v_l(mean x)^2 + sum_gt local_g size_gt
    s.t. size_gt >= plus_jt + minus_jt for all columns j of group g,
         plus, minus in [0, 1] (slopes of leaves: >= 0),  threshold in [-1, 1],
         values of constant leaves between the least and the largest y

For a likelihood, with q_l the distribution of leaf l (a softmax) and V = sum of reach x
q[class of the sample], the first line is::

    -sum_i w_i log V_i + sum_l sum_k pseudo_k log(share_k / q_kl)
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ipopt import KEEP_START, _import_casadi
from sorct.problem.datafit import Likelihood
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

    _datafit: type = Residual

    def __init__(
        self, problem: Problem, *, keep_start: bool = False, max_iter: int = 3000
    ) -> None:
        self._ca, self._problem = _import_casadi(), problem
        assert isinstance(problem.datafit, self._datafit)
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

    @property
    def _n_values(self) -> int:
        """Numbers that say what the leaves do."""
        return self._problem.topology.n_leaves

    @property
    def _range(self) -> tuple[float, float]:
        """Between which they lie."""
        datafit = self._problem.datafit
        return max(datafit.low, -1e19), min(datafit.high, 1e19)

    def _values(self, start: Params) -> np.ndarray:
        return start.leaf_value

    def _tree(self, coef: np.ndarray, threshold: Any, value: Any, like: Params) -> Any:
        n_branches = threshold.size
        slopes = coef[:, n_branches:] if coef.shape[1] > n_branches else None
        return Params(
            coef[:, :n_branches], threshold, like.leaf_class, None, value, slopes
        )

    def _pack(self, start: Params) -> np.ndarray:
        coef = start.penalised
        largest = np.maximum.reduceat(np.abs(coef), self._problem.penalty.start[:-1])
        parts = [np.maximum(coef, 0), np.maximum(-coef, 0)]
        parts += [start.threshold, self._values(start), largest]
        return np.concatenate([part.ravel(order="F") for part in parts])

    def _params(self, x: np.ndarray, start: Params) -> Params:
        p, n_branches, _, n_scores = self._sizes
        size, end = p * n_scores, n_branches + self._n_values
        coef = (x[:size] - x[size : 2 * size]).reshape(p, n_scores, order="F")
        rest = x[2 * size :]
        return self._tree(coef, rest[:n_branches], rest[n_branches:end], start)

    def _build(self, ipopt: dict[str, Any]) -> None:
        ca, problem = self._ca, self._problem
        p, n_branches, _, n_scores = self._sizes
        plus, minus = ca.MX.sym("plus", p, n_scores), ca.MX.sym("minus", p, n_scores)
        threshold = ca.MX.sym("threshold", n_branches)
        value = ca.MX.sym("value", self._n_values)
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
        low[begin : begin + self._n_values], high[begin : begin + self._n_values] = (
            self._range
        )
        nlp = {"x": x, "f": objective, "g": over}
        options = {"print_time": False, "ipopt": ipopt}
        self._solver = ca.nlpsol("quantity", "ipopt", nlp, options)
        self._bounds = {"lbx": low, "ubx": high, "lbg": 0.0, "ubg": np.inf}

    def _leaves(self, coef: Any, threshold: Any) -> Any:
        """How far every row reaches every leaf."""
        ca, problem, n_branches = self._ca, self._problem, threshold.numel()
        X = ca.DM(problem.data.rows.X.T)
        n = X.shape[0]
        cut = ca.mtimes(X / problem.n_groups, coef) - ca.repmat(threshold.T, n, 1)
        left = 0.5 * (1 + ca.tanh(0.5 * problem.gamma * cut))
        reach = [ca.DM.ones(n)]
        for t in range(n_branches):
            reach += [reach[t] * left[:, t], reach[t] * (1 - left[:, t])]
        return ca.horzcat(*reach[n_branches:])

    def _fit(self, coef: Any, threshold: Any, value: Any) -> Any:
        """Loss, mixing and ridge."""
        ca, problem = self._ca, self._problem
        _, n_branches, n_leaves, n_scores = self._sizes
        rows, datafit = problem.data.rows, problem.datafit
        X, n = ca.DM(rows.X.T), rows.weight.size
        w, y = ca.DM(rows.weight), ca.DM(rows.response)
        leaves = self._leaves(coef[:, :n_branches], threshold)
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


class LikelihoodModel(QuantityModel):
    """A likelihood of which leaves learn distributions, built once."""

    _datafit = Likelihood

    @property
    def _n_values(self) -> int:
        return self._problem.topology.n_leaves * self._problem.data.n_codes

    @property
    def _range(self) -> tuple[float, float]:
        return -1e19, 1e19

    def _values(self, start: Params) -> np.ndarray:
        assert start.leaf_proba is not None
        return np.log(start.leaf_proba)

    def _tree(self, coef: np.ndarray, threshold: Any, value: Any, like: Params) -> Any:
        proba = np.exp(value.reshape(self._problem.data.n_codes, -1, order="F"))
        return Params(coef, threshold, like.leaf_class, proba / proba.sum(axis=0))

    def _fit(self, coef: Any, threshold: Any, value: Any) -> Any:
        """Minus the logarithm of the likelihood, pseudo samples included."""
        ca, data, datafit = self._ca, self._problem.data, self._problem.datafit
        n_codes, rows = data.n_codes, data.rows
        logit = ca.reshape(value, n_codes, self._problem.topology.n_leaves)
        logit = logit - ca.repmat(ca.log(ca.sum1(ca.exp(logit))), n_codes, 1)
        own = ca.mtimes(self._leaves(coef, threshold), ca.exp(logit).T)
        V = ca.sum2(own * ca.DM(np.eye(n_codes)[rows.codes]))
        pseudo = datafit.pseudo(data.share)
        apart = ca.repmat(ca.DM(np.log(data.share)), 1, logit.shape[1]) - logit
        loss = -ca.dot(ca.DM(rows.weight), ca.log(V))
        return loss + ca.sum1(ca.mtimes(ca.DM(pseudo).T, apart).T)
