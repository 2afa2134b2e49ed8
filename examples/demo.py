"""Fit a sparse tree on breast cancer, set it beside two classics, write the report.

Run by ``make demo``. The data set ships with scikit-learn: no network is needed.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

from sorct import SORCTClassifierCV, sorct_path
from sorct.search.warm_up import warm_up

REPORT = Path("report.html")
ROW = "{:<28} {:>9} {:>10} {:>10}"


def load():
    """Training and held-out parts; the classes by name."""
    data = load_breast_cancer(as_frame=True)
    names = data.target.map(dict(enumerate(data.target_names)))
    return train_test_split(
        data.data, names, test_size=0.25, random_state=0, stratify=names
    )


def timed(fit):
    """Result and seconds of a call."""
    begun = time.perf_counter()
    return fit(), time.perf_counter() - begun


def main():
    """Fit, print the rules, compare."""
    X_train, X_test, y_train, y_test = load()
    print("Preparing compiled code (the first time on a machine takes a while) ...")
    print(f"ready after {warm_up():.1f} s\n")

    print("Choosing the settings of a tree by cross-validation ...\n")
    options = {"rule": "one-standard-error", "min_recall": 0.9, "random_state": 0}
    tree = SORCTClassifierCV(**options)
    _, seconds = timed(lambda: tree.fit(X_train, y_train))
    print(tree.tree_)
    print(f"\n{tree.why_}")
    print(
        f"\nlocal sparsity {tree.local_sparsity_:.1f} %, "
        f"global sparsity {tree.global_sparsity_:.1f} %, "
        f"residual {tree.residual_:.0e}"
    )

    cart = DecisionTreeClassifier(
        min_samples_split=20, min_samples_leaf=7, random_state=0
    )
    _, cart_seconds = timed(lambda: cart.fit(X_train, y_train))
    lasso = GridSearchCV(
        make_pipeline(
            MinMaxScaler(),
            LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=10_000),
        ),
        {"logisticregression__C": np.logspace(-2, 2, 9)},
    )
    _, lasso_seconds = timed(lambda: lasso.fit(X_train, y_train))

    print("\n" + ROW.format("held-out quarter", "accuracy", "variables", "seconds"))
    for name, model, used, spent in (
        ("sparse tree, all chosen", tree, len(tree.tree_.variables_used), seconds),
        ("CART", cart, np.count_nonzero(cart.feature_importances_), cart_seconds),
        ("L1 logistic (5-fold CV)", lasso, _used(lasso), lasso_seconds),
    ):
        accuracy = f"{model.score(X_test, y_test):.3f}"
        print(ROW.format(name, accuracy, int(used), f"{spent:.3f}"))

    path = sorct_path(X_train, y_train, min_recall=0.9, random_state=0)
    report = path.report(X_test, y_test, title="Breast cancer: 17 sparse trees")
    report.write_html(REPORT)
    print(f"\nThe whole trade-off, to click through: open {REPORT.resolve()}")


def _used(lasso):
    return np.count_nonzero(lasso.best_estimator_[-1].coef_)


if __name__ == "__main__":
    main()
