"""The normal forms of a Program's rules, within a budget.

Sizes are computed for all nodes at once before anything is multiplied out. A rule whose form would have more literals
than the budget is an error, or is left to another engine: `overflow` says which. A distinct clause is kept once: it is
found by a hash of its literals, which are compared on a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_FACTOR, HASH_MASK, buckets_for, frozen, lengthen
from ruledex.compiled.constants import ALWAYS, AND, NEVER, OR
from ruledex.compiled.decorator import jit
from ruledex.engines.inputs import nodes_of
from ruledex.engines.kindex.normal_form_kernels import FormScratch, form_sizes, write_clauses
from ruledex.errors import BudgetError, RuledexError, quoted
from ruledex.program.program import Program
from ruledex.rewrite.normal_form import DEFAULT_BUDGET

Overflow = Literal["error", "sparse"]  # a rule past the budget is a BudgetError, or is left to `sparse`
Form = Literal["DNF", "CNF"]
OUTER: dict[Form, int] = {"DNF": OR, "CNF": AND}
CHUNK = 1 << 20  # literals that are converted at once, at the least


class ClauseTable(NamedTuple):
    """Clauses by id, and a table of `buckets`, a power of two of them, that leads from a hash to an id."""

    buckets: NDArray[np.int32]
    hashes: NDArray[np.int64]
    offsets: NDArray[np.int64]  # one entry more than clauses
    literals: NDArray[np.int32]


@jit
def intern_clauses(
    table: ClauseTable, n_held: int, clause_ends: NDArray[np.int64], literals: NDArray[np.int32], ids: NDArray[np.int32]
) -> int:
    """Write the id of each clause, new ones behind the `n_held` that the table has; return how many it has then.

    Clause c is `literals[clause_ends[c - 1]:clause_ends[c]]`. The table has room for all of them.
    """
    buckets, hashes, offsets, held = table.buckets, table.hashes, table.offsets, table.literals
    mask = buckets.size - 1
    begin = 0
    for clause in range(clause_ends.size):
        end = clause_ends[clause]
        mixed = np.int64(end - begin)
        for place in range(begin, end):
            mixed = ((mixed ^ np.int64(literals[place])) * HASH_FACTOR) & HASH_MASK
            mixed ^= mixed >> 15
        bucket = mixed & mask
        while buckets[bucket] != FREE:
            other = buckets[bucket]
            if hashes[other] == mixed and offsets[other + 1] - offsets[other] == end - begin:
                place = begin
                shift = offsets[other] - begin
                while place < end and literals[place] == held[place + shift]:
                    place += 1
                if place == end:
                    break
            bucket = (bucket + 1) & mask
        if buckets[bucket] == FREE:
            buckets[bucket], hashes[n_held] = n_held, mixed
            first = offsets[n_held]
            for place in range(begin, end):
                held[first + place - begin] = literals[place]
            n_held += 1
            offsets[n_held] = first + end - begin
        ids[clause] = buckets[bucket]
        begin = int(end)
    return n_held


@dataclass(frozen=True)
class NormalFormOptions:
    """The options of `dnf` and `cnf`. `budget` is the most literals that the normal form of one rule may have."""

    budget: int = DEFAULT_BUDGET
    overflow: Overflow = "error"


class Expressions(NamedTuple):
    """The distinct roots of the rules that have a normal form, and the rules of each."""

    roots: NDArray[np.int32]  # ascending; ALWAYS is the first, if a rule has it, and NEVER is none
    rule_offsets: NDArray[np.int64]  # [n_roots + 1]
    rules: NDArray[np.int32]  # ascending within a root
    sizes: NDArray[np.int64]  # [n_roots] literals in the form, before any is struck out
    overflow: NDArray[np.int32]  # the rules whose forms are past the budget, ascending


class Clauses(NamedTuple):
    """The clauses of some roots, one root's behind the other's: clause c is `literals[offsets[c]:offsets[c + 1]]`."""

    n_clauses: NDArray[np.int64]  # of each root
    offsets: NDArray[np.int64]
    literals: NDArray[np.int32]


def expressions_of(program: Program, form: Form, budget: int, overflow: Overflow) -> Expressions:
    """Return what is to be converted, after a look at the sizes."""
    if overflow not in get_args(Overflow):
        raise RuledexError(f"overflow must be one of {', '.join(get_args(Overflow))}, not {quoted(overflow)}")
    n_clauses, n_in_all = np.zeros(program.n_nodes), np.zeros(program.n_nodes)
    form_sizes(nodes_of(program), program.n_literals, OUTER[form], n_clauses, n_in_all)
    sizes = np.zeros(program.n_rules)
    is_node = program.root >= 0
    sizes[is_node] = n_in_all[program.root[is_node]]
    too_large = np.flatnonzero(sizes > budget)
    if overflow == "error" and len(too_large):
        over = [(position, int(sizes[position])) for position in too_large.tolist()]
        raise BudgetError(form, over[0][1], budget, over[0][0], over=over)
    rules = np.flatnonzero((sizes <= budget) & (program.root != NEVER)).astype(np.int32)
    rules = rules[np.argsort(program.root[rules], kind="stable")]
    roots, first = np.unique(program.root[rules], return_index=True)
    return Expressions(
        roots,
        np.append(first, len(rules)),
        rules,
        sizes[rules[first]].astype(np.int64),
        too_large.astype(np.int32),
    )


def clauses_of(program: Program, form: Form, expressions: Expressions) -> Iterator[Clauses]:
    """The clauses of all roots in their order, some roots at a time.

    ALWAYS has one clause without literals in DNF, and none in CNF.
    """
    roots, sizes = frozen(expressions.roots, np.int32), frozen(expressions.sizes, np.int64)
    first_root = int(len(roots) > 0 and roots[0] == ALWAYS)
    if first_root:
        n_clauses = 1 if form == "DNF" else 0
        yield Clauses(np.array([n_clauses]), np.zeros(n_clauses + 1, np.int64), np.zeros(0, np.int32))
    largest = int(sizes.max(initial=0))
    room = max(CHUNK, largest)
    depth = len(program.level_offsets) + 1
    scratch = FormScratch(
        np.zeros((3, depth), np.int64),
        np.zeros(2 * largest + 1, np.int64),
        np.zeros(2 * largest + 1, np.int32),
        np.zeros(largest + 1, np.int64),
    )
    root_clauses = np.zeros(len(roots), np.int64)
    ends, literals = np.zeros(room, np.int64), np.zeros(room, np.int32)
    nodes = nodes_of(program)
    while first_root < len(roots):
        next_root, n_clauses, n_written = write_clauses(
            nodes, program.n_literals, OUTER[form], roots, sizes, first_root, scratch, root_clauses, ends, literals
        )
        offsets = np.concatenate([[0], ends[:n_clauses]])
        yield Clauses(root_clauses[first_root:next_root].copy(), offsets, literals[:n_written].copy())
        first_root = next_root


def distinct_clauses(parts: Iterator[Clauses]) -> tuple[Clauses, NDArray[np.int32]]:
    """Return the distinct clauses of all parts, and for each clause which of the distinct ones it is."""
    table = ClauseTable(np.full(2, FREE, np.int32), np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32))
    n_held = 0
    n_clauses, ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for part in parts:
        n_room = n_held + len(part.offsets) - 1
        table = ClauseTable(
            buckets_for(table.buckets, table.hashes[:n_held], n_room),
            lengthen(table.hashes, n_room),
            lengthen(table.offsets, n_room + 1),
            lengthen(table.literals, int(table.offsets[n_held]) + len(part.literals)),
        )
        of_part = np.zeros(len(part.offsets) - 1, np.int32)
        n_held = intern_clauses(table, n_held, part.offsets[1:], part.literals, of_part)
        n_clauses.append(part.n_clauses)
        ids.append(of_part)
    offsets = table.offsets[: n_held + 1]
    return Clauses(np.concatenate(n_clauses), offsets, table.literals[: offsets[-1]]), np.concatenate(ids)


def join_clauses(parts: Iterator[Clauses]) -> Clauses:
    """Return all clauses of the parts."""
    n_clauses, lengths, literals = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
    for part in parts:
        n_clauses.append(part.n_clauses)
        lengths.append(np.diff(part.offsets))
        literals.append(part.literals)
    return Clauses(np.concatenate(n_clauses), np.cumsum(np.concatenate(lengths)), np.concatenate(literals))
