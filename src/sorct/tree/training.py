"""TrainingRecord: how a tree came about, typed and frozen.

A tree that was built by hand knows nothing of it: every field may be None. The record
can also be read like a dictionary, ``training["objective"]``, in which fields that are
None are missing; so it is written to files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from sorct.data.plain import expect, is_shallow, number, numbers


@dataclass(frozen=True)
class TrainingRecord(Mapping[str, Any]):
    """How a tree was asked for, and what training said of it.

    Attributes
    ----------
    alpha_local, alpha_global : float or None
        Strengths of the penalties.
    min_recall, recall : tuple of float or None
        Floor under the expected recall of every class, and what was reached.
    objective, cost, residual : float or None
        Penalised objective, expected cost, stationarity residual.
    n_iterations, n_samples : int or None
    n_told : int or None
        Rows drawn that tell of the leaves of a quantity, where not all of them do.
    status, search : str or None
        How training ended, and what a search says of its result.
    call : str or None
        How the tree was asked for.
    versions : dict or None
        Versions of the packages that training rests on.
    target : str or None
        Name of the column that was predicted.
    cv_score, cv_standard_error : float or None
    cv_scoring, cv_rule : str or None
    cv_folds : int or None
        What cross-validation said of the tree, if it was chosen so.
    cv_accuracy : float or None
    cv_recall, cv_precision : tuple of float or None
        Accuracy on held-out rows, recall and precision of every class.
    found : tuple of float or None
        Share of the training rows of every class that are predicted to be of it;
        ``recall`` is the expected one where the expected cost was minimised.
    monotonic : dict or None
        Direction, +1 or -1, of variables in which the probability of
        ``positive_class`` never falls or never rises.
    positive_class : label or None
    feature_cost : dict or None
        Price of every variable, where prices were given.
    rounded : int or None
        Digits that the tree was rounded to after training.
    loss : str or None
        What training minimised: "cost" or "log".
    followed : float or None
        Share of the training rows for which following the rules by hand, yes or no at
        each cut, gives the class that is predicted.
    relaxed : float or None
        Share of the penalties that the tree was refitted under, if it was.
    precision : tuple of float or None
        Share of the training rows predicted to be of a class that are of it.
    class_weight : tuple of float or None
        What the weights of the rows of every class were multiplied by in training.
        Objective and cost count rows so; everything else that is told counts them by
        their own weights.
    confidence : float or None
        Probability with which recall on new rows is at least ``min_recall``, where that
        was promised.
    quantile : float or None
        Level of the quantile that is predicted, if it is one.
    r2, cv_r2 : float or None
        Share of the variance of a quantity that the tree explains, on the training rows
        and on held-out rows.
    others : dict
        Entries of a file that are none of these.
    """

    alpha_local: float | None = None
    alpha_global: float | None = None
    min_recall: tuple[float, ...] | None = None
    recall: tuple[float, ...] | None = None
    objective: float | None = None
    cost: float | None = None
    residual: float | None = None
    n_iterations: int | None = None
    status: str | None = None
    n_samples: int | None = None
    n_told: int | None = None
    call: str | None = None
    versions: dict[str, str] | None = None
    search: str | None = None
    cv_score: float | None = None
    cv_standard_error: float | None = None
    cv_scoring: str | None = None
    cv_folds: int | None = None
    cv_rule: str | None = None
    cv_accuracy: float | None = None
    cv_recall: tuple[float, ...] | None = None
    cv_precision: tuple[float, ...] | None = None
    found: tuple[float, ...] | None = None
    target: str | None = None
    monotonic: dict[str, int] | None = None
    positive_class: Any = None
    feature_cost: dict[str, float] | None = None
    rounded: int | None = None
    loss: str | None = None
    followed: float | None = None
    relaxed: float | None = None
    precision: tuple[float, ...] | None = None
    class_weight: tuple[float, ...] | None = None
    confidence: float | None = None
    quantile: float | None = None
    r2: float | None = None
    cv_r2: float | None = None
    others: dict[str, Any] = field(default_factory=dict)

    # -- files -----------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without what is not known."""
        told = {f.name: getattr(self, f.name) for f in fields(self)}
        told |= told.pop("others")
        return {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in told.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], n_classes: int) -> TrainingRecord:
        """Check plain data: known fields are of their own kind, others may be any."""
        for key in _NUMBERS:
            if key in data:
                number(data, key)
        rates: dict[str, Any] = {
            key: tuple(numbers(data, key, (n_classes,)).tolist())
            for key in _RATES
            if key in data
        }
        weights = rates.get("class_weight", ())
        expect(all(w > 0 for w in weights), "'class_weight' must be positive")
        for key, kind, what in _KINDS:
            if key in data:
                whole = isinstance(data[key], kind) and not isinstance(data[key], bool)
                expect(whole, f"{key!r} must be {what}")
        for key in ("monotonic", "feature_cost"):
            for name in data.get(key, {}):
                number(data[key], name)
        known = {f.name for f in fields(cls)} - {"others"}
        told: dict[str, Any] = {key: data[key] for key in data if key in known}
        others = {key: value for key, value in data.items() if key not in known}
        expect(is_shallow(list(data.values())), "'training' is nested too deep")
        return cls(**(told | rates), others=others)

    # -- like a dictionary -------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    # -- questions ---------------------------------------------------------------------

    @property
    def by_log(self) -> bool:
        """Whether training maximised the likelihood."""
        return self.loss == "log"

    # -- changed records --------------------------------------------------------------

    def without_origin(self) -> TrainingRecord:
        """The record without call, versions and cross-validation.

        The same tree may come from different calls, and be chosen or not.
        """
        unknown: dict[str, Any] = dict.fromkeys(_ORIGIN)
        return replace(self, **unknown)

    def with_choice_of(self, other: TrainingRecord) -> TrainingRecord:
        """The record of a tree fitted anew in place of one that was chosen.

        It was chosen as the other was, and is relaxed as that.
        """
        kept = {key: getattr(other, key) for key in (*_CHOICE, "relaxed")}
        return replace(self, **kept)

    def after_rounding(self, digits: int) -> TrainingRecord:
        """What is still true of the tree once its cuts were rounded."""
        return TrainingRecord(
            alpha_local=self.alpha_local,
            alpha_global=self.alpha_global,
            monotonic=self.monotonic,
            positive_class=self.positive_class,
            feature_cost=self.feature_cost,
            class_weight=self.class_weight,
            n_samples=self.n_samples,
            n_told=self.n_told,
            call=self.call,
            versions=self.versions,
            rounded=digits,
            loss=self.loss,
        )


_CHOICE = (
    "cv_score", "cv_standard_error", "cv_scoring", "cv_folds", "cv_rule", "cv_accuracy",
    "cv_recall", "cv_precision", "cv_r2",
)  # fmt: skip
_ORIGIN = "call", "versions", *_CHOICE
_RATES = (
    "min_recall", "recall", "precision", "found", "cv_recall", "cv_precision",
    "class_weight",
)  # fmt: skip
_NUMBERS = (
    "alpha_local", "alpha_global", "objective", "cost", "residual", "cv_score",
    "cv_standard_error", "cv_accuracy", "followed", "relaxed", "confidence", "quantile",
    "r2", "cv_r2",
)  # fmt: skip
_KINDS: tuple[tuple[str, type, str], ...] = (
    *((key, str, "text") for key in ("search", "call", "status", "target")),
    *((key, str, "text") for key in ("cv_scoring", "cv_rule", "loss")),
    *((key, int, "a whole number") for key in ("n_iterations", "n_samples", "n_told")),
    *((key, int, "a whole number") for key in ("cv_folds", "rounded")),
    *((key, dict, "an object") for key in ("versions", "monotonic", "feature_cost")),
)
