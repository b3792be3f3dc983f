"""Put rules into an A-Tree and take them out, many at a time (a-tree2021, Algorithms 4 and 5).

Rules of a live tree come and go with what scores them. A call from Python costs more than the work for one rule, so all
that a change needs is done in one call.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE
from ruledex.compiled.bits import prefetch
from ruledex.compiled.constants import ALWAYS, FALSE_BY, LEAF, NEVER, OPERATION, OR, STEP_BITS
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.atree.heap import NO_BLOCK, free_block, new_block
from ruledex.engines.atree.layout import (
    ALWAYS_RULE,
    BLOCK,
    N_COLUMNS,
    NEXT,
    NO_RULE,
    OP,
    PREVIOUS,
    ROOT,
    RULE,
    RULE_COLUMNS,
    SHARE,
    USES,
    Tree,
    find,
    hash_of,
)
from ruledex.engines.atree.links import write_entries
from ruledex.engines.atree.nodes import NO_ROOM, CoverPlan, make_node, new_cover_plan
from ruledex.engines.atree.removal import lose_use, remove_doomed

NOT_MADE = -1
AHEAD = 4  # how many rules before its use memory is asked for, step by step
_FEW_ATOMS = 24


class RulesToLoad(NamedTuple):
    """Rules to put into a tree, as a Program has them, and the nodes that its literals and inner nodes became."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]
    root: NDArray[np.int32]
    rule: NDArray[np.int32]  # the row of each rule
    chance: NDArray[np.float32]  # [n_inner] how often a node is true, or empty
    literal_node: NDArray[np.int32]  # [n_literals]


class LoadScratch(NamedTuple):
    """What loading needs."""

    node_of: NDArray[np.int32]  # [n_inner] the node that each inner node of the Program became
    seen: NDArray[np.int32]  # [n_inner] the number of the walk that last met it
    walk: NDArray[np.int64]  # [2] the number of the walk, and how many nodes `made` has
    stack: NDArray[np.int32]  # [n_inner + 1]
    made: NDArray[np.int32]  # [n_inner] inner nodes that the rule at hand made
    nested: NDArray[np.int32]  # [n_inner] nodes of one operation within each other
    atoms: NDArray[np.int32]  # [n_children + 1]


@jit
def _scratch_for(rules: RulesToLoad, node_of: NDArray[np.int32]) -> LoadScratch:
    """Scratch for rules of which some may be in already. It is made here: to hand it over would take longer."""
    n_inner, n_made = node_of.size, 0
    made, walk = np.empty(n_inner, np.int32), np.zeros(2, np.int64)
    for inner in range(n_inner):
        if node_of[inner] != NOT_MADE:
            made[n_made] = inner
            n_made += 1
    walk[1] = n_made
    return LoadScratch(
        node_of,
        np.zeros(n_inner, np.int32),
        walk,
        np.empty(n_inner + 1, np.int32),
        made,
        np.empty(n_inner, np.int32),
        np.empty(rules.children.size + 1, np.int32),
    )


@jit
def insert_rules(tree: Tree, switches: int, rules: RulesToLoad, node_of: NDArray[np.int32], first: int) -> int:
    """Put in rules from `first` on as long as there is room; return which comes next.

    `node_of` has the node that each inner node of the Program became, at first NOT_MADE. A rule for which the room ends
    in the middle is begun again: the nodes that it has already are found there.
    """
    scratch, plan = _scratch_for(rules, node_of), new_cover_plan(rules.children.size + 1)
    n_literals = rules.literal_node.size
    rule, has_room = first, True
    while has_room and rule < rules.root.size:
        root = rules.root[rule]
        node = root
        if root >= n_literals:
            has_room = _make_nodes(tree, switches, rules, scratch, plan, root - n_literals)
            node = scratch.node_of[root - n_literals]
        elif root >= 0:
            node = rules.literal_node[root]
        if has_room:
            _attach(tree, switches, rules.rule[rule], node)
            if switches & SHARE == 0:
                for place in range(scratch.walk[1]):
                    scratch.node_of[scratch.made[place]] = NOT_MADE
            scratch.walk[1] = 0
            rule += 1
    return rule


@jit
def _make_nodes(
    tree: Tree, switches: int, rules: RulesToLoad, scratch: LoadScratch, plan: CoverPlan, root: int
) -> bool:
    """Make what lies below an inner node, and itself; whether there was room for it."""
    node_of, stack, made, walk = scratch.node_of, scratch.stack, scratch.made, scratch.walk
    stack[0] = root
    height, has_room = 1 if node_of[root] == NOT_MADE else 0, True
    while has_room and height > 0:
        inner = stack[height - 1]
        n_atoms, missing = _gather(rules, scratch, inner)
        if missing != NOT_MADE:
            stack[height] = missing
            height += 1
        else:
            height -= 1
            node = _node_of_atoms(tree, switches, rules, scratch, plan, inner, n_atoms)
            has_room = node != NO_ROOM
            if has_room:
                node_of[inner] = node
                made[walk[1]] = inner
                walk[1] += 1
    return has_room


@inlined
def _sort(atoms: NDArray[np.int32], n_atoms: int) -> None:
    """Put atoms in ascending order; they are few, but for some."""
    if n_atoms > _FEW_ATOMS:
        atoms[:n_atoms].sort()
    else:
        for place in range(1, n_atoms):
            atom, at = atoms[place], place
            while at > 0 and atoms[at - 1] > atom:
                atoms[at] = atoms[at - 1]
                at -= 1
            atoms[at] = atom


