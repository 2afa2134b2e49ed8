"""The comparison: fair folds, honest tests, and a sentence that says no more."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss as scikit_log_loss
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from sorct.estimators.compare.comparison import compare
from sorct.estimators.compare.measures import Measures, auc, lacking, log_loss
from sorct.estimators.compare.rivals import (
    Plan,
    _logistic,
    fit_cart,
    fit_logistic,
    logistic_strengths,
    pruning_strengths,
    sparsest_good,
)
from sorct.estimators.compare.verdict import (
    BASELINE,
    METHODS,
    OBLIQUE,
    Sizes,
    Verdict,
    all_tests,
    corrected_t_test,
    holm,
)
from sorct.estimators.rows import Data

SMALL = {"cv": 2, "alphas_local": [0.1, 1.0], "n_solutions": 1, "random_state": 0}
#: Nothing is left to a race.
SMALL["options"] = {"loss": "log", "scaling": "auto", "relax": False}


# -- tests -------------------------------------------------------------------------


def test_without_overlap_it_is_the_paired_t_test(rng):
    """SciPy's, to the last digits."""
    difference = rng.normal(0.1, 1.0, 12)
    test = corrected_t_test(difference, 0.0, 0.0)
    truth = stats.ttest_1samp(difference, 0.0)
    assert test.t == pytest.approx(truth.statistic, rel=1e-12)
    assert test.p == pytest.approx(truth.pvalue, rel=1e-12)


def test_the_correction_widens_the_error_by_the_share_of_test_rows():
    """By hand: 10 folds, a ninth to score on; 1/10 + 1/9 in place of 1/10."""
    difference = np.array([0.0, 0.1] * 5)
    test = corrected_t_test(difference, 1.0 / 9.0, 0.01)
    # Mean 0.05, variance 0.025 / 9; 0.05 / sqrt(0.21111 * 0.0027778) = 2.0648.
    assert test.difference == pytest.approx(0.05, rel=1e-12)
    assert test.standard_error == pytest.approx(np.sqrt(19 / 90 * 0.025 / 9), rel=1e-12)
    assert test.t == pytest.approx(2.0648, abs=1e-4)
    assert test.p == pytest.approx(2 * stats.t.sf(2.0648, 9), abs=1e-5)


@pytest.mark.parametrize("gap", [0.1, -0.1])
def test_equal_differences_are_known_to_a_row_only(gap):
    """By hand: 7 folds of 10 rows, all one row apart; a row rounds by 0.1 / sqrt(12).

    Standard error sqrt((1/7 + 0.2) * 0.01 / 12) = 0.016903, t = 5.9161.
    """
    test = corrected_t_test(np.full(7, gap), 0.2, 0.1)
    assert test.standard_error == pytest.approx(0.016903, abs=1e-6)
    assert test.t == pytest.approx(np.copysign(5.9161, gap), abs=1e-4)
    assert test.p == pytest.approx(2 * stats.t.sf(5.9161, 6), abs=1e-6)


def test_no_difference_at_all_is_none():
    """Rounding or not."""
    for resolution in (0.0, 0.1):
        assert corrected_t_test(np.zeros(7), 0.2, resolution).p == 1.0


@pytest.mark.a_few(1)
@pytest.mark.parametrize(("n_folds", "n_test"), [(2, 10), (3, 6), (5, 4), (10, 15)])
def test_equal_methods_are_seldom_told_apart(n_folds, n_test):
    """Two methods right by chance, each in 80 of 100 rows; level 5 %, 1000 tables."""
    rng = np.random.default_rng(0)
    right = rng.random((2, 1000, n_folds, n_test)) < 0.8
    difference = right[0].mean(axis=-1) - right[1].mean(axis=-1)
    found = [
        corrected_t_test(row, 1 / (n_folds - 1), 1 / n_test).p for row in difference
    ]
    assert np.mean(np.array(found) < 0.05) <= 0.05


def test_holm_by_hand():
    """Smallest times 3, next times 2, never less than the one before, at most 1."""
    p = np.array([0.04, 0.01, 0.03])
    np.testing.assert_allclose(holm(p), [0.06, 0.03, 0.06])
    np.testing.assert_allclose(holm(np.array([0.9, 0.5, 0.6])), [1.0, 1.0, 1.0])


def test_the_rule_takes_the_sparsest_that_is_good_enough():
    """Sparsest first; standard error of the best is 0.1 / sqrt(2) / sqrt(2) = 0.05."""
    scores = np.array([[0.5, 0.5], [0.80, 0.82], [0.8, 0.9], [0.85, 0.85], [0.8, 0.7]])
    assert sparsest_good(scores, "best") == 2
    assert sparsest_good(scores, "one-standard-error") == 1


