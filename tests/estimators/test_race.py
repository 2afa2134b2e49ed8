"""The race: which settings are tried, which lead, and what becomes of them."""

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sorct import InfeasibleError, SORCTClassifierCV
from sorct.estimators.candidates import Candidates
from sorct.estimators.choices import (
    DEEPEST,
    FINALISTS,
    Choices,
    Settings,
    scalings_for,
)
from sorct.estimators.contest import not_far_behind
from sorct.estimators.following import Following
from sorct.estimators.marks import Marks
from sorct.estimators.race import Heat, Race
from tests.budget import examples
from tests.estimators.test_cross_validated import assert_same_search

check = settings(derandomize=True, deadline=None, max_examples=examples(20))
#: What is left to choose on a table of numbers with two classes.
FREE = Choices(("log", "cost"), (1, 2, 3, 4), ("auto",), ("auto", "quantile"))
SIMPLE = Settings("log", 1, "auto", "auto")
EMPTY = -1.0


def run(choices, worth):
    """Race with scores of our own: two folds, the last strength next to empty.

    The weakest strength is never the best, as is usual.
    """
    rounds = []

    def try_out(waiting, n_strengths, n_done):
        rounds.append(waiting)
        return [[np.array([EMPTY, worth(one), EMPTY])] * 2 for one in waiting]

    race = Race(choices, try_out)
    return race, race.run(), [one for waiting in rounds for one in waiting]


def by_depth(*scores):
    """Worth of settings by their depth alone; the likelihood is a little ahead."""
    return lambda one: scores[one.depth - 1] - 0.2 * (one.loss == "cost")


# -- who leads -------------------------------------------------------------------------


def test_what_chance_may_do_is_no_lead():
    """A deeper tree must be ahead by more than the folds' own disagreement."""
    simple = Heat(SIMPLE, [np.array([s, EMPTY]) for s in (-0.5, -0.3, -0.4, -0.4)])
    lucky = [np.array([s, EMPTY]) for s in (-0.1, -0.4, -0.6, -0.3)]
    surely = [np.array([s, EMPTY]) for s in (-0.42, -0.24, -0.35, -0.34)]
    deeper = replace(SIMPLE, depth=2)
    race = Race(FREE, lambda *_: [], [simple, Heat(deeper, lucky)])
    assert race.leader is simple
    race = Race(FREE, lambda *_: [], [simple, Heat(deeper, surely)])
    assert race.leader.settings == deeper


@pytest.mark.parametrize(
    ("scores", "leads"),
    [
        # 2 % of what the best gains over the empty tree is 0.016.
        ((-0.215, -0.2), 1),
        ((-0.217, -0.2), 2),
        ((-0.2, -0.9), 1),
        ((-0.2, -0.2), 1),
    ],
)
def test_the_leader_is_the_simplest_of_those_near_the_best(scores, leads):
    """But for a little, which is a share of what there is to gain."""
    heats = [
        Heat(Settings("log", 2 - n, "auto", "auto"), [np.array([score, EMPTY])] * 2)
        for n, score in enumerate(scores[::-1])
    ]
    race = Race(FREE, lambda *_: [], heats)
    assert race.leader.settings.depth == leads


def test_of_equals_the_first_values_lead():
    """Depth before scaling before loss before steepness, as they are listed."""
    order = [
        SIMPLE,
        Settings("cost", 1, "auto", "auto"),
        Settings("cost", 1, "steep", "auto"),
        Settings("log", 1, "auto", "quantile"),
        Settings("log", 2, "auto", "auto"),
    ]
    heats = [Heat(one, [np.array([-0.2, EMPTY])] * 2) for one in order[::-1]]
    for leader in order:
        race = Race(FREE, lambda *_: [], heats)
        assert race.leader.settings == leader
        heats.pop()


def test_scores_are_means_over_the_folds():
    """Of the best strength, and of the strongest for what is next to empty."""
    heat = Heat(SIMPLE, [np.array([-0.4, -0.2, -0.8]), np.array([-0.2, -0.6, -1.0])])
    assert heat.best == pytest.approx(-0.3)
    assert heat.empty == pytest.approx(-0.9)


@pytest.mark.parametrize("odd", [InfeasibleError("no tree", {}), np.full(2, np.nan)])
def test_settings_that_a_fold_has_no_score_for_do_not_lead(odd):
    """Where floors cannot be met, or the scorer has nothing to say."""
    good = Heat(Settings("cost", 4, "steep", "quantile"), [np.array([-5.0, -6.0])] * 2)
    heats = [Heat(SIMPLE, [np.array([-0.1, -0.6]), odd]), good]
    race = Race(FREE, lambda *_: [], heats)
    assert heats[0].best == -np.inf
    assert race.leader is good
    # If there is no score at all, the simplest leads, and the folds will say why.
    assert Race(FREE, lambda *_: [], heats[:1]).leader is heats[0]


