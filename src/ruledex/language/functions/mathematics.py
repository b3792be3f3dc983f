"""Functions of numbers beyond arithmetic: whole quotients, powers, logarithms, buckets, the largest and the least."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import tzinfo
from functools import reduce

from ruledex.language.functions import fdlibm
from ruledex.language.functions.arithmetic import Number, add, as_decimal, as_integer, take_remainder, truncated
from ruledex.language.functions.signature import Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import INT64_MAX, Family, as_double, compare, family_of

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
    _double("exp", fdlibm.exp, "e raised to the number.", "exp(score) > 10"),
    _double("ln", fdlibm.natural_log, "The natural logarithm; unknown for zero and below.", "ln(amount) > 3"),
    _double("log10", fdlibm.log10, "The logarithm to base 10; unknown for zero and below.", "log10(followers) >= 4"),
    _double("sign", _sign, "-1, 0 or 1 for a negative number, zero or a positive number, as a double.", "sign(x) = -1"),
)
