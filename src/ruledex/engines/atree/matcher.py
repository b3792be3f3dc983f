"""Matching events with an A-Tree, live or packed: scratch per call, and the calls of the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.atree.events import count_events, match_events
from ruledex.engines.atree.match import WORD_BITS, MatchScratch, TreeIndex
from ruledex.engines.atree.plain import PlainScratch, Scopes
from ruledex.engines.protocol import Matches
from ruledex.events.batch import EventBatch

CHUNK = 1 << 18  # rules written by one call into the kernel, at the least


class MatcherScratch(NamedTuple):
    """What one call needs while it matches: the scratch of both kernels, and room for rules."""

    match: MatchScratch
    plain: PlainScratch
    out: NDArray[np.int32]


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
        chunks = []
        event = 0
        while event < n_events:
            event, n_written = match_events(
                self.index,
                scratch.match,
                scratch.plain,
                self._scopes,
                self._switches,
                alive,
                self._n_rules,
                batch.offsets,
                batch.cells,
                event,
                offsets,
                scratch.out,
            )
            chunks.append(scratch.out[:n_written].copy())
        self._pool.append(scratch)
        return Matches(offsets, chunks[0] if len(chunks) == 1 else np.concatenate([np.zeros(0, np.int32), *chunks]))

    def count(self, batch: EventBatch, alive: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return how many rules are true and alive, for each event. The batch must be frozen."""
        scratch = self._scratch()
        counts = np.zeros(batch.n_events, np.int64)
        count_events(
            self.index,
            scratch.match,
            scratch.plain,
            self._scopes,
            self._switches,
            alive,
            batch.offsets,
            batch.cells,
            counts,
        )
        self._pool.append(scratch)
        return counts

    def _scratch(self) -> MatcherScratch:
        """Scratch that no other call uses: from the pool, which a call that fails does not give it back to."""
        try:
            return self._pool.pop()
        except IndexError:
            return self._new_scratch()

    def _new_scratch(self) -> MatcherScratch:
        n_nodes, n_levels = len(self.index.nodes) // int(self.index.widths[0]), len(self.index.levels)
        n_plain = n_nodes if self._is_plain else 0
        return MatcherScratch(
            MatchScratch(
                np.zeros(n_nodes // WORD_BITS + 1, np.int64),
                np.zeros((self._n_rules + 63) >> 6, np.uint64),
                np.empty(n_nodes, np.int32),
                np.empty(n_levels + 2, np.int64),
                np.empty(n_levels + 2, np.int64),
                np.empty(n_nodes, np.int32),
                np.zeros(1, np.int64),
            ),
            PlainScratch(
                np.zeros(n_plain, np.int64),
                np.zeros(n_plain, np.int32),
                np.zeros(n_plain, np.int32),
                np.zeros(n_plain, np.uint8),
            ),
            np.empty(max(self._n_rules, CHUNK), np.int32),
        )
