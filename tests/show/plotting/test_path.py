from copy import copy

import numpy as np
import pytest
from matplotlib import pyplot
from sorct.plotting import FrontierDisplay, HeatmapDisplay, PathDisplay

from sorct import SORCTClassifierCV, sorct_path
from sorct.show.plotting._grid import search_grid
from sorct.show.plotting.frontier import Mark


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def path(iris):
    """Trace a path over both penalties."""
    return sorct_path(
        *iris, alphas_local=[0, 0.01, 1, 8], alphas_global=[0, 0.5, 2], n_solutions=1,
        random_state=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def search(iris):
    """Choose among two depths, so that not all candidates are on one grid."""
    return SORCTClassifierCV(
        depths=[2, 3], alphas_local=[0.01, 1.0, 8.0], alphas_global=[0.0, 1.0], cv=2,
        loss="log", scaling="auto", n_solutions=1, random_state=0,
    ).fit(*iris)  # fmt: skip


def frame_along(path, iris, column):
    """Column of the frame at the smallest global penalty."""
    frame = path.evaluate(*iris)
    return frame.loc[frame["alpha_global"] == 0.0, column].to_numpy()


#: Columns of one table, drawn as the first is.
FURTHER = ["n_columns", "local_sparsity", "global_sparsity", "cost"]
IN_CELLS = ["n_variables", "local_sparsity", "global_sparsity", "objective"]


@pytest.mark.parametrize(
    "quantity",
    ["n_variables", *(pytest.param(q, marks=pytest.mark.slow) for q in FURTHER)],
)
def test_lines_are_the_numbers_of_the_path(path, iris, quantity):
    """Penalties above 0 at themselves, 0 apart on their left."""
    display = PathDisplay.from_path(path, *iris).plot(quantity=quantity)
    for column, line, zero in zip(
        ("accuracy", quantity), display.lines_, display.zeros_, strict=True
    ):
        value = frame_along(path, iris, column)
        assert line.get_xdata().tolist() == [0.01, 1.0, 8.0]
        assert line.get_ydata().tolist() == value[1:].tolist()
        assert zero.get_ydata().tolist() == value[:1].tolist()
        assert 0.0 < zero.get_xdata()[0] < 0.01
    assert [label.get_text() for label in display.axes_[1].get_xticklabels()] == [
        "0", "0.01", "1", "8",
    ]  # fmt: skip


def test_along_the_other_penalty(path, iris):
    """At the value asked for."""
    display = PathDisplay.from_path(path, *iris, along="global", other=0.01)
    frame = path.evaluate(*iris)
    expected = frame[frame["alpha_local"] == 0.01]
    assert display.frame["alpha"].tolist() == [0.0, 0.5, 2.0]
    assert display.frame["score"].tolist() == expected["accuracy"].tolist()
    with pytest.raises(
        ValueError, match="other must be one of the values of alpha_loc"
    ):
        PathDisplay.from_path(path, along="global", other=0.3)
    with pytest.raises(ValueError, match='along must be "local"'):
        PathDisplay.from_path(path, along="up")
    with pytest.raises(ValueError, match="quantity must be one of"):
        display.plot(quantity="beauty")


def test_without_data_accuracy_is_that_expected_in_training(path):
    """Share of the sample in leaves of its class, added up one by one."""
    display = PathDisplay.from_path(path)
    for score, i in zip(display.frame["score"], range(4), strict=True):
        tree = path.tree(i, 0)
        right = sum(tree.mass[k, leaf] for leaf, k in enumerate(tree.leaf_class))
        assert score == pytest.approx(right)
    assert "training" in display.score_name
    with pytest.raises(ValueError, match="both X and y"):
        PathDisplay.from_path(path, X=[[0.0] * 4])


@pytest.mark.slow
def test_a_path_of_one_penalty_is_a_point(iris):
    """Zero alone, or a single one above it."""
    for alpha in (0.0, 0.5):
        path = sorct_path(
            *iris, alphas_local=alpha, alphas_global=0.0, n_solutions=1, random_state=0
        )
        display = PathDisplay.from_path(path).plot()
        told = display.lines_[0].get_xydata().size + display.zeros_[0].get_xydata().size
        assert told == 2
        FrontierDisplay.from_path(path).plot()
        HeatmapDisplay.from_path(path).plot()


def test_every_score_is_in_view_or_told(path, iris):
    """Where the axis leaves the worst out, its value is written at the foot."""
    display = PathDisplay.from_path(path, *iris).plot()
    upper = display.axes_[0]
    written = {text.get_text() for text in upper.texts}
    low, high = upper.get_ylim()
    for score in display.frame["score"]:
        assert low <= score <= high or f"{score:.3f}" in written


def test_a_search_shows_its_folds_and_its_choice(search):
    """Mean scores and standard errors at the depth chosen, of relaxed trees or not."""
    display = PathDisplay.from_estimator(search).plot()
    results = search.cv_results_
    best = results.loc[search.best_index_]
    fixed = ["depth", "relaxed", "alpha_global"]
    same = (results[fixed] == best[fixed]).all(axis=1)
    assert same.sum() == 3
    assert display.frame["score"].tolist() == results[same]["mean_score"].tolist()
    assert display.frame["error"].tolist() == results[same]["se_score"].tolist()
    assert display.chosen == best["alpha_local"]
    assert "mean over folds" in display.score_name


def test_a_search_along_another_line_marks_no_choice(search):
    """The choice is not on it."""
    chosen = search.best_params_["alpha_global"]
    other = 1.0 - chosen
    assert PathDisplay.from_estimator(search, other=other).chosen is None


@pytest.mark.parametrize(
    "quantity",
    ["accuracy", *(pytest.param(q, marks=pytest.mark.slow) for q in IN_CELLS)],
)
def test_cells_are_the_numbers_of_the_path(path, iris, quantity):
    """Local penalties upwards, global ones to the right."""
    display = HeatmapDisplay.from_path(path, *iris, quantity=quantity).plot()
    frame = path.evaluate(*iris)
    for i, local in enumerate(path.alphas_local):
        for j, spread in enumerate(path.alphas_global):
            here = (frame["alpha_local"] == local) & (frame["alpha_global"] == spread)
            assert display.values[i, j] == frame.loc[here, quantity].item()
    assert np.array_equal(display.mesh_.get_array(), display.values)
    assert len(display.texts_) == display.values.size
    for text, value in zip(display.texts_, display.values.ravel(), strict=True):
        assert float(text.get_text()) == pytest.approx(value, rel=6e-3)


def test_large_grids_have_a_scale_instead_of_figures():
    """Inside the axes' own place; nothing is written in the cells."""
    values = np.arange(100.0).reshape(10, 10)
    display = HeatmapDisplay(values, np.arange(10.0), np.arange(10.0), "rank").plot()
    assert display.texts_ == []
    assert len(display.ax_.child_axes) == 1


def test_a_search_frames_its_cell(search):
    """The cell chosen has the score of the choice."""
    display = HeatmapDisplay.from_estimator(search).plot()
    assert display.values[display.chosen] == search.best_score_
    i, j = display.chosen
    assert display.alphas_local[i] == search.best_params_["alpha_local"]
    assert display.alphas_global[j] == search.best_params_["alpha_global"]
    with pytest.raises(ValueError, match="quantity must be one of"):
        HeatmapDisplay.from_estimator(search, quantity="accuracy")


def test_the_frontier_is_what_no_tree_beats(rng):
    """Every tree off it is beaten or equalled by one on it, none on it is beaten."""
    used, score = rng.integers(0, 9, 60), np.round(rng.random(60), 1)
    display = FrontierDisplay(used, score, "accuracy")
    best = display.frontier
    for i in range(60):
        assert any(used[j] <= used[i] and score[j] >= score[i] for j in best)
    for j in best:
        assert not any((used <= used[j]) & (score > score[j]))
        assert not any((used < used[j]) & (score >= score[j]))
    assert (np.diff(used[best]) > 0).all()
    assert (np.diff(score[best]) > 0).all()


def test_points_are_the_trees_of_the_path(path, iris):
    """All of them, relaxed ones too, the frontier among them, and the tree chosen."""
    tree = path.select(max_features=2)
    display = FrontierDisplay.from_path(path, *iris, chosen=tree).plot()
    used = [len(one.variables_used) for one in path.offered]
    right = [np.mean(one.predict(iris[0]) == iris[1]) for one in path.offered]
    assert len(used) == 2 * len(path)
    assert display.points_.get_xdata().tolist() == used
    assert display.points_.get_ydata().tolist() == right
    assert display.chosen.n_variables == len(tree.variables_used) <= 2
    assert display.chosen.score == np.mean(tree.predict(iris[0]) == iris[1])
    on_line = set(zip(*display.line_.get_data(), strict=True))
    assert on_line <= set(zip(*display.points_.get_data(), strict=True))


def test_no_tree_of_a_path_is_above_the_staircase(path, iris):
    """Whichever is chosen, a relaxed one or not, its ring is on it or below."""
    for tree in path.offered:
        for data in (iris, ()):
            display = FrontierDisplay.from_path(path, *data, chosen=tree)
            best = display.frontier[
                display.n_variables[display.frontier] <= display.chosen.n_variables
            ]
            assert display.chosen.score <= display.score[best].max() + 1e-12


@pytest.mark.every_value
@pytest.mark.parametrize("best", [0.9996, 0.972, 0.95, 0.61, 1.0])
@pytest.mark.parametrize("span", [0.4, 0.05, 0.003])
def test_the_score_of_the_choice_can_be_read_and_no_room_is_wasted(best, span):
    """A tick at or above it is in view, and the best tree is near the top."""
    used, score = np.array([0, 1, 4, 9]), best - span * np.array([1, 0.7, 0.2, 0])
    display = FrontierDisplay(used, score, "accuracy", Mark(9, best)).plot()
    ticks, (low, high) = display.ax_.get_yticks(), display.ax_.get_ylim()
    assert any(best - 1e-9 <= tick <= high for tick in ticks)
    assert max(ticks) <= 1.0 + 1e-9
    assert (high - best) / (high - low) < 0.2
    assert f"{best:.3f}" in display.ax_.get_title("right")


def test_variables_are_counted_in_whole_numbers(path):
    """No tick stands between two counts."""
    ticks = PathDisplay.from_path(path, other=2.0).plot().axes_[1].get_yticks()
    assert (ticks == np.round(ticks)).all()


def test_the_penalty_that_is_fixed_is_told(path, search, iris):
    """Which one it is, and at what value; nothing where there is but one."""
    label = PathDisplay.from_path(path, *iris, other=0.5).plot().axes_[1].get_xlabel()
    assert label == "alpha_local, with alpha_global = 0.5"
    label = PathDisplay.from_path(path, along="global").plot().axes_[1].get_xlabel()
    assert label == "alpha_global, with alpha_local = 0"
    chosen = search.best_params_["alpha_global"]
    label = PathDisplay.from_estimator(search).plot().axes_[1].get_xlabel()
    assert label == f"alpha_local, with alpha_global = {chosen:g}"
    few = {"alphas_global": 0, "n_solutions": 1, "random_state": 0}
    one = sorct_path(*iris, alphas_local=[0.0, 1.0], **few)
    assert PathDisplay.from_path(one).plot().axes_[1].get_xlabel() == "alpha_local"


def test_a_search_marks_its_tree(search):
    """Number of variables of the tree, mean score on the folds."""
    display = FrontierDisplay.from_estimator(search)
    assert display.chosen.n_variables == len(search.tree_.variables_used)
    assert display.chosen.score == search.best_score_
    results = search.cv_results_
    same = results["depth"] == search.best_params_["depth"]
    assert display.score.tolist() == results[same]["mean_score"].tolist()


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("depth", [2, 3])
def test_any_choice_is_framed(search, depth, relaxed):
    """Whichever path it is on, and whether the tree is relaxed or not."""
    results = search.cv_results_
    here = (results["depth"] == depth) & ((results["relaxed"] < 1) == relaxed)
    index = int(np.flatnonzero(here)[3])
    other = copy(search)
    found = search._candidates
    other.path_, other.best_index_ = found.paths[found.place(index)[0]], index
    other.tree_ = found.trees[index]
    display = HeatmapDisplay.from_estimator(other)
    assert display.values.ravel().tolist() == results[here]["mean_score"].tolist()
    assert display.values[display.chosen] == results["mean_score"][index]


def test_a_search_by_another_score_says_so(iris):
    """The label is the scorer's name."""
    search = SORCTClassifierCV(
        depths=None, loss="cost", scaling="auto", alphas_local=[1.0], cv=2,
        n_solutions=1, scoring="neg_log_loss", random_state=0,
    ).fit(*iris)  # fmt: skip
    assert FrontierDisplay.from_estimator(search).score_name.startswith("neg_log_loss")


def test_where_errors_cost_differently_a_path_is_scored_by_cost(rng):
    """On data and without; no plot may show another score than goes into the choice."""
    X = rng.random((60, 2))
    y = (X[:, 0] > rng.random(60)).astype(int)
    path = sorct_path(
        X, y, cost_matrix=[[0, 1], [5, 0]], alphas_local=[0.1, 1], n_solutions=2,
        random_state=0,
    )  # fmt: skip
    frame = path.evaluate(X, y)
    chosen = path.trees[1]
    display = FrontierDisplay.from_path(path, X, y, chosen=chosen)
    assert display.score_name == "minus the mean cost"
    assert display.score[: len(path)].tolist() == (-frame["mean_cost"]).tolist()
    assert display.chosen.score == pytest.approx(-frame["mean_cost"][1])
    heat = HeatmapDisplay.from_path(path, X, y)
    assert heat.values[:, 0].tolist() == display.score[: len(path)].tolist()
    accuracy = HeatmapDisplay.from_path(path, X, y, quantity="accuracy")
    assert accuracy.values[:, 0].tolist() == frame["accuracy"].tolist()
    expected = PathDisplay.from_path(path)
    assert expected.score_name == "minus the expected cost in training"
    np.testing.assert_allclose(expected.frame["score"], -frame["cost"], rtol=1e-12)


def test_where_errors_have_prices_the_score_is_named_for_them(rng):
    """Cross-validation then goes by the mean cost; no axis may call that accuracy."""
    X = rng.random((60, 2))
    y = (X[:, 0] > 0.5).astype(int)
    grid = {"alphas_local": [0.1, 1], "n_solutions": 2, "cv": 2, "random_state": 0}
    grid |= {"depths": 1, "scaling": "auto"}
    names = {
        "minus the mean cost": {"loss": "log", "cost_matrix": [[0, 1], [5, 0]]},
        "accuracy": {"loss": "cost"},
        "minus the log-loss": {"loss": "log"},
    }
    for name, options in names.items():
        search = SORCTClassifierCV(**grid, **options).fit(X, y)
        assert search_grid(search).score_name == f"{name}, mean over folds"
