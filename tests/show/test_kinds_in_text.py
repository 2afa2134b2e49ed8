"""Rules of every kind of variable: what is printed is what the tree does."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sorct import PAPER, SORCTClassifier, export_text
from sorct.data.dates import as_days
from sorct.data.terms import is_missing
from sorct.show.notes import fewer_points
from sorct.show.text import cut_text
from tests.show.every_kind import (
    CITIES,
    OPTIONS,
    cells_of,
    every_kind,
    scaled_sums,
    tree_of_one,
    tree_on,
)

# A term with its sign, up to the sign of the next.
_PIECE = re.compile(
    r"(?P<sign>[+-]?) ?\((?P<whole>\w+): (?P<levels>[^()]*)\)"
    r"|(?P<sign2>[+-]?) ?(?P<size>[\d.e+-]+ )?"
    r"(?P<text>\(\w+ from \S+ to [^)]*\)|"
    r"curve\(\w+\)|score\(\w+\)|\(days of [^)]*\)|\[[^]]*\]|[a-z]+)"
    r"(?: \(missing: (?P<missing>[^)]*)\))?"
)


@pytest.fixture
def table(rng):
    """Every kind, missing cells too."""
    return every_kind(rng)


def read_levels(text):
    """What every level named adds, missing and others among them."""
    found = {}
    for part in re.split("; " if ";" in text else ", ", text):
        names, _, weight = part.rpartition(" ")
        found |= dict.fromkeys(names.split(", "), float(weight))
    return found


def value_of(variable, text, cell, notes):
    """Raw value of a term that is printed, for a cell."""
    if text.startswith("["):
        return float(is_missing(cell))
    if " from " in text:
        ends = re.split(" from | to ", text[1:-1])[1:]
        if variable == "met":
            cell, *ends = (as_days(one, "2015-01-01") for one in (cell, *ends))
        begin, end = map(float, ends)
        return np.clip(cell, begin, end) - begin
    if text.startswith("(days"):
        return as_days(cell, text[-11:-1])
    if text.startswith("score"):
        return {"low": 0.0, "medium": 0.5, "high": 1.0}[cell]
    if text.startswith("curve"):
        (points,) = re.findall(re.escape(text) + r": (.*?) \(straight", notes)
        pairs = [one.split(" at ") for one in points.split(", ")]
        at = [as_days(a, "2015-01-01") if "-" in a else float(a) for _, a in pairs]
        number = as_days(cell, "2015-01-01") if variable == "last" else cell
        return np.interp(number, at, [float(place) for place, _ in pairs])
    low, high = clip_of(variable, notes)
    return np.clip(cell, low, high)


def clip_of(variable, notes):
    """Ends of a clipped column as told."""
    found = re.search(rf"{variable} below (\S+) counts as \S+, above (\S+) as", notes)
    return (float(found[1]), float(found[2])) if found else (-np.inf, np.inf)


def printed_sum(text, notes, row):
    """Sum minus threshold as a reader of the rules would work it out."""
    left, _, threshold = text.rpartition(" > ")
    total, end = -float(threshold), 0
    for piece in _PIECE.finditer(left):
        assert left[end : piece.start()].strip() == ""
        end = piece.end()
        if piece["whole"]:
            cell, levels = row[piece["whole"]], read_levels(piece["levels"])
            known = {name.strip('"'): w for name, w in levels.items() if name[0] == '"'}
            plain = {name: w for name, w in levels.items() if name[0] != '"'}
            named = plain | known
            if is_missing(cell):
                total += plain["missing"]
            elif str(cell) in ("missing", "others"):
                total += known.get(str(cell), plain.get("others"))
            else:
                # Of two levels one is told.
                untold = 0.0 if len(levels) == 1 else None
                total += named.get(str(cell), plain.get("others", untold))
            continue
        if piece["text"].startswith("[") or " from " in piece["text"]:
            variable = piece["text"][1:].split()[0]
        else:
            ends = r"[a-z]+(?=\W*$)|(?<=days of )\w+"
            variable = re.search(ends, piece["text"])[0]
        sign = -1.0 if piece["sign2"] == "-" else 1.0
        weight = sign * float(piece["size"] or 1.0)
        if is_missing(row[variable]) and piece["missing"]:
            total += float(piece["missing"])
        elif is_missing(row[variable]) and " from " in piece["text"]:
            # What a missing cell adds stands beside the largest part.
            continue
        else:
            total += weight * value_of(variable, piece["text"], row[variable], notes)
    assert left[end:].strip() == ""
    return total


@pytest.mark.a_few(1)
@pytest.mark.parametrize("unknown", ["other", "error"])
def test_a_reader_of_the_rules_comes_to_the_sums_of_the_tree(rng, table, unknown):
    """With the rules and the notes below them alone, for every kind and missing."""
    options = replace(OPTIONS, handle_unknown=unknown)
    tree = tree_on(rng, table, 2, options, density=0.6)
    told = export_text(tree)
    notes = re.sub(r"\s+", " ", told[told.index("\n\n", 80) :])
    for cut in tree.view.cuts:
        reading = cut.reading
        lead = reading.summands[0].raw_weight
        exact = scaled_sums(tree, table, cut) / lead
        rows = [row for _, row in table.astype(object).iterrows()]
        found = [printed_sum(cut_text(cut), notes, row) for row in rows]
        # By 0.1 % for each number, and by half a per cent of a curve.
        error = 0.02 * reading.summands[0].span
        np.testing.assert_allclose(found, exact, atol=error)


def test_rules_are_printed_with_the_sums_of_cuts(table, rng):
    """The lines of the whole tree have the cuts as ``cut_text`` has them."""
    tree = tree_on(rng, table, 1, n_classes=2)
    (cut,) = tree.view.cuts
    lines = re.sub(r"\n│\s+", " ", export_text(tree))
    assert f"cut 1: {cut_text(cut)}\n" in lines


# -- plain questions -------------------------------------------------------------------


def only_question(tree):
    """The only cut in words."""
    (cut,) = tree.view.cuts
    return cut_text(cut)


def says_yes(tree, table):
    """Rows that go to "yes"."""
    (cut,) = tree.view.cuts
    return scaled_sums(tree, table, cut) * (1 if cut.reading.is_left else -1) > 0.0


@pytest.mark.every_value
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 0, 0, 0], "is car"),
        ([1, 1, 0, 0], "is car or house"),
        ([0, 1, 0, 1], "is house or missing"),
        ([0, 0, 0, 1], "is missing"),
        ([1, -1, 1, -1], "is car or tv"),
    ],
)
def test_levels_of_one_weight_are_a_plain_question(rng, table, sign, weights, words):
    """Whichever side they are on; the rows that say yes have these levels."""
    middle = sum({max(weights), min(weights)}) / 2 + 0.1
    tree = tree_of_one(rng, table, "purpose", np.multiply(sign, weights), sign * middle)
    told = f"purpose {words}"
    if -1 in weights:
        told += " (others: no)"
    assert only_question(tree) == told
    asked = words[3:].replace(" or ", ", ").split(", ")
    cells = ["missing" if is_missing(one) else one for one in table["purpose"]]
    assert says_yes(tree, table).tolist() == [one in asked for one in cells]


def test_pooled_levels_that_say_yes_are_told_by_those_that_do_not(rng, table):
    """A level called "missing" is quoted, for it is none."""
    tree = tree_of_one(rng, table, "city", [0, 1, 1, 0, 1, 1], 0.5)
    levels = tree.encoder.variables[tree.encoder.names.index("city")].levels
    assert levels == tuple(sorted(CITIES))
    assert only_question(tree) == 'city is none of Oslo and "missing"'
    said = says_yes(tree, table)
    assert said.tolist() == [one not in ("Oslo", "missing") for one in table["city"]]


@pytest.mark.parametrize(
    ("name", "weights", "threshold"),
    [
        ("income", [1.0, 0.2], 0.4),
        ("income", [-1.0, -0.6], -0.4),
        ("signup", [1.0, 0.9], 0.37),
        ("last", [1.0, 0.2], 0.61),
        ("grade", [1.0], 0.4),
        ("rank", [1.0, 0.3], 0.7),
    ],
)
def test_one_curve_date_or_order_is_asked_in_its_own_units(
    rng, table, name, weights, threshold
):
    """A number, a day, a level; and whether a missing cell says yes."""
    tree = tree_of_one(rng, table, name, weights, threshold)
    told = only_question(tree)
    said, cells = says_yes(tree, table), cells_of(table, name)
    found = re.fullmatch(
        rf"{name} (>|is) (\S+)( or above)?(?: \(missing: (yes|no)\))?", told
    )
    assert found is not None
    assert (found[4] is not None) is (len(weights) > 1)
    for cell, yes in zip(cells, said, strict=True):
        if is_missing(cell):
            assert yes == (found[4] == "yes")
        elif found[1] == "is":
            order = ["low", "medium", "high"]
            at_least = order.index(cell) >= order.index(found[2])
            assert yes == (at_least if found[3] else cell == found[2])
        elif name == "income":
            assert yes == (cell > float(found[2]))
        else:
            assert yes == (str(cell)[:10] > found[2])


def test_a_threshold_outside_of_a_curve_stays_one(rng, table):
    """There is no number to ask for."""
    tree = tree_of_one(rng, table, "income", [1.0, 0.0], 1.2)
    assert only_question(tree) == "curve(income) (missing: 0) > 1.2"


def test_a_number_alone_says_what_missing_counts_as(rng, table):
    """In its own units."""
    tree = tree_of_one(rng, table, "age", [1.0, 0.5], 0.25)
    age = table["age"]
    low, span = age.min(), age.max() - age.min()
    missing, threshold = low + 0.5 * span, low + 0.25 * span
    assert only_question(tree) == f"age (missing: +{missing:g}) > {threshold:g}"


# -- folding ---------------------------------------------------------------------------


def many_levels(rng, n_levels, n=3000):
    """A category of many levels."""
    return pd.DataFrame({"city": rng.choice([f"c{k}" for k in range(n_levels)], n)})


@pytest.mark.parametrize(
    "n_levels", [2, 5, 100, pytest.param(400, marks=pytest.mark.slow)]
)
def test_no_rule_runs_over_a_screen(rng, n_levels):
    """However many levels there are, and however their weights differ."""
    X = many_levels(rng, n_levels)
    tree = tree_on(rng, X, 1, n_classes=2)
    for coef in (tree.coef, np.round(tree.coef), np.sign(tree.coef)):
        _, rules, *_ = export_text(replace(tree, coef=coef)).split("\n\n")
        assert len(rules.splitlines()) < 10
        assert max(map(len, rules.splitlines())) <= 88


def test_levels_of_equal_weight_are_folded_and_counted(rng):
    """The others are those that add the same as a level never seen."""
    X = many_levels(rng, 20, 2000)
    names = sorted(set(X["city"]))
    weights = np.zeros(20)
    weights[:14], weights[14:16] = 0.5, -0.25
    tree = tree_of_one(rng, X, "city", weights, 0.6)
    told = (
        f"(city: {names[0]}, {names[1]} and 12 more +1; {names[14]}, {names[15]} -0.5"
    )
    assert only_question(tree) == f"{told}; others 0) > 1.2"
    weights[14:16] = 0.0
    tree = tree_of_one(rng, X, "city", weights, 0.25)
    assert only_question(tree) == f"city is {names[0]}, {names[1]} or one of 12 more"


def test_many_weights_are_summed_up(rng):
    """The largest are told, the rest is counted with its bounds."""
    X = many_levels(rng, 30)
    weights = np.linspace(-0.5, 1.0, 30)
    tree = tree_of_one(rng, X, "city", weights, 2.0)
    found = re.search(r"(\d+) levels from (\S+) to (\S+),", only_question(tree))
    assert int(found[1]) == 25
    assert float(found[2]) == pytest.approx(-0.5)
    assert float(found[3]) == pytest.approx(np.sort(weights)[-6], rel=1e-3)


@pytest.mark.parametrize("shape", [lambda w: w, np.sign, lambda w: np.round(3 * w)])
def test_every_level_can_be_told(rng, shape):
    """With its weight, one by one, on lines that are short enough to read."""
    X = many_levels(rng, 40)
    weights = shape(np.linspace(-0.5, 1.0, 40))
    tree = tree_of_one(rng, X, "city", weights, 0.3)
    text = export_text(tree, levels="all")
    rules = text.split("\n\n")[1]
    assert max(map(len, rules.splitlines())) <= 88
    told, names = {}, []
    for word in re.findall(
        r"[^\s,;()]+", rules[rules.index("(city: ") : rules.index("\n├")]
    ):
        if re.fullmatch(r"[+-]\S+", word):
            told |= dict.fromkeys(names, float(word))
            names = []
        elif re.fullmatch(r"c\d+", word):
            names.append(word)
    (term,) = tree.view.root.terms.values()
    lead = tree.view.root.reading.summands[0].raw_weight
    for level, weight in term.weights.items():
        assert told.get(level, 0.0) == pytest.approx(weight / lead, abs=1e-3)
    assert "in full" not in text
    assert 'told in full: export_text(tree, levels="all") does.' in export_text(tree)


@pytest.mark.parametrize(
    "told", ["is a, b, c, d or {}", "is none of a, b, c, d and {}"]
)
def test_every_level_of_a_plain_question_can_be_told(rng, told):
    """None is left out, and long names are whole."""
    levels = [*"abcd", "x" * 90]
    X = pd.DataFrame({"city": [*np.repeat([*levels, "y"], 20), *"uvw"]})
    # The last weight is that of rare levels.
    weights = [0.0] * 5 + [1.0] * 2 if "none" in told else [1.0] * 5 + [0.0] * 2
    tree = tree_of_one(rng, X, "city", weights, 0.5)
    rules = re.sub(r"\n│ *", " ", export_text(tree, levels="all"))
    assert f"cut 1: city {told.format(levels[-1])}\n" in rules


@pytest.mark.parametrize("levels", ["many", None, True, ["all"]])
def test_other_levels_are_refused(rng, levels):
    tree = tree_on(rng, many_levels(rng, 3), 1)
    with pytest.raises(ValueError, match="levels must be 'few' or 'all', got"):
        export_text(tree, levels=levels)


# -- notes -----------------------------------------------------------------------------


def test_few_points_give_the_curve(rng):
    """Within half a per cent, whatever the curve; a straight one needs two."""
    for n in (2, 3, 8, 20):
        at = np.cumsum(rng.random(n))
        place = np.concatenate([[0.0], np.cumsum(rng.random(n - 1))])
        place /= place[-1]
        told = fewer_points(list(zip(at, place, strict=True)))
        found = np.interp(at, *zip(*told, strict=True))
        assert np.abs(found - place).max() < 0.005
    straight = [(x, x / 10) for x in range(11)]
    assert fewer_points(straight) == [straight[0], straight[-1]]


def test_what_missing_cells_count_as_is_told(rng):
    """Where training had none and a typical value stands for them."""
    X = every_kind(rng).dropna().loc[:, ["age", "purpose", "signup"]]
    tree = tree_on(rng, X, 1, replace(OPTIONS, handle_missing="typical"))
    told = re.sub(r"\s+", " ", export_text(tree))
    typical = [tree.encoder.variables[i].typical for i in range(3)]
    for name, value in zip(X, typical, strict=True):
        shown = f"{value:g}" if isinstance(value, float) else value
        assert f"{name} {shown}" in told.partition("counts as typical: ")[2]
    error = tree_on(rng, X, 1)
    assert "typical" not in export_text(error)


def test_the_papers_reading_is_printed_as_before(rng, table):
    """Level by level, without a note."""
    X = table[["debt", "purpose", "member"]].dropna()
    y = (X["debt"] + (X["purpose"] == "car") > 0.3).to_numpy()
    told = str(SORCTClassifier(n_starts=2, random_state=0, **PAPER).fit(X, y).tree_)
    assert re.search(r"[+-] \S+ \[purpose is \w+\]", told)
    assert "missing" not in told
    assert "(purpose:" not in told
    below = told.partition("\n\n")[2].partition("\n\n")[2]
    assert below.startswith("Followed by hand")


def test_no_name_breaks_a_line_of_a_category(rng):
    """Line ends are escaped, numbers are quoted, very long names are shortened."""
    levels = ["a\nb", "12", "", "W" * 300, "x"]
    X = pd.DataFrame({"v": rng.choice(levels, 200), "z": rng.normal(size=200)})
    told = export_text(tree_on(rng, X, 1))
    for text in ("a\\nb", '"12"', '""', "WWW…WWW"):
        assert text in told
    assert max(map(len, told.splitlines()[:8])) < 130


def test_missing_cells_of_a_bent_number_are_told_where_they_add_nothing():
    """Somebody who follows the rules must know where such a row goes."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=600)
    y = (a > 0.2).astype(int)
    a[:41], y[:41] = np.nan, rng.integers(0, 2, 41)
    X = pd.DataFrame({"a": a})
    clf = SORCTClassifier(depth=1, alpha_local=0.4, scaling="bent", random_state=0)
    tree = clf.fit(X, y).tree_
    assert clf.coef_[-1, 0] == 0.0
    missing, largest = tree.predict(X.iloc[[0, np.nanargmax(a)]])
    answer = "yes" if missing == largest else "no"
    assert re.search(rf"cut 1: a > .* \(missing: {answer}\)", str(tree))


