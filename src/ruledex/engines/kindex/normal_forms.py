"""Convert a Program's rules to disjunctive or conjunctive normal form, within a budget.

Both forms are the same with the roles of AND and OR exchanged: `outer` is the operation between clauses, OR for DNF and
AND for CNF. A node of the outer operation has the clauses of all its children; one of the other has a clause for each
way to choose one of each child's. A clause is an ascending list of literals without duplicates.

Sizes are computed for all nodes at once before anything is multiplied out. A rule that would become large goes through
reduction.py, which may find a small form. A rule whose form has more literals than the budget all the same is left to
another engine, or is an error: `overflow` says which. A distinct clause is kept once: it is found by a hash of its
literals, which are compared on a hit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import FREE, HASH_FACTOR, HASH_MASK, buckets_for, frozen, lengthen
from ruledex.compiled.constants import ALWAYS, AND, NEVER, OR
from ruledex.compiled.decorator import inlined, jit
from ruledex.engines.inputs import Nodes, nodes_of
from ruledex.engines.kindex.reduction import reduced_clauses
from ruledex.errors import BudgetError, RuledexError, quoted
from ruledex.program.program import Program
from ruledex.rewrite.clauses import TooLargeError
from ruledex.rewrite.normal_form import DEFAULT_BUDGET

LARGEST_SIZE = 1e18  # sizes are counted up to here
MOST_COMPARED = 1000  # clauses of one rule; in a rule of more, none is compared with the others
SIGNATURE_BITS = 63
LARGE = DEFAULT_BUDGET  # literals of a form, multiplied out, from which on a smaller one is looked for
MOST_PAIRED = 8  # children of a node among which XOR is looked for
MOST_REDUCED = 10_000  # distinct rules that are tried, some milliseconds each; where the others are an error, all are
Overflow = Literal["error", "sparse"]  # a rule past the budget is a BudgetError, or is left to `sparse`
Form = Literal["DNF", "CNF"]
OUTER: dict[Form, int] = {"DNF": OR, "CNF": AND}
CHUNK = 1 << 20  # literals that are converted at once, at the least


class FormScratch(NamedTuple):
    """What the conversion of one root needs: `path` is as long as the deepest root, the others as the largest form.

    Clauses of nodes whose parent is still open lie on a stack. `literals` has room for two forms, since a product is
    written above its factors before it takes their place.
    """

    path: NDArray[np.int64]  # [3, depth]: inner node, its next child, where its clauses begin
    ends: NDArray[np.int64]  # of clauses on the stack; clause c begins where the one before ends
    literals: NDArray[np.int32]
    signatures: NDArray[np.int64]


@jit
def form_sizes(
    nodes: Nodes, n_literals: int, outer: int, n_clauses: NDArray[np.float64], n_in_all: NDArray[np.float64]
) -> None:
    """Write for each node how many clauses its form has, and how many literals in all of them, none yet struck out."""
    for literal in range(n_literals):
        n_clauses[literal], n_in_all[literal] = 1.0, 1.0
    for inner in range(nodes.node_op.size):
        is_outer = nodes.node_op[inner] == outer
        clauses, in_all = 0.0 if is_outer else 1.0, 0.0
        for place in range(nodes.child_offsets[inner], nodes.child_offsets[inner + 1]):
            more, more_in_all = float(n_clauses[nodes.children[place]]), float(n_in_all[nodes.children[place]])
            if is_outer:
                clauses, in_all = clauses + more, in_all + more_in_all
            else:
                clauses, in_all = clauses * more, in_all * more + clauses * more_in_all
            clauses, in_all = min(clauses, LARGEST_SIZE), min(in_all, LARGEST_SIZE)
        n_clauses[n_literals + inner], n_in_all[n_literals + inner] = clauses, in_all


@jit
def find_parities(
    nodes: Nodes, n_literals: int, outer: int, negative_of: NDArray[np.int32], has_parity: NDArray[np.bool_]
) -> None:
    """Note which nodes have an XOR of two literals below them, in the form that grows: (p ∧ ¬q) ∨ (¬p ∧ q) in a CNF.

    `has_parity` has one entry per node, all False. Of a node with many children, no pairs are looked at.
    """
    node_op, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    n_positive = n_literals - negative_of.size
    for inner in range(node_op.size):
        begin, end = child_offsets[inner], child_offsets[inner + 1]
        for place in range(begin, end):
            if has_parity[children[place]]:
                has_parity[n_literals + inner] = True
        if node_op[inner] == outer or end - begin > MOST_PAIRED or has_parity[n_literals + inner]:
            continue
        for place in range(begin, end):
            for other in range(place + 1, end):
                one, two = children[place] - n_literals, children[other] - n_literals
                if one < 0 or two < 0 or child_offsets[one + 1] - child_offsets[one] != 2:
                    continue
                if child_offsets[two + 1] - child_offsets[two] != 2:
                    continue
                n_opposites = 0
                for left in range(child_offsets[one], child_offsets[one + 1]):
                    for right in range(child_offsets[two], child_offsets[two + 1]):
                        low, high = min(children[left], children[right]), max(children[left], children[right])
                        if n_positive <= high < n_literals and negative_of[high - n_positive] == low:
                            n_opposites += 1
                if n_opposites == 2:
                    has_parity[n_literals + inner] = True


@inlined
def _merge(literals: NDArray[np.int32], left: int, left_end: int, right: int, right_end: int, out: int) -> int:
    """Write the union of two ascending lists to `out`; return where it ends."""
    while left < left_end and right < right_end:
        mine, other = literals[left], literals[right]
        literals[out] = min(mine, other)
        left += 1 if mine <= other else 0
        right += 1 if other <= mine else 0
        out += 1
    for place in range(left, left_end):
        literals[out] = literals[place]
        out += 1
    for place in range(right, right_end):
        literals[out] = literals[place]
        out += 1
    return out


@jit
def _multiply(scratch: FormScratch, first: int, middle: int, top: int) -> int:
    """Put all unions of a clause of `[first, middle)` and one of `[middle, top)` in their place; return the new top."""
    ends, literals = scratch.ends, scratch.literals
    if first == middle:
        return top
    begin = ends[first - 1] if first > 0 else 0
    out, clause = ends[top - 1], top
    for left in range(first, middle):
        for right in range(middle, top):
            left_begin = ends[left - 1] if left > 0 else 0
            out = _merge(literals, left_begin, ends[left], ends[right - 1], ends[right], out)
            ends[clause] = out
            clause += 1
    moved = ends[top - 1] - begin
    for place in range(ends[top - 1], out):
        literals[place - moved] = literals[place]
    for place in range(top, clause):
        ends[place - top + first] = ends[place] - moved
    return clause - top + first


@jit
def _clauses_of(nodes: Nodes, n_literals: int, outer: int, root: int, scratch: FormScratch) -> tuple[int, bool]:
    """Leave a root's clauses in the scratch; return how many there are, and whether any was multiplied out."""
    operations, child_offsets, children = nodes.node_op, nodes.child_offsets, nodes.children
    path, ends, literals = scratch.path, scratch.ends, scratch.literals
    top, depth, node = 0, -1, root
    is_product = False
    while True:
        if node >= n_literals:
            depth += 1
            path[0, depth], path[1, depth], path[2, depth] = node - n_literals, child_offsets[node - n_literals], top
        else:
            begin = ends[top - 1] if top > 0 else 0
            literals[begin] = node
            ends[top] = begin + 1
            top += 1
        finished = top - 1 if node < n_literals else top
        # `finished` is where the clauses of the child begin that was just done; a node that is entered has none yet.
        while depth >= 0:
            inner = path[0, depth]
            if path[1, depth] > child_offsets[inner] and operations[inner] != outer:
                is_product = is_product or (finished - path[2, depth] > 1) or (top - finished > 1)
                top = _multiply(scratch, path[2, depth], finished, top)
            if path[1, depth] < child_offsets[inner + 1]:
                break
            finished = path[2, depth]
            depth -= 1
        if depth < 0:
            return top, is_product
        node = children[path[1, depth]]
        path[1, depth] += 1


