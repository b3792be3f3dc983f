"""`batch`: 512 events at a time through all rules, one bit per event. It is for throughput.

A batch is cut into blocks of events. The rules of each block are found, and then counted, written or ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.engines.batch.kernels import BatchIndex, Block, IntervalEnds, evaluate_lists, load_block, match_blocks
from ruledex.engines.batch.layout import build_batch_index
from ruledex.engines.batch.rank_rows import new_row_scratch, rank_rows, tile_bounds
from ruledex.engines.batch.rows import N_DIGITS, N_EVENTS, count_rows, empty_rows, write_rows
from ruledex.engines.inputs import ALL_ALIVE, check_k, freeze_alive, freeze_batch, rank_code, stored_fields
from ruledex.engines.protocol import Alive, Arrays, Matches, Rank, Statistics
from ruledex.engines.ranking import Ranker, Ranking, largest_weights, sort_heaps
from ruledex.events.batch import EventBatch
from ruledex.forks import cached_property
from ruledex.program.program import Program

Result = TypeVar("Result")
Room: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.int32]]  # for events that have so many rules each

CHUNK = 1 << 14  # rules found before they are counted, while their rows are in the cache
RANK_TILE = 1 << 12  # rules that share a bound
_SPARE = 1.125  # times what the events so far suggest
MAX_ROWS = 1 << 22  # rows of a tile, of 64 bytes each
_NO_ENDS = IntervalEnds(frozen(np.empty(0), np.int32), frozen(np.empty(0), np.int32))
MAX_HEAP = 1 << 10  # the largest k that is kept in heaps while rules are found


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
        ends: IntervalEnds,
        n_threads: int = 1,
    ) -> None:
        self.index = index
        self.batch = batch
        self.first = first
        self.n_events = min(N_EVENTS, batch.n_events - first)
        self.alive = alive
        self.n_threads = n_threads
        self.block, self._chunks = scratch
        load_block(index, self.block, batch.offsets, batch.cells, first, first + self.n_events, ends)

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
        batch, n_events, literals, block = self.batch, self.n_events, ranker.literals, self.block
        largest = np.zeros(n_events)
        largest_weights(batch.offsets, batch.weights, self.first, largest)
        scratch = new_row_scratch(len(ranker.program.level_offsets) + 1, ranker.largest_rules)
        bounds = np.zeros(-(-len(ranking.static_score) // RANK_TILE))
        tile_bounds(ranking, kind, float(largest.max()), RANK_TILE, bounds)
        ranks, rules, n_held = np.zeros((n_events, k)), np.zeros((n_events, k), np.int32), np.zeros(n_events, np.int64)
        events = batch.offsets, batch.cells, batch.weights, self.first, largest
        with ranker.stack() as stack:
            rest = (*events, stack, scratch, ranks, rules, n_held)
            for first, last in self._tiles():
                tiles = np.arange(first // RANK_TILE, -(-last // RANK_TILE))
                # The best tiles first: what they hold soon keeps the others from being evaluated at all.
                for tile in tiles[np.argsort(-bounds[tiles], kind="stable")].tolist():
                    if n_held.min() == k and _is_too_late(bounds[tile], tile * RANK_TILE, ranks, rules):
                        break
                    for part in self._found(max(first, tile * RANK_TILE), min(last, (tile + 1) * RANK_TILE)):
                        rank_rows(literals, ranking, kind, block, part.rules, part.words, part.n_found, *rest)
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
                rules, words, _ = _new_chunk(size)
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


class RuleBuffer:
    """One array for the rules of all blocks, as long as the blocks so far suggest.

    Memory that is new to a process costs more than writing to it. One array per block, all copied into one at the end,
    would need it twice. What is reserved and never written to is not taken from the system.
    """

    def __init__(self, n_events: int) -> None:
        self._n_events = n_events
        self._n_seen = 0
        self._rules: NDArray[np.int32] = np.empty(0, np.int32)
        self._n_rules = 0

    def room(self, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return room for the rules of the next events, which have so many each; fill it before asking for more."""
        end = self._n_rules + int(counts.sum())
        self._n_seen += len(counts)
        if end > len(self._rules):
            self._grow(end)
        place = self._rules[self._n_rules : end]
        self._n_rules = end
        return place

    def rules(self) -> NDArray[np.int32]:
        """Return all rules; the buffer must not be used after."""
        if len(self._rules) > self._n_rules:
            # No place that was given out is written to any longer, and to make an array smaller moves nothing.
            self._rules.resize(self._n_rules, refcheck=False)
        return self._rules

    def _grow(self, least: int) -> None:
        expected = least
        if self._n_seen < self._n_events:
            expected = int(least * (self._n_events / self._n_seen) * _SPARE)
        try:
            larger = np.empty(expected, np.int32)
        except MemoryError:  # The first events may have far more rules than the rest.
            larger = np.empty(min(expected, 2 * least), np.int32)
        larger[: self._n_rules] = self._rules[: self._n_rules]
        self._rules = larger


