"""Merges literals on one operand. Keeps where a rule is true.

    x IN A OR x IN B            =  x IN A∪B                       on every operand
    x NOT IN A AND x NOT IN B   =  x NOT IN A∪B
    x IN A AND x IN B           =  x IN A∩B                       where the operand has one value
    x NOT IN A OR x NOT IN B    =  x NOT IN A∩B
    x IN A AND x NOT IN B       =  x IN A∖B
    x IS NULL OR x NOT IN A     =  weak(x, A)                     whang2009's weak not-in
    weak(x, A) AND weak(x, B)   =  weak(x, A∪B)

Ranges are sets too. With several values, one may lie in A and another in B, so intersections do not merge. Only
sets of one family merge: `x NOT IN (1) AND x NOT IN ('a')` is never true, and `x NOT IN (1, 'a')` would be.
"""

from __future__ import annotations

from ruledex.language.schema import Schema
from ruledex.language.tree import And, Expression, IsNull, Not, Or, Truth, Weak, Within
from ruledex.language.value import Family, constant_family
from ruledex.rewrite.spans import Ambiguous, Order, Spans
from ruledex.rewrite.walk import NodeKeys, join_children, with_children

FALSE = Truth(False)


class Merger:
    """Merges literals by the schema of one index."""

    def __init__(self, schema: Schema, keys: NodeKeys) -> None:
        self.schema = schema
        self.keys = keys
        self.order = Order(schema.zone)

    def merge(self, node: And | Or) -> Expression:
        """Return the node with literals on one operand joined where that is exact."""
        groups: dict[tuple[str, Family | None], list[int]] = {}
        for i, child in enumerate(node.children):
            literal = _set_literal(child)
            if literal is not None:
                place = self.keys.operand(literal.operand), constant_family(literal)
                groups.setdefault(place, []).append(i)
        children: list[Expression | None] = list(node.children)
        for (_, family), members in groups.items():
            if len(members) > 1 and family is not Family.ADDRESS:
                together = [node.children[i] for i in members]
                try:
                    made = self._conjunction(together) if isinstance(node, And) else self._disjunction(together)
                except Ambiguous:
                    continue
                if set(map(id, made)) != set(map(id, together)):
                    for i in members:
                        children[i] = None
                    children[members[0]] = made[0]
                    children += made[1:]
        if isinstance(node, Or):
            self._weaken(children)
        kept = [child for child in children if child is not None]
        return join_children(type(node), kept) if len(kept) == 1 else with_children(node, kept)

    def _conjunction(self, literals: list[Expression]) -> list[Expression]:
        within = [child for child in literals if isinstance(child, Within)]
        negated = [child.child for child in literals if isinstance(child, Not) and isinstance(child.child, Within)]
        weak = [child.predicate for child in literals if isinstance(child, Weak)]
        excluded = self._unite(negated)
        made: list[Expression] = []
        if within and self.schema.is_single(within[0].operand):
            common = _spans(within[0])
            for other in within[1:]:
                common = self.order.intersection(common, _spans(other))
            if not common[1] and excluded is not None:
                # Values can be removed one by one; ranges would have to be cut.
                common = tuple(v for v in common[0] if not self.order.contains(_spans(excluded), v)), ()
                excluded = None
            if common == ((), ()):
                return [FALSE]
            same = len(within) == 1 and common == _spans(within[0])
            made.append(within[0] if same else Within(within[0].operand, *common))
        else:
            made += within
        made += [] if excluded is None else [_same_or(Not(excluded), literals)]
        united = self._unite([p for p in weak if isinstance(p, Within)])
        made += [] if united is None else [_same_or(Weak(united), literals)]
        return made

    def _disjunction(self, literals: list[Expression]) -> list[Expression]:
        within = [child for child in literals if isinstance(child, Within)]
        negated = [child.child for child in literals if isinstance(child, Not) and isinstance(child.child, Within)]
        made: list[Expression] = [child for child in literals if isinstance(child, Weak)]
        united = self._unite(within)
        made += [] if united is None else [united]
        if len(negated) > 1 and self.schema.is_single(negated[0].operand):
            common = _spans(negated[0])
            for other in negated[1:]:
                common = self.order.intersection(common, _spans(other))
            if common != ((), ()):  # "present, and not in the empty set" has no form of its own
                return [*made, Not(Within(negated[0].operand, *common))]
        return made + [child for child in literals if isinstance(child, Not)]

    def _unite(self, literals: list[Within]) -> Within | None:
        if len(literals) < 2:
            return literals[0] if literals else None
        values, bounds = self.order.union(map(_spans, literals))
        if any(bound.low is None and bound.high is None for bound in bounds):
            raise Ambiguous  # every value of the family, but no constant is left to name the family
        return Within(literals[0].operand, values, bounds)

    def _weaken(self, children: list[Expression | None]) -> None:
        """Join `x IS NULL` with the negated literals on x beside it."""
        missing = {self.keys.operand(c.operand): i for i, c in enumerate(children) if isinstance(c, IsNull)}
        for i, child in enumerate(children):
            if isinstance(child, Not) and isinstance(child.child, Within):
                at = missing.get(self.keys.operand(child.child.operand))
                if at is not None:
                    children[i] = Weak(child.child)
                    children[at] = None


def _same_or(made: Not | Weak, literals: list[Expression]) -> Expression:
    """Return the equal literal among those given, if there is one, so that an unchanged node stays the same object."""
    for literal in literals:
        if type(literal) is type(made) and _set_literal(literal) is _set_literal(made):
            return literal
    return made


def _set_literal(child: Expression) -> Within | None:
    inner = child.child if isinstance(child, Not) else child.predicate if isinstance(child, Weak) else child
    return inner if isinstance(inner, Within) else None


def _spans(literal: Within) -> Spans:
    return literal.values, literal.bounds
