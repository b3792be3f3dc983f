"""Arithmetic and rounding, with the types and limits of Spark's numbers.

Integers have 64 bits and decimals 38 digits; a result that needs more is unknown. An integer and a decimal
give an exact decimal, and anything with a double gives a double. Spark rounds a decimal product to the scale of its
type; values have no such type here, so a product is exact or unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias

from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.value import INT64_MAX, INT64_MIN, Family, as_double

Number: TypeAlias = int | Decimal | float

DECIMAL_DIGITS = 38
# Two decimals of 38 digits add up to 76 digits at most, multiply to 76, and divide to a whole quotient of 77.
_EXACT = Context(prec=100)
# A double has 309 digits before the point at most, and is rounded to 38 behind it at most.
_WIDE = Context(prec=400)


def as_integer(value: int) -> int | None:
    """Return the value if it fits 64 bits, else None."""
    return value if INT64_MIN <= value <= INT64_MAX else None


def as_decimal(value: int | Decimal) -> Decimal | None:
    """Return the value as a decimal if it needs at most 38 digits in all, else None."""
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 10**DECIMAL_DIGITS else None
    if not value.is_finite():
        return None
    if value.is_zero():
        return Decimal(0)
    n_significant = len("".join(map(str, value.as_tuple().digits)).rstrip("0"))
    n_before = value.adjusted() + 1
    n_behind = max(0, n_significant - n_before)
    return value if max(0, n_before) + n_behind <= DECIMAL_DIGITS else None


def _double(value: float) -> float | None:
    return None if math.isnan(value) else value


def _binary(
    integers: Callable[[int, int], int],
    decimals: Callable[[Decimal, Decimal], Decimal],
    doubles: Callable[[float, float], float],
) -> Callable[[Number, Number], Number | None]:
    """Return one operation for all types of numbers, made of one operation per type."""

    def call(left: Number, right: Number) -> Number | None:
        if isinstance(left, float) or isinstance(right, float):
            return _double(doubles(as_double(left), as_double(right)))
        if isinstance(left, int) and isinstance(right, int):
            return as_integer(integers(left, right))
        exact_left, exact_right = as_decimal(left), as_decimal(right)
        if exact_left is None or exact_right is None:
            return None
        return as_decimal(decimals(exact_left, exact_right))

    return call


add = _binary(int.__add__, _EXACT.add, float.__add__)
subtract = _binary(int.__sub__, _EXACT.subtract, float.__sub__)
multiply = _binary(int.__mul__, _EXACT.multiply, float.__mul__)


def _integer_remainder(left: int, right: int) -> int:
    """Return the remainder with the sign of the dividend; Python's own has the sign of the divisor."""
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest


def _double_remainder(left: float, right: float) -> float:
    # The divisor can still be zero here: a decimal below all doubles.
    return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)


_remainder = _binary(_integer_remainder, _EXACT.remainder, _double_remainder)


def take_remainder(left: Number, right: Number) -> Number | None:
    """Return the remainder, or None (unknown) for a divisor of zero."""
    return None if right == 0 else _remainder(left, right)


def divide_numbers(left: Number, right: Number) -> float | None:
    """Return the quotient as a double, whatever the numbers are, or None (unknown) for a divisor of zero."""
    divisor = as_double(right)
    return None if divisor == 0 else _double(as_double(left) / divisor)


def negate_number(value: Number) -> Number | None:
    """Return zero minus the value, so that zero has no sign."""
    return subtract(0, value)


def take_absolute(value: Number) -> Number | None:
    """Return the value without its sign."""
    if isinstance(value, float):
        return abs(value)
    return as_integer(abs(value)) if isinstance(value, int) else as_decimal(value.copy_abs())


def _at_digit(value: Decimal, digits: int, rounding: str) -> Decimal:
    return value.quantize(Decimal((0, (1,), -digits)), rounding=rounding, context=_WIDE)


def round_half_up(value: Number, digits: int) -> Number | None:
    """Round half away from zero. A double is rounded as it is written: 0.285 to two digits is 0.29."""
    if isinstance(value, float):
        # The sum turns -0.0 into 0.0, which is all that a decimal can give in Spark.
        return float(_at_digit(Decimal(repr(value)), digits, ROUND_HALF_UP)) + 0.0 if math.isfinite(value) else value
    if isinstance(value, int) and digits >= 0:
        return as_integer(value)
    exact = as_decimal(value)
    if exact is None:
        return None
    result = _at_digit(exact, digits, ROUND_HALF_UP)
    return as_integer(int(result)) if isinstance(value, int) else as_decimal(result)


def _check_round(constants: Constants) -> str | None:
    digits = constants[1]
    if isinstance(digits, int) and abs(digits) <= DECIMAL_DIGITS:
        return None
    return f"the digits of round must be a whole number from -{DECIMAL_DIGITS} to {DECIMAL_DIGITS}"


