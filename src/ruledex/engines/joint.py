"""One event matched by `sparse` and by a growing A-Tree beside it, in one call into compiled code.

After changes, an index is a base and a small tree of later rules. A call into compiled code, and the preparations for
it, cost as much as the tree itself takes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
from ruledex.compiled.handles import Handle, bytes_at, scratch32_at
from ruledex.engines.atree.matcher import CELLS, OneEventTree, tree_match_one
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.engines.sparse.kernels import CELLS as SPARSE_CELLS
from ruledex.engines.sparse.kernels import OUT as SPARSE_OUT
from ruledex.engines.sparse.kernels import sparse_match_one

Found = TypeVar("Found")
_SHIFT = 32
_LOW = (1 << _SHIFT) - 1


@jit
def match_living(index_handle: int, scratch_handle: int, alive_handle: int, n_cells: int) -> int:
    """Match the event whose cells lie in the scratch of `sparse`. Write the positions there; return how many there are.

    The array of the alive handle is empty, or has 0 for rules to leave out.
    """
    n_found = sparse_match_one(index_handle, scratch_handle, n_cells)
    alive = bytes_at(alive_handle, 0)
    if alive.size != 0:
        out = scratch32_at(scratch_handle, SPARSE_OUT)
        n_kept = 0
        for place in range(n_found):
            out[n_kept] = out[place]
            n_kept += alive[out[place]] != 0
        n_found = n_kept
    return n_found


@jit
def match_jointly(
    index_handle: int, scratch_handle: int, alive_handle: int, tree_handle: int, tree_scratch_handle: int, n_cells: int
) -> int:
    """Match the event whose cells lie in the scratch of `sparse`, those of the tree as their complements.

    Both scratches have the positions and the rows afterwards. Return how many positions there are, and 32 bits above
    that how many rows. The array of the alive handle is empty, or has 0 for rules of `sparse` to leave out.
    """
    cells, of_tree = scratch32_at(scratch_handle, SPARSE_CELLS), scratch32_at(tree_scratch_handle, CELLS)
    n_base = 0
    n_tree = 0
    for place in range(n_cells):
        cell = cells[place]
        if cell < 0:
            of_tree[n_tree] = ~cell
            n_tree += 1
        else:
            cells[n_base] = cell
            n_base += 1
    n_found = match_living(index_handle, scratch_handle, alive_handle, n_base)
    return n_found | (tree_match_one(tree_handle, tree_scratch_handle, n_tree) << _SHIFT)


class JointMatcher:
    """Matches single events by `sparse` and a tree. `alive` is empty, or has 0 for rules of `sparse` to leave out."""

    def __init__(self, sparse: SparseEngine, alive: NDArray[np.uint8]) -> None:
        self._sparse = sparse
        self._alive = Handle((alive,))

    def match_one(self, tree: OneEventTree, cells: list[int]) -> tuple[NDArray[np.int32], list[int]]:
        """Return the positions of rules of `sparse` and the rows of rules of the tree, both ascending.

        The cells are those of both, in any order, some perhaps twice; those of the tree are complements.
        """
        n_cells, sparse = len(cells), self._sparse
        own, other = sparse.buffers(n_cells), tree.buffers(n_cells)
        own.cells[:n_cells] = array("i", cells)
        handles = sparse.handle.address, own.handle.address, self._alive.address
        both = match_jointly(*handles, tree.handle.address, other.handle.address, n_cells)
        positions = own.out[: both & _LOW].copy()
        rows: list[int] = other.out[: both >> _SHIFT].tolist()
        sparse.give_back(own)
        tree.give_back(other)
        return positions, rows


class LivingMatcher:
    """Matches single events by `sparse`. `alive` is empty, or has 0 for rules to leave out."""

    def __init__(self, sparse: SparseEngine, alive: NDArray[np.uint8]) -> None:
        self._sparse = sparse
        self._alive = Handle((alive,))

    def match_one(self, cells: list[int], read: Callable[[NDArray[np.int32]], Found]) -> Found:
        """Return what `read` makes of the positions of the rules that are true of an event, ascending.

        The cells are in any order, some perhaps twice. The positions are in scratch, and are of no use afterwards.
        """
        n_cells, sparse = len(cells), self._sparse
        buffers = sparse.buffers(n_cells)
        buffers.cells[:n_cells] = array("i", cells)
        n_found = match_living(sparse.handle.address, buffers.handle.address, self._alive.address, n_cells)
        found = read(buffers.out[:n_found])
        sparse.give_back(buffers)
        return found
