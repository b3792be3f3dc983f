"""Rules put into an A-Tree and taken out of it, many at a time (a-tree2021, Algorithms 4 and 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.atree_covers import Plan
from ruledex.kernels.atree_layout import (
    ALWAYS,
    ALWAYS_RULE,
    NEVER,
    NEXT,
    NO_RULE,
    OP,
    OR,
    PREVIOUS,
    ROOT,
    RULE,
    SHARE,
    USES,
    Tree,
    find,
    hash_of,
)
from ruledex.kernels.atree_links import write_entries
from ruledex.kernels.atree_nodes import NO_ROOM, make_node
from ruledex.kernels.atree_removal import lose_use, remove_doomed
from ruledex.kernels.growing import FREE
from ruledex.kernels.jit import jit

NOT_MADE = -1


class NewRules(NamedTuple):
    """Rules to put into a tree, as a Program has them, and the nodes that its literals and inner nodes became."""

    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]
    root: NDArray[np.int32]
    rule: NDArray[np.int32]  # the row of each rule
    chance: NDArray[np.float32]  # [n_inner] how often a node is true, or empty
    literal_node: NDArray[np.int32]  # [n_literals]


class LoadScratch(NamedTuple):
    """What loading needs. `node_of` is NOT_MADE at first, `seen` is 0."""

    node_of: NDArray[np.int32]  # [n_inner] the node that each inner node of the Program became
    seen: NDArray[np.int32]  # [n_inner] the number of the walk that last met it
    walk: NDArray[np.int64]  # [2] the number of the walk, and how many nodes `made` has
    stack: NDArray[np.int32]  # [n_inner + 1]
    made: NDArray[np.int32]  # [n_inner] inner nodes that the rule at hand made
    nested: NDArray[np.int32]  # [n_inner] nodes of one operation within each other
    atoms: NDArray[np.int32]  # [n_children + 1]


@jit
def insert_rules(tree: Tree, switches: int, rules: NewRules, scratch: LoadScratch, plan: Plan, first: int) -> int:
    """Put in rules from `first` on as long as there is room; return which comes next.

    A rule for which the room ends in the middle is begun again: the nodes that it has already are found there. Where
    nodes are not shared, they are found in `node_of`.
    """
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
def _make_nodes(tree: Tree, switches: int, rules: NewRules, scratch: LoadScratch, plan: Plan, root: int) -> bool:
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


@jit
def _gather(rules: NewRules, scratch: LoadScratch, inner: int) -> tuple[int, int]:
    """Write the atoms of an inner node, ascending; return how many, and a node that is still to be made, if any.

    Children of the same operation count for their own children, as in the paper's ids: (a AND b) AND c is a AND b AND
    c.
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
    while n_nested > 0:
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
    atoms[:n_atoms].sort()
    n_distinct = min(n_atoms, 1)
    for place in range(1, n_atoms):
        if atoms[place] != atoms[n_distinct - 1]:
            atoms[n_distinct] = atoms[place]
            n_distinct += 1
    return n_distinct, missing


@jit
def _node_of_atoms(
    tree: Tree, switches: int, rules: NewRules, scratch: LoadScratch, plan: Plan, inner: int, n_atoms: int
) -> int:
    """The node of the atoms that were gathered, found or made; or `NO_ROOM`."""
    operation, atoms = int(rules.node_op[inner]), scratch.atoms
    node = FREE
    if n_atoms == 1:
        node = int(atoms[0])
    elif switches & SHARE != 0:
        key = hash_of(operation, atoms, n_atoms)
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


@jit
def delete_rules(tree: Tree, switches: int, deleted: NDArray[np.int32], first: int) -> int:
    """Take out rules from `first` on as long as there is room to dissolve nodes; return which comes next.

    What an earlier call had to leave doomed is removed first.
    """
    place = first
    has_room = remove_doomed(tree, switches)
    while has_room and place < deleted.size:
        _detach(tree, switches, deleted[place])
        place += 1
        has_room = remove_doomed(tree, switches)
    return place


@jit
def _detach(tree: Tree, switches: int, rule: int) -> None:
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


@jit
def hold_literals(nodes: NDArray[np.int32], literals: NDArray[np.int32]) -> None:
    """Count one use more of each literal."""
    for literal in literals:
        nodes[literal, USES] += 1


@jit
def release_literals(tree: Tree, switches: int, literals: NDArray[np.int32]) -> None:
    """Count one use less of each literal, and take out those that have none left, for which no room is needed."""
    for literal in literals:
        tree.nodes[literal, USES] -= 1
        lose_use(tree, switches, literal)
    remove_doomed(tree, switches)
