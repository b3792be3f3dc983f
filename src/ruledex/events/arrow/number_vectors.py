"""Arithmetic, comparison and rounding of vectors, as language/functions/arithmetic.py has them for one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ruledex.events.arrow.vectors import NOTHING, NUMBERS, Mask, Of, UnvectoredError, Vector, either, mask_of
from ruledex.language.value import INT64_MAX, INT64_MIN

_EXACT_DOUBLE: Final = 1 << 53  # integers up to this one are doubles
_EXACT_POWER: Final = 22  # the largest power of ten that is a double
_SAFE_PRODUCT: Final = 2.0**62
_MOST_DIGITS: Final = 18  # of a power of ten that has 64 bits
_LEAST_SCALE, _MOST_SCALE = -19, 38  # with 64 bits, a decimal of such a scale never has more than 38 digits


def integer_vector(values: Any, *of: Vector, missing: Any = None, odd: Any = None) -> Vector:
    """Return a vector of integers, which misses what the vectors that it was computed of miss."""
    return Vector(Of.INTEGER, values, *_masks(of, missing, odd))


def _masks(of: tuple[Vector, ...], missing: Any, odd: Any) -> tuple[Mask | None, Mask | None]:
    return (
        either(*(vector.missing for vector in of), None if missing is None else mask_of(missing)),
        either(*(vector.odd for vector in of), None if odd is None else mask_of(odd)),
    )


def _double_vector(values: Any, *of: Vector, missing: Any = None) -> Vector:
    is_nan = np.isnan(values)
    return Vector(Of.DOUBLE, values, *_masks(of, is_nan if missing is None else is_nan | missing, None))


def _decimal_vector(values: Any, scale: int, *of: Vector, missing: Any = None, odd: Any = None) -> Vector:
    if not _LEAST_SCALE <= scale <= _MOST_SCALE:
        raise UnvectoredError
    return Vector(Of.DECIMAL, values, *_masks(of, missing, odd), scale)


# Conversions.


def as_doubles(vector: Vector) -> Vector:
    """Return numbers as the nearest doubles."""
    if vector.of is Of.DOUBLE:
        return vector
    doubles = vector.values.astype(np.float64)
    if vector.of is Of.INTEGER:
        return vector._replace(of=Of.DOUBLE, values=doubles)
    if abs(vector.scale) > _EXACT_POWER:
        raise UnvectoredError
    power = float(10 ** abs(vector.scale))
    # Of two exact doubles, the quotient or product is the nearest double.
    doubles = doubles / power if vector.scale >= 0 else doubles * power
    is_large = np.abs(vector.values) > _EXACT_DOUBLE
    is_large |= vector.values == INT64_MIN
    return Vector(Of.DOUBLE, doubles, vector.missing, either(vector.odd, mask_of(is_large)))


def at_scale(vector: Vector, scale: int) -> Vector:
    """Return integers or decimals as decimals of a scale that is not below their own."""
    more = scale - vector.scale
    if more > _MOST_DIGITS:
        raise UnvectoredError
    if more == 0:
        return vector._replace(of=Of.DECIMAL)
    factor = 10**more
    most = INT64_MAX // factor
    is_large = (vector.values > most) | (vector.values < -most)
    return Vector(Of.DECIMAL, vector.values * factor, vector.missing, either(vector.odd, mask_of(is_large)), scale)


def _alike(left: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Return two vectors of numbers as they are compared and added: as integers, decimals of one scale, or doubles."""
    if Of.DOUBLE in (left.of, right.of):
        return as_doubles(left), as_doubles(right)
    if left.of is right.of is Of.INTEGER:
        return left, right
    scale = max(left.scale, right.scale)
    return at_scale(left, scale), at_scale(right, scale)


def are_numbers(*vectors: Vector) -> bool:
    """Whether all vectors have numbers. With any other, a function of numbers has no value."""
    return all(vector.of in NUMBERS for vector in vectors)


# Arithmetic.


def _sum(
    integers: Callable[[Any, Any], Any], is_over: Callable[[Any, Any, Any], Any]
) -> Callable[[Vector, Vector], Vector]:
    def call(left: Vector, right: Vector) -> Vector:
        if not are_numbers(left, right):
            return NOTHING
        one, other = _alike(left, right)
        values = integers(one.values, other.values)
        if one.of is Of.DOUBLE:
            return _double_vector(values, one, other)
        over = is_over(one.values, other.values, values) < 0
        if one.of is Of.INTEGER:
            return integer_vector(values, one, other, missing=over)
        return _decimal_vector(values, one.scale, one, other, odd=over)

    return call


add = _sum(np.add, lambda left, right, result: (left ^ result) & (right ^ result))
subtract = _sum(np.subtract, lambda left, right, result: (left ^ right) & (left ^ result))