# -- what is tried ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "deepest"),
    [
        ((-0.2, -0.2, 0.0, 0.0), 2),
        ((-0.4, -0.2, -0.199, 0.0), 3),
        ((-0.4, -0.3, -0.2, -0.1), 4),
    ],
)
def test_deeper_trees_are_tried_as_long_as_that_pays(scores, deepest):
    """One beyond the leader, always."""
    _, _, tried = run(FREE, by_depth(*scores))
    assert max(one.depth for one in tried) == deepest


def test_every_loss_and_scaling_is_tried_with_the_leader():
    """Scalings with the likelihood, and the expected cost where that leads."""
    _, _, tried = run(FREE, by_depth(-0.4, -0.2, -0.2, -0.2))
    assert tried[:2] == FREE.first
    for other in ({"scaling": "quantile"}, {"loss": "cost"}):
        leader = {"loss": "log", "depth": 2, "gamma": "auto", "scaling": "auto"}
        assert Settings(**{**leader, **other}) in tried


@pytest.mark.parametrize("ahead", ["bent", "quantile"])
def test_where_lines_bend_deeper_trees_are_tried_with_straight_ones_too(ahead):
    """Bends may lead at a depth where straight lines want one more cut."""
    plain = by_depth(-0.4, -0.3, -0.2, -0.1)

    def worth(one):
        if one.scaling == ahead:
            return -0.35
        return plain(one)

    bending = replace(FREE, losses=("log",), scalings=("auto", ahead))
    race, _, tried = run(bending, worth)
    deeper = replace(SIMPLE, depth=2)
    assert (deeper in tried) == (ahead == "bent")
    assert race.leader.settings.depth == (4 if ahead == "bent" else 1)


@pytest.mark.parametrize("loss", ["log", "cost"])
def test_steeper_cuts_are_tried_of_the_loss_that_is_ahead(loss):
    """Under the likelihood they only move the bound that cuts are steep up to."""
    _, _, tried = run(FREE, lambda one: -0.2 if one.loss == loss else -0.5)
    assert loss in {one.loss for one in tried if one.gamma == "steep"}
    _, _, tried = run(replace(FREE, gammas=(512.0,)), lambda one: -0.2)
    assert {one.gamma for one in tried} == {512.0}


def test_gentler_cuts_are_tried_under_the_likelihood_alone():
    """They bound probabilities, which the expected cost does not know."""
    for loss, expected in (("log", True), ("cost", False)):
        _, _, tried = run(replace(FREE, losses=(loss,)), lambda one: -0.2)
        assert any(one.gamma == "gentle" for one in tried) == expected


losses = st.sampled_from([("log", "cost"), ("log",), ("cost",)])
depths = st.sampled_from([(1, 2, 3, 4), (2, 3, 4), (4,), (1, 3), (3, 2)])
gammas = st.sampled_from([("auto",), (512.0,), ("auto", 100.0, 512.0)])
scalings = st.sampled_from([("auto", "quantile"), ("auto",), ({"x": "quantile"},)])
choices = st.builds(
    Choices, losses, depths, gammas, scalings, every_depth=st.booleans()
)


@check
@given(choices, st.integers(0, 2**31))
def test_a_race_ends_and_keeps_to_what_was_given(choices, seed):
    """Whatever the scores; nothing is tried twice, and finalists were tried."""
    rng = np.random.default_rng(seed)
    race, finalists, tried = run(choices, lambda one: -rng.random())
    assert len(race.frame()) == len(tried)
    for n, one in enumerate(tried):
        assert one not in tried[:n]
        assert one.loss in choices.losses
        assert one.depth in choices.depths
        assert one.scaling in choices.scalings
        others = ("gentle", "steep") if choices.gammas == ("auto",) else ()
        assert one.gamma in (*choices.gammas, *others)
    assert 1 <= len(finalists) <= FINALISTS
    assert all(one in tried for one in finalists)
    assert finalists[0] == race.leader.settings
    simplest = [one for one in race.heats if one.settings.depth == min(choices.depths)]
    top = max(one.best for one in race.heats)
    if any(one.best >= top - 0.05 * (top - EMPTY) for one in simplest):
        assert any(one.depth == min(choices.depths) for one in finalists)
    assert [heat.settings in finalists for heat in race.heats] == (
        race.frame()["finalist"].tolist()
    )


