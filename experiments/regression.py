"""Regression: the default settings on eight real tables, beside OLS, LASSO and CART.

``python -m experiments.regression`` reads the tables from the folder that the setting
``SORCT_REAL`` names, by default ``real`` in that of ``SORCT_DATA``, and does nothing
where there is none. Three quarters of a table are trained on (seeds 0, 1, 2), the rest
is scored; every method chooses its settings on the training part alone. What is
finished is kept in ``experiments/results/regression.csv``; an interrupted run goes on
where it was. Peers that need other packages (forests, boosting, explainable boosting)
are read from ``real_baseline.json`` beside the folder, if it is there.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from experiments.real_tables import folder, load
from sorct import SORCTForestRegressor, SORCTRegressorCV

TABLES = (
    "ames", "boston", "cars", "concrete", "diamonds", "hitters", "saratoga", "wage",
)  # fmt: skip
SPLITS = (0, 1, 2)
#: Ours by default, and by another rule of choice.
RULES = {"ours": "paired", "ours-1se": "one-standard-error"}
METHODS = (*RULES, "ours-forest", "ols", "lasso", "cart")
RESULTS = Path(__file__).parent / "results" / "regression.csv"
OUTPUT = Path(__file__).parent / "output" / "regression"
_KEYS = ["method", "table", "split"]


def _encoded(model: Any) -> Pipeline:
    """A model on scaled numbers and one column per level."""
    columns = make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
            make_column_selector(dtype_include=np.number),
        ),
        (
            OneHotEncoder(handle_unknown="ignore", min_frequency=5),
            make_column_selector(dtype_exclude=np.number),
        ),
    )
    return make_pipeline(columns, model)


def peer(method: str) -> Any:
    """A peer by its name, not fitted."""
    if method == "forest":
        return _encoded(RandomForestRegressor(300, random_state=0))
    if method == "ols":
        return _encoded(LinearRegression())
    if method == "lasso":
        return _encoded(LassoCV(cv=5, random_state=0, max_iter=20_000))
    tree = DecisionTreeRegressor(random_state=0, min_samples_leaf=5)
    grid = {"decisiontreeregressor__max_leaf_nodes": [4, 8, 16, 32, 64, 128, 256]}
    return GridSearchCV(_encoded(tree), grid, cv=5)


def run(method: str, name: str, split: int) -> dict[str, Any]:
    """Train on three quarters of a table and score on the rest."""
    parts = train_test_split(*load(name), test_size=0.25, random_state=split)
    return {"method": method, "table": name, "split": split, **scored(method, *parts)}


def scored(method: str, X_train: Any, X_test: Any, y_train: Any, y_test: Any) -> Any:
    """What a method learns from some rows, and R² on the others."""
    begun, row = time.process_time(), dict[str, Any]()
    if method in RULES:
        options = {"random_state": 0, "handle_missing": "typical"}
        search = SORCTRegressorCV(rule=RULES[method], **options)
        model: Any = search.fit(X_train, y_train)
        tree = search.tree_
        row |= {
            "columns": len(tree.columns_used),
            "variables": len(tree.variables_used),
        }
        row |= {"depth": tree.depth, "leaf": tree.leaf_kind}
        row["link"] = tree.quantity.link
        row["by_hand"] = float(r2_score(y_test, tree.follow(X_test)))
    elif method == "ours-forest":
        model = SORCTForestRegressor(random_state=0, handle_missing="typical")
        forest = model.fit(X_train, y_train).forest_
        row |= {
            "columns": len(forest.columns_used),
            "variables": len(forest.variables_used),
        }
        row["link"] = forest.quantity.link
    else:
        model = peer(method).fit(X_train, y_train)
        row["columns"] = _columns_used(model)
    row["seconds"] = round(time.process_time() - begun, 1)
    row["r2"] = float(r2_score(y_test, model.predict(X_test)))
    return row


def _columns_used(model: Any) -> int:
    """Columns that a peer uses."""
    best = getattr(model, "best_estimator_", model)[-1]
    weights = getattr(best, "coef_", None)
    if weights is None:
        weights = best.feature_importances_
    return int(np.count_nonzero(weights))


def known() -> pd.DataFrame:
    """Results so far."""
    if not RESULTS.exists():
        return pd.DataFrame(columns=[*_KEYS, "r2", "columns", "seconds"])
    return pd.read_csv(RESULTS)


def keep(row: dict[str, Any]) -> None:
    """Add a row to the results, by way of a temporary file."""
    rows = [*known().to_dict("records"), row]
    partial = RESULTS.with_suffix(f".{os.getpid()}.partial")
    frame = pd.DataFrame(rows).sort_values(_KEYS)
    frame.to_csv(partial, index=False, float_format="%.4f")
    partial.replace(RESULTS)


def report(peers: dict[str, Any]) -> str:
    """R² by table and method as Markdown: means over the splits that ours has."""
    rows, others = known(), ("rf", "hgb", "ebm")
    ours = rows[rows["method"] == "ours"][["table", "split"]]
    rows = rows.merge(ours, on=["table", "split"])
    found = rows.pivot_table(index="table", columns="method", values="r2")
    found = found.reindex(columns=list(METHODS))
    for key in others:
        told = [peers.get(name, {}).get(key, {}).get("r2") for name in found.index]
        found[key] = np.array(told, dtype=np.float64)
    columns = rows.pivot_table(index="table", columns="method", values="columns")
    columns = columns.reindex(columns=["ours", "ours-1se", "lasso"])
    own = rows[rows["method"] == "ours"].groupby("table")
    found.insert(1, "by hand", own["by_hand"].mean())
    lines = [
        "| table | splits | ours | by hand | ours 1-SE | our forest | OLS | LASSO "
        "| CART | random forest | boosting | EBM | columns | 1-SE | of LASSO |",
        "|---|" + "--:|" * 14,
    ]
    for name in found.index:
        cells = [str(own.size()[name]), *map(_cell, found.loc[name])]
        cells += [f"{n:.1f}" for n in columns.loc[name]]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    cells = ["", *map(_cell, found.mean()), *(f"{n:.1f}" for n in columns.mean())]
    return "\n".join([*lines, f"| mean | {' | '.join(cells)} |"])


def draw(file: Path) -> None:
    """R² against the number of columns: ours, LASSO and CART, a panel per table."""
    from matplotlib.figure import Figure

    rows = known()
    names = [name for name in TABLES if name in set(rows["table"])]
    figure = Figure(figsize=(10.0, 5.0), layout="constrained")
    axes = figure.subplots(2, 4).ravel()
    looks = {"ours": ("o", "#0072b2"), "lasso": ("s", "#e69f00"), "cart": ("^", "#666")}
    for ax, name in zip(axes, names, strict=False):
        for method, (marker, colour) in looks.items():
            part = rows[(rows["table"] == name) & (rows["method"] == method)]
            ax.plot(part["columns"], part["r2"], marker, color=colour, label=method)
        ax.set_title(name, fontsize=9)
        ax.set_xlim(left=0.0)
        ax.tick_params(labelsize=7)
    axes[0].legend(fontsize=7, frameon=False)
    figure.supxlabel("columns used", fontsize=9)
    figure.supylabel("R² on the test part, a mark per split", fontsize=9)
    draft = file.with_suffix(f".{os.getpid()}.partial")
    figure.savefig(draft, format="png", dpi=110)
    draft.replace(file)


def _cell(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--splits", nargs="+", type=int, default=SPLITS)
    parser.add_argument("--draw-only", action="store_true")
    given = parser.parse_args()
    if not (os.environ.get("SORCT_REAL") or os.environ.get("SORCT_DATA")):
        print("No folder of real tables in SORCT_REAL: regression is left out.")
        return
    done = {(r.method, r.table, r.split) for r in known().itertuples()}
    for split in () if given.draw_only else given.splits:
        for name in given.tables:
            for method in given.methods:
                if (method, name, split) not in done:
                    row = run(method, name, split)
                    keep(row)
                    print(json.dumps(row), flush=True)
    file = folder().parent / "real_baseline.json"
    peers = json.loads(file.read_text("utf-8")) if file.exists() else {}
    text = report(peers)
    OUTPUT.with_suffix(".md").write_text(f"{text}\n", "utf-8")
    draw(OUTPUT.with_suffix(".png"))
    print(text)


if __name__ == "__main__":
    main()
