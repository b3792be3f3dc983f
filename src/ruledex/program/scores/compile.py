"""Compile score programs, from a score tree or from a rule's entries, and keep them in a table during a build.

program/program.py defines the programs, and run.py runs them. During a build literals still have the ids of the
LiteralTable, and each WEIGH has a weight of its own.

`write_rule_steps` writes every rule as steps, also those whose program is empty because it is their match tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ruledex.compiled.arrays import lengthen
from ruledex.compiled.constants import (
    ALWAYS,
    AND,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    NEVER,
    OR,
    SCORES_ONE,
    STEP_BITS,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.compiled.decorator import jit
from ruledex.dictionary.literal_table import Form, LiteralTable
from ruledex.language.schema import Schema
from ruledex.language.tree import (
    And,
    Expression,
    In,
    Is,
    IsNull,
    Not,
    Or,
    Required,
    SetTest,
    Truth,
    Weak,
    Weighed,
    Xnor,
    Xor,
)
from ruledex.program.rule_entries import ARGUMENT, BOTH, KIND, NEGATED, PredicateLiterals
from ruledex.program.scores.run import ScorePrograms
from ruledex.rewrite.literals import rewrite_literals
from ruledex.rewrite.negation import push_not

STEPS_PER_ENTRY = 3  # at most: a leaf, its weight, and what makes it false
_OPERATION = {And: AND, Or: OR, Xor: XOR, Xnor: XNOR}
_NOT_ENTERED = -1


class ScoreCode:
    """Writes score programs; literals are named by the ids of a LiteralTable."""

    def __init__(self, table: LiteralTable, schema: Schema) -> None:
        self._table = table
        self._schema = schema
        self.steps: list[tuple[int, int]] = []  # operation, argument; that of a WEIGH is a place in `weights`
        self.weights: list[float] = []

    def write(self, tree: Expression, below_xor: bool = False) -> None:
        """Append the program of a score tree."""
        if isinstance(tree, And | Or | Xor | Xnor):
            exclusive = below_xor or isinstance(tree, Xor | Xnor)
            for child in tree.children:
                self.write(child, exclusive)
            self.steps.append((_OPERATION[type(tree)], len(tree.children)))
        elif isinstance(tree, Required):
            self.write(tree.child, below_xor)
            self.steps.append((WEIGH, len(self.weights)))  # by 1, which is written for nothing else
            self.weights.append(1.0)
        elif isinstance(tree, Weighed):
            self._weighed(tree, below_xor)
        elif isinstance(tree, Is):
            # Below it, as below XOR, false must be told from unknown.
            self.write(push_not(Not(tree.child)) if tree.truth is False else tree.child, below_xor=True)
            self.steps.append((XNOR if tree.truth is None else XOR, 1))
        elif isinstance(tree, Not) and isinstance(tree.child, Is):
            self.write(tree.child)
            self.steps += [(CONSTANT, IS_TRUE), (XOR, 2)]
        elif isinstance(tree, Truth):
            self.steps.append((CONSTANT, IS_UNKNOWN if tree.value is None else IS_TRUE if tree.value else IS_FALSE))
        elif isinstance(tree, In) and len(set(tree.weights)) > 1:
            self._weighted_list(tree, below_xor)
        else:
            self._leaf(tree, _weight(tree), below_xor)

    def _weighed(self, tree: Weighed, below_xor: bool) -> None:
        """Write what scores 0 by itself, with a constant beside it that scores the weight."""
        if tree.is_presence:  # a positive literal, to whose values an event may give weights
            self._leaf(tree.child, tree.weight, below_xor)
            return
        self.write(tree.child, below_xor)
        if tree.weight:
            self.steps.append((CONSTANT, SCORES_ONE))
            self._weigh(tree.weight)
            self.steps.append((AND, 2))

    def _weighted_list(self, tree: In, below_xor: bool) -> None:
        """Write a list whose values weigh differently: it scores the largest of its parts, one part per weight."""
        parts = dict.fromkeys(tree.weights)
        for weight in parts:
            values = tuple(v for v, w in zip(tree.values, tree.weights, strict=True) if w == weight)
            self._leaf(In(tree.operand, values, (), tree.has_null), weight, below_xor)
        self.steps.append((OR, len(parts)))

    def _leaf(self, leaf: Expression, weight: float, below_xor: bool) -> None:
        form = self._form(leaf)
        opposite = self._form(push_not(Not(leaf))) if below_xor else None
        if weight and not self._scores_by_itself(form, leaf):
            # A leaf of several literals scores once, however many there are, and a set test scores although its literal
            # is negative. So the literals score 0, and a constant beside them scores the weight.
            self._parts(form, opposite, 0.0)
            self.steps.append((CONSTANT, SCORES_ONE))
            self._weigh(weight)
            self.steps.append((AND, 2))
        else:
            self._parts(form, opposite, weight)

    def _scores_by_itself(self, form: Form, leaf: Expression) -> bool:
        """Return whether the literals score what the leaf does, as one positive literal and an OR of such do."""
        if isinstance(leaf, SetTest):
            return False
        if isinstance(form, tuple):
            return form[0] == OR and all(self._scores_by_itself(part, leaf) for part in form[1])
        return isinstance(form, bool) or not self._table.is_negative[form]

    def _parts(self, form: Form, opposite: Form | None, weight: float) -> None:
        if isinstance(form, bool):
            # FALSE may also mean unknown, as in NOT IN with a NULL; only the opposite tells them apart.
            known_false = opposite is True
            if form and weight:
                self.steps.append((CONSTANT, SCORES_ONE))
                self._weigh(weight)
            else:
                self.steps.append((CONSTANT, IS_TRUE if form else IS_FALSE if known_false else IS_UNKNOWN))
            if not form and opposite is not None and not isinstance(opposite, bool):
                self._false_by(opposite)
        elif isinstance(form, tuple):
            operation, parts = form
            others = opposite[1] if isinstance(opposite, tuple) else [opposite] * len(parts)
            for part, other in zip(parts, others, strict=True):
                self._parts(part, other, weight)
            self.steps.append((operation, len(parts)))
        else:
            self.steps.append((LEAF, form))
            if not self._table.is_negative[form]:
                self._weigh(weight)
            if opposite is not None:
                self._false_by(opposite)

    def _false_by(self, opposite: Form) -> None:
        if isinstance(opposite, int) and not isinstance(opposite, bool):
            self.steps.append((FALSE_BY, opposite))

    def _weigh(self, weight: float) -> None:
        if weight != 1.0:
            self.steps.append((WEIGH, len(self.weights)))
            self.weights.append(weight)

    def _form(self, leaf: Expression) -> Form:
        return self._form_of(rewrite_literals(leaf, self._schema))

    def _form_of(self, tree: Expression) -> Form:
        if isinstance(tree, And | Or):
            return _OPERATION[type(tree)], [self._form_of(child) for child in tree.children]
        return self._table.form(tree)


def _weight(leaf: Expression) -> float:
    if isinstance(leaf, Not | IsNull | Weak | Truth):
        return 0.0
    if isinstance(leaf, In):
        return leaf.weights[0] if leaf.weights else 1.0
    assert not isinstance(leaf, And | Or | Xor | Xnor)
    return getattr(leaf, "weight", 1.0)


# The table, and programs from entries.


class ScoreTable(NamedTuple):
    """The score programs. The arrays have room for more."""

    code: NDArray[np.int32]  # steps, one behind the other; literals by the caller's ids
    weight: NDArray[np.float64]
    n_steps: NDArray[np.int64]  # [1]
    n_weights: NDArray[np.int64]  # [1]


def empty_score_table() -> ScoreTable:
    """Return a table without score programs."""
    return ScoreTable(np.empty(256, np.int32), np.empty(128, np.float64), np.zeros(1, np.int64), np.zeros(1, np.int64))


def add_score(scores: ScoreTable, steps: list[tuple[int, int]], weights: list[float]) -> tuple[ScoreTable, int]:
    """Append one score program of (operation, argument); return the new table, and where its steps start.

    The argument of a WEIGH is an index into `weights`.
    """
    start, first_weight = int(scores.n_steps[0]), int(scores.n_weights[0])
    scores = with_score_room(scores, len(steps), len(weights))
    for place, (operation, argument) in enumerate(steps, start):
        scores.code[place] = pack_step(operation, argument + first_weight if operation == WEIGH else argument)
    scores.weight[first_weight : first_weight + len(weights)] = weights
    scores.n_steps[0] += len(steps)
    scores.n_weights[0] += len(weights)
    return scores, start


def with_score_room(scores: ScoreTable, n_more_steps: int, n_more_weights: int) -> ScoreTable:
    """Return the table with room for so many more steps and weights."""
    return scores._replace(
        code=lengthen(scores.code, int(scores.n_steps[0]) + n_more_steps),
        weight=lengthen(scores.weight, int(scores.n_weights[0]) + n_more_weights),
    )


@jit
def pack_step(operation: int, argument: int) -> int:
    """Return the step as one integer."""
    return argument << STEP_BITS | operation


@jit
def write_score(
    scores: ScoreTable,
    predicates: PredicateLiterals,
    negated: NDArray[np.uint8],
    entries: NDArray[np.int64],
    n_entries: int,
) -> int:
    """Append the rule's score program, in the order of its text; return its number of steps.

    There must be room for `STEPS_PER_ENTRY` steps and one weight per entry.
    """
    first, n_weights = scores.n_steps[0], scores.n_weights[0]
    place = first
    for entry in range(n_entries - 1, -1, -1):
        kind, argument = entries[entry, KIND], entries[entry, ARGUMENT]
        weight = 1.0
        other = NEVER
        if kind == LEAF:
            predicate = argument
            literal, other = predicates.positive[predicate], predicates.negative[predicate]
            if entries[entry, NEGATED] != 0:
                literal, other = other, literal
            if literal >= 0:
                argument = int(literal)
                if negated[literal] == 0:
                    weight = predicates.weight[predicate]
            else:
                # What is never true is false if its negation is always true, and unknown if that is never true either.
                kind = CONSTANT
                argument = IS_TRUE if literal == ALWAYS else IS_FALSE if other == ALWAYS else IS_UNKNOWN
        scores.code[place] = pack_step(kind, argument)
        place += 1
        if weight != 1.0:
            scores.code[place] = pack_step(WEIGH, n_weights)
            scores.weight[n_weights] = weight
            n_weights += 1
            place += 1
        if other >= 0 and entries[entry, BOTH] != 0:
            scores.code[place] = pack_step(FALSE_BY, other)
            place += 1
    scores.n_steps[0], scores.n_weights[0] = place, n_weights
    return int(place - first)


class WalkStack(NamedTuple):
    """Scratch of a walk down a match tree, with one entry more than there are levels."""

    node: NDArray[np.int32]
    next_child: NDArray[np.int64]
    n_operands: NDArray[np.int64]


@jit
def count_steps(programs: ScorePrograms, sizes: NDArray[np.int64], n_steps: NDArray[np.int64]) -> None:
    """Write the largest number of steps that each rule can have; `sizes` is scratch with one entry per node."""
    n_literals = sizes.size - programs.node_op.size
    sizes[:n_literals] = 1
    for inner in range(programs.node_op.size):
        size = 1
        for place in range(programs.child_offsets[inner], programs.child_offsets[inner + 1]):
            size += sizes[programs.children[place]]
        sizes[n_literals + inner] = size
    for rule in range(programs.root.size):
        n_steps[rule] = programs.score_offsets[rule + 1] - programs.score_offsets[rule]
        if n_steps[rule] == 0:
            n_steps[rule] = sizes[programs.root[rule]] if programs.root[rule] >= 0 else 1


@jit
def write_rule_steps(
    programs: ScorePrograms,
    n_literals: int,
    stack: WalkStack,
    rules: NDArray[np.int32],
    offsets: NDArray[np.int64],
    code: NDArray[np.int32],
) -> None:
    """Write the score programs of some rules; the match tree is written where the program is empty.

    ANDs in ANDs and ORs in ORs, which a match tree may have because of sharing, are joined.
    """
    score_offsets, score_code, roots = programs.score_offsets, programs.score_code, programs.root
    operations, child_offsets, children = programs.node_op, programs.child_offsets, programs.children
    nodes, next_child, n_operands = stack.node, stack.next_child, stack.n_operands
    place = 0
    for number in range(rules.size):
        rule = rules[number]
        for step in range(score_offsets[rule], score_offsets[rule + 1]):
            code[place] = score_code[step]
            place += 1
        height = -1
        if score_offsets[rule] == score_offsets[rule + 1]:
            if roots[rule] < 0:
                code[place] = (IS_TRUE if roots[rule] == ALWAYS else IS_FALSE) << STEP_BITS | CONSTANT
                place += 1
            else:
                height, nodes[0], next_child[0] = 0, roots[rule], _NOT_ENTERED
        while height >= 0:
            node = nodes[height]
            n_made = 1
            if node < n_literals:
                code[place] = node << STEP_BITS | LEAF
                place += 1
            else:
                inner = node - n_literals
                if next_child[height] == _NOT_ENTERED:
                    next_child[height], n_operands[height] = child_offsets[inner], 0
                if next_child[height] < child_offsets[inner + 1]:
                    nodes[height + 1] = children[next_child[height]]
                    next_child[height + 1] = _NOT_ENTERED
                    next_child[height] += 1
                    height += 1
                    continue
                if height > 0 and operations[inner] == operations[nodes[height - 1] - n_literals]:
                    n_made = n_operands[height]
                else:
                    code[place] = n_operands[height] << STEP_BITS | operations[inner]
                    place += 1
            height -= 1
            if height >= 0:
                n_operands[height] += n_made
        offsets[number + 1] = place
