"""Rivals: CART, L1 logistic regression and our tree, each fitted to one fold.

Every method chooses its own penalty inside the training part, by one rule for all, and
is scored on the part left. What the scores mean is left to ``verdict.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.encoder import TableEncoder
from sorct.data.options import PAPER_TABLE, TableOptions
from sorct.data.target import Classes
from sorct.estimators.compare.measures import Measures
from sorct.estimators.cross_validated import SORCTClassifierCV
from sorct.estimators.folds import Data
from sorct.estimators.scorers import baseline, check_score, check_scorer
from sorct.tree.frontier import sparsest

# Sizes of CART to choose from, at most.
_CANDIDATES = 20
# Number of strengths C of the logistic regression, and the largest over the smallest.
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

    def inner(self) -> Any:
        """Folds of a training part, the same for all methods."""
        return Classes.splitter(self.cv, self.seed)

    def check_folds(self, train: Data, test: Data) -> None:
        """Refuse a scorer that cannot score a fold, or the folds of its training."""
        check_scorer(self.scoring, train.y, test.y)
        for inside, outside in self.inner().split(train.y, train.y):
            check_scorer(self.scoring, train.y[inside], train.y[outside])

    def scored(self, model: Any, X: Any, y: AnyArray) -> dict[str, float]:
        """Score on rows that a model has not seen, which must be a number, and more."""
        score = float(check_scoring(model, self.scoring)(model, X, y))
        check_score(self.scoring, score, y)
        return {"score": score, **vars(Measures.of(model, X, y))}


@dataclass(frozen=True)
class Outcome:
    """What one method did in one fold."""

    variables: int
    cuts: int
    most_variables_per_cut: int
    score: float
    accuracy: float
    log_loss: float
    auc: float


def fit_tree(train: Data, test: Data, plan: Plan) -> Outcome:
    search = SORCTClassifierCV(
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
        **plan.scored(search, test.X, test.y),
    )


def fit_baseline(train: Data, test: Data, plan: Plan) -> Outcome:
    model, rows = baseline(train.y), np.zeros((len(test.y), 1))
    return Outcome(0, 0, 0, **plan.scored(model, rows, test.y))


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
    model = DecisionTreeClassifier(random_state=plan.seed)
    strengths = pruning_strengths(model, columns.X_train, train.y)

    def models(X: FloatArray, y: AnyArray, upto: int) -> Iterator[Any]:
        for strength in strengths[:upto]:
            yield model.set_params(ccp_alpha=strength).fit(X, y)

    best = _chosen(models, columns.X_train, train.y, plan, len(strengths))
    used = np.unique(best.tree_.feature[best.tree_.feature >= 0])
    cuts = int(best.tree_.n_leaves) - 1
    scored = plan.scored(best, columns.X_test, test.y)
    return Outcome(columns.n_variables(used), cuts, min(cuts, 1), **scored)


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
    return Outcome(n_variables, cuts, n_variables, **scored)


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
    for inside, outside in plan.inner().split(X, y):
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
