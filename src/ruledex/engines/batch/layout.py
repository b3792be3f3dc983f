"""From a Program to the arrays of `batch`; kernels.py says what they mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND, EVERY, OR
from ruledex.compiled.constants import AND as PROGRAM_AND
from ruledex.compiled.lists import gather_lists
from ruledex.engines.access import children_by_probability, domain_boundaries, node_probabilities
from ruledex.engines.batch.kernels import AND_NOT, BatchIndex
from ruledex.engines.inputs import LARGEST
from ruledex.engines.protocol import Statistics
from ruledex.errors import RuledexError
from ruledex.program.program import Program


class OperationLists(NamedTuple):
    """Operations, each on its own list of children."""

    operation: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    children: NDArray[np.int32]  # as in a BatchIndex, but with node ids in place of rows

    def of(self, chosen: NDArray[np.int64]) -> OperationLists:
        """Some of the lists, in the order given."""
        offsets = np.concatenate([[0], np.cumsum(self.offsets[chosen + 1] - self.offsets[chosen])])
        children = np.empty(offsets[-1], np.int32)
        gather_lists(
            frozen(self.offsets, np.int64), frozen(self.children, np.int32), frozen(chosen, np.int64), offsets, children
        )
        return OperationLists(self.operation[chosen], offsets, children)


class TilePlan(NamedTuple):
    """What all tiles are cut from."""

    intervals: NDArray[np.int64]  # [n_intervals, 2]
    nodes: OperationLists
    rules: OperationLists
    is_stored: NDArray[np.bool_]  # [n_nodes] nodes that have a row where a rule of the tile needs them
    order: NDArray[np.int64]  # stored nodes from the bottom up; within a level, what is used most comes first


def build_batch_index(program: Program, statistics: Statistics | None, max_rows: int) -> BatchIndex:
    """Compute the index, in as many tiles of rules as it takes for none to store more than `max_rows` rows."""
    plan = _plan(program, statistics)
    tiles = _tiles(plan, 0, program.n_rules, max_rows)
    rows = _joined([tile_rows for _, tile_rows, _ in tiles])
    rules = _joined([tile_rules for _, _, tile_rules in tiles])
    size = max(len(rows.children), len(rules.children))
    if size > LARGEST:
        raise RuledexError(f"the rules have {size:,} children, more than {LARGEST:,}; build several indexes")
    return BatchIndex(
        domain_offsets=frozen(domain_boundaries(program), np.int32),
        intervals=frozen(plan.intervals.reshape(-1), np.int32),
        row_operation=frozen(rows.operation, np.uint8),
        row_offsets=frozen(rows.offsets, np.int32),
        row_children=frozen(rows.children, np.int32),
        rule_operation=frozen(rules.operation, np.uint8),
        rule_offsets=frozen(rules.offsets, np.int32),
        rule_children=frozen(rules.children, np.int32),
        tile_rows=frozen(np.cumsum([0, *(len(tile_rows.operation) for _, tile_rows, _ in tiles)]), np.int64),
        tile_rules=frozen(np.array([*(first for first, _, _ in tiles), program.n_rules]), np.int64),
    )


def _plan(program: Program, statistics: Statistics | None) -> TilePlan:
    n_positive, n_literals, n_nodes = program.n_positive, program.n_literals, program.n_nodes
    probability = node_probabilities(program, statistics)
    is_union = np.diff(program.interval_offsets) != 1
    presences, presence_of = np.unique(program.negative_presence, return_inverse=True)
    cells = [presences, [EVERY]]
    keys = np.concatenate([program.interval_low, *cells]).astype(np.int64) << 32
    keys |= np.concatenate([program.interval_high, *cells]).astype(np.int64) + 1
    distinct, of_key = np.unique(keys, return_inverse=True)
    stands_for = (-1 - of_key).astype(np.int32)
    of_interval, of_presence, every = np.split(stands_for, [len(program.interval_low), len(of_key) - 1])
    # How a node stands in a list: a literal of one interval as that interval, anything else by its row.
    plain = np.flatnonzero(~is_union)
    reference = np.arange(n_nodes, dtype=np.int32)
    reference[plain] = of_interval[program.interval_offsets[plain]]
    negatives = np.stack([of_presence[presence_of], reference[program.negative_of]], axis=1).reshape(-1)
    inner_children = children_by_probability(program, probability)
    lengths = [np.diff(program.interval_offsets), np.full(len(presence_of), 2), np.diff(program.child_offsets)]
    nodes = OperationLists(
        operation=np.concatenate(
            [
                np.full(n_positive, OR),
                np.full(len(presence_of), AND_NOT),
                np.where(program.node_op == PROGRAM_AND, AND, OR),
            ]
        ).astype(np.uint8),
        offsets=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
        children=np.concatenate([of_interval, negatives, reference[inner_children]]),
    )

    n_parents = np.bincount(program.children, minlength=n_nodes)
    n_rules_of = np.bincount(program.root[program.root >= 0], minlength=n_nodes)
    is_stored = np.ones(n_nodes, np.bool_)
    is_stored[plain] = False
    is_stored[n_literals:] = (n_parents[n_literals:] > 0) | (n_rules_of[n_literals:] > 1)
    level = np.zeros(n_nodes, np.int64)
    level[n_positive:n_literals] = 1
    level[n_literals:] = 2 + np.repeat(np.arange(len(program.level_offsets) - 1), np.diff(program.level_offsets))
    order = np.lexsort((-(n_parents + n_rules_of), nodes.operation == AND, level))
    rules = _rule_lists(program, nodes, reference, int(every[0]), is_stored)
    return TilePlan(
        np.stack([distinct >> 32, distinct & 0xFFFFFFFF], axis=1), nodes, rules, is_stored, order[is_stored[order]]
    )


def _rule_lists(
    program: Program, nodes: OperationLists, reference: NDArray[np.int32], every: int, is_stored: NDArray[np.bool_]
) -> OperationLists:
    """Return one list per rule: its root's own where the root has no row, else a list of one node.

    `every` is the interval that each event has.
    """
    root = program.root.astype(np.int64)
    own = np.zeros(len(root), np.bool_)
    inner = root >= program.n_literals
    own[inner] = ~is_stored[root[inner]]
    named = (root >= 0) & ~own
    always = root == ALWAYS
    lengths = np.where(named | always, 1, 0)
    own_lists = nodes.of(root[own])
    lengths[own] = np.diff(own_lists.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    children = np.zeros(offsets[-1], np.int32)
    children[offsets[:-1][always]] = every
    children[offsets[:-1][named]] = reference[root[named]]
    children[np.repeat(own, lengths)] = own_lists.children
    operation = np.full(len(root), OR, np.uint8)
    operation[own] = own_lists.operation
    return OperationLists(operation, offsets, children)


def _tiles(plan: TilePlan, first: int, last: int, max_rows: int) -> list[tuple[int, OperationLists, OperationLists]]:
    """Rows and rules of each tile of the rules from `first` up to `last`, halved until the rows are few enough."""
    rules = plan.rules.of(np.arange(first, last))
    needed = np.zeros(len(plan.is_stored), np.bool_)
    needed[rules.children[rules.children >= 0]] = True
    order = plan.order
    if first > 0 or last < len(plan.rules.operation):
        order = _reached(plan, needed)
    if len(order) > max_rows and last - first > 1:
        middle = (first + last) // 2
        return _tiles(plan, first, middle, max_rows) + _tiles(plan, middle, last, max_rows)
    row_of = np.full(len(plan.is_stored), -1, np.int32)
    row_of[order] = np.arange(len(order), dtype=np.int32)
    return [(first, _by_row(plan.nodes.of(order), row_of), _by_row(rules, row_of))]


def _reached(plan: TilePlan, needed: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the stored nodes that the needed ones are made of, in their order."""
    lists = plan.nodes.of(plan.order)
    node_of_child = np.repeat(plan.order, np.diff(lists.offsets))
    by_row = lists.children >= 0
    parents, children = node_of_child[by_row], lists.children[by_row]
    n_before = -1
    while n_before != int(np.sum(needed)):
        n_before = int(np.sum(needed))
        needed[children[needed[parents]]] = True
    return plan.order[needed[plan.order]]


def _by_row(lists: OperationLists, row_of: NDArray[np.int32]) -> OperationLists:
    children = lists.children.copy()
    by_row = children >= 0
    children[by_row] = row_of[children[by_row]]
    return lists._replace(children=children)


def _joined(parts: list[OperationLists]) -> OperationLists:
    starts = np.cumsum([0, *(len(part.children) for part in parts)])
    offsets = [part.offsets[:-1] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return OperationLists(
        np.concatenate([part.operation for part in parts]),
        np.concatenate([*offsets, starts[-1:]]),
        np.concatenate([part.children for part in parts]),
    )