def multiply(left: Vector, right: Vector) -> Vector:
    """Return the product."""
    if not are_numbers(left, right):
        return NOTHING
    if Of.DOUBLE in (left.of, right.of):
        one, other = as_doubles(left), as_doubles(right)
        return _double_vector(one.values * other.values, one, other)
    about = np.abs(left.values.astype(np.float64) * right.values.astype(np.float64))
    values, is_large = left.values * right.values, about >= _SAFE_PRODUCT
    if left.of is right.of is Of.INTEGER:
        return integer_vector(values, left, right, odd=is_large)
    return _decimal_vector(values, left.scale + right.scale, left, right, odd=is_large)


def quotient_vector(left: Vector, right: Vector) -> Vector:
    """Return the quotient as a double."""
    if not are_numbers(left, right):
        return NOTHING
    one, other = as_doubles(left), as_doubles(right)
    return _double_vector(one.values / other.values, one, other, missing=other.values == 0)


def _rest(left: Vector, right: Vector) -> tuple[Vector, Vector]:
    """Return the remainder of two vectors that are alike, and the divisor."""
    is_zero = right.values == 0
    if left.of is Of.DOUBLE:
        return _double_vector(np.fmod(left.values, right.values), left, right, missing=is_zero), right
    values = np.fmod(left.values, np.where(is_zero, 1, right.values))
    if left.of is Of.INTEGER:
        return integer_vector(values, left, right, missing=is_zero), right
    return _decimal_vector(values, left.scale, left, right, missing=is_zero), right


def remainder_vector(left: Vector, right: Vector) -> Vector:
    """Return the remainder, with the sign of the dividend."""
    return _rest(*_alike(left, right))[0] if are_numbers(left, right) else NOTHING


def positive_remainder_vector(left: Vector, right: Vector) -> Vector:
    """Return the remainder with the sign of the divisor."""
    if not are_numbers(left, right):
        return NOTHING
    rest, divisor = _rest(*_alike(left, right))
    total = rest._replace(values=rest.values + divisor.values)  # of two integers it may start again at the other end
    odd = None
    if rest.of is Of.DECIMAL:
        odd = ((rest.values ^ total.values) & (divisor.values ^ total.values)) < 0
    again, _ = _rest(total, divisor)
    values = np.where(rest.values < 0, again.values, rest.values)
    # A double that is infinite leaves nothing to add to.
    missing = np.isnan(values) if rest.of is Of.DOUBLE else None
    return Vector(rest.of, values, *_masks((rest, divisor), missing, odd), rest.scale)


def whole_quotient_vector(left: Vector, right: Vector) -> Vector:
    """Return the quotient without its fraction."""
    if not are_numbers(left, right):
        return NOTHING
    if Of.DOUBLE in (left.of, right.of):
        return _whole(np.trunc, quotient_vector(left, right))
    if Of.DECIMAL in (left.of, right.of):
        raise UnvectoredError
    is_zero = right.values == 0
    divisor = np.where(is_zero, 1, right.values)
    is_over = (left.values == INT64_MIN) & (divisor == -1)
    divisor = np.where(is_over, 1, divisor)
    values = (left.values - np.fmod(left.values, divisor)) // divisor
    return integer_vector(values, left, right, missing=is_zero | is_over)


def negative_vector(vector: Vector) -> Vector:
    """Return zero minus the number."""
    return subtract(Vector(Of.INTEGER, np.array(0)), vector)


def absolute_vector(vector: Vector) -> Vector:
    """Return the number without its sign."""
    if not are_numbers(vector):
        return NOTHING
    values = np.abs(vector.values)
    if vector.of is Of.DOUBLE:
        return vector._replace(values=values)
    is_least = vector.values == INT64_MIN
    if vector.of is Of.INTEGER:
        return integer_vector(values, vector, missing=is_least)
    return _decimal_vector(values, vector.scale, vector, odd=is_least)


def _extreme(is_better: Callable[[Any, Any], Any]) -> Callable[..., Vector]:
    """Return a function that chooses the largest or the least of all values that are not missing."""

    def call(*vectors: Vector) -> Vector:
        given = [vector for vector in vectors if vector.of is not Of.NOTHING]
        if not given:
            return NOTHING
        # Of two types, what an event has decides the type of the result, or whether there is one.
        if len({vector.of for vector in given}) > 1 or given[0].of in (Of.TEXT, Of.BOOLEAN):
            raise UnvectoredError
        if given[0].of is Of.DECIMAL:
            scale = max(vector.scale for vector in given)
            given = [at_scale(vector, scale) for vector in given]
        best, *others = given
        for other in others:
            is_other = is_better(other.values, best.values)
            if best.missing is not None:
                is_other = is_other | best.missing
            if other.missing is not None:
                is_other = is_other & ~other.missing
            lacks_both = None if best.missing is None or other.missing is None else best.missing & other.missing
            values = np.where(is_other, other.values, best.values)
            best = Vector(best.of, values, lacks_both, either(best.odd, other.odd), best.scale)
        return best

    return call


