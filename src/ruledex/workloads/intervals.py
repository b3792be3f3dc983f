"""Scored subscriptions over intervals: ranked-pubsub2008, Section 4 ("Data Set") and Table 1.

Points come from a Zipfian generator over a grid of c parts per dimension: regions are hyper-rectangles of the grid
placed at random, a point's region follows a Zipf law over the regions and its cell one that makes cells far from
the region's middle unlikely; the point is uniform in its cell. An event is a point. A subscription is a point and a
length l per dimension, from a Zipf law: the intervals [x - l, x + l], each with the score 1 - l.

The paper leaves some things open, which are chosen here: a region has the same portion of every dimension; its volume
is uniform between the two bounds; within a region each dimension follows P(distance) ~ 1 / (1 + distance)^skew_within
for itself, so that ten dimensions cost no more than ten times one; a length is drawn as a point is, a part of the c by
its rank and then uniform within the part. Intervals may reach out of [0, 1], as the formula has them. Everything is
rounded to six decimals, so that texts, arrays and events agree exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ruledex.forks import cached_property
from ruledex.workloads.base import (
    EVENTS_PER_BLOCK,
    RULES_PER_BLOCK,
    Event,
    EventBlock,
    Floats,
    Integers,
    Stream,
    Workload,
    concatenate,
    cumulative,
    decimals,
    join_groups,
    require,
    zipf_weights,
)

N_DIGITS = 6
UNITS = 10**N_DIGITS


class IntervalArrays(NamedTuple):
    """Subscriptions as flat arrays, each of shape (n_dimensions, n): closed bounds, and the score when hit."""

    left: Floats
    right: Floats
    score: Floats


class Regions(NamedTuple):
    """First cell and number of cells of each region in each dimension."""

    first: Integers
    size: Integers


@dataclass(frozen=True)
class PointEvents(EventBlock):
    """A block of points, in units; one row per dimension."""

    schema: pa.Schema
    units: Integers

    def dicts(self) -> list[Event]:
        """Return the points as dictionaries of d0, d1, ..."""
        names = self.schema.names
        return [dict(zip(names, point, strict=True)) for point in (self.units / UNITS).T.tolist()]

    def record_batch(self) -> pa.RecordBatch:
        """Return the points as one column per dimension."""
        return pa.record_batch([pa.array(row / UNITS) for row in self.units], schema=self.schema)


@dataclass(frozen=True)
class SubscriptionIntervals(Workload):
    """Table 1's data parameters.

    `n_points` is c, the parts of every dimension. `min_volume` and `max_volume` bound a region's volume as a
    portion of the grid; Table 1 gives both as 1/20. The lower `skew_length`, the longer the intervals.
    """

    n_dimensions: int = 1
    skew_length: float = 0.75
    n_regions: int = 10
    n_points: int = 100
    min_volume: float = 1 / 20
    max_volume: float = 1 / 20
    skew_across: float = 0.0
    skew_within: float = 1.0

    def _validate(self) -> None:
        for name in ("n_dimensions", "n_regions", "n_points"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1, not {getattr(self, name)}")
        for name in ("skew_length", "skew_across", "skew_within"):
            require(getattr(self, name) >= 0, f"{name} must not be negative, not {getattr(self, name)}")
        require(
            0 < self.min_volume <= self.max_volume <= 1,
            f"0 < min_volume <= max_volume <= 1 must hold, not {self.min_volume} and {self.max_volume}",
        )

    @cached_property
    def _regions(self) -> Regions:
        stream = Stream(self.seed, "regions")
        volume = self.min_volume + (self.max_volume - self.min_volume) * stream.uniform(self.n_regions)
        side = np.maximum(1, np.rint(self.n_points * volume ** (1 / self.n_dimensions))).astype(np.int64)
        size = np.broadcast_to(side[:, None], (self.n_regions, self.n_dimensions))
        first = stream.integers(self.n_points - size + 1, self.n_regions, self.n_dimensions)
        return Regions(first, size)

    @cached_property
    def _cell_laws(self) -> dict[int, Floats]:
        """For each size of region that occurs, the cumulative law of its cells in one dimension."""
        laws = {}
        for size in np.unique(self._regions.size).tolist():
            distance = np.abs(np.arange(size) - (size - 1) / 2)
            laws[size] = cumulative((1 + distance) ** -self.skew_within)
        return laws

    def _draw_points(self, stream: Stream, n: int) -> Integers:
        """Points in units, of shape (n_dimensions, n)."""
        regions = stream.choose(cumulative(zipf_weights(self.n_regions, self.skew_across)), n)
        sizes = self._regions.size[regions].T
        uniform = stream.uniform(self.n_dimensions, n)
        cells = self._regions.first[regions].T.copy()
        for size, law in self._cell_laws.items():
            of_size = sizes == size
            cells[of_size] += np.searchsorted(law, uniform[of_size], side="right")
        within = stream.uniform(self.n_dimensions, n)
        points: Integers = np.rint((cells + within) / self.n_points * UNITS).astype(np.int64)
        return points

    def _draw_subscriptions(self, block: int) -> tuple[Integers, Integers, Integers]:
        """Left and right bounds and scores of a block of rules, in units, of shape (n_dimensions, n)."""
        stream = Stream(self.seed, "rules", block)
        middle = self._draw_points(stream, RULES_PER_BLOCK)
        shape = (self.n_dimensions, RULES_PER_BLOCK)
        parts = stream.choose(cumulative(zipf_weights(self.n_points, self.skew_length)), *shape)
        lengths = np.rint((parts + stream.uniform(*shape)) / self.n_points * UNITS).astype(np.int64)
        return middle - lengths, middle + lengths, UNITS - lengths

    def _rule_block(self, block: int) -> pa.StringArray:
        left, right, score = (decimals(units.T.ravel(), N_DIGITS) for units in self._draw_subscriptions(block))
        names = pa.array([f"(d{dimension}" for dimension in range(self.n_dimensions)] * RULES_PER_BLOCK)
        predicates = concatenate(names, " BETWEEN ", left, " AND ", right, ")^", score)
        counts = np.full(RULES_PER_BLOCK, self.n_dimensions)
        return join_groups(predicates, counts, pa.repeat(" AND ", RULES_PER_BLOCK))

    def arrays(self, n: int) -> IntervalArrays:
        """Return the first `n` rules as arrays; the numbers are exactly those of the texts."""
        require(n >= 0, f"the number asked for must not be negative, not {n}")
        arrays = IntervalArrays(*(np.empty((self.n_dimensions, n)) for _ in range(3)))
        for start in range(0, n, RULES_PER_BLOCK):
            end = min(n, start + RULES_PER_BLOCK)
            for array, units in zip(arrays, self._draw_subscriptions(start // RULES_PER_BLOCK), strict=True):
                array[:, start:end] = units[:, : end - start] / UNITS
        return arrays

    def _event_schema(self) -> pa.Schema:
        return pa.schema([(f"d{dimension}", pa.float64()) for dimension in range(self.n_dimensions)])

    def _event_block(self, block: int) -> PointEvents:
        points = self._draw_points(Stream(self.seed, "events", block), EVENTS_PER_BLOCK)
        return PointEvents(self._event_schema(), points)
