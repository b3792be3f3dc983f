"""The reference evaluator: defines what a rule means, in plain Python.

Truth is three-valued: True, False, or None for unknown. Everything else in ruledex is tested against this
module, and this module against Spark SQL. What a Python object in an event stands for is said in plain.py, and which of
its values an operand has in resolve.py; the encoder of events uses both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any, TypeAlias

from ruledex.errors import EventError, RuledexError, quoted
from ruledex.language.arrays import element_events
from ruledex.language.clock import Now, asked_at, moment_at
from ruledex.language.lambdas import element_name
from ruledex.language.many import FEW_PAIRS, each_is_met, equal_to, some_pair
from ruledex.language.pattern import has_match, is_like
from ruledex.language.resolve import EMPTY, Event, Values, common_family, fit_values, mapping_of, values_of
from ruledex.language.schema import Schema, check_schema
from ruledex.language.text import check_tree, operand_text
from ruledex.language.tree import (
    And,
    Between,
    Bound,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Named,
    Not,
    NullSafe,
    Operand,
    Or,
    Predicate,
    Required,
    Rlike,
    SetTest,
    Truth,
    Untrue,
    Value,
    Weak,
    Weighed,
    Within,
    Xnor,
    Xor,
    operands,
    predicates,
    replace,
)
from ruledex.language.value import HOLDS, compare, constant_family, family_of, fit
from ruledex.language.value_types import Moment

# The weights of an event: per attribute one number, or one number per value. The default weight is 1.
Weights: TypeAlias = Mapping[str, float | Mapping[Any, float]]

_UNDECLARED = Schema()


def truth_of(tree: Expression, event: Event, schema: Schema = _UNDECLARED) -> bool | None:
    """Return whether a rule is true, false or unknown (None) of an event. Raises EventError for an unreadable event."""
    try:
        return _evaluate(tree, event if type(event) is dict else mapping_of(event), schema)
    except RuledexError:
        raise
    except Exception as error:  # an event may contain any object, which may raise anything
        raise EventError.of(error) from error


def _evaluate(tree: Expression, event: Event, schema: Schema) -> bool | None:
    match tree:
        case Truth(value):
            return value
        case Not(child):
            return _not(_evaluate(child, event, schema))
        case Is(child, truth):
            return _evaluate(child, event, schema) is truth
        case Required(child) | Weighed(child):
            return _evaluate(child, event, schema)
        case Named():
            return _evaluate(tree.condition, event, schema)
        case And(children) | Or(children) | Xor(children) | Xnor(children):
            truths = []
            for child in children:  # a loop, not a comprehension: the stack is short for the deepest rules
                truths.append(_evaluate(child, event, schema))  # noqa: PERF401
            return _JOINED[type(tree)](truths)
        case Weak(predicate):
            missing = not values_of(predicate.operand, event, schema)  # type: ignore[union-attr]  # never of two operands
            return _any((missing, _not(_evaluate(predicate, event, schema))))
        case Untrue(literal):
            return _evaluate(literal, event, schema) is not True
        case _:
            return _holds(tree, event, schema)


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _all(truths: Iterable[bool | None]) -> bool | None:
    seen = set(truths)
    return False if False in seen else None if None in seen else True


def _any(truths: Iterable[bool | None]) -> bool | None:
    seen = set(truths)
    return True if True in seen else None if None in seen else False


def _fold_xor(truths: list[bool | None], negated: bool) -> bool | None:
    folded = truths[0]
    for truth in truths[1:]:
        if folded is None or truth is None:
            return None
        folded = (folded != truth) != negated
    return folded


_JOINED: dict[type, Callable[[list[bool | None]], bool | None]] = {
    And: _all,
    Or: _any,
    Xor: lambda truths: _fold_xor(truths, negated=False),
    Xnor: lambda truths: _fold_xor(truths, negated=True),
}


# Predicates.


def _holds(predicate: Predicate, event: Event, schema: Schema) -> bool | None:
    predicate = as_of_now(predicate, schema.zone)
    match predicate:
        case IsNull(operand):
            return not values_of(operand, event, schema)
        case CompareOperands():
            return _holds_between_operands(predicate, event, schema)
        case SetTest(operand):
            return _holds_for_set(predicate, values_of(operand, event, schema), schema)
        case Exists():
            return _holds_for_some(predicate, event, schema)
        case NullSafe(operand):
            return bool(_satisfying(predicate, event, schema))
    if not fit_values(values_of(predicate.operand, event, schema), constant_family(predicate), schema.zone):
        return None
    if _satisfying(predicate, event, schema):
        return True
    return None if isinstance(predicate, In) and predicate.has_null else False


def as_of_now(predicate: Predicate, zone: tzinfo) -> Predicate:
    """Return a predicate with the times that moments counted from now have in this call."""

    def at(value: Value) -> Value:
        return moment_at(value, zone) if isinstance(value, Moment) else value

    match predicate:
        case Compare(_, _, Moment() as value) | NullSafe(_, Moment() as value):
            return replace(predicate, value=at(value))
        case Between(_, low, high) if isinstance(low, Moment) or isinstance(high, Moment):
            return replace(predicate, low=at(low), high=at(high))
        case In(_, values) if any(isinstance(value, Moment) for value in values):
            return replace(predicate, values=tuple(map(at, values)))
    return predicate


def _satisfying(predicate: Predicate, event: Event, schema: Schema) -> list[Any]:
    """Return the values of the operand that satisfy, each by itself, a predicate against constants."""
    values = values_of(predicate.operand, event, schema)  # type: ignore[union-attr]  # of one operand
    fitted = fit_values(values, constant_family(predicate), schema.zone)
    if isinstance(predicate, In) and len(fitted) * len(predicate.values) > FEW_PAIRS:
        return list(filter(equal_to(predicate.values, schema.zone), fitted))
    return [value for value in fitted if satisfies(value, predicate, schema)]


def satisfies(value: Any, predicate: Predicate, schema: Schema) -> bool:
    """Return whether one value satisfies a predicate. The value must have the family of the predicate's constants."""

    def test(op: str, constant: Value) -> bool:
        return HOLDS[op](compare(value, constant, schema.zone))

    def lies_in(bound: Bound) -> bool:
        above = bound.low is None or test(">=" if bound.low_closed else ">", bound.low)
        return above and (bound.high is None or test("<=" if bound.high_closed else "<", bound.high))

    match predicate:
        case Compare(_, op, constant):
            return test(op, constant)
        case NullSafe(_, constant):
            return test("=", constant)
        case In(_, constants):
            return any(test("=", constant) for constant in constants)
        case Between(_, low, high):
            return test(">=", low) and test("<=", high)
        case Within(_, constants, bounds):
            return any(test("=", constant) for constant in constants) or any(map(lies_in, bounds))
        case Like(_, patterns, every, ignore_case):
            fits = (is_like(value, pattern, ignore_case) for pattern in patterns)
            return all(fits) if every else any(fits)
        case Rlike(_, pattern):
            return has_match(value, pattern)
    raise AssertionError(predicate)


