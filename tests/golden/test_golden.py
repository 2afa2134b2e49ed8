"""Golden results: the same seed gives the same tree as before, told in the same words.

``python -m tests.golden.record`` renews what is kept; see there when to do so.
"""

import json
from functools import cache

import numpy as np
import pytest

from tests.golden.record import (
    FOLDER,
    TEXTS,
    cells,
    compact_cell,
    compact_report,
    fit,
    onnx_result,
    path_result,
    search_result,
    tree_result,
)

NAMES = list(cells())
#: Cells that others are smaller versions of.
LARGE = {"cancer-floor", "planted-deep", "mixed-depth-2"}
#: Objectives are far more certain than the coefficients that attain them.
SURE, CLOSE = {"rtol": 1e-9, "atol": 1e-12}, {"rtol": 0, "atol": 1e-6}


@cache
def kept():
    """Results as they were recorded."""
    return json.loads((FOLDER / "results.json").read_text())


def test_every_cell_is_kept():
    """A cell that is added must be recorded, one that is gone must go."""
    assert list(kept()["cells"]) == NAMES
    assert set(NAMES) > LARGE


@pytest.mark.every_case
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in LARGE else []) for n in NAMES],
)
def test_a_fit_gives_the_tree_it_gave(name):
    """Objective, coefficients, labels, probabilities, and every text of it."""
    found, before = compact_cell(name, tree_result(*fit(name))), kept()["cells"][name]
    assert set(found) == set(before)
    for key in ("objective", "cost"):
        np.testing.assert_allclose(found[key], before[key], **SURE, err_msg=key)
    for key in ("recall", "coef", "threshold", "proba"):
        np.testing.assert_allclose(found[key], before[key], **CLOSE, err_msg=key)
    for key in ("leaf_class", *TEXTS):
        assert found[key] == before[key], key


def test_a_path_is_the_path_it_was():
    """Its table, its choices, and what its report says."""
    _, found = path_result()
    before = kept()["path"]
    assert set(found["frame"]) == set(before["frame"])
    for name, column in before["frame"].items():
        if name == "residual":
            assert max(found["frame"][name]) <= 1e-5
            continue
        exact = SURE if name in ("objective", "cost") else CLOSE
        np.testing.assert_allclose(found["frame"][name], column, **exact, err_msg=name)
    for key in ("accuracy", "frontier", "selected"):
        assert found[key] == before[key], key
    assert compact_report(found["report"]) == before["report"]


def test_a_search_chooses_what_it_chose():
    """Scores of the folds, the choice, and the rules of the tree chosen."""
    found, before = search_result(), kept()["search"]
    np.testing.assert_allclose(found["objective"], before["objective"], **SURE)
    for key in ("best_index", "best_params", "scores", "rules"):
        assert found[key] == before[key], key


def test_an_onnx_runtime_gives_what_it_gave():
    """Probabilities of numbers, text and booleans."""
    clf, X = fit("mixed")
    found = onnx_result(clf, X)
    np.testing.assert_allclose(found, kept()["onnx"], **CLOSE)
    np.testing.assert_allclose(found, clf.predict_proba(X)[::25], rtol=0, atol=1e-12)
