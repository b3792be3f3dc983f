"""Casts of vectors, as language/functions/casts.py has them for one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.events.arrow.buffers import view_buffer
from ruledex.events.arrow.clocks import unsafe_moments
from ruledex.events.arrow.number_vectors import as_doubles, integer_vector, rounded_decimals
from ruledex.events.arrow.taking import Array
from ruledex.events.arrow.vectors import NOTHING, NUMBERS, Of, UnvectoredError, Vector, either, mask_of, text_vector
from ruledex.language.functions.text import INT32_MAX, INT32_MIN
from ruledex.language.value import INT64_MAX

_SECOND: Final = 1_000_000  # microseconds
_MOST_SECONDS: Final = INT64_MAX // _SECOND
_EXACT_DOUBLE: Final = 1 << 53
_MOST_DIGITS: Final = 18


def cast_vector_to_bigint(vector: Vector) -> Vector:
    """Return whole numbers of 64 bits."""
    if vector.of is Of.INTEGER:
        return vector
    if vector.of is Of.TEXT:
        numbers, n_behind = _read_numbers(vector)
        # A text with a point is no whole number, though `10.` is read as if it had none.
        return integer_vector(numbers, vector, odd=_where_there(vector, n_behind != 0))
    if vector.of is Of.BOOLEAN:
        return vector._replace(of=Of.INTEGER, values=vector.values.astype(np.int64))
    if vector.of is Of.MOMENT:
        return vector._replace(of=Of.INTEGER, values=vector.values // _SECOND)
    if vector.of is Of.DOUBLE:
        is_within = (vector.values >= -(2.0**63)) & (vector.values <= 2.0**63)
        is_last = vector.values == 2.0**63
        values = np.where(is_within & ~is_last, vector.values, 0.0).astype(np.int64)
        return integer_vector(np.where(is_last, INT64_MAX, values), vector, missing=~is_within)
    if vector.of is Of.DECIMAL:
        return _truncated(vector)
    return NOTHING


def _truncated(vector: Vector) -> Vector:
    if not 0 <= vector.scale <= _MOST_DIGITS:
        raise UnvectoredError
    factor = 10**vector.scale
    values = (vector.values - np.fmod(vector.values, factor)) // factor
    return integer_vector(values, vector)


def cast_vector_to_int(vector: Vector) -> Vector:
    """Return whole numbers of 32 bits."""
    found = cast_vector_to_bigint(vector)
    if found.of is Of.NOTHING:
        return found
    return integer_vector(found.values, found, missing=(found.values < INT32_MIN) | (found.values > INT32_MAX))


def cast_vector_to_double(vector: Vector) -> Vector:
    """Return doubles."""
    if vector.of in NUMBERS:
        return as_doubles(vector)
    if vector.of is Of.BOOLEAN:
        return vector._replace(of=Of.DOUBLE, values=vector.values.astype(np.float64))
    if vector.of is Of.MOMENT:
        is_large = np.abs(vector.values) > _EXACT_DOUBLE
        return Vector(Of.DOUBLE, vector.values / float(_SECOND), vector.missing, either(vector.odd, mask_of(is_large)))
    if vector.of is Of.TEXT:
        numbers, n_behind = _read_numbers(vector)
        is_odd = (n_behind < 0) | (np.abs(numbers) > _EXACT_DOUBLE) | (numbers == 0)  # zero may have a sign
        values = numbers / 10.0 ** np.maximum(n_behind, 0)
        return Vector(Of.DOUBLE, values, vector.missing, either(vector.odd, mask_of(_where_there(vector, is_odd))))
    return NOTHING


def cast_vector_to_boolean(vector: Vector) -> Vector:
    """Return whether numbers are not zero."""
    if vector.of is Of.TEXT:
        raise UnvectoredError
    if vector.of in NUMBERS:
        return vector._replace(of=Of.BOOLEAN, values=vector.values != 0, scale=0)
    return vector if vector.of is Of.BOOLEAN else NOTHING


def cast_vector_to_string(vector: Vector) -> Vector:
    """Return texts."""
    if vector.of is Of.TEXT or vector.of is Of.NOTHING:
        return vector
    if vector.of not in (Of.INTEGER, Of.BOOLEAN) or vector.is_constant:
        raise UnvectoredError
    return text_vector(pc.cast(pa.array(vector.values, mask=vector.missing), pa.large_string()), vector.odd)


def cast_vector_to_timestamp(vector: Vector) -> Vector:
    """Return times so many seconds after 1970."""
    if vector.of in (Of.MOMENT, Of.NOTHING):
        return vector
    if vector.of is Of.BOOLEAN:
        return NOTHING
    if vector.of is not Of.INTEGER:
        raise UnvectoredError
    is_large = (vector.values > _MOST_SECONDS) | (vector.values < -_MOST_SECONDS)
    moments = np.where(is_large, 0, vector.values) * _SECOND
    return Vector(Of.MOMENT, moments, vector.missing, either(vector.odd, mask_of(is_large), unsafe_moments(moments)))


def cast_vector_to_decimal(vector: Vector, precision: Vector, scale: Vector) -> Vector:
    """Return decimals of so many digits."""
    if vector.of is Of.NOTHING or vector.of is Of.DAY:
        return NOTHING
    if vector.of not in (Of.INTEGER, Of.DECIMAL):
        raise UnvectoredError
    found = rounded_decimals(vector, int(scale.values))
    n_digits = int(precision.values) - int(scale.values) + found.scale
    if n_digits > _MOST_DIGITS:
        return found
    # What does not fit before it is rounded does not fit afterwards.
    least = 10**n_digits
    is_over = (found.values >= least) | (found.values <= -least)
    return found._replace(missing=either(found.missing, mask_of(is_over)))


# Texts that are numbers.


def _where_there(vector: Vector, is_set: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return is_set if vector.missing is None else is_set & ~vector.missing


def _read_numbers(vector: Vector) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the digits of each text as a number, and how many stand behind the point: -1 if it is not so plain."""
    if vector.is_constant:
        raise UnvectoredError
    texts: Array = vector.values.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    begins = view_buffer(offsets, np.dtype(np.int64), texts.offset, len(texts) + 1)
    numbers, n_behind = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    n_bytes = 0 if data is None else data.size
    read_plain_numbers(begins, view_buffer(data, np.dtype(np.uint8), 0, n_bytes), numbers, n_behind)
    return numbers, n_behind


