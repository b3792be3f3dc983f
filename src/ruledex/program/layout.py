"""Lay out a Program at the end of a build: number the nodes, and put score programs in the order of the rules.

Nodes that no root leads to, which a rule had before it was simplified, are left out. Nodes may share common parts
(`sharing.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import ALWAYS, FALSE_BY, LEAF, NEVER, OPERATION, STEP_BITS, WEIGH
from ruledex.compiled.decorator import jit
from ruledex.errors import RuledexError
from ruledex.program.node_table import ALWAYS_CODE, N_NODES, NEVER_CODE, START, TAG, NodeTable
from ruledex.program.normalise import NormalRules
from ruledex.program.scores.compile import ScoreTable, pack_step
from ruledex.program.sharing import FEW, InnerNodes, share_parts, stable_order

_UNUSED = -1
_LARGEST = np.iinfo(np.int32).max


class UsedNodes(NamedTuple):
    """The nodes that the rules use, level by level, and where each node of the build went."""

    inner: InnerNodes
    used: NDArray[np.int32]  # of the build, in the order of `inner`
    node_of: NDArray[np.int32]  # by the number that a node has in the build, its id among all nodes
    literal_node: NDArray[np.int32]  # by the literal of the build, its id among all nodes; read-only


class ProgramNodes(NamedTuple):
    """The arrays of a Program that come from nodes and rules, by their names in it."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]
    level_offsets: NDArray[np.int32]
    root: NDArray[np.int32]
    score_offsets: NDArray[np.int32]
    score_code: NDArray[np.int32]
    score_weight: NDArray[np.float64]


def find_used_nodes(table: NodeTable, roots: NDArray[np.int32], literal_node: NDArray[np.int32]) -> UsedNodes:
    """Return the nodes that roots lead to. The table is not needed afterwards.

    `literal_node[literal]` is the node id of each literal of the build. It is a permutation.
    """
    n_literals, n_inner = len(literal_node), int(table.counts[N_NODES])
    literal_node = read_only(literal_node)
    level = np.empty(n_inner, np.int32)
    n_levels = _find_levels(table, level)
    used = np.empty(n_inner, np.int32)
    n_used = _find_used(table, roots, np.zeros(n_inner, np.uint8), used)
    used = used[:n_used]
    used = used[stable_order(level[used])]
    n_nodes = n_literals + n_used
    _check_size("nodes", n_nodes, _LARGEST)
    _check_size("literals", n_literals, _LARGEST >> STEP_BITS)
    node_of = np.full(n_inner, _UNUSED, np.int32)
    node_of[used] = np.arange(n_literals, n_nodes, dtype=np.int32)

    child_offsets = _offsets("links between nodes", np.diff(table.nodes[: n_inner + 1, START])[used])
    children = np.empty(child_offsets[-1], np.int32)
    _write_children(table, used, literal_node, node_of, child_offsets, children)
    n_in_level = np.bincount(level[used], minlength=n_levels + 1)[1:]
    level_offsets = n_literals + np.concatenate([[0], np.cumsum(n_in_level[n_in_level > 0])])
    node_op = (table.nodes[used, TAG] & 1).astype(np.uint8)
    inner = InnerNodes(node_op, child_offsets, children, level_offsets.astype(np.int32))
    return UsedNodes(inner, used, node_of, literal_node)


def lay_out(
    nodes: UsedNodes,
    scores: ScoreTable,
    rules: NormalRules,
    *,
    share: bool,
) -> ProgramNodes:
    """Return the nodes and score programs of all rules; with `share`, common parts of nodes stand once."""
    inner, used, node_of, literal_node = nodes
    if share:
        inner, number = share_parts(inner, len(literal_node))
        node_of[used] = len(literal_node) + number

    root = np.empty(len(rules.root), np.int32)
    _write_roots(rules.root, literal_node, node_of, root)
    score_offsets = _offsets("steps of score programs", rules.n_score_steps)
    score_code = np.empty(score_offsets[-1], np.int32)
    score_weight, weight_number = np.empty(0), np.empty(0, np.int64)
    if scores.n_weights[0]:  # for one rule, np.unique of nothing takes as long as much of the rest
        score_weight, weight_number = np.unique(scores.weight[: scores.n_weights[0]], return_inverse=True)
    _write_scores(scores, rules.score_start, literal_node, weight_number, score_offsets, score_code)
    return ProgramNodes(
        *inner,
        root,
        score_offsets,
        score_code,
        score_weight,
    )


