"""Proves that one rule is true wherever another is, from their match trees.

    A OR B  implies  C          if A implies C and B implies C
    A  implies  B AND C         if A implies B and A implies C
    A AND B  implies  C         if A implies C, or B implies C
    A  implies  B OR C          if A implies B, or A implies C
    p  implies  q               if p OR q is the same as q, or p AND q the same as p, as merge.py finds
    p  implies  weak(x, q)      if p implies x IS NULL, or p implies NOT q; and the other way round as for OR
    p  implies  x IS NOT NULL   if p is a predicate on x, or its negation

What is proved is true of every event. Not all that is true is proved.
"""

from __future__ import annotations

from typing import Final

from ruledex.language.schema import Schema
from ruledex.language.tree import And, Expression, In, IsNull, Like, Not, Or, Rlike, Truth, Weak, Within
from ruledex.rewrite.merge import Merger
from ruledex.rewrite.pipeline import match_tree, simplify_node
from ruledex.rewrite.walk import NodeKeys

_MOST_STEPS: Final = 5_000


class Prover:
    """Proves implications between rules of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._keys = NodeKeys()
        self._merger = Merger(schema, self._keys)
        self._known: dict[tuple[str, str], bool] = {}
        self._n_steps = 0

    def match(self, tree: Expression) -> Expression:
        """Return the match tree of a bound rule, which the other methods take."""
        return match_tree(tree, self._schema)

    def is_equal(self, left: Expression, right: Expression) -> bool:
        """Return whether two match trees are proved to be true of the same events."""
        return self._keys.of(left) == self._keys.of(right) or (self.implies(left, right) and self.implies(right, left))

    def implies(self, left: Expression, right: Expression) -> bool:
        """Return whether one match tree is proved to be true of all events that another is true of."""
        self._known.clear()
        self._n_steps = 0
        return self._implies(left, right)

    def _implies(self, left: Expression, right: Expression) -> bool:
        key = self._keys.of(left), self._keys.of(right)
        if key[0] == key[1] or left == Truth(False) or right == Truth(True):
            return True
        if key not in self._known:
            self._n_steps += 1
            if self._n_steps > _MOST_STEPS:
                return False
            self._known[key] = self._follows(left, right)
        return self._known[key]

    def _follows(self, left: Expression, right: Expression) -> bool:
        if isinstance(left, Or):
            return all(self._implies(child, right) for child in left.children)
        if isinstance(right, And):
            return all(self._implies(left, child) for child in right.children)
        if isinstance(left, And) and any(self._implies(child, right) for child in left.children):
            return True
        if isinstance(right, Or) and any(self._implies(left, child) for child in right.children):
            return True
        if isinstance(left, Weak):
            return all(self._implies(side, right) for side in _sides(left))
        if isinstance(right, Weak) and any(self._implies(left, side) for side in _sides(right)):
            return True
        if isinstance(left, And | Truth) or isinstance(right, Truth):
            return False
        return _is_present(left, right, self._keys) or self._merges(left, right)

    def _merges(self, left: Expression, right: Expression) -> bool:
        if self._keys.of(simplify_node(Or((left, right)), self._merger, self._keys)) == self._keys.of(right):
            return True
        return self._keys.of(simplify_node(And((left, right)), self._merger, self._keys)) == self._keys.of(left)


def _sides(weak: Weak) -> tuple[Expression, Expression]:
    """Return the two conditions of which a weak literal is the OR."""
    return IsNull(weak.predicate.operand), Not(weak.predicate)  # type: ignore[union-attr]  # never of two operands


def _is_present(left: Expression, right: Expression, keys: NodeKeys) -> bool:
    """Return whether the right side says that an operand is present, which the left side tests."""
    if not (isinstance(right, Not) and isinstance(right.child, IsNull)):
        return False
    tested = left.child if isinstance(left, Not) else left
    if not isinstance(tested, Within | In | Like | Rlike):
        return False
    return keys.operand(tested.operand) == keys.operand(right.child.operand)