def test_all_that_was_listed_is_tried():
    """Depths and steepnesses that a user named are there to be tried."""
    listed = Choices(("log",), (3, 1, 5), (64.0, 512.0), ("auto",), every_depth=True)
    _, _, tried = run(listed, lambda one: -1.0 / one.depth)
    assert {one.depth for one in tried} == {1, 3, 5}
    assert {one.gamma for one in tried} == {64.0, 512.0}


@check
@given(
    st.sampled_from([(1, 2, 3, 4), (2, 3, 4)]),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_the_likelihood_is_not_tried_where_it_cannot_keep_directions(
    depths, every_depth, seed
):
    """Deeper trees are by the expected cost then, and are tried."""
    rng = np.random.default_rng(seed)
    directed = Choices(("log", "cost"), depths, ("auto",), ("auto",), 1, every_depth)
    assert all(one.loss == "cost" or one.depth == 1 for one in directed.all)
    _, finalists, tried = run(directed, lambda one: -rng.random())
    assert all(one.loss == "cost" or one.depth == 1 for one in tried)
    assert any(one.loss == "cost" and one.depth > 1 for one in tried)
    assert finalists


# -- who goes on -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worth", "finalists"),
    [
        # A deeper leader has the smallest trees by likelihood beside it.
        (by_depth(-0.23, -0.2, -0.2, -0.2), [("log", 2), ("log", 1)]),
        # But where they are far behind.
        (by_depth(-0.4, -0.2, -0.2, -0.2), [("log", 2)]),
        (
            lambda one: -0.2 * one.depth - 0.03 * (one.loss == "log"),
            [("cost", 1), ("log", 1)],
        ),
    ],
)
def test_finalists_are_the_leader_and_the_best_of_the_smallest(worth, finalists):
    """Of the smallest by likelihood, if that is a choice."""
    _, found, _ = run(FREE, worth)
    assert [(one.loss, one.depth) for one in found] == finalists


def test_where_the_smallest_are_far_behind_the_next_best_is_traced():
    """Not clearly ahead at a first look, it may be on all folds."""
    plain = by_depth(-0.4, -0.2, -0.2, -0.2)
    _, found, _ = run(FREE, lambda one: plain(one) + 0.002 * (one.gamma == "gentle"))
    assert [(one.depth, one.gamma) for one in found] == [(2, "auto"), (2, "gentle")]


def test_a_leader_of_the_smallest_trees_has_the_next_best_beside_it():
    """Two are traced in full wherever two were tried."""

    def worth(one):
        return -0.2 - 0.1 * (one.depth - 1) - 0.01 * (one.scaling == "quantile")

    _, found, _ = run(Choices(("log",), (1, 2), ("auto",), ("auto", "quantile")), worth)
    assert found == [SIMPLE, Settings("log", 1, "auto", "quantile")]


def test_what_may_be_ahead_by_chance_is_traced_beside_a_leader_of_one_cut():
    """Two folds cannot tell; all folds can. Others of one cut are further behind."""

    def try_out(waiting, n_strengths, n_done):
        folds = {1: (-0.3, -0.3), 2: (-0.1, -0.32)}
        return [
            [np.array([EMPTY, s - 0.05 * (one.gamma != "auto"), EMPTY]) for s in own]
            for one in waiting
            for own in [folds.get(one.depth, (-0.5, -0.5))]
        ]

    one_loss = replace(FREE, losses=("log",), scalings=("auto",))
    race = Race(one_loss, try_out)
    assert race.run() == [SIMPLE, replace(SIMPLE, depth=2)]


@pytest.mark.every_case
@pytest.mark.parametrize(("second", "n_finalists"), [(-0.2005, 1), (-0.1995, 2)])
def test_deeper_trees_that_are_behind_the_leader_are_not_traced(second, n_finalists):
    """A little ahead of it, which is too little to lead, they are."""
    _, found, _ = run(
        Choices(("log",), (1, 2), ("auto",), ("auto",)),
        by_depth(-0.2, second, second, second),
    )
    assert found[0] == SIMPLE
    assert len(found) == n_finalists


def test_what_was_clearly_behind_at_one_depth_is_not_tried_at_the_next():
    """A scaling that loses with one cut is not worth a look with three."""

    def worth(one):
        return -0.4 / one.depth - 0.1 * (one.scaling == "quantile")

    _, _, tried = run(FREE, worth)
    assert {one.depth for one in tried if one.scaling == "quantile"} == {1}
    # What is not behind is tried with the leader.
    _, _, tried = run(FREE, by_depth(-0.4, -0.2, -0.2, -0.2))
    assert replace(SIMPLE, depth=2, scaling="quantile") in tried


