"""Named tuples as arguments: one pointer instead of hundreds of numbers.

numba passes a tuple by the numbers in it, seven for every array, so that a function
that takes a few of our tuples has five hundred arguments, which are packed, unpacked,
named and kept in registers wherever it is called. Here the caller passes the address
of a tuple, and only those numbers are loaded that are used. Nobody writes to a tuple,
so an address stands for the tuple as long as the function runs.
"""

import copy
from collections import Counter
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import LoadInstr
from numba.core import cgutils
from numba.core.callconv import CPUCallConv
from numba.core.cpu import CPUContext
from numba.core.datamodel import ArgPacker
from numba.core.ir import Assign
from numba.core.lowering import Lower
from numba.core.types.containers import NamedTuple


def _address(value: Any) -> Any:
    """Where a tuple lies in memory that nobody writes to, or None."""
    pointer = value.operands[0] if isinstance(value, LoadInstr) else None
    return pointer if getattr(pointer, "is_fixed", False) else None


class _Builder(ir.IRBuilder):  # type: ignore[misc]
    """Loads a member of a tuple from where it lies, not the whole tuple."""

    def extract_value(self, agg: Any, idx: Any, name: str = "") -> Any:
        """Member of a tuple or of a struct."""
        pointer = _address(agg)
        if pointer is None:
            return super().extract_value(agg, idx, name)
        place = list(idx) if isinstance(idx, (tuple, list)) else [idx]
        steps = [ir.IntType(32)(i) for i in (0, *place)]
        member = self.gep(pointer, steps, inbounds=True)
        member.is_fixed = True
        return self.load(member, name)


class _Packer:
    """From values to arguments and back, one after the other."""

    def __init__(self, models: Any, argtypes: Any) -> None:
        self._models = models
        self._parts = [
            models.lookup(one).get_value_type().as_pointer()
            if isinstance(one, NamedTuple)
            else ArgPacker(models, [one])
            for one in argtypes
        ]

    @property
    def argument_types(self) -> tuple[Any, ...]:
        """Types of all arguments."""
        return tuple(
            one
            for part in self._parts
            for one in (part.argument_types if isinstance(part, ArgPacker) else [part])
        )

    def as_arguments(self, builder: Any, values: Any) -> tuple[Any, ...]:
        """Arguments for values."""
        found: list[Any] = []
        for part, value in zip(self._parts, values, strict=True):
            if isinstance(part, ArgPacker):
                found.extend(part.as_arguments(builder, [value]))
                continue
            pointer = _address(value)
            if pointer is None:
                pointer = cgutils.alloca_once(builder, part.pointee)
                builder.store(value, pointer)
            found.append(pointer)
        return tuple(found)

    def from_arguments(self, builder: Any, args: Any) -> list[Any]:
        """Values of arguments."""
        builder.__class__ = _Builder
        values, args = [], list(args)
        for part in self._parts:
            if isinstance(part, ArgPacker):
                n = len(part.argument_types)
                values.extend(part.from_arguments(builder, args[:n]))
                args = args[n:]
            else:
                args[0].is_fixed = True
                values.append(builder.load(args.pop(0)))
        return values

    def assign_names(self, args: Any, names: Any) -> None:
        """Name the arguments, and tell what is known of addresses."""
        args = list(args)
        for part, name in zip(self._parts, names, strict=True):
            if isinstance(part, ArgPacker):
                n = len(part.argument_types)
                part.assign_names(args[:n], [name])
                args = args[n:]
            else:
                args[0].name = name
                # llvmlite does not know the last, LLVM does.
                for known in ("noalias", "captures(none)", "readonly"):
                    set.add(args[0].attributes, known)
                args.pop(0)


class _CallConv(CPUCallConv):  # type: ignore[misc]
    def _get_arg_packer(self, argtypes: Any) -> _Packer:
        return _Packer(self.context.data_model_manager, argtypes)


class _Context(CPUContext):  # type: ignore[misc]
    @property
    def call_conv(self) -> _CallConv:
        return _CallConv(self)


def by_reference(context: Any, typing_context: Any) -> Any:
    """Numba's target with our way of passing tuples, and our knowledge of types."""
    own = copy.copy(context)
    own.__class__ = _Context
    own.typing_context = typing_context
    return own


class LowerByReference(Lower):  # type: ignore[misc]
    """Lowering where a variable that holds a tuple is the address of that tuple."""

    def pre_lower(self) -> None:
        """Count the assignments to every variable."""
        super().pre_lower()
        self._n_assigned = Counter(
            line.target.name
            for block in self.blocks.values()
            for line in block.find_insts(Assign)
        )

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        """Remember the address, or store the value."""
        is_tuple = isinstance(self.typeof(name), NamedTuple)
        if is_tuple and name not in self._singly_assigned_vars:
            pointer = _address(value)
            if pointer is not None and self._n_assigned[name] == 1:
                self.varmap[name] = pointer
                return
        super().storevar(value, name, argidx)

    def delvar(self, name: str) -> None:
        """Nothing is counted, so nothing is freed."""