def _holds_between_operands(predicate: CompareOperands, event: Event, schema: Schema) -> bool | None:
    left = values_of(predicate.left, event, schema)
    right = values_of(predicate.right, event, schema)
    if predicate.op == "<=>" and not (left and right):
        return not left and not right
    op = "=" if predicate.op == "<=>" else predicate.op
    few = len(left or ()) * len(right or ()) <= FEW_PAIRS
    truth = (every_pair if few else some_pair)(op, left or (), right or (), schema.zone)
    return False if truth is None and predicate.op == "<=>" else truth


def every_pair(op: str, left: Sequence[Any], right: Sequence[Any], zone: tzinfo) -> bool | None:
    """Return whether `op` holds between some value of `left` and some value of `right`, or None if no two compare.

    This is the definition. `some_pair` returns the same in less time for long arrays.
    """
    truths = []
    for a in left:
        for b in right:
            family = common_family(a, b)
            one, other = (fit(v, family, zone) if family else None for v in (a, b))
            if one is not None and other is not None:
                truths.append(HOLDS[op](compare(one, other, zone)))
    return any(truths) if truths else None


def _holds_for_some(predicate: Exists, event: Event, schema: Schema) -> bool | None:
    events = element_events(predicate, event)
    if events is None:
        return None
    inner = schema.of_elements(predicate.operand, element_name(predicate.level))
    found: bool | None = False
    for of_element in events:
        truth = _evaluate(predicate.body, of_element, inner)
        if truth:
            return True
        found = None if truth is None else found
    return found


def _holds_for_set(predicate: SetTest, values: Values, schema: Schema) -> bool | None:
    present = fit_values(values, constant_family(predicate), schema.zone)
    if values is None or (values != EMPTY and not present):
        return None

    constants, zone = predicate.values, schema.zone
    if len(present) * len(constants) <= FEW_PAIRS:
        is_subset = all(any(compare(v, constant, zone) == 0 for constant in constants) for v in present)
        is_superset = all(any(compare(v, constant, zone) == 0 for v in present) for constant in constants)
    else:
        is_subset = all(map(equal_to(constants, zone), present))
        is_superset = each_is_met(constants, present, zone)
    return {"subset_of": is_subset, "superset_of": is_superset, "set_equals": is_subset and is_superset}[predicate.test]


# Scores.


def score_of(
    tree: Expression, event: Event, weights: Weights | None = None, schema: Schema = _UNDECLARED
) -> float | None:
    """Return the score of a rule on an event, or None if the rule is not true of it."""
    if truth_of(tree, event, schema) is not True:
        return None
    try:
        return _score(tree, False, event if type(event) is dict else mapping_of(event), weights or {}, schema)
    except RuledexError:
        raise
    except Exception as error:
        raise EventError.of(error) from error


