"""The frontier: limits are kept, test rows choose nothing, what is there stays."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from experiments import frontier, frontier_report, peers, real_tables  # noqa: E402
from experiments.frontier import Config  # noqa: E402
from experiments.peers import LIMITS, METHODS, Encoded, Fitted, Problem  # noqa: E402
from experiments.rivals import rpart_program  # noqa: E402
from experiments.run import HERE  # noqa: E402

needs_rpart = pytest.mark.skipif(
    "rpart_program() is None", reason="Rscript with rpart is not installed"
)
TINY = {"alphas_local": [0.05, 8.0], "n_solutions": 2, "cv": 2}
#: Nothing is left to choose: races have tests of their own.
TINY |= {"loss": "log", "depths": 2, "scaling": "auto"}
FEW = {"n_trees": 2, "depth": 2, "n_starts": 1, "gamma": 100.0}
OPTIONS = {
    **{name: {"n_trees": 5} for name in METHODS if name.startswith("forest")},
    **{name: TINY for name in METHODS if name.startswith("ours")},
    **{name: FEW for name in METHODS if name.startswith("ours-forest")},
    # The rule "fewest" needs a race.
    "ours-forest-fewest": {**FEW, "rule": "best"},
}
#: One number of variables is quick, the other says the same again.
LIMITED = [
    pytest.param(name, marks=[pytest.mark.slow] * (LIMITS[name] >= 5))
    for name in sorted(LIMITS)
]


class Place:
    """A folder of a small config and results of its own."""

    def __init__(self, folder):
        self.config, self.results = folder / "config", folder / "results"
        self.output = folder / "output"
        self.config.mkdir()
        self.write()

    def write(self, **changes):
        """Write the config; None leaves a key out."""
        told = {
            "tables": ["iris"],
            "methods": list(METHODS),
            "n_splits": 2,
            "n_real_splits": 1,
            "n_folds": 2,
            "options": {},
            "fewer_splits": {"forest": {"any": 1}},
            **changes,
        }
        lines = []
        for key, value in told.items():
            if isinstance(value, dict):
                inside = [f"{x} = {_toml(y)}" for x, y in value.items()]
                lines += [f"[{key}]", *inside]
            elif value is not None:
                lines.insert(0, f"{key} = {_toml(value)}")
        (self.config / "frontier.toml").write_text("\n".join(lines) + "\n")
        return self

    def run(self, *arguments):
        """Run in this process; the exit code."""
        folders = [f"--{x}={getattr(self, x)}" for x in ("config", "results", "output")]
        return frontier.main([*folders, *arguments])

    @property
    def table(self):
        """The long table."""
        return pd.read_csv(self.results / "frontier.csv.gz")


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{x} = {_toml(y)}" for x, y in value.items()) + "}"
    return json.dumps(value)


@pytest.fixture
def place(tmp_path):
    """A place with iris alone, two splits and two folds."""
    return Place(tmp_path).write(options=OPTIONS)


@pytest.fixture
def nothing_fits(monkeypatch):
    """Fail if anything is fitted."""

    def work(*_, **__):
        pytest.fail("something was fitted")

    for name in METHODS:
        monkeypatch.setitem(METHODS, name, work)


@pytest.fixture(scope="module")
def mixed():
    """A table of eight variables, three of them categories, cells missing in two."""
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    X["f"] = rng.choice(["x", "y", "z"], n)
    X["g"] = rng.choice(["no", "yes"], n)
    X["h"] = rng.choice(["p", "q", "r", "s"], n)
    score = X["a"] + X["b"] + 1.5 * (X["f"] == "x") - (X["h"] == "q") + X["c"]
    y = (score + 0.3 * rng.normal(size=n) > 0.5).to_numpy(dtype=np.int64)
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    X["f"] = X["f"].astype(object).where(rng.random(n) > 0.1)
    X.loc[200:, "b"] = X.loc[200:, "b"].where(rng.random(40) > 0.2)
    X.loc[239, "h"] = "unheard of"
    classes = np.array(["0", "1"], dtype=object)
    return Problem(X[:180], y[:180], X[180:], y[180:], classes, 0)


def fitted(name, problem, **options):
    """A method on a problem, with three folds and small settings."""
    return peers.fit(name, problem, 3, **{**OPTIONS.get(name, {}), **options})[0]


# -- limits ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", LIMITED)
@pytest.mark.slow
def test_no_more_variables_than_allowed(name, mixed):
    """On wine, of 13 variables, and on a table with categories and missing cells."""
    for problem in (Problem.of("wine", 0), mixed):
        model = fitted(name, problem)
        assert model.n_variables <= LIMITS[name]
        assert model.n_columns >= model.n_variables


def test_the_limits_are_three_and_five():
    """Each for us, for L1 logistic regression and for CART; for forests ten too."""
    limits = {f"{x}-{k}": k for x in ("ours", "l1", "cart") for k in (3, 5)}
    limits |= {f"{x}-{k}": k for x in ("ours-forest", "forest") for k in (3, 5, 10)}
    assert limits == LIMITS


@pytest.mark.parametrize("name", [x for x in LIMITED if "ours" not in x.values[0]])
def test_the_variables_counted_are_all_that_matter(name, mixed):
    """Changing all other variables of the test rows changes no probability."""
    model = fitted(name, mixed)
    rows, changed = mixed.X_test, []
    for column in rows:
        other = rows[column].sample(frac=1.0, random_state=1).to_numpy()
        changed.append(rows.assign(**{column: other}))
    # One below the other: that test rows choose nothing is held below.
    X, y = pd.concat(changed), np.tile(mixed.y_test, len(changed))
    proba = fitted(name, replace(mixed, X_test=X, y_test=y)).proba
    parts = np.split(proba, len(changed))
    touched = sum(not np.array_equal(part, model.proba) for part in parts)
    assert touched <= model.n_variables <= LIMITS[name]


@pytest.mark.parametrize("k", [2, 3])
def test_limits_are_met_with_the_variables_that_matter(k, mixed):
    """Variables that say nothing are not among the first few."""
    for fit in (peers.l1_limited, peers.cart):
        model = fit(mixed, 3, k=k)
        assert 1 <= model.n_variables <= k
        accuracy = np.mean(model.proba.argmax(axis=1) == mixed.y_test)
        assert accuracy > np.bincount(mixed.y_test).max() / len(mixed.y_test)


# -- honesty ---------------------------------------------------------------------------


def all_peers():
    """Every method but ours, with what it needs."""
    for name in METHODS:
        if name.startswith("ours"):
            continue
        # R is run once below; five variables say what three say.
        is_slow = name == "rpart" or LIMITS.get(name) == 5
        marks = [needs_rpart] * (name == "rpart") + [pytest.mark.slow] * is_slow
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(all_peers()))
def test_test_rows_choose_nothing(name, mixed):
    """Rows seen beside others, under other labels, have the same probabilities."""
    options = {}
    if name == "ebm":
        pytest.importorskip("interpret")
        options = {"outer_bags": 1, "max_rounds": 20, "interactions": 0}
    model = fitted(name, mixed, **options)
    half = replace(mixed, X_test=mixed.X_test[:30], y_test=1 - mixed.y_test[:30])
    other = fitted(name, half, **options)
    np.testing.assert_allclose(other.proba, model.proba[:30], rtol=1e-12)
    assert other.n_variables == model.n_variables
    assert model.n_columns > 0
    np.testing.assert_allclose(model.proba.sum(axis=1), 1.0, rtol=1e-6)


def test_columns_are_learned_on_the_training_rows(mixed):
    """Centred and scaled there; unknown levels and missing cells have no column set."""
    encoded = mixed.encoded
    np.testing.assert_allclose(encoded.train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(encoded.train.std(axis=0), 1.0)
    # a and whether it is missing, b to e, three levels, one of two, four levels
    assert encoded.source.tolist() == [0, 0, 1, 2, 3, 4, 5, 5, 5, 6, 7, 7, 7, 7]
    assert np.isfinite(encoded.test).all()
    turned = Encoded.of(mixed.X_train, mixed.X_test[::-1])
    np.testing.assert_array_equal(turned.train, encoded.train)
    np.testing.assert_array_equal(turned.test[::-1], encoded.test)
    unset = encoded.train[:, -4:].min(axis=0)
    np.testing.assert_allclose(encoded.test[-1, -4:], unset)


def test_splits_are_those_of_the_other_experiments(tmp_path, monkeypatch):
    """The paper's, and stratified ones of a real table; labels become codes."""
    problem = Problem.of("iris", 3)
    split = peers.Split.of("iris", 3)
    assert problem.X_test.index.tolist() == split.X_test.index.tolist()
    assert (problem.classes[problem.y_test] == split.y_test).all()
    table = pd.DataFrame({"x": range(40), "kind": ["b", "a", "a", "a"] * 10})
    (tmp_path / "real").mkdir()
    table.to_csv(tmp_path / "real" / "affairs.csv", index=False)
    schema = json.dumps({"affairs": {"target": "kind"}})
    (tmp_path / "real" / "schema.json").write_text(schema)
    monkeypatch.delenv("SORCT_REAL", raising=False)
    monkeypatch.setenv("SORCT_DATA", str(tmp_path))
    problem = Problem.of("affairs", 1)
    assert problem.classes.tolist() == ["a", "b"]
    assert np.bincount(problem.y_train).tolist() in ([22, 8], [23, 7])
    assert len(problem.y_test) == 10


