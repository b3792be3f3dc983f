"""`SOPTRTree`: an R-tree whose intervals are arranged so that its extents have few holes (Section 3.2)."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import frozen
from ruledex.kernels.ranked_sopt import arrange, constraint_graph
from ruledex.ranked.intervals import Entries
from ruledex.ranked.packed import PackedTree, packed

BRANCHING = 32


class Edges(NamedTuple):
    """The constraint graph: intervals by their places in descending order of scores, grouped by target."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]


class SOPTRTree(PackedTree):
    """Fastest for points, and never more than 2k + 1 nodes a level for the best k. It does not change once built.

    Only intervals that share a point are in the order of their scores, so that what overlaps an interval has no order.
    """

    name = "sopt"
    can_overlap = False

    @classmethod
    def from_entries(cls, entries: Entries, *, branching: int = BRANCHING, **unknown: Any) -> Self:
        """Arrange each tree's entries, and put extents over each `branching` of them."""
        if unknown:
            raise TypeError(f"unknown options: {', '.join(unknown)}")
        order = np.empty(len(entries.ids), np.int64)
        for first, last in zip(entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True):
            order[first:last] = first + arrangement(entries.ends[2 * first : 2 * last])
        ends = entries.ends.reshape(-1, 2)[order].reshape(-1)
        arranged = entries._replace(ends=frozen(ends, np.float64), ids=frozen(entries.ids[order], np.int32))
        return cls(tuple(packed(arranged, branching)))


def edges_between(ends: NDArray[np.float64]) -> Edges:
    """The constraint graph of intervals in descending order of scores."""
    distinct, ranks = np.unique(ends, return_inverse=True)
    with np.errstate(over="ignore"):
        has_gap = np.nextafter(distinct[:-1], np.inf) < distinct[1:]
    cell_of_end = np.arange(len(distinct))
    cell_of_end[1:] += np.cumsum(has_gap)
    cells = cell_of_end[ranks].astype(np.int32)
    low, high = np.ascontiguousarray(cells[0::2]), np.ascontiguousarray(cells[1::2])
    sources, targets = np.empty(3 * len(low), np.int32), np.empty(3 * len(low), np.int32)
    n_edges = constraint_graph(low, high, len(distinct) + int(has_gap.sum()), sources, targets)
    return Edges(sources[:n_edges], targets[:n_edges])


def arrangement(ends: NDArray[np.float64]) -> NDArray[np.int32]:
    """The places of the intervals, which are in descending order of scores, in Algorithm 1's order."""
    edges = edges_between(ends)
    n_intervals = len(ends) // 2
    out = np.empty(n_intervals, np.int32)
    by_left = np.argsort(ends[0::2], kind="stable").astype(np.int32)
    arrange(n_intervals, edges.sources, edges.targets, by_left, out)
    return out
