"""The face of a tree: where the penalty is smooth, and moves that stay there.

The penalty has kinks, but around a tree it is linear on the points that have the same
zeros, the same signs, the same coefficients at a bound and the same ties: coefficients
of a group that share its largest size in the tree, or its largest size in a cut. Those
points are the tree's face. Vectors here are flat: the coefficients row by row, then
further entries that are not touched.
"""

from sorct._typing import FloatArray
from sorct.problem.compilation import compiled_inside, larger, smaller
from sorct.problem.penalty import Penalty, largest_size, size_in_cut

# Above any size: nothing is tied, nothing is bound.
_NONE = 1e300


@compiled_inside
def _tied_size(penalty: Penalty, g: int, coef: FloatArray) -> float:
    """Size of the coefficients of a group that pay its l-inf penalty together."""
    if penalty.linf_strength * penalty.linf[g] <= 0.0:
        return _NONE
    largest = largest_size(penalty, g, coef)
    return largest if largest > penalty.free[g] else _NONE


@compiled_inside
def _blocked(
    penalty: Penalty, g: int, j: int, t: int, tied: float, a: float, slope: float
) -> bool:
    """Whether going down the slope would lead over a bound, or above what is free."""
    if t < penalty.boxed and (a == penalty.upper[j] or a == penalty.lower[j]):
        return a * slope < 0.0
    paid = penalty.linf_strength * penalty.linf[g] > 0.0
    at_free = paid and tied == _NONE and abs(a) == penalty.free[g]
    return at_free and a * slope < 0.0


@compiled_inside
def _tied_in_cut(penalty: Penalty, g: int, t: int, coef: FloatArray) -> float:
    """Size of the coefficients that pay a group's penalty of a cut together."""
    alone = penalty.start[g + 1] - penalty.start[g] == 1
    if alone or penalty.local_strength * penalty.local[g] <= 0.0:
        return _NONE
    size = size_in_cut(penalty, g, t, coef)
    return size if size > 0.0 else _NONE


@compiled_inside
def _column_gradient(
    penalty: Penalty, g: int, coef: FloatArray, slope: FloatArray, face: FloatArray
) -> float:
    """``face_gradient`` of a group of one column, where nothing is tied in a cut."""
    j, n_branches = penalty.start[g], coef.shape[1]
    local = penalty.local_strength * penalty.local[g]
    tied, n_tied, size = _tied_size(penalty, g, coef), 0, 0.0
    pull = penalty.linf_strength * penalty.linf[g]
    for t in range(n_branches):
        a, i, own = coef[j, t], j * n_branches + t, 0.0
        if a != 0.0:
            own = slope[i] + local if a > 0.0 else slope[i] - local
            if abs(a) == tied:
                n_tied += 1
                pull += own if a > 0.0 else -own
        face[i] = own
    for t in range(n_branches):
        a, i = coef[j, t], j * n_branches + t
        if abs(a) == tied:
            face[i] = (pull if a > 0.0 else -pull) / n_tied
        if a != 0.0 and _blocked(penalty, g, j, t, tied, a, face[i]):
            face[i] = 0.0
        size = larger(size, abs(face[i]))
    return size


@compiled_inside
def face_gradient(
    penalty: Penalty, coef: FloatArray, slope: FloatArray, face: FloatArray
) -> float:
    """Fill the gradient along the face; return its largest coordinate.

    ``slope`` is the gradient of the smooth part. Tied coefficients move together.
    """
    n_branches, size = coef.shape[1], 0.0
    for g in range(penalty.linf.size):
        first, last = penalty.start[g], penalty.start[g + 1]
        if last - first == 1:
            size = larger(size, _column_gradient(penalty, g, coef, slope, face))
            continue
        tied, n_tied = _tied_size(penalty, g, coef), 0
        pull = penalty.linf_strength * penalty.linf[g]
        local = penalty.local_strength * penalty.local[g]
        for t in range(n_branches):
            in_cut, n_in_cut = _tied_in_cut(penalty, g, t, coef), 0
            pull_in_cut = local if in_cut != _NONE else 0.0
            for j in range(first, last):
                a, i = coef[j, t], j * n_branches + t
                face[i] = 0.0
                if a != 0.0:
                    face[i] = slope[i]
                    if abs(a) == in_cut or abs(a) == tied:
                        n_in_cut += 1
                        pull_in_cut += face[i] if a > 0.0 else -face[i]
            if n_in_cut == 0:
                continue
            if in_cut == _NONE or in_cut == tied:  # noqa: SIM109
                n_tied += n_in_cut
                pull += pull_in_cut
                continue
            for j in range(first, last):
                if abs(coef[j, t]) == in_cut:
                    sign = 1.0 if coef[j, t] > 0.0 else -1.0
                    face[j * n_branches + t] = sign * pull_in_cut / n_in_cut
        for j in range(first, last):
            for t in range(n_branches):
                a, i = coef[j, t], j * n_branches + t
                if n_tied > 0 and abs(a) == tied:
                    face[i] = (pull if a > 0.0 else -pull) / n_tied
                if _blocked(penalty, g, j, t, tied, a, face[i]):
                    face[i] = 0.0
                size = larger(size, abs(face[i]))
    return size


