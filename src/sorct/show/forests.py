"""Forests for people: a summary in words and small tables, and one sample explained.

A forest has too many cuts to read. What can be read: which variables it uses and how
many trees use each, what the forest says as one variable moves and all else is typical,
and, of one sample, what every value does beside the typical one and how many trees
agree. All of it is computed from the forest itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct._typing import FloatArray
from sorct.data.terms import OTHER
from sorct.data.wording import by_itself, class_name, printable, readable
from sorct.show.notes import short_text, wrapped, written
from sorct.show.numbers import quantity_text, signed, thousands_apart
from sorct.show.values import meaning

if TYPE_CHECKING:
    from sorct.tree.forest import Forest

# Places, as shares of its range, at which a number is shown; levels at most.
_PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Places at which its curve is drawn, and its direction decided.
CURVE_PLACES = tuple(np.linspace(0.0, 1.0, 33).tolist())
_MOST_LEVELS = 8
_OF_LOGARITHMS = (
    "The trees are of the logarithm: the forest says the geometric mean of what they "
    "say, within the least and the largest number of training."
)
# A curve that falls by at most this share of its range is said to rise.
_LITTLE = 0.02


@dataclass(frozen=True)
class PartialCurve:
    """What a forest says as one variable moves, all else being typical.

    Attributes
    ----------
    variable : str
    at : tuple of str
        Values of the variable, as text.
    said : array of shape (n_classes or 1, n_values)
        Probability of every class, or the prediction of a quantity.
    numbers : array of shape (n_values,) or None
        The values themselves, of dates in days; None for levels.
    missing : array of shape (n_classes or 1,) or None
        What is said where a number is missing, if that may be.
    places : array of shape (n_values,) or None
        Where the numbers are on the variable's own scale, from 0 to 1.
    """

    variable: str
    at: tuple[str, ...]
    said: FloatArray
    numbers: FloatArray | None = None
    missing: FloatArray | None = None
    places: FloatArray | None = None


def partial_curve(
    forest: Forest, variable: str, places: Sequence[float] = _PLACES
) -> PartialCurve:
    """What a forest says at some values of a variable, all else being typical.

    Numbers go over their range in training, of which ``places`` are shares. Where only
    whole numbers make sense, the nearest of these are taken. Of categories it is every
    level.
    """
    encoder = forest.encoder
    if variable not in encoder.names:
        raise ValueError(
            f"There is no variable {variable!r}; expected one of "
            f"{', '.join(map(repr, encoder.names))}."
        )
    i = encoder.names.index(variable)
    one, columns = encoder.variables[i], encoder.columns_of(i)
    numbers = at = None
    if one.choices is not None:
        cells = [by_itself(choice) for choice in one.choices]
        encoded = one.encode_choices()[: len(cells)]
    else:
        numbers, at = (
            np.array([one.decode(place) for place in places]),
            np.array(places),
        )
        if one.whole:
            nearest = np.unique(np.round(numbers))
            numbers, at = nearest, np.interp(nearest, numbers, at)
        span = float(np.ptp(numbers))
        cells = [written(x, one.origin, 1e-3 * span) for x in numbers.tolist()]
        encoded = one.encode(numbers)
        if one.takes_missing:
            encoded = np.vstack([encoded, one.encode(np.array([np.nan]))])
    typical = encoder.encode(encoder.typical_row())[0]
    scaled = np.repeat(typical[np.newaxis], len(encoded), axis=0)
    scaled[:, columns] = encoded
    said, n = forest.said(scaled), len(cells)
    missing = said[:, n] if said.shape[1] > n else None
    return PartialCurve(variable, tuple(cells), said[:, :n], numbers, missing, at)


def forest_text(forest: Forest) -> str:
    """Summary of a forest: variables, how often, how much, in which direction."""
    names, used = forest.encoder.names, forest.variables_at()
    depths = sorted({tree.depth for tree in forest.trees})
    trees = f"{forest.n_trees} trees of depth {' and '.join(map(str, depths))}"
    lines = [f"Forest of {trees}, {used.size} of {len(names)} variables."]
    if forest.of_quantity and forest.quantity.is_log:
        lines += wrapped(_OF_LOGARITHMS)
    meant = meaning(forest.trees[0])
    lines += wrapped(meant) if meant else []
    lines += _out_of_bag_lines(forest)
    order = used[np.argsort(-forest.importances[used], kind="stable")]
    for i in order.tolist():
        lines += ["", *_variable_lines(forest, i)]
    if used.size:
        what = "the prediction" if forest.of_quantity else "the probabilities"
        lines += ["", f"Tables show {what} as one variable moves, all else typical."]
    return "\n".join(lines)


def _out_of_bag_lines(forest: Forest) -> list[str]:
    """The score out of bag, what it is worth, and what always saying one class has."""
    told = forest.training
    if told.oob_score is None:
        return []
    scoring = "R²" if told.oob_scoring == "R2" else printable(told.oob_scoring)
    text = f"Out of bag: {scoring} {told.oob_score:.3f}."
    if told.loss == "quantile" and told.oob_loss is not None:
        # R2 asks for means.
        text = f"Out of bag: mean loss {told.oob_loss:.4g}, in spreads of the target."
    if told.oob_scoring == "accuracy" and not forest.of_quantity:
        share = np.mean([tree.class_share for tree in forest.trees], axis=0)
        usual = class_name(forest.classes[int(share.argmax())])
        text += f" Always saying {usual} has {share.max() / share.sum():.3f}."
    if 0 < forest.variables_at().size < len(forest.encoder.names):
        text += " The variables were chosen with these rows."
    if forest.weights[0] > forest.weights[-1]:
        text += " The first tree, which counts most, has seen them all and is left out."
    return wrapped(text)


def _variable_lines(forest: Forest, i: int) -> Iterator[str]:
    name = forest.encoder.names[i]
    n_trees = sum(i in tree.variables_at() for tree in forest.trees)
    share = forest.importances[i]
    head = f"{readable(name)}: in {n_trees} of {forest.n_trees} trees, importance "
    curve = partial_curve(forest, name)
    told = direction(forest, partial_curve(forest, name, CURVE_PLACES))
    yield f"{head}{share:.2f}{f', {told}' if told else ''}"
    columns = [["", *curve.at[:_MOST_LEVELS]]]
    if forest.of_quantity:
        columns.append(["prediction", *map(quantity_text, curve.said[0].tolist())])
    else:
        for label, said in zip(forest.classes.tolist(), curve.said, strict=True):
            columns.append([printable(label), *(f"{x:.3f}" for x in said)])
    columns = [column[: _MOST_LEVELS + 1] for column in columns]
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        cells = [x.rjust(width) for x, width in zip(row, widths, strict=True)]
        yield "  " + "  ".join(cells)
    if len(curve.at) > _MOST_LEVELS:
        yield f"  and {len(curve.at) - _MOST_LEVELS} more levels"


def direction(forest: Forest, curve: PartialCurve) -> str:
    """Whether the variable raises or lowers what is predicted, for ordered values.

    The curve is that at ``CURVE_PLACES``: between few places a fall would be missed.
    """
    one = forest.encoder.variables[forest.encoder.names.index(curve.variable)]
    if one.choices is not None and not one.ordered:
        return ""
    # A missing cell, and levels that are pooled, have no place in the order.
    ranked = [not (c is None or c is OTHER) for c in one.choices or ()]
    values = curve.said[:, ranked] if ranked else curve.said
    if not np.diff(values).any():
        return "moves nothing there"
    if forest.of_quantity:
        what = "the prediction"
    elif len(forest.classes) == 2:
        what = class_name(forest.classes.tolist()[-1])
    else:
        return ""
    said = values[-1]
    if _falls(said) <= _LITTLE:
        return f"raises {what}"
    return f"lowers {what}" if _falls(-said) <= _LITTLE else f"moves {what} both ways"


def _falls(said: FloatArray) -> float:
    """The deepest fall of a curve, as a share of its range."""
    deepest = (np.maximum.accumulate(said) - said).max()
    return float(deepest / max(float(np.ptp(said)), 1e-300))


# -- one sample ------------------------------------------------------------------------


@dataclass(frozen=True)
class Influence:
    """What a variable's value does to what a forest says, beside the typical value.

    ``without`` is what the forest would say of the predicted class (or predict) were
    the value typical, ``contribution`` the difference: its mean over the trees.
    """

    variable: str
    value: Any
    typical: Any
    without: float
    contribution: float


@dataclass(frozen=True)
class ForestExplanation:
    """Why a forest gives a sample its class, or its value.

    Attributes
    ----------
    predicted : label of the class, or the quantity
    proba : dict from label to probability; None for a quantity
    agreement : float
        Share of the trees that alone predict this class; of a quantity, the standard
        deviation of what the trees say.
    influences : tuple of Influence
        One for every variable that the forest uses, the largest first.
    n_trees : int
    meaning : str
        What a prediction is, where it is neither a class nor a mean.
    """

    predicted: Any
    proba: dict[Any, float] | None
    agreement: float
    influences: tuple[Influence, ...]
    n_trees: int
    meaning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __str__(self) -> str:
        if self.proba is None:
            said = quantity_text(float(self.predicted))
            lines = [
                f"Predicted {said}; what the {self.n_trees} trees say has a standard "
                f"deviation of {quantity_text(self.agreement)}."
            ]
        else:
            proba = self.proba[self.predicted]
            lines = [
                f"Predicted {class_name(self.predicted)} with probability {proba:.3f}; "
                f"{100 * self.agreement:.0f} % of the {self.n_trees} trees agree."
            ]
        lines += [self.meaning] if self.meaning else []
        if self.influences:
            lines.append(
                "What would be said were one value typical, all else as it is:"
            )
        most = max((abs(one.contribution) for one in self.influences), default=0.0)
        for one in self.influences:
            given = "missing" if one.value is None else short_text(one.value)
            now = f"  {readable(one.variable)} is {given}"
            if one.value == one.typical:
                lines.append(f"{now}, as is typical")
                continue
            without = short_text(round(one.without, 4))
            if self.proba is None:
                without = quantity_text(one.without)
            change = signed(-one.contribution, 3, most, thousands_apart)
            usual = short_text(one.typical)
            lines.append(f"{now}; with {usual}: {without} ({change})")
        return "\n".join(lines)


def explain_row(
    forest: Forest, table: Any, values: dict[str, Any]
) -> ForestExplanation:
    """Explain a table of one row, whose values are told as given."""
    encoder, predicted = forest.encoder, forest.predict(table)[0]
    scaled = encoder.encode(forest.completed(table))
    typical = encoder.encode(encoder.typical_row())
    code, proba = 0, None
    if not forest.of_quantity:
        labels = forest.classes.tolist()
        predicted = forest.classes[forest.classes == predicted].tolist()[0]
        code = labels.index(predicted)
        said = forest.predict_proba(table)[0].tolist()
        proba = dict(zip(labels, said, strict=True))
    here = float(forest.said(scaled)[code, 0])
    found = []
    for i in forest.variables_at().tolist():
        changed, columns = scaled.copy(), encoder.columns_of(i)
        changed[:, columns] = typical[:, columns]
        without = float(forest.said(changed)[code, 0])
        name = encoder.names[i]
        usual = encoder.variables[i].typical
        found.append(Influence(name, values[name], usual, without, here - without))
    found.sort(key=lambda one: -abs(one.contribution))
    predicted = float(predicted) if forest.of_quantity else predicted
    agreement = float(forest.agreement(table)[0])
    return ForestExplanation(
        predicted, proba, agreement, tuple(found), forest.n_trees,
        meaning(forest.trees[0]),
    )  # fmt: skip
