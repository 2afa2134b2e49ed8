"""Explanations and counterfactuals of every kind of variable, missing cells too."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import explain
from sorct.data.terms import is_missing
from sorct.tree.view import Cut
from tests.show.every_kind import OPTIONS, every_kind, scaled_sums, tree_of_one, tree_on


@pytest.fixture
def table(rng):
    """Every kind, missing cells too."""
    return every_kind(rng)


def one_row(X, place):
    """A row as a table, of the types of the whole."""
    return X.iloc[[place]]


@pytest.mark.a_few(1)
@pytest.mark.parametrize("stride", [25, pytest.param(7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("categorical", ["whole", "dummies"])
def test_parts_add_up_to_the_sum_of_the_cut(rng, table, categorical, stride):
    """Base and contributions give the total, and the total is that of the tree."""
    tree = tree_on(rng, table, 3, replace(OPTIONS, categorical=categorical))
    for place in range(0, 120, stride):
        for step in explain(tree, one_row(table, place)).steps:
            cut = tree.view.nodes[tree.cut_numbers.index(step.cut)]
            assert isinstance(cut, Cut)
            lead = cut.reading.summands[0].raw_weight
            exact = scaled_sums(tree, one_row(table, place), cut)[0] / lead
            size = cut.reading.summands[0].span
            total = step.base + sum(part.contribution for part in step.parts)
            assert total == pytest.approx(step.total, rel=1e-9)
            margin = step.total - cut.reading.threshold
            assert margin == pytest.approx(exact, abs=1e-6 * size)
            assert (step.answer == "yes") == (margin > 0.0) or step.proba < 0.5


def test_a_typical_sample_contributes_nothing(rng, table):
    """Of whatever kind its variables are."""
    tree = tree_on(rng, table, 1, n_classes=2)
    typical = {v.name: v.typical for v in tree.encoder.variables}
    (step,) = explain(tree, typical).steps
    assert [part.contribution for part in step.parts] == [0.0] * len(step.parts)


def test_missing_cells_are_called_missing(rng, table):
    """In the parts, the text and the flips; plain data have null."""
    tree = tree_on(rng, table, 1, n_classes=2)
    row = table.iloc[0].to_dict()
    names = ["age", "far", "income", "signup", "last", "purpose", "rank"]
    row |= dict.fromkeys(names)
    told = explain(tree, row)
    for name in names:
        assert f"{name} is missing, not " in str(told)
        assert f"  {name} is missing: " in str(told)
    plain = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    values = {part["variable"]: part["value"] for part in plain["steps"][0]["parts"]}
    assert {name for name, value in values.items() if value is None} == set(names)


def test_what_a_row_does_not_have_is_missing_where_it_may_be(rng, table):
    """The same as None; a variable that needs a value is asked for."""
    tree = tree_on(rng, table, 2)
    row = table.iloc[3].to_dict()
    row["age"] = row["purpose"] = row["signup"] = None
    short = {k: v for k, v in row.items() if k not in ("age", "purpose", "signup")}
    assert explain(tree, short) == explain(tree, row)
    del short["debt"]
    with pytest.raises(ValueError, match="missing: 'debt'"):
        explain(tree, short)


def test_a_typical_value_stands_for_a_missing_one_where_asked_for(rng, table):
    """The explanation says which."""
    options = replace(OPTIONS, handle_missing="typical")
    tree = tree_on(rng, table.dropna(), 1, options, n_classes=2)
    typical = {v.name: v.typical for v in tree.encoder.variables}
    row = table.dropna().iloc[0].to_dict()
    for name in ("debt", "member", "signup", "income"):
        given = {k: v for k, v in row.items() if k != name}
        told = explain(tree, given)
        assert told.proba == pytest.approx(
            explain(tree, row | {name: typical[name]}).proba
        )
        (part,) = [one for one in told.steps[0].parts if one.variable == name]
        assert part.value is None
        assert part.counts_as == typical[name]
        assert f"{name} is missing, counted as " in str(told)


@pytest.mark.parametrize("city", ["Smallville", "0"])
def test_a_level_that_is_pooled_or_new_counts_as_other(rng, table, city):
    """It is shown as it was given."""
    tree = tree_on(rng, table, 1, n_classes=2)
    told = explain(tree, table.iloc[0].to_dict() | {"city": city})
    assert f"city = {city}, counted as other, not " in str(told)
    row = one_row(table, 0).assign(city=city)
    assert list(told.proba.values()) == pytest.approx(tree.predict_proba(row)[0])


@pytest.mark.parametrize("form", ["2016-07-09", pd.Timestamp("2016-07-09 13:00")])
def test_a_date_may_be_text(rng, table, form):
    """It is shown as a day."""
    tree = tree_on(rng, table, 1, n_classes=2)
    told = explain(tree, table.iloc[0].to_dict() | {"signup": form})
    row = one_row(table, 0).assign(signup=pd.Timestamp("2016-07-09"))
    assert list(told.proba.values()) == pytest.approx(tree.predict_proba(row)[0])
    assert "signup = 2016-07-09, not " in str(told)
    with pytest.raises(ValueError, match=r"'signup' must hold dates.*'soon'"):
        explain(tree, table.iloc[0].to_dict() | {"signup": "soon"})


# -- flips -----------------------------------------------------------------------------


def with_flip(X, place, flip):
    """A row with the one change that a flip names."""
    row = one_row(X, place).copy()
    value = flip.value
    if flip.variable in ("signup", "last"):
        value = pd.Timestamp(value)
    if flip.variable in ("grade", "rank", "code"):
        row[flip.variable] = pd.Categorical([value], dtype=X[flip.variable].dtype)
    else:
        row[flip.variable] = pd.Series([value], index=row.index, dtype=object)
        row[flip.variable] = row[flip.variable].infer_objects()
    return row


@pytest.mark.parametrize("stride", [20, pytest.param(5, marks=pytest.mark.slow)])
def test_a_flip_changes_the_class(rng, table, stride):
    """Of every kind; many are found."""
    tree = tree_on(rng, table, 3, density=0.5, gamma=256.0)
    found = set()
    for place in range(0, 120, stride):
        told = explain(tree, one_row(table, place))
        for flip in told.flips:
            if flip.to is not None:
                after = tree.predict(with_flip(table, place, flip))[0]
                assert after == flip.to != told.predicted, flip
                found.add(flip.variable)
    assert len(found) >= 8


@pytest.mark.a_few(1)
@pytest.mark.parametrize("name", ["age", "income", "signup", "last"])
def test_a_flip_of_a_number_is_the_nearest(rng, table, name):
    """To the value now; to the typical value if it is missing now."""
    tree = tree_of_one(rng, table, name, [1.0, 0.9], 0.55)
    i = tree.encoder.names.index(name)
    variable = tree.encoder.variables[i]
    row = table[table[name].notna()].iloc[0].to_dict()
    for now in (row[name], None):
        told = explain(tree, row | {name: now})
        (flip,) = told.flips
        start = variable.typical if now is None else now
        begin, end = (
            float(variable.numbers(np.array([v]))[0]) for v in (start, flip.value)
        )
        between = np.linspace(begin, end, 60)[:-1]
        places = variable.encode(between)[:, 0]
        # Whole days and years: the one before the flip does not flip.
        places = places[np.abs(between - end) >= 1.0]
        if now is None and (variable.encode(np.array([begin]))[0, 0] > 0.55) is False:
            assert end == begin
        else:
            assert len(set(places > 0.55)) <= 1
        assert told.predicted != flip.to


def test_a_missing_cell_can_flip_to_the_typical_value_itself(rng, table):
    """Nothing is nearer."""
    tree = tree_of_one(rng, table, "age", [1.0, 0.9], 0.8)
    told = explain(tree, table.iloc[0].to_dict() | {"age": None})
    (flip,) = told.flips
    assert flip.value == table["age"].median()
    assert flip.now is None


def test_flips_of_ordered_levels_are_the_nearest(rng, table):
    """From high to medium, not to low, where both would do."""
    tree = tree_of_one(rng, table, "grade", [1.0], 0.8)
    told = explain(tree, table.iloc[0].to_dict() | {"grade": "high"})
    assert told.flips[0].value == "medium"
    told = explain(tree, table.iloc[0].to_dict() | {"grade": "low"})
    assert told.flips[0].value == "high"


def test_pooled_levels_are_told_by_a_word_and_missing_cells_are_missing(rng, table):
    """As they can be put into a row; the text says "missing"."""
    tree = tree_of_one(rng, table, "city", [0.0] * 5 + [1.0], 0.5)
    told = explain(tree, table.iloc[0].to_dict() | {"city": "Paris"})
    assert told.flips[0].value == "other"
    tree = tree_of_one(rng, table, "purpose", [0.0] * 3 + [1.0], 0.5)
    told = explain(tree, table.iloc[0].to_dict() | {"purpose": "car"})
    (flip,) = told.flips
    assert flip.value is None
    assert tree.predict(with_flip(table, 0, flip))[0] == flip.to != told.predicted
    assert "purpose = car: missing gives " in str(told)
    plain = json.loads(json.dumps(told.to_dict()))["flips"][0]
    assert (plain["value"], plain["to"]) == (None, flip.to)
    assert is_missing(
        explain(tree, table.iloc[0].to_dict() | {"purpose": None}).flips[0].now
    )
