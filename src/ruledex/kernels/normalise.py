"""From the structure of rules to their match nodes and score programs: rewrite/ on arrays.

The code of a rule (see rule_scanner.py) is turned round once, from its root down, into *entries*: NOT is pushed into the
leaves, ANDs in ANDs and ORs in ORs are joined, and XOR and XNOR keep their operands. That is the score tree. Read from the last
entry to the first it is postfix again, and one more walk makes the match nodes, with XOR and XNOR expanded:

    odd(l, r) = odd l AND even r OR even l AND odd r            even(l, r) = odd l AND odd r OR even l AND even r

so everything below an XOR is made both as itself and negated. A score program is written only where the match tree would
score something else: where XOR was expanded, something was simplified away or a weight is not 1. An *empty* score program
stands for the root itself, each positive literal weighing 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.growing import lengthened
from ruledex.kernels.jit import jit
from ruledex.kernels.node_table import (
    ALWAYS_CODE,
    AND,
    N_SIMPLIFIED,
    NEVER_CODE,
    NO_ROOM,
    OR,
    NodeTable,
    join,
    with_room,
)
from ruledex.kernels.rule_scanner import FALLBACK, NOT, OK, XNOR, XOR, Scan, operator_of

# What a predicate or its negation can be besides a literal.
ALWAYS, NEVER, COMPLEX = -1, -2, -3

LEAF, PUSH_TRUE, FALSE_BY = 4, 5, 6  # operations of score programs besides the operators; as in a Program

# An entry: an operator or LEAF; its number of operands, or its predicate; whether the predicate is negated; and whether the
# negation is needed too.
_KIND, _ARGUMENT, _NEGATED, _BOTH = 0, 1, 2, 3
# A frame: an operator whose operands are still met: how many; whether they are negated, and needed both ways; the operator,
# its entry, and the operator of a shorter chain that comes behind the next operand.
_N_LEFT, _BELOW_NEGATED, _BELOW_BOTH, _OPERATOR, _ENTRY, _SHORTER = 0, 1, 2, 3, 4, 5
_NONE = -1


class Predicates(NamedTuple):
    """What each distinct predicate is; literal ids are the caller's, dense from 0 on."""

    positive: NDArray[np.int32]  # the literal that stands for it, or ALWAYS, NEVER, COMPLEX
    negative: NDArray[np.int32]  # the same for its negation
    weight: NDArray[np.float64]  # of its score, where it or its negation is a literal that is not `negated`


class LiteralTable(NamedTuple):
    """What is known of each literal."""

    complement: NDArray[np.int32]  # the literal that is true only where this one is false or unknown, or NO_COMPLEMENT
    negated: NDArray[np.uint8]  # 1 where it is a negative literal, which scores 0


class ScoreTable(NamedTuple):
    """Score programs, one behind the other. The arrays are longer than what is used of them."""

    code: NDArray[np.int32]  # pairs (operation, argument); literals by the caller's ids
    weight: NDArray[np.float64]  # one a pair
    n_pairs: NDArray[np.int64]  # [1]


class NormalRules(NamedTuple):
    """What became of some rules. What is not OK has to be made from the Python parser's tree and put in its place."""

    status: NDArray[np.uint8]  # [n_rules] OK or FALLBACK
    root: NDArray[np.int32]  # [n_rules] a code of the node table
    score_start: NDArray[np.int64]  # [n_rules] the first pair in the score table
    n_score_pairs: NDArray[np.int32]  # [n_rules]


class _Scratch(NamedTuple):
    entries: NDArray[np.int64]
    frames: NDArray[np.int64]
    positive: NDArray[np.int64]  # codes of the leaves, and a stack of operands
    negative: NDArray[np.int64]  # their negations, where they are needed
    halves: NDArray[np.int64]  # [2]


def empty_score_table() -> ScoreTable:
    """A table without score programs."""
    return ScoreTable(np.empty(256, np.int32), np.empty(128, np.float64), np.zeros(1, np.int64))


