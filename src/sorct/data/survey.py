"""Survey and draw: the two passes that make a training set of a table in batches.

The survey sketches every column and counts the classes: encoder and target are learned
from it. The draw takes the rows that a search looks at and the means of the encoded
columns. Rows are drawn by their keys, hashes of what is in them: the rows with the
least keys come, so that the same ones do whatever batches the table is in, equal ones
count as one of their weight, and small classes come whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sorct._typing import AnyArray, FloatArray, IntArray
from sorct.data.encoder import MOST_COUNTED, TableEncoder
from sorct.data.given_columns import held
from sorct.data.kinds import learn_sketch, sketch_column
from sorct.data.level_rows import Cells, column_sums, contiguous, side_by_side
from sorct.data.moments import Moments
from sorct.data.options import TableOptions
from sorct.data.parts import PartedSet, Parts, Sums
from sorct.data.quantity import Quantity, check_positive, number_column
from sorct.data.samples import (
    Rows,
    Samples,
    TrainingSet,
    lay_out_part,
    merge_equal_rows,
    quotas,
    row_keys,
)
from sorct.data.sketch import LevelSketch, NumberSketch, Sketch, buckets_for
from sorct.data.sources import Batch
from sorct.data.table import chosen_columns, is_frame, take_rows
from sorct.data.target import Classes
from sorct.data.wording import listed

# -- the first pass --------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What one pass tells of a table.

    Attributes
    ----------
    names : list of the columns, as they are named
    named : bool
        Whether the names are the user's.
    sketches : list of Sketch, one per column
    labels : array of the labels that occur
    label_count, label_weight : arrays, rows of every label and what they weigh
    whole : bool
        Whether all weights are whole numbers: numbers of rows.
    moments : Moments or None
        What a quantity is like; it has no labels, its rows count as those of one.
    responses : NumberSketch or None
        The quantity itself, where a quantile of it is asked for.
    logs : Moments or None
        What its logarithms are like, where trees are of these.
    """

    names: list[Any]
    named: bool
    sketches: list[Sketch]
    labels: AnyArray
    label_count: IntArray
    label_weight: FloatArray
    whole: bool
    moments: Moments | None = None
    responses: NumberSketch | None = None
    logs: Moments | None = None

    def __add__(self, other: Survey) -> Survey:
        if [str(n) for n in self.names] != [str(n) for n in other.names]:
            raise ValueError(
                "Expected the same columns in all parts of the table, got "
                f"{listed(self.names)} and {listed(other.names)}."
            )
        added = [
            _added(str(name), one, two)
            for name, one, two in zip(
                self.names, self.sketches, other.sketches, strict=True
            )
        ]
        both = np.concatenate([self.labels, other.labels])
        labels, place = np.unique(both, return_inverse=True)
        count = np.concatenate([self.label_count, other.label_count])
        weight = np.concatenate([self.label_weight, other.label_weight])
        return replace(
            self,
            sketches=added,
            labels=labels,
            label_count=np.bincount(place, count).astype(np.int64),
            label_weight=np.bincount(place, weight).astype(np.float64),
            whole=self.whole and other.whole,
            moments=_both(self.moments, other.moments),
            logs=_both(self.logs, other.logs),
            responses=_both(self.responses, other.responses),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.label_count.sum())

    def target(self) -> Classes | Quantity:
        """The classes, or the quantity."""
        if self.moments is not None:
            found = self.moments.quantity()
            return found if self.logs is None else found.of_log(self.logs.quantity())
        return Classes.learn(self.labels, self.label_weight)

    @property
    def n_stood(self) -> float:
        """Rows that those of the table stand for, as ``rows_stood_for`` has it."""
        weight = float(self.label_weight.sum())
        return weight if self.whole and weight <= MOST_COUNTED else float(self.n_rows)

    def encoder(self, options: TableOptions) -> TableEncoder:
        """Variables as learned from the whole table."""
        names = [str(name) for name in self.names]
        options.check_columns(names)
        n_rows, weight = self.n_stood, float(self.label_weight.sum())
        variables = [
            learn_sketch(name, sketch, n_rows, options, n_rows / weight)
            for name, sketch in zip(names, self.sketches, strict=True)
        ]
        return TableEncoder(
            tuple(variables), self.named, options.handle_unknown, options.handle_missing
        )


def _both(one: Any, two: Any) -> Any:
    return None if one is None or two is None else one + two


