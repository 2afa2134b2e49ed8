"""The one door to the compiler: how a function of arrays becomes machine code.

Compiled code is cached on disk, runs without the interpreter's lock and never raises.
Importing this module imports numba, so only the solver side of the library does.

The cache lies in a folder named after a hash of our sources: numba looks at the file of
a function but not at those of the functions it calls, and a cache written by another
version of this library must not be read.
"""

import hashlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

logger = logging.getLogger("sorct")

Function = TypeVar("Function", bound=Callable[..., Any])

# Compiled code allocates nothing, so nothing is counted either ("_nrt"): counting
# references to arrays would take a tenth of the time to compile. Division by zero
# cannot occur: without that promise the loops would not use vector instructions.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}
_ORDERED = {"contract", "nnan", "nsz"}
_FAST = _ORDERED | {"reassoc", "arcp"}
_NO_ENTRY = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _cache_folder() -> Path | None:
    """First place we may write to, or None."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if b"@compiled" in text or source == Path(__file__):
            digest.update(text)
    name = f"sorct-{digest.hexdigest()[:16]}"
    places = [package / "__pycache__", Path.home() / ".cache" / "sorct"]
    if numba.config.CACHE_DIR:
        places.insert(0, Path(numba.config.CACHE_DIR))
    for place in places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place / name, os.W_OK):
            return place / name
    logger.warning(
        "No folder for compiled code can be written: every process compiles."
    )
    return None


_CACHE_FOLDER = _cache_folder()
_OPTIONS["cache"] = _CACHE_FOLDER is not None


def nothing_cached() -> bool:
    """Whether this version has not been compiled on this machine yet."""
    return _CACHE_FOLDER is None or next(_CACHE_FOLDER.rglob("*.nbi"), None) is None


def _compile(function: Function, **options: Any) -> Function:
    # numba chooses the folder when a function is decorated.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_CACHE_FOLDER)
    try:
        return cast(Function, numba.njit(**_OPTIONS, **options)(function))
    finally:
        numba.config.CACHE_DIR = before


def compiled(function: Function) -> Function:
    """Compile for speed; sums may be taken in any (but always the same) order."""
    return _compile(function, fastmath=_FAST)


def compiled_inside(function: Function) -> Function:
    """Compile what only compiled code calls, into its caller.

    There is no way in from Python: calling it from there ends the process.
    """
    return _compile(function, fastmath=_FAST, forceinline=True, **_NO_ENTRY)


def compiled_apart(function: Function) -> Function:
    """Compile what only compiled code calls, and not often: a call, not a copy.

    Quicker to compile than ``compiled_inside``; no way in from Python either.
    """
    return _compile(function, fastmath=_FAST, **_NO_ENTRY)


def compiled_in_order(function: Function) -> Function:
    """Compile arithmetic whose order carries its meaning, such as a rounding trick."""
    return _compile(function, fastmath=_ORDERED)


def _bits_of_float(_context: Any, _value: Any) -> Any:
    def bitcast(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), bitcast


def _float_of_bits(_context: Any, _value: Any) -> Any:
    def bitcast(_target: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), bitcast


# Reinterpret the bits of a float64 as an int64, and back.
bits_of_float: Any = intrinsic(_bits_of_float)
float_of_bits: Any = intrinsic(_float_of_bits)
