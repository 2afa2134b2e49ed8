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
from sorct.prune import SEVERAL, only_child

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
    if tree.training.get("search"):
        lines += ["", f"Search: {_printable(tree.training['search'])}."]
    return "\n".join(lines)


def _headline(tree: Tree) -> str:
    n_used, n_variables = len(tree.variables_used), len(tree.encoder.variables)
    n_cuts = _n_shown_cuts(tree, 0)
    return (
        f"Tree of depth {tree.depth} with {_count(n_cuts, 'cut')} and "
        f"{_count(n_cuts + 1, 'leaf', 'leaves')}, using {n_used} of "
        f"{_count(n_variables, 'variable')}"
    )


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def _shown(tree: Tree, node: int) -> int:
    """Node to show in a node's place: cuts that send all one way are passed by."""
    while node < tree.n_branches:
        child = only_child(tree.coef, tree.threshold, tree.gamma, node)
        if child is None:
            break
        node = child
    return node


def _n_shown_cuts(tree: Tree, node: int) -> int:
    """Cuts below a node that decide something."""
    node = _shown(tree, node)
    if tree.node_class[node] != SEVERAL:
        return 0
    return 1 + sum(_n_shown_cuts(tree, 2 * node + side) for side in (1, 2))


def _add_node(tree: Tree, node: int, head: str, indent: str, lines: list[str]) -> None:
    node = _shown(tree, node)
    if tree.node_class[node] != SEVERAL:
        lines.append(head + leaf_text(tree, node))
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


def leaf_text(tree: Tree, node: int) -> str:
    """Class of a node, its share of the training sample and the classes in it.

    The node is a leaf, or a cut below which all leaves have one label.
    """
    mass = tree.mass[:, _leaves_below(tree, node)].sum(axis=1)
    share = float(mass.sum())
    label = _printable(tree.classes[tree.node_class[node]])
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


def _leaves_below(tree: Tree, node: int) -> slice:
    """Positions of the leaves below a node."""
    first, last = node, node
    while first < tree.n_branches:
        first, last = 2 * first + 1, 2 * last + 2
    return slice(first - tree.n_branches, last - tree.n_branches + 1)
