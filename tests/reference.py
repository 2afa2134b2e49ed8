"""The paper's formulas (sections 2.1 and 2.2) in slow NumPy: the truth of the tests.

Nothing here looks at the library. A tree is anything with ``coef``, ``threshold`` and
``leaf_class``; leaves come after branches in heap order, the left child first.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit


def ancestors(depth: int, leaf: int) -> tuple[set[int], set[int]]:
    """N_L and N_R of a leaf: ancestors left by their left and by their right branch."""
    node = 2**depth - 1 + leaf
    left: set[int] = set()
    right: set[int] = set()
    while node > 0:
        parent = (node - 1) // 2
        (left if node % 2 == 1 else right).add(parent)
        node = parent
    return left, right


def prox_row(v: np.ndarray, local: float, linf: float) -> np.ndarray:
    """Prox of local l1 + linf l-inf + box: Moreau, with a sort-based projection."""
    shrunk = np.sign(v) * np.maximum(np.abs(v) - local, 0.0)
    return np.clip(shrunk - project_on_l1_ball(shrunk, linf), -1.0, 1.0)


def project_on_l1_ball(v: np.ndarray, radius: float) -> np.ndarray:
    """Nearest point with l1 norm at most radius."""
    if np.abs(v).sum() <= radius:
        return v.copy()
    size = np.sort(np.abs(v))[::-1]
    cuts = (np.cumsum(size) - radius) / np.arange(1, v.size + 1)
    cut = cuts[np.flatnonzero(size > cuts)[-1]] if radius > 0 else size[0]
    return np.sign(v) * np.maximum(np.abs(v) - cut, 0.0)


def entropy(mass: np.ndarray, little: float = 1e-3) -> float:
    """-sum_kl M_kl log(M_kl / M_l), with a little of every class in every leaf."""
    padded = mass + little / mass.size
    return float(-np.sum(padded * np.log(padded / padded.sum(axis=0))))


def entropy_payoff(mass: np.ndarray, little: float = 1e-3) -> np.ndarray:
    """Slope of the entropy in every mass, -log of the class's share in the leaf."""
    padded = mass + little / mass.size
    return -np.log(padded / padded.sum(axis=0))