def add_score(
    scores: ScoreTable, code: NDArray[np.integer], weight: NDArray[np.float64]
) -> tuple[ScoreTable, int]:
    """Append one score program; return the table to go on with, and where its pairs start."""
    start = int(scores.n_pairs[0])
    scores = _with_room(scores, len(weight))
    scores.code[2 * start : 2 * (start + len(weight))] = code
    scores.weight[start : start + len(weight)] = weight
    scores.n_pairs[0] += len(weight)
    return scores, start


def _with_room(scores: ScoreTable, n_more: int) -> ScoreTable:
    n_room = int(scores.n_pairs[0]) + n_more
    return ScoreTable(lengthened(scores.code, 2 * n_room), lengthened(scores.weight, n_room), scores.n_pairs)


def normalise_rules(
    table: NodeTable,
    scores: ScoreTable,
    scan: Scan,
    predicate_of: NDArray[np.int32],
    predicates: Predicates,
    literals: LiteralTable,
) -> tuple[NodeTable, ScoreTable, NormalRules]:
    """The roots and score programs of scanned rules; `predicate_of[slice]` is the predicate of each slice.

    Returns the tables to go on with; those given must not be used again.
    """
    n_rules = len(scan.status)
    rules = NormalRules(
        scan.status.copy(),
        np.full(n_rules, NEVER_CODE, np.int32),
        np.zeros(n_rules, np.int64),
        np.zeros(n_rules, np.int32),
    )
    longest = int(np.diff(scan.code_offsets).max(initial=0))
    # The negation of a chain of XOR is one entry more than the chain.
    scratch = _Scratch(
        np.zeros((2 * longest + 1, 4), np.int64),
        np.zeros((longest + 1, 6), np.int64),
        np.empty(2 * longest + 1, np.int64),
        np.empty(2 * longest + 1, np.int64),
        np.empty(2, np.int64),
    )
    codes = np.empty(longest + 16, np.int64)
    predicates = Predicates(*map(_read_only, predicates))
    literals = LiteralTable(*map(_read_only, literals))
    n_done = 0
    while True:
        n_done = _normalise_from(
            table, scores, scan.code_offsets, scan.code, predicate_of, predicates, literals, n_done, rules, scratch, codes
        )
        if n_done == n_rules:
            return table, scores, rules
        # A leaf below an XOR takes two pairs.
        scores = _with_room(scores, 4 * longest + 2)
        table, codes = with_room(table, codes)


def _read_only(array: NDArray[np.generic]) -> NDArray[np.generic]:
    view = array.view()
    view.flags.writeable = False
    return view


@jit
def _normalise_from(
    table: NodeTable,
    scores: ScoreTable,
    code_offsets: NDArray[np.int64],
    code: NDArray[np.int32],
    predicate_of: NDArray[np.int32],
    predicates: Predicates,
    literals: LiteralTable,
    first_rule: int,
    rules: NormalRules,
    scratch: _Scratch,
    codes: NDArray[np.int64],
) -> int:
    """Make rules from `first_rule` on as long as there is room; return which comes next.

    A rule for which the room ends in the middle is begun again: the nodes that it has already are found there.
    """
    rule = first_rule
    has_room = True
    while has_room and rule < rules.status.size:
        if rules.status[rule] == OK:
            n_entries = _turn_round(
                code, code_offsets[rule], code_offsets[rule + 1], predicate_of, scratch.entries, scratch.frames
            )
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
                n_pairs = scores.n_pairs[0]
                has_room = root != NO_ROOM and n_pairs + 2 * n_entries <= scores.weight.size
                if has_room:
                    rules.root[rule] = root
                    rules.score_start[rule] = n_pairs
                    if is_weighted or table.counts[N_SIMPLIFIED] > n_simplified:
                        rules.n_score_pairs[rule] = _write_score(
                            scores, predicates, literals.negated, scratch.entries, n_entries
                        )
        rule += 1 if has_room else 0
    return rule


