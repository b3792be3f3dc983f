"""How much of its index an event makes an engine touch: steadier than seconds, and the same on every machine.

Matching does not count. It leaves behind what is true, and from this all that it did is retraced.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.bits import ZERO, n_bits
from ruledex.compiled.constants import AND, OR
from ruledex.compiled.decorator import jit
from ruledex.engines.atree.engine import AtreeEngine
from ruledex.engines.atree.layout import BLOCK, FIRE, N_DOWN, N_FIRE, ON_DEMAND, OP, ROW
from ruledex.engines.atree.links import VERIFY, target_node
from ruledex.engines.atree.match import (
    NUMBER_SHIFT,
    MatchScratch,
    TreeIndex,
    count_found,
    holds,
    is_true,
    next_event,
    propagate,
)
from ruledex.engines.atree.plain import FALSE, TRUE, PlainScratch, Scopes, propagate_plainly
from ruledex.engines.auto import AutoEngine
from ruledex.engines.inputs import Nodes, freeze_batch, literals_of, nodes_of
from ruledex.engines.kindex.conjunctions import NO_DISJUNCTIONS
from ruledex.engines.kindex.engine import NormalFormEngine
from ruledex.engines.kindex.matching import Disjunctions, expression_numbers
from ruledex.engines.kindex.posting_lists import new_cursors
from ruledex.engines.kindex.postings import ListBounds, PostingCursors, Postings, are_noted, get_posting_lists
from ruledex.engines.labelled.engine import AnnotatedEngine
from ruledex.engines.scan import ScanEngine
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.engines.sparse.kernels import (
    SparseIndex,
    clear,
    collect_set,
    is_set,
    propagate_event,
    sparse_index,
    sparse_scratch,
)
from ruledex.events.batch import EventBatch
from ruledex.program.program import Program

Work = dict[str, float]  # counts per event, on average


def work_of(engine: Any, batch: EventBatch) -> Work:
    """Return what an event makes an engine or a baseline touch, on average; nothing where nobody counts.

    Of `auto` it is what a single event touches, since a block of `batch` touches all rules. Rules past the budget of
    a normal form or of labels are left out.
    """
    batch = freeze_batch(batch)
    if hasattr(engine, "work"):
        return dict(engine.work(batch))
    if isinstance(engine, AutoEngine):
        return work_of(engine.sparse, batch)
    if isinstance(engine, SparseEngine):
        return _work_of_sparse(engine, batch)
    if isinstance(engine, ScanEngine):
        return _work_of_scan(engine.program, batch)
    if isinstance(engine, NormalFormEngine):
        return _work_of_normal_form(engine, batch)
    if isinstance(engine, AnnotatedEngine):
        return _work_of_labels(engine, batch)
    return _work_of_atree(engine, batch) if isinstance(engine, AtreeEngine) else {}


def _averages(counts: dict[str, int], batch: EventBatch) -> Work:
    return {name: n / max(batch.n_events, 1) for name, n in counts.items()}


# scan


@jit
def count_evaluated(
    nodes: Nodes,
    root: NDArray[np.int32],
    is_true: NDArray[np.bool_],
    n_evaluated: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add to `counts` how many literals and how many inner nodes all rules take.

    `is_true` has the truth of literals, and room for that of inner nodes behind them; `n_evaluated` is scratch of two
    rows of the same length.
    """
    n_literals = is_true.size - nodes.node_op.size
    for node in range(is_true.size):
        literals, inner = 1, 0
        if node >= n_literals:
            operation = nodes.node_op[node - n_literals]
            literals, inner = 0, 1
            place, last = nodes.child_offsets[node - n_literals], nodes.child_offsets[node - n_literals + 1]
            is_true[node] = operation == AND
            while place < last:
                child = nodes.children[place]
                literals += n_evaluated[0, child]
                inner += n_evaluated[1, child]
                place += 1
                if is_true[child] != (operation == AND):
                    is_true[node] = is_true[child]
                    place = last
        n_evaluated[0, node], n_evaluated[1, node] = literals, inner
    for node in root:
        if node >= 0:
            counts[0] += n_evaluated[0, node]
            counts[1] += n_evaluated[1, node]


def _work_of_scan(program: Program, batch: EventBatch) -> Work:
    counts = np.zeros(2, np.int64)
    n_evaluated = np.zeros((2, program.n_nodes), np.int64)
    for event in range(batch.n_events):
        is_true = np.zeros(program.n_nodes, np.bool_)
        cells = batch.cells[batch.offsets[event] : batch.offsets[event + 1]]
        is_true[: program.n_literals] = _true_literals(program, cells)
        count_evaluated(nodes_of(program), program.root, is_true, n_evaluated, counts)
    return _averages(dict(zip(("literals evaluated", "nodes evaluated"), counts.tolist(), strict=True)), batch)