# Rounding.


def _whole(rounding: Any, vector: Vector) -> Vector:
    """Return doubles, rounded, as integers."""
    values = rounding(vector.values)
    is_within = (values >= -(2.0**63)) & (values < 2.0**63)
    return integer_vector(np.where(is_within, values, 0).astype(np.int64), vector, missing=~is_within)


def _to_whole(rounding: Any, of_quotient: Callable[[Any, Any], Any]) -> Callable[[Vector], Vector]:
    def call(vector: Vector) -> Vector:
        if not are_numbers(vector):
            return NOTHING
        if vector.of is Of.INTEGER:
            return vector
        if vector.of is Of.DOUBLE:
            return _whole(rounding, vector)
        if vector.scale <= 0:
            return vector
        if vector.scale > _MOST_DIGITS:
            raise UnvectoredError
        quotients, rests = np.divmod(vector.values, 10**vector.scale)
        return vector._replace(values=of_quotient(quotients, rests), scale=0)

    return call


floor = _to_whole(np.floor, lambda quotients, _: quotients)
ceil = _to_whole(np.ceil, lambda quotients, rests: quotients + (rests != 0))


def rounded_vector(vector: Vector, digits: Vector) -> Vector:
    """Round half away from zero."""
    if not are_numbers(vector):
        return NOTHING
    n_digits = int(digits.values)
    if vector.of is Of.DOUBLE:
        return _rounded_doubles(vector, n_digits)
    if vector.of is Of.INTEGER:
        if n_digits >= 0:
            return vector
        raise UnvectoredError
    return rounded_decimals(vector, n_digits)


def rounded_decimals(vector: Vector, scale: int) -> Vector:
    """Return integers or decimals as decimals of at most this scale, rounded half away from zero."""
    less = vector.scale - scale
    if less <= 0:
        return vector._replace(of=Of.DECIMAL)
    if less > _MOST_DIGITS:
        raise UnvectoredError
    factor = 10**less
    sizes = np.abs(vector.values)
    is_large = (sizes > INT64_MAX - factor) | (sizes < 0)  # the smallest integer has no size
    values = np.sign(vector.values) * ((sizes + factor // 2) // factor)
    return _decimal_vector(values, scale, vector, odd=is_large)


def _rounded_doubles(vector: Vector, n_digits: int) -> Vector:
    """Round doubles as they are written. Where their digits may matter, the result is odd."""
    if not 0 <= n_digits <= 15:
        raise UnvectoredError
    power = 10.0**n_digits
    sizes = np.abs(vector.values)
    scaled = sizes * power
    whole = np.floor(scaled)
    rest = scaled - whole
    is_up = rest >= 0.5
    values = np.copysign((whole + is_up) / power, vector.values) + 0.0
    if n_digits == 0:
        is_kept = scaled >= _EXACT_DOUBLE
        return vector._replace(values=np.where(is_kept, vector.values, values))
    # A product below 2**40 is off by less than 2**-13.
    is_unsure = (scaled >= 2.0**40) | (np.abs(rest - 0.5) < 0.001)
    is_infinite = np.isinf(vector.values)
    values = np.where(is_infinite, vector.values, values)
    return vector._replace(values=values, odd=either(vector.odd, mask_of(is_unsure & ~is_infinite)))


# Comparison.

_TESTS: Final[dict[str, Callable[[Any, Any], NDArray[np.bool_]]]] = {
    "=": np.equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compare_numbers(op: str, left: Vector, right: Vector) -> Vector:
    """Return whether a comparison of numbers holds."""
    one, other = _alike(left, right)
    return compare_values(op, one, other)


def compare_values(op: str, left: Vector, right: Vector) -> Vector:
    """Return whether a comparison holds between values that NumPy orders as the language does."""
    return Vector(Of.BOOLEAN, _TESTS[op](left.values, right.values), *_masks((left, right), None, None))


FUNCTIONS: Final[dict[str, Callable[..., Vector]]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": quotient_vector,
    "%": remainder_vector,
    "pmod": positive_remainder_vector,
    "div": whole_quotient_vector,
    "negative": negative_vector,
    "abs": absolute_vector,
    "greatest": _extreme(np.greater),
    "least": _extreme(np.less),
    "round": rounded_vector,
    "floor": floor,
    "ceil": ceil,
}
