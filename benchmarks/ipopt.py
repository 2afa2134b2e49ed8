"""The paper's smooth formulation (section 2.3) in CasADi and IPOPT: the outside truth.

With a = plus - minus, M[k, l] the mass of class k in leaf l, C the label shares::

    min  <M, W C> / N + alpha_local mean(plus + minus) + alpha_global mean(peak)
    s.t. sum_k C[k, l] = 1,  sum_l C[k, l] >= 1,  peak_j >= plus_jt + minus_jt,
         sum_l M[k, l] C[k, l] >= min_recall N_k,
         plus, minus, peak, C in [0, 1],  threshold in [-1, 1]

Features lie in [0, 1], classes are 0..K-1. Nodes are numbered as a heap from 0, the
children of t being 2t + 1 (left) and 2t + 2 (right); leaves from left to right.
Left has probability F(gamma (a.x / p - threshold)), F the logistic function.

At gamma = 512 the problem is so flat and steep that rounding decides in which optimum
a start ends: compare many starts, never the outcome of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

FloatArray = NDArray[np.float64]

#: IPOPT options that keep a start which is nearly optimal, as on a penalty path.
KEEP_START = {
    "mu_init": 1e-6,
    **dict.fromkeys(("bound_push", "bound_frac"), 1e-8),
    **dict.fromkeys(("slack_bound_push", "slack_bound_frac"), 1e-8),
    "warm_start_init_point": "no",
}


@dataclass(frozen=True)
class Point:
    """A tree: coef (p, B), threshold (B,), label_share (K, L) with columns of sum 1."""

    coef: FloatArray
    threshold: FloatArray
    label_share: FloatArray

    def cleaned(self) -> Point:
        """Undo IPOPT's relaxed bounds: into the box, shares onto the simplex."""
        share = np.clip(self.label_share, 0, 1)
        coef, threshold = np.clip(self.coef, -1, 1), np.clip(self.threshold, -1, 1)
        return Point(coef, threshold, share / share.sum(axis=0))


@dataclass(frozen=True)
class IpoptResult:
    """The cleaned solution, its `evaluate`, and IPOPT's account of the solve call."""

    point: Point
    objective: float
    violation: float
    iterations: int
    status: str
    seconds: float


class Evaluation(NamedTuple):
    """Non-smooth objective and largest constraint violation at a point."""

    objective: float
    violation: float


def random_points(
    n_features: int, n_classes: int, depth: int, n_points: int, seed: int = 0
) -> list[Point]:
    """Draw the paper's uniform starts, one after the other from one generator."""
    rng = np.random.default_rng(seed)
    return [_draw(rng, n_features, n_classes, 2**depth) for _ in range(n_points)]


def _draw(rng: np.random.Generator, p: int, K: int, n_leaves: int) -> Point:
    """Draw coefficients, thresholds and label shares, in this order."""
    coef = rng.uniform(-1, 1, (p, n_leaves - 1))
    threshold = rng.uniform(-1, 1, n_leaves - 1)
    share = rng.uniform(0, 1, (K, n_leaves))
    return Point(coef, threshold, share / share.sum(axis=0))


def evaluate(
    X: ArrayLike,
    y: ArrayLike,
    point: Point,
    *,
    alpha_local: float = 0.0,
    alpha_global: float = 0.0,
    gamma: float = 512.0,
    cost_matrix: ArrayLike | None = None,
    min_recall: float | None = None,
) -> Evaluation:
    """Evaluate the paper's non-smooth problem in plain NumPy.

    The parameters are those of `PaperModel`. Shortfalls of recall are measured as
    rates; bounds, simplex and coverage of the classes count as they stand.
    """
    y = np.asarray(y, dtype=int)
    share, size = point.label_share, np.abs(point.coef)
    mass = _mass(np.asarray(X, dtype=float), y, point, gamma)
    objective = (
        np.sum(mass * (_cost_matrix(cost_matrix, len(share)) @ share)) / len(y)
        + alpha_local * size.mean()
        + alpha_global * size.max(axis=1).mean()
    )
    gaps = [np.abs(share.sum(axis=0) - 1), 1 - share.sum(axis=1), -share]
    gaps += [size - 1, np.abs(point.threshold) - 1]
    if min_recall is not None:
        counts = np.bincount(y, minlength=len(share))
        hits = np.sum(mass * share, axis=1)
        gaps.append((min_recall * counts - hits) / np.maximum(counts, 1))
    return Evaluation(float(objective), max(0.0, *(float(gap.max()) for gap in gaps)))


