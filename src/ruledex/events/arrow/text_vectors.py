"""Functions of texts as vectors, as language/functions/text.py has them. What Unicode makes special is odd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ruledex.events.arrow.number_vectors import integer_vector
from ruledex.events.arrow.taking import Array
from ruledex.events.arrow.vectors import NOTHING, Mask, Of, UnvectoredError, Vector, either, text_vector

_TESTS: Final = {"=": "equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


def _of_texts(compute: Callable[..., Vector]) -> Callable[..., Vector]:
    """Return a function of an array of texts and constants. Anything else than a text has no value."""

    def call(vector: Vector, *constants: Vector) -> Vector:
        if vector.of is not Of.TEXT:
            return NOTHING
        if vector.is_constant or not all(constant.is_constant for constant in constants):
            raise UnvectoredError
        return compute(vector, *constants)

    return call


def _in_case(convert: Callable[[Array], Array]) -> Callable[[Vector], Vector]:
    def call(vector: Vector) -> Vector:
        is_plain = pc.fill_null(pc.string_is_ascii(vector.values), True).to_numpy(zero_copy_only=False)
        odd: Mask | None = None if is_plain.all() else ~is_plain
        return text_vector(convert(vector.values), either(vector.odd, odd))

    return call


def _length(vector: Vector) -> Vector:
    lengths = pc.fill_null(pc.utf8_length(vector.values), 0).to_numpy(zero_copy_only=False)
    return integer_vector(lengths.astype(np.int64), vector)


def _substring(vector: Vector, position: Vector, length: Vector) -> Vector:
    start, n_characters = int(position.values), int(length.values)
    begin = start - 1 if start > 0 else start
    end: int | None = begin + n_characters
    if start < 0 and begin + n_characters >= 0:
        end = None
    if n_characters <= 0 or (end is not None and end <= begin):
        empty = pa.scalar("", vector.values.type)
        return text_vector(pc.if_else(pc.is_valid(vector.values), empty, vector.values), vector.odd)
    return text_vector(pc.utf8_slice_codeunits(vector.values, start=begin, stop=end), vector.odd)


def _trim(vector: Vector) -> Vector:
    return text_vector(pc.ascii_trim(vector.values, characters=" "), vector.odd)


def compare_texts(op: str, left: Vector, right: Vector) -> Vector:
    """Return whether a comparison of texts holds. The bytes of UTF-8 sort as its characters do."""
    if left.is_constant or right.is_constant:
        raise UnvectoredError
    one, other = left.values, right.values
    if one.type != other.type:
        one, other = one.cast(pa.large_string()), other.cast(pa.large_string())
    truths: Any = pc.fill_null(pc.call_function(_TESTS[op], [one, other]), False)
    return Vector(
        Of.BOOLEAN,
        truths.to_numpy(zero_copy_only=False),
        either(left.missing, right.missing),
        either(left.odd, right.odd),
    )


FUNCTIONS: Final[dict[str, Callable[..., Vector]]] = {
    "length": _of_texts(_length),
    "lower": _of_texts(_in_case(pc.ascii_lower)),
    "upper": _of_texts(_in_case(pc.ascii_upper)),
    "substring": _of_texts(_substring),
    "trim": _of_texts(_trim),
}
