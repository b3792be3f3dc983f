"""Which child leads to an AND, and which nodes are evaluated on demand, by expected cost.

An OR that leads to an AND is told of every child that becomes true. Other ORs need not be told: when an AND above them
is checked, their children are looked at until one is true. With frequent ORs and one rare literal, as rules in
conjunctive normal form have them, this leaves out nearly all of the work. Frequencies of nodes decide; answers do not
depend on them.

    telling an OR       SET per true child, and VISIT if it is true
    asking it           a look at some of its children, as often as the access children of its parents are true
    following an edge   CHECK, as often as the access child is true

An AND may have other ANDs as children, because rules share them. Where these are not known yet when it is reached
through its rarest literal, their children are looked at instead, and nothing has to wait.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import frozen
from ruledex.compiled.constants import AND
from ruledex.compiled.decorator import jit
from ruledex.engines.access import children_by_probability, nodes_by_level
from ruledex.program.program import Program

CHECK, SET, VISIT = 2.0, 3.0, 3.0  # in looks at a child
MOST_COPIES = 4  # how many times the memory of its children and parents an OR may take, written out at each parent
MOST_CONDITIONS = 64  # of an AND that is written out at its parents, the children of its ORs included
MANY = 1e9  # what shares parts again and again has no more paths than this


class Access(NamedTuple):
    """How ANDs are reached and checked."""

    children: NDArray[np.int32]  # as in the Program, an AND's access child first, ORs on demand last
    on_demand: NDArray[np.bool_]  # [n_nodes] ORs that have no bit; none of them is a root or an access child
    level: NDArray[np.int32]  # [n_nodes] the step after which a node's truth is known; that of literals is 0


@jit
def move_to_front(child_offsets: NDArray[np.int32], access: NDArray[np.int32], children: NDArray[np.int32]) -> None:
    """Move each node's access child before its other children, whose order stays."""
    for node in range(child_offsets.size - 1):
        first = child_offsets[node]
        place = first
        while children[place] != access[node]:
            place += 1
        while place > first:
            children[place] = children[place - 1]
            place -= 1
        children[first] = access[node]


def choose_access(program: Program, probability: NDArray[np.float64]) -> Access:
    """Choose the access child of each AND, and the ORs that are evaluated on demand."""
    if len(program.node_op) == 0:
        nothing = np.zeros(program.n_nodes, np.int32)
        return Access(program.children, nothing.astype(np.bool_), nothing)
    first_inner, first_child = program.n_literals, program.child_offsets[:-1]
    is_and = program.node_op == AND
    tell = VISIT * probability
    for begin, end, starts, children in nodes_by_level(program):
        tell[begin:end] += SET * np.add.reduceat(probability[children], starts)
    may_wait = np.zeros(program.n_nodes, np.bool_)
    may_wait[first_inner:] = ~is_and
    may_wait[program.root[program.root >= 0]] = False
    n_parents = np.maximum(np.bincount(program.children, minlength=program.n_nodes), 1).astype(np.int32)
    lead = CHECK * probability + np.where(may_wait, tell / n_parents, 0.0)
    access = children_by_probability(program, lead)[first_child]
    may_wait[access[is_and]] = False
    on_demand = _waiting(program, probability, probability[access], tell, may_wait)

    del tell, lead, n_parents
    in_order = children_by_probability(program, probability + 2.0 * on_demand)
    in_front = np.where(is_and, access, in_order[first_child])
    move_to_front(frozen(program.child_offsets, np.int32), frozen(in_front, np.int32), in_order)
    return Access(in_order, on_demand, find_levels(program, access, on_demand))


def _waiting(
    program: Program,
    probability: NDArray[np.float64],
    reached: NDArray[np.float64],  # [n_inner] how often an AND is checked
    tell: NDArray[np.float64],
    may_wait: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return the ORs that cost less on demand, from the top down. If an OR is told, all ORs below it are told too."""
    first = program.n_literals
    n_below, most = np.ones(program.n_nodes), probability.copy()
    for begin, end, starts, children in nodes_by_level(program):
        is_or = (program.node_op[begin - first : end - first] != AND).astype(np.float64)
        n_below[begin:end] = np.clip(is_or * np.add.reduceat(n_below[children], starts), 1.0, MANY)
        most[begin:end] = np.maximum.reduceat(probability[children], starts)
    n_copies, asked = np.zeros(program.n_nodes), np.zeros(program.n_nodes)
    on_demand = np.zeros(program.n_nodes, np.bool_)
    for begin, end, starts, children in reversed(list(nodes_by_level(program))):
        here = slice(begin, end)
        fits = n_below[here] * n_copies[here] <= MOST_COPIES * (n_below[here] + n_copies[here])
        ask = asked[here] * (1.0 + (n_below[here] - 1.0) * (1.0 - most[here]))
        on_demand[here] = may_wait[here] & fits & (ask <= tell[here])
        is_and = program.node_op[begin - first : end - first] == AND
        n_children = np.diff(np.append(starts, len(children)))
        may_wait[children[np.repeat(~is_and & ~on_demand[here], n_children)]] = False
        copies_here = np.where(is_and, 1.0, np.minimum(n_copies[here], MANY))
        asked_here = np.where(is_and, reached[begin - first : end - first], np.minimum(asked[here], MANY))
        np.add.at(n_copies, children, np.repeat(copies_here, n_children))
        np.add.at(asked, children, np.repeat(asked_here, n_children))
    return on_demand


def find_levels(
    program: Program,
    access: NDArray[np.int32],
    on_demand: NDArray[np.bool_],
    n_keys: NDArray[np.integer] | None = None,  # [n_inner] groups between the access child and an AND
) -> NDArray[np.int32]:
    """Return when each node is known. `flat` is when all are known that an AND can be written out as."""
    first = program.n_literals
    n_between = np.zeros(len(program.node_op), np.int32) if n_keys is None else n_keys
    level, flat = np.zeros((2, program.n_nodes), np.int32)
    n_flat = np.ones(program.n_nodes)
    for begin, end, starts, children in nodes_by_level(program):
        is_and = program.node_op[begin - first : end - first] == AND
        known = np.maximum.reduceat(flat[children], starts)
        size = np.add.reduceat(n_flat[children], starts)
        here = slice(begin - first, end - first)
        reached = np.maximum(known, level[access[here]] + n_between[here]) + 1
        told = np.maximum.reduceat(level[children], starts) + ~on_demand[begin:end]
        level[begin:end] = np.where(is_and, reached, told)
        is_flat = is_and & (size <= MOST_CONDITIONS)
        flat[begin:end] = np.where(is_flat, known, level[begin:end])
        n_flat[begin:end] = np.where(is_flat, size, np.where(on_demand[begin:end], np.minimum(1.0 + size, MANY), 1.0))
    return level
