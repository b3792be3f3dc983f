"""Single instructions of the processor that Python lacks: the lowest set bit, the number of set bits, a prefetch.

These functions are their plain forms. instructions.py has what they compile to.
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


def prefetch(array: NDArray[Any], index: int | np.integer[Any]) -> None:
    """Ask for the cache line of `array[index]` (one dimension). The index may lie outside the array.

    A hint changes no result, so the plain form does nothing.
    """
