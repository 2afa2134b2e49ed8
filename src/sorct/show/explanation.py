"""Explain: one sample's route through a tree, and what would change its class.

Sums and thresholds are those of the printed rules, so that a reader can check every
number with a pocket calculator. Everything is read from a Tree.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.encoder import TableEncoder
from sorct.data.plain import is_finite_number
from sorct.data.table import Table, as_table, refuse_masked
from sorct.data.terms import other_among
from sorct.data.variables import Variable, is_missing
from sorct.data.wording import class_name, readable, readable_label, shown
from sorct.show.caveats import decision_text
from sorct.show.counterfactual import Flip, find_flip
from sorct.show.forests import ForestExplanation, explain_row
from sorct.show.notes import short_text, value_text
from sorct.show.text import check_tree, cut_text, rounded
from sorct.show.value_explanation import ValueExplanation, moves_of, reaches
from sorct.show.values import meaning, says_parts
from sorct.tree.forest import Forest
from sorct.tree.link import cdf
from sorct.tree.view import Cut, Leaf, View

if TYPE_CHECKING:
    from sorct.tree.tree import Tree


# A probability below this is printed as "<0.0001".
_SMALL = 0.0001
_TYPICAL = (
    "Contributions are measured from a typical sample: the median, or the most "
    "frequent level, of every variable in training."
)


@dataclass(frozen=True)
class Part:
    """What one variable adds to the sum of a cut, beside what a typical value adds.

    A typical value is the median of training, or the most frequent level (the middle of
    the range, or the first level, where a model file is too old to know them). A
    missing value is None, a date is text. ``counts_as`` says what a value counts as
    that has no weight of its own: "other", or a typical one if it is missing.
    """

    variable: str
    value: Any
    typical: Any
    contribution: float
    counts_as: Any = None


@dataclass(frozen=True)
class Step:
    """One cut on a route.

    Attributes
    ----------
    cut : int
        Number of the cut as printed, from 1.
    question : str
        The cut as printed.
    base : float
        Sum of the cut for a sample that is typical in every variable.
    parts : tuple of Part
        Largest first; ``base`` and their contributions add up to ``total``.
    total, threshold : float
        "yes" is the more probable answer when the total is above the threshold.
    answer : {"yes", "no"}
    proba : float
        Probability of that answer.
    """

    cut: int
    question: str
    base: float
    parts: tuple[Part, ...]
    total: float
    threshold: float
    answer: str
    proba: float

    @property
    def limit(self) -> float:
        """Former name of ``threshold``."""
        warnings.warn(
            "Step.limit is now called Step.threshold.", FutureWarning, stacklevel=2
        )
        return self.threshold


@dataclass(frozen=True)
class Explanation:
    """Why a tree gives a sample its class.

    Attributes
    ----------
    predicted : label of the class that ``predict`` gives
    proba : dict from label to probability
    steps : tuple of Step
        The route from the root to a leaf of somebody who follows the rules.
    leaf : label of the class of the leaf at its end
    leaf_proba : float
        Probability of that route.
    flips : tuple of Flip
        One for every variable that the tree uses.
    leaf_says : dict from label to probability, or None
        What that leaf says of the classes, where leaves say more than a class.
    by_hand : label or None
        Class found by following the rules by hand, yes or no at each cut; None for
        trees of files that know nothing of it.
    decision : str
        How ``predict`` decides, if it does not take the most probable class.
    calibrated, by_likelihood : bool
        Whether probabilities are calibrated on held-out rows, or trained by likelihood.
    """

    predicted: Any
    proba: dict[Any, float]
    steps: tuple[Step, ...]
    leaf: Any
    leaf_proba: float
    flips: tuple[Flip, ...]
    leaf_says: dict[Any, float] | None = None
    by_hand: Any = None
    decision: str = ""
    calibrated: bool = False
    by_likelihood: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the keys of ``proba`` are text, as JSON has it."""
        plain = asdict(self)
        for key in ("proba", "leaf_says"):
            if plain[key] is not None:
                plain[key] = {str(label): p for label, p in plain[key].items()}
        return plain

    def _head(self) -> list[str]:
        """The class, how it is decided on, and the probabilities."""
        whence = "by likelihood" if self.by_likelihood else "by the tree's routes"
        whence = f"{whence}, not calibrated"
        if self.calibrated:
            whence = "calibrated on held-out rows"
        lines = [f"Predicted: {readable_label(self.predicted)}"]
        if self.by_hand is not None and self.by_hand != self.predicted:
            lines.append(
                f"Followed by hand, the rules give {class_name(self.by_hand)} here: "
                "predict weighs all routes, not one."
            )
        decision = [self.decision] if self.decision else []
        return [*lines, *decision, f"Probability {whence}: {_shares(self.proba)}"]

    def __str__(self) -> str:
        lines = self._head()
        if any(step.parts for step in self.steps):
            lines.append(_TYPICAL)
        for step in self.steps:
            # A cut that sends every sample one way tells nothing of this one.
            if step.parts or _chance(step.proba) != "1":
                lines += ["", *step_lines(step)]
        lines += [
            "",
            f"Leaf: {readable_label(self.leaf)}, by this route with probability ",
        ]
        lines[-1] += f"{self.leaf_proba:.4g}"
        if self.leaf_says is not None:
            lines[-1] += f"; it says {_shares(self.leaf_says)}"
        if self.flips:
            lines += [
                "",
                "To change the class by one variable alone, within its training range:",
            ]
            lines += [f"  {_flip_line(flip)}" for flip in self.flips]
        return "\n".join(lines)


