"""Terms of a new kind: a row in the table of an exporter is enough, and needed."""

from dataclasses import replace

import numpy as np
import pytest

from sorct import export
from sorct.data.bent import Bent
from sorct.data.categorical import Categorical
from sorct.data.encoder import TableEncoder
from sorct.data.missing import WithMissing
from sorct.data.numeric import Curve, Numeric
from sorct.data.terms import BentTerm, CurveTerm, LevelTerm, LinearTerm
from sorct.show.export import onnx, sql
from tests.show.every_kind import every_kind, tree_on


class NewTerm:
    """It does what another term does."""

    def __init__(self, term):
        self._term = term

    def __getattr__(self, name):
        return getattr(self._term, name)

    def times(self, factor):
        """As that one, of its own kind."""
        return NewTerm(self._term.times(factor))


class NewVariable:
    """It is what another variable is, but for the kind of its terms."""

    def __init__(self, variable):
        self._variable = variable

    def __getattr__(self, name):
        return getattr(self._variable, name)

    def term(self, weights, unknown="error"):
        """As that one's, of another kind."""
        term = self._variable.term(weights, unknown)
        return None if term is None else NewTerm(term)


VARIABLES = {
    LinearTerm: Numeric("v", 1.0, 2.0),
    CurveTerm: Curve("v", (0.0, 1.0, 5.0), (0.0, 0.7, 1.0)),
    BentTerm: Bent("v", (0.0, 1.0, 5.0)),
    LevelTerm: Categorical("v", ("a", "b", "c")),
}
WRITERS = {
    "SQL": export.to_sql,
    "ONNX": lambda tree: export.to_onnx(tree, dtype="float64").SerializeToString(),
    "Python": export.to_python,
    "JavaScript": export.to_javascript,
}
kinds = pytest.mark.parametrize("kind", VARIABLES)
missing = pytest.mark.parametrize("missing", [False, True], ids=["known", "missing"])


def tree_with(variable, missing):
    """The same tree for all variables of as many columns, beside two numbers."""
    rng = np.random.default_rng(0)
    tree = tree_on(rng, every_kind(rng)[["debt", "far"]])
    own = WithMissing(variable) if missing else variable
    encoder = TableEncoder((own, *tree.encoder.variables), named=True)
    coef = rng.normal(size=(encoder.n_columns, tree.n_branches))
    return replace(tree, encoder=encoder, coef=coef)


@kinds
@missing
@pytest.mark.parametrize("language", WRITERS)
def test_a_term_without_a_row_is_refused_by_name(kind, missing, language):
    """Of a variable with missing cells as well, by every exporter."""
    if language == "ONNX":
        pytest.importorskip("onnx")
    tree = tree_with(NewVariable(VARIABLES[kind]), missing)
    with pytest.raises(TypeError, match=f"'v' .* as {language} yet.* got NewTerm"):
        WRITERS[language](tree)


@kinds
@missing
@pytest.mark.parametrize(("language", "place"), [("SQL", sql), ("ONNX", onnx)])
def test_a_row_is_enough(monkeypatch, kind, missing, language, place):
    """With that of the kind that it does as, a term is written as that is."""
    if language == "ONNX":
        pytest.importorskip("onnx")
    monkeypatch.setitem(place._TERMS, NewTerm, place._TERMS[kind])
    write, variable = WRITERS[language], VARIABLES[kind]
    new, old = (tree_with(one, missing) for one in (NewVariable(variable), variable))
    assert write(new) == write(old)
