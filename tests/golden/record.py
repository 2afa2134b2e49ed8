"""Golden results: what the library gave on a few cells, kept to notice any change.

Compiled code and BLAS round otherwise on other processors, and a search may then end in
another tree that is as good. So results are kept by the name of the processor
(``results-znver5.json``), and compared to the last digits on the same one. On a
processor without a file of its own, ``results-elsewhere.json`` says what has to be
reached; nothing is said there of the way.

``python -m tests.golden.record`` renews the file of this processor; do so only where a
change of results is meant, and say so in the changelog. With ``--texts`` it renews what
is said of the results and keeps every number as it was. Everything goes through public
names.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from llvmlite.binding import get_host_cpu_name
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sorct.datasets import make_planted_tree
from sorct.export import to_javascript, to_onnx, to_python, to_sql

from sorct import (
    PAPER,
    PAPER_ALPHAS,
    SORCTClassifier,
    SORCTClassifierCV,
    explain,
    export_text,
    sorct_path,
)

FOLDER = Path(__file__).parent
OWN = FOLDER / f"results-{get_host_cpu_name()}.json"
ELSEWHERE = FOLDER / "results-elsewhere.json"
#: What two machines need not share: versions of packages, the last steps of a descent.
_VARYING = {"versions", "n_iterations", "residual"}
#: Cells whose texts are kept whole; of the others there are digests.
TOLD = ("iris-both-floors", "cancer-floor", "mixed-depth-2")
TEXTS = ("rules", "rounded", "explanation", "sql", "python", "javascript")
_NUMBER = re.compile(r"-?\b\d+\.\d+(?:e[+-]?\d+)?|-?\b\d+e[+-]?\d+")


def mixed_table(n=400):
    """Numbers, text and booleans, of which three columns decide the class."""
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": np.exp(rng.normal(10.0, 0.6, n)),
            "purpose": rng.choice(["car", "house", "other", "tv"], n),
            "member": rng.random(n) < 0.4,
            "noise": rng.normal(0.0, 1.0, n),
        }
    )
    score = 0.04 * (X["age"] - 45) + 1.5 * (X["purpose"] == "car") - 1.2 * X["member"]
    y = np.where(score + rng.normal(0.0, 0.5, n) > 0, "good", "bad")
    return X, y


def cells():
    """Data and options of the twelve fits."""
    iris = load_iris(return_X_y=True, as_frame=True)
    wine = load_wine(return_X_y=True, as_frame=True)
    cancer = load_breast_cancer(return_X_y=True, as_frame=True)
    planted = make_planted_tree(800, 8, 2, 3, 2, random_state=3)
    deep = make_planted_tree(600, 6, 3, 4, 2, random_state=5)
    mixed = mixed_table()
    weight = 1.0 + np.arange(569) % 3
    costs = np.array([[0.0, 4.0], [1.0, 0.0]])
    return {
        "iris": (iris, {}),
        "iris-local": (iris, {"alpha_local": 0.125}),
        "iris-both-floors": (
            iris,
            {"alpha_local": 0.05, "alpha_global": 0.2, "min_recall": 0.97},
        ),
        "wine-global": (wine, {"alpha_global": 0.25}),
        "wine-starts": (wine, {"alpha_local": 0.5, "n_starts": 6}),
        "cancer-floor": (cancer, {"alpha_local": 0.5, "min_recall": {0: 0.97}}),
        "cancer-costs": (cancer, {"alpha_local": 0.5, "cost_matrix": costs}),
        "cancer-weights": (cancer, {"alpha_local": 1.0, "sample_weight": weight}),
        "planted": ((planted.X, planted.y), {"alpha_local": 0.05}),
        "planted-deep": ((deep.X, deep.y), {"alpha_local": 0.1, "depth": 3}),
        "mixed": (mixed, {"alpha_local": 0.2}),
        "mixed-depth-2": (
            mixed,
            {"alpha_global": 0.3, "depth": 2, "min_recall": {"good": 0.9}},
        ),
    }


def fit(name):
    """Fitted classifier of a cell, with its table."""
    (X, y), options = cells()[name]
    options = dict(options)
    weight = options.pop("sample_weight", None)
    return SORCTClassifier(random_state=0, **PAPER, **options).fit(X, y, weight), X


def tree_result(clf, X):
    """Everything told of a fitted tree: numbers, text, exports, one explanation."""
    tree, row = clf.tree_, X.iloc[3] if hasattr(X, "iloc") else X[3]
    return {
        "objective": clf.objective_,
        "cost": clf.cost_,
        "recall": clf.recall_.tolist(),
        "coef": clf.coef_.tolist(),
        "threshold": clf.threshold_.tolist(),
        "leaf_class": clf.leaf_class_.tolist(),
        "proba": clf.predict_proba(X)[::25].tolist(),
        "rules": export_text(tree),
        "rounded": export_text(tree.round(2).tree, decimals=3),
        "explanation": str(explain(tree, row)),
        "sql": to_sql(tree),
        "python": to_python(tree),
        "javascript": to_javascript(tree),
    }


def path_of_17(random_state=0):
    """Table of a path, its target, and the path."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    return (
        X,
        y,
        sorct_path(
            X,
            y,
            alphas_local=PAPER_ALPHAS,
            relax=False,
            random_state=random_state,
            **PAPER,
        ),
    )