def explain(
    tree: Tree | Forest, x: Any, *, reach: float | None = None
) -> Explanation | ValueExplanation | ForestExplanation:
    """Route of one sample, what every variable contributes, and what would change it.

    Parameters
    ----------
    tree : Tree or Forest
    x : dict, Series, DataFrame of one row, or array of shape (n_variables,)
        Raw values, as ``predict`` takes them.
    reach : float or None, default=None
        Of a tree of a quantity: a value for which the smallest change of every variable
        alone is told that reaches it.

    Returns
    -------
    Explanation, or ValueExplanation if a quantity is predicted; of a forest, a
    ForestExplanation

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sorct import SORCTClassifier, explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = SORCTClassifier(alpha_local=1.0, random_state=0).fit(X, y)
    >>> explain(clf.tree_, X.iloc[0]).predicted
    0
    """
    if isinstance(tree, Forest):
        if reach is not None:
            raise ValueError("reach is for single trees of a quantity, not forests.")
        row, _ = _one_row(tree, x)
        return explain_row(tree, row, _values(tree.encoder, row))
    check_tree(tree)
    row, table = _one_row(tree, x)
    values = _values(tree.encoder, row)
    scaled = tree.encoder.encode_table(table)[0]
    if tree.of_quantity:
        return _of_quantity(tree, table, values, scaled, reach)
    if reach is not None:
        raise ValueError("reach is for quantities; this tree predicts classes.")
    labels, proba = tree.classes.tolist(), tree.predict_proba_table(table)[0]
    code = int(tree.class_target.codes(tree.predict_table(table))[0])
    steps, leaf = _route(tree, scaled, values)
    chances = tree.leaf_reach_table(table)[0]
    says = None
    if leaf.says is not None:
        says = dict(zip(labels, leaf.says.tolist(), strict=True))
    return Explanation(
        predicted=labels[code],
        proba=dict(zip(labels, proba.tolist(), strict=True)),
        steps=tuple(steps),
        leaf=_plain(tree.classes[leaf.code]),
        leaf_proba=float(chances[leaf.leaves].sum()),
        flips=tuple(
            find_flip(tree, scaled, code, i, values[tree.encoder.names[i]])
            for i in tree.variables_at().tolist()
        ),
        leaf_says=says,
        by_hand=None if tree.routed is None else _plain(tree.follow_table(table)[0]),
        decision=" ".join(decision_text(tree)),
        calibrated=tree.calibration is not None,
        by_likelihood=tree.training.by_log,
    )


