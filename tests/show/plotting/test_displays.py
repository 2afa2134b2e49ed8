"""What every display promises: your axes, no traces elsewhere, the same picture."""

import doctest
import importlib
import inspect
import re
import sys
from functools import cache, partial
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import sorct.plotting
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sorct.plotting import (
    ContributionDisplay,
    FrontierDisplay,
    HeatmapDisplay,
    ImportanceDisplay,
    PartialDisplay,
    PathDisplay,
    RecallDisplay,
    ReliabilityDisplay,
    StabilityDisplay,
    TreeDisplay,
)

import sorct
from sorct import (
    SORCTClassifier,
    SORCTClassifierCV,
    SORCTForestClassifier,
    sorct_path,
)

PAGE = Path(__file__).parents[3] / "docs" / "plots.md"
MAKERS = {
    "tree": lambda told: TreeDisplay.from_estimator(told["clf"]),
    "tree of rows": lambda told: TreeDisplay.from_estimator(told["clf"], *told["data"]),
    "contribution": lambda told: ContributionDisplay.from_estimator(
        told["clf"], told["clf"].tree_.variables_used[0]
    ),
    "path": lambda told: PathDisplay.from_path(told["path"], *told["data"]),
    "path of a search": lambda told: PathDisplay.from_estimator(told["search"]),
    "heatmap": lambda told: HeatmapDisplay.from_path(told["path"]),
    "heatmap of a search": lambda told: HeatmapDisplay.from_estimator(told["search"]),
    "large heatmap": lambda told: HeatmapDisplay(
        np.arange(30.0).reshape(10, 3), np.arange(10.0), np.arange(3.0), "rank"
    ),
    "frontier": lambda told: FrontierDisplay.from_path(
        told["path"], *told["data"], chosen=told["clf"].tree_
    ),
    "frontier of a search": lambda told: FrontierDisplay.from_estimator(told["search"]),
    "recall": lambda told: RecallDisplay.from_estimator(told["clf"], *told["data"]),
    "reliability": lambda told: ReliabilityDisplay.from_estimator(
        told["clf"], *told["data"]
    ),
    "importance": lambda told: ImportanceDisplay.from_estimator(told["forest"]),
    "partial": lambda told: PartialDisplay.from_estimator(
        told["forest"], "petal width (cm)"
    ),
    "stability": lambda told: StabilityDisplay.from_estimator(
        told["clf"], *told["data"], cv=2
    ),
}
#: Drawn as others are, with less to be seen; they have tests of their own elsewhere.
PLAINER = {"tree", "path", "heatmap", "frontier"}


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def told(iris):
    """Fit one of each kind of thing that can be drawn."""
    X, y = iris
    alphas = {"alphas_local": [0, 0.25, 8], "alphas_global": [0, 1]}
    clf = SORCTClassifier(
        alpha_local=1.0, min_recall={"virginica": 0.8}, n_starts=3, random_state=0
    )
    search = SORCTClassifierCV(
        depths=None, loss="log", scaling="auto", **alphas, cv=2, n_solutions=2,
        random_state=0,
    )  # fmt: skip
    forest = SORCTForestClassifier(
        3, 2, 0.0, 0.05, gamma=100.0, n_starts=1, random_state=0
    )
    return {
        "data": iris,
        "clf": clf.fit(X, y),
        "forest": forest.fit(X, y),
        "path": sorct_path(X, y, **alphas, n_solutions=2, random_state=0),
        "search": search.fit(X, y),
    }


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] * (name in PLAINER))
        for name in MAKERS
    ],
)
def display(request, told):
    """Make every display in turn."""
    return MAKERS[request.param](told)


def two_axes():
    """Two axes side by side in a figure that pyplot does not know."""
    figure = Figure(figsize=(12.0, 4.0))
    FigureCanvasAgg(figure)
    return figure.subplots(1, 2)


def pixels(figure):
    """The picture, coarse: fewer pixels to draw and to compare."""
    figure.set_dpi(40)
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


@cache
def nothing_drawn():
    """The picture of two empty axes."""
    return pixels(two_axes()[0].figure)


def test_given_axes_are_used_and_no_others(display):
    """Nothing is added to the figure or to its other axes, and pyplot sees nothing."""
    left, right = two_axes()
    before = nothing_drawn()
    untouched = right.get_children()
    assert display.plot(left) is display
    assert display.ax_ is left
    assert display.figure_ is left.figure
    assert left.figure.axes == [left, right]
    assert right.get_children() == untouched
    assert pyplot.get_fignums() == []
    after = pixels(left.figure)
    half = before.shape[1] // 2
    assert not np.array_equal(before[:, :half], after[:, :half])


def test_without_axes_a_figure_is_made(told):
    """That leaves no traces."""
    assert_a_figure_is_made(MAKERS["recall"](told))


@pytest.mark.slow
def test_every_display_makes_a_figure_without_axes(display):
    """That leaves no traces."""
    assert_a_figure_is_made(display)


