import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sorct.plotting import TreeDisplay

from sorct.data.encoder import TableEncoder
from sorct.show.plotting._tree_parts import DrawnCut
from sorct.show.text import cut_text
from sorct.tree.view import Leaf
from tests.show.plotting.drawn_trees import (
    draw_rows,
    long_names,
    make_tree,
    mass_of,
    noisy_labels,
)
from tests.tree.by_hand import leaf_text, leaves_below, only_cut, visible_nodes

#: Every depth to 3 once; the others repeat it with fewer classes or more leaves.
CASES = [(1, 2), (2, 3), (3, 8)] + [
    pytest.param(d, k, marks=pytest.mark.slow)
    for d, k in [(2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (4, 8)]
]


@pytest.fixture(autouse=True)
def _close_figures():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


def own_axes(width=8.0, height=5.0, dpi=100):
    """Axes of a figure that pyplot does not know."""
    figure = Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def drawn(display):
    """All that is written or barred, with boxes in pixels as x0, y0, x1, y1."""
    display.figure_.draw_without_rendering()
    texts = [text for text in display.ax_.texts if text.get_text()]
    bars = [patch for patch in display.ax_.patches if isinstance(patch, Rectangle)]
    artists = np.array([*texts, *bars], dtype=object)
    return artists, np.array([a.get_window_extent().extents for a in artists])


def assert_apart(display, slack=0.5):
    """No two boxes share more than a half pixel, and none leaves the axes."""
    artists, box = drawn(display)
    whole = display.ax_.get_window_extent().extents
    over = np.maximum(whole[:2] - box[:, :2], box[:, 2:] - whole[2:]).max(axis=1)
    assert not (over > slack).any(), f"{artists[over > slack]} leave the axes"
    shared = np.minimum(box[:, None, 2:], box[None, :, 2:])
    shared = shared - np.maximum(box[:, None, :2], box[None, :, :2])
    pairs = np.argwhere(np.triu(shared.min(axis=2) > slack, k=1))
    assert not len(pairs), f"{artists[pairs[:3]]} overlap"


@pytest.mark.a_few(1)
@pytest.mark.parametrize(("depth", "n_classes"), CASES)
def test_no_text_overlaps_with_long_names(rng, depth, n_classes):
    """30 variables and classes with 30 letters each, depth 1 to 4."""
    names = long_names(30), long_names(n_classes, word="class")
    assert {len(name) for group in names for name in group} == {30}
    tree = make_tree(rng, depth, names[1], names[0])
    display = TreeDisplay.from_tree(tree).plot()
    assert_apart(display)
    written = {text.get_text() for text in display.ax_.texts}
    assert written >= {names[1][k] for k in tree.leaf_class}, "shortened"


@pytest.mark.parametrize(
    ("letter", "dpi"),
    [
        ("W", 50),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in [("l", 72), ("é", 97), ("s", 200)]
        ),
    ],
)
def test_no_text_overlaps_in_axes_of_any_size_and_resolution(rng, letter, dpi):
    """Letters shrink with the axes, and none is widened to whole pixels."""
    names = [f"{letter * 29}{j}" for j in range(9)]
    tree = make_tree(rng, 2, [letter * 30, letter * 29], names)
    display = TreeDisplay.from_tree(tree).plot(own_axes(9.0, 3.0, dpi))
    assert_apart(display)
    display.figure_.set_size_inches(5.0, 6.0)
    assert_apart(display)


@pytest.mark.slow
def test_no_text_overlaps_in_another_font(rng):
    """Widths are those of the font that the user has set."""
    tree = make_tree(rng, 2, long_names(3, word="class"), long_names(5))
    widths = []
    for family in ("DejaVu Sans", "DejaVu Sans Mono"):
        with mpl.rc_context({"font.family": family}):
            display = TreeDisplay.from_tree(tree).plot()
            assert_apart(display)
        widths.append(display.figure_.get_size_inches()[0])
    assert widths[0] < widths[1]


