"""Data sets: those of the paper are the recorded ones; a planted tree is what it says.

No test needs a download. ``SORCT_DATA=folder pytest tests/test_datasets.py`` also loads
all 18 sets of the paper from their files.
"""

import csv
import hashlib
import os
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch
from sorct.datasets import DataSet, info, load, make_planted_tree, names

from sorct import datasets
from sorct.data.encoder import TableEncoder

FOLDER = os.environ.get("SORCT_DATA")
with_files = pytest.mark.skipif(
    not FOLDER, reason="SORCT_DATA names no folder with the paper's data sets"
)

# The paper's N, p and K, in its order.
PAPER = {
    "monks-3": (122, 11, 2),
    "monks-1": (124, 11, 2),
    "monks-2": (169, 11, 2),
    "sonar": (208, 60, 2),
    "ionosphere": (351, 34, 2),
    "wisconsin": (569, 30, 2),
    "creditapproval": (653, 37, 2),
    "pima": (768, 8, 2),
    "germancredit": (1000, 48, 2),
    "banknote": (1372, 4, 2),
    "ozone": (1848, 72, 2),
    "spam": (4601, 57, 2),
    "iris": (150, 4, 3),
    "wine": (178, 13, 3),
    "seeds": (210, 7, 3),
    "balance": (625, 16, 3),
    "thyroid": (3772, 21, 3),
    "car": (1728, 15, 4),
}
WITHOUT_FILES = ("iris", "wine", "wisconsin", "balance")
OF_OPENML = tuple(name for name in names() if info(name).openml_id is not None)

# A set of six rows, in place of a real one: two rows lack a value.
ROWS = [
    ["0.50", "2", "yes", "no"],
    ["1e2", "10", "no", "yes"],
    ["?", "10", "no", "no"],
    ["-0", "1", "no", "no"],
    ["7", "", "yes", "no"],
    [".125", "2", "yes", "yes"],
]
CONTENT = "0.5\t2\tyes\tno\n100.0\t10\tno\tyes\n0.0\t1\tno\tno\n0.125\t2\tyes\tyes"
SMALL = DataSet(
    "car",
    {"size": (), "grade": ("10", "2", "1"), "old": ("no", "yes")},
    {"no": 2, "yes": 2},
    "small.data of nobody's Small Things",
    hashlib.sha256(CONTENT.encode()).hexdigest(),
    openml_id=7,
    first_seen="102 10",
)

sizes = pytest.mark.parametrize(
    ("n", "p", "depth", "n_classes", "n_informative"),
    [(40, 3, 1, 2, 1), (200, 5, 2, 3, 2), (333, 10, 3, 2, 10), (1000, 4, 4, 16, 3)],
)