def _of_quantity(
    tree: Tree, table: Table, values: dict[str, Any], scaled: FloatArray, goal: Any
) -> ValueExplanation:
    if goal is not None and not is_finite_number(goal):
        raise ValueError(f"reach must be a finite number or None, got {shown(goal)}.")
    typical, moves = moves_of(tree, scaled, values)
    steps, leaf = _route(tree, scaled, values)
    return ValueExplanation(
        predicted=float(tree.predict_table(table)[0]),
        typical=typical,
        moves=tuple(moves),
        steps=tuple(steps),
        leaf=" ".join(says_parts(tree, leaf)),
        leaf_proba=float(tree.leaf_reach_table(table)[0][leaf.leaves].sum()),
        reach=None if goal is None else float(goal),
        changes=() if goal is None else reaches(tree, scaled, values, float(goal)),
        meaning=meaning(tree),
    )


# -- the sample ------------------------------------------------------------------------


def _one_row(tree: Tree | Forest, x: Any) -> tuple[Any, Table]:
    """The sample as a row, and as it is read.

    What the tree does not use may be left out.
    """
    encoder = tree.encoder
    if not isinstance(x, dict) and np.ndim(x) == 2:
        if len(x) != 1:
            raise ValueError(f"Expected one sample, got {len(x)}; pass one row.")
        table = as_table(x)
    elif isinstance(x, dict) or hasattr(x, "index") and hasattr(x, "to_dict"):
        import pandas as pd

        table = tree.completed(pd.DataFrame([_in_order(encoder, dict(x))]))
        for variable in encoder.variables:
            if variable.origin is not None:
                _read_date(table, variable)
    else:
        refuse_masked(x, "x")
        table = as_table([np.atleast_1d(x)])
    return table, encoder.read(table)


def _in_order(encoder: TableEncoder, row: dict[Any, Any]) -> dict[Any, Any]:
    """Values in the order of training, which counts where names were made up.

    What is not there is missing, where it may be.
    """
    names = encoder.names
    absent = {
        variable.name: None
        for variable in encoder.variables
        if variable.takes_missing or encoder.missing != "error"
    }
    row = {**absent, **row}
    return {name: row[name] for name in names} if set(names) == set(row) else row


def _read_date(table: Any, variable: Variable) -> None:
    """Dates may be text in a row that comes by itself."""
    if variable.name in table:
        try:
            table[variable.name] = variable.take(table[variable.name].tolist())
        except ValueError as error:
            raise ValueError(f"Column {variable.name!r} {error}.") from error


def _values(encoder: TableEncoder, table: Any) -> dict[str, Any]:
    """Raw value of every variable."""
    if not (encoder.named and hasattr(table, "columns")):
        row = [_plain(value) for value in np.asarray(table)[0].tolist()]
        return dict(zip(encoder.names, row, strict=True))
    given = {str(name): table[name].iloc[0] for name in table.columns}
    return {name: _plain(given[name]) for name in encoder.names}


def _plain(value: Any) -> Any:
    """A cell as plain data: None if missing, the day if a date."""
    if is_missing(value):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    return value.item() if hasattr(value, "item") else value


def _counts_as(encoder: TableEncoder, variable: Variable, value: Any) -> Any:
    """What a value counts as that has no weight of its own, else None."""
    if value is None:
        return None if variable.takes_missing else variable.typical
    choices = variable.choices
    if choices is None or value in choices:
        return None
    return choices[0] if encoder.unknown == "first_level" else other_among(choices)


# -- the route -------------------------------------------------------------------------


def _route(
    tree: Tree, scaled: FloatArray, values: dict[str, Any]
) -> tuple[list[Step], Leaf]:
    """Cuts on the way of somebody who follows the rules, and the leaf at its end."""
    score = tree.scores(scaled[np.newaxis])[:, 0]
    left, goes_left = cdf(score), score > tree.followed_limits
    steps, node, view = [], tree.view.root, tree.view
    while isinstance(node, Cut):
        says_yes = bool(goes_left[node.node]) == node.reading.is_left
        answer, goes, child = _answers(view, node, left)[0 if says_yes else 1]
        steps.append(_step(tree, node, values, answer, goes))
        node = child
    return steps, node


def _answers(
    view: View, cut: Cut, left: FloatArray
) -> list[tuple[str, float, Cut | Leaf]]:
    """Both answers of a cut, their probabilities and where they lead."""
    yes = float(left[cut.node] if cut.reading.is_left else 1.0 - left[cut.node])
    nodes = view.nodes
    return [("yes", yes, nodes[cut.yes]), ("no", 1.0 - yes, nodes[cut.no])]


