"""Sparse matrices are trained on as if they were dense, without being written out."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from sorct import SORCTClassifier, SORCTClassifierCV, Tree
from sorct.data.options import TableOptions
from sorct.data.sparse_table import SparseTable
from sorct.estimators import sparse_fit
from sorct.estimators.effort import Effort
from sorct.estimators.fitting import Model, Prepared
from sorct.estimators.sparse_fit import Clock, SparseFit
from sorct.problem.evaluation import never
from sorct.problem.penalty import Strengths
from sorct.problem.row_slopes import row_slopes
from sorct.search.starts import draw_start
from sorct.solvers.augmented_lagrangian import AugmentedLagrangian
from sorct.solvers.descent import gradient_at, leaf_masses
from sorct.tree.params import Params

OPTIONS = {"alpha_local": 60.0, "n_starts": 2, "random_state": 0}


def make_words(n_rows=400, n_columns=2000, seed=0):
    """Counts of words; two of them together tell the class, most of the time."""
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_columns, 0.01, "csr", rng=rng)
    X.data = np.ceil(3 * X.data)
    telling = rng.random((n_rows, 2)) < 0.6
    wide = X.tolil()
    wide[:, [7, 900]] = telling.astype(float)
    y = telling.all(axis=1) ^ (rng.random(n_rows) < 0.05)
    return sparse.csr_array(wide), y.astype(int)


@pytest.fixture(scope="module")
def words():
    """A table of many columns."""
    return make_words()


@pytest.fixture(scope="module")
def fitted(words):
    """A tree of it."""
    return SORCTClassifier(2, **OPTIONS).fit(*words)


@pytest.mark.parametrize(
    ("loss", "depth", "n_classes"),
    [("cost", 2, 3), ("log", 1, 2), ("log", 2, 3)],
)
def test_slopes_of_rows_sum_to_the_gradient(loss, depth, n_classes):
    """The gradient in any column is the sum of slope times cell."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 4)), rng.integers(0, n_classes, 60)
    table = TableOptions(scaling="minmax")
    prepared = Prepared.of(X, y, None, Model(depth, loss=loss, table=table))
    problem = prepared.problem
    params = draw_start(problem, 0, 0, never()).params
    params = problem.params(problem.point(params))
    if loss == "cost":
        # The gradient is that of the labels which suit the leaves best.
        cost = problem.costs.cost_matrix.T @ leaf_masses(problem, params)
        params = replace(params, leaf_class=cost.argmin(axis=0))
    scaled = prepared.encoder.encode(X)
    codes, share = prepared.classes.codes(y), np.full(60, 1 / 60)
    slopes = row_slopes(problem, params, scaled, codes, share)
    expected = gradient_at(problem, params)[:-1]
    assert np.allclose(scaled.T @ slopes, expected, atol=1e-12)


