"""What S-ORCT is compared with on one split of a table, with and without a limit.

Each method is a function from a `Problem`, one split, to a `Fitted`: probabilities of
the test rows and the size of the model. Whatever a method chooses it chooses on the
training rows: medians, levels and scales, penalties and prunings (stratified folds
seeded by the number of the split), variables. L1 logistic regression, the two CARTs and
the forest read one-hot columns without missing cells; boosting and the explainable
boosting machine read the table itself. Scoring and writing are left to the caller.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.tree import DecisionTreeClassifier

from experiments import real_tables
from experiments.protocol import TEST_SHARE, Split
from experiments.rivals import Part, rpart_in_full
from sorct import SORCTClassifierCV, SORCTForestClassifier, Tree
from sorct._typing import BoolArray, FloatArray, IntArray

#: A probability below this counts as this in a log-loss.
LEAST = 1e-6
# Weights of the mean loss against the L1 norm, in units of the least one with which
# some column is used: the whole path, and its sparse end in smaller steps.
PATH: FloatArray = 10.0 ** np.linspace(0.0, 4.0, 21)
SPARSE_END: FloatArray = 10.0 ** np.linspace(0.0, 3.0, 76)
# So many points in a row that are no better end a path.
PATIENCE = 3
# scikit-learn's C of the refit "without penalty": a trace of ridge, so that
# coefficients stay finite where classes can be told apart without error.
REFIT = 1e4
# Most prunings that cross-validation chooses from.
N_PRUNINGS = 25


@dataclass(frozen=True)
class Encoded:
    """One-hot columns, centred and scaled by the training rows; no cell is missing.

    Numbers have medians where cells are missing, and an indicator if some are in
    training; a category has a column per level (one if there are two) and none set
    where it is missing or unknown. ``source`` has the variable of every column.
    """

    train: FloatArray
    test: FloatArray
    source: IntArray

    @classmethod
    def of(cls, train: pd.DataFrame, test: pd.DataFrame) -> Encoded:
        """Learn on the training rows, encode both."""
        rows = pd.concat([train, test], ignore_index=True)
        n, columns, source = len(train), [], []
        for k, name in enumerate(train.columns):
            for column in _columns(rows[name], n):
                if np.ptp(column[:n]) > 0.0:
                    columns.append(column)
                    source.append(k)
        X = np.column_stack(columns)
        X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
        return cls(X[:n], X[n:], np.array(source))

    def n_variables(self, used: BoolArray) -> int:
        """Number of variables that some column used comes from."""
        return np.unique(self.source[used]).size


def _columns(values: pd.Series, n_train: int) -> Iterator[FloatArray]:
    """Columns of a variable; only the first rows are learned from."""
    if is_number(values):
        number = values.to_numpy(dtype=np.float64, na_value=np.nan)
        missing = np.isnan(number)
        yield np.where(missing, np.nanmedian(number[:n_train]), number)
        yield missing.astype(np.float64)
        return
    text = values.astype(object)
    levels = sorted(text[:n_train].dropna().unique(), key=str)
    whole = len(levels) == 2 and text[:n_train].notna().all()
    for level in levels[1:] if whole else levels:
        yield (text == level).to_numpy(dtype=np.float64)


def is_number(values: pd.Series) -> bool:
    """Whether a column has numbers, as opposed to names of levels."""
    return pd.api.types.is_numeric_dtype(values)


@dataclass(frozen=True)
class Problem:
    """One split of a table, raw; labels are codes of ``classes``."""

    X_train: pd.DataFrame
    y_train: IntArray
    X_test: pd.DataFrame
    y_test: IntArray
    classes: np.ndarray
    seed: int

    @classmethod
    def of(cls, table: str, number: int) -> Problem:
        """The split of a number of a data set of the paper or of a real table."""
        if table in real_tables.TABLES:
            X, y = real_tables.load(table)
            X_train, X_test, y_train, y_test = train_test_split(
                X, y, test_size=TEST_SHARE, random_state=number, stratify=y
            )
        else:
            split = Split.of(table, number, "first")
            X_train, X_test = split.X_train, split.X_test
            y_train, y_test = split.y_train, split.y_test
        classes = np.unique(y_train.astype(str).to_numpy(dtype=object))
        codes = [
            pd.Index(classes).get_indexer(y.astype(str)) for y in (y_train, y_test)
        ]
        if (codes[1] < 0).any():
            raise ValueError(
                f"{table}: split {number} has no training rows of a class."
            )
        return cls(X_train, codes[0], X_test, codes[1], classes, number)

    @cached_property
    def encoded(self) -> Encoded:
        """One-hot columns."""
        return Encoded.of(self.X_train, self.X_test)

    def folds(self, n_folds: int) -> list[tuple[IntArray, IntArray]]:
        """Folds of the training rows; the same for every method."""
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            # A class may have fewer rows than there are folds.
            warnings.simplefilter("ignore", UserWarning)
            return list(folds.split(self.y_train, self.y_train))


@dataclass(frozen=True)
class Fitted:
    """How a method sees the test rows, and what it needs for it.

    Attributes
    ----------
    proba
        Probability of each class for each test row.
    n_variables, n_columns
        Variables of the table, and columns made of them, that the model uses.
    n_cuts
        Cuts of a tree; None for anything else.
    labels
        Codes predicted; None means those of the largest probabilities.
    others
        What other methods give that share the fit, by name.
    """

    proba: FloatArray
    n_variables: int
    n_columns: int
    n_cuts: int | None = None
    labels: IntArray | None = None
    others: Mapping[str, Fitted] = field(default_factory=dict)


Method = Callable[..., Fitted]


def log_loss(y: IntArray, proba: FloatArray) -> float:
    """Mean of minus the logarithm of the true class' probability, at least `LEAST`."""
    return float(-np.log(np.maximum(proba[np.arange(len(y)), y], LEAST)).mean())


