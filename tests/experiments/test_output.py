"""The paper's tables and figures, from results small enough to check by hand."""

import math
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import tables
from experiments.tables import GLOBAL_2, GRID, L1, LOCAL_1, LOCAL_2

COLUMNS = [
    "dataset", "depth", "split", "method", "alpha_local", "alpha_global", "C",
    "local_sparsity", "global_sparsity", "n_columns", "n_variables", "accuracy",
]  # fmt: skip


def save(folder, part, rows):
    """Write rows as a part of the results."""
    pd.DataFrame(rows, columns=COLUMNS).to_csv(folder / f"{part}.csv.gz", index=False)


def fits(dataset, part, alpha, accuracies, sparsities, **options):
    """Rows of one data set and penalty, one per split."""
    depth = 2 if part == "global" else 1
    row = {"dataset": dataset, "depth": depth, "method": "S-ORCT"}
    row |= {"alpha_local": 0.0, "alpha_global": 0.0, f"alpha_{part}": alpha}
    return [
        row
        | {"split": split, "accuracy": accuracy}
        | {"local_sparsity": sparsity, "global_sparsity": sparsity}
        | options
        for split, (accuracy, sparsity) in enumerate(
            zip(accuracies, sparsities, strict=True)
        )
    ]


def rivals(dataset, method, accuracies, sparsities, **options):
    """Rows of a rival, which has no penalty of ours and no depth."""
    rows = fits(dataset, "local", 0.0, accuracies, sparsities)
    none = {"depth": None, "alpha_local": None, "alpha_global": None}
    return [row | none | {"method": method} | options for row in rows]


@pytest.fixture
def results(tmp_path):
    """A folder with every part: Iris and Wine at depth 2, Sonar at depth 1.

    Accuracy of Iris is (95, 97): mean 96, standard deviation sqrt 2, standard error 1.
    """
    folder = tmp_path / "results"
    folder.mkdir()
    even = [0.95, 0.97]
    save(folder, "global", [
        *fits("wine", "global", 0.0, [0.90, 0.90], [0.0, 0.0]),
        *fits("iris", "global", 8.0, even, [75.0, 75.0]),
        *fits("iris", "global", 0.0, even, [25.0, 25.0]),
    ])  # fmt: skip
    save(folder, "local", [
        *fits("sonar", "local", 0.0, [0.9, 0.8, 0.9], [20.0, 40.0, 30.0]),
        *fits("sonar", "local", 0.5, [0.7, 0.8, 0.6], [100.0, 100.0, 100.0]),
        *fits("sonar", "local", 2.0**-12, [0.8, 0.8, 0.8], [5.0, 5.0, 5.0]),
    ])  # fmt: skip
    save(folder, "grid", [
        row | {"alpha_local": local}
        for local in GRID
        for alpha in GRID
        for row in fits("iris", "global", alpha, even, [alpha, 50.0])
    ])  # fmt: skip
    save(folder, "rivals", [
        *rivals("sonar", "rpart", [0.8, 0.8, 0.8], [30.0, 50.0, 40.0]),
        *rivals("sonar", "scikit-learn CART", [0.1, 0.1, 0.1], [0.0, 0.0, 0.0]),
        *rivals("iris", "rpart", even, [50.0, 50.0]),
        *rivals("sonar", L1, [0.7, 0.8], [10.0, 10.0], C=1.0),
        *rivals("sonar", L1, [0.9, 0.9], [50.0, 50.0], C=0.1),
        *rivals("sonar", L1, [0.8, 0.8], [50.0, 50.0], C=0.2),
    ])  # fmt: skip
    save(folder, "selection", [
        *rivals("sonar", "S-ORCT", [0.7, 0.8], [50.0, 50.0], n_columns=4),
        *rivals("sonar", L1, [0.8, 0.8], [50.0, 50.0], n_columns=5),
        *rivals("ozone", "S-ORCT", [0.9, 0.9], [50.0, 50.0], n_columns=6),
        *rivals("ozone", L1, [0.9, 0.8], [50.0, 50.0], n_columns=6),
        *rivals("iris", "S-ORCT", [0.9, 0.9], [50.0, 50.0], n_columns=2),
    ])  # fmt: skip
    return folder


