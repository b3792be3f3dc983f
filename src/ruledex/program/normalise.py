"""Make the match nodes and score programs of scanned rules: what rewrite/ does to trees, on arrays.

A rule's entries (see rule_entries.py) are its score tree. One walk over them makes the match nodes and expands XOR and
XNOR:

    odd(l, r) = odd l AND even r OR even l AND odd r            even(l, r) = odd l AND odd r OR even l AND even r

So everything below an XOR is made twice, as it is and negated. A score program is written only if the match tree would
score differently: if an XOR was expanded, something was simplified away, or a weight is not 1. An *empty* score program
stands for the root itself, with a weight of 1 for each positive literal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import ALWAYS, AND, LEAF, OR
from ruledex.compiled.decorator import jit
from ruledex.program.node_table import (
    ALWAYS_CODE,
    N_SIMPLIFIED,
    NEVER_CODE,
    NO_ROOM,
    NodeTable,
    join_nodes,
    with_node_room,
)
from ruledex.program.rule_entries import (
    ARGUMENT,
    BOTH,
    COMPLEX,
    KIND,
    N_ENTRY_COLUMNS,
    N_FRAME_COLUMNS,
    NEGATED,
    LiteralFacts,
    PredicateLiterals,
    turn_round,
)
from ruledex.program.rule_scanner import FALLBACK, OK, Scan
from ruledex.program.rule_tokens import XOR
from ruledex.program.scores.compile import STEPS_PER_ENTRY, ScoreTable, with_score_room, write_score


class NormalRules(NamedTuple):
    """Some rules as nodes and score programs. A rule that is not OK must be made from the Python parser's tree."""

    status: NDArray[np.uint8]  # [n_rules] OK or FALLBACK
    root: NDArray[np.int32]  # [n_rules] a code of the node table
    score_start: NDArray[np.int64]  # [n_rules] the first step in the score table
    n_score_steps: NDArray[np.int32]  # [n_rules]


class _Scratch(NamedTuple):
    entries: NDArray[np.int64]
    frames: NDArray[np.int64]
    positive: NDArray[np.int64]  # codes of the leaves, and a stack of operands
    negative: NDArray[np.int64]  # their negations, where they are needed
    halves: NDArray[np.int64]  # [2]


def normalise_rules(
    table: NodeTable,
    scores: ScoreTable,
    scan: Scan,
    predicates: PredicateLiterals,
    literals: LiteralFacts,
) -> tuple[NodeTable, ScoreTable, NormalRules]:
    """Make the roots and score programs of scanned rules; `predicates` has the literals of each slice.

    Returns the rules and the new tables; the given tables must not be used again. What is known of slices and literals
    is read-only.
    """
    n_rules = len(scan.status)
    rules = NormalRules(
        scan.status.copy(),
        np.full(n_rules, NEVER_CODE, np.int32),
        np.zeros(n_rules, np.int64),
        np.zeros(n_rules, np.int32),
    )
    longest = int(np.diff(scan.code_offsets).max(initial=0))
    # The negation of a chain of XOR has one entry more than the chain.
    scratch = _Scratch(
        np.zeros((2 * longest + 1, N_ENTRY_COLUMNS), np.int64),
        np.zeros((longest + 1, N_FRAME_COLUMNS), np.int64),
        np.empty(2 * longest + 1, np.int64),
        np.empty(2 * longest + 1, np.int64),
        np.empty(2, np.int64),
    )
    codes = np.empty(longest + 16, np.int64)
    n_done = 0
    while True:
        n_done = _normalise_from(
            table,
            scores,
            scan.code_offsets,
            scan.code,
            predicates,
            literals,
            n_done,
            rules,
            scratch,
            codes,
        )
        if n_done == n_rules:
            return table, scores, rules
        # A rule has up to twice as many entries as code.
        roomier = with_score_room(scores, 2 * STEPS_PER_ENTRY * longest, 2 * longest)
        if roomier.code is scores.code and roomier.weight is scores.weight:
            table, codes = with_node_room(table, codes)
        scores = roomier


@jit
def _normalise_from(
    table: NodeTable,
    scores: ScoreTable,
    code_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    predicates: PredicateLiterals,
    literals: LiteralFacts,
    first_rule: int,
    rules: NormalRules,
    scratch: _Scratch,
    codes: NDArray[np.int64],
) -> int:
    """Make rules from `first_rule` on while there is room; return the next rule.

    If the room ends within a rule, the rule is begun again later, and finds the nodes that it has already made.
    """
    rule = first_rule
    has_room = True
    while has_room and rule < rules.status.size:
        if rules.status[rule] == OK:
            n_entries = turn_round(code, code_offsets[rule], code_offsets[rule + 1], scratch.entries, scratch.frames)
            n_simplified = table.counts[N_SIMPLIFIED]
            is_weighted, is_complex = _put_leaves(
                predicates.positive,
                predicates.negative,
                predicates.weight,
                literals.negated,
                scratch.entries,
                n_entries,
                scratch.positive,
                scratch.negative,
            )
            if is_complex:
                rules.status[rule] = FALLBACK
            else:
                root = _match_root(table, literals.complement, scratch, n_entries, codes)
                n_steps = scores.n_steps[0]
                has_room = (
                    root != NO_ROOM
                    and n_steps + STEPS_PER_ENTRY * n_entries <= scores.code.size
                    and scores.n_weights[0] + n_entries <= scores.weight.size
                )
                if has_room:
                    rules.root[rule] = root
                    rules.score_start[rule] = n_steps
                    if is_weighted or table.counts[N_SIMPLIFIED] > n_simplified:
                        rules.n_score_steps[rule] = write_score(
                            scores, predicates, literals.negated, scratch.entries, n_entries
                        )
        rule += 1 if has_room else 0
    return rule


