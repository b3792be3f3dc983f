"""A rule's match score: its postfix program (see encode/program.py) run over one event.

Every engine scores through `match_score`, in the order that the program has, so that all give the same float.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.kernels.jit import inlined, jit
from ruledex.kernels.literals import Literals, first_at_least

AND, OR, XOR, XNOR, LEAF, CONSTANT, FALSE_BY, WEIGH = range(8)  # as in a Program, like what follows
FALSE, TRUE, UNKNOWN, SCORES_ONE = range(4)
STEP_BITS, OPERATION = 3, 7
NO_WEIGHT = -1.0  # weights are not negative
NO_EVENT = -1
LARGEST = float(np.finfo(np.float64).max)
EPSILON = float(np.finfo(np.float64).eps)


class ScorePrograms(NamedTuple):
    """The score programs of a Program and the nodes that stand in for empty ones, by the names that they have there."""

    score_offsets: NDArray[np.int32]
    score_code: NDArray[np.int32]
    score_weight: NDArray[np.float64]
    root: NDArray[np.int32]
    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]


class ScoreStack(NamedTuple):
    """Scratch of `match_score`. Stacks have one entry more than the deepest of any program, or way from a root down.

    Rules that are true of one event share most of their literals, so what each literal scores is remembered, with the
    event's number, which grows with each event: what is older counts for nothing, and nothing is ever cleared.
    """

    truth: NDArray[np.uint8]
    score: NDArray[np.float64]
    node: NDArray[np.int32]
    next_child: NDArray[np.int64]
    known_of: NDArray[np.int64]  # [n_literals] the number of the event that `known` is of
    known: NDArray[np.float64]  # [n_literals] as `literal_weight` gives it
    event: NDArray[np.int64]  # [2] the number of the event at hand, and where it begins


@jit
def match_score(
    literals: Literals,
    programs: ScorePrograms,
    rule: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    stack: ScoreStack,
) -> float:
    """The score of a rule that is true of the event `cells[begin:end]`.

    A stack that comes from other events must have `event[1]` set to `NO_EVENT`.
    """
    known_of, known, event = stack.known_of, stack.known, stack.event
    if event[1] != begin:
        event[0] += 1
        event[1] = begin
    number = event[0]
    if programs.score_offsets[rule] == programs.score_offsets[rule + 1]:
        return _root_score(literals, programs, programs.root[rule], cells, weights, begin, end, stack)
    # Taken out of the tuples once: each time counts a reference, which costs more than what is done with it.
    offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    presence, positive = literals.negative_presence, literals.negative_of
    n_positive = offsets.size - 1
    score_code, score_weight = programs.score_code, programs.score_weight
    truth, score = stack.truth, stack.score
    truth[0], score[0] = UNKNOWN, 0.0
    height = 0
    for place in range(programs.score_offsets[rule], programs.score_offsets[rule + 1]):
        operation, argument = score_code[place] & OPERATION, score_code[place] >> STEP_BITS
        if operation in (LEAF, FALSE_BY):
            if known_of[argument] != number:
                known_of[argument] = number
                known[argument] = literal_weight(
                    offsets, low, high, presence, positive, argument, cells, weights, begin, end
                )
            best = known[argument]
            if operation == LEAF:
                truth[height] = TRUE if best != NO_WEIGHT else UNKNOWN
                score[height] = best if best != NO_WEIGHT and argument < n_positive else 0.0
                height += 1
            elif best != NO_WEIGHT and truth[height - 1] != TRUE:
                truth[height - 1] = FALSE
        elif operation == WEIGH:
            score[height - 1] *= score_weight[argument]
        elif operation == CONSTANT:
            truth[height] = TRUE if argument == SCORES_ONE else argument
            score[height] = 1.0 if argument == SCORES_ONE else 0.0
            height += 1
        else:
            height -= argument
            _combine(operation, truth, score, height, height + argument)
            height += 1
    # Sums of finite weights may overflow; an infinite score times a static score of 0 would be no number.
    return min(float(score[0]), LARGEST)


@jit
def literal_weight(
    offsets: NDArray[np.int32],
    low: NDArray[np.int32],
    high: NDArray[np.int32],
    presence: NDArray[np.int32],
    positive: NDArray[np.int32],
    argument: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
) -> float:
    """The largest weight of the event's cells in a positive literal, 0 of a negative one, `NO_WEIGHT` if not true."""
    n_positive = offsets.size - 1
    is_negative = argument >= n_positive
    literal = positive[argument - n_positive] if is_negative else argument
    best = NO_WEIGHT
    # The fewer of intervals and cells are gone through, and each is looked up among the others.
    interval, last = offsets[literal], offsets[literal + 1]
    if last - interval <= end - begin:
        while interval < last:
            place = first_at_least(cells, begin, end, low[interval])
            while place < end and cells[place] <= high[interval]:
                best = max(best, weights[place] if weights.size != 0 else 1.0)
                place += 1
            interval += 1
    else:
        for place in range(begin, end):
            found = first_at_least(high, interval, last, cells[place])
            if found < last and low[found] <= cells[place]:
                best = max(best, weights[place] if weights.size != 0 else 1.0)
    if is_negative:
        cell = presence[argument - n_positive]
        place = first_at_least(cells, begin, end, cell)
        is_there = place < end and cells[place] == cell
        best = 0.0 if best == NO_WEIGHT and is_there else NO_WEIGHT
    return best


