"""Text rules: a tree in words, in the names and units of the user's table.

Only the drawing of text lives here; it reads a Tree and nothing else. Cuts are numbered
as in the tree, from 1: the cuts below cut t are 2t and 2t + 1. A cut that decides
nothing is passed by.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import IntArray
from sorct.data.encoder import Categorical
from sorct.tree.link import cdf
from sorct.tree.prune import NOBODY, SEVERAL, only_child

if TYPE_CHECKING:
    from sorct.tree.tree import Tree


_WIDTH = 88
# A number is printed such that its rounding moves a cut by less than this share of its
# largest term, also for columns far from zero.
_ROUNDING = 1e-3


def export_text(tree: Tree, decimals: int | None = None) -> str:
    """Rules of the whole tree, one line per cut and leaf.

    A cut reads "sum > limit": the larger the sum, the more probably a sample goes to
    the branch marked "yes".

    Parameters
    ----------
    tree : Tree
    decimals : int or None, default=None
        Decimals of weights and limits; a number that would vanish keeps one digit. None
        means at least four digits, and as many as it takes that no cut moves by more
        than a thousandth of its largest term.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier, export_text
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=1.0, random_state=0).fit(X, y)
    >>> print(export_text(clf.tree_, decimals=2).splitlines()[0])
    Tree of depth 2 with 2 cuts and 3 leaves, using 3 of 4 variables
    """
    check_decimals(decimals)
    check_tree(tree)
    lines = [_headline(tree), ""]
    _add_node(tree, 0, "", "", decimals, lines)
    lines += ["", *_footer(tree, decimals)]
    return "\n".join(lines)


def check_tree(tree: Any) -> None:
    """Refuse what is not a tree; an estimator has one."""
    if not hasattr(tree, "node_class"):
        hint = "; pass its tree_" if hasattr(tree, "tree_") else ""
        raise TypeError(f"Expected a Tree, got a {type(tree).__name__}{hint}.")


def check_decimals(decimals: Any) -> None:
    """Refuse what is not a whole number from 0 to 17, or None."""
    whole = isinstance(decimals, (int, np.integer)) and not isinstance(decimals, bool)
    if decimals is not None and not (whole and 0 <= decimals <= 17):
        raise ValueError(
            f"decimals must be a whole number from 0 to 17 or None, got {decimals!r}."
        )


def _headline(tree: Tree) -> str:
    n_used, n_variables = len(tree.variables_used), len(tree.encoder.variables)
    n_cuts = len(shown_cuts(tree))
    return (
        f"Tree of depth {tree.depth} with {_count(n_cuts, 'cut')} and "
        f"{_count(n_cuts + 1, 'leaf', 'leaves')}, using {n_used} of "
        f"{_count(n_variables, 'variable')}"
    )


def _footer(tree: Tree, decimals: int | None) -> list[str]:
    lines = [
        "Shares are expected ones: a sample near a cut goes both ways in part.",
        *_variables_text(tree),
        *_recall_text(tree),
    ]
    if tree.variables_used:
        lines.append(_rounding_text(decimals))
    if tree.training.get("rounded"):
        digits = tree.training["rounded"]
        lines.append(
            f"The tree itself was rounded to {_count(digits, 'digit')}; shares in "
            "leaves are those before."
        )
    if tree.training.get("search"):
        lines.append(f"Search: {printable(tree.training['search'])}.")
    return lines


def _variables_text(tree: Tree) -> list[str]:
    """Which variables the tree uses, and how many each cut."""
    used = tree.variables_used
    if not used:
        return ["Variables: none."]
    names = ", ".join(printable(name) for name in used)
    cuts = shown_cuts(tree)
    if len(cuts) < 2:
        return [f"Variables: {names}."]
    counts = ", ".join(f"cut {t + 1}: {len(variables_of_cut(tree, t))}" for t in cuts)
    return [f"Variables: {names} ({counts})."]


def _recall_text(tree: Tree) -> list[str]:
    recall = tree.training.get("recall")
    if not recall:
        return []
    floors = tree.training.get("min_recall") or [0.0] * len(recall)
    parts = [
        f"{printable(label)} {rate:.3f}" + (f" (floor {floor:g})" if floor else "")
        for label, rate, floor in zip(tree.classes, recall, floors, strict=True)
    ]
    return [f"Expected recall on the training sample: {', '.join(parts)}."]


def _rounding_text(decimals: int | None) -> str:
    if decimals is not None:
        return (
            f"Numbers are rounded to {_count(decimals, 'decimal')}, "
            "smaller ones to one digit."
        )
    return (
        "Numbers are rounded to 4 digits, or to as many as move no cut by more than "
        "0.1 % of its largest term."
    )


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


def shown_node(tree: Tree, node: int) -> int:
    """Node to show in a node's place: cuts that send all one way are passed by."""
    while node < tree.n_branches:
        child = only_child(tree.coef, tree.threshold, tree.gamma, node, NOBODY)
        if child is None:
            break
        node = child
    return node


