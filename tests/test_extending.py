"""The page on extending tells the truth: its examples run."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
SECTIONS = re.findall(r"(?ms)^## (.*?)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"))
BLOCKS = [
    (title, block)
    for title, text in SECTIONS
    for block in re.findall(r"(?ms)^```python\n(.*?)^```", text)
]


@pytest.mark.parametrize("title", [title for title, _ in SECTIONS])
def test_every_section_has_an_example_of_forty_lines_at_most(title):
    """Blank lines and imports included."""
    blocks = [block for name, block in BLOCKS if name == title]
    assert blocks
    assert max(block.count("\n") for block in blocks) <= 40


@pytest.mark.parametrize(("title", "text"), SECTIONS, ids=[t for t, _ in SECTIONS])
def test_examples_run(title, text, tmp_path, monkeypatch):
    """Those of a section one after the other, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "example"}
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", text)
    assert any("assert " in block for block in blocks), "nothing would fail"
    for block in blocks:
        exec(compile(block, f"{PAGE.name}: {title}", "exec"), scope)
