"""numba's pipeline without what our compiled code does not need.

It uses parts of numba that may change with any version, so it is used only with those
that it was tested with; with others numba's own pipeline gives the same code, later.
numba optimises every function twice, so that it may remove the counting of references
in between. Our code counts none: what is linked into its callers is optimised by the
cheap passes, what Python calls by the full ones, and results are the same bits.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _EntryLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that Python calls."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into its callers and never runs by itself.

    numba would turn every function into machine code of its own, which is a sixth of
    the whole time.
    """

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
        # numba knows a function by a builtin; address 0, as it cannot be called.
        entry = _dynfunc.make_function(
            fndesc.lookup_module(), fndesc.qualname, "", 0, env, (library,)
        )
        state.targetctx.insert_user_function(entry, fndesc, [library])
        state["cr"] = lowered._replace(cfunc=entry)
        return True


def _pipeline(state: Any, lowering: type) -> list[Any]:
    """The pipeline of numba, but for the lowering."""
    pipeline = DefaultPassBuilder.define_nopython_pipeline(state)
    pipeline.add_pass_after(lowering, NativeLowering)
    pipeline.passes = [
        entry for entry in pipeline.passes if entry[0] is not NativeLowering
    ]
    pipeline.finalize()
    return [pipeline]


class EntryCompiler(CompilerBase):  # type: ignore[misc]
    """For what Python calls."""

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        return _pipeline(self.state, _EntryLowering)


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """For what only compiled code calls."""

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        return _pipeline(self.state, _InnerLowering)
