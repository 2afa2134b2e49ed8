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
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from experiments.real_tables import folder, load
from sorct import SORCTRegressorCV

TABLES = (
    "ames", "boston", "cars", "concrete", "diamonds", "hitters", "saratoga", "wage",
)  # fmt: skip
SPLITS = (0, 1, 2)
METHODS = ("ours", "ols", "lasso", "cart")
RESULTS = Path(__file__).parent / "results" / "regression.csv"
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


def _peer(method: str) -> Any:
    if method == "ols":
        return _encoded(LinearRegression())
    if method == "lasso":
        return _encoded(LassoCV(cv=5, random_state=0, max_iter=20_000))
    tree = DecisionTreeRegressor(random_state=0, min_samples_leaf=5)
    grid = {"decisiontreeregressor__max_leaf_nodes": [4, 8, 16, 32, 64, 128, 256]}
    return GridSearchCV(_encoded(tree), grid, cv=5)


def run(method: str, name: str, split: int) -> dict[str, Any]:
    """Train on three quarters of a table and score on the rest."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=split
    )
    begun = time.process_time()
    row: dict[str, Any] = {"method": method, "table": name, "split": split}
    if method == "ours":
        search = SORCTRegressorCV(random_state=0, handle_missing="typical")
        model: Any = search.fit(X_train, y_train)
        tree = search.tree_
        row |= {
            "columns": len(tree.columns_used),
            "variables": len(tree.variables_used),
        }
        row |= {"depth": tree.depth, "leaf": tree.leaf_kind}
    else:
        model = _peer(method).fit(X_train, y_train)
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
    """R² by table and method, means over the splits that are there, as Markdown."""
    rows = known()
    means = rows.pivot_table(index="table", columns="method", values="r2")
    columns = rows.pivot_table(index="table", columns="method", values="columns")
    n_splits = rows[rows["method"] == "ours"].groupby("table").size()
    others = ("rf", "hgb", "ebm")
    lines = [
        "| table | splits | ours | OLS | LASSO | CART | forest | boosting | EBM "
        "| columns | of LASSO |",
        "|---|" + "--:|" * 10,
    ]
    for name in means.index:
        own = [means.loc[name].get(method, np.nan) for method in METHODS]
        told = [peers.get(name, {}).get(key, {}).get("r2", np.nan) for key in others]
        used = [columns.loc[name].get(method, np.nan) for method in ("ours", "lasso")]
        cells = [str(n_splits.get(name, 0)), *(_cell(r2) for r2 in own + told)]
        cells += ["" if np.isnan(n) else f"{n:.1f}" for n in used]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    given = parser.parse_args()
    if not (os.environ.get("SORCT_REAL") or os.environ.get("SORCT_DATA")):
        print("No folder of real tables in SORCT_REAL: regression is left out.")
        return
    done = {(r.method, r.table, r.split) for r in known().itertuples()}
    for split in SPLITS:
        for name in given.tables:
            for method in given.methods:
                if (method, name, split) not in done:
                    row = run(method, name, split)
                    keep(row)
                    print(json.dumps(row), flush=True)
    file = folder().parent / "real_baseline.json"
    peers = json.loads(file.read_text("utf-8")) if file.exists() else {}
    print(report(peers))


if __name__ == "__main__":
    main()
