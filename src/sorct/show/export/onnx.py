"""ONNX: a model as a graph of standard operators, for onnxruntime and its kin.

All cuts are computed at once, as a product of the scaled inputs with a matrix of
weights. A missing cell has 0 in the columns of its variable and 1 in a column of its
own. One more column of the matrix is a cut that sends every sample left; it fills up
routes that are shorter than others, so that a probability is a product of as many
gathered chances for every leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.data.terms import (
    OTHER,
    BentTerm,
    CurveTerm,
    LevelTerm,
    LinearTerm,
    MissingTerm,
    Term,
)
from sorct.data.variables import Variable, levels_of
from sorct.data.wording import shown
from sorct.show.export.formula import (
    Formula,
    Score,
    header,
    known_part,
    read_formula,
    row_for,
)
from sorct.show.export.onnx_classes import calibrated, chosen, own_proba, own_reach
from sorct.show.export.onnx_graph import Graph
from sorct.show.export.onnx_precision import check_float32

if TYPE_CHECKING:
    from onnx import ModelProto

    from sorct.tree.forest import Forest
    from sorct.tree.tree import Tree

_Variables = tuple[Variable, ...]
#: Columns side by side, and what each stands for.
_Columns: TypeAlias = tuple[list[str], list[Any]]
_DTYPES = ("float32", "float64")
_TITLE = (
    "A {what}, written by sorct: raw values in; {chosen} "
    "and the probability of every class out."
)
_VALUE_TITLE = "A {what}, written by sorct: raw values in; the predicted value out."
_MISSING_TOLD = (
    "A missing cell is NaN, of text the empty string, which is no new level."
)
# Operators on strings came with 19; runtimes of 2024 and later know it.
_OPSET, _IR_VERSION = 19, 9
_SURELY_LEFT = 1000.0
# Stands for a missing cell, beside None for a number, OTHER and levels.
_MISSING = object()


def to_onnx(tree: Tree | Forest, *, dtype: str = "float32") -> ModelProto:
    """An ONNX model that takes raw values, any number of rows at a time.

    Inputs: for a tree trained on an array, one matrix ``X`` of shape (N, n_variables).
    For a tree trained on a data frame, one tensor of shape (N, 1) per variable that the
    tree uses, under its name: of ``dtype`` for numbers; of strings, booleans or (whole
    numbers) int64 for categories. A date is a number: whole days since the day that the
    description of the input names (``doc_string``).

    Outputs: ``label`` of shape (N,), the class that is predicted, and ``probabilities``
    of shape (N, n_classes), of ``dtype``, in the order of ``tree.classes``. An
    underscore is added where a variable has such a name. Of a quantity the one output
    is ``value``, of shape (N, 1).

    A missing cell is NaN, of text the empty string; categories of booleans and whole
    numbers whose cells may be missing are inputs of ``dtype``, True being 1. Tensors of
    text have no other value for it: where cells may be missing, empty text never counts
    as a new level here, though it does in ``tree.predict``.

    Rows with infinity, a missing cell where the tree takes none, or a level never seen
    in training where that is an error get NaN for probabilities, and a label that means
    nothing.

    Parameters
    ----------
    tree : Tree or Forest
    dtype : {"float32", "float64"}, default="float32"
        What the model takes, computes in and returns; a calibration is computed in
        float64 even so. float32 is refused where it cannot tell the values of a column
        well enough apart, such as time stamps.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save`` writes it to a file.
    """
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ValueError(f"dtype must be one of {_DTYPES}, got {shown(dtype)}.")
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            'to_onnx needs the package onnx; install it with pip install "sorct[onnx]".'
        ) from error
    formula = read_formula(tree)
    if dtype == "float32":
        check_float32(formula)
    # A tree that reads nothing still has to be told how many rows there are.
    variables = formula.variables or tree.encoder.variables[:1]
    _check_names(variables)
    graph = Graph({variable.name for variable in variables} | {"X"}, dtype)
    if formula.variables:
        columns, keys = _columns(graph, tree, formula)
    else:
        columns, keys = _nothing(graph, tree, variables[0]), [("", None)]
    if formula.of_quantity:
        graph.add_value(_value(graph, formula, columns, keys))
    else:
        proba = _probabilities(graph, formula, columns, _weights(formula, keys))
        labels = _values(formula.labels, np.dtype(np.float64), "Class labels")
        graph.add_outputs(labels, chosen(graph, formula, proba), proba)
    model = onnx.helper.make_model(
        graph.make(),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="sorct",
        doc_string="\n".join(_described(formula)),
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _columns(
    graph: Graph, tree: Tree | Forest, formula: Formula
) -> tuple[str, list[tuple[str, Any]]]:
    """Columns side by side, and for each the variable and what it stands for."""
    terms: dict[str, list[Term]] = {variable.name: [] for variable in formula.variables}
    for term in formula.terms:
        terms[term.name].append(term)
    values = _Values(graph, tree, formula)
    rows = {name: _row(known_part(own[0])) for name, own in terms.items()}
    plain = [own[0] for name, own in terms.items() if rows[name].columns is None]
    parts, keys = _numbers(graph, values, plain) if plain else ([], [])
    for name, own in terms.items():
        columns = rows[name].columns
        if columns is not None:
            more, choices = columns(graph, values, own)
            parts += more
            keys += [(name, choice) for choice in choices]
    return graph.add("Concat", *parts, axis=1), keys


class _Values:
    """Raw numbers of variables: columns of one matrix, or inputs of their own."""

    def __init__(self, graph: Graph, tree: Tree | Forest, formula: Formula) -> None:
        self._graph, self._dates = graph, formula.dates
        self._place = {name: place for place, name in enumerate(tree.encoder.names)}
        self._X = ""
        if not tree.encoder.named:
            self._X = graph.input("X", graph.dtype, len(self._place))

    def of(self, names: list[str]) -> str:
        """Numbers side by side; a name may occur twice."""
        if self._X:
            place = self._graph.constant([self._place[n] for n in names], np.int64)
            return self._graph.add("Gather", self._X, place, axis=1)
        inputs = {name: self._input(name) for name in dict.fromkeys(names)}
        return self._graph.add("Concat", *(inputs[name] for name in names), axis=1)

    def _input(self, name: str) -> str:
        told = _told(self._dates.get(name))
        return self._graph.input(name, self._graph.dtype, 1, told)


def _numbers(
    graph: Graph, values: _Values, terms: list[Term]
) -> tuple[list[str], list[tuple[str, Any]]]:
    """Numbers scaled to [0, 1], and whether they are missing if they may be.

    A number that is alone comes twice: onnxruntime leaves out the subtraction of a
    single number that is 0 in single precision, whatever the span that the difference
    is divided by.
    """
    terms = terms * 2 if len(terms) == 1 else terms
    known: list[Any] = [known_part(term) for term in terms]
    names = [term.name for term in terms]
    raw = values.of(names)
    lower = graph.constant([term.lower for term in known])
    span = graph.constant([term.span for term in known])
    # The subtraction first, for columns far from zero.
    scaled = graph.add("Div", graph.add("Sub", _finite(graph, raw), lower), span)
    keys: list[tuple[str, Any]] = [(name, None) for name in names]
    may_miss = [isinstance(term, MissingTerm) for term in terms]
    if not any(may_miss):
        return [scaled], keys
    told = graph.constant(may_miss, np.bool_)
    missing = graph.add("And", graph.add("IsNaN", raw), told)
    parts = _apart(graph, missing, scaled)
    return parts, keys + [(name, _MISSING) for name in names]


def _finite(graph: Graph, values: str) -> str:
    """Numbers, NaN in place of infinity."""
    return graph.add(
        "Where", graph.add("IsInf", values), graph.constant(np.nan), values
    )


def _apart(graph: Graph, missing: str, columns: str) -> list[str]:
    """Columns that are 0 where cells are missing, and others that are 1 there."""
    one, zero = graph.constant(1.0), graph.constant(0.0)
    return [
        graph.add("Where", missing, zero, columns),
        graph.add("Where", missing, one, zero),
    ]


def _along(graph: Graph, values: _Values, terms: list[Term]) -> _Columns:
    """The place on a curve: the sum of what its straight lines have risen."""
    curve: Any = known_part(terms[0])
    raw = values.of([curve.name])
    # A line that rises by nothing, lest a number is alone (see above).
    at = np.array([*curve.at[:-1], curve.at[0]])
    span = np.array([*np.diff(curve.at), curve.at[1] - curve.at[0]])
    rise = np.array([*np.diff(curve.place), 0.0])
    share = graph.add("Sub", raw, graph.constant(at))
    share = graph.add("Div", share, graph.constant(span))
    share = graph.add("Clip", share, graph.constant(0.0), graph.constant(1.0))
    place = graph.add("MatMul", share, graph.constant(rise[:, np.newaxis]))
    is_number = graph.add("Equal", raw, _finite(graph, raw))
    place = graph.add("Where", is_number, place, graph.constant(np.nan))
    if not isinstance(terms[0], MissingTerm):
        return [place], [None]
    return _apart(graph, graph.add("IsNaN", raw), place), [None, _MISSING]


def _shares(graph: Graph, values: _Values, terms: list[Term]) -> _Columns:
    """Shares of the parts of a bent number that lie below it."""
    known: list[Any] = [known_part(term) for term in terms]
    keys = list(dict.fromkeys(key for term in known for key in term.parts))
    # A number that is alone comes twice, see above; the second has no weight.
    begin, end = np.array([*keys, keys[0]]).T
    raw = values.of([terms[0].name])
    share = graph.add("Sub", raw, graph.constant(begin))
    share = graph.add("Div", share, graph.constant(end - begin))
    share = graph.add("Clip", share, graph.constant(0.0), graph.constant(1.0))
    is_number = graph.add("Equal", raw, _finite(graph, raw))
    share = graph.add("Where", is_number, share, graph.constant(np.nan))
    if not isinstance(terms[0], MissingTerm):
        return [share], [*keys, None]
    return _apart(graph, graph.add("IsNaN", raw), share), [*keys, None, _MISSING]


def _nothing(graph: Graph, tree: Tree | Forest, variable: Variable) -> str:
    """A column of zeros, as long as the input of a variable."""
    if not tree.encoder.named:
        X = graph.input("X", graph.dtype, len(tree.encoder.variables))
        first = graph.add("Gather", X, graph.constant([0], np.int64), axis=1)
        return graph.zeros_like(first)
    dtype, told = graph.dtype, _told(variable.origin)
    if variable.choices is not None:
        may_miss = variable.takes_missing or tree.encoder.missing != "error"
        levels = list(levels_of(variable))
        dtype = _levels(levels, dtype, variable.name, may_miss).dtype
    return graph.zeros_like(graph.input(variable.name, dtype, 1, told))


def _told(origin: str | None) -> str:
    """Description of an input: of a date, from which day days are counted."""
    return "" if origin is None else f"whole days since {origin}"


def _described(formula: Formula) -> list[str]:
    """What the model says of itself; also what only the caller can put for missing."""
    told = [_MISSING_TOLD] if formula.may_miss else []
    title = _VALUE_TITLE if formula.of_quantity else _TITLE
    return (
        header(formula, title.format(what=formula.what, chosen=formula.chosen)) + told
    )


def _one_hot(graph: Graph, values: _Values, terms: list[Term]) -> _Columns:
    """A column of 0 and 1 per level, for a missing cell, and for all other levels.

    A level that is an error has NaN in all of them.
    """
    known: list[Any] = [known_part(term) for term in terms]
    name, may_miss = known[0].name, isinstance(terms[0], MissingTerm)
    keys: list[Any] = list(known[0].weights)
    levels = _levels(keys, graph.dtype, name, may_miss)
    value = graph.input(name, levels.dtype, 1)
    same = graph.add("Equal", value, graph.constant([levels], levels.dtype))
    one, zero = graph.constant(1.0), graph.constant(0.0)
    columns = graph.add("Where", same, one, zero)
    if may_miss:
        missing = _is_missing(graph, value, levels.dtype)
        indicator = graph.add("Where", missing, one, zero)
        columns = graph.add("Concat", columns, indicator, axis=1)
        keys.append(_MISSING)
    elif known[0].others is not None and levels.dtype.kind == "f":
        # A missing cell is no new level.
        missing = graph.add("IsNaN", value)
        columns = graph.add("Where", missing, graph.constant(np.nan), columns)
    if known[0].others is None:
        total = graph.add("ReduceSum", columns, graph.constant([1], np.int64))
        return [graph.add("Div", columns, total)], keys
    if not any(term.others for term in known):
        return [columns], keys
    total = graph.add("ReduceSum", columns, graph.constant([1], np.int64))
    return [columns, graph.add("Sub", one, total)], [*keys, OTHER]


def _is_missing(graph: Graph, value: str, dtype: Any) -> str:
    """Whether a cell is NaN, or text that is empty."""
    if dtype.kind == "f":
        return graph.add("IsNaN", value)
    return graph.add("Equal", value, graph.constant([""], np.dtype(object)))


def _levels(levels: Any, real: Any, name: str, may_miss: bool) -> AnyArray:
    """Levels as a tensor; of a type that has a value for missing, if cells may be."""
    what = f"Levels of column {name!r}"
    if may_miss and "" in levels:
        raise ValueError(
            f"{what} cannot be held in ONNX: empty text stands for a missing cell "
            "there, and is a level of its own. Give that level another name."
        )
    if may_miss and levels and not isinstance(levels[0], str):
        whole = [level for level in levels if isinstance(level, int)]
        if any(abs(level) > _largest_whole(real) for level in whole):
            raise ValueError(
                f"{what} cannot be held in ONNX as {real}, which has a value for "
                "missing cells: it would mix up whole numbers of that size, got "
                f"{max(whole, key=abs)!r}. Pass dtype='float64', or use strings."
            )
        levels = [float(level) for level in levels]
    return _values(levels, real, what) if levels else np.array([], dtype=object)


def _largest_whole(real: Any) -> float:
    """Largest number up to which a float has every whole number."""
    return float(2.0 ** (np.finfo(real).nmant + 1))


def _probabilities(
    graph: Graph, formula: Formula, columns: str, weights: FloatArray
) -> str:
    """Product of the chances on every route, summed over the routes to a class."""
    constants = [*(score.constant for score in formula.scores), _SURELY_LEFT]
    score = graph.add("MatMul", columns, graph.constant(weights))
    score = graph.add("Add", score, graph.constant(constants))
    if formula.maps:
        return calibrated(graph, formula, score, _places(formula))
    return own_proba(graph, formula, score, _places(formula), name="probabilities")


def _value(
    graph: Graph, formula: Formula, columns: str, keys: list[tuple[str, Any]]
) -> str:
    """Sum over routes of their chance times what their leaf says, shape (N, 1).

    Values are computed around the middle of their tree, which is added last: a runtime
    in single precision keeps more digits so.
    """
    constants = [*(score.constant for score in formula.scores), _SURELY_LEFT]
    score = graph.add("MatMul", columns, graph.constant(_weights(formula, keys)))
    score = graph.add("Add", score, graph.constant(constants))
    reach = own_reach(graph, score, _places(formula))
    rest, middle = [], 0.0
    for said in formula.by_tree([leaf.constant for leaf in formula.leaves]):
        own = 0.5 * (min(said) + max(said))
        rest += [one - own for one in said]
        middle += own
    if formula.has_slopes:
        slopes = _weights_of(formula.leaves, keys, len(formula.leaves))
        linear = graph.add("MatMul", columns, graph.constant(slopes))
        linear = graph.add("Add", linear, graph.constant(rest))
        mixed = graph.add("Mul", reach, linear)
        total = graph.add("ReduceSum", mixed, graph.constant([1], np.int64))
    else:
        total = graph.add("MatMul", reach, graph.constant([[one] for one in rest]))
    if formula.ends is not None:
        ends = [graph.constant(end - middle) for end in formula.ends]
        within = graph.add("Clip", total, *ends)
        total = graph.add("Where", graph.add("IsNaN", total), total, within)
        own, factor = graph.add("Exp", total), graph.constant([np.exp(middle)])
        return graph.add("Mul", own, factor, name="value")
    return graph.add("Add", total, graph.constant([middle]), name="value")


def _weights(formula: Formula, keys: list[tuple[str, Any]]) -> FloatArray:
    """Weight of every column in every cut; the last cut sends all left."""
    return _weights_of(formula.scores, keys, len(formula.scores) + 1)


def _weights_of(
    scores: tuple[Score, ...], keys: list[tuple[str, Any]], width: int
) -> FloatArray:
    """Weight of every column in every score."""
    place = {key: row for row, key in enumerate(keys)}
    weights = np.zeros((len(keys), width))
    for number, score in enumerate(scores):
        for term in score.terms:
            for choice, weight in _term_weights(term).items():
                if weight != 0.0:
                    weights[place[term.name, choice], number] = weight
    return weights


class _OnnxRow(NamedTuple):
    """How a kind of term is written.

    ``weights`` gives its weights by what its columns stand for; ``columns`` makes these
    for the terms of one variable. Without it they are numbers, scaled side by side.
    """

    weights: Callable[[Any], dict[Any, float]]
    columns: Callable[[Graph, _Values, list[Term]], _Columns] | None = None


def _row(term: Term) -> _OnnxRow:
    return row_for(term, _TERMS, "ONNX")


def _term_weights(term: Term) -> dict[Any, float]:
    """Weights of a term by what its columns stand for."""
    return _row(term).weights(term)


#: How each kind of term is written; None stands for a number.
_TERMS: dict[type, _OnnxRow] = {
    LinearTerm: _OnnxRow(lambda term: {None: term.weight}),
    CurveTerm: _OnnxRow(lambda term: {None: term.weight}, _along),
    BentTerm: _OnnxRow(
        lambda term: dict(zip(term.parts, term.weights, strict=True)), _shares
    ),
    LevelTerm: _OnnxRow(
        lambda term: {**term.weights, OTHER: term.others or 0.0}, _one_hot
    ),
    MissingTerm: _OnnxRow(
        lambda term: {**_term_weights(term.known), _MISSING: term.weight}
    ),
}


def _places(formula: Formula) -> AnyArray:
    """For every route and depth, where its chance stands: left, then right, of cuts."""
    place = {score.number: place for place, score in enumerate(formula.scores)}
    n_cuts = len(formula.scores)
    depth = max(1, *(len(route.steps) for route in formula.routes))
    places = np.full((len(formula.routes), depth), n_cuts)
    for number, route in enumerate(formula.routes):
        for step, (cut, goes_left) in enumerate(route.steps):
            places[number, step] = place[cut] + (0 if goes_left else n_cuts + 1)
    return places


def _values(values: Any, real: Any, what: str) -> AnyArray:
    """Labels or levels as a tensor of their own type; they must stay distinct."""
    if isinstance(values[0], str):
        dtype, good = np.dtype(object), all(map(_is_plain, values))
    elif isinstance(values[0], bool):
        dtype, good = np.dtype(np.bool_), True
    elif all(isinstance(value, int) for value in values):
        dtype, good = np.dtype(np.int64), all(-(2**63) <= v < 2**63 for v in values)
    else:
        dtype, good = real, len(set(np.array(values, real).tolist())) == len(values)
    if not good:
        raise ValueError(
            f"{what} cannot be held in ONNX: expected text without NUL and surrogates, "
            f"whole numbers of 64 bits or numbers that {real} can tell apart, got "
            f"{', '.join(map(repr, values[:5]))}."
        )
    return np.array(values, dtype=dtype)


def _check_names(variables: _Variables) -> None:
    for variable in variables:
        if variable.name == "" or not _is_plain(variable.name):
            raise ValueError(
                "Expected names of at least one character, without NUL and surrogates, "
                f"for the inputs of an ONNX model, got {variable.name!r}."
            )


def _is_plain(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)
