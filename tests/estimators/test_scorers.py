"""Scorers: what cannot score these classes or folds is refused before any work."""

import numpy as np
import pandas as pd
import pytest

from sorct.cli import main
from sorct.estimators.compare.comparison import compare
from sorct.estimators.compare.rivals import Plan, fit_cart, fit_logistic
from sorct.estimators.folds import Data

SMALL = {"cv": 2, "alphas_local": [0.1, 1.0], "n_solutions": 1, "random_state": 0}
SMALL["options"] = {"loss": "log", "scaling": "auto", "relax": False}


def two_classes(n_rare, n=60):
    """Text classes by one of two columns, one class rare."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    y = np.where(np.argsort(np.argsort(X[:, 0])) < n_rare, "rare", "usual")
    return X, y


def test_a_class_too_rare_for_a_scorer_is_one_clear_error():
    """A fold without it has no area under the curve; a cure is named."""
    X, y = two_classes(4)
    with pytest.raises(ValueError, match="'roc_auc' gives nan") as caught:
        compare(X, y, folds=2, scoring="roc_auc", **{**SMALL, "cv": 3})
    assert "rows to score are 10 of class 'usual'" in str(caught.value)
    assert "use fewer folds" in str(caught.value)


@pytest.mark.parametrize("fit", [fit_cart, fit_logistic])
def test_a_scorer_of_ones_own_without_a_number_is_named_too(fit):
    """In all candidates of a fold, or in the model chosen."""
    X, y = two_classes(20)
    data = Data(X, y, None)
    plan = Plan(2, "best", lambda model, X, y: np.nan, 0, {})
    with pytest.raises(ValueError, match="The scorer 'score' gives nan"):
        fit(data.part(np.arange(40)), data.part(np.arange(40, 60)), plan)


@pytest.mark.parametrize(
    ("scoring", "instead"),
    [
        ("f1", "f1_macro"),
        ("precision", "precision_macro"),
        ("recall", "recall_macro"),
        ("average_precision", "balanced_accuracy or f1_macro"),
        ("neg_brier_score", "balanced_accuracy or f1_macro"),
    ],
)
def test_scorers_that_need_a_positive_class_are_refused_for_text(scoring, instead):
    """Before any work, and it is said what to use."""
    X, y = two_classes(20)
    with pytest.raises(ValueError, match=f"The scorer '{scoring}' does not") as caught:
        compare(X, y, scoring=scoring)
    assert "with the classes 'rare', 'usual'" in str(caught.value)
    assert str(caught.value).endswith(f"such as {instead}.")


def test_three_classes_have_scorers_of_their_own():
    """The area under the curve is one against the rest."""
    with pytest.raises(ValueError, match=r"such as roc_auc_ovr\.$"):
        compare(np.eye(6), list("abcabc"), scoring="roc_auc")


@pytest.mark.usefixtures("few_strengths")
@pytest.mark.parametrize(
    "scoring", ["f1", pytest.param("average_precision", marks=pytest.mark.slow)]
)
def test_classes_0_and_1_have_a_positive_one(scoring):
    """There such scorers work."""
    X, y = two_classes(20)
    found = compare(X, y == "rare", folds=2, depths=1, scoring=scoring, **SMALL)
    assert found.frame["score"]["sorct"] > 0.8


@pytest.mark.parametrize("verb", ["fit", "compare"])
def test_the_command_line_says_so_too(verb, tmp_path, capsys):
    """One line of error, exit code 1."""
    X, y = two_classes(20)
    table = tmp_path / "data.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(table, index=False)
    assert main([verb, str(table), "--target", "y", "--scoring", "f1"]) == 1
    said = capsys.readouterr().err
    *_, last = said.splitlines()
    assert last.startswith("sorct: error: The scorer 'f1' does not work")
    assert said.count("error") == 1
    assert "such as f1_macro." in said