@jit
def _gather(rules: RulesToLoad, scratch: LoadScratch, inner: int) -> tuple[int, int]:
    """Write the atoms of an inner node, ascending; return how many, and a node that is still to be made, if any.

    Where there is one, the atoms are not complete. Children of the same operation count for their own children, as in
    the paper's ids: (a AND b) AND c is a AND b AND c.
    """
    node_op, child_offsets, children = rules.node_op, rules.child_offsets, rules.children
    literal_node, node_of, seen, nested, atoms = (
        rules.literal_node,
        scratch.node_of,
        scratch.seen,
        scratch.nested,
        scratch.atoms,
    )
    n_literals, operation = literal_node.size, node_op[inner]
    scratch.walk[0] += 1
    walk = scratch.walk[0]
    nested[0] = inner
    n_nested, n_atoms, missing = 1, 0, NOT_MADE
    while n_nested > 0 and missing == NOT_MADE:
        n_nested -= 1
        at = nested[n_nested]
        for edge in range(child_offsets[at], child_offsets[at + 1]):
            child = children[edge]
            below = child - n_literals
            if child < n_literals:
                atoms[n_atoms] = literal_node[child]
                n_atoms += 1
            elif seen[below] != walk:
                seen[below] = walk
                if node_op[below] == operation:
                    nested[n_nested] = below
                    n_nested += 1
                elif node_of[below] == NOT_MADE:
                    missing = int(below)
                else:
                    atoms[n_atoms] = node_of[below]
                    n_atoms += 1
    if missing == NOT_MADE:
        _sort(atoms, n_atoms)
    n_distinct = min(n_atoms, 1)
    for place in range(1, n_atoms):
        if atoms[place] != atoms[n_distinct - 1]:
            atoms[n_distinct] = atoms[place]
            n_distinct += 1
    return n_distinct, missing


@jit
def _node_of_atoms(
    tree: Tree, switches: int, rules: RulesToLoad, scratch: LoadScratch, plan: CoverPlan, inner: int, n_atoms: int
) -> int:
    """Return the node of the atoms that were gathered, found or made; or `NO_ROOM`."""
    operation, atoms = int(rules.node_op[inner]), scratch.atoms
    node = FREE
    if n_atoms == 1:
        node = int(atoms[0])
    elif switches & SHARE != 0:
        key = hash_of(operation, atoms, n_atoms)
        prefetch(tree.table, key & (tree.table.size - 1))
        for place in range(n_atoms):
            prefetch(tree.nodes, N_COLUMNS * np.int64(atoms[place]))
        node = find(tree.nodes, tree.heap, tree.table, operation, atoms, n_atoms, key)
    if node == FREE:
        chance = float(rules.chance[inner]) if rules.chance.size != 0 else 0.0
        node = make_node(tree, switches, operation, atoms, n_atoms, chance, plan)
    return node


@jit
def _attach(tree: Tree, switches: int, rule: int, node: int) -> None:
    """Let a rule be true where a node is; ALWAYS and NEVER are none."""
    nodes, rules, counts = tree.nodes, tree.rules, tree.counts
    rules[rule, ROOT], rules[rule, NEXT], rules[rule, PREVIOUS] = node, NO_RULE, NO_RULE
    if node != NEVER:
        head = counts[ALWAYS_RULE] if node == ALWAYS else nodes[node, RULE]
        rules[rule, NEXT] = head
        if head != NO_RULE:
            rules[head, PREVIOUS] = rule
        if node == ALWAYS:
            counts[ALWAYS_RULE] = rule
        else:
            nodes[node, RULE] = rule
            nodes[node, USES] += 1
            # The first rule makes it a sink, if anything does, and the second makes it none.
            if nodes[node, OP] <= OR and nodes[node, USES] <= 2:
                write_entries(nodes, tree.heap, rules, tree.levels, counts, switches, node)


@inlined
def fetch_rules_ahead(
    nodes: NDArray[np.int32],
    heap: NDArray[np.int32],
    rules: NDArray[np.int32],
    deleted: NDArray[np.int32],
    place: int,
) -> None:
    """Ask for the memory of rules that will be taken out soon: their rows, their nodes, and the blocks of these."""
    if place + 3 * AHEAD < deleted.size:
        prefetch(rules, RULE_COLUMNS * np.int64(deleted[place + 3 * AHEAD]))
    if place + 2 * AHEAD < deleted.size:
        prefetch(nodes, N_COLUMNS * np.int64(max(rules[deleted[place + 2 * AHEAD], ROOT], 0)))
    if place + AHEAD < deleted.size:
        prefetch(heap, np.int64(nodes[max(rules[deleted[place + AHEAD], ROOT], 0), BLOCK]))


@jit
def detach(tree: Tree, switches: int, rule: int) -> None:
    """Let a node no longer be for a rule, which is true of nothing then."""
    nodes, rules, counts = tree.nodes, tree.rules, tree.counts
    node, after, before = rules[rule, ROOT], rules[rule, NEXT], rules[rule, PREVIOUS]
    if node != NEVER:
        if after != NO_RULE:
            rules[after, PREVIOUS] = before
        if before != NO_RULE:
            rules[before, NEXT] = after
        elif node == ALWAYS:
            counts[ALWAYS_RULE] = after
        else:
            nodes[node, RULE] = after
        if node != ALWAYS:
            nodes[node, USES] -= 1
            lose_use(tree, switches, node)
    rules[rule, ROOT], rules[rule, NEXT], rules[rule, PREVIOUS] = NEVER, NO_RULE, NO_RULE


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
        free_block(heap, start[rule])
        # A rule for which the room ends is come back to, and has nothing left then but nodes that are doomed.
        start[rule], length[rule] = NO_BLOCK, 0
        detach(tree, switches, rule)
        has_room = remove_doomed(tree, switches)
        place += has_room
    return place