def _added(name: str, one: Any, two: Any) -> Sketch:
    """Sum of two sketches; one of nothing but missing cells has any kind."""
    for empty, other in ((one, two), (two, one)):
        nothing = isinstance(empty, LevelSketch) and not empty.counts
        if nothing and isinstance(other, NumberSketch):
            return replace(other, n_missing=other.n_missing + empty.n_missing)
    if type(one) is not type(two):
        raise ValueError(
            f"Column {name!r} has values of different kinds in different parts of the "
            "table, such as numbers and text. Write all parts with the same types."
        )
    added: Sketch = one + two
    return added


@dataclass(frozen=True)
class Surveyor:
    """The question of the first pass."""

    options: TableOptions
    of_quantity: bool = False
    of_quantile: bool = False
    of_log: bool = False

    def __call__(self, batch: Batch) -> Survey:
        """Sketch the columns of a batch, and count its labels."""
        X, weight = batch.X, batch.weight
        named = is_frame(X)
        names = list(X.columns) if named else [f"x{j}" for j in range(X.shape[1])]
        texts = [str(name) for name in names]
        categories = set(chosen_columns(self.options.categorical_features, texts))
        if categories and not named:
            raise ValueError(
                "categorical_features must be 'from_dtype' or None for a plain array; "
                "pass a frame to name categories."
            )
        most = buckets_for(len(names))
        found = [
            sketch_column(
                text,
                X[name] if named else X[:, j],
                weight,
                most,
                category=text in categories,
            )
            for j, (name, text) in enumerate(zip(names, texts, strict=True))
        ]
        moments, logs, responses, y = None, None, None, batch.y
        if self.of_quantity:
            numbers = number_column(y)
            moments = Moments.of(numbers, batch.weights)
            if self.of_log:
                check_positive(moments.low)
                logs = Moments.of(np.log(numbers), batch.weights)
            if self.of_quantile:
                responses = NumberSketch.of(numbers, weight)
            y = np.zeros(len(y), dtype=np.int64)
        labels, place = np.unique(y, return_inverse=True)
        odd = labels[labels % 1.0 > 0.0] if labels.dtype.kind == "f" else labels[:0]
        if odd.size:
            raise ValueError(
                f"The target has numbers with fractions, such as {odd[0]:g}, which are "
                "no classes. To predict a number take SORCTRegressor."
            )
        count = np.bincount(place, minlength=labels.size)
        own = np.bincount(place, batch.weights, labels.size).astype(np.float64)
        whole = weight is None or bool((weight == np.floor(weight)).all())
        counted = labels, count, own, whole
        return Survey(names, named, found, *counted, moments, responses, logs)


# -- encoded batches -------------------------------------------------------------------


@dataclass(frozen=True)
class Encoding:
    """How a batch becomes samples.

    Attributes
    ----------
    encoder : TableEncoder
    target : Classes or Quantity
    factor : array of shape (n_classes,)
        What the weight of a row of each class is multiplied by; with it, all weights
        of the table sum to 1.
    """

    encoder: TableEncoder
    target: Classes | Quantity
    factor: FloatArray

    def weights(self, batch: Batch, codes: IntArray) -> FloatArray:
        """Share of every row in the weight of all."""
        return batch.weights * self.factor[codes]

    def response(self, batch: Batch) -> FloatArray | None:
        """The quantity to predict, as training sees it."""
        if isinstance(self.target, Classes):
            return None
        return self.target.scaled(number_column(batch.y))

    def samples(self, batch: Batch) -> Samples:
        """Samples of a batch."""
        codes = self.target.known_codes(batch.y)
        columns = self.encoder.columns(batch.X)
        weight = self.weights(batch, codes)
        n_codes, response = self.factor.size, self.response(batch)
        return lay_out_part(columns, codes, weight, n_codes, response)


@dataclass(frozen=True)
class EncodedTask:
    """A task on samples, for batches of a table."""

    encoding: Encoding
    task: Callable[[Samples], Sums]

    def __call__(self, batch: Batch) -> Sums:
        """Encode a batch and work on it."""
        return self.task(self.encoding.samples(batch))


# -- the second pass -------------------------------------------------------------------