@jit
def _is_part(literals: NDArray[np.int32], begin: int, end: int, other: int, other_end: int) -> bool:
    """Return whether all of one ascending list are in the other."""
    while begin < end and other < other_end:
        if literals[begin] < literals[other]:
            return False
        begin += 1 if literals[begin] == literals[other] else 0
        other += 1
    return begin == end


@jit
def _absorb(scratch: FormScratch, n_clauses: int) -> int:
    """Drop each clause that another one is part of; return how many are left. They stay in their order."""
    ends, literals, signatures = scratch.ends, scratch.literals, scratch.signatures
    for clause in range(n_clauses):
        bits = np.int64(0)
        for place in range(ends[clause - 1] if clause > 0 else 0, ends[clause]):
            bits |= np.int64(1) << (literals[place] % SIGNATURE_BITS)
        signatures[clause] = bits
    for clause in range(n_clauses):
        begin = ends[clause - 1] if clause > 0 else 0
        for other in range(n_clauses):
            if signatures[other] < 0 or other == clause or signatures[other] & ~signatures[clause] != 0:
                continue
            other_begin = ends[other - 1] if other > 0 else 0
            if _is_part(literals, other_begin, ends[other], begin, ends[clause]):
                signatures[clause] = -1  # of two that are the same, the later is left
                break
    n_kept, out, begin = 0, 0, 0
    for clause in range(n_clauses):
        end = ends[clause]
        if signatures[clause] >= 0:
            for place in range(begin, end):
                literals[out] = literals[place]
                out += 1
            ends[n_kept] = out
            n_kept += 1
        begin = end
    return n_kept


