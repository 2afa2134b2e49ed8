"""What a search tells of held-out rows: rates, scores in words, weights of classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss, precision_score, recall_score
from sklearn.model_selection import StratifiedKFold

from sorct import SORCTClassifier, SORCTClassifierCV, sorct_path
from sorct.estimators.scorers import in_words
from sorct.estimators.why import why_text

FIXED = {"loss": "log", "scaling": "auto", "n_solutions": 1, "random_state": 0}
GRID = {"alphas_local": [0.1, 1.0, 4.0], "alphas_global": 0.0, **FIXED}


def rare_table(n=240, rare=0.15, seed=0):
    """Two columns of which one tells a rare class, not for certain."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    score = X["a"] + 0.7 * rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 1.0 - rare), "fraud", "legal")


def search_of(X, y, cv, weight=None, **options):
    """A search in which only the penalty is chosen."""
    options = {**GRID, "relax": False, **options}
    return SORCTClassifierCV(1, cv=cv, **options).fit(X, y, weight)


@pytest.fixture(scope="module", params=["log", "cost"])
def unweighted(request):
    """A search by either loss in which all rows count the same."""
    return search_of(*rare_table(), 2, loss=request.param)


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_those_of_a_plain_loop(rng, weighted):
    """Accuracy is a mean over folds, recall and precision are of all held-out rows."""
    X, y = rare_table()
    weight = rng.integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    cv = StratifiedKFold(2, shuffle=True, random_state=1)
    search = search_of(X, y, cv, weight if weighted else None)
    true, said, counts, accuracy = [], [[], [], []], [], [[], [], []]
    for train, test in cv.split(X, y):
        path = sorct_path(
            X.iloc[train], y[train], depth=1, relax=False, sample_weight=weight[train],
            **GRID,
        )  # fmt: skip
        true += y[test].tolist()
        counts += weight[test].tolist()
        for k, tree in enumerate(path):
            found = tree.predict(X.iloc[test])
            said[k] += found.tolist()
            right = accuracy_score(y[test], found, sample_weight=weight[test])
            accuracy[k].append(right)
    for k, tree in enumerate(search.path_):
        told, rest = tree.training, {"average": None, "sample_weight": counts}
        assert told.cv_accuracy == pytest.approx(np.mean(accuracy[k]), abs=1e-12)
        recall = recall_score(true, said[k], **rest)
        precision = precision_score(true, said[k], zero_division=0.0, **rest)
        np.testing.assert_allclose(told.cv_recall, recall, atol=1e-12)
        np.testing.assert_allclose(told.cv_precision, precision, atol=1e-12)


def test_recall_of_a_class_that_is_never_held_out_is_not_told():
    """Accuracy is."""
    X, y = rare_table()
    legal = np.flatnonzero(y == "legal")
    folds = [(np.setdiff1d(np.arange(len(y)), part), part) for part in (legal[:50],)]
    told = search_of(X, y, folds).tree_.training
    assert told.cv_recall is told.cv_precision is None
    assert told.cv_accuracy > 0.8


def test_what_a_rare_class_hides_is_told_of_held_out_rows():
    """In the rules of a tree that a search chose."""
    search = search_of(*rare_table(), 2)
    text = str(search.tree_).replace("\n  ", " ")
    recall, precision = (
        dict(zip(search.classes_, rates, strict=True))
        for rates in (
            search.tree_.training.cv_recall,
            search.tree_.training.cv_precision,
        )
    )
    assert (
        f"Recall and precision on held-out rows: {recall['fraud']:.3f} and "
        f"{precision['fraud']:.3f} of fraud, {recall['legal']:.3f} and "
    ) in text


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words", "score"),
    [
        ("accuracy", "accuracy", 0.5),
        ("minus the log-loss", "log-loss", -0.5),
        ("neg_log_loss", "log-loss", -0.5),
        ("neg_brier_score", "Brier score", -0.5),
        ("minus the mean cost", "mean cost", -0.5),
        ("balanced_accuracy", "balanced accuracy", 0.5),
        ("roc_auc_ovr", "ROC AUC ovr", 0.5),
    ],
)
def test_scores_are_told_as_people_tell_them(name, words, score):
    """A loss of 0.5, and not a score of -0.5."""
    assert in_words(name, 0.5) == (words, score)
    assert str(in_words(name, 0.0)[1]) == "0.0"


