"""What the literals of one rule say of each other: which exclude, cover and imply which.

    x IN A implies x IN B, and x NOT IN B implies x NOT IN A       where A is part of B
    x IN A excludes x NOT IN B                                     where A is part of B
    x IN A excludes x IN B                                         where they are disjoint, and x has one value
    p excludes NOT p;  p excludes and covers p IS NOT TRUE;  p IS NOT TRUE covers (NOT p) IS NOT TRUE
    x IS NULL excludes x IN A, and x IN A implies x IS NOT NULL    and so for x NOT IN A

They hold for missing values and for several values of one attribute, unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ruledex.language.schema import Schema
from ruledex.language.tree import CompareOperands, Expression, IsNull, Not, Untrue, Within
from ruledex.language.value import Family, constant_family
from ruledex.rewrite.clauses import Relations
from ruledex.rewrite.spans import Ambiguous, Order, Spans
from ruledex.rewrite.walk import NodeKeys


def relations_of(literals: Sequence[Expression], schema: Schema, keys: NodeKeys) -> Relations:
    """Return the relations of distinct literals in canonical form, as match trees have them."""
    relations = Relations.none(len(literals))
    order = Order(schema.zone)
    number = {keys.of(literal): i for i, literal in enumerate(literals)}
    by_operand: dict[str, list[int]] = {}
    for i, literal in enumerate(literals):
        _relate_to_opposite(relations, i, literal, number, keys)
        positive = literal.child if isinstance(literal, Not) else literal
        if isinstance(positive, Within | IsNull):
            by_operand.setdefault(keys.operand(positive.operand), []).append(i)
    for members in by_operand.values():
        for left, right in combinations(members, 2):
            _relate(relations, left, right, literals, schema, order)
            _relate(relations, right, left, literals, schema, order)
            if relations.implies[left] >> right & 1:  # of two equal sets, one implies the other
                relations.implies[right] &= ~(1 << left)
    return relations


def _relate_to_opposite(
    relations: Relations, i: int, literal: Expression, number: dict[str, int], keys: NodeKeys
) -> None:
    """Note that a literal is the opposite of another, which it excludes and may cover."""
    if isinstance(literal, Not):
        child = literal.child
        covers = isinstance(child, IsNull) or (isinstance(child, CompareOperands) and child.op == "<=>")
    elif isinstance(literal, Untrue):
        child, covers = literal.literal, True
    else:
        return
    other = number.get(keys.of(child))
    if isinstance(child, Not) and isinstance(literal, Untrue):
        unknown_too = number.get(keys.of(Untrue(child.child)))
        if unknown_too is not None:
            relations.covers[i] |= 1 << unknown_too
            relations.covers[unknown_too] |= 1 << i
    if other is not None:
        for one, its in ((i, other), (other, i)):
            relations.excludes[one] |= 1 << its
            if covers:
                relations.covers[one] |= 1 << its


def _relate(
    relations: Relations, one: int, other: int, literals: Sequence[Expression], schema: Schema, order: Order
) -> None:
    """Note whether a literal excludes or implies another on the same operand, which is a different one."""
    left, right = literals[one], literals[other]
    left_set, right_set = _positive(left), _positive(right)
    if isinstance(left_set, IsNull):
        return
    if isinstance(right_set, IsNull):
        if isinstance(right, Not):
            relations.implies[one] |= 1 << other
        else:
            relations.excludes[one] |= 1 << other
            relations.excludes[other] |= 1 << one
        return
    family = constant_family(left_set)
    if family is not constant_family(right_set) or family is Family.ADDRESS:
        return
    is_not, other_is_not = isinstance(left, Not), isinstance(right, Not)
    try:
        if is_not:
            if other_is_not and _is_part(right_set, left_set, order):
                relations.implies[one] |= 1 << other
        elif _is_part(left_set, right_set, order):
            if other_is_not:
                relations.excludes[one] |= 1 << other
                relations.excludes[other] |= 1 << one
            else:
                relations.implies[one] |= 1 << other
        elif not other_is_not and schema.is_single(left_set.operand) and _are_disjoint(left_set, right_set, order):
            relations.excludes[one] |= 1 << other
    except Ambiguous:
        return


def _positive(literal: Expression) -> Within | IsNull:
    positive = literal.child if isinstance(literal, Not) else literal
    assert isinstance(positive, Within | IsNull)
    return positive


def _is_part(inner: Within, outer: Within, order: Order) -> bool:
    """Return whether each value of one set is in the other. Both are canonical."""
    return order.intersection(_spans(inner), _spans(outer)) == order.union([_spans(inner)])


def _are_disjoint(left: Within, right: Within, order: Order) -> bool:
    return order.intersection(_spans(left), _spans(right)) == ((), ())


def _spans(literal: Within) -> Spans:
    return literal.values, literal.bounds
