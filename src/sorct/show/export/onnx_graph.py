"""ONNX graph: nodes, constants, inputs and outputs as they are put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import AnyArray

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto, ValueInfoProto


class Graph:
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

    def _described(
        self, name: str, dtype: Any, shape: list[Any], told: str = ""
    ) -> ValueInfoProto:
        from onnx import helper

        kind = _element_type(dtype)
        return helper.make_tensor_value_info(name, kind, shape, told)

    def input(self, name: str, dtype: Any, width: int, told: str = "") -> str:
        """Declare an input of shape (N, width) and return its name."""
        self._inputs.append(self._described(name, dtype, ["N", width], told))
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

    def cast(self, value: str, dtype: Any, name: str = "") -> str:
        """A value in another type."""
        return self.add("Cast", value, name=name, to=_element_type(dtype))

    def zeros_like(self, value: str) -> str:
        """Zeros of the shape of a value, whatever it holds."""
        from onnx import numpy_helper

        zero = numpy_helper.from_array(np.zeros(1, dtype=self.dtype))
        return self.add("ConstantOfShape", self.add("Shape", value), value=zero)

    def add_outputs(self, labels: AnyArray, best: str, proba: str) -> None:
        """Declare the label and the probabilities as outputs."""
        label = self.add(
            "Gather", self.constant(labels, labels.dtype), best, name="label"
        )
        self._outputs = [
            self._described(label, labels.dtype, ["N"]),
            self._described(proba, self.dtype, ["N", len(labels)]),
        ]

    def add_value(self, value: str) -> None:
        """Declare the predicted value as the output."""
        self._outputs = [self._described(value, self.dtype, ["N", 1])]

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
