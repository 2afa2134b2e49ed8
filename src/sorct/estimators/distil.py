"""Distil: the single tree that says most nearly what a forest says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sorct.data.kinds import options_for
from sorct.data.quantity import number_column
from sorct.data.table import as_table, take_rows
from sorct.data.variables import levels_of
from sorct.estimators.checks import checked_samples
from sorct.estimators.classifier import SORCTClassifier
from sorct.estimators.regressor import SORCTRegressor
from sorct.tree.forest import Forest


def distil(
    forest: Forest, X: Any, sample_weight: Any = None, **options: Any
) -> SORCTClassifier | SORCTRegressor:
    """Train the single tree that is nearest to a forest on the rows of a table.

    Of classes, every row counts once for each class, by the probability that the forest
    gives to it: by the likelihood, that is the tree with the least mean divergence
    (Kullback and Leibler's) from the forest. Of a quantity the tree is trained on what
    the forest predicts. No labels are needed, so rows without any can be used.

    Parameters
    ----------
    forest : Forest
    X : table of shape (n_samples, n_variables)
    sample_weight : array of shape (n_samples,) or None
    **options
        Of ``SORCTClassifier``, whose loss is "log" here unless it is given, or of
        ``SORCTRegressor``. The table is read as the forest reads it, unless they say
        otherwise: which columns are categories, go along quantiles or bend, and what is
        done with new levels and missing cells.

    Returns
    -------
    SORCTClassifier or SORCTRegressor, fitted

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTForestClassifier, distil
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> forest = SORCTForestClassifier(3, 2, 0.0, 0.1, gamma=100.0, random_state=0)
    >>> tree = distil(forest.fit(X, y).forest_, X, n_starts=2, random_state=0)
    >>> bool((tree.predict(X) == forest.predict(X)).mean() > 0.9)
    True
    """
    if not isinstance(forest, Forest):
        hint = "; pass its forest_" if hasattr(forest, "forest_") else ""
        raise TypeError(f"Expected a Forest, got a {type(forest).__name__}{hint}.")
    options = {**_reading(forest), **options}
    X = as_table(X)
    X, _, weight = checked_samples(X, np.zeros(len(X)), sample_weight, number_column)
    if forest.of_quantity:
        return SORCTRegressor(**options).fit(X, forest.predict(X), weight)
    proba = forest.predict_proba(X)
    soft = (weight[:, np.newaxis] * proba).ravel()
    rows, codes = np.divmod(np.arange(soft.size), proba.shape[1])
    labels = np.take(forest.classes, codes)
    if forest.decision_cost is not None:
        # Of classes that some row may be of.
        there = np.flatnonzero(weight @ proba > 0.0)
        costs = forest.decision_cost[np.ix_(there, there)]
        options = {"cost_matrix": costs, **options}
    model = SORCTClassifier(**{"loss": "log", **options})
    asked = model.min_frequency
    if asked >= 1:
        # Every row stands there once for each class.
        model.set_params(min_frequency=proba.shape[1] * asked)
    model.fit(take_rows(X, rows), labels, soft).set_params(min_frequency=asked)
    told = replace(model.tree_.training, n_samples=len(X))
    model.tree_ = replace(model.tree_, training=told)
    return model


def _reading(forest: Forest) -> dict[str, Any]:
    """Options with which a table is read as a forest reads it."""
    encoder = forest.encoder
    whole = not any(one.separate for one in encoder.variables if levels_of(one))
    told: dict[str, Any] = {
        "handle_unknown": encoder.unknown,
        "handle_missing": encoder.missing,
        "categorical": "whole" if whole else "dummies",
    }
    if forest.of_quantity:
        told["link"] = forest.quantity.link
    return told | options_for(encoder.variables)
