"""Explain: one sample's route through a tree, and what would change its class.

Sums and limits are those of the printed rules, so that a reader can check every number
with a pocket calculator. Everything is read from a Tree.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.encoder import Categorical, TableEncoder
from sorct.show.counterfactual import Flip, find_flip, scores
from sorct.show.text import (
    check_tree,
    children,
    cut_terms,
    cut_text,
    is_leaf,
    leaves_below,
    printable,
    reads_left,
    rounded,
    shown_node,
)
from sorct.tree.link import cdf

if TYPE_CHECKING:
    from sorct.tree.tree import Tree


@dataclass(frozen=True)
class Part:
    """What one variable adds to the sum of a cut: the value given, and weight x value.

    A level that counts for nothing adds 0.
    """

    variable: str
    value: Any
    contribution: float


@dataclass(frozen=True)
class Step:
    """One cut on a route.

    Attributes
    ----------
    cut : int
        Number of the cut as printed, from 1.
    question : str
        The cut as printed.
    parts : tuple of Part
        Largest first; their contributions add up to ``total``.
    total, limit : float
        "yes" is the more probable answer when the total is above the limit.
    answer : {"yes", "no"}
    proba : float
        Probability of that answer.
    """

    cut: int
    question: str
    parts: tuple[Part, ...]
    total: float
    limit: float
    answer: str
    proba: float


@dataclass(frozen=True)
class Explanation:
    """Why a tree gives a sample its class.

    Attributes
    ----------
    predicted : label of the most probable class
    proba : dict from label to probability
    steps : tuple of Step
        The most probable route from the root to a leaf.
    leaf : label of the class of the leaf at its end
    leaf_proba : float
        Probability of that route.
    flips : tuple of Flip
        One for every variable that the tree uses.
    """

    predicted: Any
    proba: dict[Any, float]
    steps: tuple[Step, ...]
    leaf: Any
    leaf_proba: float
    flips: tuple[Flip, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the keys of ``proba`` are text, as JSON has it."""
        plain = asdict(self)
        plain["proba"] = {str(label): value for label, value in self.proba.items()}
        return plain

    def __str__(self) -> str:
        shares = ", ".join(
            f"{printable(label)} {value:.4g}" for label, value in self.proba.items()
        )
        lines = [
            f"Predicted: {printable(self.predicted)}",
            f"Probability by the tree's routes, not calibrated: {shares}",
        ]
        for step in self.steps:
            lines += ["", *_step_lines(step)]
        lines += ["", f"Leaf: {printable(self.leaf)}, by this route with probability "]
        lines[-1] += f"{self.leaf_proba:.4g}"
        if self.flips:
            lines += [
                "",
                "To change the class by one variable alone, within its training range:",
            ]
            lines += [f"  {_flip_line(flip)}" for flip in self.flips]
        return "\n".join(lines)


def explain(tree: Tree, x: Any) -> Explanation:
    """Route of one sample, what every variable contributes, and what would flip it.

    Parameters
    ----------
    tree : Tree
    x : dict, Series, DataFrame of one row, or array of shape (n_variables,)
        Raw values, as ``predict`` takes them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier, explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=1.0, random_state=0).fit(X, y)
    >>> explain(clf.tree_, X.iloc[0]).predicted
    0
    """
    check_tree(tree)
    table = _one_row(tree.encoder, x)
    values = _values(tree.encoder, table)
    scaled = tree.encoder.encode(table)[0]
    proba = tree.predict_proba(table)[0]
    code = int(np.argmax(proba))
    steps, node = _route(tree, scaled, values)
    reach = tree.leaf_reach(table)[0]
    return Explanation(
        predicted=tree.classes.tolist()[code],
        proba=dict(zip(tree.classes.tolist(), proba.tolist(), strict=True)),
        steps=tuple(steps),
        leaf=_plain(tree.classes[tree.node_class[node]]),
        leaf_proba=float(reach[leaves_below(tree, node)].sum()),
        flips=tuple(
            find_flip(tree, scaled, code, i, values[name])
            for i, name in _used_variables(tree)
        ),
    )


# -- the sample ------------------------------------------------------------------------


def _one_row(encoder: TableEncoder, x: Any) -> Any:
    """The sample as a table of one row."""
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        table = x
    elif isinstance(x, dict) or hasattr(x, "index") and hasattr(x, "to_dict"):
        import pandas as pd

        table = pd.DataFrame([_in_order(encoder, dict(x))])
    else:
        table = np.asarray(x)
        table = table.reshape(1, -1) if table.ndim < 2 else table
    if len(table) != 1:
        raise ValueError(f"Expected one sample, got {len(table)}; pass one row.")
    encoder.read(table)
    return table


