"""Text: a tree in words, in the names and units of the user's table.

Cuts are numbered from 1, in the order in which they are printed. Cuts that decide
nothing are left out. So are cuts of which one side gets hardly any sample; a line below
the rules says which, by numbers that follow those of the others. Leaves tell the rows
that people send there who follow the rules by hand. Everything is read from a view of
the tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.quantity import Quantity
from sorct.data.wording import class_name, printable, readable, readable_label, shown
from sorct.show.caveats import (
    calibration_text,
    decision_text,
    followed_text,
    promise_text,
    rare_text,
    recall_text,
    weights_text,
)
from sorct.show.cuts import cut_parts, cut_text
from sorct.show.notes import folding_note, notes, wrapped
from sorct.show.numbers import (
    plain_number,
    printed_threshold,
    printed_weight,
    rounded,
    write_out,
)
from sorct.show.values import directed, leaf_value_parts, quantity_footer
from sorct.tree.forest import Forest
from sorct.tree.tree import Tree
from sorct.tree.view import FEW, Cut, Leaf, View

__all__ = [
    "check_decimals",
    "check_tree",
    "cut_text",
    "export_text",
    "hidden_text",
    "people_view",
    "plain_number",
    "printed_threshold",
    "printed_weight",
    "rounded",
]

_WIDTH = 88
# No row has a smaller share of the weight.
_NOBODY = 1e-12


def export_text(
    tree: Tree, decimals: int | None = None, *, soft: bool = False, levels: str = "few"
) -> str:
    """Rules of the whole tree, one line per cut and leaf.

    A cut reads "sum > threshold": the larger the sum, the more probably a sample goes
    to the branch marked "yes". A leaf of a quantity tells its value, or a sum, and how
    far that is off; one of classes tells its class, and what the training rows are
    that the tree sends there, each to the more probable side of every cut; what the
    leaf itself says of the classes follows where it is something else. A cut of which
    one side gets less than 0.05 % of the rows, and less than a tenth of every class, is
    not shown; a line below says so.

    Parameters
    ----------
    tree : Tree
    decimals : int or None, default=None
        Decimals of weights and thresholds; a number that would vanish keeps one digit.
        None means at least four digits, and as many as it takes that no cut moves by
        more than a thousandth of its largest term.
    soft : bool, default=False
        Tell expected shares in leaves, for which a row near a cut goes both ways in
        part. Trees of files that know no others have them in any case.
    levels : {"few", "all"}, default="few"
        Which levels of a category a cut names: a few, of others how many there are, or
        every one that does not add what all others add.

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
    hard, every = has_hard_shares(tree, soft), _wants_every(levels)
    view, by_hand = people_view(tree, hard=hard), tree.routed is not None and not soft
    page = _Page(tree, view, decimals, hard, by_hand, every, [])
    _add_node(page, view.root, "", "")
    return "\n".join([_headline(tree, view), "", *page.lines, "", *_footer(page)])


def _wants_every(levels: Any) -> bool:
    """Whether all levels are to be named."""
    if not isinstance(levels, str) or levels not in ("few", "all"):
        raise ValueError(f"levels must be 'few' or 'all', got {shown(levels)}.")
    return bool(levels == "all")


def has_hard_shares(tree: Tree, soft: bool = False) -> bool:
    """Whether leaves tell the rows of hard routes: if these part, and are wanted."""
    if not isinstance(soft, (bool, np.bool_)):
        raise TypeError(f"soft must be True or False, got {shown(soft)}.")
    return tree.routed is not None and not soft and not goes_one_way(tree)


def goes_one_way(tree: Tree, least: float = FEW) -> bool:
    """Whether by hand all rows come to one leaf, though cuts decide something.

    Signals are weak then: the cuts move the probability, which stays on one side.
    """
    if tree.routed is None or View.of(tree, least=least, hard=True).cuts:
        return False
    return bool(View.of(tree, least=least).cuts)


def by_hand_text(tree: Tree, view: View, hard: bool) -> list[str]:
    """What is said of cuts that move what is predicted, but send nobody elsewhere."""
    what = "prediction" if tree.of_quantity else "probability"
    if not hard:
        if tree.routed is None:
            return []
        leaf, come = View.of(tree, least=FEW, hard=True).root, "come to one leaf"
        rows = "all" if goes_one_way(tree, _NOBODY) else "next to all"
        if isinstance(leaf, Leaf) and not tree.of_quantity:
            label = tree.classes[leaf.code]
            if tree.training.followed == 1.0:
                return [
                    f"predict says {class_name(label)} of {rows} training rows: the "
                    f"cuts move the {what} alone."
                ]
            come = f"come to the leaf {readable_label(label)}"
        return [
            f"Followed by hand, {rows} training rows {come}: the cuts move the {what} "
            "alone."
        ]
    told, soft = (
        {i for node in one.nodes.values() for i in node.terms}
        for one in (view, people_view(tree))
    )
    names = [readable(tree.encoder.names[i]) for i in sorted(soft - told)]
    if not names:
        return []
    stand, move = ("stands", "moves") if len(names) == 1 else ("stand", "move")
    return [
        f"{_listing(names)} {stand} in cuts that are not shown and {move} the {what}: "
        "see explain(tree, row) and export_text(tree, soft=True)."
    ]


