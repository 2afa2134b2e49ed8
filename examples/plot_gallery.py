"""Draw the pictures of docs/plots.md, one per display.

    python examples/plot_gallery.py docs/images

uses breast cancer and wine, which come with scikit-learn, and a planted tree of depth 3
with three true variables per cut.
"""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import train_test_split
from sorct.datasets import make_planted_tree
from sorct.plotting import (
    ContributionDisplay,
    FrontierDisplay,
    HeatmapDisplay,
    ImportanceDisplay,
    PartialDisplay,
    PathDisplay,
    RecallDisplay,
    ReliabilityDisplay,
    ResidualDisplay,
    StabilityDisplay,
    TreeDisplay,
)

from sorct import (
    SORCTClassifier,
    SORCTClassifierCV,
    SORCTForestClassifier,
    SORCTRegressor,
    sorct_path,
)

Rows = tuple[pd.DataFrame, pd.Series]


def cancer() -> tuple[Rows, Rows]:
    """Breast cancer with named classes, in rows to train and rows to judge on."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = y.map({0: "malignant", 1: "benign"})
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, random_state=0, stratify=y
    )
    return (X_train, y_train), (X_test, y_test)


def draw_planted() -> TreeDisplay:
    """Draw a deeper tree, found from samples of a planted one."""
    planted = make_planted_tree(1200, 8, 3, 4, 3, random_state=1)
    names = [f"variable {letter}" for letter in "ABCDEFGH"]
    X = pd.DataFrame(planted.X, columns=names)
    y = pd.Series(planted.y).map(dict(enumerate(("north", "east", "south", "west"))))
    clf = SORCTClassifier(depth=3, alpha_local=0.3, random_state=0).fit(X, y)
    return TreeDisplay.from_estimator(clf).plot(max_terms=4)


def draw_wine() -> HeatmapDisplay:
    """Draw the variables used over both penalties."""
    data = load_wine(as_frame=True)
    path = sorct_path(data.data, data.target, random_state=0)
    return HeatmapDisplay.from_path(path, quantity="n_variables").plot()


def draw_cancer() -> dict[str, Any]:
    """Draw everything that is about choosing and judging a tree."""
    train, test = cancer()
    path = sorct_path(*train, random_state=0)
    search = SORCTClassifierCV(rule="one-standard-error", random_state=0).fit(*train)
    floors = {"malignant": 0.95}
    clf = SORCTClassifier(alpha_local=0.5, min_recall=floors, random_state=0)
    clf.fit(*train)
    chosen = path.select(max_features=5)
    return {
        "contribution": ContributionDisplay.from_estimator(clf, "area error").plot(),
        "path": PathDisplay.from_estimator(search).plot(),
        "frontier": FrontierDisplay.from_path(path, *test, chosen=chosen).plot(),
        "recall": RecallDisplay.from_estimator(clf, *test).plot(),
        "reliability": ReliabilityDisplay.from_estimator(clf, *test).plot(),
        "stability": StabilityDisplay.from_estimator(clf, *train, cv=5).plot(),
    }


def draw_forest() -> Any:
    """Draw the variables of a forest, and what it says as one of them moves."""
    from matplotlib import pyplot

    train, _ = cancer()
    model = SORCTForestClassifier(10, 2, max_features=4, random_state=0).fit(*train)
    _, (left, right) = pyplot.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
    first = ImportanceDisplay.from_estimator(model).plot(left)
    return PartialDisplay.from_estimator(model, first.names[0]).plot(right)


def draw_diabetes() -> dict[str, Any]:
    """Draw a tree of a quantity, and its residuals on rows that it has not seen."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = SORCTRegressor(2, 5.0, random_state=0).fit(X[:300], y[:300])
    display = ResidualDisplay.from_estimator(model, X[300:], y[300:])
    return {
        "residuals": display.plot(kind="residual"),
        "quantity": TreeDisplay.from_estimator(model).plot(),
    }


def main(folder: Path) -> None:
    """Fit, draw, save."""
    displays = {"tree": draw_planted(), "heatmap": draw_wine(), **draw_cancer()}
    displays |= draw_diabetes()
    displays["forest"] = draw_forest()
    for name, display in displays.items():
        save_small(display.figure_, folder / f"plot_{name}.png")


def save_small(figure: Any, file: Path) -> None:
    """Save as a PNG of 64 colours, which are plenty for these."""
    buffer = BytesIO()
    figure.savefig(buffer, dpi=130)
    Image.open(buffer).convert("RGB").quantize(64).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