# -- ours ------------------------------------------------------------------------------


def ours(problem: Problem, n_folds: int, **options: Any) -> Fitted:
    """S-ORCT at its defaults, but for what the method's name says.

    Missing cells are "typical", since a test part may have them where the training part
    has none; the folds are the estimator's own.
    """
    search = SORCTClassifierCV(random_state=0, handle_missing="typical", **options).fit(
        problem.X_train, problem.classes[problem.y_train]
    )
    fitted = _fitted_tree(problem, search.tree_)
    if options:
        return fitted
    # The same search tells what the other rule takes.
    sparser = _fitted_tree(problem, search.select("one-standard-error"))
    return replace(fitted, others={"ours-1se": sparser})


def ours_forest(problem: Problem, n_folds: int, **options: Any) -> Fitted:
    """S-ORCT's forest of 25 trees at its defaults, but for what the name says."""
    model = SORCTForestClassifier(random_state=0, handle_missing="typical", **options)
    model.fit(problem.X_train, problem.classes[problem.y_train])
    known = np.searchsorted(problem.classes, model.classes_)
    return Fitted(
        _spread(model.predict_proba(problem.X_test), known, len(problem.classes)),
        len(model.forest_.variables_used),
        len(model.forest_.columns_used),
    )


def _fitted_tree(problem: Problem, tree: Tree) -> Fitted:
    known = np.searchsorted(problem.classes, tree.classes)
    return Fitted(
        _spread(tree.predict_proba(problem.X_test), known, len(problem.classes)),
        len(tree.variables_used),
        len(tree.columns_used),
        len(tree.view.cuts),
        np.searchsorted(problem.classes, tree.predict(problem.X_test)),
    )


def _spread(proba: FloatArray, known: IntArray, n_classes: int) -> FloatArray:
    """Probabilities of all classes, those that a model does not know being 0."""
    wide = np.zeros((len(proba), n_classes))
    wide[:, known] = proba
    return wide


# -- L1 logistic regression ------------------------------------------------------------