def _listing(names: list[str]) -> str:
    head = ", ".join(names[:-1])
    return f"{head} and {names[-1]}" if head else names[-1]


def whole_view(tree: Tree) -> tuple[View, bool]:
    """All cuts whose sides both get rows, and whether these come by hard routes."""
    hard = tree.routed is not None and not goes_one_way(tree, _NOBODY)
    return (View.of(tree, least=_NOBODY, hard=True) if hard else tree.view), hard


def people_view(tree: Tree, mass: FloatArray | None = None, hard: bool = False) -> View:
    """View of a tree for people: without leaves that would read "0.0 % of samples"."""
    return View.of(tree, mass=mass, least=FEW, hard=hard)


def hidden_text(tree: Tree, view: View, hard: bool = False) -> list[str]:
    """What is said of cuts that decide something, and that a view does not show."""
    whole = View.of(tree, hard=True) if hard else tree.view
    told = {cut.node for cut in view.cuts}
    hidden = [cut for cut in whole.cuts if cut.node not in told]
    least = {
        cut.node: min(whole.nodes[n].mass.sum() for n in (cut.left, cut.right))
        for cut in hidden
    }
    nobody = [cut for cut in hidden if hard and least[cut.node] == 0.0]
    few = [cut for cut in hidden if least[cut.node] < FEW and cut not in nobody]
    # Cuts above those: now that those are not shown, both sides say the same.
    same = [cut for cut in hidden if cut not in few and cut not in nobody]
    rows, say = ("rows", "say") if hard else ("samples", "have")
    what = "the same" if hard else "the same class"
    return [
        *_not_shown(nobody, f"by hand, no training row comes to one of {_its(nobody)}"),
        *_not_shown(few, f"less than 0.05 % of the {rows} goes to one of {_its(few)}"),
        *_not_shown(same, f"without those, both sides {say} {what}"),
    ]


def _its(cuts: list[Cut]) -> str:
    return "its sides" if len(cuts) == 1 else "their sides"


def _not_shown(cuts: list[Cut], why: str) -> list[str]:
    if not cuts:
        return []
    are = "is" if len(cuts) == 1 else "are"
    which = ", ".join(str(number) for number in sorted(cut.number for cut in cuts))
    word = "cut" if len(cuts) == 1 else "cuts"
    return [f"{_count(len(cuts), 'cut')} {are} not shown: {why} ({word} {which})."]


def check_tree(tree: Any) -> None:
    """Refuse what is not a tree; an estimator has one."""
    if not isinstance(tree, Tree):
        hint = "; pass its tree_" if hasattr(tree, "tree_") else ""
        if isinstance(tree, Forest):
            hint = "; print(forest) tells of it, and explain, export and report take it"
        raise TypeError(f"Expected a Tree, got a {type(tree).__name__}{hint}.")


def check_decimals(decimals: Any) -> None:
    """Refuse what is not a whole number from 0 to 17, or None."""
    whole = isinstance(decimals, (int, np.integer)) and not isinstance(decimals, bool)
    if decimals is not None and not (whole and 0 <= decimals <= 17):
        raise ValueError(
            "decimals must be a whole number from 0 to 17 or None, got "
            f"{shown(decimals)}."
        )


# -- head and foot ---------------------------------------------------------------------


def _headline(tree: Tree, view: View) -> str:
    n_used, n_variables = len(tree.variables_used), len(tree.encoder.variables)
    n_cuts = len(view.cuts)
    return (
        f"Tree of depth {tree.depth} with {_count(n_cuts, 'cut')} and "
        f"{_count(n_cuts + 1, 'leaf', 'leaves')}, using {n_used} of "
        f"{_count(n_variables, 'variable')}"
    )


_SOFT = "Shares are expected ones: a sample near a cut goes both ways in part."
_SAYS = (
    "What a leaf says is the probability of rows that are there for certain; a row "
    "near a cut goes both ways in part and gets a mix."
)


def _footer(page: _Page) -> list[str]:
    tree, view, hard = page.tree, page.view, page.hard
    told = tree.training
    if tree.of_quantity:
        return _quantity_footer(page)
    lines = [
        *(by_hand_text(tree, view, hard) if page.by_hand else []),
        *([] if hard else [_SOFT]),
        *([_SAYS] if any("; says " in line for line in page.lines) else []),
        *followed_text(tree),
        *hidden_text(tree, view, hard),
        *promise_text(tree),
        *decision_text(tree),
        *calibration_text(tree),
        *weights_text(tree),
        *_variables_text(tree, view if hard else tree.view),
        *recall_text(tree, page.by_hand),
        *rare_text(tree),
        *_direction_text(tree),
    ]
    if tree.variables_used:
        lines.append(_rounding_text(page.decimals))
    if told.rounded:
        lines.append(
            f"The tree itself was rounded to {_count(told.rounded, 'digit')}; shares "
            "in leaves are those before."
        )
    if page.by_hand:
        lines = [part for line in lines for part in wrapped(line)]
    if told.search:
        lines.append(f"Search: {printable(told.search)}.")
    return [*_notes(page), *lines]


