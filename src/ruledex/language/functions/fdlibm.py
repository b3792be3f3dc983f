"""Logarithms and powers of e as Java computes them (fdlibm, by Sun Microsystems), to the last bit.

The C library of the machine gives a neighbouring double for some arguments, and so another answer at a comparison.
"""

from __future__ import annotations

import math
import struct
from typing import Final

_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_INVERSE_LN2: Final = 1.44269504088896338700e00
_INVERSE_LN10: Final = 4.34294481903251816668e-01
_LOG10_2_HIGH: Final = 3.01029995663611771306e-01
_LOG10_2_LOW: Final = 3.69423907715893078616e-13
_LARGEST_EXPONENT: Final = 7.09782712893383973096e02
_SMALLEST_EXPONENT: Final = -7.45133219101941108420e02
_TWO_54: Final = 2.0**54
_L1: Final = 6.666666666666735130e-01
_L2: Final = 3.999999999940941908e-01
_L3: Final = 2.857142874366239149e-01
_L4: Final = 2.222219843214978396e-01
_L5: Final = 1.818357216161805012e-01
_L6: Final = 1.531383769920937332e-01
_L7: Final = 1.479819860511658591e-01
_P1: Final = 1.66666666666666019037e-01
_P2: Final = -2.77777777770155933842e-03
_P3: Final = 6.61375632143793436117e-05
_P4: Final = -1.65339022054652515390e-06
_P5: Final = 4.13813679705723846039e-08


def _high(x: float) -> int:
    """Return the upper 32 bits of a double."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0]) >> 32


def _with_high(x: float, high: int) -> float:
    """Return a double with its upper 32 bits replaced. They are not negative."""
    low = struct.unpack("<Q", struct.pack("<d", x))[0] & 0xFFFFFFFF
    return float(struct.unpack("<d", struct.pack("<Q", high << 32 | low))[0])


def _split(x: float) -> tuple[float, int, int]:
    """Return a positive number, scaled up if it is subnormal, its upper 32 bits, and its exponent before scaling."""
    if x <= 0:
        raise ValueError("no logarithm")
    k = 0
    if _high(x) < 0x00100000:  # subnormal
        k, x = -54, x * _TWO_54
    high = _high(x)
    return x, high, k + (high >> 20) - 1023


def natural_log(x: float) -> float:
    """Return the natural logarithm. Raises ValueError for zero and below."""
    if math.isinf(x) and x > 0:
        return x
    x, high, k = _split(x)
    high &= 0x000FFFFF
    i = (high + 0x95F64) & 0x100000
    x = _with_high(x, high | (i ^ 0x3FF00000))  # between sqrt(2)/2 and sqrt(2)
    k += i >> 20
    f, scale = x - 1.0, float(k)
    if (0x000FFFFF & (2 + high)) < 3:
        if f == 0:
            return scale * _LN2_HIGH + scale * _LN2_LOW
        rest = f * f * (0.5 - 0.33333333333333333 * f)
        return f - rest if k == 0 else scale * _LN2_HIGH - ((rest - scale * _LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    rest = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))) + w * (_L2 + w * (_L4 + w * _L6))
    if (high - 0x6147A) | (0x6B851 - high) > 0:
        half = 0.5 * f * f
        if k == 0:
            return f - (half - s * (half + rest))
        return scale * _LN2_HIGH - ((half - (s * (half + rest) + scale * _LN2_LOW)) - f)
    if k == 0:
        return f - s * (f - rest)
    return scale * _LN2_HIGH - ((s * (f - rest) - scale * _LN2_LOW) - f)


def log10(x: float) -> float:
    """Return the logarithm to base 10. Raises ValueError for zero and below."""
    if math.isinf(x) and x > 0:
        return x
    x, high, k = _split(x)
    i = int(k < 0)
    x = _with_high(x, (high & 0x000FFFFF) | ((0x3FF - i) << 20))
    y = float(k + i)
    return (y * _LOG10_2_LOW + _INVERSE_LN10 * natural_log(x)) + y * _LOG10_2_HIGH


def exp(x: float) -> float:
    """Return e raised to a power: infinity and zero beyond the range of doubles."""
    if x > _LARGEST_EXPONENT:
        return math.inf
    if x < _SMALLEST_EXPONENT:
        return 0.0
    magnitude = _high(x) & 0x7FFFFFFF
    k, upper, lower = 0, x, 0.0
    if magnitude > 0x3FD62E42:  # beyond half of ln 2
        if magnitude < 0x3FF0A2B2:  # within one and a half of it
            k = 1 if x > 0 else -1
        else:
            k = int(_INVERSE_LN2 * x + math.copysign(0.5, x))
        upper, lower = x - k * _LN2_HIGH, k * _LN2_LOW
        x = upper - lower
    elif magnitude < 0x3E300000:
        return 1.0 + x
    t = x * x
    c = x - t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5))))
    if k == 0:
        return 1.0 - ((x * c) / (c - 2.0) - x)
    return math.ldexp(1.0 - ((lower - (x * c) / (2.0 - c)) - upper), k)