def l1(problem: Problem, n_folds: int) -> Fitted:
    """L1 logistic regression; the penalty with the least log-loss in the folds."""
    X, y, n_classes = problem.encoded.train, problem.y_train, len(problem.classes)
    strengths = PATH * _first_strength(X, y)
    folds = problem.folds(n_folds)
    paths = [l1_models(X[inside], y[inside], strengths) for inside, _ in folds]
    losses: list[float] = []
    for models in zip(*paths, strict=True):
        loss = 0.0
        for model, (_, outside) in zip(models, folds, strict=True):
            proba = _proba(model, X[outside], n_classes)
            loss += len(outside) * log_loss(y[outside], proba)
        losses.append(loss)
        if len(losses) - int(np.argmin(losses)) > PATIENCE:
            break
    *_, model = l1_models(X, y, strengths[: int(np.argmin(losses)) + 1])
    used = np.any(model.coef_ != 0.0, axis=0)
    return Fitted(
        _proba(model, problem.encoded.test, n_classes),
        problem.encoded.n_variables(used),
        np.count_nonzero(used),
    )


def _first_strength(X: FloatArray, y: IntArray) -> float:
    """Weight of the mean loss from which on some coefficient is not zero."""
    hot = y[:, None] == np.unique(y)
    return float(len(y) / np.abs(X.T @ (hot - hot.mean(axis=0))).max())


def l1_models(
    X: FloatArray, y: IntArray, strengths: Iterable[float]
) -> Iterator[LogisticRegression]:
    """The model at each strength in turn: one object, refitted when asked for the next.

    Two classes by liblinear (the penalty on its intercept is made harmless), more by
    saga with multinomial loss, started from the model before.
    """
    options: dict[str, Any] = {"l1_ratio": 1.0, "tol": 1e-4, "random_state": 0}
    if np.unique(y).size == 2:
        options |= {"solver": "liblinear", "intercept_scaling": 100.0}
    else:
        options |= {"solver": "saga", "warm_start": True}
    model = LogisticRegression(max_iter=1000, **options)
    for strength in strengths:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(C=strength / len(y)).fit(X, y)
        yield model


def _proba(model: Any, X: FloatArray, n_classes: int) -> FloatArray:
    return _spread(model.predict_proba(X), model.classes_, n_classes)


def l1_limited(problem: Problem, n_folds: int, k: int) -> Fitted:
    """Logistic regression on the variables that an L1 path uses at some point.

    Candidates are the points of the path with at most k variables, each refitted to its
    columns without penalty. The point is the one with the least log-loss in the folds,
    the sparsest among equals; a fold has a path of its own, with the same strengths,
    and stays at its last candidate where it would use more than k variables.
    """
    encoded, y, n_classes = problem.encoded, problem.y_train, len(problem.classes)
    X, strengths = encoded.train, SPARSE_END * _first_strength(encoded.train, y)
    points = _sparse_points(encoded, X, y, strengths, k)
    losses = np.zeros(len(points))
    for inside, outside in problem.folds(n_folds):
        fits: dict[bytes, float] = {}
        sets = _sparse_points(
            encoded, X[inside], y[inside], strengths[: len(points)], k, whole=True
        )
        for j, used in enumerate(sets):
            if used.tobytes() not in fits:
                model = _refit(X[inside], y[inside], used, n_classes)
                loss = log_loss(y[outside], model(X[outside]))
                fits[used.tobytes()] = len(outside) * loss
            losses[j] += fits[used.tobytes()]
    used = points[int(np.argmin(losses))]
    proba = _refit(X, y, used, n_classes)(encoded.test)
    return Fitted(proba, encoded.n_variables(used), np.count_nonzero(used))


def _sparse_points(
    encoded: Encoded,
    X: FloatArray,
    y: IntArray,
    strengths: FloatArray,
    k: int,
    whole: bool = False,
) -> list[BoolArray]:
    """Columns used at each strength, up to the last one with at most k variables.

    Where more are used, the columns of the last point with at most k. With ``whole``
    there is one for every strength.
    """
    points, n_allowed = [np.zeros(X.shape[1], dtype=bool)], 0
    for n_points, model in enumerate(l1_models(X, y, strengths), start=1):
        used = np.any(model.coef_ != 0.0, axis=0)
        if encoded.n_variables(used) <= k:
            points.append(used)
            n_allowed = n_points
        else:
            points.append(points[-1])
        if used.all() or n_points - n_allowed == PATIENCE:
            break
    points += [points[-1]] * (len(strengths) + 1 - len(points))
    # The point before the first is there for a path that begins with too many.
    return points[1:] if whole else points[1 : n_allowed + 1] or points[:1]


