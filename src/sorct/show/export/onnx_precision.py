"""Precision: which trees single precision can compute, whose inputs are rounded too."""

from __future__ import annotations

import numpy as np

from sorct.data.terms import BentTerm, CurveTerm, LinearTerm, Term
from sorct.show.export.formula import Formula, known_part

# A score that the rounding of inputs may move by more than this is not worth having: it
# moves the chance of going left by at most a quarter of that, a thousandth.
_MOST_MOVED = 0.004


def check_float32(formula: Formula) -> None:
    """Refuse trees whose scores or values the rounding of inputs would move too far."""
    _check_said(formula)
    # What moves a value counts beside what leaves say where terms are small; a chance
    # moves by at most a quarter of what its score does, a value by all of it.
    said = 0.25 * _size_said(formula)
    sums = [(one, 1.0) for one in formula.scores]
    for one, unit in sums + [(leaf, said) for leaf in formula.leaves]:
        moved = [_most_moved(known_part(term)) for term in one.terms]
        # Terms that are rounded to one side add up.
        if sum(moved) > unit * _MOST_MOVED:
            worst = known_part(one.terms[int(np.argmax(moved))])
            lower, span, _ = max(_lines(worst), key=lambda line: _moved(*line))
            raise ValueError(
                f"float32 cannot tell the values of column {worst.name!r} well enough "
                f"apart (from {lower!r} on, over {span!r}); pass dtype='float64'."
            )


def _size_said(formula: Formula) -> float:
    """Size of what leaves say of a row whose terms are small."""
    if formula.is_log:
        return 1.0
    constant = max((abs(leaf.constant) for leaf in formula.leaves), default=0.0)
    terms = [term.size for leaf in formula.leaves for term in leaf.terms]
    return max(constant, 0.01 * max(terms, default=0.0)) or 1.0


def _check_said(formula: Formula) -> None:
    """Refuse float32 where it has no numbers of the size that leaves say."""
    said = [abs(leaf.constant) for leaf in formula.leaves]
    said += [term.size for leaf in formula.leaves for term in leaf.terms]
    tiny, huge = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    # A sum over routes and columns must fit, too.
    if formula.is_log and max(said) > np.log(huge) - 1.0:
        raise ValueError(
            "float32 has no numbers as large or small as those that leaves are "
            "logarithms of; pass dtype='float64'."
        )
    if any(said) and not 1e6 * tiny <= max(said) <= huge / (2.0 * len(said)):
        raise ValueError(
            f"float32 has no numbers as large or small as those that leaves say (up to "
            f"{max(said):.1e}); pass dtype='float64'."
        )


def _lines(term: Term) -> list[tuple[float, float, float]]:
    """Beginning, span and rise of the straight lines of a number's term."""
    if isinstance(term, LinearTerm):
        return [(term.lower, term.span, term.size)]
    if not isinstance(term, (CurveTerm, BentTerm)):
        return []
    rises = np.abs(np.diff(term.values)).tolist()
    return list(zip(term.at, np.diff(term.at).tolist(), rises, strict=False))


def _most_moved(term: Term) -> float:
    """How far the rounding of a cell can move what a term adds."""
    return max((_moved(*line) for line in _lines(term)), default=0.0)


def _moved(lower: float, span: float, rise: float) -> float:
    """How far a straight line moves; infinite where float32 has no such numbers."""
    tiny, huge = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
    size = max(abs(lower), abs(lower + span))
    if not (size < huge and span > tiny and rise < huge):
        return np.inf
    return float(np.spacing(np.float32(size))) / span * rise
