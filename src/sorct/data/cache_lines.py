"""Memory that begins where a line of the processor's cache begins."""

from __future__ import annotations

import math

import numpy as np

from sorct._typing import FloatArray

# Numbers on a line of 64 bytes.
_ON_A_LINE = 8


def on_a_line(shape: int | tuple[int, ...]) -> FloatArray:
    """Zeros that begin at a line.

    NumPy's memory begins at any multiple of 16 bytes; vector instructions that then
    take what lies on two lines made whole fits up to a fifth slower, in some processes.
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    zeros = np.zeros(size + _ON_A_LINE)
    first = -(zeros.ctypes.data // zeros.itemsize) % _ON_A_LINE
    return zeros[first : first + size].reshape(shape)