@compiled_inside
def _average(
    coef: FloatArray,
    first: int,
    last: int,
    begin: int,
    end: int,
    tied: float,
    direction: FloatArray,
) -> None:
    """Let the coefficients of a size, in some columns and cuts, move together."""
    n_tied, pull, n_branches = 0, 0.0, coef.shape[1]
    for j in range(first, last):
        for t in range(begin, end):
            if abs(coef[j, t]) == tied:
                i = j * n_branches + t
                n_tied += 1
                pull += direction[i] if coef[j, t] > 0.0 else -direction[i]
    if n_tied > 1:
        for j in range(first, last):
            for t in range(begin, end):
                if abs(coef[j, t]) == tied:
                    sign = 1.0 if coef[j, t] > 0.0 else -1.0
                    direction[j * n_branches + t] = sign * pull / n_tied


@compiled_inside
def project_on_face(
    penalty: Penalty, coef: FloatArray, face: FloatArray, direction: FloatArray
) -> None:
    """Bring a direction back to the face that the gradient lies on."""
    n_branches = coef.shape[1]
    for g in range(penalty.linf.size):
        first, last = penalty.start[g], penalty.start[g + 1]
        for j in range(first, last):
            for t in range(n_branches):
                if face[j * n_branches + t] == 0.0:
                    direction[j * n_branches + t] = 0.0
        tied = _tied_size(penalty, g, coef)
        if tied != _NONE:
            # first - first is 0; for the constant, numba would compile it once more.
            _average(coef, first, last, first - first, n_branches, tied, direction)
        if last - first == 1:
            continue
        for t in range(n_branches):
            in_cut = _tied_in_cut(penalty, g, t, coef)
            if in_cut != _NONE and in_cut != tied:
                _average(coef, first, last, t, t + 1, in_cut, direction)


@compiled_inside
def _limit(
    penalty: Penalty, g: int, coef: FloatArray, direction: FloatArray, scale: float
) -> float:
    """Size up to which a group's coefficients may move without leaving the face."""
    if penalty.linf_strength * penalty.linf[g] <= 0.0:
        return _NONE
    n_branches, largest, limit = coef.shape[1], 0.0, _NONE
    for j in range(penalty.start[g], penalty.start[g + 1]):
        for t in range(n_branches):
            if abs(coef[j, t]) > largest:
                largest = abs(coef[j, t])
                limit = abs(coef[j, t] + scale * direction[j * n_branches + t])
    free = penalty.free[g]
    limit = free if 0.0 < largest <= free else larger(limit, free)
    return float(limit)


@compiled_inside
def _limit_in_cut(
    penalty: Penalty,
    g: int,
    t: int,
    coef: FloatArray,
    direction: FloatArray,
    scale: float,
) -> float:
    """The same within a cut: the size to which its tied coefficients move."""
    in_cut, limit = _tied_in_cut(penalty, g, t, coef), _NONE
    if in_cut == _NONE:
        return limit
    for j in range(penalty.start[g], penalty.start[g + 1]):
        if abs(coef[j, t]) == in_cut:
            limit = abs(coef[j, t] + scale * direction[j * coef.shape[1] + t])
    return limit


@compiled_inside
def move_on_face(
    penalty: Penalty,
    coef: FloatArray,
    direction: FloatArray,
    scale: float,
    trial: FloatArray,
    move: FloatArray,
) -> bool:
    """Fill the trial with coef + scale * direction; tell whether one was cut.

    A coefficient that would leave the face is cut at its border.
    """
    n_branches, was_cut = coef.shape[1], False
    for g in range(penalty.linf.size):
        most = _limit(penalty, g, coef, direction, scale)
        for t in range(n_branches):
            limit = smaller(most, _limit_in_cut(penalty, g, t, coef, direction, scale))
            if t < penalty.boxed:
                limit = smaller(limit, 1.0)
            for j in range(penalty.start[g], penalty.start[g + 1]):
                i, old = j * n_branches + t, coef[j, t]
                moved = old + scale * direction[i]
                if moved * old < 0.0:
                    moved, was_cut = 0.0, True
                elif abs(moved) > limit:
                    moved, was_cut = (limit if moved > 0.0 else -limit), True
                trial[j, t] = moved
                move[i] = moved - old
    return was_cut