def _cost_matrix(cost_matrix: ArrayLike | None, n_classes: int) -> FloatArray:
    """Return the costs W, 0.5 for every error unless given."""
    if cost_matrix is None:
        return 0.5 * (1 - np.eye(n_classes))
    return np.asarray(cost_matrix, dtype=float)


def _mass(X: FloatArray, y: NDArray[Any], point: Point, gamma: float) -> FloatArray:
    """Return the mass of each class in each leaf."""
    score = gamma * (X @ point.coef / X.shape[1] - point.threshold)
    n_nodes = score.shape[1]
    reach = np.ones((len(X), 2 * n_nodes + 1))
    for t in range(n_nodes):
        reach[:, 2 * t + 1] = reach[:, t] * expit(score[:, t])
        reach[:, 2 * t + 2] = reach[:, t] * expit(-score[:, t])
    return np.eye(len(point.label_share))[:, y] @ reach[:, n_nodes:]


class PaperModel:
    """The smooth problem, built once and solved from any number of starts.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
    depth : int
    alpha_local, alpha_global : float
        Strengths of the penalties ``mean |a_jt|`` and ``mean_j max_t |a_jt|``.
    gamma : float
    cost_matrix : array of shape (n_classes, n_classes), optional
        Cost of true class (row) and label (column); 0.5 for every error by default.
    min_recall : float, optional
        Smallest expected recall of every class.
    leaf_class : array of shape (2**depth,), optional
        Whole labels: shares are then constants, and those of a start are ignored.
    keep_start : bool
        Use the options `KEEP_START`, with which IPOPT stays near its start.
    max_iter : int

    Attributes
    ----------
    build_seconds : float
        Wall time of the build, derivatives included.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        depth: int,
        *,
        alpha_local: float = 0.0,
        alpha_global: float = 0.0,
        gamma: float = 512.0,
        cost_matrix: ArrayLike | None = None,
        min_recall: float | None = None,
        leaf_class: ArrayLike | None = None,
        keep_start: bool = False,
        max_iter: int = 3000,
    ) -> None:
        self._ca = _import_casadi()
        started = perf_counter()
        self._X, self._y = np.asarray(X, dtype=float), np.asarray(y, dtype=int)
        self._terms: dict[str, Any] = {
            "alpha_local": alpha_local,
            "alpha_global": alpha_global,
            "gamma": gamma,
            "cost_matrix": _cost_matrix(cost_matrix, int(self._y.max()) + 1),
            "min_recall": min_recall,
        }
        self._leaf_class = leaf_class
        options = {"max_iter": max_iter, **(KEEP_START if keep_start else {})}
        self._build(2**depth - 1, {"print_level": 0, "sb": "yes", **options})
        self.build_seconds = perf_counter() - started

    def solve(self, start: Point) -> IpoptResult:
        """Run IPOPT from `start`."""
        x0 = self._pack(start)
        started = perf_counter()
        answer = self._solver(x0=x0, **self._bounds)
        seconds = perf_counter() - started
        stats = self._solver.stats()
        coef, threshold, share = map(np.array, self._unpack(answer["x"]))
        point = Point(coef, threshold.ravel(), share).cleaned()
        value = evaluate(self._X, self._y, point, **self._terms)
        iterations, status = int(stats["iter_count"]), stats["return_status"]
        return IpoptResult(point, *value, iterations, status, seconds)

    def _pack(self, start: Point) -> FloatArray:
        """Return IPOPT's variables at `start`, in the order of `_build`."""
        a = start.coef
        labels = [start.label_share] if self._leaf_class is None else []
        parts = [np.maximum(a, 0), np.maximum(-a, 0), start.threshold, *labels]
        parts.append(np.abs(a).max(axis=1))
        return np.concatenate([part.ravel(order="F") for part in parts])

    def _build(self, n_nodes: int, ipopt: dict[str, Any]) -> None:
        """Set the solver, its bounds, and the way back from its variables."""
        ca, p, terms = self._ca, self._X.shape[1], self._terms
        plus, minus = ca.MX.sym("plus", p, n_nodes), ca.MX.sym("minus", p, n_nodes)
        threshold, peak = ca.MX.sym("threshold", n_nodes), ca.MX.sym("peak", p)
        K, fixed = len(terms["cost_matrix"]), self._leaf_class
        labels = [ca.MX.sym("share", K, n_nodes + 1)] if fixed is None else []
        share = labels[0] if labels else ca.MX(ca.DM(np.eye(K)[:, fixed]))
        x = ca.veccat(plus, minus, threshold, *labels, peak)
        tree = [plus - minus, threshold, share]
        core = self._core(tree)
        cost, hits = core.call(tree, True, False)
        local = terms["alpha_local"] / (p * n_nodes) * ca.sum1(ca.vec(plus + minus))
        objective = cost + local + terms["alpha_global"] / p * ca.sum1(peak)
        rows = [(ca.sum1(share).T, 1.0), (ca.sum2(share), 1.0)] if labels else []
        rows.append((ca.vec(ca.repmat(peak, 1, n_nodes) - plus - minus), 0.0))
        if terms["min_recall"] is not None:
            counts = np.bincount(self._y, minlength=hits.numel())
            rows.append((hits, terms["min_recall"] * counts))
        lbg = np.concatenate([np.broadcast_to(low, g.numel()) for g, low in rows])
        ubg = np.full(lbg.shape, np.inf)
        ubg[: (n_nodes + 1) * len(labels)] = 1.0
        lbx = np.zeros(x.numel())
        lbx[2 * plus.numel() :][:n_nodes] = -1.0

        nlp = {"x": x, "f": objective, "g": ca.vertcat(*(g for g, _ in rows))}
        options = {"print_time": False, "no_nlp_grad": True, "calc_lam_p": False}
        options |= {"hess_lag": self._hessian(core, tree, x, len(lbg)), "ipopt": ipopt}
        self._solver = ca.nlpsol("paper", "ipopt", nlp, options)
        self._bounds = {"lbx": lbx, "ubx": 1.0, "lbg": lbg, "ubg": ubg}
        self._unpack = ca.Function("unpack", [x], tree)

    def _core(self, tree: list[Any]) -> Any:
        """Return (coef, threshold, share) -> (expected cost, hits of each class)."""
        ca, W, (n, p) = self._ca, self._terms["cost_matrix"], self._X.shape
        coef, threshold, share = (ca.MX.sym("part", *part.shape) for part in tree)
        order = np.argsort(self._y, kind="stable")
        member = ca.DM(np.eye(len(W))[:, self._y[order]])
        cut = ca.mtimes(ca.DM(self._X[order] / p), coef) - ca.repmat(threshold.T, n, 1)
        left = 0.5 * (1 + ca.tanh(0.5 * self._terms["gamma"] * cut))
        reach = [1.0]
        for t in range(threshold.numel()):
            reach += [reach[t] * left[:, t], reach[t] * (1 - left[:, t])]
        mass = ca.mtimes(member, ca.horzcat(*reach[threshold.numel() :]))
        # W C as the dearest cost less the savings, which are mostly zeros
        saving = ca.sparsify(ca.DM(1 - W / W.max()))
        paid = ca.repmat(ca.sum1(share), len(W), 1) - ca.mtimes(saving, share)
        cost = W.max() / n * ca.sum1(ca.sum2(mass * paid))
        hits = ca.sum2(mass * share)
        return ca.Function("core", [coef, threshold, share], [cost, hits])

    def _hessian(self, core: Any, tree: list[Any], x: Any, n_rows: int) -> Any:
        """Return the Hessian of the Lagrangian as CasADi's IPOPT interface wants it.

        The variables enter `core` only by way of `tree`, linear and half as large:
        derive there, and multiply by the constant Jacobian on both sides.
        """
        ca, args = self._ca, core.mx_in()
        cost, hits = core.call(args, True, False)
        lam_f, lam_g = ca.MX.sym("lam_f"), ca.MX.sym("lam_g", n_rows)
        lagrangian = lam_f * cost
        if self._terms["min_recall"] is not None:
            lagrangian += ca.dot(lam_g[-hits.numel() :], hits)
        n_free = 3 if self._leaf_class is None else 2
        hessian = ca.hessian(lagrangian, ca.veccat(*args[:n_free]))[0]
        inner = ca.Function("inner", [*args, lam_f, lam_g], [hessian])
        jac = ca.evalf(ca.jacobian(ca.veccat(*tree[:n_free]), x))
        outer = ca.mtimes(jac.T, ca.mtimes(inner(*tree, lam_f, lam_g), jac))
        inputs = [x, ca.MX.sym("p", 0), lam_f, lam_g]
        return ca.Function("nlp_hess_l", inputs, [ca.triu(outer)])


def _import_casadi() -> ModuleType:
    """Import CasADi, an optional dependency."""
    try:
        import casadi
    except ImportError as error:
        hint = 'PaperModel needs CasADi: pip install "sorct[bench]"'
        raise ImportError(hint) from error
    return casadi
