"""ONNX: a tree as a graph of standard operators, for onnxruntime and its kin.

All cuts are computed at once, as a product of the scaled inputs with a matrix of
weights. One more column of that matrix is a cut that sends every sample left; it fills
up routes that are shorter than others, so that a probability is a product of as many
gathered chances for every leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray, FloatArray
from sorct.data.terms import LevelTerm, LinearTerm
from sorct.data.variables import Variable
from sorct.data.wording import shown
from sorct.show.export.formula import Formula, header, read_formula, row_for

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto

    from sorct.tree.tree import Tree

_Variables = tuple[Variable, ...]
_DTYPES = ("float32", "float64")
_TITLE = (
    "A classification tree, written by sorct: raw values in; the most probable class "
    "and the probability of every class out."
)
# Operators on strings came with 19; runtimes of 2024 and later know it.
_OPSET, _IR_VERSION = 19, 9
# A score that the rounding of inputs may move by more than this is not worth having.
_MOST_MOVED = 0.01
_SURELY_LEFT = 1000.0


def to_onnx(tree: Tree, *, dtype: str = "float32") -> ModelProto:
    """An ONNX model that takes raw values, any number of rows at a time.

    Inputs: for a tree trained on an array, one matrix ``X`` of shape (N, n_variables).
    For a tree trained on a data frame, one tensor of shape (N, 1) per variable that the
    tree uses, under its name: of ``dtype`` for numbers; of strings, booleans or (whole
    numbers) int64 for categories.

    Outputs: ``label`` of shape (N,), the most probable class, and ``probabilities`` of
    shape (N, n_classes), of ``dtype``, in the order of ``tree.classes``. An underscore
    is added where a variable has such a name.

    Rows with NaN, infinity or (unless the tree treats new levels as the first) a level
    never seen in training get NaN for probabilities, and a label that means nothing.

    Parameters
    ----------
    tree : Tree
    dtype : {"float32", "float64"}, default="float32"
        What the model takes, computes in and returns. float32 is refused where it
        cannot tell the values of a column well enough apart, such as time stamps.

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
    _check_precision(formula, dtype)
    # A tree that reads nothing still has to be told how many rows there are.
    variables = formula.variables or tree.encoder.variables[:1]
    _check_names(variables)
    graph = _Graph({variable.name for variable in variables} | {"X"}, dtype)
    if formula.variables:
        columns = _columns(graph, tree, variables)
    else:
        columns = _nothing(graph, tree, variables[0])
    proba = _probabilities(graph, formula, columns, variables)
    graph.add_outputs(formula.labels, proba)
    model = onnx.helper.make_model(
        graph.make(),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="sorct",
        doc_string="\n".join(header(formula, _TITLE)),
    )
    onnx.checker.check_model(model, full_check=True)
    return model