def test_strengths_far_below_the_best_are_left_out():
    """But for some to spare; where the weakest was the best, all are tried."""
    asked = []

    def try_out(waiting, n_strengths, n_done):
        asked.append(n_strengths)
        n = n_strengths or 9
        scores = np.linspace(-0.9, -0.2, 9)
        # Of deeper trees the weakest strength is the best.
        every = [scores[::-1] if one.depth > 1 else scores for one in waiting]
        return [[one[-n:]] * 2 for one in every]

    race = Race(replace(FREE, depths=(1, 2)), try_out)
    race.run()
    assert asked[:3] == [None, 5, None]
    scores = [np.array([-0.5, -0.3, -0.4, -0.9, -1.0, -1.0, -1.0])] * 2
    heat = Heat(SIMPLE, scores)
    assert heat.n_useful == 7 - 1 + 2
    assert not heat.ends_at_best_of(7)
    weak = Heat(SIMPLE, [np.array([-0.2, -0.3])] * 2)
    assert weak.ends_at_best_of(2)
    assert not weak.ends_at_best_of(3)
    assert not weak.ends_at_best_of(None)


def test_what_is_behind_on_the_first_folds_is_not_tried_on_the_others():
    """It cannot lead, whatever its score on fewer folds."""
    asked = {}

    def try_out(waiting, n_strengths, n_done):
        asked[n_done] = asked.get(n_done, []) + waiting
        n_folds = 2 if n_done == 0 else 3
        # The first folds are easy: two of them look better than the leader's five.
        level = 0.5 if n_done == 0 else 0.0
        worth = {1: -0.9, 2: -0.6, 3: -0.61}
        return [
            [np.array([EMPTY, level + worth[one.depth], EMPTY])] * n_folds
            for one in waiting
        ]

    choices = replace(FREE, losses=("log",), depths=(1, 2, 3), scalings=("auto",))
    race = Race(choices, try_out, n_folds=5)
    race.run()
    deepest = replace(SIMPLE, depth=3)
    assert deepest in asked[0]
    assert deepest not in asked[3 - 1]
    assert race.leader.settings == replace(SIMPLE, depth=2)
    lost = [heat for heat in race.heats if heat.lost]
    assert deepest in [heat.settings for heat in lost]
    assert all(len(heat.scores) == 2 for heat in lost)
    assert not any(heat.finalist for heat in lost)


def test_nothing_more_is_tried_where_nothing_is_left_to_gain():
    """A perfect score would be too little ahead to lead."""
    rounds = []

    def try_out(waiting, n_strengths, n_done):
        rounds.append(waiting)
        return [[np.array([-0.5, -0.005, EMPTY])] * 2 for _ in waiting]

    Race(FREE, try_out, n_folds=2, most=0.0).run()
    assert rounds == [FREE.first]
    Race(FREE, try_out, n_folds=2).run()
    assert len(rounds) > 2


#: The same, and a greedy tree may say which variables to begin with.
GREEDY = replace(FREE, preselects=("none", "greedy"))


@pytest.mark.parametrize(
    ("levels", "depth"),
    [
        # Depth 3 is as good as 4; depth 1 is never begun with a greedy tree.
        ((-0.1, -0.3, -0.1, -0.1), 3),
        ((-0.1, -0.42, -0.42, -0.42), 2),
        # As they are, they are far behind the leader, which has -0.4.
        ((-0.1, -0.8, -0.8, -0.7), None),
        ((-0.1, np.nan, np.nan, np.nan), None),
        ((np.nan, np.nan, -0.3, np.nan), 3),
    ],
)
def test_greedy_trees_begin_a_search_where_they_are_good_as_they_are(levels, depth):
    """Of the simplest depth that is near their best, and never again."""
    asked, scouted = [], []

    def try_out(waiting, n_strengths, n_done):
        asked.extend(waiting)
        return [[np.array([EMPTY, -0.4, EMPTY])] * 2 for _ in waiting]

    def scout(one, best):
        scouted.append(one)
        assert best == -0.4
        return [np.array(levels)] * 2

    race = Race(GREEDY, try_out, scout=scout)
    race.run()
    assert [(one.depth, one.gamma, one.preselect) for one in scouted] == [
        (4, "steep", "greedy")
    ]
    found = [one for one in asked if one.preselect == "greedy"]
    assert [one.depth for one in found] == ([] if depth is None else [depth])


