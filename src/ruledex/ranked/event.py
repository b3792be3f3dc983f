"""Events of a ranked index: numbers or intervals in some of its dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ruledex.errors import EventError
from ruledex.kernels.ranked_subscriptions import Event
from ruledex.ranked.subscriptions import checked_weights

Value = float | tuple[float, float]
EventLike = Mapping[int, Value] | Sequence[float] | NDArray[np.float64]


class EventRows(NamedTuple):
    """An event by dimension, the dimensions that it has, ascending, and whether it has a number in each of them."""

    event: Event
    dimensions: NDArray[np.int32]
    is_point: bool


def event_rows(event: EventLike, n_dimensions: int, weights: ArrayLike | None = None) -> EventRows:
    """Read a mapping of dimensions to numbers or pairs (low, high), or one number for each dimension.

    What is NaN is not there.
    """
    if isinstance(event, Mapping):
        low, high = np.full(n_dimensions, np.nan), np.full(n_dimensions, np.nan)
        for dimension, value in event.items():
            if not 0 <= dimension < n_dimensions:
                raise EventError(f"the event has dimension {dimension}, the index has {n_dimensions}")
            low[dimension], high[dimension] = value if isinstance(value, tuple) else (value, value)
    else:
        low = np.array(event, np.float64)
        high = low
        if low.shape != (n_dimensions,):
            raise EventError(
                f"the event has the shape {low.shape}, one number for each of {n_dimensions} dimensions was expected"
            )
    if np.any(np.isnan(low) != np.isnan(high)) or np.any(low > high):
        raise EventError("an interval of the event is not two numbers, the smaller first")
    dimensions = np.flatnonzero(~np.isnan(low)).astype(np.int32)
    is_point = low is high or bool(np.all(low[dimensions] == high[dimensions]))
    return EventRows(Event(low, high, checked_weights(weights, n_dimensions)), dimensions, is_point)
