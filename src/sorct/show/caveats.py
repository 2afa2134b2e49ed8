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
# Accuracy says little of a tree where one class makes up as much of the rows.
_MOST = 0.8
# Weights make no class of fewer rows one that can be learned.
_FEWEST = 5
# Floors are met to a rounding of the solver.
_NEARLY = 1e-4
# Sums of weights are so exact.
_ROUNDING = 1e-9
# A class of which no smaller share is found needs no help.
_FOUND = 0.995
#: What helps to find more of a rare class, as it is written in a call; a single tree
#: is not chosen by a score.
OPTIONS = (
    'class_weight="balanced"',
    "min_recall",
    'SORCTClassifierCV(scoring="balanced_accuracy")',
)


def share_text(share: float) -> str:
    """A share in per cent; one that is not whole is never told as 100."""
    whole = share >= 1.0 - _ROUNDING
    return f"{min(100.0 * share, 100.0 if whole else 99.9):.1f} %"


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


def weights_text(tree: Tree) -> list[str]:
    """What probabilities are where the rows of some classes counted more."""
    factor = tree.training.class_weight
    if factor is None or tree.calibration is not None or len(set(factor)) == 1:
        return []
    least = min(factor)
    told = ", ".join(
        f"{class_name(label)}: {size / least:.3g}"
        for label, size in zip(tree.classes, factor, strict=True)
    )
    return [
        f"Rows were weighted by class in training ({told}): probabilities, and what "
        "leaves say, are those of rows so weighted."
    ]


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
        return [f"{_purpose(tree)}, predict says {limit}."]
    return [
        f"{_purpose(tree)}, predict takes the class of least expected "
        f"cost, errors on the classes being weighted ({weighed})."
    ]


def _purpose(tree: Tree) -> str:
    kept = tree.training.confidence is not None
    return f"So that the {'promise is kept' if kept else 'floors on recall hold'}"


