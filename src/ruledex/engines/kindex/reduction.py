"""The clauses of rules whose normal forms grow when they are multiplied out, made by rewrite/clauses.py.

It absorbs as a product grows, and knows which literals exclude or imply each other, which the kernels of
normal_forms.py do not; it takes some milliseconds per rule, so only rules that need it come here.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import AND, EVERY
from ruledex.program.program import Program
from ruledex.rewrite.clauses import Formula, Relations, bits_of

Intervals = tuple[tuple[int, int], ...]


def reduced_clauses(program: Program, root: int, outer: int, budget: int) -> list[list[int]]:
    """Return the clauses of a node, each an ascending list of literals. `outer` is OR for a DNF, and AND for a CNF.

    Raises a TooLargeError if they have more literals than the budget, or take too many on the way.
    """
    nodes, literals = _below(program, root)
    number = {literal: i for i, literal in enumerate(literals)}
    relations = literal_relations(program, literals)
    formula = Formula(relations.dual() if outer == AND else relations, budget)
    for node in nodes:
        inner = node - program.n_literals
        begin, end = program.child_offsets[inner], program.child_offsets[inner + 1]
        children = [number[child] for child in program.children[begin:end].tolist()]
        number[node] = formula.join(bool(program.node_op[inner] != outer), children)
    masks = formula.conjunctions(number[root])
    return sorted([literals[i] for i in bits_of(mask)] for mask in masks)


def _below(program: Program, root: int) -> tuple[list[int], list[int]]:
    """Return the inner nodes and the literals that a node is made of, ascending: children come before parents."""
    seen: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            if node >= program.n_literals:
                inner = node - program.n_literals
                begin, end = program.child_offsets[inner], program.child_offsets[inner + 1]
                pending += program.children[begin:end].tolist()
    ordered = sorted(seen)
    return [n for n in ordered if n >= program.n_literals], [n for n in ordered if n < program.n_literals]


def literal_relations(program: Program, literals: list[int]) -> Relations:
    """Return what the literals of a rule say of each other, by their cells.

    A positive literal implies another whose cells include its own, and excludes a negative one whose cells do. A
    negative literal implies another that excludes fewer cells, and needs no presence that the first does not need.
    """
    relations = Relations.none(len(literals))
    excludes, covers, implies = relations
    by_domain: dict[int, list[int]] = {}
    cells: list[Intervals] = []
    presence: list[int | None] = []  # of negative literals
    for i, literal in enumerate(literals):
        negative = literal - program.n_positive
        presence.append(int(program.negative_presence[negative]) if negative >= 0 else None)
        cells.append(_intervals(program, int(program.negative_of[negative]) if negative >= 0 else literal))
        by_domain.setdefault(_domain(program.domain_offsets, cells[i]), []).append(i)
    for members in by_domain.values():
        for one, other in combinations(members, 2):
            is_part, is_whole = _is_part(cells[one], cells[other]), _is_part(cells[other], cells[one])
            mine, its = presence[one], presence[other]
            if mine is None and its is None:
                implies[one] |= is_part << other
                implies[other] |= (is_whole and not is_part) << one
            elif mine is not None and its is not None:
                is_implied = is_whole and its in (mine, EVERY)
                implies[one] |= is_implied << other
                implies[other] |= (is_part and mine in (its, EVERY) and not is_implied) << one
            else:
                # One of two is positive. It excludes the other if its cells are part, and covers it if they are more.
                positive_is_part, positive_is_whole = (is_part, is_whole) if mine is None else (is_whole, is_part)
                needed = its if mine is None else mine
                if positive_is_part:
                    excludes[one] |= 1 << other
                    excludes[other] |= 1 << one
                if positive_is_whole and needed == EVERY:
                    covers[one] |= 1 << other
                    covers[other] |= 1 << one
    return relations


def _intervals(program: Program, literal: int) -> Intervals:
    begin, end = program.interval_offsets[literal], program.interval_offsets[literal + 1]
    low, high = program.interval_low[begin:end].tolist(), program.interval_high[begin:end].tolist()
    return tuple(zip(low, high, strict=True))


def _domain(domain_offsets: NDArray[np.int32], cells: Intervals) -> int:
    """Return the domain of the first cell, or -1 if there is none: literals that share cells need not share it."""
    return int(np.searchsorted(domain_offsets, cells[0][0], "right")) if cells else -1


def _is_part(inner: Intervals, outer: Intervals) -> bool:
    """Return whether each interval of one list lies within one of the other; both are ascending and disjoint."""
    at = 0
    for low, high in inner:
        while at < len(outer) and outer[at][1] < high:
            at += 1
        if at == len(outer) or outer[at][0] > low:
            return False
    return True