@dataclass(frozen=True)
class Reference:
    """One training problem as the paper writes it, with a weight for every sample."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    cost_matrix: np.ndarray
    floor: np.ndarray
    depth: int
    gamma: float
    alpha_local: float = 0.0
    alpha_global: float = 0.0

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.cost_matrix)

    def branch_proba(self, tree: Any) -> np.ndarray:
        """p_it = F(gamma (a_t . x_i / p - mu_t)), of shape (N, branches)."""
        score = self.X @ tree.coef / self.X.shape[1] - tree.threshold
        return expit(self.gamma * score)

    def leaf_reach(self, tree: Any) -> np.ndarray:
        """P_it, products over the ancestors of every leaf, of shape (N, leaves)."""
        proba = self.branch_proba(tree)
        reach = np.ones((len(self.X), 2**self.depth))
        for leaf in range(2**self.depth):
            left, right = ancestors(self.depth, leaf)
            for t in left:
                reach[:, leaf] *= proba[:, t]
            for t in right:
                reach[:, leaf] *= 1.0 - proba[:, t]
        return reach

    def mass(self, tree: Any) -> np.ndarray:
        """Weight of every class in every leaf, of shape (K, leaves)."""
        reach = self.leaf_reach(tree) * self.weight[:, np.newaxis]
        classes = range(self.n_classes)
        return np.array([reach[self.y == k].sum(axis=0) for k in classes]) / (
            self.weight.sum()
        )

    def predict_proba(self, tree: Any) -> np.ndarray:
        """Probabilities sum_t C_kt P_it, of shape (N, K)."""
        label = np.eye(self.n_classes)[tree.leaf_class]
        return self.leaf_reach(tree) @ label

    def cost(self, tree: Any) -> float:
        """g: weighted mean over samples of sum_t P_it sum_k W_{y_i k} C_kt."""
        each = (self.predict_proba(tree) * self.cost_matrix[self.y]).sum(axis=1)
        return float(np.average(each, weights=self.weight))

    def recall(self, tree: Any) -> np.ndarray:
        """Weighted mean of sum_t P_it C_kt over the samples of every class."""
        proba = self.predict_proba(tree)
        own = [(self.y == k, k) for k in range(self.n_classes)]
        return np.array(
            [np.average(proba[in_k, k], weights=self.weight[in_k]) for in_k, k in own]
        )

    def penalty(self, tree: Any) -> float:
        """lambda^L sum_j ||a_j||_1 + lambda^G sum_j ||a_j||_inf, lambdas of means."""
        size = np.abs(tree.coef)
        return float(
            self.alpha_local / size.size * size.sum()
            + self.alpha_global / len(size) * size.max(axis=1).sum()
        )

    def objective(self, tree: Any) -> float:
        """Equation 1."""
        return self.cost(tree) + self.penalty(tree)

    def lagrangian(self, tree: Any, multiplier: np.ndarray, stiffness: float) -> float:
        """Smooth part: cost plus the least of the floors' terms over slacks >= 0."""
        gap = self.floor - self.recall(tree)
        slack = np.maximum(0.0, -gap - multiplier / stiffness)
        missed = gap + slack
        return self.cost(tree) + float(
            (multiplier * missed + stiffness / 2.0 * missed**2).sum()
        )

    def mass_gradient(
        self, tree: Any, payoff: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of <payoff, mass> in coef and threshold, by the product rule."""
        proba = self.branch_proba(tree)
        gain = self.leaf_reach(tree) * payoff[self.y] * self.weight[:, np.newaxis]
        d_score = np.zeros_like(proba)
        for leaf in range(2**self.depth):
            left, right = ancestors(self.depth, leaf)
            for t in left:
                d_score[:, t] += gain[:, leaf] * (1.0 - proba[:, t])
            for t in right:
                d_score[:, t] -= gain[:, leaf] * proba[:, t]
        d_score *= self.gamma / self.weight.sum()
        return self.X.T @ d_score / self.X.shape[1], -d_score.sum(axis=0)

    def smooth_gradient(
        self, tree: Any, multiplier: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of cost - sum_k multiplier_k recall_k in coef and threshold."""
        share = np.bincount(self.y, self.weight) / self.weight.sum()
        label = np.eye(self.n_classes)[tree.leaf_class].T
        payoff = self.cost_matrix @ label - (multiplier / share)[:, np.newaxis] * label
        return self.mass_gradient(tree, payoff)

    def residual(self, tree: Any, multiplier: np.ndarray) -> float:
        """Largest move of a proximal gradient step of length p in (a, p mu)."""
        p, n_branches = tree.coef.shape
        d_coef, d_threshold = self.smooth_gradient(tree, multiplier)
        local = self.alpha_local / n_branches
        rows = tree.coef - p * d_coef
        moved = np.array([prox_row(row, local, self.alpha_global) for row in rows])
        threshold = np.clip(p * tree.threshold - d_threshold, -p, p)
        return float(
            max(
                np.abs(moved - tree.coef).max(),
                np.abs(threshold - p * tree.threshold).max(),
            )
        )


@dataclass(frozen=True)
class LogReference(Reference):
    """The likelihood of a tree whose leaves have distributions, or are pure.

    ``pseudo`` is the mass that each leaf that learns has beside its own, in all.
    """

    pseudo: float = 0.0

    def leaf_proba(self, tree: Any) -> np.ndarray:
        """Distribution of every leaf, shape (n_classes, n_leaves)."""
        if tree.leaf_proba is not None:
            return tree.leaf_proba
        return np.eye(self.n_classes)[tree.leaf_class].T

    def cost(self, tree: Any) -> float:
        """Weighted mean of -log of the class's probability, and the pseudo rows."""
        proba = self.leaf_reach(tree) @ self.leaf_proba(tree).T
        own = proba[np.arange(len(self.y)), self.y]
        value = float(np.average(-np.log(own), weights=self.weight))
        if tree.leaf_proba is None:
            return value
        share = (np.bincount(self.y, self.weight) / self.weight.sum())[:, np.newaxis]
        return value + self.pseudo * float(
            np.sum(share * np.log(share / tree.leaf_proba))
        )

    def slopes(self, tree: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Derivatives of the cost in coef, threshold and logits of the leaves.

        Central differences of the fourth order.
        """
        names = ["coef", "threshold", "leaf_proba"]
        return tuple(self._slope(tree, name) for name in names)  # type: ignore[return-value]

    def _slope(self, tree: Any, name: str) -> np.ndarray:
        found = getattr(tree, name)
        if found is None:
            return np.zeros((0, 0))
        slope = np.zeros(found.shape)
        for place in np.ndindex(found.shape):
            values = []
            for step in (-2e-4, -1e-4, 1e-4, 2e-4):
                moved = np.log(found) if name == "leaf_proba" else found.copy()
                moved[place] += step
                if name == "leaf_proba":
                    moved = np.exp(moved) / np.exp(moved).sum(axis=0)
                values.append(self.cost(replace(tree, **{name: moved})))
            a, b, c, d = values
            slope[place] = (8.0 * (c - b) - (d - a)) / 12e-4
        return slope

    def residual(self, tree: Any, multiplier: Any = None) -> float:
        """Largest move of a proximal gradient step, as ``Reference.residual``."""
        p, n_branches = tree.coef.shape
        d_coef, d_threshold, d_logit = self.slopes(tree)
        rows = tree.coef - p * d_coef
        local = self.alpha_local / n_branches
        moved = np.array([prox_row(row, local, self.alpha_global) for row in rows])
        threshold = np.clip(p * tree.threshold - d_threshold, -p, p)
        return float(
            max(
                np.abs(moved - tree.coef).max(),
                np.abs(threshold - p * tree.threshold).max(),
                np.abs(d_logit).max(initial=0.0),
            )
        )


@dataclass(frozen=True)
class ValueReference(Reference):
    """Mean loss of a tree whose leaves have values, and perhaps slopes.

    ``loss`` is a function of residuals; a leaf pays ``ridge`` times the square of its
    value at the mean sample, a sample ``mixed`` times the variance of what leaves say
    of it, and slopes count in units of ``unit``.
    """

    loss: Any = np.square
    ridge: float = 0.0
    unit: float = 1.0
    mixed: float = 0.0

    def said(self, tree: Any) -> np.ndarray:
        """What leaves say of samples, (n, n_leaves)."""
        said = np.tile(tree.leaf_value, (len(self.X), 1))
        if tree.leaf_coef is not None:
            said = said + self.unit * self.X @ tree.leaf_coef
        return said

    def predicted(self, tree: Any) -> np.ndarray:
        """V(x), sample by sample."""
        return np.sum(self.leaf_reach(tree) * self.said(tree), axis=1)

    def cost(self, tree: Any) -> float:
        """Weighted mean of the loss, and the ridge."""
        at_mean = tree.leaf_value
        if tree.leaf_coef is not None:
            mean = np.average(self.X, axis=0, weights=self.weight)
            at_mean = at_mean + self.unit * mean @ tree.leaf_coef
        predicted = self.predicted(tree)
        square = np.sum(self.leaf_reach(tree) * self.said(tree) ** 2, axis=1)
        losses = self.loss(self.y - predicted)
        losses = losses + self.mixed * (square - predicted**2)
        fit = np.average(losses, weights=self.weight)
        return float(fit + self.ridge * np.sum(at_mean**2))

    def objective(self, tree: Any) -> float:
        """Cost plus penalties over cuts and leaves together."""
        coef = tree.coef
        if tree.leaf_coef is not None:
            coef = np.hstack([coef, tree.leaf_coef])
        size = np.abs(coef)
        local = self.alpha_local * size.mean()
        return self.cost(tree) + local + self.alpha_global * size.max(axis=1).mean()

    def slope(self, tree: Any, name: str) -> np.ndarray:
        """Derivatives of the cost in one array, central differences of order four."""
        found = getattr(tree, name)
        slope = np.zeros(found.shape)
        for place in np.ndindex(found.shape):
            values = []
            for step in (-2e-4, -1e-4, 1e-4, 2e-4):
                moved = found.copy()
                moved[place] += step
                values.append(self.cost(replace(tree, **{name: moved})))
            a, b, c, d = values
            slope[place] = (8.0 * (c - b) - (d - a)) / 12e-4
        return slope
