"""Dask: frames, series and arrays in partitions, worked on where they lie.

One task per partition and pass, whose results are added up where they are; what comes
back is of kilobytes. The client of the moment runs them; a lost worker costs a retry of
its tasks. Dask is imported by whoever hands in its objects, never by us before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sorct.data.in_order import sum_of
from sorct.data.sources import Batch
from sorct.data.wording import listed, shown

Found = TypeVar("Found")

# How often a task is tried again that failed on a worker.
_RETRIES = 3
# Answers that a worker adds up at a time: one comes back, however many parts there are.
_TOGETHER = 16
# Share of the workers' memory that partitions may be held in; bytes of a cell that is
# an object of Python, about.
_HELD, _OBJECT_BYTES = 0.25, 100


def is_dask(X: Any) -> bool:
    """Whether X is a frame, series or array of Dask."""
    return (
        "dask" in sys.modules
        and type(X).__module__.startswith("dask")
        and (hasattr(X, "to_delayed"))
    )


def _is_array(X: Any) -> bool:
    return type(X).__module__.startswith("dask.array")


class DaskSource:
    """A table of Dask with its labels and weights.

    Parameters
    ----------
    X : DataFrame or Array of Dask
    y : Series or Array of Dask in the same partitions, or a column of X by name
    weight : Series, Array, name of a column, or None
    """

    def __init__(self, X: Any, y: Any, weight: Any = None) -> None:
        self.target: str | None = y if isinstance(y, str) else None
        self._names: list[str] = []
        if _is_array(X):
            X = X.rechunk({1: -1})
        else:
            self._names = [str(name) for name in X.columns]
        taken = [one for one in (y, weight) if isinstance(one, str)]
        for name in taken:
            if name not in self._names:
                raise ValueError(
                    f"No column {name!r} in the table; expected one of "
                    f"{listed(self._names)}."
                )
        self._X = _partitions(X)
        self._n_bytes, self._held = 0, False
        self._y = self._beside(X, y, "y")
        self._weight = self._beside(X, weight, "sample_weight")
        for name, given in (("y", self._y), ("sample_weight", self._weight)):
            if len(given) != len(self._X):
                raise ValueError(
                    f"{name} must have the partitions of X, {len(self._X)}, got "
                    f"{len(given)}. Repartition it."
                )

    def _beside(self, X: Any, given: Any, name: str) -> list[Any]:
        """Labels or weights for every partition of X.

        A column stays by its name, and is taken where the partition lies: were it taken
        here, partitions would be read twice.
        """
        if isinstance(given, str) or (given is None and name != "y"):
            return [given] * len(self._X)
        if not is_dask(given):
            raise TypeError(
                f"Where X is of Dask, {name} must be a Series or Array of Dask, or the "
                f"name of a column, got {shown(type(given).__name__)}."
            )
        if _is_array(X) and _is_array(given) and not np.isnan(sum(X.chunks[0])):
            given = given.rechunk((X.chunks[0],))
        return _partitions(given)

    @property
    def identity(self) -> dict[str, Any]:
        """Names of the partitions' tasks, which Dask makes from what they hold."""
        from dask.base import tokenize

        every = (*self._X, *self._y, *self._weight)
        keys = [str(getattr(part, "key", part)) for part in every]
        return {"dask": tokenize(keys), "columns": self._names}

    def gather(self, task: Callable[[Batch], Found]) -> Iterator[Found]:
        """One result in all: workers add up what is said of their partitions.

        From the second pass on they hold these, if that takes little of their memory:
        reading a partition takes about as long as the work on it.
        """
        import dask

        if not self._held and 0 < self._n_bytes <= _HELD * _memory():
            self._X, self._held = list(dask.persist(*self._X)), True
        # One graph with one end: with as many ends as partitions, Dask would look at
        # all partitions for each.
        question = dask.delayed(task, pure=False, traverse=False)
        answers = [
            dask.delayed(_answer, pure=False)(question, number, *part)
            for number, part in enumerate(
                zip(self._X, self._y, self._weight, strict=True)
            )
        ]
        add = dask.delayed(_added, pure=False)
        while len(answers) > 1:
            firsts = range(0, len(answers), _TOGETHER)
            answers = [add(*answers[first : first + _TOGETHER]) for first in firsts]
        options = {"retries": _RETRIES} if _client() is not None else {}
        (said,) = dask.compute(*answers, **options)
        if said is None:
            return iter([])
        self._n_bytes = said.n_bytes
        return iter([said.answer])