@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
def test_candidates_without_a_score_are_the_worst(rule):
    """In one fold or in all; without any score it is the sparsest."""
    nan = np.nan
    assert sparsest_good(np.array([[nan, 1.0], [0.1, 0.2], [nan, nan]]), rule) == 1
    assert sparsest_good(np.full((3, 2), nan), rule) == 0


# -- rivals ------------------------------------------------------------------------


def wide_table(rng, n=90):
    """A variable with four levels that decides, and two numbers that do not."""
    level = rng.choice(list("uvwx"), n)
    X = pd.DataFrame({"noise": rng.normal(size=n), "level": level, "more": 5.0})
    return X, np.where(np.isin(level, ["u", "w"]), "yes", "no")


@pytest.mark.parametrize("fit", [fit_cart, fit_logistic])
def test_rivals_count_variables_of_the_table(fit, rng):
    """Four levels are one variable, and all of them can be told apart."""
    X, y = wide_table(rng)
    data = Data(X, y, None)
    train, test = data.part(np.arange(60)), data.part(np.arange(60, 90))
    found = fit(train, test, Plan(3, "one-standard-error", None, 0, {}))
    assert found.score == 1.0
    assert found.variables == 1


def test_pruning_begins_with_the_root_and_ends_with_the_whole_tree(rng):
    """Strengths fall, trees grow; where edges differ by rounding alone, they stay."""
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    model = DecisionTreeClassifier(random_state=0)
    strengths = pruning_strengths(model, X, y)
    sizes = [
        model.set_params(ccp_alpha=strength).fit(X, y).tree_.n_leaves
        for strength in strengths
    ]
    assert (np.diff(strengths) < 0).all()
    assert (np.diff(sizes) >= 0).all()
    assert len(set(sizes)) > len(sizes) / 2
    assert sizes[0] == 1
    whole = DecisionTreeClassifier(random_state=0).fit(X, y).tree_.n_leaves
    assert sizes[-1] == whole