def _to_whole(rounding: str, double: Callable[[float], int]) -> Callable[[Number], int | Decimal | None]:
    def call(value: Number) -> int | Decimal | None:
        if isinstance(value, float):
            return as_integer(double(value)) if math.isfinite(value) else None
        if isinstance(value, int):
            return as_integer(value)
        exact = as_decimal(value)
        # It stays a decimal, as in Spark, so that further results may have 38 digits and not only 64 bits.
        return None if exact is None else as_decimal(_at_digit(exact, 0, rounding))

    return call


floor = _to_whole(ROUND_FLOOR, math.floor)
ceil = _to_whole(ROUND_CEILING, math.ceil)


def truncated(value: Number) -> int | None:
    """Return a number as a 64-bit integer, with its fraction cut off, or None if it is too large.

    Spark compares a double with the largest integer as a double, so that 2.0**63 becomes that integer.
    """
    if isinstance(value, float):
        if not -(2.0**63) <= value <= 2.0**63:
            return None
        return min(int(value), INT64_MAX)
    if isinstance(value, Decimal) and as_decimal(value) is None:
        return None
    return as_integer(int(value))


_NUMBER = Parameter("x", Family.NUMBER)
_BOTH = (_NUMBER, Parameter("y", Family.NUMBER))
# Spark's floor and ceil of a double beyond 64 bits give the largest or smallest integer, which is not the answer.
_WITHIN_64_BITS = (
    "if(typeof({{0}}) = 'double' and not (cast({{0}} as double) >= -9223372036854775808D"
    " and cast({{0}} as double) < 9223372036854775808D), null, {name}({{0}}))"
)

FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="+",
        parameters=_BOTH,
        result=Family.NUMBER,
        call=add,
        summary="The sum; unknown if it needs more than 64 bits or 38 digits.",
        example="price + shipping < 100",
        spark="try_add({0}, {1})",
    ),
    Function(
        name="-",
        parameters=_BOTH,
        result=Family.NUMBER,
        call=subtract,
        summary="The difference; unknown if it needs more than 64 bits or 38 digits.",
        example="limit - used >= 10",
        spark="try_subtract({0}, {1})",
    ),
    Function(
        name="*",
        parameters=_BOTH,
        result=Family.NUMBER,
        call=multiply,
        summary="The product, exact for decimals (Spark may round it); unknown if it needs more than 64 bits or 38 "
        "digits.",
        example="price * quantity > 1000",
        spark="try_multiply({0}, {1})",
    ),
    Function(
        name="/",
        parameters=_BOTH,
        result=Family.NUMBER,
        call=divide_numbers,
        summary="The quotient as a double, even of two decimals (where Spark gives a decimal); unknown if the divisor "
        "is zero.",
        example="clicks / impressions >= 0.02",
        spark="try_divide(cast({0} as double), cast({1} as double))",
    ),
    Function(
        name="%",
        parameters=_BOTH,
        result=Family.NUMBER,
        call=take_remainder,
        summary="The remainder, with the sign of the dividend: `-7 % 4` is -3; unknown if the divisor is zero.",
        example="user_id % 4 = 1",
        spark="try_mod({0}, {1})",
    ),
    Function(
        name="negative",
        parameters=(_NUMBER,),
        result=Family.NUMBER,
        call=negate_number,
        summary="The number with the opposite sign, also written `-x`; unknown for the smallest integer.",
        example="-balance > 500",
        spark="try_subtract(0, {0})",
    ),
    Function(
        name="abs",
        parameters=(_NUMBER,),
        result=Family.NUMBER,
        call=take_absolute,
        summary="The number without its sign; unknown for the smallest integer.",
        example="abs(change) >= 2.5",
        spark="if({0} < 0, try_subtract(0, {0}), {0})",
    ),
    Function(
        name="round",
        parameters=(_NUMBER, Parameter("digits", Family.NUMBER, literal=True, default=0)),
        result=Family.NUMBER,
        call=round_half_up,
        summary="The number rounded to this many digits after the point (0 by default), half away from zero: "
        "`round(2.5)` is 3. A negative number of digits rounds before the point.",
        example="round(score, 1) = 4.5",
        spark="if(typeof({0}) = 'bigint', try_cast(round(cast({0} as decimal(20, 0)), {1}) as bigint), "
        "round({0}, {1}))",
        check=_check_round,
    ),
    Function(
        name="floor",
        parameters=(_NUMBER,),
        result=Family.NUMBER,
        call=floor,
        summary="The largest whole number that is not greater; unknown for a double beyond 64 bits.",
        example="floor(temperature) = 36",
        spark=_WITHIN_64_BITS.format(name="floor"),
    ),
    Function(
        name="ceil",
        parameters=(_NUMBER,),
        result=Family.NUMBER,
        call=ceil,
        summary="The smallest whole number that is not less; unknown for a double beyond 64 bits.",
        example="ceil(weight) <= 30",
        spark=_WITHIN_64_BITS.format(name="ceil"),
    ),
)
