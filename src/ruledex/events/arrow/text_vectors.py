"""Functions of texts as vectors, as language/functions/text.py has them. What Unicode makes special is odd."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ruledex import limits
from ruledex.compiled.arrays import frozen
from ruledex.compiled.decorator import jit
from ruledex.events.arrow.buffers import view_buffer
from ruledex.events.arrow.number_vectors import integer_vector
from ruledex.events.arrow.taking import Array
from ruledex.events.arrow.vectors import NOTHING, Mask, Of, UnvectoredError, Vector, either, text_vector
from ruledex.language.functions.hashes import SHA2

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


def _concat(*vectors: Vector) -> Vector:
    if any(vector.of is not Of.TEXT for vector in vectors):
        return NOTHING
    try:
        parts = [pa.scalar(v.values, pa.large_string()) if v.is_constant else v.values for v in vectors]
    except UnicodeEncodeError:  # half of a surrogate pair
        raise UnvectoredError from None
    parts = [
        part if vector.is_constant else part.cast(pa.large_string())
        for part, vector in zip(parts, vectors, strict=True)
    ]
    joined = pc.binary_join_element_wise(*parts, pa.scalar("", pa.large_string()), null_handling="emit_null")
    if (pc.max(pc.binary_length(joined)).as_py() or 0) > limits.current().concat_characters:
        raise UnvectoredError
    return text_vector(joined, either(*(vector.odd for vector in vectors)))


def bytes_of_texts(texts: Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each text begins, and where the last one ends, and the bytes of all."""
    large = texts.cast(pa.large_string())
    _, offsets, data = large.buffers()
    begins = view_buffer(offsets, np.dtype(np.int64), large.offset, len(large) + 1)
    return begins, view_buffer(data, np.dtype(np.uint8), 0, 0 if data is None else data.size)


def _crc32(vector: Vector) -> Vector:
    begins, data = bytes_of_texts(vector.values)
    checksums = np.empty(len(begins) - 1, np.int64)
    checksum_texts(begins, data, _CRC_STEPS, checksums)
    return integer_vector(checksums, vector)


def _crc_steps() -> NDArray[np.int64]:
    """Return what each byte does to a CRC of 32 bits, with the polynomial of zlib."""
    steps = np.arange(256, dtype=np.int64)
    for _ in range(8):
        steps = np.where(steps & 1, steps >> 1 ^ 0xEDB88320, steps >> 1)
    return frozen(steps, np.int64)


_CRC_STEPS: Final = _crc_steps()


@jit
def checksum_texts(
    begins: NDArray[np.int64], data: NDArray[np.uint8], steps: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Write the CRC of 32 bits of each text."""
    for place in range(out.size):
        checksum = np.int64(0xFFFFFFFF)
        for at in range(begins[place], begins[place + 1]):
            checksum = steps[(checksum ^ np.int64(data[at])) & np.int64(0xFF)] ^ checksum >> np.int64(8)
        out[place] = checksum ^ np.int64(0xFFFFFFFF)


def _digest(new: Callable[..., Any]) -> Callable[[Vector], Vector]:
    def call(vector: Vector) -> Vector:
        begins, data = bytes_of_texts(vector.values)
        whole, bounds = data.data, begins.tolist()
        digests = [new(whole[b:e], usedforsecurity=False).hexdigest() for b, e in pairwise(bounds)]
        return text_vector(pa.array(digests, pa.large_string(), mask=vector.missing), vector.odd)

    return call


def _sha2(vector: Vector, bits: Vector) -> Vector:
    return _digest(SHA2[int(bits.values)])(vector)


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
    "concat": _concat,
    "crc32": _of_texts(_crc32),
    "md5": _of_texts(_digest(hashlib.md5)),
    "sha1": _of_texts(_digest(hashlib.sha1)),
    "sha2": _of_texts(_sha2),
}

DIGESTS: Final = frozenset(("md5", "sha1", "sha2"))  # which Python computes value by value
