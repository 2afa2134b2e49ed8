"""Inner compiler: numba's pipeline for functions that only compiled code calls.

It uses parts of numba that may change with any version, so it is used only with those
that it was tested with; with others numba's own pipeline gives the same code, later.
"""

from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into its callers and never runs by itself.

    numba would turn every function into machine code of its own, which is a sixth of
    the whole time. The optimiser runs as ever, so that results are the same bits.
    """

    def finalize(self) -> None:
        """Link what this code calls, and optimise; emit nothing."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            module = library._get_module_for_linking()
            self._final_module.link_in(module, preserve=True)
        self._optimize_final_module()
        self._finalized = True


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


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """numba's own pipeline, but for the lowering."""

    def define_pipelines(self) -> list[Any]:
        """One pipeline."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(_InnerLowering, NativeLowering)
        pipeline.passes = [
            entry for entry in pipeline.passes if entry[0] is not NativeLowering
        ]
        pipeline.finalize()
        return [pipeline]
