"""Compute match scores: run the postfix programs of rules (see program/program.py) over one event.

Every engine scores through `match_scores`, in the order of the program, so that all engines give the same float.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.constants import (
    AND,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    OPERATION,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.compiled.decorator import inlined, jit
from ruledex.compiled.lists import first_at_least
from ruledex.program.scores.literals import (
    FIELDS,
    NO_DOMAIN,
    NO_WEIGHT,
    NOWHERE,
    SEVERAL,
    EventPlaces,
    ScoreLiterals,
    literal_weight,
    place_in_domain,
)

NO_EVENT, NONE = -1, -1
AT_ONCE = 64  # rules that one call scores
LARGEST = float(np.finfo(np.float64).max)
EPSILON = float(np.finfo(np.float64).eps)


class ScorePrograms(NamedTuple):
    """The score programs of a Program, and the nodes that stand in for empty ones, by their names in it."""

    score_offsets: NDArray[np.int32]
    score_code: NDArray[np.int32]
    score_weight: NDArray[np.float64]
    root: NDArray[np.int32]
    node_op: NDArray[np.uint8]
    child_offsets: NDArray[np.int32]
    children: NDArray[np.int32]


class ScoreBounds(NamedTuple):
    """Match scores that are not exceeded while an event's weights are at most 1.

    A program that ends with an OR has the operands of it, one behind the other; any other program is one operand. An
    empty one has none. No sum of weights that are at most 1 exceeds its bound by rounding, because the bound is that
    sum of ones.
    """

    of_rule: NDArray[np.float64]
    of_node: NDArray[np.float64]
    offsets: NDArray[np.int32]  # [n_rules + 1] into what follows
    of_operand: NDArray[np.float64]
    operand_begin: NDArray[np.int32]  # the step with which it begins
    operand_guard: NDArray[np.int32]  # a positive literal without which it is not true, or NONE


class ScoreStack(NamedTuple):
    """Scratch of `match_scores`. Stacks have one entry more than any program needs, or any way down from a root."""

    truth: NDArray[np.uint8]
    score: NDArray[np.float64]
    node: NDArray[np.int32]
    next_child: NDArray[np.int64]
    places: EventPlaces
    event: NDArray[np.int64]  # [2] the number of the current event, which grows with each, and where it begins
    chosen: NDArray[np.int32]  # [AT_ONCE] rules to be scored
    needed: NDArray[np.float64]  # [AT_ONCE] what they need to be of use, on an event whose weights are at most 1
    scores: NDArray[np.float64]  # [AT_ONCE] their scores


@jit
def match_scores(
    literals: ScoreLiterals,
    programs: ScorePrograms,
    bounds: ScoreBounds,
    rules: NDArray[np.int32],
    n_rules: int,
    cells: NDArray[np.int32],
    weights: NDArray[np.float64],
    begin: int,
    end: int,
    stack: ScoreStack,
    scores: NDArray[np.float64],
) -> None:
    """Write the scores of the first `n_rules` rules, which are true of the event `cells[begin:end]`.

    A score is exact if it reaches what `stack.needed` says, and else it may be any smaller one: no operand of an OR at
    a rule's root is looked at whose bound is less. Of most others one literal is looked at, which is not true.

    A stack that was used for other events must have `event[1]` set to `NO_EVENT`. One call scores several rules: taking
    an array out of a tuple counts a reference, and for all arrays that costs ten times as much as one rule's score.
    """
    offsets, low, high = literals.interval_offsets, literals.interval_low, literals.interval_high
    domain_begin, records, places = literals.domain_begin, literals.records, stack.places
    seen_in, place_in, known_of, known = places.seen_in, places.place_in, places.known_of, places.known
    code_offsets, code, code_weight = programs.score_offsets, programs.score_code, programs.score_weight
    roots, operations = programs.root, programs.node_op
    child_offsets, children = programs.child_offsets, programs.children
    truth, score, nodes, next_child = stack.truth, stack.score, stack.node, stack.next_child
    event, all_needed = stack.event, stack.needed
    of_node, of_operand = bounds.of_node, bounds.of_operand
    operand_offsets, operand_begin, operand_guard = bounds.offsets, bounds.operand_begin, bounds.operand_guard
    if event[1] != begin:
        event[0] += 1
        event[1] = begin
    number = event[0]
    n_positive, n_literals = offsets.size - 1, records.size // FIELDS
    for chosen in range(n_rules):
        rule = rules[chosen]
        step, last_step = code_offsets[rule], code_offsets[rule + 1]
        needed, best, is_true, n_ors = all_needed[chosen], 0.0, False, 0
        truth[0], score[0] = IS_UNKNOWN, 0.0
        # Without a program, the tree below the rule's root is walked from left to right; its literals weigh 1.
        is_walk = step == last_step
        height, entered = 0, True
        run_end, base, solid = step, height, height
        operand, last_operand, after = 0, 0, last_step
        if is_walk:
            nodes[0] = roots[rule]
            height = 0 if roots[rule] >= 0 else -1
        else:
            operand, last_operand = operand_offsets[rule], operand_offsets[rule + 1]
            after = last_step - (last_operand - operand > 1)  # an OR is not run
            last_step = step
        while True:
            # Go on to the next literal, or to the end.
            literal = NONE
            while is_walk and height >= 0:
                if nodes[height] < n_literals:
                    literal = int(nodes[height])
                    break
                inner = nodes[height] - n_literals
                is_and = operations[inner] == AND
                if entered:
                    # Down to `n_ors` all is ORs, whose operands score by themselves.
                    n_ors = height + 1 if n_ors >= height and not is_and else min(n_ors, height)
                    truth[height], score[height] = IS_TRUE if is_and else IS_UNKNOWN, 0.0
                    next_child[height] = child_offsets[inner]
                elif truth[height + 1] == IS_TRUE:
                    if is_and:
                        score[height] = float(score[height]) + float(score[height + 1])
                    else:
                        truth[height], score[height] = IS_TRUE, max(score[height], score[height + 1])
                elif is_and:
                    truth[height] = IS_UNKNOWN
                if height < n_ors:
                    while (
                        next_child[height] < child_offsets[inner + 1] and of_node[children[next_child[height]]] < needed
                    ):
                        next_child[height] += 1
                if next_child[height] < child_offsets[inner + 1] and (truth[height] == IS_TRUE or not is_and):
                    nodes[height + 1] = children[next_child[height]]
                    next_child[height] += 1
                    height, entered = height + 1, True
                else:
                    height, entered = height - 1, False
            while step < last_step:
                operation, argument = code[step] & OPERATION, code[step] >> STEP_BITS
                if operation in (LEAF, FALSE_BY):
                    literal = int(argument)
                    break
                if operation == WEIGH:
                    score[height - 1] *= code_weight[argument]
                elif operation == CONSTANT:
                    truth[height] = IS_TRUE if argument == SCORES_ONE else argument
                    score[height] = 1.0 if argument == SCORES_ONE else 0.0
                    height += 1
                else:
                    height -= argument
                    value, points = truth[height], float(score[height])
                    for other in range(height + 1, height + argument):
                        value, points = fold(operation, value, points, truth[other], float(score[other]))
                    if argument == 1 and operation in (XOR, XNOR):
                        value, points = test(operation, value), 0.0
                    truth[height], score[height] = value, points
                    height += 1
                if operation != WEIGH:
                    solid = height
                step += 1
            if literal == NONE and not is_walk:
                if height > 0 and truth[0] == IS_TRUE:
                    best, is_true = max(best, score[0]), True
                while operand < last_operand:
                    guard, place = operand_guard[operand], SEVERAL
                    if of_operand[operand] < needed:
                        place = NOWHERE
                    elif guard != NONE:
                        record = FIELDS * guard
                        domain = records[record]
                        if domain != NO_DOMAIN:
                            if seen_in[domain] != number:
                                seen_in[domain] = number
                                place_in[domain] = place_in_domain(domain_begin, domain, cells, begin, end)
                            place = int(place_in[domain])
                        if place >= 0 and not records[record + 1] <= cells[place] <= records[record + 2]:
                            place = NOWHERE
                    if place != NOWHERE:
                        break
                    operand += 1
                if operand < last_operand:
                    step = run_end = operand_begin[operand]
                    operand += 1
                    last_step = operand_begin[operand] if operand < last_operand else after
                    height = solid = 0
                    continue
                truth[0], score[0] = IS_TRUE if is_true else IS_UNKNOWN, best
            if literal == NONE:
                break

            # The largest weight of the event's cells in a positive literal, 0 of a negative one that is true.
            weight, positive, may_hold = NO_WEIGHT, literal, True
            if literal >= n_positive:
                record = FIELDS * literal
                domain, cell, positive = records[record], records[record + 1], int(records[record + 2])
                place = SEVERAL
                if domain != NO_DOMAIN:
                    if seen_in[domain] != number:
                        seen_in[domain] = number
                        place_in[domain] = place_in_domain(domain_begin, domain, cells, begin, end)
                    place = int(place_in[domain])
                if place == SEVERAL:
                    place = first_at_least(cells, begin, end, cell)
                may_hold = 0 <= place < end and bool(cells[place] == cell)
            if may_hold:
                record, place = FIELDS * positive, SEVERAL
                domain = records[record]
                if domain != NO_DOMAIN:
                    if seen_in[domain] != number:
                        seen_in[domain] = number
                        place_in[domain] = place_in_domain(domain_begin, domain, cells, begin, end)
                    place = int(place_in[domain])
                if place >= 0:
                    cell = cells[place]
                    if records[record + 1] <= cell <= records[record + 2]:
                        is_in = bool(records[record + 3] == 1)
                        if not is_in:
                            interval = first_at_least(high, offsets[positive], offsets[positive + 1], cell)
                            is_in = bool(low[interval] <= cell)
                        if is_in:
                            weight = weights[place] if weights.size != 0 else 1.0
                elif place == SEVERAL:
                    if known_of[positive] != number:
                        known_of[positive] = number
                        known[positive] = literal_weight(
                            offsets, low, high, records, positive, cells, weights, begin, end
                        )
                    weight = known[positive]
                if literal >= n_positive:
                    weight = 0.0 if weight == NO_WEIGHT else NO_WEIGHT

            if is_walk or code[step] & OPERATION == LEAF:
                truth[height] = IS_TRUE if weight != NO_WEIGHT else IS_UNKNOWN
                score[height] = max(weight, 0.0)
                height, entered = height - 1 if is_walk else height + 1, False
            else:
                if weight != NO_WEIGHT and truth[height - 1] != IS_TRUE:
                    truth[height - 1] = IS_FALSE
                solid, weight = height, 0.0
            step += not is_walk
            if weight == NO_WEIGHT and not is_walk:
                # An AND of literals, of which this one is not true, is unknown: go on behind it. The operation that
                # follows this and other literals joins those from `base` on; below `solid` may be what is false.
                if step > run_end:
                    run_end, base = step, height
                    while run_end < last_step and code[run_end] & OPERATION in (LEAF, WEIGH):
                        base += code[run_end] & OPERATION == LEAF
                        run_end += 1
                    is_and = run_end < last_step and code[run_end] & OPERATION == AND
                    base -= code[run_end] >> STEP_BITS if is_and else 0
                    if base < solid or not is_and:
                        base = height + (run_end - step)
                if base < height:
                    truth[base], score[base] = IS_UNKNOWN, 0.0
                    height = solid = base + 1
                    step = run_end + 1
        # Sums of finite weights may overflow; an infinite score times a static score of 0 would be no number.
        scores[chosen] = min(float(score[0]), LARGEST)


@inlined
def fold(operation: int, value: int, points: float, other: int, more: float) -> tuple[int, float]:
    """Return truth and score of an operation on the operands so far and one more. What is not true scores 0."""
    # XOR has one true side, so the sum is the score of that side.
    total = max(points, more) if operation == OR else points + more
    if operation in (AND, OR):
        decisive = IS_FALSE if operation == AND else IS_TRUE
        if value == decisive or other == decisive:
            value = decisive
        elif value == IS_UNKNOWN or other == IS_UNKNOWN:
            value = IS_UNKNOWN
    elif value == IS_UNKNOWN or other == IS_UNKNOWN:
        value = IS_UNKNOWN
    else:
        value = IS_TRUE if (value != other) == (operation == XOR) else IS_FALSE
    return value, total if value == IS_TRUE else 0.0


@inlined
def test(operation: int, value: int) -> int:
    """Return whether a truth is true (XOR of one operand), or whether it is unknown (XNOR of one)."""
    return IS_TRUE if value == (IS_TRUE if operation == XOR else IS_UNKNOWN) else IS_FALSE


@jit
def node_bounds(n_positive: int, programs: ScorePrograms, bounds: NDArray[np.float64]) -> None:
    """Write an upper bound of each node's score, for events whose weights are at most 1."""
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
def count_operands(programs: ScorePrograms, offsets: NDArray[np.int32]) -> None:
    """Write where the operands of each rule begin among all; see `ScoreBounds`."""
    for rule in range(offsets.size - 1):
        first, last = programs.score_offsets[rule], programs.score_offsets[rule + 1]
        n_operands = 0 if first == last else 1
        if first < last and programs.score_code[last - 1] & OPERATION == OR:
            n_operands = max(programs.score_code[last - 1] >> STEP_BITS, 1)
        offsets[rule + 1] = offsets[rule] + n_operands