def test_long_numbers_and_long_names_of_one_level_share_its_width(rng):
    """One cut has a number of many digits, its neighbour a wide name."""
    coef = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.5, 0.0]])
    names = ["p", "W" * 30, "far"]
    X = draw_rows(rng, names).assign(far=lambda rows: rows["far"] + 1e12)
    tree = make_tree(rng, 2, "abc", names, coef=coef, encoder=TableEncoder.learn(X))
    display = TreeDisplay.from_tree(tree).plot()
    assert len(display.parts[1].terms[1].number) > 12
    assert_apart(display)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_cuts_read_as_the_rules_do(rng, depth):
    """Terms, signs, numbers and limit together are the printed line."""
    tree = make_tree(rng, depth, "abc", list("pqrst"), density=0.7)
    parts = TreeDisplay.from_tree(tree).parts
    cuts, leaves = visible_nodes(tree)
    assert {t for t, part in parts.items() if isinstance(part, DrawnCut)} == {*cuts}
    assert {t for t, part in parts.items() if isinstance(part, Leaf)} == {*leaves}
    for t in cuts:
        terms = " ".join(f"{term.number} {term.name}" for term in parts[t].terms)
        limit = parts[t].question.removeprefix("sum ").removesuffix(" ?")
        told = f"{terms} {limit}".replace("−", "-").strip()
        assert told == cut_text(only_cut(tree, t))


def test_all_terms_numbers_and_names_are_written(rng):
    """Whatever a cut has to say stands in the picture."""
    tree = make_tree(rng, 2, "abc", list("pqrst"))
    display = TreeDisplay.from_tree(tree).plot()
    written = [text.get_text() for text in display.ax_.texts]
    for part in display.parts.values():
        if isinstance(part, DrawnCut):
            assert {part.question, *(term.number for term in part.terms)} <= {*written}
    for name in "pqrst":
        assert written.count(name) == len(visible_nodes(tree)[0])


def test_leaves_say_what_the_rules_say(rng):
    """Class, share of samples and class mix."""
    tree = make_tree(rng, 2, "abc", list("pq"))
    display = TreeDisplay.from_tree(tree).plot()
    written = [text.get_text() for text in display.ax_.texts]
    leaves = [t for t, part in display.parts.items() if isinstance(part, Leaf)]
    assert len(leaves) == len(visible_nodes(tree)[0]) + 1
    for t in leaves:
        label, share, *mix = re.split(r"  \(|: |, |\)", leaf_text(tree, t))
        assert {label, share, *filter(None, mix)} <= {*written}


def test_bars_are_the_coefficients_on_one_scale(rng):
    """In scaled units, turned as the cut is printed, largest first."""
    tree = make_tree(rng, 3, "ab", list("pqrst"), density=0.8)
    display = TreeDisplay.from_tree(tree).plot()
    ratios = []
    for t, bars in display.bars_.items():
        width = np.array([bar.get_width() for bar in bars])
        coef = tree.coef[:, t][tree.coef[:, t] != 0.0]
        coef = coef[np.argsort(-np.abs(coef))]
        ratios += list(width / (coef * np.sign(coef[0])))
    np.testing.assert_allclose(ratios, ratios[0])
    assert ratios[0] > 0


def test_bands_are_as_thick_as_the_share_of_samples(rng):
    """At both ends, class by class; what enters a cut leaves it."""
    tree = make_tree(rng, 3, "abc", list("pqr"))
    display = TreeDisplay.from_tree(tree).plot()
    thick = {}
    for (t, k), band in display.bands_.items():
        upper, lower = np.split(band.get_path().vertices[:10], 2)
        assert np.ptp((lower[::-1] - upper)[:, 1]) < 1e-9
        thick[t, k] = (lower[0] - upper[-1])[1]
    shares = {
        (t, k): tree.mass[k, leaves_below(tree, t)].sum() for t, k in display.bands_
    }
    whole = sum(size for (t, _), size in thick.items() if t == 0)
    for place, size in thick.items():
        assert size == pytest.approx(whole * shares[place])
    for t in visible_nodes(tree)[0]:
        for k in range(3):
            below = thick.get((2 * t + 1, k), 0.0) + thick.get((2 * t + 2, k), 0.0)
            assert below == pytest.approx(thick.get((t, k), 0.0), abs=2e-4 * whole)