@jit
def read_plain_numbers(
    offsets: NDArray[np.int64],
    text: NDArray[np.uint8],
    out: NDArray[np.int64],
    out_behind: NDArray[np.int64],
) -> None:
    """Write the number that each text of up to 18 digits is, without its point, and the digits behind the point.

    A text has digits, a sign before them or none, and a point among them or none. Of any other text -1 is written.
    """
    for place in range(offsets.size - 1):
        at, end = offsets[place], offsets[place + 1]
        is_negative = at < end and text[at] == 45
        if at < end and (text[at] == 45 or text[at] == 43):
            at += 1
        number, n_digits, n_behind, is_plain = np.int64(0), 0, -1, end - at <= 19
        while is_plain and at < end:
            byte = text[at]
            if 48 <= byte <= 57:
                number = number * 10 + np.int64(byte - 48)
                n_digits += 1
                if n_behind >= 0:
                    n_behind += 1
            elif byte == 46 and n_behind < 0:
                n_behind = 0
            else:
                is_plain = False
            at += 1
        is_plain = is_plain and 0 < n_digits <= 18
        # A point at the end is left to others, as everything that is not plain.
        is_plain = is_plain and n_behind != 0
        out[place] = (-number if is_negative else number) if is_plain else 0
        out_behind[place] = max(n_behind, 0) if is_plain else -1


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "cast_int": cast_vector_to_int,
    "cast_bigint": cast_vector_to_bigint,
    "cast_double": cast_vector_to_double,
    "cast_decimal": cast_vector_to_decimal,
    "cast_string": cast_vector_to_string,
    "cast_boolean": cast_vector_to_boolean,
    "cast_timestamp": cast_vector_to_timestamp,
}
