"""Doors: every public function and method, with arguments that are right and quick."""

from functools import cache

import numpy as np
import pandas as pd
from sorct.export import json_schema, to_javascript, to_onnx, to_python, to_sql
from sorct.plotting import (
    FrontierDisplay,
    HeatmapDisplay,
    PathDisplay,
    RecallDisplay,
    StabilityDisplay,
    TreeDisplay,
)

from sorct import (
    Path,
    SORCTClassifier,
    SORCTClassifierCV,
    Tree,
    compare,
    explain,
    export_text,
    penalty_bounds,
    sorct_path,
)

N = 24
_GRID = {"alphas_local": [0.1, 1.0], "alphas_global": [0.0], "n_solutions": 2}


@cache
def table():
    """Small tables and labels: an array, and a frame with text."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    X = rng.normal(0.0, 1.0, (N, 3)) + y[:, np.newaxis]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return X, frame.assign(c=np.where(frame["c"] > 0, "u", "v")), y


@cache
def fitted(kind):
    """Fitted things, each made once."""
    X, frame, y = table()
    if kind == "tree":
        clf = SORCTClassifier(alpha_local=0.1, n_starts=2, random_state=0)
        return clf.fit(frame, y)
    if kind == "plain":
        clf = SORCTClassifier(alpha_local=0.1, n_starts=2, random_state=0)
        return clf.fit(X, y)
    if kind == "cv":
        return SORCTClassifierCV(cv=2, random_state=0, **_GRID).fit(X, y)
    return sorct_path(X, y, random_state=0, **_GRID)


def _fit(X, y, sample_weight, callback, **options):
    return SORCTClassifier(**options).fit(X, y, sample_weight, callback=callback)


def _fit_cv(X, y, sample_weight, **options):
    return SORCTClassifierCV(**options).fit(X, y, sample_weight)


def _estimator(kind, method):
    return lambda **options: getattr(fitted(kind), method)(**options)


def _tree(method):
    return lambda **options: getattr(fitted("tree").tree_, method)(**options)


def _path(method):
    return lambda **options: getattr(fitted("path"), method)(**options)


def _page(model):
    return lambda **options: model.report(**options).html()


def _drawn(display, maker, **plot):
    """Make a display and draw it; names that the maker lacks are for the drawing."""

    def call(**options):
        import matplotlib.pyplot as plt

        drawing = {name: options.pop(name) for name in plot}
        try:
            return getattr(display, maker)(**options).plot(**drawing)
        finally:
            plt.close("all")

    return call, plot


def doors():
    """Functions by name, each with arguments that are right."""
    X, frame, y = table()
    tree, path = fitted("tree").tree_, fitted("path")
    data = {"X": X, "y": y}
    seen = {"X": frame, "y": y}
    effort = {
        "tol": 1e-4, "max_iter": 20, "n_jobs": None, "random_state": 0,
        "handle_unknown": "error", "min_recall": None, "cost_matrix": None,
    }  # fmt: skip
    grid = {"alphas_local": [0.1], "alphas_global": [0.0], "n_solutions": 2}
    rows = {"title": None, "rows": 3, "call": None}
    found = {
        "fit": (_fit, {
            **data, "sample_weight": None, "callback": None, "depth": 1,
            "alpha_local": 0.1, "alpha_global": 0.0, "gamma": 64.0, "n_starts": 2,
            "time_limit": 0.3, **effort,
        }),
        "fit_cv": (_fit_cv, {
            **data, "sample_weight": None, "depths": 1, "gammas": 64.0, "cv": 2,
            "scoring": None, "rule": "best", "max_features": None,
            "max_features_per_cut": None, "progress": False, **effort, **grid,
        }),
        "sorct_path": (sorct_path, {
            **data, "depth": 1, "gamma": 64.0, "time_limit": 0.3, "callback": None,
            "sample_weight": None, **effort, **grid,
        }),
        "penalty_bounds": (penalty_bounds, {
            **data, "depth": 1, "sigma": 0.5, "gamma": 64.0, "cost_matrix": None,
            "sample_weight": None,
        }),
        "compare": (compare, {
            **data, "folds": 2, "repeats": 1, "cv": 2, "rule": "best", "scoring": None,
            "depths": 1, "level": 0.05, "n_jobs": None, "random_state": 0,
            "progress": False, **grid,
        }),
        **{
            f"{kind} estimator {name}": (_estimator(kind, name), {"X": known, **more})
            for kind, known in (("tree", frame), ("plain", X))
            for name, more in (
                ("predict", {}),
                ("predict_proba", {}),
                ("predict_bayes", {"priors": None}),
            )
        },
        "unfitted": (lambda X: SORCTClassifier().predict(X), {"X": X}),
        "tree predict": (_tree("predict"), {"X": frame}),
        "tree predict_proba": (_tree("predict_proba"), {"X": frame}),
        "tree predict_bayes": (_tree("predict_bayes"), {"X": frame, "priors": None}),
        "tree leaf_reach": (_tree("leaf_reach"), {"X": frame}),
        "tree round": (_tree("round"), {"digits": 2, **seen}),
        "tree report": (_page(tree), {**seen, **rows}),
        "tree from_dict": (Tree.from_dict, {"data": tree.to_dict()}),
        "path from_dict": (Path.from_dict, {"data": path.to_dict()}),
        "path tree": (_path("tree"), {"i": 0, "j": 0}),
        "path evaluate": (_path("evaluate"), data),
        "path frontier": (_path("frontier"), data),
        "path select": (_path("select"), {
            **data, "max_features": None, "max_features_per_cut": None, "within": 0.0
        }),
        "path report": (_page(path), {**data, **rows, "chosen": None}),
        "explain": (explain, {"tree": tree, "x": frame.iloc[[0]]}),
        "export_text": (export_text, {"tree": tree, "decimals": 2}),
        "to_sql": (to_sql, {"tree": tree, "table": "data", "keep": None}),
        "to_onnx": (to_onnx, {"tree": tree, "dtype": "float64"}),
        "to_python": (to_python, {"tree": tree, "name": "predict"}),
        "to_javascript": (
            to_javascript, {"tree": tree, "name": "predict", "module": "es"}
        ),
        "json_schema": (json_schema, {"kind": "tree"}),
    }  # fmt: skip
    return found | _plots(data, seen)


def _plots(data, seen):
    tree, path, cv = fitted("tree"), fitted("path"), fitted("cv")
    truth = {"y_true": data["y"], "y_pred": data["y"], "labels": None, "floor": None}
    kinds = [
        (TreeDisplay, "from_tree", {"tree": tree.tree_, **seen}, {"max_terms": 6}),
        (TreeDisplay, "from_estimator", {"estimator": tree, **seen}, {}),
        (RecallDisplay, "from_predictions", {**truth, "expected": None}, {}),
        (RecallDisplay, "from_tree", {"tree": tree.tree_, **seen}, {}),
        (RecallDisplay, "from_estimator", {"estimator": tree, **seen}, {}),
        (PathDisplay, "from_path", {"path": path, **data}, {"quantity": "n_variables"}),
        (PathDisplay, "from_estimator", {"search": cv}, {}),
        (FrontierDisplay, "from_path", {"path": path, **data}, {}),
        (FrontierDisplay, "from_estimator", {"search": cv}, {}),
        (HeatmapDisplay, "from_path", {"path": path, **data}, {"ax": None}),
        (HeatmapDisplay, "from_estimator", {"search": cv, "quantity": "score"}, {}),
        (
            StabilityDisplay,
            "from_estimator",
            {"estimator": cv, **data, "cv": 2, "n_jobs": None},
            {"max_variables": 9},
        ),
    ]
    found = {}
    for display, maker, options, plot in kinds:
        call, drawing = _drawn(display, maker, **plot)
        found[f"{display.__name__}.{maker}"] = call, {**options, **drawing}
    return found
