"""numba's pipeline without what our compiled code does not need.

It uses parts of numba that may change with any version, so it is used only with those
that it was tested with; with others numba's own pipeline gives the same code, later.
What is left out:

- Optimising twice. numba does so that it may remove the counting of references in
  between, and our code counts none. What is linked into its callers is optimised by the
  cheap passes, what Python calls by the full ones, and results are the same bits.
- Machine code of functions that only compiled code calls.
- Passes for what our code does not contain (closures, ``with``, ``raise``, tuples of
  mixed types in loops, whole-array arithmetic), and checks of the code between passes.
- Asking again which version of an operator fits which types, and comparing options
  one by one whenever that is asked.
"""

from typing import Any

from numba import _dynfunc
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_machinery import PassManager, _pass_registry, register_pass
from numba.core.typed_passes import (
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    InlineInlinables,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

# From bytecode to typed code that is ready for lowering.
_BEFORE_LOWERING = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    GenericRewrites,
    InlineInlinables,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
)
# What was found out about types, by the options that a function is compiled with.
_known: dict[str, dict[Any, Any]] = {}
# One object for all options that are the same.
_flags: dict[str, "_Flags"] = {}


class _EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that Python calls."""

    def _optimize_functions(self, module: Any) -> None:
        # Nothing yet: the full passes run once, after everything is linked.
        module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        builder = self._codegen._pass_builder()
        builder.getModulePassManager().run(self._final_module, builder)


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into its callers and never runs by itself.

    numba would turn every function into machine code of its own, which is a sixth of
    the whole time.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        builder = self._codegen._pass_builder()
        passes = builder.getFunctionPassManager()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def finalize(self) -> None:
        """Link what this code calls, and optimise; emit nothing."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            module = library._get_module_for_linking()
            self._final_module.link_in(module, preserve=True)
        self._optimize_final_module()
        self._finalized = True

    def _optimize_final_module(self) -> None:
        codegen = self._codegen
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect,
            slp_vectorize=False,
            opt=codegen._opt_level,
            cost="cheap",
        )
        passes.run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class _EntryLowering(NativeLowering):  # type: ignore[misc]
    """Lower a function that Python calls."""

    _name = "sorct_entry_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower it into a library that is optimised once."""
        codegen = state.targetctx.codegen()
        state.library = _EntryLibrary(codegen, state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):  # type: ignore[misc]
    """Lower a function into a library that emits nothing."""

    _name = "sorct_inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower it, and let other functions know of it."""
        codegen = state.targetctx.codegen()
        state.library = _InnerLibrary(codegen, state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered, library = state["cr"], state.library
        fndesc, env = lowered.fndesc, lowered.env
        # numba registers compiled functions under a builtin object. Its address is 0,
        # for nobody calls this one from Python.
        entry = _dynfunc.make_function(
            fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,)
        )
        state.targetctx.insert_user_function(entry, fndesc, [library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class _Flags(Flags):  # type: ignore[misc]
    """Options of a function, which numba compares whenever it asks about types.

    It compares copies, option by option; here all copies are one object.
    """

    def copy(self) -> "_Flags":
        """One object for all that are the same."""
        return _flags.setdefault(repr(self), _Flags(self))


class _Types:
    """numba's knowledge of types, which remembers what it was asked.

    numba asks anew for every operator of every function, several times, and tries all
    versions of the operator each time.
    """

    def __init__(self, context: Any, flags: Any) -> None:
        self._context = context
        # The version that fits is compiled with the options of the caller.
        self._answers = _known.setdefault(repr(flags), {})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def _ask(self, question: str, *about: Any) -> Any:
        key = question, *about
        if key not in self._answers:
            self._answers[key] = getattr(self._context, question)(*about)
        return self._answers[key]

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        """Signature of a call; only those of numba's own functions are remembered."""
        if kws or not isinstance(function, types.Function):
            return self._context.resolve_function_type(function, args, kws)
        key = function, tuple(args)
        if key not in self._answers:
            found = self._context.resolve_function_type(function, args, kws)
            self._answers[key] = found
        return self._answers[key]

    def resolve_getattr(self, value: Any, name: str) -> Any:
        """Type of an attribute."""
        return self._ask("resolve_getattr", value, name)

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Signature of an assignment to an item."""
        return self._ask("resolve_setitem", target, index, value)


class _Passes(PassManager):  # type: ignore[misc]
    """Passes one after the other, without numba's checks and records in between."""

    def run(self, state: Any) -> None:
        """Run them all."""
        for kind, _ in self.passes:
            current = _pass_registry.get(kind).pass_inst
            current.analysis = self._analysis
            current.run_pass(state)


class _Compiler(CompilerBase):  # type: ignore[misc]
    """A pipeline that ends with the lowering given."""

    lowering: type

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = _Flags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        return _pipeline(self.state, self.lowering)


def _pipeline(state: Any, lowering: type) -> list[Any]:
    state.typingctx = _Types(state.typingctx, state.flags)
    passes = _Passes("sorct")
    for kind in (*_BEFORE_LOWERING, lowering, NoPythonBackend):
        passes.add_pass(kind, "")
    passes.finalize()
    return [passes]


class EntryCompiler(_Compiler):
    """For what Python calls."""

    lowering = _EntryLowering


class InnerCompiler(_Compiler):
    """For what only compiled code calls."""

    lowering = _InnerLowering
