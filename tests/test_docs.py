"""Documents tell the truth: examples run, and every public name says what it is."""

import ast
import doctest
import inspect
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import sorct
import sorct.data.reading
import sorct.estimators.bounds
import sorct.estimators.classifier
import sorct.estimators.cross_validated
import sorct.estimators.distil
import sorct.estimators.forest
import sorct.estimators.forest_regressor
import sorct.estimators.path
import sorct.estimators.regressor
import sorct.estimators.regressor_cv
import sorct.show.explanation
import sorct.show.text
from sorct import Path as TreePath
from sorct import (
    SORCTClassifier,
    SORCTClassifierCV,
    SORCTForestClassifier,
    SORCTForestRegressor,
    SORCTRegressor,
    SORCTRegressorCV,
    Tree,
)

README = Path(__file__).parents[1] / "README.md"
CLASSES = [
    SORCTClassifier, SORCTClassifierCV, SORCTRegressor, SORCTRegressorCV, Tree,
    TreePath, sorct.InfeasibleError, sorct.Forest, SORCTForestClassifier,
    SORCTForestRegressor,
]  # fmt: skip
MODULES = [
    sorct.data.reading,
    sorct.estimators.classifier,
    sorct.estimators.cross_validated,
    sorct.estimators.distil,
    sorct.estimators.forest,
    sorct.estimators.forest_regressor,
    sorct.estimators.path,
    sorct.estimators.regressor,
    sorct.estimators.regressor_cv,
    sorct.estimators.bounds,
    sorct.show.explanation,
    sorct.show.text,
]


@pytest.fixture(params=["little", pytest.param("full", marks=pytest.mark.slow)])
def effort(request, monkeypatch):
    """Leave less to choose where an example searches, unless in full."""
    if request.param == "little":
        few = {"loss": "log", "scaling": "auto", "n_solutions": 1, "cv": 2}
        search = partial(SORCTClassifierCV, None, **few)
        monkeypatch.setattr(sorct, "SORCTClassifierCV", search)


@pytest.mark.usefixtures("effort")
@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_run(module):
    """There is one at least, and all give what they show."""
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("name", sorct.__all__)
def test_every_public_name_exists_and_has_a_docstring(name):
    """One sentence at least; the version is a version."""
    thing = getattr(sorct, name)
    if name == "__version__":
        assert re.fullmatch(r"\d+\.\d+\.\d+.*", thing)
    elif isinstance(thing, (dict, tuple)):
        # A constant has no docstring of its own; the page of public names tells it.
        page = (README.parent / "docs" / "api.md").read_text("utf-8")
        assert f"### {name}\n" in page
    else:
        assert "." in inspect.getdoc(thing)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_public_method_has_its_own_docstring(cls):
    """What a class defines itself, it explains itself."""
    for name, member in vars(cls).items():
        if not name.startswith("_") and (callable(member) or hasattr(member, "fget")):
            assert getattr(member, "__doc__", None), name


def test_every_parameter_is_documented_with_its_default():
    """In the order of the signature, no more and no less."""
    section = SORCTClassifier.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
    told = re.findall(r"(?m)^    (\w+) : .*default=(.*)$", section)
    signature = inspect.signature(SORCTClassifier).parameters.values()
    assert [name for name, _ in told] == [parameter.name for parameter in signature]
    for (name, default), parameter in zip(told, signature, strict=True):
        assert ast.literal_eval(default) == parameter.default, name


@pytest.mark.parametrize("cls", [one for one in CLASSES if hasattr(one, "fit")])
def test_every_parameter_is_named_in_the_docstring(cls):
    """At least with a word on whose parameter it is."""
    told = re.findall(r"\w+", inspect.getdoc(cls))
    assert set(inspect.signature(cls).parameters) <= set(told)


def test_every_fitted_attribute_is_documented():
    """Whatever fit leaves behind is listed, and whatever is listed is there."""
    section = SORCTClassifier.__doc__.split("Attributes\n")[1].split("Notes\n")[0]
    told = set(re.findall(r"\b([a-z]\w*_)(?=[\s,]| :)", section))
    frame = pytest.importorskip("pandas").DataFrame({"a": [0.0, 1.0, 2.0]})
    clf = SORCTClassifier(n_starts=1).fit(frame, np.array([0, 0, 1]))
    assert told == {name for name in vars(clf) if name.endswith("_")}


@pytest.mark.usefixtures("effort")
def test_the_readmes_python_runs(tmp_path, monkeypatch):
    """All blocks, one after the other, as a reader would paste them."""
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", README.read_text("utf-8"))
    assert blocks, "README.md shows no Python code"
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "readme"}
    for block in blocks:
        exec(compile(block, str(README), "exec"), scope)


def test_no_figure_is_still_to_be_filled_in():
    """Placeholders are for drafts."""
    home = Path(__file__).parents[1]
    pages = [home / "README.md", home / "CHANGELOG.md", *(home / "docs").rglob("*.md")]
    texts = {page.name: page.read_text("utf-8") for page in pages}
    assert [name for name in texts if re.search(r"@[A-Z]+@", texts[name])] == []