def _refit(
    X: FloatArray, y: IntArray, used: BoolArray, n_classes: int
) -> Callable[[FloatArray], FloatArray]:
    """Logistic regression on some columns; shares of the classes if there are none."""
    if not used.any():
        shares = np.bincount(y, minlength=n_classes) / len(y)
        return lambda rows: np.tile(shares, (len(rows), 1))
    model = LogisticRegression(C=REFIT, max_iter=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[:, used], y)
    return lambda rows: _proba(model, rows[:, used], n_classes)


# -- CART ------------------------------------------------------------------------------


def rpart(problem: Problem, n_folds: int) -> Fitted:
    """R's rpart at its defaults, on the one-hot columns."""
    encoded = problem.encoded
    part = Part(encoded.train, problem.y_train, encoded.test, problem.y_test)
    tree = rpart_in_full(part)
    known = np.unique(problem.y_train)
    return Fitted(
        _spread(tree.proba, known, len(problem.classes)),
        encoded.n_variables(tree.used),
        np.count_nonzero(tree.used),
        tree.n_cuts,
        tree.labels,
    )


def cart(problem: Problem, n_folds: int, k: int | None = None) -> Fitted:
    """scikit-learn's CART, pruned where most rows of the folds are right.

    With k, on the columns of the k variables that matter most to the unpruned tree:
    that reduce the Gini index most, all columns of a variable taken together.
    """
    encoded, y = problem.encoded, problem.y_train
    kept = np.ones(encoded.source.size, dtype=bool)
    if k is not None:
        full = DecisionTreeClassifier(random_state=0).fit(encoded.train, y)
        matter = np.bincount(encoded.source, weights=full.feature_importances_)
        kept = np.isin(encoded.source, np.argsort(-matter, kind="stable")[:k])
    X = encoded.train[:, kept]
    pruning = _pruning(X, y, problem.folds(n_folds))
    tree = DecisionTreeClassifier(ccp_alpha=pruning, random_state=0).fit(X, y)
    at = tree.tree_.feature[tree.tree_.children_left >= 0]
    used = np.isin(np.arange(kept.size), np.flatnonzero(kept)[at])
    return Fitted(
        _proba(tree, encoded.test[:, kept], len(problem.classes)),
        encoded.n_variables(used),
        np.count_nonzero(used),
        len(at),
    )


def _pruning(
    X: FloatArray, y: IntArray, folds: Sequence[tuple[IntArray, IntArray]]
) -> float:
    """The ``ccp_alpha`` with most rows right in the folds, the largest among equals.

    Candidates are geometric means of neighbours on the path of all rows, as by Breiman
    and others; of long paths every so manieth.
    """
    path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(X, y)
    alphas = np.unique(np.maximum(path.ccp_alphas, 0.0))
    alphas = np.append(np.sqrt(alphas[:-1] * alphas[1:]), alphas[-1])
    if len(alphas) > N_PRUNINGS:
        alphas = alphas[np.linspace(0, len(alphas) - 1, N_PRUNINGS).round().astype(int)]
    right = np.zeros(len(alphas), dtype=np.int64)
    for inside, outside in folds:
        for j, alpha in enumerate(alphas):
            tree = DecisionTreeClassifier(ccp_alpha=alpha, random_state=0)
            found = tree.fit(X[inside], y[inside]).predict(X[outside])
            right[j] += np.count_nonzero(found == y[outside])
    return float(alphas[np.flatnonzero(right == right.max())[-1]])


# -- many trees ------------------------------------------------------------------------


