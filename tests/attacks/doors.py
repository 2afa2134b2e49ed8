"""Doors: every public function and method, with arguments that are right and quick."""

import atexit
from functools import cache
from inspect import signature
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sorct.export import json_schema, to_javascript, to_onnx, to_python, to_sql
from sorct.plotting import (
    ContributionDisplay,
    FrontierDisplay,
    HeatmapDisplay,
    PathDisplay,
    RecallDisplay,
    ReliabilityDisplay,
    ResidualDisplay,
    StabilityDisplay,
    TreeDisplay,
)

from sorct import (
    Forest,
    Path,
    SORCTClassifier,
    SORCTClassifierCV,
    SORCTForestClassifier,
    SORCTForestRegressor,
    SORCTRegressor,
    SORCTRegressorCV,
    Tree,
    compare,
    distil,
    explain,
    export_text,
    penalty_bounds,
    read_table,
    sorct_path,
)

N = 24
_FOREST = {"gamma": 64.0, "n_starts": 1, "n_folds": 2, "random_state": 0}
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
    if kind == "value":
        reg = SORCTRegressor(1, 0.1, n_starts=2, leaf="linear", random_state=0)
        return reg.fit(frame, X[:, 0])
    if kind == "forest":
        model = SORCTForestClassifier(2, 1, 0.0, 0.01, **_FOREST)
        return model.fit(frame, y)
    if kind == "value forest":
        return SORCTForestRegressor(2, 1, 0.0, 0.01, **_FOREST).fit(frame, X[:, 0])
    if kind == "cv":
        return SORCTClassifierCV(cv=2, random_state=0, **_GRID).fit(X, y)
    return sorct_path(X, y, random_state=0, **_GRID)


def _fit(kind):
    """Fit an estimator, whose arguments come with those of fit."""
    known = set(signature(kind.fit).parameters)

    def call(**options):
        given = {name: options.pop(name) for name in known & set(options)}
        return kind(**options).fit(**given)

    return call


def _with_defaults(function, **options):
    """Right arguments: those given, and the defaults of all others."""
    found = {
        name: one.default
        for name, one in signature(function).parameters.items()
        if one.default is not one.empty
    }
    return {**found, **options}


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
        **_fits(X, y),
        "sorct_path": (sorct_path, _with_defaults(
            sorct_path, **data, depth=1, time_limit=0.3, **effort, **grid
        )),
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
    return found | _values(seen) | _forests(seen) | _plots(data, seen)


def _fits(X, y):
    """All estimators, with all their arguments, in few steps."""
    effort = {"max_iter": 20, "tol": 1e-4, "random_state": 0}
    one = {"depth": 1, "alpha_local": 0.1, "n_starts": 2, "time_limit": 0.3, **effort}
    search = {"depths": 1, "cv": 2, "scaling": "auto", "relax": False, **_GRID}
    search |= {"gamma": 64.0, **effort}
    many = {"n_trees": 2, "depth": 1, "alpha_global": 0.01, "time_limit": 2.0}
    many |= _FOREST
    found = {}
    for kind, quick, target, own in [
        (SORCTClassifier, one, y, {}),
        (SORCTClassifierCV, search, y, {"loss": "cost"}),
        (SORCTRegressor, one, X[:, 0], {}),
        (SORCTRegressorCV, search, X[:, 0], {"leaf": "linear"}),
        (SORCTForestClassifier, many, y, {}),
        (SORCTForestRegressor, many, X[:, 0], {}),
    ]:
        given = {"X": X, "y": target, **_with_defaults(kind.fit, sample_weight=None)}
        given.pop("checkpoint", None)
        options = _with_defaults(kind, **quick, **own)
        found[f"fit {kind.__name__}"] = _fit(kind), {**given, **options}
    return found


def _values(seen):
    """What a tree of a quantity can do."""
    tree, X = fitted("value").tree_, seen["X"]
    data = {"X": X, "y": np.arange(float(N))}
    named = {"tree": tree}
    return {
        "value predict": (fitted("value").predict, {"X": X}),
        "value follow": (tree.follow, {"X": X}),
        "value apply": (tree.apply, {"X": X}),
        "value round": (tree.round, {"digits": 2, **data}),
        "value proba": (tree.predict_proba, {"X": X}),
        "value report": (tree.report, data),
        "value from_dict": (Tree.from_dict, {"data": tree.to_dict()}),
        "value explain": (explain, {**named, "x": X.iloc[[0]], "reach": 1.0}),
        "value text": (export_text, {**named, "decimals": 2}),
        "value to_sql": (to_sql, {**named, "table": "data", "keep": None}),
        "value to_onnx": (to_onnx, {**named, "dtype": "float64"}),
        "value to_python": (to_python, {**named, "name": "predict"}),
        "value to_javascript": (to_javascript, {**named, "name": "f", "module": "es"}),
        "read_table": (read_table, _with_defaults(read_table, path=_file())),
    }


def _forests(seen):
    """What forests can do."""
    X, found = seen["X"], {}
    for kind in ("forest", "value forest"):
        model = fitted(kind)
        forest = model.forest_
        found |= {
            f"{kind} predict": (model.predict, {"X": X}),
            f"{kind} agreement": (forest.agreement, {"X": X}),
            f"{kind} from_dict": (Forest.from_dict, {"data": forest.to_dict()}),
            f"{kind} explain": (explain, {"tree": forest, "x": X.iloc[[0]]}),
            f"{kind} distil": (distil, {
                "forest": forest, "X": X, "sample_weight": None, "n_starts": 2,
                "depth": 1, "random_state": 0,
            }),
            f"{kind} to_python": (to_python, {"tree": forest, "name": "predict"}),
        }  # fmt: skip
    classes = fitted("forest")
    found["forest predict_proba"] = classes.predict_proba, {"X": X}
    found["forest decision_function"] = classes.decision_function, {"X": X}
    return found


@cache
def _file():
    """A file with a small table, removed when the process ends."""
    folder = TemporaryDirectory(prefix="sorct-doors-")
    atexit.register(folder.cleanup)
    table()[1].to_csv(f"{folder.name}/table.csv", index=False)
    return f"{folder.name}/table.csv"


def _plots(data, seen):
    tree, path, cv = fitted("tree"), fitted("path"), fitted("cv")
    value = fitted("value")
    truth = {"y_true": data["y"], "y_pred": data["y"], "labels": None, "floor": None}
    kinds = [
        (TreeDisplay, "from_tree", {"tree": tree.tree_, **seen}, {"max_terms": 6}),
        (TreeDisplay, "from_estimator", {"estimator": tree, **seen}, {}),
        (RecallDisplay, "from_predictions", {**truth, "expected": None}, {}),
        (RecallDisplay, "from_tree", {"tree": tree.tree_, **seen}, {}),
        (RecallDisplay, "from_estimator", {"estimator": tree, **seen}, {}),
        (ContributionDisplay, "from_tree", {"tree": tree.tree_, "variable": "a"}, {}),
        (ReliabilityDisplay, "from_estimator", {"estimator": tree, **seen}, {}),
        (ResidualDisplay, "from_estimator", {"estimator": value, **seen}, {}),
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
