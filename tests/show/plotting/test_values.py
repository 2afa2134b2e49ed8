"""Displays of a quantity: what they draw is what the trees say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, root_mean_squared_error
from sorct.plotting import (
    ContributionDisplay,
    FrontierDisplay,
    HeatmapDisplay,
    PathDisplay,
    ResidualDisplay,
    StabilityDisplay,
    TreeDisplay,
)

from sorct import SORCTRegressor, SORCTRegressorCV, sorct_path
from sorct.show.plotting._tree_parts import DrawnLeaf


@pytest.fixture(scope="module")
def rows():
    rng, n = np.random.default_rng(3), 120
    X = pd.DataFrame(
        {
            "size": rng.uniform(20.0, 200.0, n),
            "zone": rng.choice(["A", "B"], n),
            "noise": rng.normal(size=n),
        }
    )
    y = 900.0 * X["size"] + 40_000.0 * (X.zone == "A") * (X["size"] > 100)
    return X, (y + rng.normal(0.0, 3000.0, n)).to_numpy()


@pytest.fixture(scope="module", params=["constant", "linear"])
def tree(request, rows):
    model = SORCTRegressor(1, 0.2, leaf=request.param, n_starts=2, random_state=0)
    return model.fit(*rows).tree_


@pytest.fixture(scope="module")
def path(rows):
    return sorct_path(
        *rows, loss="square", depth=1, alphas_local=[0.1, 5.0, 50.0], alphas_global=0,
        n_solutions=2, random_state=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def search(rows):
    return SORCTRegressorCV(
        1, alphas_local=[0.1, 5.0, 50.0], alphas_global=0, n_solutions=1, cv=2,
        leaf="constant", mixed=0.1, link="identity", scaling="auto", gamma="auto",
        random_state=0,
    ).fit(*rows)  # fmt: skip


def leaves(display):
    return [part for part in display.parts.values() if isinstance(part, DrawnLeaf)]


def test_a_leaf_tells_the_mean_of_its_rows(tree, rows):
    X, y = rows
    display = TreeDisplay.from_tree(tree, X[:60], y[:60]).plot()
    place = tree.apply(X[:60])
    for leaf in leaves(display):
        own = y[:60][np.isin(place, leaf.leaves)]
        assert leaf.mean == pytest.approx(own.mean())
        assert leaf.mass.sum() == pytest.approx(len(own) / 60)
        assert leaf.name.startswith("sum, ≈ " if leaf.terms else "≈ ")
        assert "± " in leaf.lines[0].text
        middle = (own.mean() - y.min()) / (y.max() - y.min())
        assert leaf.lines[0].begin <= middle <= leaf.lines[0].end


def test_darker_is_more(tree):
    display = TreeDisplay.from_tree(tree).plot()
    order = sorted(leaves(display), key=lambda leaf: leaf.mean)
    colours = [display.bands_[leaf.node, 0].get_facecolor()[:3] for leaf in order]
    assert np.all(np.diff([sum(colour) for colour in colours]) < 0)
    assert 0.0 <= min(display.tones.values()) < max(display.tones.values()) <= 1.0


def test_a_curve_is_what_a_typical_sample_would_be(tree, rows):
    X, _ = rows
    usual = {v.name: v.typical for v in tree.encoder.variables}
    base = tree.predict(pd.DataFrame([usual]))[0]
    for name in tree.variables_used:
        display = ContributionDisplay.from_tree(tree, name).plot()
        table = pd.DataFrame([{**usual, name: value} for value in display.values])
        moved, rounding = tree.predict(table) - base, 1e-12 * abs(base)
        np.testing.assert_allclose(display.added[0], moved, atol=rounding)
    with pytest.raises(ValueError, match="one that the tree uses"):
        ContributionDisplay.from_tree(tree, "nothing")


def test_paths_are_scored_by_r2(path, rows):
    X, y = rows
    display = PathDisplay.from_path(path, X, y)
    said = [tree.predict(X) for tree in path.trees]
    expected = [r2_score(y, one) for one in said]
    np.testing.assert_allclose(display.frame["score"], expected)
    assert display.score_name == "R²"
    display.plot(quantity="rmse")
    heat = HeatmapDisplay.from_path(path, X, y, quantity="rmse").plot()
    errors = [root_mean_squared_error(y, one) for one in said]
    np.testing.assert_allclose(heat.values[:, 0], errors)
    with pytest.raises(ValueError, match="one of .*'r2'.*got 'accuracy'"):
        HeatmapDisplay.from_path(path, X, y, quantity="accuracy")
    best = path.select(X, y, max_features=2)
    frontier = FrontierDisplay.from_path(path, X, y, chosen=best).plot()
    assert frontier.chosen.score == pytest.approx(r2_score(y, best.predict(X)))


def test_without_rows_paths_tell_r2_of_training(path, rows):
    display = PathDisplay.from_path(path).plot()
    assert display.score_name == "R² in training"
    expected = [r2_score(rows[1], tree.predict(rows[0])) for tree in path.trees]
    np.testing.assert_allclose(display.frame["score"], expected, atol=1e-9)


@pytest.mark.slow
def test_searches_are_scored_on_their_folds(search):
    for kind in (PathDisplay, HeatmapDisplay, FrontierDisplay):
        kind.from_estimator(search).plot()
    frame = PathDisplay.from_estimator(search).frame
    assert frame["score"].max() == search.cv_results_["mean_score"].max()


def test_stability_counts_slopes(rows):
    model = SORCTRegressor(0, 1.0, leaf="linear", n_starts=1, random_state=0)
    display = StabilityDisplay.from_estimator(model, *rows, cv=3).plot()
    assert display.n_used[0] == 3


def test_text_is_no_number(rows):
    with pytest.raises(ValueError, match="y must be numbers"):
        ResidualDisplay.from_predictions(["a", "b"], [1.0, 2.0])