def forest(
    problem: Problem, n_folds: int, n_trees: int = 300, k: int | None = None
) -> Fitted:
    """Random forest, at scikit-learn's defaults but for the number of trees.

    With k, on the k variables that matter most to the forest on all of them.
    """
    encoded, y = problem.encoded, problem.y_train
    model = RandomForestClassifier(n_trees, random_state=problem.seed, n_jobs=1)
    kept = np.ones(encoded.source.size, dtype=bool)
    if k is not None:
        matter = model.fit(encoded.train, y).feature_importances_
        matter = np.bincount(encoded.source, weights=matter)
        kept = np.isin(encoded.source, np.argsort(-matter, kind="stable")[:k])
    model.fit(encoded.train[:, kept], y)
    used = np.zeros(encoded.source.size, dtype=bool)
    for tree in model.estimators_:
        at = tree.tree_.feature[tree.tree_.children_left >= 0]
        used[np.flatnonzero(kept)[at]] = True
    return Fitted(
        _proba(model, encoded.test[:, kept], len(problem.classes)),
        encoded.n_variables(used),
        np.count_nonzero(used),
    )


def boosting(problem: Problem, n_folds: int) -> Fitted:
    """Histogram gradient boosting at scikit-learn's defaults, categories as such."""
    train, test = problem.X_train.copy(), problem.X_test.copy()
    for name in train:
        if is_number(train[name]):
            train[name], test[name] = (x[name].astype(float) for x in (train, test))
        else:
            levels = sorted(train[name].dropna().astype(str).unique())
            for frame in (train, test):
                text = frame[name].astype(object)
                frame[name] = pd.Categorical(text.where(text.isna(), text.astype(str)))
                frame[name] = frame[name].cat.set_categories(levels)
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype", random_state=problem.seed
    ).fit(train, problem.y_train)
    used: set[int] = set()
    for trees in model._predictors:
        for tree in trees:
            used.update(tree.nodes["feature_idx"][tree.nodes["is_leaf"] == 0].tolist())
    proba = _proba(model, test, len(problem.classes))
    return Fitted(proba, len(used), len(used))


def ebm(problem: Problem, n_folds: int, **options: Any) -> Fitted:
    """Explainable boosting machine at its defaults, pairs of variables included."""
    from interpret.glassbox import ExplainableBoostingClassifier

    train, test = problem.X_train.copy(), problem.X_test.copy()
    kinds = ["continuous" if is_number(train[name]) else "nominal" for name in train]
    for name, kind in zip(train, kinds, strict=True):
        for frame in (train, test):
            to = float if kind == "continuous" else object
            frame[name] = frame[name].astype(to)
    model = ExplainableBoostingClassifier(
        feature_types=kinds, n_jobs=1, random_state=problem.seed, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, problem.y_train)
        proba = _proba(model, test, len(problem.classes))
    used = {
        variable
        for term, scores in zip(model.term_features_, model.term_scores_, strict=True)
        if np.any(scores != 0.0)
        for variable in term
    }
    return Fitted(proba, len(used), len(used))


#: Every method by name, without the options that come from the config file.
METHODS: dict[str, Method] = {
    "ours": ours,
    "ours-1se": partial(ours, rule="one-standard-error"),
    "ours-3": partial(ours, max_features=3),
    "ours-5": partial(ours, max_features=5),
    "l1": l1,
    "l1-3": partial(l1_limited, k=3),
    "l1-5": partial(l1_limited, k=5),
    "rpart": rpart,
    "cart": cart,
    "cart-3": partial(cart, k=3),
    "cart-5": partial(cart, k=5),
    "forest": forest,
    "boosting": boosting,
    "ebm": ebm,
    "ours-forest": ours_forest,
    "ours-forest-fewest": partial(ours_forest, rule="fewest"),
    "ours-forest-3": partial(ours_forest, max_features=3),
    "ours-forest-5": partial(ours_forest, max_features=5),
    "ours-forest-10": partial(ours_forest, max_features=10),
    "forest-3": partial(forest, k=3),
    "forest-5": partial(forest, k=5),
    "forest-10": partial(forest, k=10),
}
#: Most variables that a method may use, where its name says so.
LIMITS = {
    name: int(name.rpartition("-")[2])
    for name in METHODS
    if name.endswith(("-3", "-5", "-10"))
}


def fit(name: str, problem: Problem, n_folds: int, **options: Any) -> tuple[Any, float]:
    """What a method gives, and its wall time; encoding is not counted."""
    _ = problem.encoded
    begun = time.perf_counter()
    fitted = METHODS[name](problem, n_folds, **options)
    return fitted, time.perf_counter() - begun