def _true_literals(program: Program, cells: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which literals an event of these cells makes true."""
    literals = literals_of(program)
    before = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=program.n_cells))])
    n_intervals = np.diff(literals.interval_offsets)
    is_hit = before[literals.interval_low] != before[literals.interval_high + 1]
    of_interval = np.repeat(np.arange(len(n_intervals)), n_intervals)
    is_true = np.bincount(of_interval[is_hit], minlength=len(n_intervals)) > 0
    is_there = before[literals.negative_presence] != before[literals.negative_presence + 1]
    return np.concatenate([is_true, is_there & ~is_true[literals.negative_of]])


# sparse

BY_SPARSE = (
    "atoms and literals true",
    "OR edges followed",
    "AND edges followed",
    "children looked at",
    "verified late",
    "nodes true",
    "words cleared",
    "rules true",
)
S_LITERALS, S_OR, S_AND, S_LOOKED_AT, S_LATE, S_TRUE, S_CLEARED, S_RULES = range(8)


@jit
def _look(
    bits: NDArray[np.uint64], conditions: NDArray[np.int32], begin: int, end: int, counts: NDArray[np.int64]
) -> None:
    """Count the places that are looked at until a condition is not met; `hold` says what conditions are."""
    while begin < end:
        wanted = conditions[begin]
        last = begin + 1 if wanted >= 0 else begin + 1 - wanted
        place = begin if wanted >= 0 else begin + 1
        counts[S_LOOKED_AT] += 1
        while place < last and not is_set(bits, conditions[place]):
            place += 1
            counts[S_LOOKED_AT] += place < last
        begin = last if place < last else end


@jit
def _late_number(index: SparseIndex, place: int) -> int:
    """Return the number of a node among those that are verified late, or -1."""
    number = -1
    levels = index.level_slots
    for level in range(0, levels.size, 4):
        first_to_verify, first_other = levels[level], levels[level + 1]
        if first_to_verify <= place and place < first_other:
            number = levels[level + 3] + place - first_to_verify
    return int(number)


@jit
def _count_edges(index: SparseIndex, bits: NDArray[np.uint64], place: int, counts: NDArray[np.int64]) -> None:
    """Count what a true place leads to."""
    offsets, and_edges, rest = index.edge_offsets, index.and_edges, index.and_rest
    for edge in range(offsets[2 * place], offsets[2 * place + 2]):
        counts[S_OR] += 1
        number = _late_number(index, index.or_edges[edge])
        if number >= 0:
            counts[S_LATE] += 1
            _look(bits, index.verify_slots, index.verify_offsets[number], index.verify_offsets[number + 1], counts)
    for edge in range(offsets[2 * place + 1], offsets[2 * place + 3]):
        counts[S_AND] += 1
        counts[S_LOOKED_AT] += 1
        if is_set(bits, and_edges[3 * edge + 1]):
            other = and_edges[3 * edge + 2]
            _look(bits, rest, other + 1, other + 1 + rest[other], counts)


@jit
def sparse_count_touched(
    index_handle: int,
    scratch_handle: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Match all events, and add up what that touches in the order of `BY_SPARSE`; `counts` is all zero before."""
    index, scratch = sparse_index(index_handle), sparse_scratch(scratch_handle)
    end_of_literals, first_sink, n_rules = index.places[2], index.places[3], index.places[4]
    for event in range(event_offsets.size - 1):
        propagate_event(index, scratch, cells, event_offsets[event], event_offsets[event + 1])
        for at in range(collect_set(scratch.bits, scratch.touched, 0, first_sink, scratch.singles)):
            place = scratch.singles[at]
            counts[S_LITERALS if place < end_of_literals else S_TRUE] += 1
            _count_edges(index, scratch.bits, place, counts)
        counts[S_RULES] += collect_set(scratch.bits, scratch.touched, first_sink, first_sink + n_rules, scratch.singles)
        for words in scratch.touched:
            if words != ZERO:
                counts[S_CLEARED] += n_bits(words)
        clear(scratch.bits, scratch.touched)


def _work_of_sparse(engine: SparseEngine, batch: EventBatch) -> Work:
    scratch = engine.buffers(len(batch.cells))
    counts = np.zeros(len(BY_SPARSE), np.int64)
    sparse_count_touched(engine.handle.address, scratch.handle.address, batch.offsets, batch.cells, counts)
    return _averages(dict(zip(BY_SPARSE, counts.tolist(), strict=True)), batch)


# atree

# Nodes are AND and OR; those that one rule is all that they are for are evaluated as often as they are fired, and
# neither remembered nor among the true ones. A node is cleared, or a word of 32 bits, when an event first comes to it.
BY_ATREE = (
    "literals true",
    "literals false",
    "results propagated",
    "nodes evaluated",
    "children looked at",
    "nodes true",
    "cleared",
    "rules true",
)
N_TRUE_LITERALS, N_FALSE_LITERALS, N_PROPAGATED, N_EVALUATED, N_LOOKED_AT, N_TRUE, N_CLEARED, N_RULES = range(8)


@jit
def _ask(heap: NDArray[np.int32], truth: NDArray[np.int64], number: int, child: int, counts: NDArray[np.int64]) -> bool:
    """Return whether a child is true, with what it takes to see that."""
    counts[N_LOOKED_AT] += 1
    if child < 0:
        counts[N_EVALUATED] += 1
        place = ~child + 1
        last = place + heap[~child]
        while place < last:
            counts[N_LOOKED_AT] += 1
            place = last if is_true(truth, number, heap[place]) else place + 1
    return holds(heap, truth, number, child)


@jit
def _count_fired(index: TreeIndex, scratch: MatchScratch, number: int, node: int, counts: NDArray[np.int64]) -> None:
    """Count what a true node carries to its parents, and what these do then."""
    nodes, heap, width, step = index.nodes, index.heap, index.widths[0], index.widths[1]
    first = nodes[width * node + FIRE]
    for entry in range(first, first + ROW * nodes[width * node + N_FIRE], ROW):
        target, second, flags = heap[entry], heap[entry + 1], heap[entry + 2]
        parent = width * target_node(index.rules, target)
        counts[N_PROPAGATED] += 1
        # An OR that is remembered is evaluated by the first that comes, and so counted with the nodes that are true.
        counts[N_EVALUATED] += nodes[parent + OP] == AND or target < 0
        is_on = second == node or _ask(heap, scratch.truth, number, second, counts)
        if is_on and flags & VERIFY != 0:
            row = nodes[parent + BLOCK] + step
            last = row + step * (nodes[parent + N_DOWN] - 1)
            while row < last and _ask(heap, scratch.truth, number, heap[row], counts):
                row += step


@jit
def _count_propagation(index: TreeIndex, scratch: MatchScratch, number: int, counts: NDArray[np.int64]) -> None:
    """Count what `propagate` did for an event."""
    nodes, width, truth = index.nodes, index.widths[0], scratch.truth
    for word in truth:
        counts[N_CLEARED] += (word >> NUMBER_SHIFT) == number
    for node in range(nodes.size // width):
        if is_true(truth, number, node):
            operation = nodes[width * node + OP]
            counts[N_TRUE if operation <= OR else N_TRUE_LITERALS] += 1
            counts[N_EVALUATED] += operation == OR
            _count_fired(index, scratch, number, node, counts)


@jit
def _count_plain_propagation(
    index: TreeIndex, plain: PlainScratch, switches: int, number: int, carries_false: bool, counts: NDArray[np.int64]
) -> None:
    """Count what `propagate_plainly` did for an event."""
    nodes, width = index.nodes, index.widths[0]
    for node in range(nodes.size // width):
        if plain.event[node] == number:
            row = width * node
            result, is_literal = plain.result[node], nodes[row + OP] > OR
            counts[N_CLEARED] += 1
            counts[N_TRUE_LITERALS] += is_literal and result == TRUE
            counts[N_FALSE_LITERALS] += is_literal and result == FALSE
            counts[N_TRUE] += not is_literal and result == TRUE
            counts[N_EVALUATED] += not is_literal
            if nodes[row + OP] == AND and switches & ON_DEMAND != 0 and plain.n_true[node] > 0:
                counts[N_LOOKED_AT] += nodes[row + N_DOWN]
            if result == TRUE or (result == FALSE and carries_false):
                counts[N_PROPAGATED] += nodes[row + N_FIRE]


@jit
def count_touched(
    index: TreeIndex,
    scratch: MatchScratch,
    plain: PlainScratch,
    scopes: Scopes,
    switches: int,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Match all events, and add up what that touches in the order of `BY_ATREE`; `counts` is all zero before.

    The arguments are those of `match_events`.
    """
    no_dead = np.zeros(0, np.uint8)
    for event in range(event_offsets.size - 1):
        number = next_event(scratch)
        its_cells = cells[event_offsets[event] : event_offsets[event + 1]]
        if plain.event.size == 0:
            propagate(index, scratch, number, its_cells)
            _count_propagation(index, scratch, number, counts)
        else:
            propagate_plainly(index, scratch, plain, scopes, switches, number, its_cells)
            _count_plain_propagation(index, plain, switches, number, scopes.first_cell.size != 0, counts)
        counts[N_RULES] += count_found(scratch.found, no_dead)


def _work_of_atree(engine: AtreeEngine, batch: EventBatch) -> Work:
    matcher = engine._matcher
    scratch = matcher._scratch()
    counts = np.zeros(len(BY_ATREE), np.int64)
    count_touched(
        matcher.index,
        scratch.match,
        scratch.plain,
        matcher._scopes,
        matcher._switches,
        batch.offsets,
        batch.cells,
        counts,
    )
    return _averages(dict(zip(BY_ATREE, counts.tolist(), strict=True)), batch)


# dnf, cnf, dewey and interval: posting lists

BY_POSTINGS = ("partitions", "lists", "entries noted", "entries in lists that skip", "lists of closed partitions")


@jit
def count_postings_touched(
    index: Postings,
    scratch: PostingCursors,
    event_offsets: NDArray[np.int64],
    cells: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None:
    """Add up, in the order of `BY_POSTINGS`, what the events lead to; `counts` is all zero before.

    Partitions with fewer lists than K, and their lists, are not counted. What lists that skip pass over is not known
    without moving them: all their entries are counted.
    """
    none = scratch.bounds
    node_lists, partition_size, partition_shift = index.node_lists, index.partition_size, index.partition_shift
    partition_lists, place_of, end_of, nodes = scratch.partition_lists, scratch.place, scratch.end, scratch.nodes
    for event in range(event_offsets.size - 1):
        begin, end = event_offsets[event], event_offsets[event + 1]
        n_nodes = get_posting_lists(index, scratch, ListBounds(none, none), cells, none, begin, end, 1.0)
        for position in range(n_nodes):
            counts[4] += node_lists[nodes[position] + 1] - node_lists[nodes[position]]
        counts[4] -= partition_lists[partition_lists.size - 1]
        for partition in range(partition_size.size):
            first, last = partition_lists[partition], partition_lists[partition + 1]
            k = max(partition_size[partition], 1)
            if last - first < k:
                continue
            counts[0] += 1
            counts[1] += last - first
            is_noted = are_noted(first, last, k, partition_shift[partition], place_of, end_of)
            for cursor in range(first, last):
                counts[2 if is_noted else 3] += end_of[cursor] - place_of[cursor]


def _work_of_postings(index: Postings, batch: EventBatch) -> Work:
    counts = np.zeros(len(BY_POSTINGS), np.int64)
    count_postings_touched(index, new_cursors(index, batch), batch.offsets, batch.cells, counts)
    return _averages(dict(zip(BY_POSTINGS, counts.tolist(), strict=True)), batch)


def _true_items(index: Postings, disjunctions: Disjunctions, batch: EventBatch) -> list[NDArray[np.int32]]:
    """Return the numbers of the items that are true of each event. Of conjunctions, `disjunctions` is empty."""
    cursors = new_cursors(index, batch)
    counters = np.zeros(int(disjunctions.n_disjunctions.max(initial=0)), np.int64)
    out = np.zeros(int(index.partition_first[-1]), np.int32)
    found = []
    for begin, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        n_found = expression_numbers(index, disjunctions, cursors, counters, batch.cells, begin, end, out)
        found.append(out[:n_found].copy())
    return found


def _work_of_normal_form(engine: NormalFormEngine, batch: EventBatch) -> Work:
    found = _true_items(engine.index, engine.disjunctions, batch)
    items = "expressions" if engine.form == "CNF" else "conjunctions"
    n_owners = np.diff(engine.owners.offsets)
    counts = {
        f"{items} true": sum(map(len, found)),
        "rules marked": sum(int(np.sum(n_owners[numbers])) for numbers in found),
    }
    return {**_work_of_postings(engine.index, batch), **_averages(counts, batch)}


def _work_of_labels(engine: AnnotatedEngine, batch: EventBatch) -> Work:
    index, trees = engine.conjunctions.index, engine.annotations
    counts = dict.fromkeys(("conjunctions true", "annotations", "expressions", "leaves looked at", "leaves true"), 0)
    n_leaves, n_annotations = np.diff(trees.expression_offsets), np.diff(trees.annotation_offsets)
    for numbers in _true_items(index, NO_DISJUNCTIONS, batch):
        is_true = np.zeros(engine.conjunctions.n_conjunctions, np.bool_)
        is_true[index.item[numbers]] = True
        leads_to = np.unique(trees.annotations[np.repeat(is_true, n_annotations)])
        expressions = np.unique(trees.expression_of[leads_to])
        tested = expressions[trees.is_tested[expressions] != 0]
        is_found = np.zeros(len(n_leaves), np.bool_)
        is_found[expressions] = True
        n_alone = len(leads_to) - len(tested)  # leaves that stand for themselves
        counts["conjunctions true"] += len(numbers)
        counts["annotations"] += int(np.sum(n_annotations[is_true]))
        counts["expressions"] += len(expressions)
        counts["leaves looked at"] += n_alone + int(np.sum(n_leaves[tested]))
        counts["leaves true"] += int(np.sum(is_true[trees.conjunction_of] & is_found[trees.expression_of]))
    return {**_work_of_postings(index, batch), **_averages(counts, batch)}