def is_leaf(tree: Tree, node: int) -> bool:
    """Whether a shown node has one class: a leaf, or a cut with one class below."""
    return bool(tree.node_class[node] != SEVERAL)


def children(tree: Tree, t: int) -> tuple[int, int]:
    """Nodes shown below a shown cut: for "yes" and for "no"."""
    yes, no = 2 * t + 1, 2 * t + 2
    if not reads_left(tree, t):
        yes, no = no, yes
    return shown_node(tree, yes), shown_node(tree, no)


def shown_cuts(tree: Tree) -> list[int]:
    """Cuts that decide something, as they are printed from top to bottom."""
    return [node for node in _shown_nodes(tree, 0) if not is_leaf(tree, node)]


def _shown_nodes(tree: Tree, node: int) -> Iterator[int]:
    node = shown_node(tree, node)
    yield node
    if not is_leaf(tree, node):
        for child in children(tree, node):
            yield from _shown_nodes(tree, child)


def _add_node(
    tree: Tree,
    node: int,
    head: str,
    indent: str,
    decimals: int | None,
    lines: list[str],
) -> None:
    node = shown_node(tree, node)
    if is_leaf(tree, node):
        lines.append(head + leaf_text(tree, node))
        return
    yes, no = children(tree, node)
    head = f"{head}cut {node + 1}: "
    width = max(_WIDTH - len(head), 40)
    first, *rest = _wrapped(_cut_parts(tree, node, decimals), width)
    lines.append(head + first)
    lines.extend(f"{indent}│    {line}" for line in rest)
    _add_node(tree, yes, indent + "├─ yes: ", indent + "│  ", decimals, lines)
    _add_node(tree, no, indent + "└─ no:  ", indent + "   ", decimals, lines)


def _wrapped(parts: list[str], width: int) -> list[str]:
    """Lines broken before a sign, never inside a term, whatever its name."""
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 1 > width:
            lines.append(part)
        else:
            lines[-1] += f" {part}"
    return lines