def test_given_rows_flow_instead_of_the_training_sample(rng):
    """Masses are those of the rows, counted one by one."""
    tree = make_tree(rng, 2, ["a", "b"], list("pq"))
    X = draw_rows(rng, "pq", 40)
    y = noisy_labels(tree, X, rng)
    parts = TreeDisplay.from_tree(tree, X, y).parts
    mass = mass_of(tree, X, y)
    for t, part in parts.items():
        np.testing.assert_allclose(
            part.mass, mass[:, leaves_below(tree, t)].sum(axis=1)
        )


def test_cuts_that_decide_nothing_are_not_drawn(rng):
    """All leaves below cut 2 have one label, and cut 3 sends all one way."""
    coef = np.ones((2, 7))
    coef[:, 2] = 0.0
    threshold = np.full(7, 0.5)
    threshold[2] = -1.0
    tree = make_tree(
        rng, 3, ["a", "b"], ["p", "q"], coef=coef, threshold=threshold,
        leaf_class=np.array([0, 0, 0, 0, 0, 1, 0, 1]),
    )  # fmt: skip
    parts = TreeDisplay.from_tree(tree).parts
    assert [t for t, part in parts.items() if isinstance(part, DrawnCut)] == [0, 5]


def test_a_tree_without_cuts_is_a_leaf(rng):
    """Nothing is asked, all samples flow to one class."""
    tree = make_tree(rng, 1, ["a", "b"], ["p"], leaf_class=np.array([1, 1]))
    display = TreeDisplay.from_tree(tree).plot()
    assert display.bars_ == {}
    assert {text.get_text() for text in display.ax_.texts} >= {
        "b",
        "100.0 % of samples",
    }
    assert_apart(display)


def test_a_cut_without_variables_tells_its_odds(rng):
    """Such a cut has no bars, and both of its sides are drawn."""
    tree = make_tree(
        rng, 1, ["a", "b"], ["p"], coef=np.zeros((1, 1)), threshold=np.array([0.01])
    )
    display = TreeDisplay.from_tree(tree).plot()
    assert display.bars_ == {0: []}
    assert display.parts[0].question.startswith("no variable: yes with probability")
    assert len(display.parts) == 3
    assert_apart(display)


def test_an_answer_that_nobody_gives_still_has_its_place(rng):
    """All rows are on one side of a cut; the labels stay inside the card."""
    tree = make_tree(rng, 1, ["a", "b"], ["p"], threshold=np.array([-1.0]))
    X = draw_rows(rng, ["p"], 20)
    display = TreeDisplay.from_tree(tree, X, ["a"] * 20).plot()
    assert len(display.parts) == 3
    assert_apart(display)


def with_nobody_below(tree, node):
    """Move the samples below a node elsewhere."""
    mass = tree.mass.copy()
    mass[:, leaves_below(tree, node)] *= 1e-5
    return replace(tree, mass=mass / mass.sum())


def test_a_leaf_that_next_to_nobody_reaches_is_not_drawn(rng):
    """The other side stands in its place with all that comes; the foot says so."""
    tree = with_nobody_below(make_tree(rng, 2, "abcd", list("pq")), 5)
    display = TreeDisplay.from_tree(tree).plot()
    assert set(display.parts) == {0, 1, 3, 4, 6}
    np.testing.assert_allclose(
        display.parts[6].mass, tree.mass[:, leaves_below(tree, 2)].sum(axis=1)
    )
    assert display.note == (
        "1 cut is not shown: less than 0.05 % of the samples goes to one of its sides "
        "(cut 3)."
    )
    written = " ".join(text.get_text() for text in display.ax_.texts)
    assert display.note in written
    assert " 0.0 % of samples" not in written
    assert_apart(display)


def test_rows_that_flow_to_a_side_show_its_cut(rng):
    """Also where next to nobody of the training sample does."""
    tree = with_nobody_below(make_tree(rng, 1, "ab", list("pq")), 2)
    X = draw_rows(rng, "pq", 60)
    display = TreeDisplay.from_tree(tree, X, noisy_labels(tree, X, rng))
    assert len(display.parts) == 3
    assert display.note == ""


def test_many_terms_are_counted_and_a_single_one_more_is_shown(rng):
    """Seven terms all have bars, of eight two are left out."""
    for n_terms, n_bars, told in ((7, 7, None), (8, 6, "and 2 more")):
        tree = make_tree(rng, 1, ["a", "b"], [f"p{j}" for j in range(n_terms)])
        display = TreeDisplay.from_tree(tree).plot()
        more = [t.get_text() for t in display.ax_.texts if "more" in t.get_text()]
        assert len(display.bars_[0]) == n_bars
        assert [text.split(" (")[0] for text in more] == ([told] if told else [])


