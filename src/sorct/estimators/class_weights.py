"""Class weights: how much more the rows of a class count in training.

They multiply the users' own weights while the tree is trained, and nothing else:
shares, recalls and precisions told of the tree count rows by the users' own weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sorct._typing import FloatArray, IntArray
from sorct.data.plain import is_finite_number
from sorct.data.target import Classes
from sorct.data.wording import shown

_EXPECTED = 'None, "balanced" or a mapping from class to a finite number > 0'
# A class with a smaller share of the weight would be lost in rounding.
_LIGHTEST = 1e-14


def check_class_weight(class_weight: Any) -> None:
    """Refuse what is no weighting of classes, before there are data."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            if not is_finite_number(weight) or weight <= 0:
                raise ValueError(
                    f"class_weight must be {_EXPECTED}, got {shown(weight)} for class "
                    f"{shown(label)}."
                )
        return
    named = isinstance(class_weight, str) and class_weight == "balanced"
    if class_weight is not None and not named:
        raise ValueError(
            f"class_weight must be {_EXPECTED}, got {shown(class_weight)}."
        )


def class_factors(
    class_weight: Any, target: Classes, codes: IntArray, weight: FloatArray
) -> FloatArray | None:
    """Factor of every class in training, None if there are none.

    "balanced" is n / (n_classes n_k), n and n_k being sums of the weights given: weight
    2 is the row twice. Classes that a mapping does not name have factor 1.
    """
    check_class_weight(class_weight)
    if class_weight is None:
        return None
    # Summed exactly, so that the order of rows changes nothing.
    share = np.array([math.fsum(weight[codes == k]) for k in range(len(target))])
    if not isinstance(class_weight, Mapping):
        return np.asarray(math.fsum(share) / (len(target) * share))
    labels, factor = target.labels.tolist(), np.ones(len(target))
    for label, given in class_weight.items():
        if label not in labels:
            raise ValueError(
                f"class_weight names class {shown(label)}, which is not among the "
                f"classes {labels}."
            )
        factor[labels.index(label)] = given
    weighted = share * (factor / factor.max())
    if weighted.min() < _LIGHTEST * weighted.sum():
        label = labels[int(np.argmin(weighted))]
        raise ValueError(
            f"class_weight leaves class {label!r} next to nothing beside the others "
            f"({weighted.min() / weighted.sum():.1e} of the whole); expected weights "
            "that are nearer to each other."
        )
    # A common factor means nothing; of a size near 1 no sum overflows.
    return np.asarray(factor / factor.max())