def _in_order(encoder: TableEncoder, row: dict[Any, Any]) -> dict[Any, Any]:
    """Values in the order of training, which counts where names were made up."""
    names = [variable.name for variable in encoder.variables]
    return {name: row[name] for name in names} if set(names) == set(row) else row


def _values(encoder: TableEncoder, table: Any) -> dict[str, Any]:
    """Raw value of every variable."""
    names = [variable.name for variable in encoder.variables]
    if not (encoder.named and hasattr(table, "columns")):
        return dict(zip(names, np.asarray(table)[0].tolist(), strict=True))
    given = {str(name): table[name].iloc[0] for name in table.columns}
    return {name: _plain(given[name]) for name in names}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _used_variables(tree: Tree) -> list[tuple[int, str]]:
    used = np.unique(tree.encoder.column_variable[tree.coef.any(axis=1)])
    return [(int(i), tree.encoder.variables[i].name) for i in used]


# -- the route -------------------------------------------------------------------------


def _route(
    tree: Tree, scaled: FloatArray, values: dict[str, Any]
) -> tuple[list[Step], int]:
    """Cuts on the way to the most probable leaf, and its node as shown."""
    left = cdf(scores(tree, scaled[np.newaxis])[:, 0])
    steps, node = [], shown_node(tree, 0)
    while not is_leaf(tree, node):
        yes = float(left[node]) if reads_left(tree, node) else float(1.0 - left[node])
        child, goes = max(
            zip(children(tree, node), (yes, 1.0 - yes), strict=True),
            key=lambda pair: pair[1] * _best_below(tree, left, pair[0]),
        )
        answer = "yes" if child == children(tree, node)[0] else "no"
        steps.append(_step(tree, node, scaled, values, answer, goes))
        node = child
    return steps, node


def _best_below(tree: Tree, left: FloatArray, node: int) -> float:
    """Probability of the most probable route from a shown node to a leaf."""
    if is_leaf(tree, node):
        return 1.0
    yes = left[node] if reads_left(tree, node) else 1.0 - left[node]
    below = [_best_below(tree, left, child) for child in children(tree, node)]
    return float(max(yes * below[0], (1.0 - yes) * below[1]))


def _step(
    tree: Tree,
    t: int,
    scaled: FloatArray,
    values: dict[str, Any],
    answer: str,
    proba: float,
) -> Step:
    terms, limit = cut_terms(tree, t)
    parts: dict[str, float] = {}
    for j, weight in terms.items():
        variable = tree.encoder.variables[tree.encoder.column_variable[j]]
        known = isinstance(variable, Categorical)
        value = scaled[j] if known else float(values[variable.name])
        parts[variable.name] = parts.get(variable.name, 0.0) + weight * float(value)
    listed = [Part(name, values[name], added) for name, added in parts.items()]
    return Step(
        cut=t + 1,
        question=cut_text(tree, t),
        parts=tuple(sorted(listed, key=lambda part: -abs(part.contribution))),
        total=float(sum(parts.values())),
        limit=limit,
        answer=answer,
        proba=proba,
    )


# -- text ------------------------------------------------------------------------------


def _step_lines(step: Step) -> list[str]:
    head = f"Cut {step.cut}: {step.question}"
    if not step.parts:
        return [f"{head}: {step.answer} with probability {step.proba:.4g}"]
    # So many digits that a reader sees on which side of the limit the sum is.
    error = 0.01 * abs(step.total - step.limit)
    names = [_named_value(part.variable, part.value) for part in step.parts]
    width = max(map(len, names))
    lines = [head]
    lines += [
        f"  {name:<{width}}  {_signed(part.contribution, error):>12}"
        for name, part in zip(names, step.parts, strict=True)
    ]
    lines.append(
        f"  {'sum':<{width}}  {_signed(step.total, error):>12}, limit "
        f"{rounded(step.limit, error)}: {step.answer} with probability {step.proba:.4g}"
    )
    return lines


def _signed(number: float, error: float) -> str:
    text = rounded(number, error)
    return text if number < 0 else f"+{text}"


def _named_value(name: str, value: Any) -> str:
    return f"{printable(name)} = {_value_text(value)}"


def _value_text(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, float) else printable(value)


def _flip_line(flip: Flip) -> str:
    now = _named_value(flip.variable, flip.now)
    if flip.value is None:
        return f"{now}: not by this variable alone"
    return f"{now}: {_value_text(flip.value)} gives {printable(flip.to)}"