def assert_a_figure_is_made(display):
    """One, which pyplot shows; the same picture twice, settings as they were."""
    before = dict(mpl.rcParams)
    pictures = []
    for n in (1, 2):
        display.plot()
        assert len(pyplot.get_fignums()) == n
        assert display.figure_ is pyplot.gcf()
        assert display.ax_ in display.figure_.axes
        pictures.append(pixels(display.figure_))
    assert np.array_equal(*pictures)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", sorct.show.plotting.__all__)
def test_every_display_is_documented_and_drawn_by_plot(name):
    """Docstrings on the class and its methods; ``ax`` comes first and may be None."""
    cls = getattr(sorct.plotting, name)
    own = [getattr(cls, name) for name in vars(cls) if not name.startswith("_")]
    own = [member for member in own if callable(member) or isinstance(member, property)]
    assert len(own) >= 2
    for member in (cls, *own):
        assert inspect.getdoc(member)
    parameters = list(inspect.signature(cls.plot).parameters.values())
    assert parameters[1].name == "ax"
    assert all(p.default is not p.empty for p in parameters[1:])


@pytest.mark.parametrize("name", sorct.show.plotting.__all__)
def test_examples_in_docstrings_run(name):
    """Every display has one, and it gives what it shows."""
    module = importlib.import_module(getattr(sorct.plotting, name).__module__)
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0


def test_without_matplotlib_only_drawing_fails_and_names_the_extra(monkeypatch):
    """Displays can be made and read, ``plot`` says what to install.

    That they load without it is held where the front door is.
    """
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # importing it now fails
    display = sorct.plotting.RecallDisplay.from_predictions(["a", "b"], ["a", "a"])
    assert display.recall.tolist() == [1.0, 0.0]
    with pytest.raises(ImportError, match=r'pip install "sorct\[plot\]"') as caught:
        display.plot()
    assert "RecallDisplay.plot" in str(caught.value)


@pytest.mark.slow
def test_the_lines_of_the_page_run(told):
    """On smaller data than the page's, whose first block only fits things."""
    X, y = told["data"]
    scope = {
        **{name: getattr(sorct.plotting, name) for name in sorct.show.plotting.__all__},
        "SORCTClassifierCV": partial(
            SORCTClassifierCV,
            alphas_local=[0.1, 1.0],
            cv=2,
            n_solutions=1,
            loss="log",
            scaling="auto",
        ),
        **{"X_train": X, "y_train": y, "X_test": X, "y_test": y},
        **{"clf": told["clf"], "path": told["path"]},
    }
    first, *blocks = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text("utf-8"))
    compile(first, str(PAGE), "exec")
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    drawn = "".join(blocks)
    assert all(f"{name}.from_" in drawn for name in sorct.show.plotting.__all__)


def test_the_pictures_of_the_page_are_there_and_small():
    """Less than 120 kB each, with words for those who cannot see them."""
    pictures = re.findall(r"!\[(.+?)\]\((.+?)\)", PAGE.read_text("utf-8"))
    # One of each display, those of a forest in one, and the tree of a quantity.
    assert len(pictures) == len(sorct.show.plotting.__all__)
    for words, file in pictures:
        assert len(words) > 20
        assert (PAGE.parent / file).stat().st_size < 120_000


def test_other_estimators_are_refused(iris):
    """The message says what was expected and what was got."""
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier

    other = DecisionTreeClassifier().fit(iris[0], iris[1])
    with pytest.raises(TypeError, match="got DecisionTreeClassifier"):
        TreeDisplay.from_estimator(other)
    with pytest.raises(TypeError, match="SORCTRegressorCV, got Decision"):
        FrontierDisplay.from_estimator(other)
    with pytest.raises(NotFittedError):
        TreeDisplay.from_estimator(SORCTClassifier())


@pytest.mark.parametrize("odd", [None, [], 1j, "tree"])
def test_displays_of_other_things_are_refused(odd):
    """The message says what was expected."""
    X, y = np.zeros((4, 1)), np.zeros(4)
    for display in (FrontierDisplay, HeatmapDisplay, PathDisplay):
        with pytest.raises(TypeError, match="Expected a Path"):
            display.from_path(odd)
    for display in (TreeDisplay, RecallDisplay, ReliabilityDisplay):
        with pytest.raises(TypeError, match="Tree"):
            display.from_tree(odd, X, y)
    with pytest.raises(TypeError, match="Tree"):
        ContributionDisplay.from_tree(odd, "x")
    with pytest.raises(TypeError, match="Expected a SORCTClassifier"):
        StabilityDisplay.from_estimator(odd, X, y)


@pytest.mark.parametrize("odd", [3, "axes", []])
def test_axes_that_are_none_are_refused(odd):
    """Before anything is drawn."""
    display = RecallDisplay.from_predictions([0, 1], [0, 1])
    with pytest.raises(TypeError, match="ax must be Axes"):
        display.plot(odd)


@pytest.mark.parametrize("rates", [10**400, ["x", "y"], [10**400, 1], [1j, 0]])
def test_rates_that_are_no_numbers_are_refused(rates):
    """By name."""
    with pytest.raises(ValueError, match="floor must h"):
        RecallDisplay.from_predictions([0, 1], [0, 1], floor=rates)