@jit
def write_clauses(
    nodes: Nodes,
    n_literals: int,
    outer: int,
    roots: NDArray[np.int32],
    sizes: NDArray[np.int64],
    first_root: int,
    scratch: FormScratch,
    root_clauses: NDArray[np.int64],
    clause_ends: NDArray[np.int64],
    literals: NDArray[np.int32],
) -> tuple[int, int, int]:
    """Write the clauses of roots from `first_root` on, as long as there is room for one more root's size.

    Write to `root_clauses` how many each root has, to `clause_ends` where each clause ends in `literals`, counted from
    the first that this call wrote; return the root that comes next, and how many clauses and literals were written.
    Clauses that another one of the same root makes needless are left out where clauses were multiplied, and stay
    where the tree was such a form from the start: there each is one that a score may come from.
    """
    root, n_clauses, n_written = first_root, 0, 0
    while root < roots.size and n_written + sizes[root] <= literals.size:
        found, is_product = _clauses_of(nodes, n_literals, outer, roots[root], scratch)
        if is_product and found <= MOST_COMPARED:
            found = _absorb(scratch, found)
        last = scratch.ends[found - 1]
        literals[n_written : n_written + last] = scratch.literals[:last]
        for clause in range(found):
            clause_ends[n_clauses + clause] = n_written + scratch.ends[clause]
        root_clauses[root] = found
        n_clauses, n_written = n_clauses + found, n_written + last
        root += 1
    return root, n_clauses, n_written


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
    overflow: Overflow = "sparse"


class Clauses(NamedTuple):
    """The clauses of some roots, one root's behind the other's: clause c is `literals[offsets[c]:offsets[c + 1]]`."""

    n_clauses: NDArray[np.int64]  # of each root
    offsets: NDArray[np.int64]
    literals: NDArray[np.int32]


class Expressions(NamedTuple):
    """The distinct roots of the rules that have a normal form, and the rules of each."""

    roots: NDArray[np.int32]  # ALWAYS is the first, if a rule has it, and NEVER is none; those of `reduced` come last
    rule_offsets: NDArray[np.int64]  # [n_roots + 1]
    rules: NDArray[np.int32]  # ascending within a root
    sizes: NDArray[np.int64]  # [n_roots] literals in the form, before any is struck out
    overflow: NDArray[np.int32]  # the rules whose forms are past the budget, ascending
    reduced: Clauses  # of the last roots