@dataclass(frozen=True)
class BatchOptions:
    """The options of `batch`. No tile of rules stores more than `max_rows` rows."""

    threads: int = 1
    max_rows: int = MAX_ROWS


class BatchEngine:
    """The engine `batch`. It is read-only, and each block takes scratch from a pool: calls may run side by side.

    Its threads share the blocks of events where a batch has enough of them, else the rules.
    """

    name = "batch"
    options_type = BatchOptions

    def __init__(self, program: Program, index: BatchIndex, threads: int = 1) -> None:
        self.program = program
        self.index = index
        self.threads = threads
        self._ranker = Ranker(program)
        self._pool: list[BlockScratch] = []
        self._rules_per_event = 0.0  # of the last batch

    @classmethod
    def build(cls, program: Program, statistics: Statistics | None = None, options: BatchOptions | None = None) -> Self:
        """Order children by `statistics`, and lay out rows in tiles of rules."""
        options = options or BatchOptions()
        return cls(program, build_batch_index(program, statistics, options.max_rows), options.threads)

    @classmethod
    def from_arrays(cls, program: Program, arrays: Arrays) -> Self:
        """Return the engine over stored arrays, which are not copied."""
        return cls(program, stored_fields(BatchIndex, arrays))

    def with_threads(self, threads: int) -> BatchEngine:
        """Return the same engine for this many threads."""
        return BatchEngine(self.program, self.index, threads)

    def arrays(self) -> Arrays:
        """Return the fields of the index."""
        return self.index._asdict()

    def match(self, batch: EventBatch, alive: Alive | None = None) -> Matches:
        """Return all rules that are true, ascending within each event."""
        if self.threads == 1 and len(self.index.tile_rules) == 2 and self.program.n_rules <= CHUNK:
            return self._match_at_once(freeze_batch(batch), freeze_alive(alive, self.program.n_rules))
        buffer = RuleBuffer(batch.n_events)
        counts = [np.zeros(1, np.int64)]
        if self._is_by_events(batch):
            for found, rules in self._for_blocks(batch, alive, lambda work: work.match(_room_alone), self._ends):
                buffer.room(found)[:] = rules
                counts.append(found)
        else:
            counts += [
                found for found, _ in self._for_blocks(batch, alive, lambda work: work.match(buffer.room), self._ends)
            ]
        return Matches(np.cumsum(np.concatenate(counts)), buffer.rules())

    def _match_at_once(self, batch: EventBatch, alive: NDArray[np.uint8]) -> Matches:
        """Match all blocks in one call of compiled code: with few rules a block takes less time than a call."""
        n_events = batch.n_events
        offsets = np.zeros(n_events + 1, np.int64)
        scratch = self._scratch(_most_pairs(batch), batch.single)
        rules, words, _ = scratch.chunks.pop() if scratch.chunks else _new_chunk(self.program.n_rules)
        out = np.empty(int(self._rules_per_event * n_events) + N_EVENTS, np.int32)
        event = 0
        while event < n_events:
            event, n_needed = match_blocks(
                self.index,
                self._ends,
                scratch.block,
                batch.offsets,
                batch.cells,
                event,
                alive,
                rules,
                words,
                offsets,
                out,
            )
            if event < n_events:
                larger = np.empty(int(n_needed * (n_events / min(event + N_EVENTS, n_events)) * _SPARE), np.int32)
                larger[: offsets[event]] = out[: offsets[event]]
                out = larger
        scratch.chunks.append(Found(rules, words, 0))
        self._pool.append(scratch)
        n_found = int(offsets[-1])
        if n_events:
            self._rules_per_event = n_found / n_events * _SPARE
        out.resize(n_found, refcheck=False)
        return Matches(offsets, out)

    @cached_property
    def _ends(self) -> IntervalEnds:
        cells, numbers = np.unique(self.index.intervals, return_inverse=True)
        return IntervalEnds(frozen(cells, np.int32), frozen(numbers, np.int32))

    def count(self, batch: EventBatch, alive: Alive | None = None) -> NDArray[np.int64]:
        """Return how many rules are true of each event."""
        return np.concatenate([np.zeros(0, np.int64), *self._for_blocks(batch, alive, BlockWork.count, self._ends)])

    def top(
        self,
        batch: EventBatch,
        k: int,
        rank: Rank = "sum",
        alive: Alive | None = None,
        static_score: NDArray[np.float64] | None = None,
    ) -> Matches:
        """Return the best k rules of each event with their ranks as scores, the best first, ties by position."""
        kind, k = rank_code(rank), min(check_k(k), self.program.n_rules)
        if k > MAX_HEAP:
            return self._ranker.top(batch, self.match(batch, alive), k, rank, static_score)
        ranking = self._ranker.ranking(static_score)
        results = list(self._for_blocks(batch, alive, lambda work: work.top(self._ranker, ranking, kind, k)))
        counts = np.concatenate([np.zeros(1, np.int64), *(held for held, _, _ in results)])
        rules = np.concatenate([np.zeros(0, np.int32), *(rules for _, rules, _ in results)])
        return Matches(np.cumsum(counts), rules, np.concatenate([np.zeros(0), *(ranks for _, _, ranks in results)]))

    def describe(self) -> dict[str, Any]:
        """Describe what the engine is made of."""
        index = self.index
        return {
            "engine": self.name,
            "n_rules": self.program.n_rules,
            "n_rows": len(index.row_operation),
            "n_links": len(index.row_children) + len(index.rule_children),
            "n_tiles": len(index.tile_rules) - 1,
            "events_a_block": N_EVENTS,
            "threads": self.threads,
            "bytes": sum(array.nbytes for array in index),
        }

    def _for_blocks(
        self,
        batch: EventBatch,
        alive: Alive | None,
        answer: Callable[[BlockWork], Result],
        ends: IntervalEnds | None = None,
    ) -> Iterator[Result]:
        """The answers of all blocks in order, each as soon as it is there. Ranking needs a row per pair: no `ends`."""
        batch = freeze_batch(batch)
        alive_bytes = freeze_alive(alive, self.program.n_rules)
        firsts = range(0, batch.n_events, N_EVENTS)
        is_by_events = self._is_by_events(batch)
        n_over_rules = 1 if is_by_events else self.threads
        n_pairs = _most_pairs(batch)

        def run(first: int) -> Result:
            scratch = self._scratch(n_pairs, batch.single)
            result = answer(BlockWork(self.index, scratch, batch, first, alive_bytes, ends or _NO_ENDS, n_over_rules))
            self._pool.append(scratch)
            return result

        if is_by_events:
            with ThreadPoolExecutor(self.threads) as pool:
                yield from pool.map(run, firsts)
        else:
            yield from map(run, firsts)

    def _is_by_events(self, batch: EventBatch) -> bool:
        """Return whether threads share the blocks, rather than the rules of each block."""
        return 1 < self.threads <= -(-batch.n_events // N_EVENTS)

    def _scratch(self, n_pairs: int, single: bool) -> BlockScratch:
        """Scratch that no other block uses, taken from those that are left from earlier ones."""
        try:
            block, chunks = self._pool.pop()
        except IndexError:
            n_rows = int(np.max(np.diff(self.index.tile_rows)))
            chunks = []
            block = Block(
                start=np.zeros(self.program.n_cells + 2, np.int32),
                event=np.zeros(0, np.uint16),
                prefix=empty_rows(0),
                repeated=np.zeros(0, np.int32),
                spans=np.zeros(len(self.index.intervals), np.int32),
                rows=empty_rows(n_rows),
                marks=np.zeros(n_rows // 64 + 1, np.uint64),
            )
        if len(block.event) < n_pairs:
            block = block._replace(event=np.zeros(n_pairs, np.uint16), prefix=empty_rows(n_pairs + 1))
        if not single or block.repeated.size:
            block = block._replace(repeated=np.zeros(0 if single else n_pairs + 1, np.int32))
        return BlockScratch(block, chunks)


def _is_too_late(bound: float, first_rule: int, ranks: NDArray[np.float64], rules: NDArray[np.int32]) -> bool:
    """Return whether no rule from `first_rule` on precedes the worst of any full heap, if its rank is within a bound.

    Then none of a tile behind it does either: its bound is less, or it is the same and the rules come later.
    """
    if ranks.shape[1] == 0:
        return True
    worst, last = ranks[:, 0], rules[:, 0]
    return bool(np.all((bound < worst) | ((bound == worst) & (first_rule > last))))


def _new_chunk(size: int) -> Found:
    return Found(np.empty(size, np.int32), empty_rows(size + 1), 0)


def _most_pairs(batch: EventBatch) -> int:
    """Return how many pairs the largest block has."""
    if batch.n_events <= N_EVENTS:
        return int(batch.offsets[-1] - batch.offsets[0])
    firsts = np.arange(0, batch.n_events, N_EVENTS)
    lasts = np.minimum(firsts + N_EVENTS, batch.n_events)
    return int(np.max(batch.offsets[lasts] - batch.offsets[firsts], initial=0))


def _room_alone(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return room of its own for a block, before it is known how much comes before it."""
    return np.empty(counts.sum(), np.int32)
