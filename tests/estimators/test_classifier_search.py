"""SORCTClassifier searches by itself, and tells what it has done."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sorct.datasets import make_planted_tree

from sorct import SORCTClassifier, Tree
from sorct.search.log import descents_text
from tests.estimators.test_classifier import assert_same_fit, truth_of

COLUMNS = [
    "kind", "run", "objective_before", "objective", "feasible", "residual", "status",
    "evaluations", "seconds",
]  # fmt: skip
numbers = pytest.mark.parametrize("n_starts", ["auto", 5])


@pytest.fixture(scope="module")
def planted():
    """Draw a sample of a tree of depth two."""
    return make_planted_tree(150, 4, 2, 3, 2, random_state=0)


def fit(data, **options):
    """Fit a sparse tree."""
    options = {"alpha_local": 0.02, "random_state": 0, **options}
    return SORCTClassifier(**options).fit(data.X, data.y)


def test_the_default_is_to_search():
    """Said by the parameters, kept by a clone and by setting them again."""
    clf = SORCTClassifier()
    assert clf.get_params()["n_starts"] == "auto"
    twin = SORCTClassifier().set_params(**clf.set_params(n_starts=3).get_params())
    assert twin.get_params() == clone(clf).get_params() == clf.get_params()
    assert twin.set_params(n_starts="auto").n_starts == "auto"


def test_auto_is_what_one_gets_without_asking(planted):
    """To the last bit, one thread or two."""
    asked = fit(planted, n_starts="auto")
    assert_same_fit(fit(planted), asked)
    assert_same_fit(fit(planted, n_jobs=2), asked)
    assert set(asked.starts_.kind) > {"plain", "annealed", "polished"}


def test_starts_of_the_likelihood_are_the_same_for_any_n_jobs():
    """Descents share memory; what one leaves there says nothing to the next."""
    X, y = make_classification(
        300, 8, n_informative=5, n_classes=3, random_state=1
    )  # fmt: skip
    options = {"loss": "log", "alpha_local": 0.05, "n_starts": 8, "random_state": 0}
    one, two = (
        SORCTClassifier(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2)
    )
    assert_same_fit(two, one)


@numbers
def test_starts_are_a_table_of_descents(planted, n_starts):
    """One row each, which never ends above where it began."""
    clf = fit(planted, n_starts=n_starts)
    starts = clf.starts_
    assert list(starts.columns) == COLUMNS
    assert starts.index.name == "start"
    assert list(starts.index) == list(range(len(starts)))
    assert np.all(starts.objective <= starts.objective_before + 1e-9)
    assert np.all(starts.evaluations > 0)
    assert np.all(np.diff(starts.run) >= 0)
    assert set(starts.status) <= {"converged", "max_iter"}
    assert clf.objective_ <= starts.objective.min() * (1.0 + 2e-5)


@numbers
def test_the_summary_is_of_these_descents(planted, n_starts):
    """Numbers counted again from the table."""
    clf = fit(planted, n_starts=n_starts)
    found, starts = clf.search_, clf.starts_
    best = starts.objective.min()
    same = starts[starts.objective <= best + 1e-3 * starts.objective + 2e-5]
    near = starts.objective <= 1.01 * best + 2e-5
    assert found.n_descents == len(starts)
    assert found.n_runs == starts.run.nunique()
    assert found.n_refound == same.run.nunique() >= 1
    assert found.share_near_best == pytest.approx(near.mean(), abs=2 / len(starts))
    assert found.n_evaluations == starts.evaluations.sum()
    assert 1 <= found.n_optima <= found.n_descents
    assert found.seconds > 0.0


@numbers
def test_the_printed_tree_tells_of_the_search_once(planted, n_starts, tmp_path):
    """In its last line, also when read from a file."""
    clf = fit(planted, n_starts=n_starts)
    clf.tree_.to_json(tmp_path / "tree.json")
    for tree in (clf.tree_, Tree.from_json(tmp_path / "tree.json")):
        lines = str(tree).splitlines()
        assert [line for line in lines if "Search" in line] == lines[-1:]
        assert lines[-1] == f"Search: {clf.search_}."
    assert descents_text(len(clf.starts_)) + " (" in lines[-1]


def test_one_descent_is_not_told_as_several():
    """As where a search needs no second one."""
    assert [descents_text(n) for n in (1, 2)] == ["1 descent", "2 descents"]


@pytest.mark.a_few(1)
@pytest.mark.parametrize("random_state", range(3))
def test_a_search_is_no_worse_than_a_few_starts(random_state):
    """Within 0.1 %; and its numbers are the reference's."""
    X, y = load_iris(return_X_y=True)
    options = {"alpha_local": 0.05, "random_state": random_state}
    found = SORCTClassifier(**options).fit(X, y)
    few = SORCTClassifier(n_starts=4, **options).fit(X, y)
    assert found.objective_ <= few.objective_ * 1.001 + 2e-5
    truth = truth_of(found, X, y)
    assert found.objective_ == pytest.approx(truth.objective(found.tree_), abs=1e-10)


def test_no_time_still_gives_a_tree(planted):
    """The status says so."""
    clf = fit(planted, time_limit=1e-9)
    assert clf.status_ == "time_limit"
    assert set(clf.leaf_class_) == {0, 1, 2}
    assert np.isfinite(clf.predict_proba(planted.X)).all()


def test_a_callback_stops_a_search(planted):
    """Progress has no number of starts; what was found until then is kept."""
    clf, heard = SORCTClassifier(random_state=0), []

    def callback(progress):
        heard.append(progress)
        return progress.n_done == 6

    clf.fit(planted.X, planted.y, callback=callback)
    assert [progress.n_done for progress in heard] == [1, 2, 3, 4, 5, 6]
    assert {progress.n_starts for progress in heard} == {None}
    assert clf.status_ == "stopped"
    assert clf.objective_ <= heard[-1].objective * (1.0 + 2e-5) + 1e-12
