"""Match batches of events with an A-Tree, live or packed: the kernels over events, and the scratch of each call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.decorator import jit
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