def test_where_a_greedy_tree_leads_only_depth_is_left_to_try():
    """The next depth, then nothing more: its cuts are steep, and its columns few."""
    asked = []

    def try_out(waiting, n_strengths, n_done):
        asked.extend(waiting)
        worth = [-0.1 if one.preselect == "greedy" else -0.5 for one in waiting]
        return [[np.array([EMPTY, one, EMPTY])] * 2 for one in worth]

    def scout(one, best):
        return [np.array([-0.9, -0.3, -0.3, -0.3])]

    race = Race(GREEDY, try_out, scout=scout)
    race.run()
    greedy = [one for one in asked if one.preselect == "greedy"]
    assert [one.depth for one in greedy] == [2, 3]
    assert race.leader.settings == greedy[0]


def test_paths_that_no_rule_would_choose_are_not_traced_to_the_end():
    """Those more than a standard error behind the best on half of the folds."""

    def marks(*scores):
        return [Marks(np.array([one, EMPTY]), np.ones(2)) for one in scores]

    best = marks(-0.2, -0.3, -0.4)  # a standard error of 0.058
    near, far = marks(-0.35, -0.35, -0.35), marks(-0.4, -0.35, -0.35)
    none = [*marks(-0.1, -0.1), InfeasibleError("no tree", {})]
    by_nobody = [Marks(one.scores, np.full(2, 0.5)) for one in near]
    found = not_far_behind([far, best, near, none, by_nobody], Following())
    assert found == [False, True, True, False, False]
    assert not_far_behind([none, none], Following()) == [True, True]


def test_rules_that_nobody_can_follow_are_chosen_only_if_far_better():
    """By more than a tenth of what the best gain over the sparsest."""
    scores, followed = np.array([-0.3, -0.36, -0.31, -0.8]), [0.98, 0.99, 0.5, 1.0]
    following = Following()
    off = following.handicap(scores, np.array(followed), -0.8)
    np.testing.assert_allclose(off, [0.05, 0.0, 0.05, 0.0])
    none = following.handicap(np.array([np.nan, -0.8]), np.zeros(2), -0.8)
    assert not none.any()
    table = {"followed": followed, "n_variables": [4, 3, 3, 0]}
    for score, noise, chosen in [(-0.36, 0.0, 0), (-0.34, 0.0, 1), (-0.36, 0.2, 1)]:
        means = np.array([-0.3, score, -0.31, -0.8])
        splits = {f"split{k}": means + [noise * (-1) ** k, 0, 0, 0] for k in range(4)}
        told = {**table, "mean_score": means, "std_score": 2.0, "se_score": 1.0}
        frame = pd.DataFrame({**told, **splits})
        found = Candidates(frame, (), (), following)
        allowed = found._worth_following(following, np.ones(4, dtype=bool))
        assert np.where(allowed, means, -np.inf).argmax() == chosen
        strict = found._worth_following(Following.of(0.99), np.ones(4, dtype=bool))
        assert strict.tolist() == [False, True, False, True]
    most = Candidates(frame[::2].reset_index(), (), (), following)
    found = most._worth_following(Following.of(0.99), np.ones(2, dtype=bool))
    assert found.tolist() == [True, False]


def test_the_table_of_a_race_has_its_columns_before_anything_was_tried():
    """Users may read it whether something was left to choose or not."""
    frame = Race(FREE, lambda *_: []).frame()
    assert frame.columns.tolist() == [
        "loss", "depth", "gamma", "scaling", "first_score", "first_folds", "finalist",
        "score",
    ]  # fmt: skip
    assert frame.empty


# -- on a table ------------------------------------------------------------------------


def model(**options):
    """A race over three strengths with the least pools and folds."""
    few = {"alphas_local": [0.1, 1.0, 8.0], "n_solutions": 1, "cv": 2}
    return SORCTClassifierCV(**{**few, "random_state": 0, **options})


@pytest.fixture(scope="module")
def two_clouds():
    """Two overlapping clouds."""
    rng, y = np.random.default_rng(0), np.arange(90) % 2
    return rng.normal(0.0, 1.0, (90, 3)) + 0.9 * y[:, np.newaxis], y


@pytest.fixture(scope="module")
def raced(two_clouds):
    """A race with everything left to choose."""
    return model().fit(*two_clouds)