def _step(
    tree: Tree,
    cut: Cut,
    values: dict[str, Any],
    answer: str,
    proba: float,
) -> Step:
    encoder, given, usual = tree.encoder, dict[int, float](), dict[int, float]()
    for i in cut.terms:
        variable = encoder.variables[i]
        given[i] = _weighed(cut, i, values[variable.name])
        usual[i] = _weighed(cut, i, variable.typical)
    parts = [
        Part(
            encoder.names[i],
            values[encoder.names[i]],
            encoder.variables[i].typical,
            given[i] - usual[i],
            _counts_as(encoder, encoder.variables[i], values[encoder.names[i]]),
        )
        for i in dict.fromkeys(cut.reading.variables)
    ]
    return Step(
        cut=cut.number,
        question=cut_text(cut),
        base=float(sum(usual.values())),
        parts=tuple(sorted(parts, key=lambda part: -abs(part.contribution))),
        total=float(sum(given[i] for i in dict.fromkeys(cut.reading.variables))),
        threshold=cut.reading.threshold,
        answer=answer,
        proba=proba,
    )


def _weighed(cut: Cut, i: int, cell: Any) -> float:
    """What a value of variable i adds to the sum of a cut as it reads.

    A sum as it reads begins at 0 of the raw columns, not at the ends of their ranges.
    """
    reading = cut.reading
    begins = sum(
        summand.begins
        for summand, own in zip(reading.summands, reading.variables, strict=True)
        if own == i
    )
    base = sum(
        piece.base
        for piece in reading.pieces
        if reading.variables[piece.places[0]] == i
    )
    added = float(cut.terms[i].value(cell) + begins)
    return added / reading.summands[0].raw_weight - base


# -- text ------------------------------------------------------------------------------


def _shares(proba: dict[Any, float]) -> str:
    """Classes with their probabilities."""
    return ", ".join(f"{class_name(label)} {_chance(p)}" for label, p in proba.items())


def _chance(proba: float) -> str:
    """A probability of four digits; nobody reads powers of ten."""
    return f"{proba:.4g}" if proba >= _SMALL or proba == 0.0 else f"<{_SMALL}"


def step_lines(step: Step) -> list[str]:
    """A cut on a route, with what every variable adds to its sum."""
    head = f"Cut {step.cut}: {step.question}"
    if not step.parts:
        return [f"{head}: {step.answer} with probability {step.proba:.4g}"]
    # So many digits that a reader sees on which side of the threshold the sum is.
    error = 0.01 * abs(step.total - step.threshold)
    names = ["a typical sample", *map(_part_text, step.parts)]
    added = [step.base, *(part.contribution for part in step.parts)]
    width = max(map(len, names))
    lines = [head]
    lines += [
        f"  {name:<{width}}  {_signed(number, error):>12}"
        for name, number in zip(names, added, strict=True)
    ]
    lines.append(
        f"  {'sum':<{width}}  {_signed(step.total, error):>12}, threshold "
        f"{rounded(step.threshold, error)}: {step.answer} with probability "
        f"{step.proba:.4g}"
    )
    return lines


def _part_text(part: Part) -> str:
    text = _named_value(part.variable, part.value)
    if part.counts_as is not None:
        text += f", counted as {short_text(part.counts_as)}"
        if part.counts_as == part.typical:
            return text
    elif part.value == part.typical:
        return f"{text}, as is typical"
    if part.contribution == 0.0:
        return f"{text}, which counts like {short_text(part.typical)}"
    return f"{text}, not {short_text(part.typical)}"


def _signed(number: float, error: float) -> str:
    text = rounded(number, error)
    return f"+{text}" if number > 0 else text


def _named_value(name: str, value: Any) -> str:
    if value is None:
        return f"{readable(name)} is missing"
    return f"{readable(name)} = {short_text(value)}"


def _flip_line(flip: Flip) -> str:
    now = _named_value(flip.variable, flip.now)
    if flip.to is None:
        return f"{now}: not by this variable alone"
    return f"{now}: {value_text(flip.value)} gives {class_name(flip.to)}"