@jit
def _turn_round(
    code: NDArray[np.int32],
    first: int,
    last: int,
    predicate_of: NDArray[np.int32],
    entries: NDArray[np.int64],
    frames: NDArray[np.int64],
) -> int:
    """Write a rule's entries, the root first, the operands of each operator from the last to the first; return how many."""
    frames[0, _N_LEFT], frames[0, _BELOW_NEGATED], frames[0, _BELOW_BOTH] = 1, 0, 0
    frames[0, _OPERATOR], frames[0, _ENTRY], frames[0, _SHORTER] = _NONE, _NONE, 0
    n_frames, n_entries = 1, 0
    turned = 0  # by NOT
    for place in range(last - 1, first - 1, -1):
        top = n_frames - 1
        negated = turned ^ frames[top, _BELOW_NEGATED]
        operator, n_operands = LEAF, 0
        if code[place] < 0:
            operator, n_operands = operator_of(code[place])
            if operator == NOT:
                turned ^= 1
                continue
        turned = 0
        if operator != LEAF and negated:
            operator = (AND + OR - operator) if operator <= OR else (XOR + XNOR - operator)
        both = frames[top, _BELOW_BOTH]
        is_joined = operator <= OR and operator == frames[top, _OPERATOR]
        if not is_joined:
            if frames[top, _OPERATOR] == AND or frames[top, _OPERATOR] == OR:
                entries[frames[top, _ENTRY], _ARGUMENT] += 1
            entries[n_entries, _KIND] = operator
            entries[n_entries, _ARGUMENT] = 0
            entries[n_entries, _NEGATED] = negated
            entries[n_entries, _BOTH] = both
            n_entries += 1
        if operator != LEAF:
            frames[n_frames, _N_LEFT], frames[n_frames, _BELOW_NEGATED], frames[n_frames, _BELOW_BOTH] = n_operands, negated, both
            frames[n_frames, _OPERATOR], frames[n_frames, _SHORTER] = operator, 0
            frames[n_frames, _ENTRY] = frames[top, _ENTRY] if is_joined else n_entries - 1
            if operator > OR:
                frames[n_frames, _BELOW_NEGATED], frames[n_frames, _BELOW_BOTH] = 0, 1
                entries[n_entries - 1, _ARGUMENT] = n_operands
                if negated and n_operands > 2:
                    # NOT ((a XOR b) XOR c) = (a XOR b) XNOR c
                    entries[n_entries - 1, _ARGUMENT] = 2
                    frames[n_frames, _SHORTER] = XOR + XNOR - operator
            n_frames += 1
            continue
        entries[n_entries - 1, _ARGUMENT] = predicate_of[code[place]]
        # An operand is complete, and with it each operator of which it was the first.
        while True:
            frames[n_frames - 1, _N_LEFT] -= 1
            n_left = frames[n_frames - 1, _N_LEFT]
            if n_left > 0 or n_frames == 1:
                break
            n_frames -= 1
        if frames[n_frames - 1, _SHORTER] > 0:
            entries[n_entries, _KIND], entries[n_entries, _ARGUMENT] = frames[n_frames - 1, _SHORTER], n_left
            entries[n_entries, _NEGATED], entries[n_entries, _BOTH] = 0, 1
            n_entries += 1
            frames[n_frames - 1, _SHORTER] = 0
    return n_entries


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
    """Write the codes of each leaf, and of its negation, at the place of its entry.

    Returns whether one has a weight other than 1, and whether one that is needed is COMPLEX.
    """
    is_weighted, is_complex = False, False
    for entry in range(n_entries):
        if entries[entry, _KIND] == LEAF:
            predicate = entries[entry, _ARGUMENT]
            literal, other = positive_of[predicate], negative_of[predicate]
            if entries[entry, _NEGATED] != 0:
                literal, other = other, literal
            is_complex = is_complex or literal == COMPLEX or (entries[entry, _BOTH] != 0 and other == COMPLEX)
            if weight_of[predicate] != 1.0 and literal >= 0:
                is_weighted = is_weighted or negated[literal] == 0
            positive[entry] = literal if literal >= 0 else ALWAYS_CODE if literal == ALWAYS else NEVER_CODE
            negative[entry] = other if other >= 0 else ALWAYS_CODE if other == ALWAYS else NEVER_CODE
    return is_weighted, is_complex