def _score(tree: Expression, negated: bool, event: Event, weights: Weights, schema: Schema) -> float:
    """Return the score of a true tree, or of the true negation of a tree."""

    def side(child: Expression, child_negated: bool) -> float | None:
        truth = _evaluate(Not(child) if child_negated else child, event, schema)
        return _score(child, child_negated, event, weights, schema) if truth else None

    match tree:
        case Not(child):
            return _score(child, not negated, event, weights, schema)
        case Required(child):
            return _score(child, negated, event, weights, schema)
        case Named():
            return _score(tree.condition, negated, event, weights, schema)
        case Weighed(child) if negated:
            return _score(child, True, event, weights, schema)
        case Weighed():
            return _weighed_score(tree, event, weights, schema)
        case And(children) | Or(children):
            scores = [s for s in (side(child, negated) for child in children) if s is not None]
            # The negation of an OR is an AND of negations, and vice versa.
            return sum(scores) if isinstance(tree, And) != negated else max(scores)
        case Xor(children) | Xnor(children):
            return _score_xor(tree, side)
        case Truth() | Is() | IsNull() | Weak() | Untrue():  # the last two are of match trees, which are never scored
            return 0.0
        case _:
            return 0.0 if negated else _literal_score(tree, event, weights, schema)


def _score_xor(tree: Xor | Xnor, side: Callable[[Expression, bool], float | None]) -> float:
    """Return the score of the true side of an XOR, or of both sides of an XNOR: 0 if both are false.

    Both fold from the left: the result so far is one side, and the next child is the other.
    """
    scores = [side(child, False) for child in tree.children]
    truth, total = scores[0] is not None, scores[0] or 0.0
    for score_of_child in scores[1:]:
        total = (total if truth else 0.0) + (score_of_child or 0.0)
        truth = (truth != (score_of_child is not None)) == isinstance(tree, Xor)
    return total


def weight_of(value: Any, weights: Mapping[Any, float]) -> float:
    """Return the weight that an event gives to a value; 1 for a struct and anything else that no rule can name."""
    return weights.get(value, 1.0) if family_of(value) is not None else 1.0


def _event_weight(operand: Operand, value: Any, weights: Weights) -> float:
    given = weights.get(operand_text(operand), 1.0)
    return float(given if isinstance(given, int | float) else weight_of(value, given))


def _weighed_score(tree: Weighed, event: Event, weights: Weights, schema: Schema) -> float:
    """Return the weight; of IS NOT NULL times the largest that the event gives to one of the values."""
    if not tree.is_presence:
        return tree.weight
    (predicate,) = predicates(tree.child)
    (operand,) = operands(predicate)
    values = values_of(operand, event, schema) or ()
    return float(max(tree.weight * _event_weight(operand, value, weights) for value in values))


def _literal_score(predicate: Predicate, event: Event, weights: Weights, schema: Schema) -> float:
    """Return the largest product of the predicate's weight and the event's, over the values that satisfy it."""
    predicate = as_of_now(predicate, schema.zone)

    def of_event(operand: Operand, value: Any) -> float:
        return _event_weight(operand, value, weights)

    match predicate:
        case CompareOperands() | SetTest() | Exists():  # of no single value to which an event could give a weight
            return predicate.weight
        case In(operand, constants, value_weights):
            return max(
                weight * of_event(operand, value)
                for value in _satisfying(predicate, event, schema)
                for constant, weight in zip(constants, value_weights or [1.0] * len(constants), strict=True)
                if compare(value, constant, schema.zone) == 0
            )
    assert isinstance(predicate, Compare | Between | Like | Rlike | NullSafe)
    satisfying = _satisfying(predicate, event, schema)
    return float(max(predicate.weight * of_event(predicate.operand, value) for value in satisfying))


def evaluate(tree: Expression, event: Event, schema: Schema | None = None, *, now: Now = None) -> bool | None:
    """Return whether a rule is true, false or unknown (None) of an event. Without `now`, now() is the clock's time.

    >>> from ruledex import evaluate, parse
    >>> evaluate(parse("age >= 18 AND NOT vip"), {"age": 20, "vip": False})
    True
    >>> evaluate(parse("age >= 18"), {})  # unknown
    """
    declared = _schema(schema)
    with asked_at(now, declared.zone):
        return truth_of(declared.bind(check_tree(tree)), event, declared)


def score(
    tree: Expression, event: Event, weights: Weights | None = None, schema: Schema | None = None, *, now: Now = None
) -> float | None:
    """Return the score of a rule on an event, or None if the rule is not true of it. `now` is as in `evaluate`.

    >>> from ruledex import parse, score
    >>> score(parse("age >= 18^2.5 AND country = 'IN'"), {"age": 20, "country": "IN"})
    3.5
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise EventError(f"weights are a mapping of attributes to numbers, not {quoted(weights)}")
    declared = _schema(schema)
    with asked_at(now, declared.zone):
        return score_of(declared.bind(check_tree(tree)), event, weights, declared)


def _schema(schema: Schema | None) -> Schema:
    if schema is None:
        return Schema()
    return check_schema(schema)