def _offsets(what: str, counts: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the CSR offsets of lists of these lengths. Raises RuledexError if they do not fit."""
    ends = np.cumsum(counts, dtype=np.int64)
    _check_size(what, int(ends[-1]) if len(ends) else 0, _LARGEST)
    return np.concatenate([[0], ends]).astype(np.int32)


def _check_size(what: str, size: int, largest: int) -> None:
    if size > largest:
        raise RuledexError(f"an index has at most {largest:,} {what}, not {size:,}: divide the rules among several")


@jit
def _find_levels(table: NodeTable, level: NDArray[np.int32]) -> int:
    """Write 1 + the highest level of a child, where literals have 0; return the highest level."""
    highest = 0
    for node in range(level.size):
        below = 0
        for edge in range(table.nodes[node, START], table.nodes[node + 1, START]):
            child = table.children[edge]
            if child < 0:
                below = max(below, level[~child])
        level[node] = below + 1
        highest = max(highest, below + 1)
    return highest


@jit
def _find_used(table: NodeTable, roots: NDArray[np.int32], is_used: NDArray[np.uint8], used: NDArray[np.int32]) -> int:
    """Write the inner nodes that roots lead to, rule by rule; return how many there are."""
    n_used, n_followed = 0, 0
    for root in roots:
        if root < 0 and root != ALWAYS_CODE and root != NEVER_CODE and is_used[~root] == 0:
            is_used[~root] = 1
            used[n_used] = ~root
            n_used += 1
        while n_followed < n_used:
            node = used[n_followed]
            n_followed += 1
            for edge in range(table.nodes[node, START], table.nodes[node + 1, START]):
                child = table.children[edge]
                if child < 0 and is_used[~child] == 0:
                    is_used[~child] = 1
                    used[n_used] = ~child
                    n_used += 1
    return n_used


@jit
def _write_children(
    table: NodeTable,
    used: NDArray[np.int32],
    literal_node: NDArray[np.int32],
    node_of: NDArray[np.int32],
    child_offsets: NDArray[np.int32],
    children: NDArray[np.int32],
) -> None:
    """Write each used node's children by their ids, ascending."""
    for place in range(used.size):
        first = child_offsets[place]
        begin = table.nodes[used[place], START]
        n_children = child_offsets[place + 1] - first
        for edge in range(n_children):
            code = table.children[begin + edge]
            child = literal_node[code] if code >= 0 else node_of[~code]
            other = first + edge
            if n_children <= FEW:
                while other > first and children[other - 1] > child:
                    children[other] = children[other - 1]
                    other -= 1
            children[other] = child
        if n_children > FEW:
            children[first : first + n_children].sort()


@jit
def _write_roots(
    roots: NDArray[np.int32], literal_node: NDArray[np.int32], node_of: NDArray[np.int32], out: NDArray[np.int32]
) -> None:
    for rule in range(roots.size):
        code = roots[rule]
        if code >= 0:
            out[rule] = literal_node[code]
        elif code == ALWAYS_CODE:
            out[rule] = ALWAYS
        elif code == NEVER_CODE:
            out[rule] = NEVER
        else:
            out[rule] = node_of[~code]


@jit
def _write_scores(
    scores: ScoreTable,
    starts: NDArray[np.int64],
    literal_node: NDArray[np.int32],
    weight_number: NDArray[np.int64],
    score_offsets: NDArray[np.int32],
    code: NDArray[np.int32],
) -> None:
    """Write the score programs in the order of the rules, with the ids of the Program."""
    for rule in range(starts.size):
        given = starts[rule]
        for place in range(score_offsets[rule], score_offsets[rule + 1]):
            operation, argument = scores.code[given] & OPERATION, int(scores.code[given] >> STEP_BITS)
            if operation in (LEAF, FALSE_BY):
                argument = int(literal_node[argument])
            elif operation == WEIGH:
                argument = int(weight_number[argument])
            code[place] = pack_step(operation, argument)
            given += 1