def expressions_of(program: Program, form: Form, budget: int, overflow: Overflow) -> Expressions:
    """Return what is to be converted, after a look at the sizes."""
    if overflow not in get_args(Overflow):
        raise RuledexError(f"overflow must be one of {', '.join(get_args(Overflow))}, not {quoted(overflow)}")
    nodes = nodes_of(program)
    n_clauses, n_in_all = np.zeros(program.n_nodes), np.zeros(program.n_nodes)
    form_sizes(nodes, program.n_literals, OUTER[form], n_clauses, n_in_all)
    is_node = program.root >= 0
    distinct = np.unique(program.root[is_node])
    has_parity = np.zeros(program.n_nodes, np.bool_)
    find_parities(nodes, program.n_literals, OUTER[form], frozen(program.negative_of, np.int32), has_parity)
    large = distinct[(n_in_all[distinct] > min(budget, LARGE)) | has_parity[distinct]]
    reduced: dict[int, list[list[int]]] = {}
    unit = "literals"
    if len(large):
        # Where nothing is multiplied, the tree is the form, and each clause is one that a score may come from.
        all_outer = nodes._replace(node_op=frozen(np.full_like(nodes.node_op, OUTER[form]), np.uint8))
        n_leaves = np.zeros(program.n_nodes)
        form_sizes(all_outer, program.n_literals, OUTER[form], n_clauses, n_leaves)
        tried = large[n_in_all[large] > n_leaves[large]]
        if overflow != "error":
            tried = tried[:MOST_REDUCED]
        reduced, unit = _reduced(program, form, budget, tried, n_in_all)
    sizes = np.zeros(program.n_rules)
    sizes[is_node] = n_in_all[program.root[is_node]]
    too_large = np.flatnonzero(sizes > budget)
    if overflow == "error" and len(too_large):
        over = [(position, int(sizes[position])) for position in too_large.tolist()]
        raise BudgetError(form, over[0][1], budget, over[0][0], unit=unit, over=over)
    rules = np.flatnonzero((sizes <= budget) & (program.root != NEVER)).astype(np.int32)
    is_reduced = np.isin(program.root[rules], np.fromiter(reduced, np.int32, len(reduced)))
    order = np.lexsort((program.root[rules], is_reduced))
    rules = rules[order]
    of_rule = program.root[rules]
    first = np.flatnonzero(np.concatenate([[True], of_rule[1:] != of_rule[:-1]])[: len(rules)])
    return Expressions(
        of_rule[first],
        np.append(first, len(rules)),
        rules,
        sizes[rules[first]].astype(np.int64),
        too_large.astype(np.int32),
        _joined([reduced[root] for root in sorted(reduced)]),
    )


def _reduced(
    program: Program, form: Form, budget: int, roots: NDArray[np.int32], n_in_all: NDArray[np.float64]
) -> tuple[dict[int, list[list[int]]], str]:
    """Return the clauses of the roots that have a form within the budget, and what the sizes of the others count.

    `n_in_all` gets the sizes that were found.
    """
    found: dict[int, list[list[int]]] = {}
    unit = "literals"
    for root in roots.tolist():
        try:
            clauses = reduced_clauses(program, root, OUTER[form], budget)
        except TooLargeError as error:
            if n_in_all[root] > budget:
                n_in_all[root] = error.size
                unit = unit if error.is_final else "literals before absorption"
            continue
        # A formula that relations make true or false has no clauses, or an empty one, which the engines do not take.
        if clauses and clauses[0]:
            found[root] = clauses
            n_in_all[root] = sum(map(len, clauses))
    return found, unit


def _joined(forms: list[list[list[int]]]) -> Clauses:
    clauses = [clause for form in forms for clause in form]
    return Clauses(
        np.array([len(form) for form in forms], np.int64),
        np.concatenate([[0], np.cumsum([len(clause) for clause in clauses])]).astype(np.int64),
        np.array([literal for clause in clauses for literal in clause], np.int32),
    )


def clauses_of(program: Program, form: Form, expressions: Expressions) -> Iterator[Clauses]:
    """Yield the clauses of all roots in their order, some roots at a time.

    ALWAYS has one clause without literals in DNF, and none in CNF.
    """
    n_multiplied = len(expressions.roots) - len(expressions.reduced.n_clauses)
    roots = frozen(expressions.roots[:n_multiplied], np.int32)
    sizes = frozen(expressions.sizes[:n_multiplied], np.int64)
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
    if len(expressions.reduced.n_clauses):
        yield expressions.reduced


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
