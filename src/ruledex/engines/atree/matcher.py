"""Match events with an A-Tree, live or packed: the kernels over events, and the scratch of each call.

One event is matched with a growing A-Tree by a short way: all arrays go to the kernel as one number, and stay there.
A change writes to the arrays of a tree in place, unless they must grow. So what is prepared here for a tree holds over
many changes.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.handles import Handle, bytes_at, int32_at, int64_at, scratch32_at, scratch64_at, words_at
from ruledex.compiled.lists import sort_distinct
from ruledex.engines.atree.layout import Tree
from ruledex.engines.atree.match import (
    WORD_BITS,
    MatchScratch,
    TreeIndex,
    collect_found,
    count_found,
    next_event,
    propagate,
)
from ruledex.engines.atree.plain import PlainScratch, Scopes, propagate_plainly
from ruledex.engines.protocol import Matches
from ruledex.events.batch import EventBatch

CHUNK = 1 << 18  # rules written by one call into the kernel, at the least
CELLS, OUT, ALIVE = 7, 8, 9  # in the handle of the scratch, behind the fields of MatchScratch
WIDTHS = 6  # in the handle of a tree
_FIRST_CELLS = 64
_NO_ALIVE = np.zeros(0, np.uint8)


@jit
def _find(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    cells: NDArray[np.int32],
) -> None:
    """Set the bits of the rules of one event."""
    number = next_event(scratch)
    if plain.event.size == 0:
        propagate(index, scratch, number, cells)
    else:
        propagate_plainly(index, scratch, plain, scopes, switches, number, cells)


@jit
def match_events(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    alive: NDArray[np.uint8],
    n_rules: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match events from `first_event` on, as long as `out` has room for all rules once more.

    Write where each event's rules end to `offsets`, counted from the first event of all, and the rules to `out`,
    ascending within an event; return the event that comes next, and how much of `out` was written. Without `plain`
    scratch both optimisations of matching are used.
    """
    event, n_written = first_event, 0
    while event < event_offsets.size - 1 and n_written + n_rules <= out.size:
        _find(index, scratch, plain, scopes, switches, cells[event_offsets[event] : event_offsets[event + 1]])
        n_found = collect_found(scratch.found, alive, out[n_written:])
        offsets[event + 1] = offsets[event] + n_found
        n_written += n_found
        event += 1
    return event, n_written


@jit
def count_events(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    alive: NDArray[np.uint8],
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Count each event's rules."""
    for event in range(counts.size):
        _find(index, scratch, plain, scopes, switches, cells[event_offsets[event] : event_offsets[event + 1]])
        counts[event] = count_found(scratch.found, alive)


class MatcherScratch(NamedTuple):
    """What one call needs while it matches: the scratch of both kernels, and room for rules."""

    match: MatchScratch
    plain: PlainScratch
    out: NDArray[np.int32]


def match_scratch(n_nodes: int, n_rules: int, n_levels: int) -> MatchScratch:
    """Return scratch for a tree of that size, or a smaller one."""
    return MatchScratch(
        np.zeros(n_nodes // WORD_BITS + 1, np.int64),
        np.zeros((n_rules + 63) >> 6, np.uint64),
        np.empty(n_nodes, np.int32),
        np.empty(n_levels + 2, np.int64),
        np.empty(n_levels + 2, np.int64),
        np.empty(n_nodes, np.int32),
        np.zeros(1, np.int64),
    )


class TreeMatcher:
    """Answers from one state of a tree. Safe to use from several threads: each call takes scratch from a pool.

    `is_plain` says that one of the optimisations of matching is off, and `scopes` are empty unless it is zero
    suppression.
    """

    def __init__(self, index: TreeIndex, n_rules: int, switches: int, is_plain: bool, scopes: Scopes) -> None:
        self.index = index
        self._n_rules = n_rules
        self._switches = switches
        self._is_plain = is_plain
        self._scopes = scopes
        self._pool: list[MatcherScratch] = []

    def match(self, batch: EventBatch, alive: NDArray[np.uint8]) -> Matches:
        """Return all rules that are true and alive, ascending within each event. The batch must be frozen."""
        scratch = self._scratch()
        n_events = batch.n_events
        offsets = np.zeros(n_events + 1, np.int64)
        index = self.index, scratch.match, scratch.plain, self._scopes, self._switches, alive, self._n_rules
        chunks, event = [], 0
        while event < n_events:
            event, n_written = match_events(*index, batch.offsets, batch.cells, event, offsets, scratch.out)
            chunks.append(scratch.out[:n_written].copy())
        self._pool.append(scratch)
        return Matches(offsets, chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, np.int32), *chunks]))

    def count(self, batch: EventBatch, alive: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return how many rules are true and alive, for each event. The batch must be frozen."""
        scratch = self._scratch()
        counts = np.zeros(batch.n_events, np.int64)
        index = self.index, scratch.match, scratch.plain, self._scopes, self._switches, alive
        count_events(*index, batch.offsets, batch.cells, counts)
        self._pool.append(scratch)
        return counts

    def _scratch(self) -> MatcherScratch:
        """Scratch that no other call uses: from the pool, which a call that fails does not give it back to."""
        try:
            return self._pool.pop()
        except IndexError:
            pass
        n_nodes, n_levels = len(self.index.nodes) // int(self.index.widths[0]), len(self.index.levels)
        n_plain = n_nodes if self._is_plain else 0
        return MatcherScratch(
            match_scratch(n_nodes, self._n_rules, n_levels),
            PlainScratch(
                np.zeros(n_plain, np.int64),
                np.zeros(n_plain, np.int32),
                np.zeros(n_plain, np.int32),
                np.zeros(n_plain, np.uint8),
            ),
            np.empty(max(self._n_rules, CHUNK), np.int32),
        )


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