def test_the_papers_figures_are_complete():
    """12, 6 and 6 data sets, 17 penalties each, all per cents, in the paper's order."""
    path = Path(tables.__file__).with_name("paper.toml")
    paper = tomllib.loads(path.read_text(encoding="utf-8"))
    order = list(tables.DATASETS)
    sets = {LOCAL_1: order[:12], LOCAL_2: order[12:], GLOBAL_2: order[12:]}
    assert {table.name: names for table, names in sets.items()} == {
        table: list(datasets) for table, datasets in paper.items()
    }
    for datasets in paper.values():
        for figures in datasets.values():
            assert set(figures) == {"sparsity", "accuracy"}
            for values in figures.values():
                assert len(values) == len(GRID) == 17
                assert 0.0 <= min(values) <= max(values) <= 100.0


def test_a_difference_is_measured_in_standard_errors_of_both_sides(results):
    """Twice our variance, and the rounding of what the paper prints."""
    frame = tables.compare_with_paper(tables.load_results(results), GLOBAL_2)
    assert list(zip(frame["dataset"], frame["alpha"], strict=True)) == [
        ("iris", 0.0), ("iris", 8.0), ("wine", 0.0),
    ]  # fmt: skip
    row = frame.iloc[0]  # the paper: 95.9 at a sparsity of 0
    assert (row["n_splits"], row["paper_accuracy"], row["paper_sparsity"]) == (
        2,
        95.9,
        0,
    )
    assert row["accuracy"] == pytest.approx(96.0)
    assert row["accuracy_se"] == pytest.approx(1.0)
    assert row["accuracy_difference"] == pytest.approx(0.1)
    expected = 0.1 / math.sqrt(2.0 + 0.01 / 12.0)
    assert row["accuracy_difference_in_se"] == pytest.approx(expected)
    # Without spread of our own only the rounding is left: 25 points, 1 / sqrt(12) each.
    assert row["sparsity_difference_in_se"] == pytest.approx(25.0 * math.sqrt(12.0))


def test_the_summary_averages_the_grid_and_counts_what_is_apart(results):
    """Iris has one sparsity apart, at 0; Wine, at 90 without spread, its accuracy."""
    frame = tables.summarise(
        tables.compare_with_paper(tables.load_results(results), GLOBAL_2)
    ).set_index("dataset")
    iris, wine, total = (frame.loc[name] for name in ("iris", "wine", "all"))
    # The paper has 95.9 and 96.2 for Iris, 0 and 75; 96.6 and 0 for Wine.
    assert iris["paper_accuracy"] == pytest.approx(96.05)
    assert iris["sparsity_difference"] == pytest.approx(12.5)
    assert (iris["n_points"], iris["n_sparsity_apart"], iris["n_accuracy_apart"]) == (
        2,
        1,
        0,
    )
    assert (wine["n_points"], wine["n_sparsity_apart"], wine["n_accuracy_apart"]) == (
        1,
        0,
        1,
    )
    assert (total["n_points"], total["n_sparsity_apart"]) == (3, 1)
    assert total["accuracy_difference"] == pytest.approx((-0.05 - 6.6) / 2.0)


def test_the_interval_of_the_difference_to_cart_is_students(results):
    """Differences 10, 0, 10: mean 20/3, standard error 10/3, t(2) = 4.302653."""
    frame = tables.compare_with_cart(tables.load_results(results))
    assert set(frame["rival"]) == {"rpart"}
    row = frame.query("dataset == 'sonar' and alpha == 0").iloc[0]
    assert row["accuracy_difference"] == pytest.approx(20.0 / 3.0)
    half = 4.302653 * 10.0 / 3.0
    assert row["accuracy_low"] == pytest.approx(20.0 / 3.0 - half, abs=1e-5)
    assert row["accuracy_high"] == pytest.approx(20.0 / 3.0 + half, abs=1e-5)
    sparsity = [row[f"global_sparsity_{end}"] for end in ("difference", "low", "high")]
    assert sparsity == pytest.approx([-10.0, -10.0, -10.0])
    # At depth 2 the trees with a global penalty are compared; Wine has no rival here.
    assert list(frame["dataset"]) == ["sonar"] * 3 + ["iris"] * 2


def test_l1_is_compared_at_equal_sparsity(results):
    """Its path goes from 75 % at 10 to 85 % (the mean of two) at 50, and no further."""
    frame = tables.compare_with_l1(tables.load_results(results)).set_index("alpha")
    assert frame.loc[0.0, "global_sparsity"] == pytest.approx(30.0)
    assert frame.loc[0.0, "l1_accuracy"] == pytest.approx(80.0)
    assert frame.loc[0.0, "difference"] == pytest.approx(260.0 / 3.0 - 80.0)
    assert frame.loc[[2.0**-12, 0.5], "l1_accuracy"].isna().all()