# -- scores ----------------------------------------------------------------------------


def test_scores_by_hand():
    """Three rows of two classes; one surely wrong counts 1e-6 in the log-loss."""
    none = pd.DataFrame(index=range(3))
    problem = Problem(none, None, none, np.array([0, 1, 1]), np.array(["n", "y"]), 0)
    proba = np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]])
    found = frontier.scores(problem, Fitted(proba, 1, 2))
    assert found["accuracy"] == pytest.approx(1 / 3)
    expected = -np.mean(np.log([0.75, 0.5, 1e-6]))
    assert found["log_loss"] == pytest.approx(expected)
    assert found["brier"] == pytest.approx((0.0625 + 0.25 + 1.0) / 3)
    assert found["auc"] == pytest.approx(0.5)
    labels = frontier.scores(problem, Fitted(proba, 1, 2, labels=np.array([0, 1, 0])))
    assert labels["accuracy"] == pytest.approx(2 / 3)


def test_a_class_without_test_rows_has_no_curve():
    """The area is the mean over the others."""
    none = pd.DataFrame(index=range(2))
    problem = Problem(none, None, none, np.array([0, 1]), np.array(list("abc")), 0)
    proba = np.array([[0.6, 0.2, 0.2], [0.7, 0.2, 0.1]])
    found = frontier.scores(problem, Fitted(proba, 1, 1))
    assert found["auc"] == pytest.approx((0.0 + 0.5) / 2)


