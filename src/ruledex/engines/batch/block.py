"""One block of events through the kernels of `batch`: its rules are found, then counted, written or ranked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.engines.batch.kernels import BatchIndex, Block, evaluate_lists, load_block
from ruledex.engines.batch.rank_rows import new_row_scratch, rank_rows, tile_bounds
from ruledex.engines.batch.rows import N_DIGITS, N_EVENTS, count_rows, empty_rows, write_rows
from ruledex.engines.inputs import ALL_ALIVE
from ruledex.engines.ranking import Ranker, Ranking, largest_weights, sort_heaps
from ruledex.events.batch import EventBatch
from ruledex.program.scores.run import ScoreStack

Result = TypeVar("Result")
Room: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.int32]]  # for events that have so many rules each

CHUNK = 1 << 14  # rules found before they are counted, while their rows are in the cache
RANK_TILE = 1 << 12  # rules that share a bound


class Found(NamedTuple):
    """Rules that are true of some event of the block, ascending, and one row of bits per rule."""

    rules: NDArray[np.int32]
    words: NDArray[np.uint64]
    n_found: int


class BlockScratch(NamedTuple):
    """The arrays of a block, kept for the next one: new memory costs more than writing to it."""

    block: Block
    chunks: list[Found]  # to be overwritten


class FoundPart(NamedTuple):
    """What was found among some of the rules, and how many of them each event has."""

    found: list[Found]
    counts: NDArray[np.int64]


class BlockWork:
    """The block that begins with the event `first`. No other block uses its `scratch` meanwhile."""

    def __init__(
        self,
        index: BatchIndex,
        scratch: BlockScratch,
        batch: EventBatch,
        first: int,
        alive: NDArray[np.uint8],
        n_threads: int = 1,
    ) -> None:
        self.index = index
        self.batch = batch
        self.first = first
        self.n_events = min(N_EVENTS, batch.n_events - first)
        self.alive = alive
        self.n_threads = n_threads
        self.block, self._chunks = scratch
        load_block(index, self.block, batch.offsets, batch.cells, first, first + self.n_events)

    def match(self, room: Room) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return how many rules each event has, and the rules, event by event, in the room that was given for them."""
        parts = list(self._parts(keep=True))
        counts = np.sum([part.counts for part in parts], axis=0)
        ends = np.cumsum(counts)
        out = room(counts[: self.n_events])
        cursors = ends - counts + np.cumsum([np.zeros_like(counts), *(part.counts for part in parts[:-1])], axis=0)

        def write(part: FoundPart, cursor: NDArray[np.int64]) -> None:
            places = cursor.astype(np.uint64)
            for rules, words, n_found in part.found:
                write_rows(rules, words, n_found, places, out)
            self._chunks.extend(part.found)

        self._run(write, parts, cursors)
        return counts[: self.n_events], out

    def count(self) -> NDArray[np.int64]:
        """Return how many rules each event has."""
        counts: NDArray[np.int64] = np.sum([part.counts for part in self._parts(keep=False)], axis=0)
        return counts[: self.n_events]

    def top(
        self, ranker: Ranker, ranking: Ranking, kind: int, k: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """Return how many rules each event has, k at the most, and these rules and their ranks, event after event."""
        with ranker.stack() as stack:
            return self._top(ranker, ranking, kind, k, stack)

    def _top(
        self, ranker: Ranker, ranking: Ranking, kind: int, k: int, stack: ScoreStack
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        batch, n_events = self.batch, self.n_events
        largest = np.zeros(n_events)
        largest_weights(batch.offsets, batch.weights, self.first, largest)
        scratch = new_row_scratch(len(ranker.program.level_offsets) + 1, ranker.largest_rules)
        bounds = np.zeros(-(-len(ranking.static_score) // RANK_TILE))
        tile_bounds(ranking, kind, float(largest.max()), RANK_TILE, bounds)
        ranks, rules, n_held = np.zeros((n_events, k)), np.zeros((n_events, k), np.int32), np.zeros(n_events, np.int64)
        for first, last in self._tiles():
            tiles = np.arange(first // RANK_TILE, -(-last // RANK_TILE))
            # The best tiles first: what they hold soon keeps the others from being evaluated at all.
            for tile in tiles[np.argsort(-bounds[tiles], kind="stable")].tolist():
                if n_held.min() == k and (k == 0 or bounds[tile] < ranks[:, 0].min()):
                    break
                for part in self._found(max(first, tile * RANK_TILE), min(last, (tile + 1) * RANK_TILE)):
                    rank_rows(
                        ranker.literals,
                        ranking,
                        kind,
                        self.block,
                        *part,
                        batch.offsets,
                        batch.cells,
                        batch.weights,
                        self.first,
                        largest,
                        stack,
                        scratch,
                        ranks,
                        rules,
                        n_held,
                    )
                    self._chunks.append(part)
        sort_heaps(ranks, rules, n_held)
        kept = np.arange(k) < n_held[:, None]
        return n_held, rules[kept], ranks[kept]

    def _tiles(self) -> Iterator[tuple[int, int]]:
        """The rules of each tile, once the tile's rows are evaluated."""
        index, no_rules = self.index, np.zeros(0, np.int32)
        lists = index.row_operation, index.row_offsets, index.row_children
        for tile in range(len(index.tile_rules) - 1):
            first_row, last_row = index.tile_rows[tile], index.tile_rows[tile + 1]
            evaluate_lists(*lists, first_row, last_row, ALL_ALIVE, self.block, no_rules, self.block.rows)
            yield int(index.tile_rules[tile]), int(index.tile_rules[tile + 1])

    def _found(self, first: int, last: int) -> Iterator[Found]:
        """What is found among the rules from `first` up to `last`, a chunk at a time."""
        index = self.index
        lists = index.rule_operation, index.rule_offsets, index.rule_children
        size = min(CHUNK, int(self.index.tile_rules[-1]))
        while first < last:
            try:
                rules, words, _ = self._chunks.pop()
            except IndexError:
                rules, words = np.empty(size, np.int32), empty_rows(size + 1)
            first, n_found = evaluate_lists(*lists, first, last, self.alive, self.block, rules, words)
            yield Found(rules, words, n_found)

    def _parts(self, keep: bool) -> Iterator[FoundPart]:
        """Each tile's rules in as many parts as there are threads; what is found is kept where it is needed again."""

        def find(first: int, last: int) -> FoundPart:
            found: list[Found] = []
            counts = np.zeros(N_EVENTS, np.int64)
            digits = np.zeros(N_DIGITS, np.uint64)
            for chunk in self._found(first, last):
                count_rows(chunk.words, chunk.n_found, digits, counts)
                (found if keep else self._chunks).append(chunk)
            return FoundPart(found, counts)

        for first, last in self._tiles():
            cuts = np.linspace(first, last, self.n_threads + 1).astype(np.int64).tolist()
            yield from self._run(find, cuts[:-1], cuts[1:])

    def _run(self, function: Callable[..., Result], *arguments: Iterable[Any]) -> list[Result]:
        """Call the function on each set of arguments, in several threads if there are any; return all results."""
        if self.n_threads == 1:
            return list(map(function, *arguments))
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(function, *arguments))
