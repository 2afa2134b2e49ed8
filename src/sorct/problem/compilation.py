"""The one door to the compiler: how a function of arrays becomes machine code.

Compiled code is cached on disk, runs without the interpreter's lock and never raises.
Importing this module imports numba, so only the solver side of the library does.

The cache lies in a folder named after a hash of our sources: numba looks at the file of
a function but not at those of the functions it calls, and a cache written by another
version of this library must not be read.
"""

import gc
import hashlib
import logging
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryFile
from threading import Thread, current_thread, main_thread
from typing import Any, TypeVar, cast

import numba
from joblib import cpu_count
from llvmlite import ir
from numba.core import event, types
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

logger = logging.getLogger("sorct")

Function = TypeVar("Function", bound=Callable[..., Any])

# Compiled code allocates no arrays, so it need not count references to them ("_nrt"):
# compiling that would take a tenth of the time. Division by zero cannot occur: without
# that promise the loops would not use vector instructions.
_OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}
_ORDERED = {"contract", "nnan", "nsz"}
_FAST = _ORDERED | {"reassoc", "arcp"}
# Versions of numba that the shorter pipelines below were tested with.
_KNOWN = (["0", "68"],)
# What only compiled code calls: no way in from Python, nothing of its own on disk.
_NO_ENTRY = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "cache": False}


def _cache_folder() -> Path | None:
    """First place we may write to, or None."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for source in sorted(package.rglob("*.py")):
        text = source.read_bytes()
        if b"@compiled" in text or source == Path(__file__):
            digest.update(text)
    name = f"sorct-{digest.hexdigest()[:16]}"
    places = [package / "__pycache__", *_home_cache()]
    if numba.config.CACHE_DIR:
        places.insert(0, Path(numba.config.CACHE_DIR))
    for place in places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
            # Permissions do not tell of disks that are full.
            TemporaryFile(dir=place / name).close()
        except OSError:
            continue
        return place / name
    logger.warning(
        "No folder for compiled code can be written: every process compiles."
    )
    return None


def _home_cache() -> list[Path]:
    """Our cache in the user's home, if the user has one."""
    try:
        return [Path.home() / ".cache" / "sorct"]
    except RuntimeError:
        return []


_CACHE_FOLDER = _cache_folder()
_OPTIONS["cache"] = _CACHE_FOLDER is not None


def _pipelines() -> tuple[dict[str, Any], dict[str, Any]]:
    """How entries and inner functions are compiled: quickly where we know numba."""
    if numba.__version__.split(".")[:2] not in _KNOWN:
        return {}, {}
    from sorct.problem.pipelines import EntryCompiler, InnerCompiler

    return {"pipeline_class": EntryCompiler}, {"pipeline_class": InnerCompiler}


_ENTRY, _INNER = _pipelines()


def empty_cache(why: Exception) -> None:
    """Delete the compiled code on disk, which cannot be read: it is written anew."""
    logger.warning(
        "The cache of compiled code in %s is damaged (%s: %s); it is emptied and "
        "everything compiled again, once.",
        _CACHE_FOLDER, type(why).__name__, why,
    )  # fmt: skip
    for path in _kept_files():
        # Another process may have deleted it first.
        with suppress(OSError):
            path.unlink()


def _kept_files() -> list[Path]:
    return [] if _CACHE_FOLDER is None else list(_CACHE_FOLDER.rglob("*.nb[ci]"))


def forget_cache(functions: Iterable[Any], why: Exception) -> None:
    """Compile functions for this process alone: their cache cannot be used."""
    logger.warning(
        "The cache of compiled code in %s cannot be used (%s: %s); this process "
        "compiles for itself. Delete the folder, or make room.",
        _CACHE_FOLDER, type(why).__name__, why,
    )  # fmt: skip
    for function in functions:
        function._cache = NullCache()


def nothing_cached() -> bool:
    """Whether this version has not been compiled on this machine yet."""
    return not _kept_files()


class _Counter(event.Listener):  # type: ignore[misc]
    """Counts the functions that numba has compiled."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._n_done = tell, 0

    def on_start(self, event: Any) -> None:
        """A function begins: nothing to tell."""

    def on_end(self, event: Any) -> None:
        """Tell that one more is done."""
        self._n_done += 1
        self._tell(self._n_done)


@contextmanager
def compiled_beside(statements: str) -> Iterator[None]:
    """Run statements in a second process, which compile something and keep it on disk.

    If there is no second core, or no second process to be had, nothing happens: then
    this process compiles it later.
    """
    program = Path(sys.executable or "")
    child = None
    if _CACHE_FOLDER is not None and cpu_count() > 1 and "python" in program.name:
        with suppress(OSError):
            child = Popen(
                [str(program), "-c", statements],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=DEVNULL,
            )
    try:
        yield
        if child is not None:
            child.wait()
    finally:
        if child is not None:
            child.kill()
            child.wait()


@contextmanager
def without_collection() -> Iterator[None]:
    """Do not look for garbage meanwhile: a compiler makes much and keeps nearly all."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def told_of_parts(tell: Callable[[int], None]) -> Iterator[None]:
    """Call ``tell`` with a running number after every function that is compiled."""
    with event.install_listener("numba:compile", _Counter(tell)):
        yield


