"""Random draws that stay the same across machines, versions of numpy, and how many are asked for."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Stream:
    """An endless source of draws that a seed and a path name.

    Everything is made from the raw words of the bit generator: numpy keeps those forever, but reserves the
    right to change how its own methods turn words into numbers.
    """

    def __init__(self, seed: int, *path: int | str) -> None:
        words = [zlib.crc32(step.encode()) if isinstance(step, str) else step for step in path]
        self._bits = np.random.PCG64(np.random.SeedSequence([seed, *words]))

    def uniform(self, *shape: int) -> Floats:
        """Return doubles in [0, 1), 53 bits each."""
        words = self._bits.random_raw(math.prod(shape)) >> np.uint64(11)
        # Signed words of 53 bits are the same numbers, and become doubles much faster than unsigned ones.
        return words.view(np.int64).reshape(shape).astype(np.float64) * np.float64(2.0**-53)

    def integers(self, below: int | Integers, *shape: int) -> Integers:
        """Return integers in [0, below). `below` broadcasts against the shape."""
        return (self.uniform(*shape) * below).astype(np.int64)

    def choose(self, cumulative: Floats, *shape: int) -> Integers:
        """Return positions in a distribution that `cumulative` made."""
        return np.searchsorted(cumulative, self.uniform(*shape), side="right")

    def normal(self, n: int) -> Floats:
        """Return Gaussian draws of mean 0 and variance 1, by Box and Muller's method."""
        radius, angle = self.uniform(2, n)
        drawn: Floats = np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * angle)
        return drawn

    def distinct(self, below: int, n_chosen: int, n: int) -> Integers:
        """Return `n` rows of `n_chosen` different integers in [0, below), ascending. Every subset is equally likely.

        This is Floyd's method: as many draws as are chosen, whatever the size of the range.
        """
        chosen = np.empty((n, n_chosen), np.int64)
        for column in range(n_chosen):
            last = below - n_chosen + column
            drawn = self.integers(last + 1, n)
            taken = (chosen[:, :column] == drawn[:, None]).any(axis=1)
            chosen[:, column] = np.where(taken, last, drawn)
        chosen.sort(axis=1)
        return chosen


def cumulative(weights: Sequence[float] | Floats) -> Floats:
    """Return the cumulative distribution of weights that need not sum to one; the last is exactly 1."""
    sums = np.cumsum(np.asarray(weights, np.float64))
    distribution: Floats = sums / sums[-1]
    return distribution


def zipf_weights(n: int, exponent: float) -> Floats:
    """Return the weights of ranks 1 to `n` under P(r) = C / r^exponent, unnormalised; exponent 0 is uniform."""
    weights: Floats = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return weights