def promise_text(tree: Tree) -> list[str]:
    """What is promised of new rows, and how surely."""
    told = tree.training
    if told.confidence is None:
        return []
    floors = zip(tree.classes, told.min_recall or (), strict=False)
    least = ", ".join(f"{floor:g} of {class_name(k)}" for k, floor in floors if floor)
    return [
        f"Promise: among new rows like those of training at least {least} is found, "
        f"with probability {told.confidence:g}. Rows that training did not see have "
        "set the decision so."
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
    return [_hidden_by_accuracy(tree, rare), *_rates(tree), *_options(tree, rare)]


def _options(tree: Tree, rare: list[int]) -> list[str]:
    """Names of the options that were not used, unless all that is rare is found.

    A class of which as much is found as was asked for needs none.
    """
    told = tree.training
    wanting = [k for k in rare if not _is_found(tree, k)]
    if not wanting:
        return []
    share = tree.class_share / tree.class_share.sum()
    fewest = min(share[wanting]) * (told.n_samples or np.inf)
    used = (
        told.class_weight is not None or fewest < _FEWEST - 0.5,
        any(told.min_recall or ()),
        told.cv_scoring in ("balanced_accuracy", "recall_macro"),
    )
    left = [option for option, given in zip(OPTIONS, used, strict=True) if not given]
    if not left:
        return []
    them = "it" if len(rare) == 1 else "them"
    names = " or ".join([", ".join(left[:-1]), left[-1]] if len(left) > 1 else left)
    return [f"To find more of {them}: {names}."]


def _is_found(tree: Tree, k: int) -> bool:
    """Whether nearly all of a class is found, or as much as a floor on it says."""
    told, found = tree.training, _found(tree)
    floor = told.min_recall[k] if told.min_recall else 0.0
    if floor > 0.0 and told.confidence is not None:
        # A promise is kept, or there is no tree.
        return True
    if floor > 0.0 and found and found[k] >= floor - _NEARLY:
        return True
    known = [rates for rates in (found, told.cv_recall) if rates]
    return bool(known) and min(rates[k] for rates in known) >= _FOUND


def _hidden_by_accuracy(tree: Tree, rare: list[int]) -> str:
    share = tree.class_share / tree.class_share.sum()
    names = [f"{class_name(tree.classes[k])} ({share_text(share[k])})" for k in rare]
    most = int(np.argmax(share))
    are = "is a rare class" if len(rare) == 1 else "are rare classes"
    if share[most] < _MOST - _ROUNDING:
        them = "it" if len(rare) == 1 else "them"
        return f"{', '.join(names)} {are}: accuracy says little of {them}."
    return (
        f"{', '.join(names)} {are}: always predicting "
        f"{class_name(tree.classes[most])} is right for {share_text(share[most])} "
        "of the training rows, so accuracy says little here."
    )


def _rates(tree: Tree) -> list[str]:
    """Recall and precision of every class, held-out ones where they are known."""
    told = tree.training
    pairs = (
        ("the training rows", _found(tree), told.precision),
        ("held-out rows", told.cv_recall, told.cv_precision),
    )
    return [
        f"Recall and precision on {rows}: {_pairs_text(tree, recall, precision)}."
        for rows, recall, precision in pairs
        if recall and precision
    ]


def _found(tree: Tree) -> tuple[float, ...] | None:
    """Share of every class that is predicted to be of it in training, if known."""
    told = tree.training
    # Where the likelihood is maximised, recall is that of the classes predicted.
    return told.found or (told.recall if told.by_log else None)


def _pairs_text(tree: Tree, recall: Sequence[float], precision: Sequence[float]) -> str:
    """Both rates by class; what is never predicted has no precision to tell."""
    unknown = "–" if _never_said(tree, recall, precision) else f"{0.0:.3f}"  # noqa: RUF001
    told = zip(tree.classes, recall, precision, strict=True)
    return ", ".join(
        f"{r:.3f} and {f'{p:.3f}' if p > 0.0 else unknown} of {class_name(c)}"
        for c, r, p in told
    )


def _never_said(
    tree: Tree, recall: Sequence[float], precision: Sequence[float]
) -> bool:
    """Whether classes of precision 0 are never predicted, or not predicted rightly.

    What the other classes are predicted for is all there is, then. Of several classes
    it cannot be told which is predicted: none has a precision to tell.
    """
    rate, right = np.array(precision), np.array(recall) * tree.class_share
    known = rate > 0.0
    said = (right[known] / rate[known]).sum() / tree.class_share.sum()
    return bool(said > 1.0 - _NEARLY or (~known).sum() > 1)


# -- recall ----------------------------------------------------------------------------


def recall_text(tree: Tree, hard: bool) -> list[str]:
    """Recall of every class on the training rows, with the floors under it.

    It is not told twice: where a class is rare it stands beside precision. Where the
    expected cost was minimised, floors are under the expected recall.
    """
    told, recall = tree.training, tree.training.recall
    floors, found = told.min_recall or (), _found(tree) if hard else None
    if told.confidence is not None:
        # The floors are promised of new rows, and training rows need not meet them.
        floors = ()
    expected = told.loss != "log"
    if found and not any(floors):
        if rare_text(tree):
            return []
        recall, expected = (found if expected else recall), False
    if not recall:
        return []
    parts = [
        _rate_text(label, rate, hard) + (f" (floor {floor:g})" if floor else "")
        for label, rate, floor in zip(
            tree.classes, recall, floors or [0.0] * len(recall), strict=True
        )
    ]
    what = "Expected recall" if expected else "Recall"
    return [f"{what} on the training sample: {', '.join(parts)}."]


def _rate_text(label: Any, rate: float, hard: bool) -> str:
    """A class with its recall; trees of earlier files have it the other way round."""
    if hard:
        return f"{rate:.3f} of {class_name(label)}"
    return f"{readable_label(label)} {rate:.3f}"
