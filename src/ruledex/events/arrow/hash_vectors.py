"""The hashes of whole columns, as language/functions/hashes.py has them for one value.

Texts are hashed step by step: one step takes the next word of every text that is long enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.events.arrow.buffers import view_buffer
from ruledex.events.arrow.number_vectors import as_doubles
from ruledex.events.arrow.vectors import Mask, Of, UnvectoredError, Vector, either, mask_of
from ruledex.language.functions.hashes import INT_TYPES
from ruledex.language.functions.text import INT32_MAX, INT32_MIN

Digests = NDArray[Any]  # unsigned, of 32 or 64 bits
_SEED: Final = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


def _turned(values: Digests, bits: int) -> Digests:
    width = values.dtype.itemsize * 8
    turned: Digests = (values << values.dtype.type(bits)) | (values >> values.dtype.type(width - bits))
    return turned


def _words_in(data: NDArray[np.uint8], kind: type) -> Digests:
    """Return the word that begins at each byte."""
    width = np.dtype(kind).itemsize
    return np.ndarray((max(0, len(data) - width + 1),), kind, data, strides=(1,))


# Murmur3 of 32 bits.


def _mix(digests: Digests, words: Digests) -> Digests:
    words = _turned(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed: Digests = _turned(digests ^ words, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    return mixed


def _murmur_end(digests: Digests, sizes: Any) -> Digests:
    digests = digests ^ np.asarray(sizes, np.uint32)
    digests = (digests ^ digests >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    digests = (digests ^ digests >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    ended: Digests = digests ^ digests >> np.uint32(16)
    return ended


def _murmur_words(words: NDArray[np.uint32], digests: Digests) -> Digests:
    """Mix the words of each value, one column per word."""
    for column in words.T:
        digests = _mix(digests, column)
    return _murmur_end(digests, 4 * words.shape[1])


def _murmur_texts(
    begins: NDArray[np.int64], sizes: NDArray[np.int64], data: NDArray[np.uint8], seeds: Digests
) -> Digests:
    digests, words = seeds.copy(), _words_in(data, np.uint32)
    for number in range(int((sizes >> 2).max(initial=0))):
        at = np.flatnonzero(sizes >> 2 > number)
        digests[at] = _mix(digests[at], words[begins[at] + 4 * number])
    for number in range(3):
        at = np.flatnonzero(sizes & 3 > number)
        rest = data[begins[at] + (sizes[at] & ~3) + number]
        digests[at] = _mix(digests[at], rest.view(np.int8).astype(np.uint32))
    return _murmur_end(digests, sizes)


# xxHash of 64 bits.


def _xx_round(state: Any, words: Digests) -> Digests:
    return _turned(state + words * _P2, 31) * _P1


def _xx_eight(digests: Digests, words: Digests) -> Digests:
    return _turned(digests ^ _xx_round(np.uint64(0), words), 27) * _P1 + _P4


def _xx_four(digests: Digests, words: Digests) -> Digests:
    return _turned(digests ^ words.astype(np.uint64) * _P1, 23) * _P2 + _P3


def _xx_end(digests: Digests) -> Digests:
    digests = (digests ^ digests >> np.uint64(33)) * _P2
    digests = (digests ^ digests >> np.uint64(29)) * _P3
    ended: Digests = digests ^ digests >> np.uint64(32)
    return ended


def _xx_words(words: NDArray[np.uint32], seeds: Digests) -> Digests:
    digests = seeds + _P5 + np.uint64(4 * words.shape[1])
    if words.shape[1] == 1:
        return _xx_end(_xx_four(digests, words[:, 0]))
    return _xx_end(_xx_eight(digests, words.view(np.uint64)[:, 0]))


def _xx_texts(begins: NDArray[np.int64], sizes: NDArray[np.int64], data: NDArray[np.uint8], seeds: Digests) -> Digests:
    eights, fours = _words_in(data, np.uint64), _words_in(data, np.uint32)
    digests = seeds + _P5
    long = np.flatnonzero(sizes >= 32)
    if len(long):
        digests[long] = _xx_stripes(begins[long], sizes[long] >> 5, eights, seeds[long])
    digests += sizes.astype(np.uint64)
    begins = begins + (sizes & ~31)
    rest = sizes & 31
    for number in range(3):
        at = np.flatnonzero(rest >> 3 > number)
        digests[at] = _xx_eight(digests[at], eights[begins[at] + 8 * number])
    begins = begins + (rest & ~7)
    at = np.flatnonzero(rest & 4)
    digests[at] = _xx_four(digests[at], fours[begins[at]])
    begins = begins + (rest & 4)
    for number in range(3):
        at = np.flatnonzero(rest & 3 > number)
        digests[at] = _turned(digests[at] ^ data[begins[at] + number].astype(np.uint64) * _P5, 11) * _P1
    return _xx_end(digests)


def _xx_stripes(begins: NDArray[np.int64], n_stripes: NDArray[np.int64], words: Digests, seeds: Digests) -> Digests:
    states = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    for number in range(int(n_stripes.max())):
        at = np.flatnonzero(n_stripes > number)
        for lane, state in enumerate(states):
            state[at] = _xx_round(state[at], words[begins[at] + 32 * number + 8 * lane])
    digests = sum(
        (_turned(state, bits) for state, bits in zip(states, (1, 7, 12, 18), strict=True)), np.zeros_like(seeds)
    )
    for state in states:
        digests = (digests ^ _xx_round(np.uint64(0), state)) * _P1 + _P4
    return digests


_MURMUR: Final = (np.uint32, np.int32, _murmur_words, _murmur_texts)
_XX: Final = (np.uint64, np.int64, _xx_words, _xx_texts)
HASHES: Final[dict[str, tuple[Any, Any, Callable[..., Any], Callable[..., Any]]]] = {"hash": _MURMUR, "xxhash64": _XX}


def hash_vector(name: str, vectors: Sequence[Vector], types: Sequence[str], n_events: int) -> Vector:
    """Return the hashes of all values. `types` are Spark's names for the types of the vectors, or empty."""
    unsigned, signed, of_words, of_texts = HASHES[name]
    digests: Digests = np.full(n_events, _SEED, unsigned)
    odd: Mask | None = None
    for vector, kind in zip(vectors, types, strict=True):
        if vector.of is Of.NOTHING:  # a missing argument changes nothing
            continue
        if vector.of is Of.TEXT:
            hashed = of_texts(*_texts_of(vector, n_events), digests)
        else:
            words, is_odd = _words_of(vector, kind)
            odd = either(odd, is_odd)
            hashed = of_words(np.broadcast_to(words, (n_events, words.shape[-1])), digests)
        digests = hashed if vector.missing is None else np.where(vector.missing, digests, hashed)
        odd = either(odd, vector.odd)
    return Vector(Of.INTEGER, digests.view(signed).astype(np.int64), None, odd)


