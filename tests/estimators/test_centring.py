"""Weights of levels lie around 0, also where no penalty asks for that."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, SORCTRegressor
from sorct.estimators.centring import centred
from tests.show.every_kind import every_kind, tree_on


def test_a_centred_tree_says_the_same(rng):
    """Of every kind of variable; only categories are moved, and they lie around 0."""
    X = every_kind(rng)
    tree = tree_on(rng, X)
    found = centred(tree, np.ones(len(tree.encoder.variables), dtype=bool))
    scaled = tree.encoder.encode(X)
    np.testing.assert_allclose(found.scores(scaled), tree.scores(scaled), atol=1e-9)
    names, moved = tree.encoder.names, np.any(found.coef != tree.coef, axis=1)
    of_column = tree.encoder.column_variable
    assert {names[i] for i in of_column[moved]} == {"city", "purpose", "code", "member"}
    assert np.abs(found.coef).max() <= 1.0
    for cut in found.view.cuts:
        levels = cut.terms[names.index("code")].weights
        assert min(levels.values()) == pytest.approx(-max(levels.values()))


@pytest.mark.parametrize("quantity", [False, True])
def test_a_level_never_seen_is_between_those_seen(quantity):
    """Without a penalty, too: in cuts, and in linear leaves."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.random(300)})
    y = 2.0 * X["age"] + (X["sex"] == "m") + 0.5 * rng.normal(size=300)
    options = {"alpha_local": 0.0, "n_starts": 2, "random_state": 0}
    if quantity:
        model = SORCTRegressor(0, leaf="linear", **options).fit(X, y)
        rows = [X.assign(sex=sex) for sex in ("f", "new", "m")]
        low, new, high = (model.predict(one) for one in rows)
        np.testing.assert_allclose(new, 0.5 * (low + high))
    else:
        model = SORCTClassifier(1, loss="log", **options).fit(X, y > 1.5)
        rows = [X.assign(sex=sex) for sex in ("f", "new", "m")]
        low, new, high = (model.predict_proba(one)[:, 1] for one in rows)
        assert ((low < new) & (new < high)).all()
    assert "others" not in str(model.tree_)
    tree, every = model.tree_, np.ones(2, dtype=bool)
    np.testing.assert_allclose(centred(tree, every).coef, tree.coef, atol=1e-15)


def test_variables_without_a_price_are_centred_under_a_penalty():
    """Nothing is paid for their weights either."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "age": rng.random(300)})
    y = 2.0 * X["age"] + (X["sex"] == "m") + 0.5 * rng.normal(size=300) > 1.5
    model = SORCTClassifier(
        1, alpha_local=0.1, loss="log", n_starts=2, random_state=0,
        feature_cost={"sex": 0.0, "age": 1.0},
    )  # fmt: skip
    rows = [X.assign(sex=sex) for sex in ("f", "new", "m")]
    low, new, high = (model.fit(X, y).predict_proba(one)[:, 1] for one in rows)
    assert ((low < new) & (new < high)).all()