@jit
def _match_root(
    table: NodeTable, complement: NDArray[np.int32], scratch: _Scratch, n_entries: int, codes: NDArray[np.int64]
) -> int:
    """The code of the rule's match tree, or `NO_ROOM`; the leaves' codes must have been put.

    The stack of operands grows from the end of the arrays that hold the leaves' codes, always behind the entry that is read.
    """
    nodes, children, slots, counts = table.nodes, table.children, table.slots, table.counts
    entries, positive, negative, halves = scratch.entries, scratch.positive, scratch.negative, scratch.halves
    bottom = n_entries  # the topmost operand
    for entry in range(n_entries - 1, -1, -1):
        kind, n_operands, both = entries[entry, _KIND], entries[entry, _ARGUMENT], entries[entry, _BOTH]
        if kind == LEAF:
            bottom -= 1
            positive[bottom], negative[bottom] = positive[entry], negative[entry]
            continue
        end = bottom + n_operands
        made, turned = NEVER_CODE, NEVER_CODE
        if kind <= OR:
            made = join(nodes, children, slots, counts, complement, kind, positive, bottom, end, codes)
            if both != 0:
                turned = join(
                    nodes, children, slots, counts, complement, AND + OR - kind, negative, bottom, end, codes
                )
        else:
            counts[N_SIMPLIFIED] += 1
            # A chain of n is n - 1 links, and each XNOR turns the answer round.
            odd_wanted = kind == XOR or n_operands % 2 == 1
            made, turned = _expand(
                nodes, children, slots, counts, complement, positive, negative, bottom, end, both, odd_wanted, halves, codes
            )
        bottom = end - 1
        positive[bottom], negative[bottom] = made, turned
    return positive[bottom]


@jit
def _expand(
    nodes: NDArray[np.int64],
    children: NDArray[np.int32],
    slots: NDArray[np.int32],
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
    """Whether an odd number of the operands is true, if that is wanted, else an even number; and if `both`, the other.

    Neighbours are joined to halves, and those to larger ones, until one is left.
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
                one = join(nodes, children, slots, counts, complement, AND, halves, 0, 2, codes)
                halves[0] = negative[left]
                halves[1] = negative[right] if even == 1 else positive[right]
                halves[1] = join(nodes, children, slots, counts, complement, AND, halves, 0, 2, codes)
                halves[0] = one
                made = join(nodes, children, slots, counts, complement, OR, halves, 0, 2, codes)
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


@jit
def _write_score(
    scores: ScoreTable, predicates: Predicates, negated: NDArray[np.uint8], entries: NDArray[np.int64], n_entries: int
) -> int:
    """Append the rule's score program, in the order of its text; return its number of pairs."""
    first = scores.n_pairs[0]
    pair = first
    for entry in range(n_entries - 1, -1, -1):
        kind, argument = entries[entry, _KIND], entries[entry, _ARGUMENT]
        weight = 0.0
        other = NEVER
        if kind == LEAF:
            predicate = argument
            literal, other = predicates.positive[predicate], predicates.negative[predicate]
            if entries[entry, _NEGATED] != 0:
                literal, other = other, literal
            if literal >= 0:
                argument = int(literal)
                if negated[literal] == 0:
                    weight = predicates.weight[predicate]
            else:
                # What is never true is false where its negation always is, and unknown where that is never true either.
                kind = PUSH_TRUE
                argument = 1 if literal == ALWAYS else 0 if other == ALWAYS else -1
        scores.code[2 * pair], scores.code[2 * pair + 1], scores.weight[pair] = kind, argument, weight
        pair += 1
        if other >= 0 and entries[entry, _BOTH] != 0:
            scores.code[2 * pair], scores.code[2 * pair + 1], scores.weight[pair] = FALSE_BY, other, 0.0
            pair += 1
    scores.n_pairs[0] = pair
    return pair - first
