"""Rivals: CART, linear models and our tree, each fitted to one fold.

For classes the linear model is an L1 logistic regression, for a quantity the LASSO and
ordinary least squares.

Every method chooses its own penalty inside the training part, by one rule for all, and
is scored on the part left. What the scores mean is left to ``verdict.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.options import PAPER_TABLE, TableOptions
from sorct.data.quantity import Quantity
from sorct.data.target import Classes
from sorct.estimators.compare.measures import Measures
from sorct.estimators.cross_validated import SORCTClassifierCV
from sorct.estimators.drawing import drawn
from sorct.estimators.regressor_cv import SORCTRegressorCV
from sorct.estimators.rows import Data
from sorct.estimators.scorers import (
    baseline,
    check_score,
    check_scorer,
    mean_baseline,
)
from sorct.tree.frontier import sparsest

# Sizes of CART to choose from, at most.
_CANDIDATES = 20
# Number of strengths of linear models, and the largest over the smallest; those of the
# logistic regression are C, of which large ones select more.
# The smallest selects no variable, and beyond the largest scores no longer change.
_STRENGTHS, _WIDEST = 25, 1e4
# liblinear penalises the intercept too; with this scaling that has no visible effect.
_SCALING = 100.0


@dataclass(frozen=True)
class Plan:
    """How every method chooses, in every fold alike."""

    cv: int
    rule: str
    scoring: Any
    seed: int
    ours: dict[str, Any]
    of_quantity: bool = False

    def inner(self) -> Any:
        """Folds of a training part, the same for all methods."""
        target = Quantity if self.of_quantity else Classes
        return target.splitter(self.cv, self.seed)

    def check_scorer(self, y_train: AnyArray, y_test: AnyArray) -> None:
        """Refuse a scorer that cannot score such rows."""
        trained = mean_baseline if self.of_quantity else baseline
        check_scorer(self.scoring, y_train, y_test, trained)

    def check_folds(self, train: Data, test: Data) -> None:
        """Refuse a scorer that cannot score a fold, or the folds of its training."""
        self.check_scorer(train.y, test.y)
        for inside, outside in drawn(self.inner(), train.y, train.y):
            self.check_scorer(train.y[inside], train.y[outside])

    def scored(self, model: Any, X: Any, y: AnyArray) -> dict[str, float]:
        """Score on rows that a model has not seen, which must be a number, and more."""
        score = float(check_scoring(model, self.scoring)(model, X, y))
        check_score(self.scoring, score, y)
        if self.of_quantity:
            return {"score": score, **Quantity.measures(None, y, model.predict(X))}
        return {"score": score, **vars(Measures.of(model, X, y))}


@dataclass(frozen=True)
class Outcome:
    """What one method did in one fold; ``scored`` has its score and more."""

    variables: int
    cuts: int
    most_variables_per_cut: int
    scored: dict[str, float]

    @property
    def score(self) -> float:
        """What it is judged by."""
        return self.scored["score"]

    def row(self) -> dict[str, float]:
        """All of it as one row of a table."""
        return {
            "variables": self.variables,
            "cuts": self.cuts,
            "most_variables_per_cut": self.most_variables_per_cut,
            **self.scored,
        }


def fit_tree(train: Data, test: Data, plan: Plan) -> Outcome:
    kind = SORCTRegressorCV if plan.of_quantity else SORCTClassifierCV
    search: Any = kind(
        cv=plan.inner(),
        scoring=plan.scoring,
        rule=plan.rule,
        random_state=plan.seed,
        **plan.ours,
    )
    # A level may be missing from the training part, a gap be in the other part alone.
    forgiving = vars(TableOptions.of(search).forgiving)
    search.set_params(**forgiving).fit(train.X, train.y)
    tree = search.tree_
    return Outcome(
        len(tree.variables_used),
        int(tree.coef.any(axis=0).sum()),
        tree.most_variables_per_cut,
        plan.scored(search, test.X, test.y),
    )


def fit_baseline(train: Data, test: Data, plan: Plan) -> Outcome:
    return _constant(baseline(train.y), test, plan)


def fit_mean(train: Data, test: Data, plan: Plan) -> Outcome:
    return _constant(mean_baseline(train.y), test, plan)


def fit_median(train: Data, test: Data, plan: Plan) -> Outcome:
    rows = np.zeros((len(train.y), 1))
    return _constant(DummyRegressor(strategy="median").fit(rows, train.y), test, plan)


def _constant(model: Any, test: Data, plan: Plan) -> Outcome:
    """What a model does that says the same of all rows."""
    return Outcome(0, 0, 0, plan.scored(model, np.zeros((len(test.y), 1)), test.y))


@dataclass(frozen=True)
class _Standardised:
    """A fold as rivals see it: standardised columns, and the variable of each."""

    X_train: FloatArray
    X_test: FloatArray
    variable: IntArray

    @classmethod
    def of(cls, train: Data, test: Data) -> _Standardised:
        """Encode a fold; all levels of a variable get a column, as CART needs them."""
        encoder = TableEncoder.learn(train.X, PAPER_TABLE.forgiving)
        scaler = StandardScaler()
        columns, variable = encoder.every_level(train.X)
        X_train = scaler.fit_transform(columns)
        X_test = scaler.transform(encoder.every_level(test.X)[0])
        return cls(X_train, X_test, variable)

    def n_variables(self, used: AnyArray) -> int:
        """Variables that some columns belong to."""
        return int(np.unique(self.variable[used]).size)


def fit_cart(train: Data, test: Data, plan: Plan) -> Outcome:
    columns = _Standardised.of(train, test)
    kind = DecisionTreeRegressor if plan.of_quantity else DecisionTreeClassifier
    model = kind(random_state=plan.seed)
    strengths = pruning_strengths(model, columns.X_train, train.y)

    def models(X: FloatArray, y: AnyArray, upto: int) -> Iterator[Any]:
        for strength in strengths[:upto]:
            yield model.set_params(ccp_alpha=strength).fit(X, y)

    best = _chosen(models, columns.X_train, train.y, plan, len(strengths))
    used = np.unique(best.tree_.feature[best.tree_.feature >= 0])
    cuts = int(best.tree_.n_leaves) - 1
    scored = plan.scored(best, columns.X_test, test.y)
    return Outcome(columns.n_variables(used), cuts, min(cuts, 1), scored)


def pruning_strengths(model: Any, X: FloatArray, y: AnyArray) -> FloatArray:
    """Strengths of cost-complexity pruning, the smallest tree first.

    Between two neighbours at which a tree gives way to a smaller one lies their
    geometric mean (Breiman and others, 1984, section 3.4); above all, the root alone.
    """
    edges = np.unique(
        np.maximum(model.cost_complexity_pruning_path(X, y).ccp_alphas, 0)
    )
    strengths = np.append(np.sqrt(edges[:-1] * edges[1:]), 2.0 * edges[-1] + 1.0)
    if len(strengths) > _CANDIDATES:
        place = np.linspace(0, len(strengths) - 1, _CANDIDATES).round().astype(int)
        strengths = strengths[place]
    return np.asarray(strengths[::-1])


def fit_logistic(train: Data, test: Data, plan: Plan) -> Outcome:
    columns = _Standardised.of(train, test)
    n_classes = len(np.unique(train.y))

    def models(X: FloatArray, y: AnyArray, upto: int) -> Iterator[Any]:
        model = _logistic(len(np.unique(y)), plan.seed)
        for strength in logistic_strengths(X, y)[:upto]:
            yield model.set_params(C=strength).fit(X, y)

    best = _chosen(models, columns.X_train, train.y, plan, _STRENGTHS)
    used = np.flatnonzero(best.coef_.any(axis=0))
    n_variables = columns.n_variables(used)
    scored = plan.scored(best, columns.X_test, test.y)
    cuts = 1 if n_classes == 2 else n_classes
    return Outcome(n_variables, cuts, n_variables, scored)


def fit_lasso(train: Data, test: Data, plan: Plan) -> Outcome:
    columns = _Standardised.of(train, test)

    def models(X: FloatArray, y: AnyArray, upto: int) -> Iterator[Any]:
        model = Lasso(warm_start=True, max_iter=10_000, tol=1e-4)
        for strength in lasso_strengths(X, y)[:upto]:
            yield model.set_params(alpha=strength).fit(X, y)

    best = _chosen(models, columns.X_train, train.y, plan, _STRENGTHS)
    return _linear_outcome(best, columns, test, plan)


def fit_ols(train: Data, test: Data, plan: Plan) -> Outcome:
    columns = _Standardised.of(train, test)
    model = LinearRegression().fit(columns.X_train, train.y)
    return _linear_outcome(model, columns, test, plan)


def _linear_outcome(
    model: Any, columns: _Standardised, test: Data, plan: Plan
) -> Outcome:
    n_variables = columns.n_variables(np.flatnonzero(model.coef_))
    scored = plan.scored(model, columns.X_test, test.y)
    return Outcome(n_variables, 0, n_variables, scored)


def lasso_strengths(X: FloatArray, y: AnyArray) -> FloatArray:
    """Strengths of the LASSO, the first of which selects nothing.

    With columns of mean 0, all are held back from max |X'(y - mean of y)| / n on.
    """
    steepest = float(np.abs(X.T @ (y - y.mean())).max(initial=0.0)) / len(y)
    largest = steepest if steepest > 0.0 else 1.0
    return largest * np.geomspace(1.0, 1.0 / _WIDEST, _STRENGTHS)


def logistic_strengths(X: FloatArray, y: AnyArray) -> FloatArray:
    """Strengths C of an L1 logistic regression, the first of which selects nothing.

    Without variables the fitted probabilities are the shares of the classes, and the
    loss has the slopes X'(Y - mean of Y); the penalty holds all of them back up to
    C = 1 / max |X'(Y - mean of Y)|.
    """
    member = y[:, None] == np.unique(y)
    steepest = float(np.abs(X.T @ (member - member.mean(axis=0))).max(initial=0.0))
    least = 1.0 / steepest if steepest > 0.0 else 1.0
    return least * np.geomspace(1.0, _WIDEST, _STRENGTHS)


def _logistic(n_classes: int, seed: int) -> Any:
    """Solver by number of classes; liblinear is fast but has no multinomial loss."""
    two = n_classes == 2
    return LogisticRegression(
        l1_ratio=1.0,
        solver="liblinear" if two else "saga",
        intercept_scaling=_SCALING if two else 1.0,
        warm_start=not two,
        tol=1e-4 if two else 1e-3,
        max_iter=5000,
        random_state=seed,
    )


def _chosen(
    models: Callable[[FloatArray, AnyArray, int], Iterator[Any]],
    X: FloatArray,
    y: AnyArray,
    plan: Plan,
    n_candidates: int,
) -> Any:
    """Model of the candidate that the rule takes, trained on all rows.

    Candidates are in order of their size, the sparsest first.
    """
    scores = []
    for inside, outside in drawn(plan.inner(), X, y):
        scorer, fold = None, []
        for model in models(X[inside], y[inside], n_candidates):
            scorer = scorer or check_scoring(model, plan.scoring)
            fold.append(float(scorer(model, X[outside], y[outside])))
        if np.isnan(fold).all():
            check_score(plan.scoring, fold[0], y[outside])
        scores.append(fold)
    *_, best = models(X, y, sparsest_good(np.array(scores).T, plan.rule) + 1)
    return best


def sparsest_good(scores: FloatArray, rule: str) -> int:
    """First candidate that a rule takes, of scores (n_candidates, n_folds).

    A candidate with a fold that has no score is worse than all others.
    """
    n_candidates, n_folds = scores.shape
    within: FloatArray | float = 0.0
    if rule == "one-standard-error":
        within = scores.std(axis=1, ddof=1) / np.sqrt(n_folds)
    order = np.arange(n_candidates)
    return sparsest(scores.mean(axis=1), order, np.zeros(n_candidates), within)