def path_result():
    """A path of 17 penalties, its table, its choices and its report."""
    X, y, path = path_of_17()
    summary = json.loads(path.report(X, y).json())
    for point in summary["points"]:
        point["training"] = without_varying(point["training"])
    return path, {
        "frame": path.to_frame().drop(columns="seconds").to_dict("list"),
        "accuracy": path.evaluate(X, y)["accuracy"].tolist(),
        "frontier": path.frontier(X, y).index.tolist(),
        "selected": export_text(path.select(X, y, max_features=2)),
        "report": summary,
    }


_PARAMS = ("depth", "gamma", "alpha_local", "alpha_global")


def search_result():
    """A choice by cross-validation."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    search = SORCTClassifierCV(
        **PAPER,
        depths=None,
        alphas_local=[0, 0.125, 0.5, 2],
        n_solutions=20,
        relax=False,
        cv=3,
        rule="one-standard-error",
        random_state=0,
    ).fit(X, y)
    results = search.cv_results_.drop(columns="most_variables_per_cut")
    return {
        "best_index": int(search.best_index_),
        "best_params": {key: search.best_params_[key] for key in _PARAMS},
        "scores": results["mean_score"].tolist(),
        "objective": results["objective"].tolist(),
        "rules": export_text(search.tree_),
    }


def onnx_result(clf, X):
    """Probabilities that an ONNX runtime computes."""
    import onnxruntime

    model = to_onnx(clf.tree_, dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    feeds = {}
    for one in session.get_inputs():
        values = X[[one.name]].to_numpy()
        text = one.type == "tensor(string)"
        feeds[one.name] = values.astype(object) if text else values
    return session.run(None, feeds)[1][::25].tolist()


def without_varying(training):
    """A record of training without what no two runs share."""
    return {key: value for key, value in training.items() if key not in _VARYING}


def record():
    """All results as plain data, and a tree and a path."""
    fitted = {name: fit(name) for name in cells()}
    path, told = path_result()
    results = {
        "cells": {name: tree_result(*pair) for name, pair in fitted.items()},
        "path": told,
        "search": search_result(),
        "onnx": onnx_result(*fitted["mixed"]),
    }
    return results, fitted["mixed-depth-2"][0].tree_, path


# -- as kept ---------------------------------------------------------------------------


def compact(results):
    """Results as they are kept: numbers, a few texts, digests of what is long."""
    path = dict(results["path"])
    return {
        "cells": {
            name: compact_cell(name, cell) for name, cell in results["cells"].items()
        },
        "path": path | {"report": compact_report(path["report"])},
        "search": results["search"],
        "onnx": results["onnx"],
    }


def compact_cell(name, cell):
    """Numbers of a cell, its texts to six digits or their digests."""
    texts = {key: to_six_digits(cell[key]) for key in TEXTS}
    if name not in TOLD:
        texts = {key: digest(text) for key, text in texts.items()}
    return {**cell, **texts}


def compact_report(summary):
    """What a report is about, and a digest of all that it says."""
    return {
        "chosen": summary["chosen"],
        "frontier": summary["frontier"],
        "accuracy": [point["accuracy"] for point in summary["points"]],
        "n_variables": [point["n_variables"] for point in summary["points"]],
        "keys": sorted(summary),
        "trees": digest(json.dumps(to_six_decimals(summary["trees"]), sort_keys=True)),
        "points": digest(
            json.dumps(to_six_decimals(summary["points"]), sort_keys=True)
        ),
    }


def to_six_digits(text):
    """Text with its numbers rounded, so that the last bits of a fit do not count."""
    return _NUMBER.sub(lambda found: f"{float(found[0]):.6g}", text)


def to_six_decimals(value):
    """Plain data with their numbers rounded, texts included."""
    if isinstance(value, dict):
        return {key: to_six_decimals(one) for key, one in value.items()}
    if isinstance(value, list):
        return [to_six_decimals(one) for one in value]
    if isinstance(value, str):
        return to_six_digits(value)
    return round(value, 6) + 0.0 if isinstance(value, float) else value


def digest(text):
    """Short fingerprint of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def with_numbers_of(before, found):
    """Results as found, but for numbers, which are those of before."""
    if isinstance(found, dict):
        return {
            key: with_numbers_of(before[key], one) if key in before else one
            for key, one in found.items()
        }
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return found
    if isinstance(found, list) and len(found) == len(before):
        return [with_numbers_of(*pair) for pair in zip(before, found, strict=True)]
    return found if isinstance(found, str) else before


def main(arguments):
    """Write the results."""
    results, _, _ = record()
    found = compact(json.loads(json.dumps(results)))
    if "--texts" in arguments:
        found = with_numbers_of(json.loads(OWN.read_text()), found)
    OWN.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
