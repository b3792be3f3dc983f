"""Functions of numbers beyond arithmetic: whole quotients, powers, logarithms, buckets, the largest and the least.

Logarithms and powers of e are those of Java (fdlibm, by Sun Microsystems), to the last bit. The C library of the
machine gives a neighbouring double for some arguments, and so another answer at a comparison.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import tzinfo
from functools import reduce
from typing import Final

from ruledex.language.functions.arithmetic import Number, add, as_decimal, as_integer, take_remainder, truncated
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import INT64_MAX, Family, as_double, compare, family_of

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


_BITS_64 = (1 << 64) - 1


def divide_whole(left: Number, right: Number) -> int | None:
    """Return the quotient without its fraction, or None if it needs more than 64 bits or the divisor is zero."""
    if isinstance(left, float) or isinstance(right, float):
        divisor = as_double(right)
        quotient = math.nan if divisor == 0 else as_double(left) / divisor
        return as_integer(int(quotient)) if math.isfinite(quotient) else None
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        quotient_without_sign = abs(left) // abs(right)
        return as_integer(quotient_without_sign if (left < 0) == (right < 0) else -quotient_without_sign)
    if as_decimal(left) is None or as_decimal(right) is None:
        return None
    (a, b), (c, d) = left.as_integer_ratio(), right.as_integer_ratio()
    return divide_whole(a * d, b * c)


def take_positive_remainder(left: Number, right: Number) -> Number | None:
    """Return the remainder with the sign of the divisor if it is not zero, or None for a divisor of zero."""
    rest = take_remainder(left, right)
    if rest is None or rest >= 0:
        return rest
    if isinstance(rest, int) and isinstance(right, int):
        total = rest + right
        # The sum of two negative numbers may leave 64 bits; Java starts again at the other end.
        total = (total + (1 << 63) & _BITS_64) - (1 << 63)
        return take_remainder(total, right)
    total_or_none = add(rest, right)
    return None if total_or_none is None else take_remainder(total_or_none, right)


def binary_digits(value: Number) -> str | None:
    """Return the 64 bits of a whole number as digits, without zeros in front. A fraction is cut off."""
    whole = truncated(value)
    return None if whole is None else f"{whole & _BITS_64:b}"


def width_bucket(value: Number, low: Number, high: Number, n_buckets: Number) -> int | None:
    """Return the number of the bucket of a value: 0 below the first, one more than there are above the last."""
    if not isinstance(n_buckets, int) or not 0 < n_buckets < INT64_MAX:
        return None
    x, start, end = as_double(value), as_double(low), as_double(high)
    if start == end or math.isinf(start) or math.isinf(end):
        return None
    if start > end:  # buckets are counted downwards
        x, start, end = -x, -start, -end
    if x < start:
        return 0
    if x >= end:
        return n_buckets + 1
    place = float(n_buckets) * (x - start) / (end - start)
    if math.isnan(place):
        return 1
    return as_integer(int(place) + 1) if math.isfinite(place) else None


def _extreme(sign: int) -> Callable[..., Value | None]:
    def call(*values: Value | None, zone: tzinfo) -> Value | None:
        """Return the largest or the least of the values that are not None. Values of two families give None."""
        given = [value for value in values if value is not None]
        if not given or any(family_of(value) is not family_of(given[0]) for value in given):
            return None
        found = reduce(lambda best, other: other if compare(other, best, zone) * sign > 0 else best, given)
        if any(isinstance(value, float) for value in given):
            return as_double(found)  # type: ignore[arg-type]  # all are numbers
        return found

    return call


def _of_double(compute: Callable[[float], float]) -> Callable[[Number], float | None]:
    """Return a function of a double, which is unknown where it is not a number."""

    def call(value: Number) -> float | None:
        try:
            result = compute(as_double(value))
        except ValueError:
            return None
        except OverflowError:
            return math.inf
        return None if math.isnan(result) else result

    return call


def power(base: Number, exponent: Number) -> float | None:
    """Return the base raised to the exponent, or None if that is not a real number."""
    x, y = as_double(base), as_double(exponent)
    if abs(x) == 1 and math.isinf(y):
        return None  # in Java, unlike C
    is_odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
    try:
        result = math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and is_odd else math.inf
    except ValueError:
        if x == 0:  # to a negative power
            return -math.inf if is_odd and math.copysign(1, x) < 0 else math.inf
        return None
    return None if math.isnan(result) else result


def _sign(value: float) -> float:
    return value if value == 0 else math.copysign(1.0, value)


_NUMBER = Parameter("x", Family.NUMBER)
_ANY = Parameter("x", Family.ANY)


def _double(name: str, compute: Callable[[float], float], summary: str, example: str) -> Function:
    return Function(
        name=name,
        parameters=(_NUMBER,),
        result=Family.NUMBER,
        call=_of_double(compute),
        summary=summary,
        example=example,
        spark=f"nanvl({name}(cast({{0}} as double)), cast(null as double))",
    )


FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="div",
        parameters=(_NUMBER, Parameter("y", Family.NUMBER)),
        result=Family.NUMBER,
        call=divide_whole,
        summary="The quotient without its fraction, written `x DIV y`: `-7 DIV 2` is -3; unknown if the divisor is "
        "zero or the result needs more than 64 bits.",
        example="cents DIV 100 >= 25",
        spark="if({1} = 0 or ({0} = -9223372036854775808 and {1} = -1), null, {0} div if({1} = 0, 1, {1}))",
    ),
    Function(
        name="pmod",
        parameters=(_NUMBER, Parameter("y", Family.NUMBER)),
        result=Family.NUMBER,
        call=take_positive_remainder,
        summary="The remainder, never negative for a positive divisor: `pmod(-7, 4)` is 1; unknown if the divisor is "
        "zero.",
        example="pmod(user_id, 100) < 10",
        spark="pmod({0}, nullif({1}, 0))",
    ),
    Function(
        name="bin",
        parameters=(_NUMBER,),
        result=Family.STRING,
        call=binary_digits,
        summary="The 64 bits of a whole number as text, without zeros in front; a fraction is cut off.",
        example="bin(flags) LIKE '%1'",
        spark="bin(try_cast({0} as bigint))",
    ),
    Function(
        name="width_bucket",
        parameters=(
            _NUMBER,
            Parameter("low", Family.NUMBER),
            Parameter("high", Family.NUMBER),
            Parameter("buckets", Family.NUMBER),
        ),
        result=Family.NUMBER,
        call=width_bucket,
        summary="The number of the bucket that holds x, if the range from low to high is cut into buckets of one "
        "width; 0 below it, and one more than there are buckets above it.",
        example="width_bucket(age, 0, 100, 10) = 3",
        spark="width_bucket(cast({0} as double), cast({1} as double), cast({2} as double), cast({3} as bigint))",
    ),
    Function(
        name="greatest",
        parameters=(_ANY,),
        result=Family.ANY,
        call=_extreme(1),
        summary="The largest of all arguments that are not missing; unknown if all are, or if their types do not "
        "compare.",
        example="greatest(bid, reserve) > 100",
        spark="greatest({all}, {0})",
        zoned=True,
        nullable=True,
        variadic=True,
    ),
    Function(
        name="least",
        parameters=(_ANY,),
        result=Family.ANY,
        call=_extreme(-1),
        summary="The least of all arguments that are not missing; unknown if all are, or if their types do not "
        "compare.",
        example="least(price, offer) < 20",
        spark="least({all}, {0})",
        zoned=True,
        nullable=True,
        variadic=True,
    ),
    _double("sqrt", math.sqrt, "The square root; unknown for a negative number.", "sqrt(area) > 12"),
    Function(
        name="pow",
        parameters=(_NUMBER, Parameter("exponent", Family.NUMBER)),
        result=Family.NUMBER,
        call=power,
        summary="The number raised to a power, as a double; unknown if it is not a real number. Where the power "
        "is not whole, the last bit may differ from Spark's.",
        example="pow(growth, 12) > 2",
        spark="nanvl(pow(cast({0} as double), cast({1} as double)), cast(null as double))",
    ),
    _double("exp", exp, "e raised to the number.", "exp(score) > 10"),
    _double("ln", natural_log, "The natural logarithm; unknown for zero and below.", "ln(amount) > 3"),
    _double("log10", log10, "The logarithm to base 10; unknown for zero and below.", "log10(followers) >= 4"),
    _double("sign", _sign, "-1, 0 or 1 for a negative number, zero or a positive number, as a double.", "sign(x) = -1"),
)
