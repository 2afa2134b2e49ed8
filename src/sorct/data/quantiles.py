"""Quantiles: the exact quantile of a column that comes in batches.

A sketch tells the bucket that a quantile lies in, and how much weight lies below. If
the bucket holds several values, another pass sketches these alone, in finer buckets,
and so on until every value has one of its own: one more pass, unless there are more
than some hundred million rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sorct.data.quantity import number_column
from sorct.data.sketch import NumberSketch
from sorct.data.sources import Batch

# Shares are sums: a rounding must not lead to the next value.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SketchBetween:
    """The question what numbers of the target lie between two, both included."""

    lower: float
    upper: float

    def __call__(self, batch: Batch) -> NumberSketch:
        """Sketch of these numbers in a batch."""
        y = number_column(batch.y)
        inside = (y >= self.lower) & (y <= self.upper)
        weight = None if batch.weight is None else batch.weight[inside]
        return NumberSketch.of(y[inside], weight)


def exact_quantile(
    sketch: NumberSketch,
    level: float,
    sketch_between: Callable[[SketchBetween], NumberSketch],
) -> float:
    """Least value with at least so large a share of the weight up to it.

    ``sketch_between`` makes a pass.
    """
    wanted = level * float(sketch.weight.sum()) * (1.0 - _ROUNDING)
    while True:
        total = np.cumsum(sketch.weight)
        place = min(int(np.searchsorted(total, wanted)), total.size - 1)
        value = float(sketch.value[place])
        if sketch.exact:
            return value
        wanted -= float(total[place - 1]) if place else 0.0
        ends = value, float(sketch.bucket_end[place])
        sketch = sketch_between(SketchBetween(*ends))
