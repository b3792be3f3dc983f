"""Single instructions of the processor that Python lacks: bits of a word, eight bytes at once, a prefetch.

These functions are their plain forms. compiler.py has what they compile to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ONE = np.uint64(1)
ZERO = np.uint64(0)
SIX = np.uint64(6)  # a word has 2**6 bits
LOW_SIX = np.uint64(63)


def lowest_bit(word: np.uint64) -> int:
    """Return the place of the lowest set bit of a word that is not 0."""
    return (int(word) & -int(word)).bit_length() - 1


def n_bits(word: np.uint64) -> int:
    """Return the number of set bits of a word."""
    return int(word).bit_count()


def eight_bytes(data: NDArray[np.uint8], index: np.uint64) -> np.uint64:
    """Return the eight bytes from `index` on, which lie all in the array, as a word; the first byte is the lowest."""
    return np.uint64(int.from_bytes(data[int(index) : int(index) + 8].tobytes(), "little"))


def swapped_bytes(word: np.uint64) -> np.uint64:
    """Return a word with its bytes in the opposite order."""
    return np.uint64(int.from_bytes(int(word).to_bytes(8, "little"), "big"))


def prefetch(array: NDArray[Any], index: int | np.integer[Any]) -> None:
    """Ask for the cache line of `array[index]` (one dimension). The index may lie outside the array.

    A hint changes no result, so the plain form does nothing.
    """
