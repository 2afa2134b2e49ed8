"""Memory that vector instructions read line by line."""

import numpy as np
import pytest

from sorct.data.cache_lines import on_a_line


@pytest.mark.every_case
@pytest.mark.parametrize("shape", [0, 1, 13, (3, 256), (7, 0), (5, 3)])
def test_zeros_begin_at_a_line(shape):
    """Of the shape asked for, in order, and nobody else's."""
    found = [on_a_line(shape) for _ in range(20)]
    for one in found:
        assert one.ctypes.data % 64 == 0 or one.size == 0
        assert one.flags.c_contiguous
        np.testing.assert_array_equal(one, np.zeros(shape))
        one += 1.0