def test_a_race_tells_what_was_tried_and_why_this_was_taken(raced):
    """In a table, and in two sentences."""
    race, results = raced.race_, raced.cv_results_
    assert {"log", "cost"} == set(race["loss"])
    assert {"auto", "quantile", "standard", "bent"} == set(race["scaling"])
    assert {1, 2} <= set(race["depth"]) <= set(range(1, DEEPEST + 1))
    finalists = race[race["finalist"]]
    assert 1 <= len(finalists) <= FINALISTS
    names = ["loss", "depth", "scaling"]
    traced = {tuple(row) for row in results[names].to_numpy()}
    assert traced == {tuple(row) for row in finalists[names].to_numpy()}
    assert np.isfinite(race["first_score"]).all()
    assert not (race["score"].notna() & ~race["finalist"]).any()
    assert race["score"].max() == results["mean_score"].max()
    chosen, why = raced.best_params_, raced.why_
    compared = f"{len(race)} settings were tried, and {len(results)} trees compared"
    assert why.startswith(compared)
    for words in (
        f"loss {chosen['loss']}, depth {chosen['depth']}",
        f"{len(raced.tree_.variables_used)} variable",
        f"log-loss is {-raced.best_score_:.4g}",
    ):
        assert words in why
    refitted = chosen["relaxed"] < 1.0 and chosen["alpha_local"] > 0.0
    assert ("refitted" in why) == refitted


def test_scores_on_all_folds_are_those_of_the_settings(two_clouds):
    """Also where two that were traced differ in steepness alone."""
    given = {"depths": 1, "loss": "log", "gamma": ["auto", "gentle", "steep"]}
    search = model(**given, scoring="accuracy").fit(*two_clouds)
    race, results = search.race_, search.cv_results_
    told = race[race["finalist"]].set_index("gamma")["score"]
    assert set(told.index) == {"auto", "gentle"}
    assert (results["scaling"] == "auto").all()
    own = results.groupby("gamma")["mean_score"].max()
    # Of three variables, a cut changes by so much for each at most.
    assert told.to_dict() == {"auto": own[3 * 64.0], "gentle": own[3 * 16.0]}


def test_many_variables_are_not_bent():
    """Every number would have a column for each of its parts."""
    X = np.random.default_rng(0).random((20, 101))
    assert "bent" in scalings_for(X[:, :100])
    assert set(scalings_for(X)) == {"auto", "quantile", "standard"}
    assert scalings_for(pd.DataFrame({"a": ["u", "v"]})) == ("auto",)


def test_the_default_rule_is_paired(raced):
    """The fewest variables that are not behind the best, fold by fold."""
    assert raced.get_params()["rule"] == raced.tree_.training.cv_rule == "paired"
    fewer = len(raced.select("paired").variables_used)
    assert fewer <= len(raced.select("best").variables_used)


def test_few_rows_have_their_folds_drawn_twice(raced, two_clouds):
    """Unless the folds are the users' own, or nothing is left to choose."""
    assert raced.tree_.training.cv_folds == 4
    X, y = two_clouds
    own = [(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]
    given = model(cv=own, depths=1).fit(X, y)
    assert given.tree_.training.cv_folds == 2
    plain = model(depths=1, loss="log", scaling="auto").fit(X, y)
    assert plain.tree_.training.cv_folds == 2
    assert plain.race_.empty
    assert plain.why_.startswith("One setting was tried")


@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)]
)
def test_the_same_seed_is_the_same_choice_on_any_number_of_jobs(
    raced, two_clouds, backend
):
    """To the last bit, the race included."""
    with joblib.parallel_config(backend=backend, n_jobs=2):
        other = model().fit(*two_clouds)
    assert_same_search(other, raced)
    assert other.race_.equals(raced.race_)
    assert other.why_ == raced.why_
    assert other.tree_ == raced.tree_


@pytest.mark.slow
def test_rows_of_weight_zero_count_for_nothing_in_a_race(rng, two_clouds, monkeypatch):
    """Nor do they make a table large."""
    X, y = two_clouds
    kept = rng.random(90) < 0.8
    monkeypatch.setattr("sorct.estimators.contest.FEW_ROWS", 85)
    monkeypatch.setattr("sorct.estimators.contest._LOOK_ROWS", 40)
    one = {"depths": 1, "alphas_local": 1.0}
    zeroed = model(**one).fit(X, y, sample_weight=kept.astype(float))
    without = model(**one).fit(X[kept], y[kept])
    assert zeroed.tree_.training.cv_folds == without.tree_.training.cv_folds == 4
    assert zeroed.race_.equals(without.race_)
    assert zeroed.tree_ == without.tree_