def test_names_are_never_formulas_and_stay_on_one_line(rng):
    """Dollars, newlines, brackets, blanks, unicode: all appear as they are."""
    names = ["$a_b$", "line\nbreak", "</script>", "", "${x}", "`%'\"", "größe→Ω", "\\"]
    tree = make_tree(rng, 1, ["$1$", "two\nlines"], names)
    display = TreeDisplay.from_tree(tree).plot(max_terms=8)
    written = {text.get_text() for text in display.ax_.texts}
    told = {"$a_b$", "line\\nbreak", "</script>", '""', "${x}", "größe→Ω", "$1$"}
    assert told <= written
    assert not any("\n" in text for text in written)
    assert not any(text.get_parse_math() for text in display.ax_.texts)
    assert_apart(display)


def test_huge_names_make_no_huge_picture(rng):
    """They are shortened in the middle, and stay apart from their like."""
    names = [f"{'x' * 5000}{j}{'x' * 5000}" for j in range(3)]
    display = TreeDisplay.from_tree(make_tree(rng, 1, names, names)).plot()
    assert display.figure_.get_size_inches().max() < 20
    shown = {term.name for term in display.parts[0].terms}
    assert len(shown) == len(set(display.classes)) == 3
    assert max(map(len, shown)) <= 40


@pytest.mark.parametrize("classes", [[False, True], [3, 11], np.array(["a", "b"])])
def test_classes_of_any_kind_are_named(rng, classes):
    """Booleans, whole numbers, text."""
    display = TreeDisplay.from_tree(make_tree(rng, 1, classes, ["p"])).plot()
    assert display.classes == [str(label) for label in classes]


def test_more_classes_than_colours_are_hatched(rng):
    """Every class has a fill of its own."""
    tree = make_tree(rng, 4, [f"c{k}" for k in range(16)], ["p", "q"])
    display = TreeDisplay.from_tree(tree).plot()
    fills = {
        (band.get_facecolor(), band.get_hatch())
        for (t, _), band in display.bands_.items()
        if t == 0
    }
    assert len(fills) == sum(t == 0 for t, _ in display.bands_)


@pytest.mark.parametrize(
    ("n_small", "told"),
    [(20, ["20 others  2 %"]), (3, [f"c{k}  0 %" for k in (2, 3, 4)])],
)
def test_many_classes_of_next_to_nobody_come_in_at_one_place(rng, n_small, told):
    """They are counted; a few keep their names, however rare."""
    tree = make_tree(rng, 5, [f"c{k}" for k in range(2 + n_small)], ["p", "q"])
    mass = np.full(tree.mass.shape, 1e-3 / tree.n_leaves)
    mass[:2] = (0.5 - 5e-4 * n_small) / tree.n_leaves
    display = TreeDisplay.from_tree(replace(tree, mass=mass)).plot()
    named = [text.get_text() for text in display.ax_.texts]
    named = [text for text in named if re.fullmatch(r"(c\d+|\d+ others)  \d+ %", text)]
    assert named[2:] == told
    assert_apart(display)
    root = {k: band for (t, k), band in display.bands_.items() if t == 0}
    begins = np.array([root[k].get_path().vertices[[0, -2], 1] for k in sorted(root)])
    order = np.argsort(begins[:, 0])
    assert (begins[order][1:, 0] >= begins[order][:-1, 1] - 1e-9).all()


def test_wrong_inputs_are_refused(rng):
    """Each message says what was expected."""
    tree = make_tree(rng, 1, ["a", "b"], ["p"])
    X = draw_rows(rng, ["p"], 2)
    with pytest.raises(ValueError, match="both X and y"):
        TreeDisplay.from_tree(tree, X)
    with pytest.raises(ValueError, match=r"not among the classes: \['c'\]"):
        TreeDisplay.from_tree(tree, X, ["a", "c"])
    with pytest.raises(
        ValueError, match="max_terms must be a whole number >= 1, got 0"
    ):
        TreeDisplay.from_tree(tree).plot(max_terms=0)