@inlined
def guard_of(n_positive: int, programs: ScorePrograms, first: int, last: int) -> int:
    """Return the positive literal that weighs most of an AND of literals, of a literal itself, or else `NONE`.

    What weighs much is often what is rare, and then most ANDs are left after one look.
    """
    code, guard, largest, n_leaves = programs.score_code, NONE, 0.0, 0
    for place in range(first, last):
        operation, argument = code[place] & OPERATION, code[place] >> STEP_BITS
        if operation == LEAF:
            is_weighed = place + 1 < last and code[place + 1] & OPERATION == WEIGH
            weight = programs.score_weight[code[place + 1] >> STEP_BITS] if is_weighed else 1.0
            if argument < n_positive and weight >= largest:
                guard, largest = int(argument), weight
            n_leaves += 1
        elif operation == AND:
            if place < last - 1 or argument != n_leaves:
                return NONE
            n_leaves = 1
        elif operation != WEIGH:
            return NONE
    return guard if n_leaves == 1 else NONE


@jit
def score_bounds(
    n_positive: int, programs: ScorePrograms, begins: NDArray[np.int32], stack: NDArray[np.float64], bounds: ScoreBounds
) -> None:
    """Write the bounds of rules and of operands; those of nodes, and how many operands rules have, are there.

    `begins` and `stack` are scratch, as high as the programs need. Scores grow linearly with the event's weights, so
    a bound times the largest weight of an event, and a little more for rounding, bounds its score.
    """
    for rule in range(bounds.of_rule.size):
        height = 0
        stack[0] = 0.0
        first, last = programs.score_offsets[rule], programs.score_offsets[rule + 1]
        operand, n_operands = bounds.offsets[rule], bounds.offsets[rule + 1] - bounds.offsets[rule]
        for place in range(first, last):
            operation, argument = programs.score_code[place] & OPERATION, programs.score_code[place] >> STEP_BITS
            if place == last - 1 and n_operands > 1:
                for other in range(n_operands):
                    end = begins[other + 1] if other + 1 < n_operands else place
                    bounds.of_operand[operand + other] = min(stack[other], LARGEST)
                    bounds.operand_begin[operand + other] = begins[other]
                    bounds.operand_guard[operand + other] = guard_of(n_positive, programs, begins[other], end)
            if operation in (LEAF, CONSTANT):
                is_scoring = argument < n_positive if operation == LEAF else argument == SCORES_ONE
                begins[height], stack[height] = place, 1.0 if is_scoring else 0.0
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
                stack[height] = 0.0 if argument == 1 and operation in (XOR, XNOR) else points
                height += 1
        if first == last and programs.root[rule] >= 0:
            stack[0] = bounds.of_node[programs.root[rule]]
        bounds.of_rule[rule] = min(stack[0], LARGEST)
        if n_operands == 1:
            bounds.of_operand[operand], bounds.operand_begin[operand] = bounds.of_rule[rule], first
            bounds.operand_guard[operand] = guard_of(n_positive, programs, first, last)


@jit
def stack_height(programs: ScorePrograms) -> int:
    """Return the largest stack height of any rule's program."""
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
