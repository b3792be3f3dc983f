"""Read columns of decimals as whole numbers of 64 or 128 bits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.events.arrow.buffers import view_buffer
from ruledex.events.arrow.taking import Array

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