@inlined
def _root_score(
    literals: Literals,
    programs: ScorePrograms,
    root: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    stack: ScoreStack,
) -> float:
    """The score of a match tree whose positive literals weigh 1, walked from its root down and left to right."""
    offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    presence, positive = literals.negative_presence, literals.negative_of
    operations, child_offsets, children = programs.node_op, programs.child_offsets, programs.children
    truth, score, nodes, next_child = stack.truth, stack.score, stack.node, stack.next_child
    known_of, known, number = stack.known_of, stack.known, stack.event[0]
    n_literals = offsets.size - 1 + positive.size
    if root < 0:
        return 0.0
    nodes[0] = root
    height, entered = 0, True
    while height >= 0:
        node = nodes[height]
        if node < n_literals:
            if known_of[node] != number:
                known_of[node] = number
                known[node] = literal_weight(offsets, low, high, presence, positive, node, cells, weights, begin, end)
            weight = known[node]
            truth[height] = TRUE if weight != NO_WEIGHT else UNKNOWN
            score[height] = max(weight, 0.0)
            height, entered = height - 1, False
            continue
        inner = node - n_literals
        is_and = operations[inner] == AND
        if entered:
            truth[height], score[height] = TRUE if is_and else UNKNOWN, 0.0
            next_child[height] = child_offsets[inner]
        elif truth[height + 1] == TRUE:
            if is_and:
                score[height] = float(score[height]) + float(score[height + 1])
            else:
                truth[height], score[height] = TRUE, max(score[height], score[height + 1])
        elif is_and:
            truth[height] = UNKNOWN
        if next_child[height] < child_offsets[inner + 1] and (truth[height] == TRUE or not is_and):
            nodes[height + 1] = children[next_child[height]]
            next_child[height] += 1
            height, entered = height + 1, True
        else:
            height, entered = height - 1, False
    return min(float(score[0]), LARGEST)


@jit
def _combine(operation: int, truth: NDArray[np.uint8], score: NDArray[np.float64], first: int, last: int) -> None:
    """Replace the entries from `first` up to `last` by one, at `first`. What is not true has a score of 0."""
    value, points = truth[first], float(score[first])
    for place in range(first + 1, last):
        other = truth[place]
        # XOR has one true side, so that the sum is that side's score.
        more = float(score[place])
        points = max(points, more) if operation == OR else points + more
        if operation in (AND, OR):
            decisive = FALSE if operation == AND else TRUE
            if value == decisive or other == decisive:
                value = decisive
            elif value == UNKNOWN or other == UNKNOWN:
                value = UNKNOWN
        elif value == UNKNOWN or other == UNKNOWN:
            value = UNKNOWN
        else:
            value = TRUE if (value != other) == (operation == XOR) else FALSE
        if value != TRUE:
            points = 0.0
    truth[first], score[first] = value, points


@jit
def node_bounds(n_positive: int, programs: ScorePrograms, bounds: NDArray[np.float64]) -> None:
    """For each node a score that it does not exceed while positive literals and an event's weights are at most 1."""
    n_literals = bounds.size - programs.node_op.size
    for node in range(n_literals):
        bounds[node] = 1.0 if node < n_positive else 0.0
    for inner in range(programs.node_op.size):
        points = 0.0
        for place in range(programs.child_offsets[inner], programs.child_offsets[inner + 1]):
            child = bounds[programs.children[place]]
            points = points + child if programs.node_op[inner] == AND else max(points, child)
        bounds[n_literals + inner] = points


@jit
def score_bounds(
    n_positive: int,
    programs: ScorePrograms,
    of_node: NDArray[np.float64],
    stack: NDArray[np.float64],
    bounds: NDArray[np.float64],
) -> None:
    """For each rule a match score that no event with weights of at most 1 exceeds; `of_node` are the nodes' bounds.

    Scores grow linearly with the event's weights, so an event's largest weight times this bounds its score too; the
    bound is a little larger than the sum of the weights, by what rounding may add on that way.
    """
    for rule in range(bounds.size):
        height = 0
        stack[0] = 0.0
        first, last = programs.score_offsets[rule], programs.score_offsets[rule + 1]
        for place in range(first, last):
            operation, argument = programs.score_code[place] & OPERATION, programs.score_code[place] >> STEP_BITS
            if operation == LEAF:
                stack[height] = 1.0 if argument < n_positive else 0.0
                height += 1
            elif operation == CONSTANT:
                stack[height] = 1.0 if argument == SCORES_ONE else 0.0
                height += 1
            elif operation == WEIGH:
                stack[height - 1] *= programs.score_weight[argument]
            elif operation != FALSE_BY:
                height -= argument
                points = float(stack[height])  # a plain number overflows without a warning, uncompiled too
                for other in range(height + 1, height + argument):
                    if operation in (OR, XOR):
                        points = max(points, float(stack[other]))
                    else:
                        points += float(stack[other])
                stack[height] = points
                height += 1
        n_terms = float(last - first)
        if first == last and programs.root[rule] >= 0:
            # Each literal adds at most 1, so that there are at most as many terms as the bound says.
            stack[0] = of_node[programs.root[rule]]
            n_terms = stack[0] + 1.0
        bounds[rule] = min(stack[0] * (1.0 + 4.0 * EPSILON * n_terms), LARGEST)


@jit
def stack_height(programs: ScorePrograms) -> int:
    """The deepest stack of any rule's program."""
    deepest = 0
    for rule in range(programs.score_offsets.size - 1):
        height = 0
        for place in range(programs.score_offsets[rule], programs.score_offsets[rule + 1]):
            operation, argument = programs.score_code[place] & OPERATION, programs.score_code[place] >> STEP_BITS
            if operation in (LEAF, CONSTANT):
                height += 1
            elif operation not in (FALSE_BY, WEIGH):
                height -= argument - 1
            deepest = max(deepest, height)
    return deepest