def test_selected_models_are_averaged_over_the_sets_all_methods_have(results):
    """Sonar without Ozone, then both; Iris lacks a rival. Fewer columns on Sonar."""
    means = tables.selection_means(tables.load_results(results)["selection"])
    frame = tables.selection_overall(means).set_index(["sets", "method"])
    some, every = frame.index.levels[0].sort_values(ascending=False)
    assert (frame.loc[some, "n_sets"] == 1).all()
    assert (frame.loc[every, "n_sets"] == 2).all()
    ours, rival = frame.loc[(every, "S-ORCT")], frame.loc[(every, L1)]
    assert (ours["accuracy"], rival["accuracy"]) == pytest.approx((82.5, 82.5))
    assert (ours["n_columns"], rival["n_columns"]) == pytest.approx((5.0, 5.5))
    assert (ours["n_fewer_columns"], rival["n_fewer_columns"]) == (1, 0)


def test_every_table_is_written_as_csv_and_markdown(results, tmp_path):
    """Files are whole, read back, and show the paper's figure beside ours."""
    written = tables.write_all(results, tmp_path / "out")
    names = {"local_depth1", "global_depth2", "summary", "cart", "l1", "selection"}
    expected = {f"{name}.{suffix}" for name in names for suffix in ("csv", "md")}
    assert {path.name for path in written} == expected
    assert {path.name for path in (tmp_path / "out").iterdir()} == expected
    page = (tmp_path / "out" / "global_depth2.md").read_text(encoding="utf-8")
    line = (
        "| 0 | 25.0 ± 0.0 | (0) | +25.0 | +86.6 | 96.0 ± 1.0 | (95.9) | +0.1 | +0.1 |"
    )
    assert line in page
    back = pd.read_csv(tmp_path / "out" / "global_depth2.csv")
    np.testing.assert_allclose(back["alpha"], [0.0, 8.0, 0.0])
    page = (tmp_path / "out" / "selection.md").read_text(encoding="utf-8")
    assert "| Iris | 90.0 ± 0.0 (2.0) | – |" in page


@pytest.mark.slow
def test_missing_parts_are_skipped_with_a_note(results, tmp_path, caplog):
    """With one part there are the tables of that part."""
    for part in tables.PARTS:
        if part != "global":
            (results / f"{part}.csv.gz").unlink()
    written = tables.write_all(results, tmp_path / "out")
    assert {path.stem for path in written} == {"global_depth2", "summary"}
    assert len(caplog.messages) == 4
    assert "selection.csv.gz" in caplog.messages[-1]
    (results / "global.csv.gz").unlink()
    assert tables.write_all(results, tmp_path / "out") == []


def test_a_fit_that_is_there_twice_is_an_error(results):
    """It would count twice in every mean."""
    rows = fits("iris", "global", 0.0, [0.9, 0.9], [0.0, 0.0])
    save(results, "global", rows + rows[:1])
    with pytest.raises(ValueError, match="one row per fit .* got 1 more"):
        tables.load_results(results)


@pytest.mark.slow
def test_figures_are_drawn_from_what_there_is(results, tmp_path, monkeypatch):
    """All of them, and without rivals and grid those that remain."""
    pytest.importorskip("matplotlib")
    from experiments import figures
    from experiments.figures import draw_all

    monkeypatch.setattr(figures, "DPI", 20)
    names = {"local_depth1", "global_depth2", "heatmaps", "cart_depth1", "cart_depth2"}
    written = draw_all(results, tmp_path / "all")
    assert {path.name for path in written} == {f"{x}.png" for x in names | {"frontier"}}
    assert {path.name for path in (tmp_path / "all").iterdir()} == {
        path.name for path in written
    }
    for part in ("rivals", "grid", "local"):
        (results / f"{part}.csv.gz").unlink()
    assert [path.name for path in draw_all(results, tmp_path / "some", "svg")] == [
        "global_depth2.svg"
    ]


def test_heatmaps_average_the_splits(results):
    """Local penalties down, global ones across; sparsity here is (alpha + 50) / 2."""
    pytest.importorskip("matplotlib")
    from experiments.figures import surface

    rows = tables.load_results(results)["grid"]
    expected = np.broadcast_to((np.array(GRID) + 50.0) / 2.0, (17, 17))
    np.testing.assert_allclose(surface(rows, "global_sparsity"), expected)
    np.testing.assert_allclose(surface(rows, "accuracy"), 96.0)