def test_scaled_sums_are_those_of_the_dense_matrix():
    """Shifts are folded in; columns with negative cells and constant ones too."""
    rng = np.random.default_rng(1)
    X = sparse.random(50, 30, 0.2, "csr", rng=rng)
    X.data -= 0.5
    dense = X.toarray()
    dense[:, 3], dense[:, 4] = 0.0, 2.0
    table = SparseTable.of(sparse.csr_array(dense))
    span = dense.max(axis=0) - dense.min(axis=0)
    scaled = (dense - dense.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    weight = rng.normal(size=(50, 3))
    assert np.allclose(table.scaled_sums(weight), scaled.T @ weight, atol=1e-12)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("loss", ["cost", "log"])
def test_the_tree_is_stationary_for_the_whole_matrix(words, loss, monkeypatch):
    """Columns that the search did not look at are rightly left out."""
    X, y = words
    monkeypatch.setattr("sorct.estimators.sparse_fit._FIRST", 1)
    options = OPTIONS | {"alpha_local": 10.0 if loss == "cost" else 25.0}
    clf = SORCTClassifier(2, loss=loss, **options).fit(X, y)
    table = TableOptions(scaling="minmax")
    model = Model(2, loss=loss, table=table)
    whole = Prepared.of(X.toarray(), y, None, model).problem
    whole = whole.at(Strengths(options["alpha_local"]))
    tree = clf.tree_
    threshold = tree.threshold * len(tree.encoder.names) / X.shape[1]
    params = Params(clf.coef_, threshold, tree.leaf_class, tree.leaf_proba)
    found = AugmentedLagrangian(1e-6, max_iter=1).solve(whole, params)
    assert found.objective == pytest.approx(clf.objective_, abs=1e-9)
    assert found.residual <= 2e-6
    assert np.count_nonzero(clf.coef_.any(axis=1)) > 1


def test_sparse_and_dense_predictions_are_the_same(words, fitted):
    """So are those of every format."""
    X, y = words
    assert fitted.score(X, y) > 0.85
    proba = fitted.predict_proba(X)
    for other in (X.toarray(), sparse.csc_matrix(X), sparse.coo_array(X)):
        assert np.array_equal(fitted.predict_proba(other), proba)
    with pytest.raises(ValueError, match="1999 features"):
        fitted.predict(X[:, 1:])


def test_the_tree_knows_only_the_columns_it_uses(words, fitted, tmp_path):
    """Attributes are those of the whole matrix, files and rules are small."""
    X, _ = words
    used = np.flatnonzero(fitted.coef_.any(axis=1))
    assert fitted.coef_.shape == (2000, 3)
    assert fitted.n_features_in_ == fitted.feature_importances_.size == 2000
    assert [f"x{j}" for j in used] == list(fitted.tree_.encoder.names)
    fitted.tree_.to_json(tmp_path / "model.json")
    assert len(json.loads((tmp_path / "model.json").read_text())["variables"]) < 50
    again = Tree.from_json(tmp_path / "model.json")
    dense = X[:, used].toarray()
    assert np.array_equal(again.predict(dense), fitted.predict(X))


@pytest.mark.slow
def test_weight_2_is_the_row_twice(words):
    """And weight 0 a row left out."""
    X, y = words
    twice = sparse.vstack([X[:200], X[:50]])
    weight = np.r_[np.full(50, 2.0), np.ones(150), np.zeros(200)]
    one = SORCTClassifier(1, **OPTIONS).fit(X, y, weight)
    two = SORCTClassifier(1, **OPTIONS).fit(twice, np.r_[y[:200], y[:50]])
    assert one.objective_ == pytest.approx(two.objective_, abs=1e-12)


def test_too_weak_a_penalty_is_an_error(words, monkeypatch):
    """It says what to do."""
    monkeypatch.setattr("sorct.estimators.sparse_fit._MOST_CELLS", 400 * 3)
    with pytest.raises(ValueError, match="Raise alpha_local"):
        SORCTClassifier(2, 1.0, loss="log", n_starts=1, random_state=0).fit(*words)


@pytest.mark.parametrize(
    "options",
    [
        {"min_recall": 0.5},
        {"calibration": "isotonic"},
        {"feature_cost": [1.0] * 2000},
        {"monotonic_cst": {"x0": 1}},
        {"scaling": "quantile"},
    ],
)
def test_what_is_not_known_of_sparse_matrices_is_refused(words, options):
    """Before any work."""
    with pytest.raises(ValueError, match=next(iter(options))):
        SORCTClassifier(1, **options).fit(*words)


def test_choosing_by_cross_validation_refuses_sparse_matrices(words):
    """With what to do instead."""
    with pytest.raises(TypeError, match="SORCTClassifier alone"):
        SORCTClassifierCV().fit(*words)


def test_no_descent_goes_on_when_time_is_up(words, monkeypatch):
    """Neither before others join nor at the end; the tree is there all the same."""
    stops, solved = [], SparseFit.solved

    def watched(self, problem, params, effort, stop):
        stops.append(int(stop[0]))
        return solved(self, problem, params, effort, stop)

    monkeypatch.setattr(SparseFit, "solved", watched)
    found = SORCTClassifier(2, **OPTIONS, time_limit=1e-9).fit(*words)
    assert found.status_ == "time_limit"
    assert stops[-1] == 1
    assert found.predict(words[0]).shape == (400,)


def test_columns_join_only_if_there_is_time_to_lay_them_out(monkeypatch):
    """A limit of ten seconds, of which four are over; twice the time is set aside."""
    monkeypatch.setattr(sparse_fit, "time", SimpleNamespace(perf_counter=lambda: 4.0))
    clock = Clock(Effort(time_limit=10.0), begun=0.0, per_column=0.01)
    assert clock.left(0) == pytest.approx(6.0)
    assert clock.left(100) == pytest.approx(4.0)
    assert clock.left(1000) == 0.0
    assert Clock(Effort(), 0.0, 0.01).left(1000) is None