@contextmanager
def _kept_in_our_folder() -> Iterator[None]:
    # numba chooses the folder when a function is decorated.
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_CACHE_FOLDER)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


def _compile(function: Function, **options: Any) -> Function:
    with _kept_in_our_folder():
        return cast(Function, numba.njit(**{**_OPTIONS, **options})(function))


def _compile_inner(function: Function, **options: Any) -> Function:
    return _compile(function, **_INNER, **_NO_ENTRY, **options)


def compiled(function: Function) -> Function:
    """Compile an entry for Python, with all that it calls; there should be few.

    Sums may be taken in any (but always the same) order.
    """
    return _compile(function, **_ENTRY, fastmath=_FAST, no_cfunc_wrapper=True)


def unchecked_entry(function: Any, *arguments: Any) -> Callable[..., None]:
    """Return an entry for arguments of these types, which it does not check.

    numba's check of the types of many arrays takes as long as a small problem. Whoever
    calls the entry must pass the same types: any other would be misread.
    """
    return entry_of(function, tuple(numba.typeof(one) for one in arguments))


def entry_of(function: Any, kinds: tuple[Any, ...]) -> Callable[..., None]:
    """Return the entry for arguments of given types; compile or load it first."""
    function.compile(kinds)
    return cast(Callable[..., None], function.overloads[kinds].entry_point)


def compiled_callee(signature: Any, function: Callable[..., Any]) -> Any:
    """Prepare what compiled code calls by its address, with all that it calls.

    Returns numba's callback. After its ``compile``, which ``address_of`` calls, it can
    be called from Python as ``ctypes``.
    """
    options = {**_OPTIONS, "fastmath": _FAST}
    is_kept = options.pop("cache")
    callee = CFunc(function, normalize_signature(signature), {}, options, **_ENTRY)
    with _kept_in_our_folder():
        if is_kept:
            callee.enable_caching()
    return callee


def address_of(callee: Any) -> int:
    """Return where a callee is; compile or load it first."""
    if callee.address is None:
        with global_compiler_lock:
            if callee.address is None:
                callee.compile()
    return int(callee.address)


def compiled_inside(function: Function) -> Function:
    """Compile what only compiled code calls, into its caller.

    There is no way in from Python: calling it from there ends the process.
    """
    return _compile_inner(function, fastmath=_FAST, forceinline=True)


def compiled_fully(function: Function) -> Function:
    """The same by numba's own pipeline: it takes longer, and loops may run faster.

    For what ``python -m benchmarks.run kernels`` shows to gain by it.
    """
    return _compile(function, fastmath=_FAST, forceinline=True, **_NO_ENTRY)


def compiled_apart(function: Function) -> Function:
    """Compile what only compiled code calls, and not often: a call, not a copy.

    Quicker to compile than ``compiled_inside``; no way in from Python either.
    """
    return _compile_inner(function, fastmath=_FAST)


def compiled_here(function: Function) -> Function:
    """Compile as if its lines stood in the one function that calls it.

    Quickest where a function takes many arrays and has no loop of its own.
    """
    return _compile(function, fastmath=_FAST, inline="always", **_NO_ENTRY)


def compiled_in_order(function: Function) -> Function:
    """Compile arithmetic whose order carries its meaning, such as a rounding trick.

    Only compiled code calls it. By numba's own pipeline: with the shorter one the
    logistic function of a block takes a fifth longer.
    """
    return _compile(function, fastmath=_ORDERED, **_NO_ENTRY)


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


def _choice(compare: Any) -> Callable[..., Any]:
    """Return what chooses the one of two float64 that compares as wanted."""

    def choose(_context: Any, one: Any, other: Any) -> Any:
        def select(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            kinds = zip(args, signature.args, strict=True)
            a, b = (target.cast(builder, x, k, types.float64) for x, k in kinds)
            asked = types.boolean(types.float64, types.float64)
            taken = target.get_function(compare, asked)(builder, (b, a))
            return builder.select(taken, b, a)

        return types.float64(one, other), select

    return choose


# max and min of two numbers: numba compiles its own anew for every function and type.
larger: Callable[[float, float], float] = intrinsic(_choice(operator.gt))
smaller: Callable[[float, float], float] = intrinsic(_choice(operator.lt))


def call_apart(function: Callable[..., Any], *arguments: Any) -> None:
    """Call compiled code where no signal can raise into it.

    Python answers signals in the main thread alone, and an exception that is raised
    into compiled code ends the process. So the main thread waits for another; if it is
    interrupted, that one goes on with memory of its own until it is done.
    """
    if current_thread() is not main_thread():
        function(*arguments)
        return
    errors: list[BaseException] = []

    def work() -> None:
        try:
            function(*arguments)
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