@dataclass(frozen=True)
class Draw:
    """Rows drawn so far, by their keys, and sums over all rows.

    Attributes
    ----------
    X, y : table and labels of the rows drawn, as they are in the source
    codes, keys, weight : arrays, one entry per row drawn, sorted by code and key
    encoded : array of shape (n_columns, n)
    quota : array of shape (n_classes,)
        Rows of every class that come if not all can.
    most : int
        Rows that come in all.
    whole : bool
        Whether all rows so far are here.
    sums : Sums
        Weighted sums of the columns and of their squares.
    response : array with an entry per row drawn, or None
        The quantity to predict.
    """

    X: Any
    y: AnyArray
    codes: IntArray
    keys: IntArray
    weight: FloatArray
    encoded: Cells
    quota: IntArray
    most: int
    whole: bool
    sums: Sums
    response: FloatArray | None = None

    def __add__(self, other: Draw) -> Draw:
        X, response = _stacked(self.X, other.X), None
        if self.response is not None and other.response is not None:
            response = np.concatenate([self.response, other.response])
        drawn = replace(
            self,
            X=X,
            y=np.concatenate([self.y, other.y]),
            codes=np.concatenate([self.codes, other.codes]),
            keys=np.concatenate([self.keys, other.keys]),
            weight=np.concatenate([self.weight, other.weight]),
            encoded=side_by_side([self.encoded, other.encoded]),
            whole=self.whole and other.whole,
            sums=self.sums + other.sums,
            response=response,
        )
        return drawn.merged().cut()

    def take(self, rows: IntArray, weight: FloatArray) -> Draw:
        """Some of the rows, with other weights."""
        return replace(
            self,
            X=take_rows(self.X, rows),
            y=self.y[rows],
            codes=self.codes[rows],
            keys=self.keys[rows],
            weight=weight,
            encoded=self.encoded[:, rows],
            response=None if self.response is None else self.response[rows],
        )

    def least_keys(self) -> Draw:
        """Without rows whose keys are too large for them to come; not yet merged."""
        # A quantity comes after the keys, as where rows are merged.
        last = [] if self.response is None else [self.response]
        order = np.lexsort((*last, self.keys, self.codes))
        codes, keys = self.codes[order], self.keys[order]
        changed = (codes[1:] != codes[:-1]) | (keys[1:] != keys[:-1])
        for values in last:
            changed |= np.diff(values[order]) != 0.0
        number = np.append(0, np.cumsum(changed))
        if number[-1] < self.most:
            return self
        # Number of the key among those of its class: equal rows count once.
        first = number[
            np.searchsorted(codes, np.arange(self.quota.size)).clip(max=codes.size - 1)
        ]
        rows = np.sort(order[number - first[codes] < self.quota[codes]])
        return replace(self.take(rows, self.weight[rows]), whole=False)

    def merged(self) -> Draw:
        """Equal rows as one; sorted by code and key."""
        return self.take(
            *merge_equal_rows(
                held(self.encoded), self.codes, self.weight, self.response
            )
        )

    def cut(self) -> Draw:
        """The rows with the least keys of every class, if there are too many."""
        if self.whole and self.codes.size <= self.most:
            return self
        first = np.searchsorted(self.codes, np.arange(self.quota.size))
        rank = np.arange(self.codes.size) - first[self.codes]
        rows = np.flatnonzero(rank < self.quota[self.codes])
        return replace(self.take(rows, self.weight[rows]), whole=False)

    def own_weight(self, factor: FloatArray | None) -> FloatArray:
        """Weights of the rows drawn without what classes were multiplied by."""
        return self.weight if factor is None else self.weight / factor[self.codes]

    def rows(self, share: FloatArray) -> Rows:
        """Rows for a search; every class has its share."""
        rows = Rows(self.encoded, self.codes, self.weight, self.response)
        return rows.with_shares(share)


def _stacked(one: Any, two: Any) -> Any:
    if not is_frame(one):
        return np.concatenate([one, two])
    import pandas as pd

    return pd.concat([one, two], ignore_index=True)


@dataclass(frozen=True)
class Drawer:
    """The question of the second pass."""

    encoding: Encoding
    share: FloatArray
    most: int

    def __call__(self, batch: Batch) -> Draw:
        """Rows of a batch that may come, and sums over all of them."""
        encoding, most = self.encoding, self.most
        codes = encoding.target.known_codes(batch.y)
        encoded = contiguous(encoding.encoder.columns(batch.X).some_rows(slice(None)))
        weight = encoding.weights(batch, codes)
        centre, square = column_sums(encoded, weight)
        sums = Sums(centre=centre, square=square)
        quota = quotas(self.share, most)
        keys = row_keys(held(encoded), codes.size)
        drawn = Draw(
            batch.X, batch.y, codes, keys, weight, encoded,
            quota, most, True, sums, encoding.response(batch),
        )  # fmt: skip
        return drawn.least_keys().merged().cut()


def training_set(draw: Draw, share: FloatArray, parts: Parts) -> TrainingSet:
    """Training set of a table in batches; in memory if all its distinct rows fit."""
    rows = draw.rows(share)
    if draw.whole:
        return TrainingSet.from_rows(rows, share.size)
    centre = draw.sums["centre"]
    variance = np.maximum(draw.sums["square"] - centre**2, 0.0)
    return PartedSet(parts, share, centre, variance, rows)
