"""What moves the prediction of a quantity for one sample, and what would reach another.

Read from a Tree. A variable moves the prediction by what changes when its value becomes
the typical one of training, all else being as it is; with several variables at work
these moves need not add up.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.variables import Variable
from sorct.data.wording import readable
from sorct.show.counterfactual import Flip, find_reach
from sorct.show.notes import short_text, value_text, wrapped
from sorct.show.numbers import quantity_text, signed, thousands_apart

if TYPE_CHECKING:
    from sorct.show.explanation import Step
    from sorct.tree.tree import Tree


@dataclass(frozen=True)
class Move:
    """What a variable's value does to a prediction, beside the typical value."""

    variable: str
    value: Any
    typical: Any
    move: float


@dataclass(frozen=True)
class ValueExplanation:
    """Why a tree predicts a quantity for a sample.

    Attributes
    ----------
    predicted : float
    typical : float
        What is predicted for a sample that is typical in every variable.
    moves : tuple of Move
        One for every variable that the tree uses, the largest first.
    steps : tuple of Step
        The route from the root to a leaf of somebody who follows the rules.
    leaf : str
        What the leaf at its end says.
    leaf_proba : float
        Probability of that route.
    reach : float or None
        Value that was asked for.
    changes : tuple of Flip
        Smallest change of every variable alone with which that is reached, ``to`` being
        the prediction then; empty if none was asked for.
    meaning : str
        What a prediction is, where it is no mean.
    """

    predicted: float
    typical: float
    moves: tuple[Move, ...]
    steps: tuple[Step, ...]
    leaf: str
    leaf_proba: float
    reach: float | None = None
    changes: tuple[Flip, ...] = ()
    meaning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        from sorct.show.explanation import step_lines

        lines = [
            f"Predicted: {quantity_text(self.predicted)}",
            f"A typical sample, with the median or most frequent level of every "
            f"variable: {quantity_text(self.typical)}",
        ]
        if self.meaning:
            lines.insert(1, self.meaning)
        if self.moves:
            lines += ["", "What each value does beside the typical one, alone:"]
            width = max(len(_named(move)) for move in self.moves)
            most = max(abs(move.move) for move in self.moves)
            lines += [
                f"  {_named(move):<{width}}  "
                f"{signed(move.move, 6, most, thousands_apart)}"
                for move in self.moves
            ]
        for step in self.steps:
            # A cut that sends every sample one way tells nothing of this one.
            if step.parts or step.proba < 1.0:
                lines += ["", *step_lines(step)]
        reached = f"by this route with probability {self.leaf_proba:.4g}"
        lines += ["", *wrapped(f"Leaf: {self.leaf}, {reached}")]
        if self.reach is not None:
            goal = quantity_text(self.reach)
            lines += [
                "",
                f"To reach {goal} by one variable alone, within its training range:",
                *(f"  {_change_line(change)}" for change in self.changes),
            ]
        return "\n".join(lines)


def _named(move: Move) -> str:
    value = "is missing" if move.value is None else f"= {short_text(move.value)}"
    text = f"{readable(move.variable)} {value}"
    if move.value == move.typical:
        return f"{text}, as is typical"
    return f"{text}, not {short_text(move.typical)}"


def _change_line(change: Flip) -> str:
    value = "is missing" if change.now is None else f"= {short_text(change.now)}"
    now = f"{readable(change.variable)} {value}"
    if change.to is None:
        return f"{now}: not by this variable alone"
    return f"{now}: {value_text(change.value)} gives {quantity_text(change.to)}"


def moves_of(
    tree: Tree, scaled: FloatArray, values: dict[str, Any]
) -> tuple[float, list[Move]]:
    """Prediction for a typical sample, and what every variable does beside it."""
    used = tree.variables_at().tolist()
    trial = np.repeat(scaled[np.newaxis], len(used) + 2, axis=0)
    for row, i in enumerate(used):
        variable, columns = tree.encoder.variables[i], tree.encoder.columns_of(i)
        trial[row, columns] = trial[-1, columns] = typical_columns(variable)
    found = tree.values_of_scores(tree.scores(trial), tree.leaf_says(trial))
    now = float(found[len(used)])
    moves = [
        Move(
            tree.encoder.names[i],
            values[tree.encoder.names[i]],
            tree.encoder.variables[i].typical,
            now - float(value),
        )
        for i, value in zip(used, found, strict=False)
    ]
    return float(found[-1]), sorted(moves, key=lambda move: -abs(move.move))


def typical_columns(variable: Variable) -> FloatArray:
    """Scaled columns of a variable's typical value."""
    if variable.choices is None:
        return np.asarray(
            variable.encode(variable.numbers(np.array([variable.typical])))[0]
        )
    return np.asarray(
        variable.encode_choices()[variable.choices.index(variable.typical)]
    )


def reaches(
    tree: Tree, scaled: FloatArray, values: dict[str, Any], goal: float
) -> tuple[Flip, ...]:
    """Smallest change of every variable alone that brings the prediction to a goal."""
    return tuple(
        find_reach(tree, scaled, goal, i, values[tree.encoder.names[i]])
        for i in tree.variables_at().tolist()
    )