@pytest.fixture(autouse=True)
def _alone(monkeypatch):
    """Without the folder of the environment, and without a way to the network."""

    def refuse(**_):
        raise AssertionError("a test asked OpenML")

    monkeypatch.delenv("SORCT_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


@pytest.fixture
def small(monkeypatch):
    """The small set under a real one's name, beside the 17 others."""
    monkeypatch.setitem(datasets.RECORD, SMALL.name, SMALL)
    return SMALL


def write(folder, known, rows, header=None):
    """Write the file of a set."""
    path = Path(folder) / f"{known.name}.csv"
    lines = [header or known.header, *(",".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def as_openml(rows, known, order=slice(None)):
    """A stand-in for ``fetch_openml``: other names, NaN for a gap.

    Classes are called otherwise, and so are levels where the record says so.
    """
    data = {}
    kinds = [*known.levels.values(), tuple(known.class_counts)]
    for j, (levels, *column) in enumerate(zip(kinds, *rows, strict=True)):
        word = "is {}" if known.first_seen or j == len(known.levels) else "{}"
        read = word.format if levels else float
        values = [np.nan if value in ("?", "") else read(value) for value in column]
        data[f"V{j}"] = pd.Categorical(values) if levels else values
    frame = pd.DataFrame(data).iloc[order]

    def fetch(**asked):
        fetch.asked = asked
        return Bunch(data=frame.iloc[:, :-1], target=frame.iloc[:, -1])

    return fetch


def check_small(X, y):
    """The four complete rows, typed."""
    assert list(X.columns) == ["size", "grade", "old"]
    assert X["size"].dtype == np.float64
    assert X["size"].tolist() == [0.5, 100.0, 0.0, 0.125]
    assert X["grade"].tolist() == ["2", "10", "1", "2"]
    assert X["grade"].cat.categories.tolist() == ["10", "2", "1"]
    assert X["old"].tolist() == ["yes", "no", "no", "yes"]
    assert y.tolist() == ["no", "yes", "no", "yes"]
    assert y.name == "class"
    assert X.index.equals(y.index)


def check_real(name, X, y):
    """Sizes of the paper, counts and levels of the record, text and float64."""
    known = info(name)
    encoder = TableEncoder.learn(X)
    assert (len(X), encoder.n_columns, y.nunique()) == PAPER[name]
    assert y.value_counts().to_dict() == dict(known.class_counts)
    assert y.name == "class"
    assert all(isinstance(label, str) for label in y)
    assert list(X.columns) == list(known.levels)
    for column, levels in known.levels.items():
        if levels:
            assert tuple(X[column].cat.categories) == levels
            assert set(X[column]) == set(levels)
        else:
            assert X[column].dtype == np.float64
            assert np.isfinite(X[column]).all()


def test_the_record_has_the_sizes_of_the_paper():
    """N, p, K and their order; depth 1 for two classes, else 2."""
    assert names() == tuple(PAPER)
    for name, sizes in PAPER.items():
        known = info(name)
        assert (known.n_samples, known.n_columns, known.n_classes) == sizes
        assert known.depth == (1 if sizes[2] == 2 else 2)
        assert known.header.split(",") == [*known.levels, "class"]


@pytest.mark.parametrize("name", WITHOUT_FILES)
def test_four_sets_need_no_file(name, tmp_path):
    """They are the recorded ones, and a folder changes nothing."""
    check_real(name, *load(name))
    write(tmp_path, info(name), [])
    check_real(name, *load(name, folder=tmp_path))


@pytest.mark.parametrize(
    ("name", "loader"),
    [
        ("iris", sklearn.datasets.load_iris),
        ("wine", sklearn.datasets.load_wine),
        ("wisconsin", sklearn.datasets.load_breast_cancer),
    ],
)
def test_values_and_classes_are_those_of_scikit_learn(name, loader):
    """Only names change, one to one: malignant is M."""
    (X, y), theirs = load(name), loader()
    np.testing.assert_array_equal(X.to_numpy(), theirs.data)
    pairs = dict(zip(theirs.target_names[theirs.target].tolist(), y, strict=True))
    assert [pairs[str(label)][-5:] for label in theirs.target_names] == {
        "iris": ["etosa", "color", "inica"],
        "wine": ["1", "2", "3"],
        "wisconsin": ["M", "B"],
    }[name]
    assert len(set(zip(theirs.target.tolist(), y, strict=True))) == y.nunique()


def test_balance_is_its_definition():
    """Every combination once; the greater product of weight and distance tips it."""
    X, y = load("balance")
    assert not X.duplicated().any()
    numbers = X.astype(int)
    left = numbers["left_weight"] * numbers["left_distance"]
    right = numbers["right_weight"] * numbers["right_distance"]
    tips = np.select([left > right, left < right], ["L", "R"], "B")
    np.testing.assert_array_equal(y, tips)


def test_a_folder_is_read_by_argument_or_environment(small, tmp_path, monkeypatch):
    """Text stays text, levels keep their order, rows with a gap go."""
    write(tmp_path, small, ROWS)
    check_small(*load(small.name, folder=tmp_path))
    check_small(*load(small.name, folder=str(tmp_path)))
    monkeypatch.setenv("SORCT_DATA", str(tmp_path))
    check_small(*load(small.name))


def test_the_argument_goes_before_the_environment(small, tmp_path, monkeypatch):
    """A folder that is named wins over the usual one."""
    (tmp_path / "usual").mkdir()
    write(tmp_path / "usual", small, ROWS[:1])
    write(tmp_path, small, ROWS)
    monkeypatch.setenv("SORCT_DATA", str(tmp_path / "usual"))
    check_small(*load(small.name, folder=tmp_path))


@pytest.mark.parametrize(
    ("rows", "expected", "got"),
    [
        (ROWS[:-1], "4 complete rows of 4 values", "3 complete rows of 4 values"),
        ([], "4 complete rows of 4 values", "0 complete rows"),
        ([row[:-1] for row in ROWS], "of 4 values", "of 3 values"),
        ([*ROWS[:5], [*ROWS[5], "1"]], "of 4 values", "of 5 values"),
        (ROWS[::-1], f"checksum {SMALL.checksum}", "checksum [0-9a-f]{64}"),
        ([["0.51", *ROWS[0][1:]], *ROWS[1:]], SMALL.checksum, "checksum [0-9a-f]{64}"),
        ([["0.50", "3", "yes", "no"], *ROWS[1:]], SMALL.checksum, "[0-9a-f]{64}"),
        ([["much", *ROWS[0][1:]], *ROWS[1:]], SMALL.checksum, "no number .*'much'"),
    ],
)
def test_a_file_with_other_rows_is_refused(small, tmp_path, rows, expected, got):
    """The message names the file, what was expected and what was got."""
    path = write(tmp_path, small, rows)
    with pytest.raises(
        ValueError, match=f"expected .*{expected}, got .*{got}"
    ) as error:
        load(small.name, folder=tmp_path)
    assert str(path) in str(error.value)
    assert small.source in str(error.value)


@pytest.mark.parametrize("header", ["size,old,grade,class", "0.50,2,yes,no", ","])
def test_a_file_with_another_header_is_refused(small, tmp_path, header):
    """Columns are told apart by name."""
    write(tmp_path, small, ROWS, header)
    with pytest.raises(ValueError, match=f"{small.header}', got '{header}'"):
        load(small.name, folder=tmp_path)


def test_an_empty_file_is_refused(small, tmp_path):
    """It has no header either."""
    (tmp_path / f"{small.name}.csv").touch()
    with pytest.raises(ValueError, match="must begin with the line"):
        load(small.name, folder=tmp_path)


def test_an_unknown_name_is_refused():
    """The message lists the names."""
    for ask in (info, load):
        with pytest.raises(ValueError, match=r"one of monks-3, .*, car; got 'Iris'\."):
            ask("Iris")


@pytest.mark.parametrize("name", ["monks-1", "monks-2", "monks-3"])
def test_a_missing_file_is_asked_for(name, tmp_path):
    """OpenML's monks hold the test rows too: only the file will do."""
    with pytest.raises(FileNotFoundError) as error:
        load(name, folder=tmp_path)
    for part in (f"{name}.train", "id 70", str(tmp_path / f"{name}.csv"), "SORCT_DATA"):
        assert part in str(error.value)
    with pytest.raises(
        FileNotFoundError, match=rf"{name}\.csv in a folder.*SORCT_DATA"
    ):
        load(name)


def test_a_folder_that_is_none_is_refused(tmp_path, monkeypatch):
    """A slip in the folder's name starts no download."""
    with pytest.raises(FileNotFoundError, match=r"^folder must .*nowhere\.$"):
        load("car", folder=tmp_path / "nowhere")
    monkeypatch.setenv("SORCT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"^SORCT_DATA must .*nowhere\.$"):
        load("car")


def test_openml_serves_where_there_is_no_file(small, tmp_path, monkeypatch):
    """Columns count by position, labels by the rows that have them; gaps go."""
    fetch = as_openml(ROWS, small)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    check_small(*load(small.name))
    assert fetch.asked["data_id"] == small.openml_id
    check_small(*load(small.name, folder=tmp_path))


def test_a_file_goes_before_openml(small, tmp_path):
    """With the file there, nobody asks."""
    write(tmp_path, small, ROWS)
    check_small(*load(small.name, folder=tmp_path))


@pytest.mark.parametrize(
    ("rows", "order", "got"),
    [
        (ROWS, slice(None, None, -1), "checksum"),
        (ROWS, slice(5), "3 complete rows"),
        ([["0.51", *ROWS[0][1:]], *ROWS[1:]], slice(None), "checksum"),
        ([[*row[:3], "no"] for row in ROWS], slice(None), "checksum"),
        ([["?", *row[1:]] for row in ROWS], slice(None), "0 complete rows"),
    ],
)
def test_other_rows_of_openml_are_refused(small, monkeypatch, rows, order, got):
    """Another order too: splits depend on it. The message says how to go on."""
    fetch = as_openml(rows, small, order)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    message = f"^What OpenML gave .*expected .*, got .*{got}.*Get small.data"
    with pytest.raises(ValueError, match=message):
        load(small.name)


def test_a_copy_of_another_width_is_refused(small, monkeypatch):
    """As a copy without a target would be."""
    bare = pd.DataFrame({"V1": [1.0, 2.0, 3.0, 4.0]})
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda **_: Bunch(data=bare, target=None)
    )
    with pytest.raises(ValueError, match="rows of 4 values, got .*rows of 1 values"):
        load(small.name)


@pytest.mark.parametrize("failure", [URLError("no network"), EOFError("cut short")])
def test_a_failed_download_says_what_to_do(small, tmp_path, monkeypatch, failure):
    """The message tells why, which file to get and where to put it."""

    def fail(**_):
        raise failure

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    with pytest.raises(FileNotFoundError, match="could not be downloaded") as error:
        load(small.name, folder=tmp_path)
    for part in (str(failure), small.source, str(tmp_path / "car.csv"), "SORCT_DATA"):
        assert part in str(error.value)


@with_files
@pytest.mark.parametrize("name", PAPER)
def test_every_set_is_the_papers(name):
    """All 18 have the paper's N, p and K."""
    check_real(name, *load(name, folder=FOLDER))


@with_files
@pytest.mark.parametrize("name", OF_OPENML)
def test_every_renamed_copy_is_recognised(name, tmp_path, monkeypatch):
    """A copy with other names, other labels and further rows with gaps is the same."""
    with (Path(FOLDER) / f"{name}.csv").open(newline="") as file:
        _, *rows = csv.reader(file)
    gap = ["?"] * len(rows[0])
    fetch = as_openml([rows[0], gap, *rows[1:]], info(name))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    X, y = load(name, folder=FOLDER)
    X_copy, y_copy = load(name, folder=tmp_path)
    pd.testing.assert_frame_equal(X_copy, X)
    pd.testing.assert_series_equal(y_copy, y)


def leaves_of(data):
    """Position of every sample's leaf, each sent down on its own, and its least gap.

    The median of an odd number of samples is one of them: rounding decides its side.
    """
    n_branches = data.threshold.size
    leaf, least = np.zeros(len(data.X), dtype=np.int64), np.full(len(data.X), np.inf)
    for i, x in enumerate(data.X):
        node = 0
        while node < n_branches:
            gap = x @ data.coef[:, node] - data.threshold[node]
            node, least[i] = 2 * node + (1 if gap > 0 else 2), min(least[i], abs(gap))
        leaf[i] = node - n_branches
    return leaf, least


@sizes
@pytest.mark.parametrize("seed", range(3))
def test_labels_follow_from_the_tree(n, p, depth, n_classes, n_informative, seed):
    """Sending samples down the tree gives the clean labels; leaves count in turn."""
    data = make_planted_tree(
        n, p, depth, n_classes, n_informative, noise=0.0, random_state=seed
    )
    assert data.leaf_class.tolist() == [leaf % n_classes for leaf in range(2**depth)]
    leaf, gap = leaves_of(data)
    clear = gap > 1e-12
    assert np.count_nonzero(~clear) < 2**depth
    np.testing.assert_array_equal(data.y_clean[clear], data.leaf_class[leaf][clear])
    np.testing.assert_array_equal(data.y, data.y_clean)


@sizes
def test_every_leaf_gets_its_even_part(n, p, depth, n_classes, n_informative):
    """Every cut halves its samples; an odd one goes to either side."""
    data = make_planted_tree(n, p, depth, n_classes, n_informative, random_state=0)
    counts = np.bincount(leaves_of(data)[0], minlength=2**depth)
    assert np.all(np.abs(counts - n / 2**depth) < 2.0)
    assert counts.sum() == n


@sizes
def test_shapes_and_ranges_are_as_told(n, p, depth, n_classes, n_informative):
    """Features in [0, 1]; so many features per cut, of weights from 0.4 to 1."""
    data = make_planted_tree(n, p, depth, n_classes, n_informative, random_state=0)
    assert data.X.shape == (n, p)
    assert np.all((data.X >= 0.0) & (data.X <= 1.0))
    assert data.coef.shape == (p, 2**depth - 1)
    assert np.all(np.count_nonzero(data.coef, axis=0) == n_informative)
    size = np.abs(data.coef[data.coef != 0.0])
    assert np.all((size >= 0.4) & (size <= 1.0))
    assert set(data.y) == set(range(n_classes))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_noise_is_the_share_of_labels_redrawn(noise, n_classes):
    """Of those, one in n_classes stays as it was; within five standard deviations."""
    n = 20_000
    data = make_planted_tree(n, 3, 2, n_classes, 2, noise=noise, random_state=0)
    wrong = noise * (1.0 - 1.0 / n_classes)
    allowed = 5.0 * np.sqrt(wrong * (1.0 - wrong) / n)
    assert np.mean(data.y != data.y_clean) == pytest.approx(wrong, abs=allowed)


def test_the_seed_decides():
    """The same seed gives the same data to the last bit, another another."""
    one, again, other = (
        make_planted_tree(100, 4, 2, 3, 2, random_state=seed) for seed in (0, 0, 1)
    )
    for name in ("X", "y", "y_clean", "coef", "threshold", "leaf_class"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.X, other.X)
    assert not np.array_equal(one.coef, other.coef)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("depth", [0, -1]),
        ("n_samples", [3, 0]),
        ("n_classes", [1, 5]),
        ("n_informative", [0, 6]),
        ("noise", [-0.1, 1.1, np.nan]),
    ],
)
def test_an_impossible_tree_is_refused(name, values):
    """The message begins with the parameter and tells what it got."""
    possible = {"n_samples": 50, "n_features": 5, "depth": 2, "n_classes": 3}
    for value in values:
        wanted = {**possible, "n_informative": 2, name: value}
        with pytest.raises(ValueError, match=rf"^{name} must .*got {value}\.$"):
            make_planted_tree(**wanted)
