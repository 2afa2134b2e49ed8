import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sorct.show.plotting._alpha_axis import alpha_places, labels_shown
from sorct.show.plotting._focus import lowest_in_view
from sorct.show.plotting._style import alpha_texts, class_fills, drawn_names


def grey(colour):
    """Lightness from 0 to 100 of a colour printed in grey (CIE L*)."""
    linear = np.array(
        [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in to_rgb(colour)
        ]
    )
    return 116.0 * (linear @ [0.2126, 0.7152, 0.0722]) ** (1 / 3) - 16.0


@pytest.mark.parametrize("n_classes", [1, 2, 3, 8, 9, 20, 45])
def test_every_class_has_a_fill_of_its_own(n_classes):
    """By colour, or by hatch where colours run out."""
    assert len(set(class_fills(n_classes))) == n_classes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_classes_are_told_apart_in_grey(n_classes):
    """All by 15 steps of lightness at least."""
    light = np.sort([grey(fill.colour) for fill in class_fills(n_classes)])
    assert np.diff(light).min() > 15


def test_neighbours_among_many_classes_are_told_apart_in_grey():
    """Dark and light come in turn."""
    light = np.array([grey(fill.colour) for fill in class_fills(9)])
    assert np.abs(np.diff(light)).min() > 10


def test_names_of_up_to_forty_letters_are_kept_whole():
    """Longer ones lose their middle."""
    whole, cut = drawn_names(["a" * 40, "b" * 30 + "c" * 30])
    assert whole == "a" * 40
    assert len(cut) == 40
    assert cut.startswith("b" * 19)
    assert cut.endswith("c" * 19)
    assert "…" in cut


def test_distinct_names_stay_distinct():
    """However alike their ends are, or their letters but for case."""
    names = ["x" * 99 + str(j) + "x" * 99 for j in range(12)] + [
        "a",
        "A",
        "",
        " ",
        "\n",
    ]
    assert len(set(drawn_names(names))) == len(names)


def test_names_are_printable_and_visible():
    """Control characters are escaped, blanks are quoted."""
    assert drawn_names(["a\nb", "", 3, True]) == ["a\\nb", '""', "3", "True"]


@pytest.mark.parametrize(
    ("alphas", "texts"),
    [
        ([0.0, 0.25, 1.0, 8.0], ["0", "2⁻²", "2⁰", "2³"]),
        ([2.0**-12, 2.0**10], ["2⁻¹²", "2¹⁰"]),
        ([0.0, 0.1, 1.0], ["0", "0.1", "1"]),
        ([0.0, 0.5], ["0", "0.5"]),
        ([0.0], ["0"]),
    ],
)
def test_penalties_read_as_powers_of_two_if_they_are(alphas, texts):
    """A single one is a plain number."""
    assert alpha_texts(alphas) == texts


def test_zero_stands_left_of_all_other_penalties():
    """Further than one step of the grid; the others stand at themselves."""
    alphas = np.array([0.0, 1.0, 4.0, 16.0])
    places = alpha_places(alphas)
    assert places[1:].tolist() == [1.0, 4.0, 16.0]
    assert 0.0 < places[0] < 1.0 / 4.0
    assert alpha_places(np.zeros(1)).tolist() == [1.0]
    assert (alpha_places(np.array([0.0, 3.0])) > 0.0).all()


@pytest.mark.parametrize("n", [1, 2, 9, 10, 17, 40])
@pytest.mark.parametrize("zero", [True, False])
def test_first_zero_and_last_penalty_are_labelled(n, zero):
    """At most eight labels, evenly apart."""
    alphas = np.append([0.0] * zero, 2.0 ** np.arange(n))
    shown = labels_shown(alphas)
    assert shown[-1] == alphas.size - 1
    assert not zero or shown[0] == 0
    assert len(shown) <= 8
    assert len(set(np.diff(shown[1:]))) <= 1


def test_only_a_single_far_off_score_is_left_out_of_view():
    """The worst, where it would squeeze all others together."""
    assert lowest_in_view(np.array([0.6, 0.6, 0.9, 0.92, 0.95])) == 0.9
    assert lowest_in_view(np.array([0.6, 0.7, 0.8, 0.95])) == 0.6
    assert lowest_in_view(np.array([0.6, 0.61, 0.95, 0.96])) == 0.6
    assert lowest_in_view(np.array([0.6, 0.9, np.nan])) == 0.6