@jit
def _put_leaves(
    positive_of: NDArray[np.int32],
    negative_of: NDArray[np.int32],
    weight_of: NDArray[np.float64],
    negated: NDArray[np.uint8],
    entries: NDArray[np.int64],
    n_entries: int,
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
) -> tuple[bool, bool]:
    """Write the code of each leaf and of its negation, at the index of its entry.

    Returns whether a leaf has a weight other than 1, and whether one that is needed is COMPLEX.
    """
    is_weighted, is_complex = False, False
    for entry in range(n_entries):
        if entries[entry, KIND] == LEAF:
            predicate = entries[entry, ARGUMENT]
            literal, other = positive_of[predicate], negative_of[predicate]
            if entries[entry, NEGATED] != 0:
                literal, other = other, literal
            is_complex = is_complex or literal == COMPLEX or (entries[entry, BOTH] != 0 and other == COMPLEX)
            if weight_of[predicate] != 1.0 and literal >= 0:
                is_weighted = is_weighted or negated[literal] == 0
            positive[entry] = literal if literal >= 0 else ALWAYS_CODE if literal == ALWAYS else NEVER_CODE
            negative[entry] = other if other >= 0 else ALWAYS_CODE if other == ALWAYS else NEVER_CODE
    return is_weighted, is_complex


@jit
def _match_root(
    table: NodeTable, complement: NDArray[np.int32], scratch: _Scratch, n_entries: int, codes: NDArray[np.int64]
) -> int:
    """Return the code of the rule's match tree, or `NO_ROOM`. `_put_leaves` must have written the leaves' codes.

    The stack of operands grows down from the end of the arrays of leaves' codes, behind the entry that is read.
    """
    nodes, children, buckets, counts = table.nodes, table.children, table.buckets, table.counts
    entries, positive, negative, halves = scratch.entries, scratch.positive, scratch.negative, scratch.halves
    bottom = n_entries  # the topmost operand
    for entry in range(n_entries - 1, -1, -1):
        kind, n_operands, both = entries[entry, KIND], entries[entry, ARGUMENT], entries[entry, BOTH]
        if kind == LEAF:
            bottom -= 1
            positive[bottom], negative[bottom] = positive[entry], negative[entry]
            continue
        end = bottom + n_operands
        made, turned = NEVER_CODE, NEVER_CODE
        if kind <= OR:
            made = join_nodes(nodes, children, buckets, counts, complement, kind, positive, bottom, end, codes)
            if both != 0:
                turned = join_nodes(
                    nodes, children, buckets, counts, complement, AND + OR - kind, negative, bottom, end, codes
                )
        else:
            counts[N_SIMPLIFIED] += 1
            # A chain of n operands has n - 1 links, and each XNOR negates the result.
            odd_wanted = kind == XOR or n_operands % 2 == 1
            made, turned = _expand(
                nodes,
                children,
                buckets,
                counts,
                complement,
                positive,
                negative,
                bottom,
                end,
                both,
                odd_wanted,
                halves,
                codes,
            )
        bottom = end - 1
        positive[bottom], negative[bottom] = made, turned
    return int(positive[bottom])


@jit
def _expand(
    nodes: NDArray[np.int64],
    children: NDArray[np.int32],
    buckets: NDArray[np.int32],
    counts: NDArray[np.int64],
    complement: NDArray[np.int32],
    positive: NDArray[np.int64],
    negative: NDArray[np.int64],
    first: int,
    end: int,
    both: int,
    odd_wanted: bool,
    halves: NDArray[np.int64],
    codes: NDArray[np.int64],
) -> tuple[int, int]:
    """Return the code of "an odd number of operands is true", or of "an even number"; with `both`, also the other.

    Neighbours are joined in pairs, and the pairs in larger ones, until one is left.
    """
    n_left = end - first
    while n_left > 1:
        for pair in range(n_left // 2):
            left, right = first + 2 * pair, first + 2 * pair + 1
            answers = (NEVER_CODE, NEVER_CODE)
            for even in range(2):
                if both == 0 and n_left == 2 and (even == 0) != odd_wanted:
                    continue
                halves[0] = positive[left]
                halves[1] = positive[right] if even == 1 else negative[right]
                one = join_nodes(nodes, children, buckets, counts, complement, AND, halves, 0, 2, codes)
                halves[0] = negative[left]
                halves[1] = negative[right] if even == 1 else positive[right]
                halves[1] = join_nodes(nodes, children, buckets, counts, complement, AND, halves, 0, 2, codes)
                halves[0] = one
                made = join_nodes(nodes, children, buckets, counts, complement, OR, halves, 0, 2, codes)
                answers = (made, answers[1]) if even == 0 else (answers[0], made)
            positive[first + pair], negative[first + pair] = answers
        if n_left % 2 == 1:
            middle, last = first + n_left // 2, first + n_left - 1
            positive[middle], negative[middle] = positive[last], negative[last]
        n_left = (n_left + 1) // 2
    made, turned = positive[first], negative[first]
    if not odd_wanted:
        made, turned = turned, made
    return made, turned
