"""Target: what is predicted, how y becomes codes, and what suits it.

``Classes`` is one kind, ``Quantity`` the other. Estimators, paths, folds, plots and
reports ask the target for splitters, scores and measures instead of supposing classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, recall_score
from sklearn.model_selection import (
    RepeatedStratifiedKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import assert_all_finite, column_or_1d

from sorct._typing import AnyArray, BoolArray, FloatArray, IntArray
from sorct.data.plain import expect, field
from sorct.data.table import refuse_masked
from sorct.data.variables import kind_of_levels
from sorct.data.wording import class_name, readable_label, shown

# Share of a class below which its recall would be lost in rounding.
_LIGHTEST = 1e-14
_LABEL_KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
_LABEL_CODE = re.compile(r"[<>|=]([biufUO])([0-9]{0,9})")
# The type of text labels in a file, such as "<U12", may reserve at most so many times
# the length of the longest label.
_ROOM = 1000
# In the text of a leaf: classes below this share of it are left out, at most so many
# are named, and none is where the leaf itself has less than this share of the samples.
_LITTLE, _MOST_TOLD = 5e-3, 4
_NOBODY = 5e-4
# Shares that differ by no more may read the same.
_ROUNDING = 0.01


@dataclass(frozen=True, eq=False)
class Classes:
    """Class labels, in order; the code of a class is its position.

    Attributes
    ----------
    labels : array of shape (n_classes,)
    """

    labels: AnyArray
    #: What can be shown of trees on given rows, and how it is called.
    measure_names: ClassVar[dict[str, str]] = {"accuracy": "accuracy"}

    @classmethod
    def learn(cls, y: AnyArray, weight: FloatArray) -> Classes:
        """Distinct labels; there must be two, and each must have some weight."""
        y = plain_labels(y)
        try:
            labels, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise TypeError(
                f"y mixes labels that cannot be ordered ({error}); convert it to one "
                "type."
            ) from error
        if len(labels) < 2:
            raise ValueError(
                "Expected samples of at least 2 classes, got 1 class: "
                f"{labels.tolist()[0]!r}."
            )
        share = np.bincount(codes, weight)
        if share.min() < _LIGHTEST * share.sum():
            label = labels.tolist()[int(np.argmin(share))]
            raise ValueError(
                f"sample_weight leaves class {label!r} next to nothing beside the "
                f"others ({share.min():.1e} of {share.sum():.1e})."
            )
        return cls(labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Classes):
            return False
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    # -- codes -----------------------------------------------------------------------

    @cached_property
    def _place(self) -> dict[Any, int]:
        return {label: k for k, label in enumerate(self.labels.tolist())}

    @cached_property
    def _is_sorted(self) -> bool:
        """Whether labels rise, as they do where they were learned."""
        kind = self.labels.dtype.kind
        return kind != "O" and bool((self.labels[:-1] < self.labels[1:]).all())

    def codes(self, y: Any) -> IntArray:
        """Code of every label, -1 for labels that are not among the classes."""
        # Of a row of labels scikit-learn's check takes longer than the codes.
        if not (isinstance(y, np.ndarray) and y.ndim == 1):
            y = column_or_1d(y)
        if self._is_sorted and y.dtype.kind == self.labels.dtype.kind != "O":
            near = np.searchsorted(self.labels, y).clip(max=len(self) - 1)
            return np.where(self.labels[near] == y, near, -1)
        place = self._place
        return np.array([place.get(label, -1) for label in y.tolist()], dtype=np.intp)

    def known_codes(self, y: Any) -> IntArray:
        """Code of every label; one that is not among the classes is an error."""
        codes = self.codes(y)
        if (codes < 0).any():
            labels = column_or_1d(y)[codes < 0].tolist()
            raise ValueError(
                "y has labels that are not among the classes: "
                f"{list(dict.fromkeys(labels))[:5]}. Expected "
                f"some of {list(self._place)[:10]}; leave the other rows out."
            )
        return codes

    def present(self, y: AnyArray) -> BoolArray:
        """Which classes occur in y."""
        return np.isin(self.labels, np.unique(y))

    @cached_property
    def _by_text(self) -> dict[str, Any]:
        return {str(label): label for label in reversed(self.labels.tolist())}

    def find(self, text: str) -> Any:
        """Label that is written so; a KeyError if there is none."""
        return self._by_text[text]

    # -- what suits classes ------------------------------------------------------------

    def folds(self, cv: Any, y: AnyArray) -> Any:
        """Splitter as scikit-learn reads ``cv``; a number means stratified folds."""
        try:
            return check_cv(cv, y, classifier=True)
        except ValueError as error:
            raise ValueError(f"cv: {error!s:.300}") from error

    @staticmethod
    def splitter(n_folds: int, seed: int, repeats: int | None = None) -> Any:
        """Splitter of shuffled folds in which all classes have their share."""
        if repeats is None:
            return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        return RepeatedStratifiedKFold(
            n_splits=n_folds, n_repeats=repeats, random_state=seed
        )

    @staticmethod
    def default_score(cost_matrix: FloatArray) -> str:
        """Name of the score that trees are compared by where no scorer is named."""
        return "minus the mean cost" if unequal(cost_matrix) else "accuracy"

    @staticmethod
    def worth(
        cost_matrix: FloatArray, true: IntArray, predicted: IntArray
    ) -> FloatArray:
        """What every prediction is worth, from codes; its mean is the default score.

        1 if right and 0 if wrong. Where some errors cost more than others: minus the
        cost, without the samples whose label is not among the classes (code -1).
        """
        if not unequal(cost_matrix):
            return np.asarray(true == predicted, dtype=np.float64)
        known = true >= 0
        return np.asarray(-cost_matrix[true[known], predicted[known]])

    # -- measures ----------------------------------------------------------------------

    @staticmethod
    def read(y: Any) -> AnyArray:
        """Labels to compare predictions with; missing ones are an error."""
        return label_column(y)

    @staticmethod
    def agreement(y: AnyArray, predicted: AnyArray, weight: Any = None) -> float:
        """Accuracy: 1 is the best."""
        return float(accuracy_score(y, predicted, sample_weight=weight))

    def measures(
        self, cost_matrix: FloatArray, y: AnyArray, predicted: AnyArray
    ) -> dict[str, float]:
        """Accuracy, recalls and, where some errors cost more, the mean cost.

        A label that is not among the classes counts as an error, but has no cost. The
        recall of a class that does not occur in ``y`` is NaN.
        """
        recall = recall_score(
            y, predicted, labels=self.labels, average=None, zero_division=np.nan
        )
        names = [f"recall_{label}" for label in self.labels.tolist()]
        found = {"accuracy": self.agreement(y, predicted)}
        found |= dict(zip(names, recall.tolist(), strict=True))
        if unequal(cost_matrix):
            worth = self.worth(cost_matrix, self.codes(y), self.codes(predicted))
            found["mean_cost"] = -float(worth.mean())
        return found

    # -- what a leaf says --------------------------------------------------------------

    def leaf_text(
        self,
        code: int,
        mass: FloatArray,
        says: FloatArray | None = None,
        *,
        rows: bool = False,
    ) -> str:
        """Class of a leaf, its share of the sample, and the classes in it.

        ``says`` is what the leaf says of the classes; it is told where that is not what
        they are in it, but for a rounding. ``rows`` says that whole rows were counted.
        """
        of, name = ("rows", class_name) if rows else ("samples", readable_label)
        share = float(mass.sum())
        text = f"{readable_label(self.labels[code])}  ({100 * share:.1f} % of {of}"
        told = mass / share if share > _NOBODY else None
        if told is not None:
            text += f": {self._mix_text(told, name)}"
        if says is not None and (told is None or np.abs(says - told).max() > _ROUNDING):
            text += f"; says {self._mix_text(says, name)}"
        return text + ")"

    def _mix_text(self, share: FloatArray, name: Callable[[Any], str]) -> str:
        """Classes by their shares, the largest first."""
        parts = [
            f"{100 * share[k]:.0f} % {name(self.labels[k])}"
            for k in np.argsort(-share, kind="stable")
            if share[k] >= _LITTLE
        ]
        return ", ".join(parts[:_MOST_TOLD])

    # -- files -------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data; labels must be such."""
        labels = self.labels.tolist()
        kind = _LABEL_KINDS.get(self.labels.dtype.kind)
        if kind is None or not all(isinstance(label, kind) for label in labels):
            raise TypeError(
                "Only class labels that are all strings, numbers or booleans can be "
                f"saved, got {labels[:5]}."
            )
        return {"dtype": self.labels.dtype.str, "labels": labels}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Classes:
        """Check plain data."""
        labels, code = field(data, "labels", list), field(data, "dtype", str)
        known = _LABEL_CODE.fullmatch(code)
        expect(known is not None, f"unknown label type {code[:20]!r}")
        kind = _LABEL_KINDS[code[1]]
        same = all(isinstance(label, kind) for label in labels)
        expect(same, "labels of mixed types")
        expect(len(labels) >= 2, "there are fewer than two classes")
        expect(len(set(labels)) == len(labels), "two classes have the same label")
        # Memory is asked for by the type: it must be of the size of the labels.
        longest = max(len(str(label)) for label in labels)
        fits = int(known[2] or 0) <= _ROOM * (longest + 1) if known else False
        expect(fits, f"label type {code!r} is much longer than any label")
        try:
            array = np.array(labels, dtype=np.dtype(code))
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"label type {code!r}") from error
        expect(array.tolist() == labels, f"labels do not fit their type {code!r}")
        return cls(array)


