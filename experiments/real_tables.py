"""Real tables: the default settings on eight of them, beside peers on the same splits.

``python -m experiments.real_tables`` prints what the default settings give; they are
fitted by ``python -m experiments.frontier ours``. ``--variant`` trains with another
setting by the expected cost, to see what a choice is worth: what is finished is kept in
``experiments/results/real_tables.csv``, an interrupted run goes on where it was. Tables
are in the folder that the setting ``SORCT_REAL`` names, by default ``real`` in that of
``SORCT_DATA`` (one CSV file per table, ``schema.json`` with targets), and the peers'
results in ``real_baseline.json`` beside it.
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
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from sorct import PAPER, PAPER_ALPHAS, SORCTClassifierCV
from sorct.data.categorical import Categorical

TABLES = (
    "attrition", "credit", "penguins", "hmda", "lending", "churn", "email", "affairs",
)  # fmt: skip
SPLITS = (0, 1, 2)
RESULTS = Path(__file__).parent / "results" / "real_tables.csv"
FRONTIER = RESULTS.with_name("frontier.csv.gz")
DEFAULT = "default"
# What was the default when the variants below it were compared; the race came later.
COST: dict[str, Any] = {
    "depths": None,
    "loss": "cost",
    "gamma": 512.0,
    "alphas_local": PAPER_ALPHAS,
    "scaling": "auto",
    "n_solutions": 20,
    "relax": False,
    "followable": False,
}
#: Settings to compare with each other.
VARIANTS: dict[str, dict[str, Any]] = {
    "cost": COST,
    "dummies": {**COST, "categorical": "dummies"},
    "minmax": {**COST, "scaling": "minmax"},
    "quantile": {**COST, "scaling": "quantile"},
    "imputed": COST,
    "reference": COST,
    "paper": {**COST, **PAPER, "handle_unknown": "first_level"},
}


def folder() -> Path:
    """Where the tables are."""
    named, data = os.environ.get("SORCT_REAL"), os.environ.get("SORCT_DATA")
    if not (named or data):
        raise SystemExit("Name the folder of the real tables in SORCT_REAL.")
    return Path(named) if named else Path(data) / "real"


def load(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """A table and its target; rows without a target are left out."""
    schema = json.loads((folder() / "schema.json").read_text("utf-8"))
    table = pd.read_csv(folder() / f"{name}.csv")
    table = table[table[schema[name]["target"]].notna()]
    return table.drop(columns=schema[name]["target"]), table[schema[name]["target"]]


def impute(train: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Medians and most frequent levels of training, and indicators of missing cells."""
    filled = other.copy()
    for name in train.columns[train.isna().any()]:
        number = pd.api.types.is_numeric_dtype(train[name])
        value = train[name].median() if number else train[name].mode()[0]
        filled[name] = other[name].fillna(value)
        filled[f"{name} is missing"] = other[name].isna().astype(float)
    return filled


def run(name: str, split: int, variant: str) -> dict[str, Any]:
    """Train on three quarters of a table and score on the rest."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=split, stratify=y
    )
    if variant == "reference":
        # The first level of a category has no column, as in the paper.
        Categorical._first = property(lambda _: 1)
    if variant in ("imputed", "paper"):
        X_train, X_test = impute(X_train, X_train), impute(X_train, X_test)
    begun = time.perf_counter()
    options = {"handle_missing": "typical", **VARIANTS[variant]}
    search = SORCTClassifierCV(random_state=split, **options).fit(X_train, y_train)
    seconds = time.perf_counter() - begun
    proba = search.predict_proba(X_test)
    scores = proba if len(search.classes_) > 2 else proba[:, 1]
    tree = search.tree_
    return {
        "variant": variant,
        "table": name,
        "split": split,
        "acc": float(np.mean(search.predict(X_test) == y_test)),
        "logloss": log_loss(y_test, proba, labels=search.classes_),
        "auc": roc_auc_score(y_test, scores, multi_class="ovr", labels=search.classes_),
        "variables": len(tree.variables_used),
        "columns": len(tree.columns_used),
        "cuts": len(tree.view.cuts),
        "seconds": round(seconds, 1),
    }


def keep(row: dict[str, Any]) -> None:
    """Add a row to the results, by way of a temporary file."""
    rows = [row] if not RESULTS.exists() else [*known().to_dict("records"), row]
    partial = RESULTS.with_suffix(f".{os.getpid()}.partial")
    pd.DataFrame(rows).to_csv(partial, index=False, float_format="%.4f")
    partial.replace(RESULTS)


def known() -> pd.DataFrame:
    """Results so far."""
    if not RESULTS.exists():
        return pd.DataFrame(columns=["variant", "table", "split"])
    return pd.read_csv(RESULTS)


def by_default() -> pd.DataFrame:
    """Results of the default settings, as the frontier has them."""
    rows = pd.read_csv(FRONTIER)
    rows = rows[(rows["method"] == "ours") & rows["table"].isin(TABLES)]
    names = {"accuracy": "acc", "log_loss": "logloss", "n_variables": "variables"}
    return rows.rename(columns=names)


def report(variant: str) -> str:
    """Means over the splits beside the peers', as Markdown."""
    rows = known()
    rows = by_default() if variant == DEFAULT else rows[rows["variant"] == variant]
    peers = json.loads((folder().parent / "real_baseline.json").read_text("utf-8"))
    lines = [
        "| table | accuracy | L1 | CART | forest | boosting | EBM | log-loss | L1 "
        "| AUC | L1 | variables | columns of L1 | seconds |",
        "|---|" + "--:|" * 13,
    ]
    means = rows.groupby("table").mean(numeric_only=True)
    names = [name for name in TABLES if name in means.index]
    peers["mean"] = _mean_of([peers[name] for name in names])
    means.loc["mean"] = means.loc[names].mean()
    for name in [*names, "mean"]:
        own, peer = means.loc[name], peers[name]
        accuracies = [peer[k]["acc"] for k in ("l1", "cart", "rf", "hgb", "ebm")]
        cells = [f"{own['acc']:.3f}", *(f"{a:.3f}" for a in accuracies)]
        cells += [f"{own['logloss']:.3f}", f"{peer['l1']['logloss']:.3f}"]
        cells += [f"{own['auc']:.3f}", f"{peer['l1']['auc']:.3f}"]
        cells += [f"{own['variables']:.1f}", f"{peer['l1']['columns']:.1f}"]
        lines.append(" | ".join([f"| {name}", *cells, f"{own['seconds']:.0f} |"]))
    return "\n".join(lines)


def _mean_of(peers: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean of every score of every peer over tables."""
    mean = {}
    for method, own in peers[0].items():
        scores = {key: [peer[method][key] for peer in peers] for key in own}
        mean[method] = {key: float(np.mean(values)) for key, values in scores.items()}
    return mean


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=TABLES)
    parser.add_argument("--variant", choices=[DEFAULT, *VARIANTS], default=DEFAULT)
    given = parser.parse_args()
    done = {(r.variant, r.table, r.split) for r in known().itertuples()}
    for split in SPLITS if given.variant != DEFAULT else ():
        for name in given.tables:
            if (given.variant, name, split) not in done:
                row = run(name, split, given.variant)
                keep(row)
                print(json.dumps(row), flush=True)
    print(report(given.variant))


if __name__ == "__main__":
    main()