# -- the harness -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_run_on_iris(place, nothing_fits, monkeypatch):
    """A row per method and split, limits kept; then nothing is left to fit."""
    monkeypatch.setattr(frontier_report, "DPI", 40)
    skipped = {"ebm"} | ({"rpart"} if rpart_program() is None else set())
    # Those that differ from others in a rule or in the learner of a peer alone.
    skipped |= {"ours-1se", "boosting"}
    skipped |= {name for name, limit in LIMITS.items() if limit != 3}
    names = [name for name in METHODS if name not in skipped]
    with monkeypatch.context() as real:
        for name, method in _methods.items():
            real.setitem(METHODS, name, method)
        assert place.run(*names) == 0
    table = place.table
    assert list(table.columns) == list(frontier.COLUMNS)
    counts = table["method"].value_counts()
    assert counts.to_dict() == {x: 1 if x == "forest" else 2 for x in names}
    assert table["accuracy"].between(0.3, 1.0).all()
    limits = table["method"].map(LIMITS).fillna(4)
    assert (table["n_variables"] <= limits).all()
    is_tree = table["method"].str.match("ours(?!-forest)|cart|rpart")
    assert (table["n_cuts"].notna() == is_tree).all()
    before = (place.results / "frontier.csv.gz").read_bytes()
    assert place.run(*names, "--fit-only") == 0
    assert (place.results / "frontier.csv.gz").read_bytes() == before
    text = (place.output / "frontier_tables.md").read_text("utf-8")
    assert "| Iris |" in text
    assert "within 1.0 point" in text
    assert len(pd.read_csv(place.output / "frontier_tables.csv")) == len(names)
    assert (place.output / "frontier_peers.png").stat().st_size > 1000


_methods = dict(METHODS)


def test_rows_of_other_methods_stay(place):
    """Without their units too; rows of other options go."""
    assert place.run("cart", "cart-3", "--fit-only") == 0
    cart = place.table
    for unit in place.results.glob("units/*/*.csv"):
        unit.unlink()
    assert place.run("forest", "--fit-only") == 0
    table = place.table
    assert set(table["method"]) == {"cart", "cart-3", "forest"}
    kept = table[table["method"] != "forest"].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, cart, check_dtype=False)
    place.write(options={"forest": {"n_trees": 7}})
    assert place.run("forest", "--fit-only") == 0
    assert (place.table["method"] == "forest").sum() == 1
    assert set(place.table["key"]) > set(cart["key"])


def test_a_key_may_look_like_a_number(place, monkeypatch, nothing_fits):
    """What was fitted under such a key is not fitted again."""
    monkeypatch.setattr(frontier.Config, "key", lambda self, method: "7e5676555042")
    with monkeypatch.context() as real:
        real.setitem(METHODS, "cart", _methods["cart"])
        assert place.run("cart", "--fit-only") == 0
    shutil.rmtree(place.results / "units")
    assert place.run("cart", "--fit-only") == 0
    assert len(place.table) == 2


