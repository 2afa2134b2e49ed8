"""Caveats: how far the figures of a tree can be believed, in words.

Whether the rules can be followed by hand, how a class is decided on, what probabilities
are, and what accuracy hides where a class is rare. Rules and report say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sorct.data.wording import class_name, readable_label

if TYPE_CHECKING:
    from sorct.tree.tree import Tree

# A class is rare below this share of the rows, if another has twice as many at least:
# of ten classes of one size none is.
_RARE, _TWICE = 0.2, 2.0
#: What helps to find more of a rare class, as it is written in a call.
OPTIONS = ('class_weight="balanced"', "min_recall", 'scoring="balanced_accuracy"')


def share_text(share: float) -> str:
    """A share in per cent; one that is not whole is never told as 100."""
    return f"{min(100.0 * share, 100.0 if share >= 1.0 else 99.9):.1f} %"


def followed_text(tree: Tree) -> list[str]:
    """For how many rows somebody with the rules in hand finds the class predicted."""
    followed = tree.training.followed
    if followed is None:
        return []
    return [
        "Followed by hand, yes or no at each cut, the rules give predict's class for "
        f"{share_text(followed)} of the training rows."
    ]


def calibration_text(tree: Tree) -> list[str]:
    """Where probabilities come from, if not from the tree alone."""
    known = tree.calibration is not None
    return ["Probabilities are calibrated on held-out rows."] if known else []


# -- decisions -------------------------------------------------------------------------


def decision_text(tree: Tree) -> list[str]:
    """How ``predict`` decides, where it does not take the most probable class."""
    if tree.decision_cost is None:
        return []
    limit, floors = _limit_text(tree), any(tree.training.min_recall or ())
    weighed = _weights_text(tree)
    if not (floors and weighed):
        return [
            f"predict takes the class of least expected cost{limit and f': {limit}'}."
        ]
    if limit:
        return [f"So that the floors on recall hold, predict says {limit}."]
    return [
        "So that the floors on recall hold, predict takes the class of least expected "
        f"cost, errors on the classes being weighted ({weighed})."
    ]


def _limit_text(tree: Tree) -> str:
    """Of two classes the one that need not be the more probable one, and from where."""
    costs = tree.decision_cost
    if costs is None or len(costs) != 2:
        return ""
    # The second class is cheaper where its probability is above a / (a + b).
    a, b = float(costs[0, 1] - costs[0, 0]), float(costs[1, 0] - costs[1, 1])
    if not (a > 0.0 and b > 0.0):
        return ""
    k, limit = (1, a / (a + b)) if a <= b else (0, b / (a + b))
    word = "above" if k else "at least"
    label = class_name(tree.classes[k])
    return f"{label} where its probability is {word} {100 * limit:.3g} %"


def _weights_text(tree: Tree) -> str:
    """How much more errors on the classes count than their costs say, if they do."""
    assert tree.decision_cost is not None
    given, used = tree.cost_matrix.sum(axis=1), tree.decision_cost.sum(axis=1)
    weight = np.divide(used, given, out=np.ones(len(used)), where=given > 0.0)
    if np.allclose(weight, weight[0], rtol=1e-6):
        return ""
    weight = weight / min(weight[weight > 0.0], default=1.0)
    pairs = zip(tree.classes, weight, strict=True)
    return ", ".join(f"{class_name(label)}: {size:.3g}" for label, size in pairs)


# -- rare classes ----------------------------------------------------------------------


def rare_classes(share: Sequence[float]) -> list[int]:
    """Positions of the classes of which accuracy tells little, the rarest first."""
    part = np.asarray(share) / np.sum(share)
    rare = (part < _RARE) & (_TWICE * part <= part.max())
    return [int(k) for k in np.argsort(part, kind="stable") if rare[k]]


def rare_text(tree: Tree) -> list[str]:
    """What accuracy hides of rare classes, how they fare, and what can be done.

    Of trees that do not know where hard routes lead, as in files of earlier versions,
    nothing more is said than there was.
    """
    rare = [] if tree.routed is None else rare_classes(tree.class_share.tolist())
    if not rare:
        return []
    return [_hidden_by_accuracy(tree, rare), *_rates(tree), options_text(len(rare))]


def options_text(n_rare: int) -> str:
    """Names of the options."""
    *first, last = OPTIONS
    them = "it" if n_rare == 1 else "them"
    return f"To find more of {them}: {', '.join(first)} or {last}."


def _hidden_by_accuracy(tree: Tree, rare: list[int]) -> str:
    share = tree.class_share / tree.class_share.sum()
    names = [f"{class_name(tree.classes[k])} ({share_text(share[k])})" for k in rare]
    most = int(np.argmax(share))
    are = "is a rare class" if len(rare) == 1 else "are rare classes"
    return (
        f"{', '.join(names)} {are}: always predicting "
        f"{class_name(tree.classes[most])} is right for {share_text(share[most])} "
        "of the training rows, so accuracy says little here."
    )


def _rates(tree: Tree) -> list[str]:
    """Recall and precision of every class, held-out ones where they are known."""
    told = tree.training
    # Where the likelihood is maximised, recall is that of the classes predicted.
    found = told.found or (told.recall if told.loss == "log" else None)
    pairs = (
        ("the training rows", found, told.precision),
        ("held-out rows", told.cv_recall, told.cv_precision),
    )
    return [
        f"Recall and precision on {rows}: {_pairs_text(tree, recall, precision)}."
        for rows, recall, precision in pairs
        if recall and precision
    ]


def _pairs_text(tree: Tree, recall: Sequence[float], precision: Sequence[float]) -> str:
    told = zip(tree.classes, recall, precision, strict=True)
    return ", ".join(f"{r:.3f} and {p:.3f} of {class_name(c)}" for c, r, p in told)


def tells_rates(tree: Tree) -> bool:
    """Whether recall is told beside precision, because a class is rare."""
    return bool(rare_text(tree)) and bool(_rates(tree))


def rate_text(label: Any, rate: float, hard: bool) -> str:
    """A class with its recall; trees of earlier files have it the other way round."""
    if hard:
        return f"{rate:.3f} of {class_name(label)}"
    return f"{readable_label(label)} {rate:.3f}"
