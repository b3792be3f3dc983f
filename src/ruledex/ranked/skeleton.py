"""The binary tree under interval trees and IR-trees, of one tree's entries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import frozen
from ruledex.kernels.ranked_skeleton import Skeleton, build_skeleton
from ruledex.ranked.intervals import Floats


class BuiltSkeleton(NamedTuple):
    """Nodes as many as there are, the order of the entries that they speak of, and how deep the deepest one lies."""

    nodes: Skeleton
    order: NDArray[np.int32]
    depth: int


def skeleton_of(ends: Floats, most: int) -> BuiltSkeleton:
    """The nodes over intervals in descending order of scores; at most `most` stay together without a pivot."""
    n_entries = len(ends) // 2
    # Nodes with a pivot have more than `most` intervals in and below them, and each level halves them: at most
    # 2n / most nodes with a pivot, two children each.
    n_room = 6 * n_entries // most + 4
    numbers = [np.empty(n_room, np.int32) for _ in range(4)]
    nodes = Skeleton(np.empty(n_room), *numbers)
    order = np.empty(n_entries, np.int32)
    n_nodes, depth = build_skeleton(frozen(ends, np.float64), most, nodes, order)
    return BuiltSkeleton(Skeleton(nodes.pivot[:n_nodes], *(array[:n_nodes] for array in numbers)), order, depth)
