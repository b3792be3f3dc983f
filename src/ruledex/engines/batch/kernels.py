"""The kernels of `batch`: up to 512 events at once through all rules, one row of bits per node, one bit per event.

The block's pairs of cell and event are sorted by cell. `start[c]` is how many pairs lie before cell `c`, and row `i`
of `prefix` is the exclusive or of the bits of the first `i` pairs. So the events with a cell between two others are
where two rows differ, as long as no event has two cells there: a literal of one interval costs two rows that the cache
holds, whatever the number of rules, and is never stored itself. Where an event has several cells in one domain,
`repeated` counts the pairs that follow another of the same event and domain, and an interval with such a pair in it is
put together bit by bit.

A row is stored for each node that several rules or nodes use, unless it is all zero: then only its mark says so, and
nobody reads it. The root of a single rule is evaluated with the rule, and is not stored either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import LOW_SIX, ONE, SIX, ZERO, prefetch
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.compiled.lists import first_at_least
from ruledex.engines.batch.rows import (
    N_DIGITS,
    N_EVENTS,
    N_WORDS,
    ROW,
    U0,
    Words,
    and_difference,
    and_row,
    copy_row,
    count_rows,
    difference_row,
    or_difference,
    or_row,
    without_row,
    write_rows,
)

AND_NOT = 2
AHEAD = 8  # how many entries before its use a row is asked for
MOST_AHEAD = 6  # rows of one entry


class BatchIndex(NamedTuple):
    """Rows and rules, each an operation on a list of children.

    A child is a row, counted from the first of its tile, or -1 - i for the interval i. A tile's rules use no rows of
    another tile.
    """

    domain_offsets: NDArray[np.int32]
    intervals: NDArray[np.int32]  # pairs: the first cell of an interval, and the cell after its last
    row_operation: NDArray[np.uint8]
    row_offsets: NDArray[np.int32]  # [n_rows + 1] into row_children
    row_children: NDArray[np.int32]
    rule_operation: NDArray[np.uint8]
    rule_offsets: NDArray[np.int32]
    rule_children: NDArray[np.int32]
    tile_rows: NDArray[np.int64]  # [n_tiles + 1]
    tile_rules: NDArray[np.int64]


class IntervalEnds(NamedTuple):
    """The cells at which intervals begin and end, ascending and each once; or nothing."""

    cells: NDArray[np.int32]
    numbers: NDArray[np.int32]  # of each cell of `BatchIndex.intervals` among them


class Block(NamedTuple):
    """The events of a block, and the rows of the tile at hand."""

    start: NDArray[np.int32]  # [n_cells + 2]
    event: NDArray[np.uint16]  # [n_pairs]
    prefix: Words  # [(n_pairs + 1) * 8]
    repeated: NDArray[np.int32]  # [n_pairs + 1], or empty where the batch is single
    spans: NDArray[np.int32]  # for each interval the rows of `prefix` at its first pair, and after its last
    rows: Words  # [n_rows * 8]
    marks: Words  # a bit for each row, set where the row is not all zero


@jit
def load_block(
    index: BatchIndex,
    block: Block,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    last_event: int,
    ends: IntervalEnds,
) -> None:
    """Sort the pairs of the events from `first_event` up to `last_event` by cell, and add up their rows.

    There is one row per pair. If `ends` are given, and no event comes twice in an interval, there is only one per end
    of an interval that has other pairs before it than the last one: rows cost more than pairs.
    """
    start, event, prefix, repeated = block.start, block.event, block.prefix, block.repeated
    start[:] = 0
    begin, end = event_offsets[first_event], event_offsets[last_event]
    # While pairs are placed, start[c + 1] is the next place for cell c; after that, it is where cell c + 1 starts.
    for place in range(begin, end):
        start[cells[place] + 2] += 1
    for cell in range(1, start.size):
        start[cell] += start[cell - 1]
    repeated[:] = 0
    n_boundaries = index.domain_offsets.size
    for number in range(first_event, last_event):
        domain_end = 0
        for place in range(event_offsets[number], event_offsets[number + 1]):
            cell = cells[place]
            pair = start[cell + 1]
            start[cell + 1] = pair + 1
            event[pair] = number - first_event
            if repeated.size != 0:
                if cell < domain_end:
                    repeated[pair + 1] = 1
                else:
                    domain_end = index.domain_offsets[first_at_least(index.domain_offsets, 0, n_boundaries, cell + 1)]
    for pair in range(1, repeated.size):
        repeated[pair] += repeated[pair - 1]
    intervals, spans = index.intervals, block.spans
    prefix[:N_WORDS] = ZERO
    row = U0
    if ends.cells.size != 0 and repeated.size == 0:
        rows = np.empty(ends.cells.size, np.int32)
        n_rows, first_pair = 0, 0
        for number in range(ends.cells.size):
            last_pair = start[ends.cells[number]]
            if last_pair != first_pair:
                copy_row(prefix, row + ROW, prefix, row)
                row += ROW
                n_rows += 1
                for pair in range(first_pair, last_pair):
                    bit = np.uint64(event[pair])
                    prefix[row + (bit >> np.uint64(6))] ^= ONE << (bit & np.uint64(63))
                first_pair = last_pair
            rows[number] = n_rows
        for boundary in range(intervals.size):
            spans[boundary] = rows[ends.numbers[boundary]]
        return
    for boundary in range(intervals.size):
        spans[boundary] = start[intervals[boundary]]
    for pair in range(end - begin):
        copy_row(prefix, row + ROW, prefix, row)
        row += ROW
        bit = np.uint64(event[pair])
        prefix[row + (bit >> np.uint64(6))] ^= ONE << (bit & np.uint64(63))


@jit
def _interval_row(
    event: NDArray[np.uint16],
    prefix: Words,
    repeated: NDArray[np.int32],
    first: int,
    last: int,
    spare: Words,
) -> None:
    """Make the row of an interval whose pairs are `first` up to `last`, where an event may come twice."""
    if repeated.size == 0 or repeated[first] == repeated[last]:
        difference_row(spare, U0, prefix, np.uint64(first) * ROW, np.uint64(last) * ROW)
    else:
        for word in range(N_WORDS):
            spare[word] = ZERO
        for pair in range(first, last):
            bit = np.uint64(event[pair])
            spare[bit >> np.uint64(6)] |= ONE << (bit & np.uint64(63))


@jit
def evaluate_lists(
    operations: NDArray[np.uint8],
    offsets: NDArray[np.int32],
    children: NDArray[np.int32],
    first_entry: int,
    last_entry: int,
    alive: NDArray[np.uint8],
    block: Block,
    found: NDArray[np.int32],
    target: Words,
) -> tuple[int, int]:
    """Evaluate entries from `first_entry` up to `last_entry`; return the one that comes next and how many were found.

    Where `found` is empty, entries are the rows of a tile: each row is written to its place in `target`, which is the
    block's own rows, and marked. Else they are rules: those that live and are true of some event are written to
    `found`, and their rows to `target`, one after the other, until `found` is full; `target` has room for one row
    more.

    All of it is one function, and arrays are taken out of the block once: each array that is handed to a function
    with several ends, or taken out of a tuple, counts references, and that costs more than a row does.
    """
    event, prefix, repeated, spans = block.event, block.prefix, block.repeated, block.spans
    rows, marks = block.rows, block.marks
    spare = np.zeros(N_WORDS, np.uint64)
    are_rows = found.size == 0
    n_found, entry = 0, first_entry
    while entry < last_entry and (are_rows or n_found < found.size):
        ahead = entry + AHEAD
        if ahead < last_entry:
            is_or = operations[ahead] != AND
            for child in range(offsets[ahead], min(offsets[ahead + 1], offsets[ahead] + MOST_AHEAD)):
                reference = np.int64(children[child])
                if reference < 0:
                    prefetch(spans, -2 - 2 * reference)
                elif (marks[np.uint64(reference) >> SIX] >> (np.uint64(reference) & LOW_SIX)) & ONE:
                    prefetch(rows, N_WORDS * reference)
                elif not is_or:
                    break
        operation = operations[entry]
        first, last = offsets[entry], offsets[entry + 1]
        place = np.uint64(n_found) * ROW
        if are_rows:
            place = np.uint64(entry - first_entry) * ROW
        has_some = False
        if alive.size != 0 and alive[entry] == 0:
            pass
        elif operation == AND:
            has_some = True
            # Whether a child is all zero is known without its row; most nodes end here.
            for child in range(first, last):
                reference = children[child]
                if reference >= 0:
                    row = np.uint64(reference)
                    has_some = (marks[row >> SIX] >> (row & LOW_SIX)) & ONE != ZERO
                else:
                    span = np.uint64(-2 - 2 * reference)
                    has_some = spans[span] != spans[span + ONE]
                if not has_some:
                    break
            if has_some:
                for child in range(first, last):
                    reference = children[child]
                    if reference >= 0:
                        if child == first:
                            copy_row(target, place, rows, np.uint64(reference) * ROW)
                        else:
                            has_some = and_row(target, place, rows, np.uint64(reference) * ROW)
                        if not has_some:
                            break
                        continue
                    span = np.uint64(-2 - 2 * reference)
                    first_pair, last_pair = spans[span], spans[span + ONE]
                    if repeated.size == 0:
                        before, after = np.uint64(first_pair) * ROW, np.uint64(last_pair) * ROW
                        if child == first:
                            difference_row(target, place, prefix, before, after)
                        else:
                            has_some = and_difference(target, place, prefix, before, after)
                    else:
                        _interval_row(event, prefix, repeated, first_pair, last_pair, spare)
                        if child == first:
                            copy_row(target, place, spare, U0)
                        else:
                            has_some = and_row(target, place, spare, U0)
                    if not has_some:
                        break
        else:
            if operation == AND_NOT:
                last = first + 1
            for child in range(first, last):
                reference = children[child]
                if reference >= 0:
                    row = np.uint64(reference)
                    if (marks[row >> SIX] >> (row & LOW_SIX)) & ONE == ZERO:
                        continue
                    if has_some:
                        or_row(target, place, rows, row * ROW)
                    else:
                        copy_row(target, place, rows, row * ROW)
                    has_some = True
                    continue
                span = np.uint64(-2 - 2 * reference)
                first_pair, last_pair = spans[span], spans[span + ONE]
                if first_pair == last_pair:
                    continue
                if repeated.size == 0:
                    before, after = np.uint64(first_pair) * ROW, np.uint64(last_pair) * ROW
                    if has_some:
                        or_difference(target, place, prefix, before, after)
                    else:
                        difference_row(target, place, prefix, before, after)
                else:
                    _interval_row(event, prefix, repeated, first_pair, last_pair, spare)
                    if has_some:
                        or_row(target, place, spare, U0)
                    else:
                        copy_row(target, place, spare, U0)
                has_some = True
            if operation == AND_NOT and has_some:
                reference = children[last]
                if reference < 0:
                    span = np.uint64(-2 - 2 * reference)
                    _interval_row(event, prefix, repeated, spans[span], spans[span + ONE], spare)
                    has_some = without_row(target, place, spare, U0)
                else:
                    row = np.uint64(reference)
                    if (marks[row >> SIX] >> (row & LOW_SIX)) & ONE:
                        has_some = without_row(target, place, rows, row * ROW)
        if are_rows:
            row = np.uint64(entry - first_entry)
            bit = ONE << (row & LOW_SIX)
            marks[row >> SIX] = marks[row >> SIX] | bit if has_some else marks[row >> SIX] & ~bit
        elif has_some:
            found[n_found] = entry
            n_found += 1
        entry += 1
    return entry, n_found


@jit
def match_blocks(
    index: BatchIndex,
    ends: IntervalEnds,
    block: Block,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    first_event: int,
    alive: NDArray[np.uint8],
    found: NDArray[np.int32],
    words: Words,
    offsets: NDArray[np.int64],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Match all events from `first_event` on, block by block; for an index of one tile, with room for all its rules.

    Writes the rules of each event to `out`, and where they end to `offsets`. If the rules of a block find no room, it
    stops before that block. Returns the event to go on with, and the room that is needed at least.
    """
    no_rules, all_alive = np.empty(0, np.int32), np.empty(0, np.uint8)
    counts, digits = np.empty(N_EVENTS, np.int64), np.empty(N_DIGITS, np.uint64)
    cursor = np.empty(N_EVENTS, np.uint64)
    n_events, n_rules = offsets.size - 1, index.rule_operation.size
    first = first_event
    while first < n_events:
        last = min(first + N_EVENTS, n_events)
        load_block(index, block, event_offsets, cells, first, last, ends)
        n_rows = index.row_operation.size
        evaluate_lists(
            index.row_operation,
            index.row_offsets,
            index.row_children,
            0,
            n_rows,
            all_alive,
            block,
            no_rules,
            block.rows,
        )
        _, n_found = evaluate_lists(
            index.rule_operation, index.rule_offsets, index.rule_children, 0, n_rules, alive, block, found, words
        )
        counts[:] = 0
        count_rows(words, n_found, digits, counts)
        end = offsets[first]
        for event in range(last - first):
            cursor[event] = np.uint64(end)
            end += counts[event]
            offsets[first + event + 1] = end
        if end > out.size:
            return first, end
        write_rows(found, words, n_found, cursor, out)
        first = last
    return first, offsets[n_events]
