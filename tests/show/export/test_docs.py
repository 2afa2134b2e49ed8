"""The page on exports tells the truth: its examples run."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "exports.md"


def test_the_examples_of_the_page_run(tmp_path, monkeypatch):
    """All blocks, one after the other, as a reader would paste them."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text("utf-8"))
    assert len(blocks) == 6
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
    tree, X = scope["tree"], scope["X"]
    assert (scope["label"] == tree.predict(X)[0]).all()
    assert abs(scope["probabilities"] - tree.predict_proba(X)).max() < 1e-3
    assert scope["proba"][0] == pytest.approx(tree.predict_proba(X)[0, 0])
