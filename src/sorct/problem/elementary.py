"""Compiled exp, log and logistic CDF, written so that vector instructions do them.

Without branches and calls of a library; a test holds each to the last digit.
"""

from sorct._typing import FloatArray
from sorct.problem.compilation import (
    bits_of_float,
    compiled_in_order,
    compiled_inside,
    float_of_bits,
)


@compiled_in_order
def exp(x: float) -> float:
    """exp(x) for |x| <= 708 to about one unit in the last place, without a branch.

    x = n log 2 + r with |r| <= log(2) / 2; the Taylor polynomial of degree 13 in r is
    exact to 1e-17 there; adding n to the exponent bits multiplies by 2^n.
    """
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10
    e = 1.0 / 6227020800.0
    e = e * r + 1.0 / 479001600.0
    e = e * r + 1.0 / 39916800.0
    e = e * r + 1.0 / 3628800.0
    e = e * r + 1.0 / 362880.0
    e = e * r + 1.0 / 40320.0
    e = e * r + 1.0 / 5040.0
    e = e * r + 1.0 / 720.0
    e = e * r + 1.0 / 120.0
    e = e * r + 1.0 / 24.0
    e = e * r + 1.0 / 6.0
    e = e * r + 0.5
    e = e * r + 1.0
    e = e * r + 1.0
    power = bits_of_float(shifted) << 52
    return float(float_of_bits(bits_of_float(e) + power))


@compiled_in_order
def log(x: float) -> float:
    """log(x) for normal x > 0 to about one unit in the last place, without a branch.

    x = 2^n m with m in [sqrt(1/2), sqrt(2)]; log m = 2 artanh s, s = (m - 1) / (m + 1),
    whose series to s^21 is exact to 1e-17 there. Numbers become float64 by their bits:
    2^52 + n has n as its last bits.
    """
    bits = bits_of_float(x)
    m = float_of_bits((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)
    n = float_of_bits((bits >> 52) | 0x4330000000000000) - 4503599627371518.0
    low = m < 0.7071067811865476
    m = m + m if low else m
    n = n - 1.0 if low else n
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    e = 1.0 / 21.0
    e = e * q + 1.0 / 19.0
    e = e * q + 1.0 / 17.0
    e = e * q + 1.0 / 15.0
    e = e * q + 1.0 / 13.0
    e = e * q + 1.0 / 11.0
    e = e * q + 1.0 / 9.0
    e = e * q + 1.0 / 7.0
    e = e * q + 1.0 / 5.0
    e = e * q + 1.0 / 3.0
    rest = 2.0 * s * q * e + n * 1.90821492927058770002e-10
    return float(2.0 * s + rest + n * 6.93147180369123816490e-01)


@compiled_in_order
def fill_cdf(branch: FloatArray, n_branches: int, n: int) -> None:
    """Replace scores u by F(u), the logistic CDF (see ``tree/link.py``)."""
    for t in range(n_branches):
        for i in range(n):
            u = branch[t, i]
            u = -708.0 if u < -708.0 else u
            u = 708.0 if u > 708.0 else u
            branch[t, i] = 1.0 / (1.0 + exp(-u))


@compiled_inside
def density(proba: float) -> float:
    """F'(u) written in F(u)."""
    return proba * (1.0 - proba)
