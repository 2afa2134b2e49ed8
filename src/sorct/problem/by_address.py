"""Calls between functions that were compiled apart from each other.

numba compiles a function together with everything that it calls. Where two parts should
be compiled separately (and at the same time), one calls the other by its address in
memory. Such a call can pass only plain numbers, so the real arguments (a tuple of
arrays and numbers) are written to memory first, and their address is passed: ``storer``
makes the function that writes them, ``loader`` the one that reads them back, and
``call`` calls.

Every field takes eight bytes. Of an array only its description is written (where its
data are, its lengths and strides), so whoever writes it must keep the array alive.
"""

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_WORD = ir.IntType(64)


def n_words(kind: Any) -> int:
    """Number of fields of eight bytes that arguments of a type take in memory."""
    if isinstance(kind, types.Array):
        # Owner, parent, number of items, bytes of one, data; a length and a stride
        # for every axis.
        return 5 + 2 * int(kind.ndim)
    return sum(map(n_words, kind.types)) if hasattr(kind, "types") else 1


def _parts(builder: Any, kind: Any, slot: Any) -> Iterator[tuple[int, Any, Any]]:
    """Position, type and place of everything that a tuple holds."""
    inside = isinstance(kind, ir.ArrayType)
    kinds = [kind.element] * kind.count if inside else kind.elements
    for i, part in enumerate(kinds):
        yield i, part, builder.gep(slot, [ir.IntType(32)(0), ir.IntType(32)(i)])


def _store_parts(builder: Any, value: Any, slot: Any) -> None:
    """Store a value number by number: LLVM is slow with large tuples as a whole."""
    if not isinstance(value.type, ir.Aggregate):
        builder.store(value, slot)
        return
    for i, _, place in _parts(builder, value.type, slot):
        _store_parts(builder, builder.extract_value(value, i), place)


def _load_parts(builder: Any, kind: Any, slot: Any) -> Any:
    if not isinstance(kind, ir.Aggregate):
        return builder.load(slot)
    value = ir.Constant(kind, ir.Undefined)
    for i, part, place in _parts(builder, kind, slot):
        value = builder.insert_value(value, _load_parts(builder, part, place), i)
    return value


def _fits(given: Any, kind: Any) -> bool:
    """Whether arguments have the layout in memory that those of a type have."""
    if isinstance(kind, types.Array):
        alike = "ndim", "dtype", "layout"
        return all(getattr(given, name, None) == getattr(kind, name) for name in alike)
    if hasattr(kind, "types"):
        parts = getattr(given, "types", ())
        return len(parts) == len(kind.types) and all(map(_fits, parts, kind.types))
    return bool(given == kind)


def storer(kind_of: Callable[[], Any]) -> Any:
    """Return what writes arguments of a type, a tuple, at an address.

    The type is asked for when something is compiled, not before.
    """

    def store(_context: Any, address: Any, arguments: Any) -> Any:
        if not _fits(arguments, kind_of()):
            raise TypingError(f"Expected {kind_of()}, got {arguments}.")

        def write(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
            slot = builder.inttoptr(args[0], args[1].type.as_pointer())
            _store_parts(builder, args[1], slot)
            return _WORD(0)

        return types.int64(address, arguments), write

    return intrinsic(store)


def _call(_context: Any, function: Any, address: Any, task: Any) -> Any:
    def call(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [_WORD, _WORD])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.float64(function, address, task), call


# Call the function at an address with the address of its arguments and a task.
call: Any = intrinsic(_call)


def loader(kind_of: Callable[[], Any]) -> Any:
    """Return what reads arguments of a type at an address, as ``storer`` wrote them."""

    def load(_context: Any, address: Any) -> Any:
        if not isinstance(address, types.Integer):
            raise TypingError("An address was expected.")

        def read(target: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = target.get_value_type(kind_of())
            return _load_parts(
                builder, kind, builder.inttoptr(args[0], kind.as_pointer())
            )

        return kind_of()(address), read

    return intrinsic(load)