class Answer(NamedTuple):
    """What a task says of partitions, and how large these are in memory."""

    answer: Any
    n_bytes: int

    def __add__(self, other: Any) -> Answer:
        return Answer(self.answer + other.answer, self.n_bytes + other.n_bytes)


def _client() -> Any:
    """The cluster that runs the tasks, and can try them again; None without one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.get_client()
    except ValueError:
        return None


def _memory() -> float:
    """Bytes that all workers may hold; 0 without any, or if they know no limit."""
    client = _client()
    if client is None:
        return 0.0
    workers = client.scheduler_info()["workers"].values()
    return float(sum(worker.get("memory_limit") or 0 for worker in workers))


def _partitions(X: Any) -> list[Any]:
    return list(np.ravel(X.to_delayed()))


def _added(*answers: Any) -> Any:
    """Sum of answers, in the order of their partitions."""
    return sum_of(answers)


def _answer(
    task: Callable[[Batch], Any], number: int, X: Any, y: Any, weight: Any
) -> Answer | None:
    """What a task says of a partition; None if it has no rows."""
    if len(X) == 0:
        return None
    taken = [one for one in (y, weight) if isinstance(one, str)]
    y, weight = (X[one] if isinstance(one, str) else one for one in (y, weight))
    X = X.drop(columns=taken) if taken else X
    whole = Batch.of(X, y, weight, number)
    said = sum_of(task(batch) for batch in whole.split() if batch.n_rows)
    return None if said is None else Answer(said, _bytes_of(X))


def _bytes_of(X: Any) -> int:
    """Size of a partition in memory, about."""
    if not hasattr(X, "columns"):
        return int(X.nbytes)
    n_objects = sum(kind.kind == "O" for kind in X.dtypes)
    return int(X.memory_usage().sum() + _OBJECT_BYTES * n_objects * len(X))


def mapped(X: Any, function: Callable[[Any], Any], like: Any) -> Any:
    """A function of every partition, lazily; ``like`` is what it gives for one row.

    A frame gives a Series, or an Array where there are several columns; an array gives
    an array.
    """
    none = like[:0]
    work = _OnPartition(function, none)
    if _is_array(X):
        X = X.rechunk({1: -1})
        if like.ndim == 2:
            chunks = (X.chunks[0], (like.shape[1],))
            return X.map_blocks(work, dtype=like.dtype, meta=none, chunks=chunks)
        return X.map_blocks(
            work, dtype=like.dtype, meta=none, chunks=(X.chunks[0],), drop_axis=1
        )
    import pandas as pd

    if like.ndim == 2:
        framed = X.map_partitions(_framed, work, meta=pd.DataFrame(none))
        return framed.to_dask_array()
    return X.map_partitions(_listed, work, meta=pd.Series(none))


class _OnPartition:
    """A function of a partition, which may be empty."""

    def __init__(self, function: Callable[[Any], Any], none: Any) -> None:
        self._function, self._none = function, none

    def __call__(self, X: Any) -> Any:
        return self._function(X) if len(X) else self._none


def _framed(X: Any, work: Callable[[Any], Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(work(X), index=X.index)


def _listed(X: Any, work: Callable[[Any], Any]) -> Any:
    import pandas as pd

    return pd.Series(work(X), index=X.index)
