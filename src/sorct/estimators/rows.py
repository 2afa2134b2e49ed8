"""Rows: a table with its labels and weights, in parts and as training problems."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.quantity import Quantity
from sorct.data.table import take_rows
from sorct.data.target import Classes
from sorct.estimators.drawing import drawn, warn_of_few
from sorct.estimators.fitting import Model, Prepared

# Tables with more cells are read anew every time: memory counts more there.
_MOST_CELLS = 500_000


@dataclass(frozen=True)
class Data:
    """The rows that count: table, labels, and weights if any were given.

    ``quiet`` if whoever made it has warned of odd columns; of parts nobody is warned.
    """

    X: Any
    y: AnyArray
    weight: FloatArray | None
    quiet: bool = False
    _known: dict[Any, Prepared] = field(default_factory=dict, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What another process is sent: not what can be made again."""
        return {**self.__dict__, "_known": {}}

    def prepared(self, model: Model, call: str) -> Prepared:
        """The rows as a training problem.

        Models that read them alike, as most in a race do, share the reading of small
        tables.
        """
        table, weights = model.table, model.class_weight
        key = table.scaling, weights, table.handle_unknown, table.handle_missing
        named = all(one is None or isinstance(one, str) for one in key)
        if model.of_quantity or not named or np.size(self.X) > _MOST_CELLS:
            return self._read(model, call)
        known = self._known.get(key)
        if known is None:
            known = self._read(model, call)
            self._known[key] = known
            return known
        prepared = Prepared.built(
            known.encoder,
            known.classes,
            model,
            known.factor,
            lambda: known.problem.data,
            known.n_samples,
            call,
            time.perf_counter(),
        )
        return replace(prepared, n_stood=known.n_stood)

    def _read(self, model: Model, call: str) -> Prepared:
        return Prepared.of(self.X, self.y, self.weight, model, call, quiet=self.quiet)

    def part(self, rows: IntArray) -> Data:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Data(take_rows(self.X, rows), self.y[rows], weight, quiet=True)

    @property
    def seen(self) -> Data:
        """The rows without those of weight 0."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.part(np.flatnonzero(self.weight > 0))

    def some(self, most: int) -> Data:
        """At most so many of the rows, spaced evenly within every class."""
        if len(self.y) <= most:
            return self
        order = np.argsort(self.y, kind="stable")
        return self.part(np.sort(order[:: -(-len(self.y) // most)]))

    def folds(
        self, cv: Any, target: Classes | Quantity | None = None
    ) -> list[tuple[Data, Data]]:
        """Training and test parts, as scikit-learn reads ``cv``.

        Rows of weight 0 count for nothing: a splitter does not see them, and they are
        left out of folds that are given row by row.
        """
        counts = np.ones(len(self.y), dtype=np.bool_)
        if self.weight is not None:
            counts = self.weight > 0
        kept = np.flatnonzero(counts)
        seen = self.part(kept)
        if isinstance(cv, Iterable) and not hasattr(cv, "split"):
            every = np.arange(len(self.y))
            try:
                given = [(every[a], every[b]) for a, b in check_cv(cv).split()]
            except (TypeError, ValueError, IndexError) as error:
                raise ValueError(
                    "cv must be a number of folds, a splitter, or pairs of the rows to "
                    f"train and to test on: {error!s:.300}."
                ) from error
            rows = [(a[counts[a]], b[counts[b]]) for a, b in given]
        else:
            target = Classes(np.unique(seen.y)) if target is None else target
            splitter = target.folds(cv, seen.y)
            pairs = drawn(splitter, seen.X, seen.y)
            warn_of_few(splitter, seen.y, pairs)
            rows = [(kept[a], kept[b]) for a, b in pairs]
        folds = [(self.part(train), self.part(test)) for train, test in rows]
        _check_folds(folds, "values" if isinstance(target, Quantity) else "class(es)")
        return folds


def _check_folds(folds: list[tuple[Data, Data]], what: str) -> None:
    """Refuse folds that cannot be trained on or scored, before any work begins."""
    if not folds:
        raise ValueError("cv must give at least one fold, got none.")
    for k, (train, test) in enumerate(folds):
        n_classes = len(np.unique(train.y))
        least = 2 if what != "values" else 1
        if n_classes < least or test.y.size == 0:
            raise ValueError(
                f"Fold {k} of cv leaves {n_classes} {what} to train on and "
                f"{test.y.size} row(s) to score; use fewer or stratified folds."
            )
