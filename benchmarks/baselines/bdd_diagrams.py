"""The rules of a Program as one shared binary decision diagram of the library `dd`, and its nodes as flat arrays.

Every literal is a variable, as a-tree2021's Section 2 has it of predicates. Variables are in the order in which a walk
over all rules first meets their literals, so that those of a subexpression stand together: at 100,000 rules of the
paper's default this gave 2.5 million nodes, the order of how often literals are true 3.1 million. The library's own
reordering is off.
"""

from __future__ import annotations

import time
from array import array
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import ALWAYS, AND, NEVER
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import Nodes
from ruledex.errors import BudgetError
from ruledex.program.program import Program

TRUE = -2  # an edge to the one terminal; its complement, whose last bit is set, leads to false
NODES_A_CHECK = 64  # inner nodes of a Program from one look at the clock to the next


class Limits(NamedTuple):
    """Where building stops with a BudgetError."""

    nodes_per_rule: int
    seconds: float  # of processor time
    n_bytes: int  # of the library's tables, where it is the compiled one


class Diagrams(NamedTuple):
    """A node is its literal and the two edges that lead on when it is false and when it is true.

    An edge is `node << 1 | complement`, or TRUE, or TRUE + 1 for false; a complement turns what comes of it around.
    Nodes are in the order in which a walk from the roots meets them that goes on where a literal is false first.
    """

    nodes: NDArray[np.int32]  # [3 * n_nodes]
    roots: NDArray[np.int32]  # [n_rules] edges


def new_manager(n_bytes: int) -> Any:
    """A manager of CUDD where the library's wheel has it, otherwise the library's own in plain Python."""
    try:
        from dd import cudd
    except ImportError:
        from dd import autoref

        return autoref.BDD()
    manager = cudd.BDD()
    manager.configure(reordering=False, max_memory=n_bytes)
    return manager


def diagrams_of(program: Program, limits: Limits) -> Diagrams:
    """Build the diagrams of all rules; what goes past a limit is a BudgetError."""
    manager = new_manager(limits.n_bytes)
    try:
        roots = _functions(program, manager, _literal_order(program), limits)
    except (RuntimeError, ValueError) as error:  # which of the two the library raises depends on what it was doing
        raise BudgetError("diagram", limits.n_bytes, limits.n_bytes, unit="bytes for all rules") from error
    return _flattened(program, manager, roots, limits)


def _literal_order(program: Program) -> NDArray[np.int32]:
    """All literals, those of rules in the order in which a walk meets them."""
    nodes = Nodes(
        frozen(program.node_op, np.uint8), frozen(program.child_offsets, np.int32), frozen(program.children, np.int32)
    )
    order, is_met = np.zeros(program.n_literals, np.int32), np.zeros(program.n_nodes, np.uint8)
    stack = np.zeros(len(program.children) + 1, np.int32)
    n_met = walk_literals(nodes, frozen(program.root, np.int32), program.n_literals, is_met, stack, order)
    order[n_met:] = np.flatnonzero(is_met[: program.n_literals] == 0)
    return order


@jit
def walk_literals(
    nodes: Nodes,
    roots: NDArray[np.int32],
    n_literals: int,
    is_met: NDArray[np.uint8],
    stack: NDArray[np.int32],
    order: NDArray[np.int32],
) -> int:
    """Write the literals below the roots in the order of a walk that enters each node once; return their number."""
    child_offsets, children = nodes.child_offsets, nodes.children
    n_met = 0
    for rule in range(roots.size):
        depth = 0
        if roots[rule] >= 0 and is_met[roots[rule]] == 0:
            stack[0], depth = roots[rule], 1
        while depth > 0:
            depth -= 1
            node = stack[depth]
            if is_met[node] != 0:
                continue
            is_met[node] = 1
            if node < n_literals:
                order[n_met] = node
                n_met += 1
                continue
            inner = node - n_literals
            for place in range(child_offsets[inner + 1] - 1, child_offsets[inner] - 1, -1):
                if is_met[children[place]] == 0:
                    stack[depth] = children[place]
                    depth += 1
    return n_met


