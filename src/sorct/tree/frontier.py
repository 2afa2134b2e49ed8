"""Frontier: which of several things nothing else beats."""

from __future__ import annotations

import numpy as np

from sorct._typing import BoolArray, FloatArray


def unbeaten(goods: FloatArray) -> BoolArray:
    """Rows that no other row beats; of equal rows the last."""
    kept = np.ones(len(goods), dtype=np.bool_)
    for k, row in enumerate(goods):
        no_worse = (goods >= row).all(axis=1)
        equal = (goods == row).all(axis=1)
        kept[k] = not (no_worse & ~equal).any() and not equal[k + 1 :].any()
    return kept
