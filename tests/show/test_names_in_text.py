"""Names with marks that rules use themselves: a reader can tell which is which."""

import re

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier, SORCTRegressor, explain, export_text
from sorct.data.options import TableOptions
from sorct.data.wording import apart, readable, readable_label, readable_level
from sorct.show.cuts import cut_text
from sorct.show.plotting import ContributionDisplay
from tests.show.every_kind import tree_on

LEVELS = ["Paris, Rome", "Rome", "Lyon (old)", "a; b", 'the "Ritz"', "5"]
ODD = [*LEVELS, "Ulm +0.5; Bonn", "missing", '"', "(", "others", 'a "b", (c); d']
NAMES = ["city", "zip, code", "a (missing: +1)", 'say "x"', "width (cm)", "(b", "z; y"]
# A name as a reader takes it: in quotes, in which quotes are doubled, or plain.
_QUOTED = r'"(?:[^"]|"")*"'
NAME = rf"(?:{_QUOTED}|[^,;\"()]+)"


def unquoted(name):
    """What was meant by a name in a text."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def rows_of(rng, n=220):
    """A table whose levels and columns have such names."""
    columns = {name: rng.normal(size=n) for name in NAMES[1:]}
    return pd.DataFrame({"city": rng.permutation(np.resize(LEVELS, n)), **columns})


def test_levels_can_be_told_apart(rng):
    """A reader who knows quotes finds every level with its own weight, and no other."""
    X = rows_of(rng)
    tree = tree_on(rng, X, 1, TableOptions(scaling={}), n_classes=2)
    (cut,) = tree.view.cuts
    (term,) = (t for i, t in cut.terms.items() if tree.encoder.names[i] == "city")
    text, lead = cut_text(cut), cut.reading.summands[0].raw_weight
    number = r"[+-]?[\d.]+"
    entry = rf"({NAME}(?:, {NAME})*?) ({number})"
    (levels,) = re.findall(rf"\(city: ((?:{entry}[,;]? ?)+)\)", text)[0][:1]
    told = {}
    for names, weight in re.findall(rf"{entry}(?:[,;] |$)", levels):
        told |= {unquoted(one): float(weight) for one in re.findall(NAME, names)}
    for level in LEVELS:
        wanted = term.value(level) / lead
        assert told.get(level, told["others"]) == pytest.approx(wanted, abs=1e-3)
    assert set(told) <= {*LEVELS, "others"}


@pytest.mark.parametrize("name", [*ODD, *NAMES, "", "yes"])
def test_a_name_in_a_list_comes_back(name):
    """Whatever stands beside it: written, joined, parted and read, it is the same."""
    for write in (apart, readable_level, readable_label, readable):
        told = write(name)
        text = f"Rome, {told}; {told}, x"
        # A unit behind a name has no marks that part names.
        plain = rf"(?:{_QUOTED}|[^,;\"]+)"
        found = [unquoted(part) for part in re.findall(rf"({plain})(?:[,;] |$)", text)]
        assert found == ["Rome", name, name, "x"] if name else told in ('""', "")


def test_names_are_quoted_wherever_they_stand_among_others(rng):
    """In cuts, in the list of variables and in explanations; not for a unit."""
    X = rows_of(rng)
    tree = tree_on(rng, X, 1, TableOptions(scaling={}), n_classes=2)
    text = export_text(tree)
    line = re.search(r"\nVariables: (.*?)\.\n(?=[A-Z])", text, re.DOTALL)[1]
    line = re.sub(r"\s+", " ", line)
    wanted = [name for name in NAMES if name in tree.variables_used]
    plain = rf"(?:{_QUOTED}|[^,;\"]+)"
    found = [unquoted(part) for part in re.findall(rf"({plain})(?:, |$)", line)]
    assert sorted(found) == sorted(wanted)
    told = str(explain(tree, X.iloc[0]))
    assert '"zip, code" = ' in told
    assert "width (cm) = " in told
    assert '\n  "a (missing: +1)" = ' in told
    assert f"city = {apart(X.city[0])}" in told


#: Names of variables that rules could have made of another one.
MADE = [
    "curve(x)", "score(grade)", "exp(x)", "missing", "others", "x from 1 to 2",
    "days of x since 2015-01-01", "[x is a]", "x is a",
    "x > 3", "x - z", "[x scaled to 0..1]",
]  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_a_variable_called_like_a_rule_is_quoted(name):
    """Beside one of which the rule could be."""
    assert readable(name) == f'"{name}"'


def test_a_curve_is_not_a_column_of_that_name(rng):
    """In a sum with both, and in the note that tells the curve."""
    tail = np.exp(rng.normal(0.0, 2.0, 200))
    X = pd.DataFrame({"x": tail, "curve(x)": rng.normal(size=200)})
    options = TableOptions(scaling={"x": "quantile", "curve(x)": "minmax"})
    tree = tree_on(rng, X, 1, options, n_classes=2)
    text = export_text(tree)
    cut = cut_text(tree.view.root)
    assert cut.count('"curve(x)"') == 1
    assert cut.replace('"curve(x)"', "").count("curve(x)") == 1
    assert "\ncurve(x): " in text


def test_a_level_called_missing_is_not_a_missing_cell(rng):
    """In a linear leaf as well, where every level is a term."""
    X = pd.DataFrame({"city": rng.choice(["a", "missing", "others", None], 200)})
    y = X.city.map({"a": 0.0, "missing": 3.0, "others": 5.0}).fillna(-3.0)
    model = SORCTRegressor(0, 0.01, leaf="linear", random_state=0)
    text = export_text(model.fit(X, y + 0.1 * rng.normal(size=200)).tree_)
    for word in ('[city is "missing"]', '[city is "others"]', "[city is missing]"):
        assert word in text


# -- a level that is called "other" ----------------------------------------------------


@pytest.fixture
def crowd(rng):
    """Rows with a level called "other", and rare levels that are pooled as such."""
    cities = np.resize(["a", "b", "other", "other"], 200)
    cities[:24] = np.repeat(list("uvwxyz"), 4)
    return pd.DataFrame({"city": rng.permutation(cities)})


def said_of(crowd):
    """What is said of a row; "other" stands apart from pooled levels."""
    return crowd.city.map({"a": 0.0, "b": 2.0, "other": 5.0}).fillna(9.0)


def test_a_level_called_other_is_not_a_pooled_one(rng, crowd):
    """In sums of levels, in plain questions, and where levels are terms."""
    leaf, many = SORCTRegressor(0, 0.01, leaf="linear"), {"min_frequency": 20}
    model = leaf.set_params(**many, categorical="dummies", random_state=0)
    noise = 0.1 * rng.normal(size=len(crowd))
    text = export_text(model.fit(crowd, said_of(crowd) + noise).tree_)
    for term in ('[city is "other"]', "[city is other]"):
        assert text.count(term) == 1
    for level, word in (("other", '"other"'), ("a", "a")):
        clf = SORCTClassifier(1, alpha_local=0.01, **many, random_state=0)
        text = cut_text(clf.fit(crowd, crowd.city == level).tree_.view.root)
        assert text in (f"city is {word}", f"city is not {word}")


def test_a_change_to_pooled_levels_is_none_to_one_called_other(crowd):
    """What an explanation names leads there when it is put into the row."""
    clf = SORCTClassifier(1, alpha_local=0.01, min_frequency=20, random_state=0)
    rare = ~crowd.city.isin(["a", "b", "other"])
    clf.fit(crowd, rare)
    told = explain(clf.tree_, {"city": "other"})
    (flip,) = told.flips
    assert bool(flip.to) is True
    assert clf.predict(pd.DataFrame({"city": [flip.value]})).tolist() == [True]
    assert 'city = "other": other gives True' in str(told)
    assert 'city = u, counted as other, not "other"' in str(
        explain(clf.tree_, {"city": "u"})
    )


def test_a_page_and_plots_have_two_names_for_them(crowd):
    """The same as the rules have."""
    clf = SORCTClassifier(1, alpha_local=0.01, min_frequency=20, random_state=0)
    tree = clf.fit(crowd, crowd.city == "other").tree_
    wanted = ["a", "b", '"other"', "other"]
    assert tree.report().summary["variables"][0]["levels"] == wanted
    pytest.importorskip("matplotlib")
    assert ContributionDisplay.from_tree(tree, "city").values.tolist() == wanted
