"""Compile a score tree to a postfix program. run.py runs it, and program/program.py defines its operations."""

from __future__ import annotations

from ruledex.compiled.constants import (
    AND,
    CONSTANT,
    FALSE_BY,
    IS_FALSE,
    IS_TRUE,
    IS_UNKNOWN,
    LEAF,
    OR,
    SCORES_ONE,
    WEIGH,
    XNOR,
    XOR,
)
from ruledex.dictionary.literal_table import Form, LiteralTable
from ruledex.language.schema import Schema
from ruledex.language.tree import And, Expression, In, Is, IsNull, Not, Or, Required, SetTest, Truth, Weak, Xnor, Xor
from ruledex.rewrite.literals import rewrite_literals
from ruledex.rewrite.negation import push_not

_OPERATION = {And: AND, Or: OR, Xor: XOR, Xnor: XNOR}


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
        """Whether the literals score what the leaf does: one positive literal does, and so does an OR of such."""
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
