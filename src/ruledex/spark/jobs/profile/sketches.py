"""Sketch the values of a column in bounded space: the most frequent ones, and quantiles. Sketches can be merged.

Both sketches take whole Arrow arrays of one type without nulls, so a value costs part of a sort and no step of Python.
"""

from __future__ import annotations

import random
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Array: TypeAlias = Any  # pyarrow has no types of its own

_SHRINKS: Final = 2 / 3  # the capacity of a level, as a part of the capacity of the level above


class HeavyValues:
    """The most frequent values: the summary of Misra and Gries (1982), merged as in Agarwal et al. (2012).

    If more than `capacity` values have a count, the largest count that does not fit is subtracted from all. Each time
    at least `capacity` + 1 values lose as much, so no count is too low by more than n / (capacity + 1); `error` is the
    bound that was reached.
    """

    def __init__(self, kind: Any, capacity: int) -> None:
        self.capacity = capacity
        self.error = 0
        self.values: Array = pa.array([], kind)
        self.counts: NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, values: Array) -> None:
        """Count values."""
        counted = values.value_counts()
        self._join(counted.field(0), counted.field(1).to_numpy(), 0)

    def merge(self, other: HeavyValues) -> None:
        """Add the counts of another sketch."""
        self._join(other.values, other.counts, other.error)

    def _join(self, values: Array, counts: NDArray[np.int64], error: int) -> None:
        joined = pa.concat_arrays([self.values, values])
        self.values, self.counts = _sum_counts(joined, np.concatenate([self.counts, counts]))
        self.error += error
        if len(self.counts) > self.capacity:
            lost = int(np.partition(self.counts, -self.capacity - 1)[-self.capacity - 1])
            kept = np.flatnonzero(self.counts > lost)
            self.values = self.values.take(pa.array(kept))
            self.counts = self.counts[kept] - lost
            self.error += lost

    def found(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the values and their counts, the most frequent first; ties are in ascending order of values."""
        order = pc.sort_indices(self.values).to_numpy()
        order = order[np.argsort(-self.counts[order], kind="stable")]
        return self.values.take(pa.array(order)), self.counts[order]


class Quantiles:
    """A sample of values by rank: the sketch of Karnin, Lang and Liberty (2016).

    A value at level i stands for 2^i values. A full level is sorted, and every second value moves up, starting at the
    first or second by a coin toss. Capacities shrink downwards from `k` at the top, so that all levels hold fewer than
    3 k values plus two per level. The error of ranks falls as 1/k: it is about 1% for 200.
    """

    def __init__(self, kind: Any, k: int, seed: int = 0) -> None:
        self.k = k
        self.levels: list[Array] = [pa.array([], kind)]
        self._coin = random.Random(seed)

    def add(self, values: Array) -> None:
        """Add values."""
        self.levels[0] = pa.concat_arrays([self.levels[0], values])
        self._compress()

    def merge(self, other: Quantiles) -> None:
        """Add the values of another sketch."""
        for level, values in enumerate(other.levels):
            if level == len(self.levels):
                self.levels.append(values)
            else:
                self.levels[level] = pa.concat_arrays([self.levels[level], values])
        self._compress()

    def _compress(self) -> None:
        level = 0
        while level < len(self.levels):
            if len(self.levels[level]) > self._capacity(level):
                self._compact(level)
                # A new top level lowers the capacity of all levels below.
                level = 0 if level + 2 == len(self.levels) else level + 1
            else:
                level += 1

    def _capacity(self, level: int) -> int:
        return max(2, int(self.k * _SHRINKS ** (len(self.levels) - 1 - level)))

    def _compact(self, level: int) -> None:
        values = self.levels[level]
        values = values.take(pc.sort_indices(values))
        is_odd = len(values) % 2
        if level + 1 == len(self.levels):
            self.levels.append(pa.array([], values.type))
        chosen = np.arange(is_odd + self._coin.getrandbits(1), len(values), 2)
        self.levels[level + 1] = pa.concat_arrays([self.levels[level + 1], values.take(pa.array(chosen))])
        self.levels[level] = values.take(pa.array(np.arange(is_odd)))  # a value without a partner stays

    def found(self) -> tuple[Array, NDArray[np.int64]]:
        """Return the values in ascending order, each once, and how many values each stands for."""
        values = pa.concat_arrays(self.levels)
        weights = np.concatenate([np.full(len(held), 1 << level) for level, held in enumerate(self.levels)])
        values, weights = _sum_counts(values, weights)
        order = pc.sort_indices(values)
        return values.take(order), weights[order.to_numpy()]


def _sum_counts(values: Array, counts: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Return each value once, and the sum of its counts."""
    summed = pa.table({"value": values, "count": counts}).group_by("value").aggregate([("count", "sum")])
    return summed["value"].combine_chunks(), summed["count_sum"].to_numpy()