@pytest.mark.a_few(1)
@pytest.mark.parametrize(
    "given",
    [
        {"loss": "log"},
        pytest.param({"loss": "cost"}, marks=pytest.mark.slow),
        pytest.param({"depths": 2}, marks=pytest.mark.slow),
        {"gamma": 100.0},
        {"scaling": "minmax"},
        pytest.param({"scaling": {"x0": "quantile"}}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_what_is_given_is_not_chosen(two_clouds, given):
    """The rest is."""
    search = model(**{"depths": 1, "alphas_local": 1.0, **given}).fit(*two_clouds)
    ((name, value),) = given.items()
    name = {"depths": "depth"}.get(name, name)
    assert all(one == value for one in search.race_[name])
    assert search.best_params_[name] == value
    assert len(search.race_) > 1


@pytest.mark.slow
def test_directions_leave_the_likelihood_one_cut(two_clouds):
    """Deeper trees race by the expected cost; if the loss is given, nothing is."""
    X, y = two_clouds
    one = {"monotonic_cst": {"x0": 1}, "alphas_local": 1.0}
    search = model(scaling="auto", **one).fit(X, y)
    deeper = search.race_[search.race_["depth"] > 1]
    assert set(deeper["loss"]) == {"cost"}
    given = model(loss="log", **one).fit(X, y)
    assert set(given.race_["depth"]) == {1}
    with pytest.raises(ValueError, match='monotonic_cst with loss="log" needs one cut'):
        model(loss="log", depths=2, **one).fit(X, y)


def test_the_rules_of_the_choice_can_be_followed_by_hand(raced):
    """For 99 of 100 training rows, if there is such a tree."""
    followed = raced.cv_results_["followed"]
    assert (followed >= 0.99).any()
    assert raced.tree_.training.followed >= 0.99
    assert raced.select("one-standard-error").training.followed >= 0.99


# -- few variables ---------------------------------------------------------------------


def noisy(rng, n_noise, n=300):
    """Two variables that decide, and columns that mean nothing."""
    X = rng.normal(size=(n, 2 + n_noise))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    return X, y


@pytest.mark.parametrize("most", [1, 2])
def test_limits_give_a_tree_within_them_that_helps(rng, most):
    """At least a variable, and the right ones, however weak the penalties are."""
    X, y = noisy(rng, 4, 150)
    weak = {"alphas_local": [0.01, 0.1], "loss": "log", "depths": 1, "scaling": "auto"}
    search = model(max_features=most, **weak).fit(X, y)
    assert 1 <= len(search.tree_.variables_used) <= most
    assert set(search.tree_.variables_used) <= {"x0", "x1"}
    assert search.score(X, y) > np.bincount(y).max() / len(y) + 0.1


@pytest.mark.parametrize(
    ("n_noise", "n", "options"),
    [
        (
            10,
            150,
            {"depths": 1, "loss": "log", "scaling": "auto", "n_solutions": 1, "cv": 2},
        ),
        pytest.param(40, 300, {}, marks=pytest.mark.slow, id="default"),
    ],
    ids=str,
)
def test_columns_that_mean_nothing_stay_out(rng, n_noise, n, options):
    """Two of many columns decide: both are found, with four others at most."""
    X, y = noisy(rng, n_noise, n)
    search = SORCTClassifierCV(random_state=0, **options).fit(X, y)
    assert {"x0", "x1"} <= set(search.tree_.variables_used)
    assert len(search.tree_.variables_used) <= 6
    X, y = noisy(rng, n_noise)
    assert search.score(X, y) > 0.88


def test_rules_that_must_be_followed_are(two_clouds):
    """With a share asked for, trees with less are left out where others are not."""
    with pytest.raises(ValueError, match=r"min_followed must be .* got 1.5"):
        model(min_followed=1.5).fit(*two_clouds)
    free = model(depths=2).fit(*two_clouds)
    most = free.cv_results_["followed"].max()
    assert free.tree_.training.followed < most
    strict = model(depths=2, min_followed=most).fit(*two_clouds)
    assert strict.tree_.training.followed >= most


def limits(rng, n=300):
    """Three classes that are told by sharp limits on four of twelve columns."""
    X = rng.random((n, 12))
    high = np.where(X[:, 3] < 0.4, 1, 2 * (X[:, 6] > 0.5))
    low = 2 * ((X[:, 0] < 0.1) & (X[:, 9] > 0.5))
    return X, np.where(X[:, 0] > 0.8, high, low)


def test_sharp_limits_are_found_by_a_greedy_tree(rng):
    """With the columns that count and no others, which penalties alone do not find."""
    X, y = limits(rng)
    few = {"cv": 2, "depths": 3, "loss": "log", "n_solutions": 1}
    search = SORCTClassifierCV(random_state=0, **few).fit(X, y)
    assert search.best_params_["preselect"] == "greedy"
    assert "preselect greedy" in search.why_
    assert set(search.tree_.variables_used) == {"x0", "x3", "x6", "x9"}
    X, y = limits(rng)
    assert search.score(X, y) > 0.94


@pytest.mark.parametrize("given", [{"preselect": "none"}, {"gamma": 64.0}])
def test_variables_are_left_to_the_penalties_where_that_is_asked_for(rng, given):
    """Also where steepness is given, which greedy trees need for themselves."""
    search = model(depths=2, loss="log", **given).fit(*limits(rng, 100))
    assert "preselect" not in search.best_params_
    assert "preselect" not in search.race_


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preselect": "best"}, "preselect must be one of"),
        ({"preselect": "greedy", "monotonic_cst": [1, 0, 0]}, "nothing of directions"),
    ],
)
def test_what_greedy_trees_cannot_do_is_refused(two_clouds, given, message):
    """Before any path is traced."""
    with pytest.raises(ValueError, match=message):
        model(**given).fit(*two_clouds)


def test_all_paths_begin_with_greedy_trees_if_asked_for(rng):
    """Whatever is left to choose, and also where nothing is: noise is left out."""
    X, y = limits(rng, 150)
    for free in ({}, {"depths": 2, "loss": "log", "scaling": "auto"}):
        search = model(preselect="greedy", **free).fit(X, y)
        assert set(search.tree_.variables_used) <= {"x0", "x3", "x6", "x9"}
        assert search.best_params_["preselect"] == "greedy"
        assert "preselect greedy" in search.why_


def test_a_greedy_tree_that_is_ahead_is_traced_though_it_is_deep():
    """Beside the leader, which is simpler and behind within chance."""

    def try_out(waiting, n_strengths, n_done):
        worth = [
            (-0.05, -0.5) if one.preselect == "greedy" else (-0.3, -0.3)
            for one in waiting
        ]
        return [
            [np.array([EMPTY, score, EMPTY]) for score in scores] for scores in worth
        ]

    def scout(one, best):
        return [np.array([np.nan, np.nan, -0.3, np.nan])]

    race = Race(GREEDY, try_out, scout=scout, n_folds=2)
    finalists = race.run()
    assert race.leader.settings.preselect == "none"
    assert finalists[1].preselect == "greedy"
    assert finalists[1].depth == 3


@pytest.mark.parametrize(("second", "traced"), [(-0.05, True), (-0.6, False)])
def test_a_greedy_tree_is_not_lost_by_one_fold(second, traced):
    """It runs on all first folds, and is traced unless it is far behind on both."""

    def try_out(waiting, n_strengths, n_done):
        greedy, others = (-0.4, second), (-0.3, -0.3)
        worth = [greedy if one.preselect == "greedy" else others for one in waiting]
        left = [scores[n_done:] if n_done else scores[:1] for scores in worth]
        return [[np.array([EMPTY, one, EMPTY]) for one in scores] for scores in left]

    def scout(one, best):
        return [np.array([np.nan, np.nan, -0.3, np.nan])]

    race = Race(GREEDY, try_out, scout=scout, n_folds=2)
    finalists = race.run()
    (greedy,) = [one for one in race.heats if one.settings.preselect == "greedy"]
    assert not greedy.lost
    assert len(greedy.scores) == 2
    assert (greedy.settings in finalists) is traced


# -- a rare class ----------------------------------------------------------------------


def test_a_scorer_for_rare_classes_finds_them():
    """Where all rows count the same the empty tree is best; here it is not taken."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(600) % 20 == 0, "rare", "usual")
    X = rng.normal(size=(600, 2)) + np.outer(y == "rare", [1.2, 0.0])
    few = {"depths": 1, "loss": "log", "alphas_local": [2.0, 8.0], "n_solutions": 1,
           "cv": 2, "random_state": 0}  # fmt: skip
    search = SORCTClassifierCV(scoring="balanced_accuracy", **few).fit(X, y)
    assert search.best_params_["class_weight"] == "balanced"
    assert search.race_["class_weight"].isna().any()
    assert search.best_score_ > 0.6
    assert search.recall_[0] > 0.5
    by_accuracy = SORCTClassifierCV(scoring="accuracy", **few).fit(X, y)
    assert "class_weight" not in by_accuracy.best_params_
    assert by_accuracy.recall_[0] < 0.1
