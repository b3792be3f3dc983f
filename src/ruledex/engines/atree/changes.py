"""Putting rules into an A-Tree, with what scores them, and taking them out: each change of a live tree is one call.

A call from Python costs more than the work for one rule, so all that a change needs is done in the same call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import FALSE_BY, LEAF, OPERATION, STEP_BITS
from ruledex.compiled.decorator import jit
from ruledex.engines.atree.heap import NO_BLOCK, give_back, new_block
from ruledex.engines.atree.layout import USES, Tree
from ruledex.engines.atree.removal import lose_use, remove_doomed
from ruledex.engines.atree.rules import RulesToLoad, detach, fetch_rules_ahead, insert_rules


class ScoreHeap(NamedTuple):
    """The static scores and score programs of rules by their numbers, the programs in blocks of a heap."""

    static_score: NDArray[np.float64]
    start: NDArray[np.int32]
    length: NDArray[np.int32]
    heap: NDArray[np.int32]


class NewScores(NamedTuple):
    """The same of rules that come, one behind the other; the literals are those of their Program."""

    static_score: NDArray[np.float64]
    offsets: NDArray[np.int64]
    code: NDArray[np.int32]


@jit
def insert_scored(
    tree: Tree,
    scores: ScoreHeap,
    switches: int,
    rules: RulesToLoad,
    new: NewScores,
    node_of: NDArray[np.int32],
    first: int,
) -> int:
    """Put in rules from `first` on as long as there is room, and with the last what scores all; return which is next.

    The heap of scores must have room. A use is counted of each literal for each step that looks at it, and literals
    that nothing uses in the end are taken out again.
    """
    n_done = insert_rules(tree, switches, rules, node_of, first)
    if n_done == rules.root.size:
        nodes, rule, literal_node = tree.nodes, rules.rule, rules.literal_node
        start, length, heap, static_score = scores.start, scores.length, scores.heap, scores.static_score
        offsets, code = new.offsets, new.code
        for place in range(rule.size):
            number, n_steps = rule[place], offsets[place + 1] - offsets[place]
            static_score[number] = new.static_score[place]
            start[number], length[number] = NO_BLOCK, n_steps
            if n_steps > 0:
                start[number] = new_block(heap, n_steps)
                for at in range(n_steps):
                    step = code[offsets[place] + at]
                    operation = step & OPERATION
                    if operation in (LEAF, FALSE_BY):
                        node = literal_node[step >> STEP_BITS]
                        nodes[node, USES] += 1
                        step = node << STEP_BITS | operation
                    heap[start[number] + at] = step
        for literal in literal_node:
            if nodes[literal, USES] == 0:
                lose_use(tree, switches, literal)
        remove_doomed(tree, switches)
    return n_done


@jit
def delete_scored(tree: Tree, scores: ScoreHeap, switches: int, deleted: NDArray[np.int32], first: int) -> int:
    """Take out rules and what scores them, from `first` on as long as there is room; return which comes next."""
    nodes, start, length, heap = tree.nodes, scores.start, scores.length, scores.heap
    place, has_room = first, True
    while has_room and place < deleted.size:
        fetch_rules_ahead(nodes, tree.heap, tree.rules, deleted, place)
        rule = deleted[place]
        for at in range(start[rule], start[rule] + length[rule]):
            operation = heap[at] & OPERATION
            if operation in (LEAF, FALSE_BY):
                literal = heap[at] >> STEP_BITS
                nodes[literal, USES] -= 1
                if nodes[literal, USES] == 0:
                    lose_use(tree, switches, literal)
        give_back(heap, start[rule])
        # A rule for which the room ends is come back to, and has nothing left then but nodes that are doomed.
        start[rule], length[rule] = NO_BLOCK, 0
        detach(tree, switches, rule)
        has_room = remove_doomed(tree, switches)
        place += has_room
    return place