def linear_classes(n_classes, n=400):
    """Classes by linear scores; of two, the first has nine rows of ten."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 5))
    if n_classes == 2:
        score = X.sum(axis=1)
        return X, (score > np.quantile(score, 0.9)).astype(int)
    return X, (X @ rng.normal(size=(5, n_classes))).argmax(axis=1)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_strengths_begin_where_variables_come_in(n_classes):
    """Nothing at the first, something at the second, all long before the last."""
    X, y = linear_classes(n_classes)
    strengths = logistic_strengths(X, y)
    found = [
        _logistic(n_classes, 0).set_params(C=strength).fit(X, y).coef_
        for strength in strengths[:2]
    ]
    assert not found[0].any()
    assert found[1].any()
    assert strengths[-1] >= 1e4 * strengths[0] * (1 - 1e-9)


def test_columns_that_say_nothing_have_strengths_too():
    """Constant ones have no slope; no division by zero."""
    assert np.isfinite(
        logistic_strengths(np.zeros((4, 2)), np.array([0, 1, 0, 1]))
    ).all()


@pytest.mark.parametrize(
    ("n_classes", "bar"), [(2, 0.97), pytest.param(4, 0.95, marks=pytest.mark.slow)]
)
def test_linear_classes_are_found_by_the_linear_rival(n_classes, bar):
    """However rare one is; the grid ends after the best strength, not before."""
    X, y = linear_classes(n_classes, 1200)
    data = Data(X, y, None)
    train, test = data.part(np.arange(200)), data.part(np.arange(200, 1200))
    found = fit_logistic(train, test, Plan(2, "best", None, 0, {}))
    assert found.score > bar


# -- measures ----------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
def test_measures_are_those_of_scikit_learn(n_classes, rng):
    """Where no class is missing and nothing is clipped."""
    proba = rng.dirichlet(np.ones(n_classes), 60)
    y = np.arange(60) % n_classes
    classes, labels = np.array(list("abcd"))[:n_classes], np.array(list("abcd"))[y]
    assert log_loss(classes, proba, labels) == pytest.approx(scikit_log_loss(y, proba))
    said = proba[:, 1] if n_classes == 2 else proba
    truth = roc_auc_score(y, said, multi_class="ovr")
    assert auc(classes, proba, labels) == pytest.approx(truth, rel=1e-12)


def test_probabilities_are_clipped_from_below():
    """By hand: 0 counts as 1e-6, 1 as 1; a class that was not trained on has 0."""
    proba = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    y = np.array(["a", "a", "c"])
    expected = -2 * np.log(1e-6) / 3
    assert log_loss(np.array(["a", "b"]), proba, y) == pytest.approx(expected)


def test_classes_that_rows_lack_are_left_out_of_the_auc(rng):
    """Of three classes two are there: the mean of two areas. Of one there is none."""
    proba, y = rng.dirichlet(np.ones(3), 40), np.arange(40) % 2
    areas = [roc_auc_score(y == k, proba[:, k]) for k in (0, 1)]
    assert auc(np.arange(3), proba, y) == pytest.approx(np.mean(areas))
    assert np.isnan(auc(np.arange(3), proba, np.zeros(40, dtype=int)))


def test_it_is_said_which_folds_lack_classes():
    """And nothing is said where none does."""

    def part(train, test):
        rows = np.zeros((9, 1))
        return tuple(
            Data(rows, np.array(list(labels)), None) for labels in (train, test)
        )

    assert lacking([part("abc", "cba"), part("abcabc", "abc")], 3) == ()
    parts = [
        part("abc", "ab"),
        part("ab", "abc"),
        part("abc", "aa"),
        part("abc", "abc"),
    ]
    some, none = lacking(parts, 3)
    assert some.startswith("In 2 of 4 folds a class is missing")
    assert none.startswith("In 1 of 4 folds all rows to score are of one class")


@pytest.mark.usefixtures("few_strengths")
def test_every_method_has_all_measures(rng):
    """Sound ones: the tables agree with the folds, the baseline knows the shares."""
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=90) > 0.4, "yes", "no")
    found = compare(X, y, folds=2, depths=1, scoring="balanced_accuracy", **SMALL)
    means = found.folds.groupby("method")[["accuracy", "log_loss", "auc"]].mean()
    for name in means:
        np.testing.assert_allclose(found.frame[name][means.index], means[name])
    share = np.mean(y == "yes")
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert found.frame["log_loss"][BASELINE] == pytest.approx(entropy, abs=1e-3)
    assert found.frame["auc"][BASELINE] == 0.5
    assert (found.frame["auc"][list(METHODS)] > 0.9).all()
    assert found.frame["accuracy"][BASELINE] == pytest.approx(1 - share, abs=0.01)
    assert found.notes == ()
    (record, *_) = found.to_dict()["methods"]
    assert {"accuracy", "log_loss", "auc"} <= set(record)


@pytest.mark.usefixtures("few_strengths")
@pytest.mark.slow
def test_a_class_with_fewer_rows_than_folds_is_told_of(rng):
    """Three rows, four folds: one of them cannot score it."""
    X = rng.normal(size=(63, 2))
    y = np.where(np.arange(63) < 3, "rare", np.where(X[:, 0] > 0, "yes", "no"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(X, y, folds=4, **SMALL)
    (note,) = found.notes
    assert note.startswith("In 1 of 4 folds a class is missing")
    assert found.to_dict()["notes"] == [note]
    assert found.frame["auc"].notna().all()


def test_measures_of_a_classifier(rng):
    """Accuracy is of its predictions, not of its most probable class."""

    class Stubborn:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return np.ones(len(X), dtype=int)

        def predict_proba(self, X):
            return np.tile([0.75, 0.25], (len(X), 1))

    found = Measures.of(Stubborn(), np.zeros((4, 1)), np.array([0, 0, 0, 1]))
    assert found.accuracy == 0.25
    assert found.auc == 0.5
    assert found.log_loss == pytest.approx(-(3 * np.log(0.75) + np.log(0.25)) / 4)


# -- the sentence --------------------------------------------------------------------

KINDS = dict(
    zip(METHODS, ["axis-parallel cuts", "a line", "oblique cuts"], strict=True)
)


def sentence(cart, linear, ours, variables=(3, 2, 1), spread=0.01):
    """Sentence on methods with just such mean scores, over a baseline of 0.5."""
    noise = np.random.default_rng(0).normal(0, spread, (10, 4))
    noise -= noise.mean(axis=0)
    means = dict(zip([*METHODS, BASELINE], [cart, linear, ours, 0.5], strict=True))
    scores = pd.DataFrame(
        {m: s + noise[:, k] for k, (m, s) in enumerate(means.items())}
    )
    return verdict_on(scores, variables, Sizes(900, 100)).sentence()


def verdict_on(scores, variables, sizes):
    """Verdict on a table of scores."""
    frame = pd.DataFrame(
        {
            "score": scores.mean(),
            "standard_error": scores.std(ddof=1) / np.sqrt(len(scores)),
            "variables": [*variables, 0],
        }
    )
    return Verdict(frame, all_tests(scores, sizes), KINDS, "accuracy", 0.05)


def test_one_winner_is_named_with_its_gaps():
    """Which kind, against whom, by how much, how sure."""
    said = sentence(0.7, 0.8, 0.9)
    assert said.startswith(
        "These data support oblique cuts: sorct is ahead of CART by "
    )
    assert "and sorct is ahead of L1 logistic by" in said
    assert "p < 0.001" in said
    assert sentence(0.9, 0.7, 0.7).startswith("These data support axis-parallel cuts:")


def test_no_difference_is_an_answer():
    """Then the fewest variables decide."""
    said = sentence(0.9, 0.9, 0.9, variables=(4, 2, 3), spread=0.03)
    assert said == (
        "There is no difference that these folds can show: take the one with fewest "
        "variables, L1 logistic (2 on average; CART 4, sorct 3)."
    )


def test_a_gap_that_is_not_shown_is_not_hidden_either():
    """More than a standard error behind: a choice, not an advice."""
    said = sentence(0.85, 0.9, 0.9, variables=(1, 4, 3), spread=0.06)
    assert said.startswith(
        "There is no difference that these folds can show: take CART"
    )
    assert "for fewer variables (1 on average against " in said
    assert "for what may be a better score (0.9" in said


def test_two_that_are_equal_leave_the_third_out():
    """It is said which one, and of the others the sparser is to be taken."""
    said = sentence(0.7, 0.9, 0.9)
    assert said.startswith(
        "These data speak against axis-parallel cuts (CART is behind"
    )
    assert "between L1 logistic and sorct there is no difference" in said
    assert "fewest variables, sorct (1 on average; L1 logistic 2)" in said


def test_what_the_most_frequent_class_can_do_supports_nothing():
    """However few the variables are."""
    assert sentence(0.5, 0.5, 0.5).startswith("These data support none of the three")
    # CART has no variables, but is not shown to be any good.
    said = sentence(0.58, 0.64, 0.64, variables=(0, 5, 6), spread=0.07)
    assert (
        "CART is not shown to be better than the most frequent class; between" in said
    )
    assert "fewest variables, L1 logistic (5 on average; sorct 6)" in said


def test_what_is_ahead_of_a_useful_method_is_useful():
    """The noisy winner is not shown to beat the baseline, but beats one that does.

    The families of tests are adjusted apart: ahead of CART at 0.04, which is ahead of
    the baseline at 0.04, the linear rule may be at 0.06 against the latter.
    """
    tests = pd.DataFrame(
        [
            ("sorct", "CART", 0.0, 1.0),
            ("sorct", "L1 logistic", 0.0, 1.0),
            ("CART", "L1 logistic", -0.05, 0.04),
            ("CART", BASELINE, 0.1, 0.04),
            ("L1 logistic", BASELINE, 0.15, 0.06),
            ("sorct", BASELINE, 0.01, 0.9),
        ],
        columns=["one", "other", "difference", "p_holm"],
    )
    frame = pd.DataFrame({"score": [0.6, 0.65, 0.51, 0.5]}, index=[*METHODS, BASELINE])
    said = Verdict(frame, tests, KINDS, "accuracy", 0.05).sentence()
    assert said.startswith("These data support a line: L1 logistic is ahead of CART")


@pytest.mark.parametrize("n", [30, pytest.param(300, marks=pytest.mark.slow)])
def test_every_outcome_gives_one_sentence(n):
    """Whatever the scores are, and whichever of their gaps are shown."""
    rng, pairs = np.random.default_rng(0), all_pairs()
    for _ in range(n):
        score = pd.Series(rng.uniform(0.45, 0.65, 4), [*METHODS, BASELINE])
        # Many small p values; the two families of three are adjusted apart.
        p = rng.random((2, 3)) ** 3
        tests = pairs.assign(
            difference=[score[one] - score[other] for one, other in pairs.to_numpy()],
            p_holm=np.concatenate([holm(p[0]), holm(p[1])]),
        )
        frame = pd.DataFrame(
            {"score": score, "standard_error": 0.02, "variables": rng.integers(0, 4, 4)}
        )
        said = Verdict(frame, tests, KINDS, "accuracy", 0.05).sentence()
        assert said.endswith(".")
        assert said.count(". ") == 0


def all_pairs():
    """Pairs that are tested, methods first."""
    scores = pd.DataFrame(np.eye(4), columns=[*METHODS, BASELINE])
    return all_tests(scores, Sizes(9, 1))[["one", "other"]]


# -- all of it ---------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("few_strengths")
def test_a_slanted_line_speaks_against_axis_parallel_cuts():
    """CART needs a staircase."""
    X = np.random.default_rng(0).uniform(size=(160, 5))
    y = X.sum(axis=1) > 2.5
    found = compare(X, y, folds=4, depths=1, **SMALL)
    assert found.frame["score"]["sorct"] > found.frame["score"]["CART"] + 0.1
    assert "axis-parallel cuts (CART is behind" in found.sentence
    assert found.n_variables == 5


@pytest.mark.usefixtures("few_strengths")
@pytest.mark.slow
def test_frames_and_arrays_with_one_seed_give_the_same(rng):
    """Folds, scores and sentence."""
    X = rng.uniform(size=(60, 2))
    y = X.sum(axis=1) > 1.0
    found, again = (
        compare(table, y, folds=2, depths=1, **SMALL) for table in (X, pd.DataFrame(X))
    )
    pd.testing.assert_frame_equal(again.folds, found.folds)
    assert again.sentence == found.sentence


@pytest.mark.slow
def test_a_line_with_a_rare_side_does_not_speak_against_linear_rules():
    """Nine rows of ten on one side: L1 is up to it if its grid is."""
    X, y = linear_classes(2, 240)
    found = compare(X, y, folds=4, depths=1, **SMALL)
    assert "speak against a linear rule" not in found.sentence
    assert "ahead of L1 logistic" not in found.sentence
    assert found.frame["score"]["L1 logistic"] > 0.96


@pytest.mark.usefixtures("few_strengths")
@pytest.mark.slow
def test_two_slanted_lines_that_cross_support_oblique_cuts():
    """No line fits, and no small staircase: a tree of depth 2 does."""
    X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(240, 4))
    y = (X[:, :2].sum(axis=1) > 0) ^ (X[:, 2:].sum(axis=1) > 0)
    found = compare(X, y, folds=4, depths=2, **{**SMALL, "n_solutions": 4})
    assert found.sentence.startswith("These data support oblique cuts:"), found.frame


@pytest.mark.slow
@pytest.mark.usefixtures("few_strengths")
def test_noise_supports_nothing(rng):
    """Classes by a coin."""
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    found = compare(X, y, folds=2, depths=1, **SMALL)
    assert found.sentence.startswith("These data support none")


@pytest.mark.usefixtures("few_strengths")
@pytest.mark.slow
def test_three_classes_and_levels_that_only_the_test_part_has(rng):
    """Rare levels count as the first; scores other than accuracy are named."""
    X, _ = wide_table(rng)
    X.loc[4, "level"] = "rare"
    y = X["level"].map(dict(zip([*"uvwx", "rare"], "abcab", strict=True))).to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = compare(X, y, folds=2, scoring="balanced_accuracy", **SMALL)
    assert found.scoring == "balanced_accuracy"
    assert found.frame["score"]["CART"] > 0.9
    assert found.frame["score"][BASELINE] == pytest.approx(1 / 3)
    assert set(found.to_dict()) >= {"methods", "tests", "folds", "sentence"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds must be a whole number >= 2, got 1"),
        ({"cv": 2.5}, "cv must be a whole number >= 2, got 2.5"),
        ({"repeats": 0}, "repeats must be a whole number >= 1, got 0"),
        ({"rule": "luck"}, "rule must be one of"),
        ({"level": 2}, "level must be a number between 0 and 1, got 2"),
    ],
)
def test_bad_options_are_refused(options, message):
    """Before any work."""
    with pytest.raises(ValueError, match=message):
        compare(np.eye(4), [0, 1, 0, 1], **options)


def test_more_repeats_than_anybody_waits_for_are_refused(clouds):
    """Before any fold is drawn."""
    with pytest.raises(ValueError, match="repeats must be at most"):
        compare(*clouds, repeats=2**63)


def test_options_are_used_or_refused():
    """Limits count; what compare takes itself is not overwritten in silence."""
    X, y = load_iris(return_X_y=True)
    with pytest.raises(
        ValueError, match=r"options has .*cv.*compare\(X, y, cv=\.\.\.\)"
    ):
        compare(X, y, options={"cv": 3})
    with pytest.raises(ValueError, match="options has .*depths.*n_solutions"):
        compare(X, y, options={"n_solutions": 2, "depths": 3})
    few = {"folds": 2, "cv": 2, "depths": 2, "n_solutions": 2, "alphas_local": [1.0]}
    found = compare(X, y, **few, options={"max_features": 1}, random_state=0)
    own = found.folds[found.folds["method"] == OBLIQUE]
    assert own["variables"].max() <= 1