def test_two_levels_are_told_without_a_third(rng):
    """A new level is halfway between them, and a note says so."""
    X = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 100), "age": rng.normal(50.0, 9.0, 100)}
    )
    tree = tree_on(rng, X, 1, n_classes=2)
    coef = np.zeros_like(tree.coef)
    coef[:, 0] = [-0.25, 0.25, 1.0]
    tree = replace(tree, coef=coef)
    text = export_text(tree)
    assert "cut 1: age + " in text
    assert re.search(r'\(sex: "?m"? \+[\d.]+\)', text)
    assert "one that training did not have is halfway between" in text
    rows = X.head(3).assign(sex=["f", "m", "x"], age=50.0)
    scores = tree.scores(tree.encoder.encode(rows)).ravel()
    assert scores[2] == pytest.approx((scores[0] + scores[1]) / 2)


def test_two_levels_are_two_where_missing_cells_would_be_typical():
    """As long as training had no missing cell, which would be a third thing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "z": rng.normal(size=200)})
    y = 2.0 * (X["sex"] == "m") + X["z"] > 1.5
    options = {"alpha_local": 0.02, "n_starts": 2, "random_state": 0}
    for missing in ("error", "typical"):
        clf = SORCTClassifier(1, handle_missing=missing, **options).fit(X, y)
        assert re.search(r"\(sex: m \+[\d.]+\) >", str(clf.tree_))
