"""Why: what a search chose, and why, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sorct.data.wording import write_out
from sorct.estimators.scorers import in_words
from sorct.tree.tree import Tree

#: What is told where not all was compared that would have been.
OUT_OF_TIME = "time_limit ended the comparison before all was tried."


def why_text(
    chosen: Tree,
    best: Tree,
    params: Mapping[str, Any],
    n_compared: tuple[int, int],
    limited: bool,
    unfollowed: Tree | None = None,
) -> str:
    """Tell how many settings and trees were compared, by what, and which was taken.

    ``best`` is the tree of the best score; the rule may have taken a sparser one.
    ``unfollowed`` has a better score still, but its rules cannot be followed.
    """
    told, (n_settings, n_trees) = chosen.training, n_compared
    what, score = in_words(told.cv_scoring or "score", told.cv_score or 0.0)
    tried = "One setting was" if n_settings == 1 else f"{n_settings} settings were"
    used = len(chosen.variables_used)
    trees = "one tree" if n_trees == 1 else f"{n_trees} trees"
    folds = f"{told.cv_folds} fold{'' if told.cv_folds == 1 else 's'}"
    by = f"Chosen by the rule {told.cv_rule}"
    place = f", {_place_text(chosen, best)}"
    if n_trees == 1:
        by, place = "Taken without a choice", ""
    return (
        f"{tried} tried, and {trees} compared by {what} on {folds}. "
        f"{by}: {_settings_text(params)}, with "
        f"{used} variable{'' if used == 1 else 's'}; its {what} is {_score(score)}"
        f"{place}{' within the limits' if limited else ''}."
        f"{'' if unfollowed is None else _passed_by(unfollowed)}"
    )


def _passed_by(tree: Tree) -> str:
    """What a tree has that was not taken because its rules cannot be followed."""
    told = tree.training
    what, score = in_words(told.cv_scoring or "score", told.cv_score or 0.0)
    share = write_out(f"{100.0 * (told.followed or 0.0):.3g}")
    return (
        f" A tree whose rules, followed by hand, give what it predicts for {share} % "
        f"of the rows was passed by; its {what} is {_score(score)}."
    )


def _score(value: float, digits: int = 4) -> str:
    """A score with so many digits that count, without powers of ten."""
    return write_out(f"{value:.{digits}g}")


def _place_text(chosen: Tree, best: Tree) -> str:
    """How the score of the tree chosen compares with the best."""
    if chosen.training.cv_score == best.training.cv_score:
        return "the best of them"
    told = best.training
    score = in_words(told.cv_scoring or "score", told.cv_score or 0.0)[1]
    if chosen.training.cv_rule == "paired":
        return f"not clearly behind the best ({_score(score)}), fold by fold"
    error = told.cv_standard_error or 0.0
    return (
        f"within one standard error, {_score(error, 2)}, of the best ({_score(score)})"
    )


def _settings_text(params: Mapping[str, Any]) -> str:
    """Settings that were chosen; a penalty of 0, no refit and no link are not told."""
    digits = {"alpha_local": 4, "alpha_global": 4, "gamma": 6}
    words = [
        f"{name} {value:.{digits[name]}g}" if name in digits else f"{name} {value}"
        for name, value in params.items()
        if name != "relaxed"
        and (name != "alpha_global" or value)
        and (name != "link" or value != "identity")
        and (name != "preselect" or value != "none")
    ]
    share, penalised = (
        params["relaxed"],
        params["alpha_local"] or params["alpha_global"],
    )
    if share < 1.0 and penalised:
        told = write_out(f"{share:.3g}")
        words.append(f"refitted on its variables under {told} of the penalty")
    return ", ".join(words)
