"""Predictions go from one Parquet file to another as they would through memory."""

import numpy as np
import pandas as pd
import pytest

from sorct import SORCTClassifier
from sorct.cli import main, streaming


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model, and a table in one Parquet file of several groups of rows."""
    folder, rng = tmp_path_factory.mktemp("predict"), np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=900),
            "b": rng.choice(["u", "v"], 900),
            "c": np.where(rng.random(900) < 0.2, np.nan, rng.normal(size=900)),
        }
    )
    y = np.where(X["a"] + (X["b"] == "u") > 0.5, "yes", "no")
    tree = SORCTClassifier(1, n_starts=1, random_state=0).fit(X, y).tree_
    tree.to_json(folder / "model.json")
    X.to_parquet(folder / "rows.parquet", row_group_size=200)
    return folder, tree, X


def predict(folder, *options):
    model, rows = str(folder / "model.json"), str(folder / "rows.parquet")
    out = str(folder / "out.parquet")
    assert main(["predict", model, rows, "--out", out, "-q", "--force", *options]) == 0
    return pd.read_parquet(out)


@pytest.mark.a_few(1)
@pytest.mark.parametrize("options", [(), ("--proba",), ("--keep", "--proba")])
def test_batches_predict_what_the_whole_table_does(place, monkeypatch, options):
    """Classes, probabilities and kept columns; a few rows are held at a time."""
    folder, tree, X = place
    sizes = []
    rows_for = streaming.rows_for

    def counted(sheet, tree):
        sizes.append(len(sheet.frame))
        return rows_for(sheet, tree)

    monkeypatch.setattr(streaming, "_BATCH_ROWS", 128)
    monkeypatch.setattr(streaming, "rows_for", counted)
    found = predict(folder, *options)
    assert max(sizes) <= 128
    assert sum(sizes) == len(X)
    assert found["prediction"].tolist() == tree.predict(X).tolist()
    if "--proba" in options:
        proba = found[[f"probability_{label}" for label in tree.classes]].to_numpy()
        np.testing.assert_allclose(proba, tree.predict_proba(X), atol=1e-15)
    if "--keep" in options:
        pd.testing.assert_frame_equal(found[list(X.columns)], X)


def test_a_bad_cell_leaves_the_file_as_it_was(place, capsys):
    """Told with the rows among which it is; nothing half is written."""
    folder, tree, X = place
    before = predict(folder)
    bad = X.assign(a=X["a"].where(np.arange(900) != 700, np.inf))
    bad.to_parquet(folder / "bad.parquet")
    line = ["predict", str(folder / "model.json"), str(folder / "bad.parquet")]
    assert main([*line, "--out", str(folder / "out.parquet"), "-q"]) != 0
    assert "Of rows 1 to 900" in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "out.parquet"), before)
    assert not list(folder.glob(".*partial"))