def _notes(page: _Page) -> list[str]:
    """What is to be known of variables, and of levels that are only counted."""
    counted = [] if page.every else folding_note(page.view, page.decimals)
    return [*notes(page.tree.encoder, page.view), *counted]


def _quantity_footer(page: _Page) -> list[str]:
    """The same where a quantity is predicted."""
    tree, told = page.tree, page.tree.training
    hidden = hidden_text(tree, page.view, page.hard)
    moved = by_hand_text(tree, page.view, page.hard) if page.by_hand else []
    lines = [*quantity_footer(tree, page.view), *moved, *hidden]
    sums = any(leaf.terms for leaf in page.view.leaves)
    if sums or (page.view.cuts and tree.coef.any()):
        lines.append(_rounding_text(page.decimals, "sum" if sums else "cut"))
    if told.rounded:
        lines.append(f"The cuts were rounded to {_count(told.rounded, 'digit')}.")
    lines = [part for line in lines for part in wrapped(line)]
    if told.search:
        lines.append(f"Search: {printable(told.search)}.")
    return [*_notes(page), *lines]


def _variables_text(tree: Tree, view: View) -> list[str]:
    """Which variables the tree uses, and how many each cut."""
    used = tree.variables_used
    if not used:
        return ["Variables: none."]
    names, cuts = ", ".join(readable(name) for name in used), view.cuts
    if len(cuts) < 2:
        return [f"Variables: {names}."]
    counts = ", ".join(f"cut {cut.number}: {len(cut.terms)}" for cut in cuts)
    return [f"Variables: {names} ({counts})."]


def _direction_text(tree: Tree) -> list[str]:
    """What is promised of directions, and what the variables cost."""
    told, lines = tree.training, []
    for sign, word in ((1, "falls"), (-1, "rises")):
        names = directed(tree, sign)
        if names:
            label = readable_label(told.positive_class)
            which = " or ".join(names)
            lines.append(f"The probability of {label} never {word} as {which} grows.")
    if tree.variables_cost is not None:
        cost = f"{tree.variables_cost:.6g}"
        lines.append(f"The variables used cost {write_out(cost)} in all.")
    return lines


def _rounding_text(decimals: int | None, moved: str = "cut") -> str:
    if decimals is not None:
        return (
            f"Numbers are rounded to {_count(decimals, 'decimal')}, "
            "smaller ones to one digit."
        )
    return (
        f"Numbers are rounded to 4 digits, or to as many as move no {moved} by more "
        "than 0.1 % of its largest term."
    )


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or one + 's'}"


# -- nodes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Page:
    """What is printed, how, and the lines so far.

    ``by_hand`` says that hard routes are known and were not declined; shares are of
    them, ``hard``, unless they all end in one leaf. ``every`` says that no levels are
    only counted.
    """

    tree: Tree
    view: View
    decimals: int | None
    hard: bool
    by_hand: bool
    every: bool
    lines: list[str]


def _add_node(page: _Page, node: Cut | Leaf, head: str, indent: str) -> None:
    if isinstance(node, Leaf):
        _add_leaf(page, node, head, indent)
        return
    head = f"{head}cut {node.number}: "
    width = max(_WIDTH - len(head), 40)
    first, *rest = _wrapped(cut_parts(node, page.decimals, every=page.every), width)
    page.lines.append(head + first)
    page.lines.extend(f"{indent}│    {line}" for line in rest)
    yes, no = (page.view.nodes[child] for child in (node.yes, node.no))
    _add_node(page, yes, indent + "├─ yes: ", indent + "│  ")
    _add_node(page, no, indent + "└─ no:  ", indent + "   ")


def _add_leaf(page: _Page, leaf: Leaf, head: str, indent: str) -> None:
    tree = page.tree
    if isinstance(tree.target, Quantity):
        parts = leaf_value_parts(tree, leaf, page.hard, page.decimals)
        first, *rest = _wrapped(parts, max(_WIDTH - len(head), 40))
        page.lines.append(head + first)
        page.lines.extend(f"{indent}     {line}" for line in rest)
        return
    text = tree.target.leaf_text(leaf.code, leaf.mass, leaf.says, rows=page.hard)
    page.lines.append(head + text)


def _wrapped(parts: list[str], width: int) -> list[str]:
    """Lines broken before a sign, never inside a term, whatever its name."""
    lines = parts[:1]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 1 > width:
            lines.append(part)
        else:
            lines[-1] += f" {part}"
    return lines
