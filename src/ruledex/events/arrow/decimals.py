"""Decimals of Arrow columns as whole numbers of 64 or 128 bits, and the cuts of a domain among such numbers.

A decimal of a column is a whole number n that stands for n / 10**scale. Each cut has two thresholds: the least n that
is not below the cut, and the least n that is above it. The cell of a decimal is how many thresholds are not above it.
So the cells of a column are found by one search among whole numbers, without a Decimal per value. Against doubles a
decimal compares as the nearest double. Rounding keeps the order, so the thresholds of a double are found by the same
rule, from the numbers that round to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.events.arrow.buffers import view_buffer
from ruledex.events.arrow.taking import Array
from ruledex.language.value import INT64_MAX, INT64_MIN

_WIDTHS: Final[dict[int, np.dtype[Any]]] = {32: np.dtype(np.int32), 64: np.dtype(np.int64)}


class Decimals(NamedTuple):
    """Whole numbers, which stand for themselves divided by 10**scale."""

    low: NDArray[np.int64]  # the lower 64 bits, which are all if there are no higher ones
    high: NDArray[np.int64] | None  # None if all numbers have 64 bits
    scale: int


def is_narrow_decimal(kind: Any) -> bool:
    """Whether a type is one of decimals that have at most 128 bits."""
    return bool(pa.types.is_decimal(kind)) and kind.bit_width <= 128


def take_decimals(array: Array, places: NDArray[np.int64]) -> Decimals:
    """Return the decimals at some places, none of which is null."""
    kind, length = array.type, len(array)
    if kind.bit_width < 128:
        numbers = view_buffer(array.buffers()[1], _WIDTHS[kind.bit_width], array.offset, length)
        return Decimals(numbers[places].astype(np.int64), None, kind.scale)
    words = view_buffer(array.buffers()[1], _WIDTHS[64], 2 * array.offset, 2 * length).reshape(-1, 2)
    if len(places) < length:
        words = words[places]
    low = np.ascontiguousarray(words[:, 0])
    if ((low >> 63) == words[:, 1]).all():
        return Decimals(low, None, kind.scale)
    return Decimals(low, np.ascontiguousarray(words[:, 1]), kind.scale)


@jit
def wide_cells(
    low: NDArray[np.uint64],
    high: NDArray[np.int64],
    threshold_low: NDArray[np.uint64],
    threshold_high: NDArray[np.int64],
    first_cell: int,
    out: NDArray[np.int32],
) -> None:
    """Write the cell of each number of 128 bits: how many thresholds are not above it, counted from `first_cell`."""
    for place in range(low.size):
        begin, end = 0, threshold_high.size
        while begin < end:
            middle = (begin + end) >> 1
            upper = threshold_high[middle]
            if upper < high[place] or (upper == high[place] and threshold_low[middle] <= low[place]):
                begin = middle + 1
            else:
                end = middle
        out[place] = first_cell + begin


_INT128: Final = 1 << 127
_BEYOND: Final = 1 << 200  # more than any number of 128 bits
_MOST_DIGITS: Final = 400  # of a cut, before or behind the point, that are worth writing out
_PAST_DOUBLES: Final = Fraction(1 << 1024)


class Thresholds(NamedTuple):
    """Whole numbers of 128 bits, ascending; those of 64 bits stand by themselves too."""

    narrow: NDArray[np.int64]
    n_below: int  # that are below all numbers of 64 bits
    high: NDArray[np.int64]
    low: NDArray[np.uint64]
    n_below_wide: int  # that are below all numbers of 128 bits


def exact_thresholds(cuts: Iterable[int | Decimal], scale: int) -> Thresholds:
    """Return the thresholds of integers and decimals."""
    return _thresholds(cuts, lambda cut: _of_number(cut, scale))


def double_thresholds(cuts: Iterable[float], scale: int) -> Thresholds:
    """Return the thresholds of doubles."""
    return _thresholds(cuts, lambda cut: _of_double(cut, scale))


def _thresholds(cuts: Iterable[Any], of_cut: Callable[[Any], tuple[int, int]]) -> Thresholds:
    found = [threshold for cut in cuts for threshold in of_cut(cut)]
    narrow = [threshold for threshold in found if INT64_MIN <= threshold <= INT64_MAX]
    wide = [threshold for threshold in found if -_INT128 <= threshold < _INT128]
    return Thresholds(
        np.array(narrow, np.int64),
        sum(threshold < INT64_MIN for threshold in found),
        np.array([threshold >> 64 for threshold in wide], np.int64),
        np.array([threshold & (1 << 64) - 1 for threshold in wide], np.uint64),
        sum(threshold < -_INT128 for threshold in found),
    )


def _of_number(cut: int | Decimal, scale: int) -> tuple[int, int]:
    if isinstance(cut, Decimal) and cut:
        n_before = cut.adjusted() + scale
        if abs(n_before) > _MOST_DIGITS:
            near = 1 if cut > 0 else -1
            return (near * _BEYOND, near * _BEYOND) if n_before > 0 else ((1, 1) if near > 0 else (0, 0))
    scaled = Fraction(cut) * Fraction(10) ** scale
    return math.ceil(scaled), math.floor(scaled) + 1


def _of_double(cut: float, scale: int) -> tuple[int, int]:
    """Return the least number whose double is not below the cut, and the least whose double is above it."""
    power = Fraction(10) ** scale
    below, above = _exact(math.nextafter(cut, -math.inf)), _exact(math.nextafter(cut, math.inf))
    exact = _exact(cut)
    least, past = -_BEYOND, _BEYOND
    if cut != -math.inf:
        least = math.ceil((below + exact) / 2 * power)
        least += _nearest(least, power) < cut  # halfway between two doubles
    if cut != math.inf:
        past = math.floor((exact + above) / 2 * power)
        past += _nearest(past, power) <= cut
    return least, past


def _exact(value: float) -> Fraction:
    if math.isinf(value):
        return _PAST_DOUBLES if value > 0 else -_PAST_DOUBLES
    return Fraction(value)


def _nearest(number: int, power: Fraction) -> float:
    try:
        return float(number / power)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
