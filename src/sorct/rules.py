"""Text rules: a tree in words, in the names and units of the user's table.

Only the drawing of text lives here; it reads a Tree and nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import IntArray
from sorct.encode import Categorical
from sorct.link import cdf

if TYPE_CHECKING:
    from sorct.tree import Tree


_WIDTH = 88
# A number is printed such that its rounding moves a cut by less than this share of its
# largest term, also for columns far from zero.
_ROUNDING = 1e-3


def tree_text(tree: Tree) -> str:
    """Rules of the whole tree, one line per cut and leaf.

    A cut reads "sum > limit": the larger the sum, the more probably a sample goes to
    the branch marked "yes".
    """
    lines = [_headline(tree), ""]
    _add_node(tree, 0, "", "", lines)
    return "\n".join(lines)


def _headline(tree: Tree) -> str:
    n_used, n_variables = len(tree.variables_used), len(tree.encoder.variables)
    return (
        f"Tree of depth {tree.depth} with {_count(tree.n_branches, 'cut')} and "
        f"{_count(tree.n_leaves, 'leaf', 'leaves')}, using {n_used} of "
        f"{_count(n_variables, 'variable')}"
    )


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _add_node(tree: Tree, node: int, head: str, indent: str, lines: list[str]) -> None:
    if node >= tree.n_branches:
        lines.append(head + leaf_text(tree, node - tree.n_branches))
        return
    yes, no = 2 * node + 1, 2 * node + 2
    if not reads_left(tree, node):
        yes, no = no, yes
    width = max(_WIDTH - len(head), 40)
    first, *rest = _wrapped(cut_text(tree, node), width)
    lines.append(head + first)
    lines.extend(f"{indent}│    {line}" for line in rest)
    _add_node(tree, yes, indent + "├─ yes: ", indent + "│  ", lines)
    _add_node(tree, no, indent + "└─ no:  ", indent + "   ", lines)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines broken before a sign, never inside a term."""
    lines = [""]
    for part in re.split(r" (?=[-+>] )", text):
        if lines[-1] and len(lines[-1]) + len(part) + 1 > width:
            lines.append(part)
        else:
            lines[-1] = f"{lines[-1]} {part}".strip()
    return lines


def _printable(name: Any) -> str:
    """A name on one line, control characters escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def _by_contribution(tree: Tree, t: int) -> IntArray:
    """Columns of cut t, largest coefficient in scaled units first."""
    columns = np.flatnonzero(tree.coef[:, t])
    return columns[np.argsort(-np.abs(tree.coef[columns, t]), kind="stable")]


def reads_left(tree: Tree, t: int) -> bool:
    """Whether "yes" means left; a cut is turned round to lead with a positive term."""
    columns = _by_contribution(tree, t)
    return columns.size == 0 or tree.coef[columns[0], t] > 0


def cut_text(tree: Tree, t: int) -> str:
    """Cut t as a sparse combination in original units, largest contribution first."""
    columns = _by_contribution(tree, t)
    if columns.size == 0:
        return _text_without_variables(tree, t)
    weight, limit = tree.cut_in_units(t)
    if not reads_left(tree, t):
        weight, limit = -weight, -limit
    text, error = "", _ROUNDING * float(np.abs(tree.coef[columns, t]).max())
    for j in columns:
        sign = "- " if weight[j] < 0 else "+ " if text else ""
        size = _rounded(abs(weight[j]), error / tree.largest_value(int(j)))
        text += f"{sign}{size} {_name(tree, int(j))} "
    return f"{text}> {_rounded(limit, error)}"


def _rounded(number: float, error: float) -> str:
    """Four digits, or as many as keep the rounding below the error."""
    digits = 4
    if number != 0.0 and error > 0.0:
        digits = int(np.clip(np.ceil(np.log10(abs(number) / error)), 4, 17))
    return f"{number:.{digits}g}"


def _text_without_variables(tree: Tree, t: int) -> str:
    proba = float(cdf(np.array([-tree.gamma * tree.threshold[t]]))[0])
    if min(proba, 1.0 - proba) < 5e-4:
        return f"(no variable: always {'yes' if proba > 0.5 else 'no'})"
    return f"(no variable: yes with probability {proba:.3f})"


def _name(tree: Tree, column: int) -> str:
    variable = tree.encoder.variables[tree.encoder.column_variable[column]]
    name = _printable(tree.encoder.column_names[column])
    return f"[{name}]" if isinstance(variable, Categorical) else name


def leaf_text(tree: Tree, leaf: int) -> str:
    """Label of a leaf, its share of the training sample and the classes in it."""
    mass = tree.mass[:, leaf]
    share = float(mass.sum())
    label = _printable(tree.classes[tree.leaf_class[leaf]])
    text = f"{label}  ({100 * share:.1f} % of samples"
    if share > 5e-4:
        order = np.argsort(-mass, kind="stable")
        parts = [
            f"{100 * mass[k] / share:.0f} % {_printable(tree.classes[k])}"
            for k in order
            if mass[k] / share >= 0.005
        ]
        text += ": " + ", ".join(parts[:4])
    return text + ")"