def _functions(program: Program, manager: Any, order: NDArray[np.int32], limits: Limits) -> dict[int, Any]:
    """The library's functions of all roots. What only others are made of is let go with the last of them."""
    names = [f"l{literal}" for literal in range(program.n_literals)]
    for literal in order.tolist():
        manager.add_var(names[literal])
    level = np.zeros(program.n_nodes, np.int64)
    level[order] = np.arange(len(order))
    first, offsets, children = program.n_literals, program.child_offsets.tolist(), program.children.tolist()
    uses = np.bincount(program.children, minlength=program.n_nodes)
    uses[np.unique(program.root[program.root >= 0])] += 1
    uses = uses.tolist()
    functions: dict[int, Any] = {literal: manager.var(names[literal]) for literal in range(first)}
    start = time.process_time()
    for inner, operation in enumerate(program.node_op.tolist()):
        # Upwards: an operand whose variables all come before those of the other costs no more than its own size.
        below = sorted(children[offsets[inner] : offsets[inner + 1]], key=level.__getitem__, reverse=True)
        level[first + inner] = level[below[-1]]
        made = functions[below[0]]
        for child in below[1:]:
            made = made & functions[child] if operation == AND else made | functions[child]
        functions[first + inner] = made
        for child in below:
            uses[child] -= 1
            if uses[child] == 0:
                del functions[child]
        if inner % NODES_A_CHECK == 0:
            _check_time(start, limits)
    return functions


def _flattened(program: Program, manager: Any, functions: dict[int, Any], limits: Limits) -> Diagrams:
    """The nodes below the roots of all rules as arrays."""
    numbers = {int(manager.true): TRUE >> 1}
    waiting: list[Any] = []

    def edge_to(function: Any) -> int:
        """An edge; the node that it leads to waits for its own edges if it was not met before."""
        is_complement = bool(function.negated)
        if is_complement:
            function = ~function
        key = int(function)
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(numbers) - 1
            waiting.append((number, function))
        return number << 1 | is_complement

    rows = array("q")  # as objects of Python they would take several times the memory of the diagram
    edges = {ALWAYS: TRUE, NEVER: TRUE | 1}
    start = time.process_time()
    for position, root in enumerate(program.root.tolist()):
        if root in edges:
            continue
        n_nodes = len(functions[root])
        if n_nodes > limits.nodes_per_rule:
            raise BudgetError("diagram", n_nodes, limits.nodes_per_rule, position, unit="nodes")
        edges[root] = edge_to(functions[root])
        while waiting:
            number, function = waiting.pop()
            level, low, high = manager.succ(function)
            rows.extend((number, level, edge_to(low), edge_to(high)))
        if position % NODES_A_CHECK == 0:
            _check_time(start, limits)
    literal_at = np.zeros(program.n_literals, np.int32)
    for literal in range(program.n_literals):
        literal_at[manager.level_of_var(f"l{literal}")] = literal
    table = np.frombuffer(rows, np.int64).reshape(-1, 4) if rows else np.zeros((0, 4), np.int64)
    nodes = np.zeros((len(table), 3), np.int32)
    nodes[table[:, 0], 0], nodes[table[:, 0], 1:] = literal_at[table[:, 1]], table[:, 2:]
    roots = np.array([edges[root] for root in program.root.tolist()], np.int32)
    laid_out = np.zeros(3 * len(nodes), np.int32)
    lay_out(frozen(nodes, np.int32), np.full(len(nodes), -1, np.int32), np.zeros(len(nodes), np.int32), roots, laid_out)
    return Diagrams(frozen(laid_out, np.int32), frozen(roots, np.int32))


@jit
def lay_out(
    nodes: NDArray[np.int32],
    place: NDArray[np.int32],
    stack: NDArray[np.int32],
    roots: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the nodes so that, of what was not met before, the way on where a literal is false comes right behind it.

    Most literals are false of an event, and such a way is then read in the order of memory. The roots are changed to
    the new places. `place` has an entry a node, all -1.
    """
    n_placed = 0
    for rule in range(roots.size):
        depth = 0
        if roots[rule] >= 0 and place[roots[rule] >> 1] < 0:
            stack[0], depth = roots[rule] >> 1, 1
            place[roots[rule] >> 1] = 0  # taken; the place itself comes when the node leaves the stack
        while depth > 0:
            depth -= 1
            node = stack[depth]
            while node >= 0:
                place[node] = n_placed
                out[3 * n_placed] = node
                n_placed += 1
                low, high = nodes[node, 1], nodes[node, 2]
                if high >= 0 and place[high >> 1] < 0:
                    place[high >> 1] = 0
                    stack[depth] = high >> 1
                    depth += 1
                node = np.int32(-1)
                if low >= 0 and place[low >> 1] < 0:
                    node = low >> 1
        if roots[rule] >= 0:
            roots[rule] = place[roots[rule] >> 1] << 1 | roots[rule] & 1
    for row in range(n_placed):
        node = out[3 * row]
        out[3 * row] = nodes[node, 0]
        for column in range(1, 3):
            edge = nodes[node, column]
            out[3 * row + column] = place[edge >> 1] << 1 | edge & 1 if edge >= 0 else edge


def _check_time(start: float, limits: Limits) -> None:
    took = time.process_time() - start
    if took > limits.seconds:
        raise BudgetError("diagram", int(took), int(limits.seconds), unit="seconds for all rules")