def plain_labels(y: AnyArray) -> AnyArray:
    """Labels of a type of their own; what could not be saved is refused."""
    if y.dtype.kind != "O":
        good = y.dtype.kind in _LABEL_KINDS
    else:
        listed = y.tolist()
        good = kind_of_levels(set(map(_hashable, listed))) is not None
        if good and not isinstance(listed[0], str):
            y = np.array(listed)
            # Whole numbers of more than 64 bits stay objects.
            good = y.dtype.kind != "O"
    if not good:
        # The times of NumPy are no more than numbers in a list.
        timed = y.dtype.kind in "mM"
        odd = max((y.astype(str) if timed else y).tolist(), key=lambda k: len(repr(k)))
        kind = y.dtype.name if timed else type(odd).__name__
        raise TypeError(
            f"y has labels such as {shown(odd)} of type {kind}; "
            "expected strings, numbers of 64 bits or booleans, all of one kind, or the "
            "tree could not be saved. Convert y, for example with astype(str)."
        )
    return y


def data_given(X: Any, y: Any) -> bool:
    """Whether there are data to look at; a table without labels is refused."""
    if (X is None) != (y is None):
        raise ValueError("Expected both X and y or neither, got one of them.")
    return X is not None


def label_column(y: Any) -> AnyArray:
    """Labels to compare predictions with; missing ones are an error."""
    refuse_masked(y, "y")
    y = column_or_1d(y)
    assert_all_finite(y, input_name="y")
    if y.dtype.kind not in _LABEL_KINDS:
        raise TypeError(
            "y must have labels of classes, that is strings, numbers or booleans, got "
            f"{y.dtype}."
        )
    return np.asarray(y)


def _hashable(label: Any) -> Any:
    return label if isinstance(label, Hashable) else None


def unequal(cost_matrix: FloatArray) -> bool:
    """Whether some errors cost more than others."""
    costs = cost_matrix[~np.eye(len(cost_matrix), dtype=np.bool_)]
    return costs.size > 0 and bool(costs.min() < costs.max())