@pytest.mark.a_few(1)
@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
def test_why_a_tree_was_chosen_is_told(rule):
    """What was compared by what, what was chosen, and how it compares."""
    search = search_of(*rare_table(), 2, rule=rule, alphas_local=[0.1, 1.0, 12.0])
    score = -search.best_score_
    best = -search.select("best").training.cv_score
    alpha = search.best_params_["alpha_local"]
    used = len(search.tree_.variables_used)
    assert search.why_.startswith(
        "One setting was tried, and 3 trees compared by log-loss on 2 folds. Chosen by "
        f"the rule {rule}: loss log, depth 1, gamma 192, scaling auto, alpha_local "
        f"{alpha:g}, with {used} variable{'s' * (used > 1)}; its log-loss is "
        f"{score:.4g}"
    )
    end = ", the best of them." if score == best else f" of the best ({best:.4g})."
    assert search.why_.endswith(end)
    limited = search_of(*rare_table(), 2, rule=rule, max_features=1)
    assert limited.why_.endswith(" within the limits.")


def test_shares_of_a_penalty_are_told_in_three_digits():
    """However small, without powers of ten."""
    X, y = rare_table()
    tree = SORCTClassifier(1, alpha_local=0.1, random_state=0).fit(X, y).tree_
    told = {0.125: "0.125", 0.000759549: "0.00076", 0.0000123456: "0.0000123"}
    for share, words in told.items():
        params = {"alpha_local": 0.1, "relaxed": share}
        why = why_text(tree, tree, params, (1, 1), limited=False)
        assert f"refitted on its variables under {words} of the penalty," in why


# -- weights of classes ----------------------------------------------------------------


def test_weighted_classes_are_scored_with_their_weights():
    """The score is a log-loss in which every class counts the same."""
    X, y = rare_table()
    cv = StratifiedKFold(2, shuffle=True, random_state=1)
    search = search_of(X, y, cv, class_weight="balanced")
    share = (y == "fraud").mean()
    weight = np.where(y == "fraud", 1.0 / share, 1.0 / (1.0 - share))
    losses = []
    for train, test in cv.split(X, y):
        inner = (y[train] == "fraud").mean()
        fold = np.where(y[train] == "fraud", 1.0 / inner, 1.0 / (1.0 - inner))
        path = sorct_path(X.iloc[train], y[train], depth=1, relax=False,
                          sample_weight=fold, **GRID)  # fmt: skip
        rows = {"sample_weight": weight[test], "labels": search.classes_}
        losses.append(
            [log_loss(y[test], t.predict_proba(X.iloc[test]), **rows) for t in path]
        )
    found = -search.cv_results_["mean_score"]
    np.testing.assert_allclose(found, np.mean(losses, axis=0), atol=1e-5)
    assert search.tree_.training.cv_scoring == "minus the weighted log-loss"


@pytest.mark.a_few(1)
@pytest.mark.parametrize("weights", ["balanced", {"fraud": 6.0}])
def test_weighted_classes_are_found_more_often(unweighted, weights):
    """By either loss; what is told counts rows by their own weights."""
    plain, loss = unweighted.tree_, unweighted.loss
    weighted = search_of(*rare_table(), 2, loss=loss, class_weight=weights).tree_
    assert weighted.training.cv_recall[0] > plain.training.cv_recall[0] + 0.1
    assert weighted.class_share.tolist() == pytest.approx(plain.class_share)
    text = str(weighted).replace("\n  ", " ")
    assert "Rows were weighted by class in training (fraud: " in text
    assert "find more of it: min_recall or SORCTClassifierCV(scoring=" in text


def test_a_fold_may_miss_a_weighted_class():
    """It is left out there; a class that is nowhere is an error."""
    X, y = rare_table()
    y = np.array(y, dtype="U9")
    y[:2] = "odd"
    folds = [
        (np.arange(2, 160), np.arange(160, 240)),
        (np.arange(160), np.arange(160, 240)),
    ]
    options = {"depths": 2, "cv": folds, **GRID, "alphas_local": [1.0]}
    found = SORCTClassifierCV(class_weight={"odd": 3.0}, **options).fit(X, y)
    assert found.tree_.training.class_weight == pytest.approx((1 / 3, 1 / 3, 1.0))
    with pytest.raises(ValueError, match="class_weight names class 'none'"):
        SORCTClassifierCV(class_weight={"none": 3.0}, **options).fit(X, y)
