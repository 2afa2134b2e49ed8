"""Rivals: CART, L1 logistic regression and our tree, each fitted to one fold.

Every method chooses its own penalty inside the training part, by one rule for all, and
is scored on the part left. What the scores mean is left to ``verdict.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import l1_min_c
from sklearn.tree import DecisionTreeClassifier

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.encode import Categorical, TableEncoder
from sorct.estimators_cv import SORCTClassifierCV
from sorct.folds import Data

# Candidates of a rival, at most; for the logistic regression strengths from where
# nothing is selected to so many times that.
_CANDIDATES, _WIDEST = 20, 2.0**12
# liblinear penalises the intercept; scaled so, that has no visible effect.
_SCALING = 100.0


@dataclass(frozen=True)
class Plan:
    """How every method chooses, in every fold alike."""

    cv: int
    rule: str
    scoring: Any
    seed: int
    ours: dict[str, Any]

    def inner(self) -> StratifiedKFold:
        """Folds of a training part, the same for all methods."""
        return StratifiedKFold(self.cv, shuffle=True, random_state=self.seed)


@dataclass(frozen=True)
class Outcome:
    """What one method did in one fold."""

    score: float
    variables: int
    cuts: int
    most_variables_per_cut: int


def fit_tree(train: Data, test: Data, plan: Plan) -> Outcome:
    # A rare level may be missing from the training part; it then counts as the first.
    search = SORCTClassifierCV(
        cv=plan.inner(),
        scoring=plan.scoring,
        rule=plan.rule,
        random_state=plan.seed,
        handle_unknown="first_level",
        **plan.ours,
    ).fit(train.X, train.y)
    scorer, tree = check_scoring(search, plan.scoring), search.tree_
    return Outcome(
        float(scorer(search, test.X, test.y)),
        len(tree.variables_used),
        int(tree.coef.any(axis=0).sum()),
        tree.most_variables_per_cut,
    )


def fit_baseline(train: Data, test: Data, plan: Plan) -> Outcome:
    model = DummyClassifier(strategy="prior")
    model.fit(np.zeros((len(train.y), 1)), train.y)
    scorer = check_scoring(model, plan.scoring)
    return Outcome(float(scorer(model, np.zeros((len(test.y), 1)), test.y)), 0, 0, 0)


@dataclass(frozen=True)
class _Columns:
    """A fold as rivals see it: standardised columns, and the variable of each."""

    X_train: FloatArray
    X_test: FloatArray
    variable: IntArray

    @classmethod
    def of(cls, train: Data, test: Data) -> _Columns:
        """Encode a fold; all levels of a variable get a column, as CART needs them."""
        encoder = TableEncoder.learn(train.X, "first_level")
        scaler = StandardScaler()
        X_train = scaler.fit_transform(_all_levels(encoder, train.X))
        X_test = scaler.transform(_all_levels(encoder, test.X))
        counts = [_n_columns(variable) for variable in encoder.variables]
        return cls(X_train, X_test, np.repeat(np.arange(len(counts)), counts))

    def n_variables(self, used: AnyArray) -> int:
        """Variables that some columns belong to."""
        return int(np.unique(self.variable[used]).size)


def _n_columns(variable: Any) -> int:
    if not isinstance(variable, Categorical):
        return 1
    return len(variable.levels) if len(variable.levels) > 2 else variable.n_columns


def _all_levels(encoder: TableEncoder, X: Any) -> FloatArray:
    """Numeric columns as they are, one 0/1 column per level; one for two levels."""
    table, n_numeric, columns = encoder.read(X), 0, []
    for i, variable in enumerate(encoder.variables):
        if not isinstance(variable, Categorical):
            columns.append(table.numeric[:, [n_numeric]])
            n_numeric += 1
            continue
        others = table.dummies[i]
        if len(variable.levels) > 2:
            columns.append(1.0 - others.sum(axis=1, keepdims=True))
        columns.append(others)
    return np.concatenate(columns, axis=1)


def fit_cart(train: Data, test: Data, plan: Plan) -> Outcome:
    columns = _Columns.of(train, test)
    model = DecisionTreeClassifier(random_state=plan.seed)
    strengths = pruning_strengths(model, columns.X_train, train.y)

    def models(X: FloatArray, y: AnyArray, upto: int) -> Iterator[Any]:
        for strength in strengths[:upto]:
            yield model.set_params(ccp_alpha=strength).fit(X, y)

    best, scorer = _chosen(models, columns.X_train, train.y, plan, len(strengths))
    used = np.unique(best.tree_.feature[best.tree_.feature >= 0])
    cuts = int(best.tree_.n_leaves) - 1
    score = float(scorer(best, columns.X_test, test.y))
    return Outcome(score, columns.n_variables(used), cuts, min(cuts, 1))


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
    columns = _Columns.of(train, test)
    n_classes = len(np.unique(train.y))

    def models(X: FloatArray, y: AnyArray, upto: int) -> Iterator[Any]:
        least = l1_min_c(X, y, loss="log", intercept_scaling=_SCALING)
        model = _logistic(len(np.unique(y)), plan.seed)
        for factor in np.geomspace(1.0, _WIDEST, _CANDIDATES)[:upto]:
            yield model.set_params(C=least * factor).fit(X, y)

    best, scorer = _chosen(models, columns.X_train, train.y, plan, _CANDIDATES)
    used = np.flatnonzero(best.coef_.any(axis=0))
    n_variables = columns.n_variables(used)
    score = float(scorer(best, columns.X_test, test.y))
    cuts = 1 if n_classes == 2 else n_classes
    return Outcome(score, n_variables, cuts, n_variables)


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
) -> tuple[Any, Any]:
    """Model of the candidate that the rule takes, trained on all rows, and the scorer.

    Candidates are in order of their size, the sparsest first.
    """
    scores = []
    for inside, outside in plan.inner().split(X, y):
        scorer, fold = None, []
        for model in models(X[inside], y[inside], n_candidates):
            scorer = scorer or check_scoring(model, plan.scoring)
            fold.append(float(scorer(model, X[outside], y[outside])))
        scores.append(fold)
    *_, best = models(X, y, sparsest_good(np.array(scores).T, plan.rule) + 1)
    return best, check_scoring(best, plan.scoring)


def sparsest_good(scores: FloatArray, rule: str) -> int:
    """First candidate that a rule takes, of scores (n_candidates, n_folds)."""
    mean = scores.mean(axis=1)
    top = int(np.argmax(mean))
    bar = mean[top]
    if rule == "one-standard-error":
        bar -= scores[top].std(ddof=1) / np.sqrt(scores.shape[1])
    return int(np.flatnonzero(mean >= bar - 1e-12 * max(abs(bar), 1.0))[0])