class _Graph:
    """A graph as it grows; values get names that no input has."""

    def __init__(self, taken: set[str], dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self._taken = set(taken)
        self._nodes: list[NodeProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._constants: list[TensorProto] = []

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _described(self, name: str, dtype: Any, shape: list[Any]) -> ValueInfoProto:
        from onnx import helper

        return helper.make_tensor_value_info(name, _element_type(dtype), shape)

    def input(self, name: str, dtype: Any, width: int) -> str:
        """Declare an input of shape (N, width) and return its name."""
        self._inputs.append(self._described(name, dtype, ["N", width]))
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Store an array, of the graph's dtype unless said otherwise."""
        from onnx import numpy_helper

        array = np.asarray(values, dtype=self.dtype if dtype is None else dtype)
        name = self._free("constant")
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *inputs: str, name: str = "", **options: Any) -> str:
        """Apply an operator and return the name of its result."""
        from onnx import helper

        result = self._free(name or operator.lower())
        node = helper.make_node(operator, list(inputs), [result], **options)
        self._nodes.append(node)
        return result

    def zeros_like(self, value: str) -> str:
        """Zeros of the shape of a value, whatever it holds."""
        from onnx import numpy_helper

        zero = numpy_helper.from_array(np.zeros(1, dtype=self.dtype))
        return self.add("ConstantOfShape", self.add("Shape", value), value=zero)

    def add_outputs(self, classes: list[Any], proba: str) -> None:
        """Declare the label and the probabilities as outputs."""
        labels = _values(classes, np.dtype(np.float64), "Class labels")
        best = self.add("ArgMax", proba, axis=1, keepdims=0)
        label = self.add(
            "Gather", self.constant(labels, labels.dtype), best, name="label"
        )
        self._outputs = [
            self._described(label, labels.dtype, ["N"]),
            self._described(proba, self.dtype, ["N", len(classes)]),
        ]

    def make(self) -> Any:
        """The finished graph."""
        from onnx import helper

        return helper.make_graph(
            self._nodes, "tree", self._inputs, self._outputs, self._constants
        )


def _element_type(dtype: Any) -> int:
    from onnx import TensorProto, helper

    if np.dtype(dtype).kind == "O":
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _columns(graph: _Graph, tree: Tree, variables: _Variables) -> str:
    """Scaled columns side by side: numbers, then all choices of the others."""
    numbers, parts = _numbers(variables), []
    if not tree.encoder.named:
        place = [tree.encoder.variables.index(variable) for variable in numbers]
        X = graph.input("X", graph.dtype, len(tree.encoder.variables))
        chosen = graph.add("Gather", X, graph.constant(place, np.int64), axis=1)
        parts.append(_scaled(graph, numbers, chosen))
    elif numbers:
        names = [graph.input(v.name, graph.dtype, 1) for v in dict.fromkeys(numbers)]
        names = names * (len(numbers) // len(names))
        parts.append(_scaled(graph, numbers, graph.add("Concat", *names, axis=1)))
    for variable in variables:
        if variable.choices is not None:
            lenient = tree.encoder.unknown != "error"
            parts.append(_one_hot(graph, variable.name, variable.choices, lenient))
    return graph.add("Concat", *parts, axis=1)


def _numbers(variables: _Variables) -> list[Variable]:
    """Numeric variables; one that is alone comes twice.

    onnxruntime leaves out the subtraction of a single number that is 0 in single
    precision, whatever the span that the difference is divided by.
    """
    numbers = [v for v in variables if v.affine is not None]
    return numbers * 2 if len(numbers) == 1 else numbers


def _nothing(graph: _Graph, tree: Tree, variable: Variable) -> str:
    """A column of zeros, as long as the input of a variable."""
    if not tree.encoder.named:
        X = graph.input("X", graph.dtype, len(tree.encoder.variables))
        first = graph.add("Gather", X, graph.constant([0], np.int64), axis=1)
        return graph.zeros_like(first)
    dtype = graph.dtype
    if variable.choices is not None:
        dtype = _values(variable.choices, dtype, f"Levels of {variable.name!r}").dtype
    return graph.zeros_like(graph.input(variable.name, dtype, 1))


def _scaled(graph: _Graph, variables: list[Variable], values: str) -> str:
    """(values - lower) / span; the subtraction first, for columns far from zero."""
    finite = graph.add(
        "Where", graph.add("IsInf", values), graph.constant(np.nan), values
    )
    ranges = [variable.affine or (0.0, 1.0) for variable in variables]
    lower = graph.constant([low for low, _ in ranges])
    span = graph.constant([width or 1.0 for _, width in ranges])
    return graph.add("Div", graph.add("Sub", finite, lower), span)


def _one_hot(
    graph: _Graph, name: str, choices: tuple[Any, ...], unknown_is_first: bool
) -> str:
    """A column of 0 and 1 per level; a new level has NaN in all, if it is an error."""
    levels = _values(choices, graph.dtype, f"Levels of column {name!r}")
    value = graph.input(name, levels.dtype, 1)
    same = graph.add("Equal", value, graph.constant([levels], levels.dtype))
    one, zero = graph.constant(1.0), graph.constant(0.0)
    columns = graph.add("Where", same, one, zero)
    if unknown_is_first and levels.dtype.kind == "f":
        # A missing cell is no new level.
        missing = graph.add("IsNaN", value)
        return graph.add("Where", missing, graph.constant(np.nan), columns)
    if unknown_is_first:
        return columns
    total = graph.add("ReduceSum", columns, graph.constant([1], np.int64))
    return graph.add("Div", columns, total)


def _probabilities(
    graph: _Graph, formula: Formula, columns: str, variables: _Variables
) -> str:
    """Product of the chances on every route, summed over the routes to a class."""
    constants = [*(score.constant for score in formula.scores), _SURELY_LEFT]
    weights = graph.constant(_weights(formula, variables))
    score = graph.add("MatMul", columns, weights)
    left = graph.add("Sigmoid", graph.add("Add", score, graph.constant(constants)))
    right = graph.add("Sub", graph.constant(1.0), left)
    chances = graph.add("Concat", left, right, axis=1)
    reach = ""
    for places in _places(formula).T:
        chance = graph.add("Gather", chances, graph.constant(places, np.int64), axis=1)
        reach = graph.add("Mul", reach, chance) if reach else chance
    ends = np.zeros((len(formula.routes), len(formula.labels)))
    ends[np.arange(len(ends)), [route.code for route in formula.routes]] = 1.0
    return graph.add("MatMul", reach, graph.constant(ends), name="probabilities")


def _weights(formula: Formula, variables: _Variables) -> FloatArray:
    """Weight of every column in every cut; the last cut sends all left."""
    if not formula.variables:
        return np.zeros((1, len(formula.scores) + 1))
    keys: list[tuple[str, Any]]
    keys = [(v.name, None) for v in _numbers(variables)]
    for variable in variables:
        keys += [(variable.name, choice) for choice in variable.choices or ()]
    place = {key: row for row, key in enumerate(keys)}
    weights = np.zeros((len(keys), len(formula.scores) + 1))
    for number, score in enumerate(formula.scores):
        for term in score.terms:
            for choice, weight in row_for(term, _TERMS, "ONNX")(term).items():
                weights[place[term.name, choice], number] = weight
    return weights


#: Weights of each kind of term by choice; None stands for a number.
_TERMS: dict[type, Callable[[Any], dict[Any, float]]] = {
    LinearTerm: lambda term: {None: term.weight},
    LevelTerm: lambda term: term.weights,
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


def _check_precision(formula: Formula, dtype: str) -> None:
    """Refuse float32 where the rounding of the inputs would move a score too far."""
    if dtype == "float64":
        return
    for term in formula.terms:
        if isinstance(term, LinearTerm) and not _suits_float32(term):
            raise ValueError(
                f"float32 cannot tell the values of column {term.name!r} well "
                f"enough apart (from {term.lower!r} on, over {term.span!r}); pass "
                "dtype='float64'."
            )


def _suits_float32(term: LinearTerm) -> bool:
    tiny, huge = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    size = max(abs(term.lower), abs(term.lower + term.span))
    if not (size < huge and term.span > tiny and term.size < huge):
        return False
    step = float(np.spacing(np.float32(size)))
    return step / term.span * term.size <= _MOST_MOVED