def test_what_was_done_before_a_failure_is_kept(place, monkeypatch):
    """A run that breaks goes on where it stopped."""

    def broken(problem, n_folds, **_):
        if problem.seed == 1:
            raise MemoryError
        return _methods["cart"](problem, n_folds)

    with monkeypatch.context() as odd:
        odd.setitem(METHODS, "cart", broken)
        with pytest.raises(MemoryError):
            place.run("cart", "--fit-only")
    assert place.table["split"].tolist() == [0]
    assert place.run("cart", "--fit-only") == 0
    assert place.table["split"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tables": ["iris", "irises"]}, "irises"),
        ({"tables": ["iris", "iris"]}, "each once"),
        ({"methods": ["magic"]}, "magic"),
        ({"n_folds": None}, "n_folds"),
        ({"n_splits": 0}, "n_splits"),
        ({"fewer_splits": {"magic": {"any": 1}}}, "magic"),
        ({"fewer_splits": {"ebm": {"iris": 0}}}, "ebm on iris"),
        ({"fewer_splits": {"ebm": {"irises": 1}}}, "irises"),
    ],
    ids=str,
)
def test_odd_configs_are_refused(place, capsys, nothing_fits, changes, words):
    """Before the first fit."""
    assert place.write(**changes).run() == 2
    told = capsys.readouterr().err
    assert told.startswith("experiments: ")
    assert words in told


def test_the_config_at_hand_is_good():
    """All 26 tables and all methods, ten and three splits."""
    config = Config.read(HERE / "config")
    assert set(config.tables) == set(frontier_report.GROUPS["all"])
    assert len(config.tables) == 26
    assert set(config.methods) == set(METHODS) == set(frontier_report.NAMES)
    units = pd.DataFrame(config.units, columns=frontier.KEYS)
    counts = units[units["method"] == "ours"]["table"].value_counts()
    assert all(
        count == (3 if name in real_tables.TABLES else 10)
        for name, count in counts.items()
    )


# -- the page --------------------------------------------------------------------------


def rows_of(method, accuracies, used=3.0, table="iris", loss=0.5):
    """Rows of a method, one per split."""
    return [
        {"table": table, "split": k, "method": method, "accuracy": accuracy}
        | {"log_loss": loss, "n_variables": used}
        for k, accuracy in enumerate(accuracies)
    ]


def test_standing_by_hand():
    """On shared splits: 0.5 below the best peer on one table, 2 below on another."""
    frame = pd.DataFrame(
        rows_of("ours", [90.0, 90.0], used=2.0, loss=0.1)
        + rows_of("l1", [90.0, 91.0, 10.0])
        + rows_of("rpart", [80.0, 80.0, 80.0])
        + rows_of("cart", [85.0, 85.0, 99.0])
        + rows_of("ours", [88.0], table="wine")
        + rows_of("l1", [90.0], table="wine")
        + rows_of("rpart", [80.0], table="wine")
        + rows_of("cart", [80.0], table="wine")
    )
    row = frontier_report.standing(frame).set_index("method").loc["ours"]
    assert (row["n_tables"], row["n_near"], row["n_ahead"]) == (2, 1, 0)
    assert row["mean_gap"] == pytest.approx(-1.25)
    assert (row["n_log_loss"], row["n_fewer"]) == (1, 1)


def test_methods_are_compared_on_the_splits_that_all_of_them_have():
    """And tables on which one of them is missing are left out of the means."""
    rows = [
        ("iris", 0, "ours", 90.0),
        ("iris", 1, "ours", 96.0),
        ("iris", 0, "l1", 80.0),
        ("wine", 0, "ours", 70.0),
        ("wine", 0, "l1", 60.0),
        ("wine", 1, "l1", 10.0),
        ("seeds", 0, "ours", 10.0),
    ]
    frame = pd.DataFrame(rows, columns=["table", "split", "method", "accuracy"])
    frame = frame.assign(log_loss=0.5, n_variables=2)
    found = frontier_report.paired(frame, ("ours", "l1")).set_index("dataset")
    assert found["n_splits"].tolist()[:2] == [1, 1]
    assert found["accuracy_ours"].tolist() == [90.0, 70.0, 80.0, 80.0]
    assert found["accuracy_l1"].tolist() == [80.0, 60.0, 70.0, 70.0]
    assert frontier_report.paired(frame, ("ours", "cart")).empty