def printable(name: Any) -> str:
    """A name on one line, control characters escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(name))


def by_contribution(tree: Tree, t: int) -> IntArray:
    """Columns of cut t, largest coefficient in scaled units first."""
    columns = np.flatnonzero(tree.coef[:, t])
    return columns[np.argsort(-np.abs(tree.coef[columns, t]), kind="stable")]


def reads_left(tree: Tree, t: int) -> bool:
    """Whether "yes" means left; a cut is turned round to lead with a positive term."""
    columns = by_contribution(tree, t)
    return columns.size == 0 or bool(tree.coef[columns[0], t] > 0)


def variables_of_cut(tree: Tree, t: int) -> list[str]:
    """Names of the variables that cut t uses, in the order of the table."""
    used = np.unique(tree.encoder.column_variable[tree.coef[:, t] != 0.0])
    return [tree.encoder.variables[i].name for i in used]


def cut_text(tree: Tree, t: int, decimals: int | None = None) -> str:
    """Cut t as a sparse combination in original units, largest contribution first.

    The first variable has weight 1, so that the sum is in its units. A cut with one
    term alone reads "variable > limit", or "variable is level".
    """
    return " ".join(_cut_parts(tree, t, decimals))


def _cut_parts(tree: Tree, t: int, decimals: int | None) -> list[str]:
    """Terms of a cut with their signs, and its limit."""
    terms, limit = cut_terms(tree, t)
    if not terms:
        return [_text_without_variables(tree, t)]
    first = next(iter(terms))
    if len(terms) == 1 and _is_level(tree, first) and 0.0 < limit < 1.0:
        return [column_text(tree, first)[1:-1]]
    numbers, level = printed_terms(tree, t, decimals)
    parts = [column_text(tree, first)]
    parts += [
        f"{'-' if weight < 0 else '+'} {numbers[j]} {column_text(tree, j)}"
        for j, weight in terms.items()
        if j != first
    ]
    return [*parts, f"> {level}"]


def printed_terms(
    tree: Tree, t: int, decimals: int | None = None
) -> tuple[dict[int, str], str]:
    """Sizes of the weights by column, and limit, rounded; for cuts with variables."""
    terms, limit = cut_terms(tree, t)
    # Of so many numbers, the first weight being 1, each may move the cut by its part.
    error = _ROUNDING * tree.span_of(next(iter(terms))) / len(terms)
    numbers = {
        j: rounded(abs(weight), error / tree.largest_value(j), decimals)
        for j, weight in terms.items()
    }
    return numbers, rounded(limit, error, decimals)


def cut_terms(tree: Tree, t: int) -> tuple[dict[int, float], float]:
    """Weights by column and limit as a cut is printed: "yes" when sum > limit.

    In original units, largest contribution first, its weight being 1.
    """
    columns = by_contribution(tree, t)
    weight, limit = tree.cut_in_units(t)
    lead = weight[columns[0]] if columns.size else 1.0
    # A limit of 0 has no sign, whichever way the cut is turned.
    return {int(j): float(weight[j] / lead) for j in columns}, float(limit / lead) + 0.0


def rounded(number: float, error: float, decimals: int | None = None) -> str:
    """Four digits, or as many as keep the rounding below the error."""
    if decimals is not None:
        text = f"{number:.{decimals}f}"
        return text if float(text) != 0.0 or number == 0.0 else f"{number:.1g}"
    digits = 4
    if number != 0.0 and error > 0.0:
        places = np.floor(np.log10(abs(number))) + 1 - np.floor(np.log10(2.0 * error))
        digits = int(np.clip(places, 4, 17))
    return f"{number:.{digits}g}"


def _proba_without_variables(tree: Tree, t: int) -> float:
    """Probability of "yes", which is left, at a cut that uses nothing."""
    return float(cdf(np.array([-tree.gamma * tree.threshold[t]]))[0])


def _text_without_variables(tree: Tree, t: int) -> str:
    proba = _proba_without_variables(tree, t)
    if min(proba, 1.0 - proba) < 5e-4:
        return f"(no variable: always {'yes' if proba > 0.5 else 'no'})"
    return f"(no variable: yes with probability {proba:.3f})"


def _is_level(tree: Tree, column: int) -> bool:
    """Whether a column is a level of a categorical variable."""
    place = tree.encoder.column_variable[column]
    return isinstance(tree.encoder.variables[place], Categorical)


def column_text(tree: Tree, column: int) -> str:
    """Name of a column; a level of a variable reads "[variable is level]"."""
    place = int(tree.encoder.column_variable[column])
    variable = tree.encoder.variables[place]
    if not isinstance(variable, Categorical):
        return printable(variable.name)
    first = int(np.argmax(tree.encoder.column_variable == place))
    level = variable.levels[1 + column - first]
    return f"[{printable(variable.name)} is {printable(level)}]"


def leaf_text(tree: Tree, node: int) -> str:
    """Class of a node, its share of the training sample and the classes in it.

    The node is a leaf, or a cut below which all leaves have one label.
    """
    mass = tree.mass[:, leaves_below(tree, node)].sum(axis=1)
    share = float(mass.sum())
    label = printable(tree.classes[tree.node_class[node]])
    text = f"{label}  ({100 * share:.1f} % of samples"
    if share > 5e-4:
        order = np.argsort(-mass, kind="stable")
        parts = [
            f"{100 * mass[k] / share:.0f} % {printable(tree.classes[k])}"
            for k in order
            if mass[k] / share >= 0.005
        ]
        text += ": " + ", ".join(parts[:4])
    return text + ")"


def leaves_below(tree: Tree, node: int) -> slice:
    """Positions of the leaves below a node."""
    first, last = node, node
    while first < tree.n_branches:
        first, last = 2 * first + 1, 2 * last + 2
    return slice(first - tree.n_branches, last - tree.n_branches + 1)
