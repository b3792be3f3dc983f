"""Match one event with a growing A-Tree by a short way: all arrays go to the kernel as one number, and stay there.

A change writes to the arrays of a tree in place, unless they must grow. So what is prepared here for a tree holds over
many changes.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.handles import Handle, bytes_at, int32_at, int64_at, scratch32_at, scratch64_at, words_at
from ruledex.compiled.lists import sort_distinct
from ruledex.engines.atree.layout import Tree
from ruledex.engines.atree.match import MatchScratch, TreeIndex, collect_found, next_event, propagate
from ruledex.engines.atree.matcher import match_scratch

CELLS, OUT, ALIVE = 7, 8, 9  # in the handle of the scratch, behind the fields of MatchScratch
WIDTHS = 6  # in the handle of a tree
_FIRST_CELLS = 64
_NO_ALIVE = np.zeros(0, np.uint8)


@inlined
def tree_index(handle: int) -> TreeIndex:
    """Return the arrays of a tree."""
    rules, centers = int32_at(handle, 2), int32_at(handle, 3)
    return TreeIndex(
        int32_at(handle, 0),
        int32_at(handle, 1),
        rules.reshape((rules.size // 3, 3)),
        centers.reshape((centers.size // 3, 3)),
        int32_at(handle, 4),
        int64_at(handle, 5),
        int64_at(handle, WIDTHS),
    )


@inlined
def tree_scratch(handle: int) -> MatchScratch:
    """Return the scratch for one event."""
    return MatchScratch(
        scratch64_at(handle, 0),
        words_at(handle, 1),
        scratch32_at(handle, 2),
        scratch64_at(handle, 3),
        scratch64_at(handle, 4),
        scratch32_at(handle, 5),
        scratch64_at(handle, 6),
    )


@jit
def tree_match_one(tree_handle: int, scratch_handle: int, n_cells: int) -> int:
    """Match the event whose cells, in any order and perhaps twice, lie in the scratch.

    Write the rows of its rules behind them, ascending; return their number.
    """
    index, scratch = tree_index(tree_handle), tree_scratch(scratch_handle)
    n_distinct = sort_distinct(scratch32_at(scratch_handle, CELLS), n_cells)
    propagate(index, scratch, next_event(scratch), int32_at(scratch_handle, CELLS)[:n_distinct])
    return collect_found(scratch.found, bytes_at(scratch_handle, ALIVE), scratch32_at(scratch_handle, OUT))


class TreeBuffers:
    """What one call needs: the scratch of the kernel, room for the cells of one event, and for its rules."""

    __slots__ = ("_cells", "_fixed", "cells", "handle", "n_cells", "out")

    def __init__(self, tree: Tree) -> None:
        self._fixed = match_scratch(len(tree.nodes), len(tree.rules), len(tree.levels))
        self.out = np.empty(len(tree.rules), np.int32)
        self.grow(_FIRST_CELLS)

    def grow(self, n_cells: int) -> None:
        """Make room for the cells of a larger event."""
        self._cells = np.empty(n_cells, np.int32)
        self.cells = memoryview(self._cells)  # type: ignore[arg-type]  # an array is one
        self.handle = Handle((*self._fixed, self._cells, self.out, _NO_ALIVE))
        self.n_cells = n_cells


class OneEventTree:
    """The arrays of a growing tree, ready for single events as long as they are the arrays of the tree.

    Safe to use from several threads, as long as nobody changes the tree.
    """

    def __init__(self, tree: Tree, widths: NDArray[np.int64]) -> None:
        self.arrays = tree
        flat = (each.reshape(-1) for each in (tree.nodes, tree.heap, tree.rules, tree.centers))
        self.handle = Handle((*flat, tree.levels, tree.counts, widths))
        self._pool: list[TreeBuffers] = []

    def buffers(self, n_cells: int) -> TreeBuffers:
        """Take scratch for so many cells, which no other call uses. A call that fails does not return it."""
        try:
            buffers = self._pool.pop()
        except IndexError:
            buffers = TreeBuffers(self.arrays)
        if buffers.n_cells < n_cells:
            buffers.grow(n_cells)
        return buffers

    def give_back(self, buffers: TreeBuffers) -> None:
        """Let other calls use the scratch."""
        self._pool.append(buffers)

    def match_one(self, cells: list[int]) -> list[int]:
        """Return the rows of the rules that are true of an event, ascending."""
        n_cells = len(cells)
        buffers = self.buffers(n_cells)
        buffers.cells[:n_cells] = array("i", cells)
        n_found = tree_match_one(self.handle.address, buffers.handle.address, n_cells)
        found: list[int] = buffers.out[:n_found].tolist()
        self._pool.append(buffers)
        return found
