"""Brings each predicate into its canonical form. Keeps where a rule is true, not the score.

x = 1,  x IN (1),  x BETWEEN 1 AND 1      become  Within {1}
x <=> 1                                   is      x = 1, where it is not negated
x IN (1, NULL)                            is      x IN (1); its negation is never true
x LIKE ANY (p, q)                         is      x LIKE p OR x LIKE q
x LIKE ALL (p, q)                         is      x LIKE p AND x LIKE q, on an attribute with one value
(x LIKE ANY (p, q)) IS NOT TRUE           is      (x LIKE p) IS NOT TRUE AND (x LIKE q) IS NOT TRUE

Before that, moments counted from now are replaced by integers, which keeps all three truth values.

    ts > now() - INTERVAL 1 DAY           =  place(ts) > p             with the place p of the moment
    ts BETWEEN now() AND now() + …        =  place(ts) BETWEEN p AND q if one function has both places, and else
                                             is_between(ts, now(), now() + …)
    ts IN (now(), DATE '2024-01-01')      =  place(ts) IN (p) OR ts IN (DATE '2024-01-01')

functions/moment_places.py says what `place` is. Moments with different functions are never compared or merged.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace as changed
from datetime import tzinfo
from decimal import Decimal

from ruledex.language.functions.moment_places import has_start, place_moment
from ruledex.language.schema import Schema
from ruledex.language.time_syntax import operand_of_constant
from ruledex.language.tree import (
    And,
    Between,
    Bound,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    NullSafe,
    Operand,
    Or,
    Predicate,
    Rlike,
    SetTest,
    Truth,
    Untrue,
    Value,
    Weak,
    Within,
)
from ruledex.language.value import Family, family_of
from ruledex.language.value_types import Moment
from ruledex.rewrite.spans import Ambiguous, Order, Spans
from ruledex.rewrite.walk import bottom_up

FALSE = Truth(False)
_PLAIN_TYPES = ({int}, {str})  # types whose values have one spelling each


def rewrite_literals(tree: Expression, schema: Schema) -> Expression:
    """Return the same rule with its predicates in canonical form. NOT must have been pushed down."""

    def change(node: Expression) -> Expression:
        if isinstance(node, And | Or | Truth | Weak | Within):
            return node
        if isinstance(node, Untrue):
            return _complement(change(node.literal))
        if isinstance(node, Not):
            if isinstance(node.child, Within):
                return node
            assert not isinstance(node.child, And | Or)  # NOT is above predicates only
            return rewrite_literal(node.child, True, schema)  # type: ignore[arg-type]
        return rewrite_literal(node, False, schema)  # type: ignore[arg-type]

    return bottom_up(tree, change)


def _complement(tree: Expression) -> Expression:
    """Return a tree that is true where the canonical form of a predicate is not."""
    match tree:
        case Truth(value):
            return Truth(value is not True)
        case And(children) | Or(children):
            return (Or if isinstance(tree, And) else And)(tuple(map(_complement, children)))
        case Not(IsNull() | CompareOperands(_, "<=>") as child):  # never unknown
            return child
        case IsNull() | CompareOperands(_, "<=>"):
            return Not(tree)
    return Untrue(tree)


def has_moment(predicate: Predicate) -> bool:
    """Return whether a predicate compares with a moment counted from now."""
    if isinstance(predicate, Compare | NullSafe):
        return type(predicate.value) is Moment
    if isinstance(predicate, Between):
        return type(predicate.low) is Moment or type(predicate.high) is Moment
    return isinstance(predicate, In) and Moment in map(type, predicate.values)


def rewrite_literal(predicate: Predicate, negated: bool, schema: Schema) -> Expression:
    """Return one predicate, or its negation, in canonical form."""
    literal: Expression
    if has_moment(predicate):
        return _without_moments(place_moments(predicate, schema), negated, schema)
    if isinstance(predicate, Compare) and predicate.op != "=":  # the most frequent first: `match` tries one by one
        literal = Within(predicate.operand, (), (_half_line(predicate.op, _plain(predicate.value)),))
        return Not(literal) if negated else literal
    match predicate:
        case Compare(operand, "=", value) | NullSafe(operand, value):
            if isinstance(predicate, NullSafe) and negated:
                literal = NullSafe(operand, _plain(value))
            else:
                literal = _within(operand, ((value,), ()), schema)
        case In(operand, values, _, has_null):
            if negated and has_null:
                return FALSE
            literal = _within(operand, (values, ()), schema)
        case Between(operand, int() as low, int() as high) if low < high:
            literal = Within(operand, (), (Bound(low, True, high, True),))
        case Between(operand, low, high):
            literal = _within(operand, ((), (Bound(low, True, high, True),)), schema)
            if literal == FALSE and negated:
                return Not(changed(predicate, weight=1.0, position=0))
        case Like(operand, patterns, every, ignore_case):
            return _like(operand, patterns, every, ignore_case, negated, schema)
        case Rlike() | CompareOperands() | SetTest() | Exists():
            literal = changed(predicate, weight=1.0, position=0)
        case IsNull():
            literal = changed(predicate, position=0)
        case Within():
            literal = predicate
    if not negated:
        return literal
    return Not(literal)


def _without_moments(tree: Expression, negated: bool, schema: Schema) -> Expression:
    if not isinstance(tree, Or):
        return rewrite_literal(tree, negated, schema)  # type: ignore[arg-type]  # a predicate
    children = tuple(rewrite_literal(child, negated, schema) for child in tree.children)  # type: ignore[arg-type]
    return (And if negated else Or)(children)


def _plain(value: Value) -> Value:
    """Return whole decimals as integers, so that 1 and 1.0 are one constant."""
    if isinstance(value, Decimal) and value == value.to_integral_value() and abs(value) < 2**63:
        return int(value)
    return value


def _within(operand: Operand, spans: Spans, schema: Schema) -> Expression:
    values, bounds = spans
    if not bounds and set(map(type, values)) in _PLAIN_TYPES:
        # A short cut for integers or strings, which most rules have: same result as the general code below.
        return Within(operand, tuple(sorted(set(values))) if len(values) > 1 else values, ())  # type: ignore[type-var]
    values = tuple(map(_plain, values))
    bounds = tuple(
        Bound(
            None if b.low is None else _plain(b.low),
            b.low_closed,
            None if b.high is None else _plain(b.high),
            b.high_closed,
        )
        for b in bounds
    )
    first = next(iter(values), None)
    if first is not None and family_of(first) is Family.ADDRESS:
        # Networks nest and have no order; a list of them is kept as it is, without repetitions.
        return Within(operand, tuple(dict.fromkeys(sorted(values, key=str))), ())
    with suppress(Ambiguous):
        values, bounds = Order(schema.zone).union([(values, bounds)])
    return Within(operand, values, bounds) if values or bounds else FALSE


def _half_line(op: str, value: Value) -> Bound:
    if op in ("<", "<="):
        return Bound(None, False, value, op == "<=")
    return Bound(value, op == ">=", None, False)


def _like(
    operand: Operand, patterns: tuple[str, ...], every: bool, ignore_case: bool, negated: bool, schema: Schema
) -> Expression:
    each = [Like(operand, (p.lower() if ignore_case else p,), False, ignore_case) for p in dict.fromkeys(patterns)]
    if every and len(each) > 1 and not schema.is_single(operand):
        whole = Like(operand, tuple(sorted({like.patterns[0] for like in each})), True, ignore_case)
        return Not(whole) if negated else whole
    children: list[Expression] = [Not(like) for like in each] if negated else list(each)
    if len(children) == 1:
        return children[0]
    return And(tuple(children)) if every != negated else Or(tuple(children))


def place_moments(predicate: Predicate, schema: Schema) -> Expression:
    """Return a predicate that has moments without them."""
    zone = schema.zone
    match predicate:
        case Compare(operand, op, Moment() as moment, weight):
            place, at = _place(operand, moment, zone)
            return Compare(place, op, at, weight)
        case NullSafe(operand, Moment() as moment, weight):
            place, at = _place(operand, moment, zone)
            return NullSafe(place, at, weight)
        case Between(operand, low, high, weight):
            return _between(operand, low, high, weight, zone)
    assert isinstance(predicate, In)
    return _membership(predicate, zone)


def _place(operand: Operand, moment: Moment, zone: tzinfo) -> tuple[Operand, int]:
    months, form, at = place_moment(moment, zone)
    return Call("moment_place", (operand, months, form)), at


def _between(operand: Operand, low: Value, high: Value, weight: float, zone: tzinfo) -> Expression:
    if isinstance(low, Moment) and isinstance(high, Moment) and low.is_date == high.is_date:
        for moment, other in ((low, high), (high, low)):
            months, form, at = place_moment(moment, zone)
            same_form = place_moment(other, zone)[:2] == (months, form)
            # Now, or now plus the months of the function, is at 0 in most forms.
            is_start = has_start(form) and other == Moment(months, 0, other.is_date)
            if same_form or is_start:
                ends = (at, place_moment(other, zone)[2] if same_form else 0)
                first, last = ends if moment is low else (ends[1], ends[0])
                return Between(Call("moment_place", (operand, months, form)), first, last, weight)
    ends_of = (operand_of_constant(low), operand_of_constant(high))
    return Compare(Call("is_between", (operand, *ends_of)), "=", True, weight)


def _membership(predicate: In, zone: tzinfo) -> Expression:
    """Return one list per function, and one of the other constants."""
    parts: dict[Operand, list[tuple[Value, float]]] = {}
    weights = predicate.weights or (1.0,) * len(predicate.values)
    for value, weight in zip(predicate.values, weights, strict=True):
        operand, at = (
            _place(predicate.operand, value, zone) if isinstance(value, Moment) else (predicate.operand, value)
        )
        parts.setdefault(operand, []).append((at, weight))
    made = [
        In(operand, tuple(v for v, _ in members), tuple(w for _, w in members), predicate.has_null)
        for operand, members in parts.items()
    ]
    return made[0] if len(made) == 1 else Or(tuple(made))
