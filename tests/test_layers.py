"""House rules: imports point down, no drawer for everything, a light front door."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sorct

ROOT = Path(sorct.__file__).parent

# From top to bottom: a file may import only files listed below it.
LAYERS = [
    "__init__",
    "__main__",
    "cli.__init__",
    "cli.verbs",
    "cli.training",
    "cli.completion",
    "cli.parser",
    "cli.options",
    "cli.bars",
    "cli.costs",
    "cli.data",
    "cli.printing",
    "cli.tables",
    "cli.files",
    "cli.messages",
    "comparison",
    "rivals",
    "verdict",
    "plotting.__init__",
    "plotting.stability",
    "plotting.recall",
    "plotting.frontier",
    "plotting.heatmap",
    "plotting.path",
    "plotting.tree",
    "plotting._focus",
    "plotting._alpha_axis",
    "plotting._grid",
    "plotting._tree_pen",
    "plotting._scaled_text",
    "plotting._tree_layout",
    "plotting._tree_parts",
    "plotting._inputs",
    "plotting._style",
    "estimators_cv",
    "folds",
    "estimators",
    "trace",
    "prepare",
    "bounds",
    "scorers",
    "checks",
    "call",
    "warm_up",
    "sweep",
    "iterated",
    "search",
    "moves",
    "polish",
    "starts",
    "subtrees",
    "annealing",
    "solvers.augmented_lagrangian",
    "solvers.descent",
    "solvers.quasi_newton",
    "solvers.proximal_gradient",
    "solvers._work",
    "solvers.__init__",
    "problem",
    "solution",
    "objective",
    "labels",
    "constraints",
    "penalties",
    "path",
    "tree",
    "report.__init__",
    "report.render",
    "report.summarize",
    "export.__init__",
    "export.sql",
    "export.onnx",
    "export.python",
    "export.javascript",
    "export.cuts",
    "export.schema",
    "tree_json",
    "explanation",
    "flips",
    "rounding",
    "frontier",
    "rules",
    "encode",
    "prune",
    "params",
    "topology",
    "prox",
    "_kernels",
    "link",
    "_compile",
    "_workers",
    "_progress",
    "datasets",
    "_datasets_record",
    "_typing",
]


def module_name(path):
    """Dotted name of a file inside the package, without the package's own name."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def is_type_checking(node):
    """Whether a node is the body's guard ``if TYPE_CHECKING``."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported_names(node):
    """Dotted names that a node imports at run time, nested ones included."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        return {base if node.level else f"{base}.{alias.name}" for alias in node.names}
    children = node.orelse if is_type_checking(node) else ast.iter_child_nodes(node)
    return set().union(*map(imported_names, children))


def own_module(name):
    """Our module that a dotted name lies in, None for another's; relative ones stay."""
    if name.startswith("."):
        return name
    top, *parts = name.split(".")
    if top != "sorct":
        return None
    while parts:
        for candidate in (".".join(parts), ".".join([*parts, "__init__"])):
            if candidate in MODULES:
                return candidate
        parts.pop()
    return "__init__"


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    """A file imports only files listed below it."""
    assert name in LAYERS, f"{name} is new: add it to LAYERS in {__file__}"
    below = LAYERS[LAYERS.index(name) + 1 :]
    imported = imported_names(ast.parse(MODULES[name].read_text()))
    upward = {own_module(other) for other in imported} - {None, *below}
    assert not upward, f"{name} imports {sorted(upward)}, which are not below it"


def test_the_reader_of_imports_sees_what_runs():
    """Nested imports and else branches count, those for the type checker do not."""
    source = """
import sorct.problem.prox
if TYPE_CHECKING:
    from sorct.search.multistart import Multistart
else:
    from sorct import link
def f():
    from sorct.solvers.descent import descend
    from .labels import assign
"""
    found = {own_module(name) for name in imported_names(ast.parse(source))}
    assert found == {"prox", "link", "solvers.descent", ".labels"}


def test_there_is_no_drawer_for_everything():
    """A function lives beside its caller or in the layer it speaks about."""
    parts = {part for name in MODULES for part in name.split(".")}
    assert not parts & {"utils", "helpers", "common", "misc"}


@pytest.mark.parametrize("name", ["sorct", "sorct.tree.tree"])
def test_the_front_door_needs_no_compiler_and_no_tables(name):
    """The package and a fitted tree load without numba, and with pandas out of reach.

    scikit-learn imports pandas where it can, so that its absence is what tells.
    """
    code = f"""
import sys
sys.modules["numba"] = sys.modules["pandas"] = None  # importing either now fails
import {name}
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