def _words_of(vector: Vector, kind: str) -> tuple[NDArray[np.uint32], Mask | None]:
    """Return what Spark hashes of each value, as words of 32 bits."""
    if vector.of is Of.DECIMAL or kind.startswith("decimal"):
        raise UnvectoredError
    if vector.of in (Of.BOOLEAN, Of.DAY):
        return _halves(vector.values.astype(np.int32)), None
    if vector.of is Of.MOMENT:
        return _halves(vector.values), None
    if kind == "float":
        doubles = as_doubles(vector).values + 0.0
        singles = doubles.astype(np.float32)
        return _halves(singles), mask_of(np.isinf(singles) & ~np.isinf(doubles))
    if vector.of is Of.DOUBLE or kind == "double":
        return _halves(as_doubles(vector).values + 0.0), None  # which turns -0.0 into 0.0
    if kind not in INT_TYPES:
        return _halves(vector.values), None
    is_long = (vector.values < INT32_MIN) | (vector.values > INT32_MAX)
    return _halves(vector.values.astype(np.int32)), mask_of(is_long)


def _halves(values: Any) -> NDArray[np.uint32]:
    array = np.ascontiguousarray(values)
    return array.view(np.uint32).reshape(-1, array.dtype.itemsize // 4)


def _texts_of(vector: Vector, n_events: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    if vector.is_constant:
        try:
            data = np.frombuffer(vector.values.encode(), np.uint8)
        except UnicodeEncodeError:  # half of a surrogate pair
            raise UnvectoredError from None
        return np.zeros(n_events, np.int64), np.full(n_events, len(data)), data
    texts = vector.values.cast(pa.large_string())
    _, offsets, buffer = texts.buffers()
    begins = view_buffer(offsets, np.dtype(np.int64), texts.offset, len(texts) + 1)
    data = view_buffer(buffer, np.dtype(np.uint8), 0, 0 if buffer is None else buffer.size)
    sizes = np.diff(begins)
    if vector.missing is not None:
        sizes = np.where(vector.missing, 0, sizes)
    return begins[:-1], sizes, data
