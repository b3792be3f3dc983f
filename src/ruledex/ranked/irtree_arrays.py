"""The arrays of an IR-tree: which there are, how they grow, and how they are filled at first."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.inputs import frozen
from ruledex.kernels.ranked_irtree import CHUNKS, DEPTH, ENTRIES, IDS, NODES, UPPER, IRTreeIndex
from ruledex.kernels.ranked_irtree_build import append_skeleton, collect_entries, sizes_of
from ruledex.kernels.ranked_skeleton import NO_NODE
from ruledex.ranked.intervals import Entries, Floats
from ruledex.ranked.packed import checked_branching
from ruledex.ranked.skeleton import skeleton_of

Item = TypeVar("Item", bound=np.generic)

DTYPES: dict[str, type[np.generic]] = {
    name: np.int64
    if name in ("used", "branching")
    else np.float64
    if name in ("pivot", "chunk_ends", "upper", "ends", "score")
    else np.int32
    for name in IRTreeIndex._fields
}

BY_NODE = ("pivot", "left", "right", "size", "first_chunk", "n_chunks", "chunk_room", "first_upper")
BY_CHUNK = ("chunk_start", "chunk_count", "chunk_capacity")
COUNTED = {
    **dict.fromkeys(BY_NODE, (NODES, 1)),
    **dict.fromkeys(BY_CHUNK, (CHUNKS, 1)),
    "chunk_ends": (CHUNKS, 2),
    "upper": (UPPER, 2),
    "ends": (ENTRIES, 2),
    "ids": (ENTRIES, 1),
    "score": (IDS, 1),
}  # which count of `used` says how much of an array is in use, and how many numbers each takes


def of_length(array: NDArray[Item], length: int) -> NDArray[Item]:
    """The array with room at its end. Arrays of one kind always have the same room, by which the kernels go."""
    if len(array) == length:
        return array
    made = np.empty(length, array.dtype)
    made[: len(array)] = array
    return made


def collected(index: IRTreeIndex, root: int) -> tuple[Floats, NDArray[np.int32], NDArray[np.int32]]:
    """The ends, ids and nodes of all entries of a node and of all below it."""
    n_entries = 0 if root == NO_NODE else int(index.size[root])
    ends, ids, nodes = np.empty(2 * n_entries), np.empty(n_entries, np.int32), np.empty(n_entries, np.int32)
    collect_entries(tuple(index), root, ends, ids, nodes)
    return ends, ids, nodes


def build_arrays(entries: Entries, branching: int) -> IRTreeIndex:
    """Arrays of just the right size, to be written."""
    checked_branching(branching)
    bounds = list(zip(entries.offsets[:-1].tolist(), entries.offsets[1:].tolist(), strict=True))
    built = [skeleton_of(entries.ends[2 * first : 2 * last], branching) for first, last in bounds]
    sizes = np.array([sizes_of(one.nodes, branching) for one in built]).sum(axis=0)
    rooms = {
        ENTRIES: len(entries.ids),
        CHUNKS: int(sizes[0]),
        UPPER: int(sizes[1]),
        NODES: sum(len(one.nodes.pivot) for one in built),
        IDS: len(entries.score),
    }
    arrays = {
        name: np.empty(rooms[COUNTED[name][0]] * COUNTED[name][1], dtype)
        for name, dtype in DTYPES.items()
        if name in COUNTED
    }
    used = np.zeros(6, np.int64)
    used[IDS], used[DEPTH] = len(entries.score), max(one.depth for one in built)
    roots = np.full(len(bounds), NO_NODE, np.int32)
    arrays["score"] = np.empty(0)  # no score is needed here, and the caller's may be shared
    index = IRTreeIndex(used=used, branching=np.array([branching]), roots=roots, **arrays)
    nobody = np.empty(0, np.int32)
    for tree, ((first, last), one) in enumerate(zip(bounds, built, strict=True)):
        if last > first:
            roots[tree] = used[NODES]
            ends, ids = entries.ends[2 * first : 2 * last], entries.ids[first:last]
            append_skeleton(
                tuple(index),
                nobody,
                one.nodes,
                one.order,
                frozen(ends, np.float64),
                frozen(ids, np.int32),
                int(roots[tree]),
            )
    return index._replace(score=entries.score)
