"""Makes predicates of operands and constants, and checks their types: the meaning of the grammar's pieces.

Constants take the type that their operand asks for (`version(app) < '4.10.2'` compares versions), constants on both
sides are folded, and comparisons with NULL become unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, TypeAlias

from ruledex.errors import PatternError, RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean, quoted
from ruledex.language import time_syntax
from ruledex.language.any_text import ANY_TEXT as ANY_TEXT
from ruledex.language.any_text import SIGN, is_any_text
from ruledex.language.functions import wholes
from ruledex.language.functions.collation import COLLATE, COLLATE_LIKE, LOWER_CASE, compared_key, pattern_key
from ruledex.language.functions.registry import lookup, names, result_family
from ruledex.language.functions.searching import PATTERN_TESTS, pattern_of
from ruledex.language.functions.wholes import Whole as Whole
from ruledex.language.pattern import check_like, like_pattern
from ruledex.language.regex import MissingRe2Error, PatternTooLargeError, check_regex
from ruledex.language.tree import (
    PREDICATES,
    And,
    Attribute,
    Between,
    Call,
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
    Required,
    Rlike,
    SetTest,
    Truth,
    Value,
    Weighed,
)
from ruledex.language.value import HOLDS, Family, compare, family_of, read_time
from ruledex.language.value_types import Interval, MavenVersion, Moment, Network, Version

NULL: Final = None
MAX_WEIGHT: Final = 1e300  # weights are added and multiplied; the sums must stay finite
SET_TESTS: Final = ("subset_of", "superset_of", "set_equals")
REQUIRED: Final = "required"  # not a keyword: an attribute may have this name
_INTERVAL_HINT: Final = "add it to a time and compare that: ts > now() - INTERVAL 1 DAY"
_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}


class Constant:
    """A constant of the text, with the weight that follows it. The value None is NULL."""

    __slots__ = ("position", "value", "weight", "weighted")

    def __init__(self, value: Value | None, weight: float, weighted: bool, position: int) -> None:
        self.value = value
        self.weight = weight
        self.weighted = weighted
        self.position = position


Item: TypeAlias = Operand | Constant | Expression | Whole


def condition(item: Item, text: str, position: int) -> Expression:
    """Return an item as a condition. A bare attribute is a boolean one; TRUE, FALSE and NULL stay as they are."""
    if isinstance(item, Constant):
        if item.value is None or isinstance(item.value, bool):
            if item.weighted:
                raise RuleSyntaxError("TRUE, FALSE and NULL score 0 and take no weight", text, item.position)
            return Truth(item.value)
        raise RuleTypeError("a constant is not a condition", text, item.position, "compare it with an attribute")
    if isinstance(item, Attribute | Call):
        if result_family(item) not in (Family.ANY, Family.BOOLEAN):
            raise RuleTypeError(f"{_shown(item)} gives a {result_family(item)}, not a condition", text, position)
        return Compare(item, "=", True, 1.0, position)
    if isinstance(item, Whole):
        raise RuleTypeError("an array or object is not a condition", text, position, "compare it with an attribute")
    return item


def with_weight(item: Expression, weight: float, text: str, position: int) -> Expression:
    """Return a predicate with a weight, which multiplies the weights that its values already have."""
    if isinstance(item, In):
        weights = tuple([w * weight for w in item.weights or (1.0,) * len(item.values)])
        check_weight(max(weights), text, position)
        plain = all(w == 1.0 for w in weights)
        return In(item.operand, item.values, () if plain else weights, item.has_null, item.position)
    if isinstance(item, Compare | Between | Like | Rlike | NullSafe | CompareOperands | SetTest | Exists):
        item.weight *= weight  # the node belongs to this parse, and nobody else has it yet
        check_weight(item.weight, text, position)
        return item
    if isinstance(item, Weighed):
        return Weighed(item.child, check_weight(item.weight * weight, text, position))
    tested = item.child if isinstance(item, Not) else item
    if isinstance(tested, (*PREDICATES, Is)):
        return Weighed(item, weight)
    what = "a named condition" if isinstance(tested, Named) else "this"
    hint = "write weights after values, and after single predicates in parentheses"
    raise RuleSyntaxError(f"{what} takes no weight", text, position, hint)


def check_weight(weight: float, text: str, position: int) -> float:
    """Return the weight. Raises if it is so large that sums of weights might not be finite."""
    if weight > MAX_WEIGHT:
        raise RuleSyntaxError(f"a weight is finite, at most {MAX_WEIGHT:g}", text, position)
    return weight


def time_literal(kind: str, content: str, text: str, position: int) -> Value:
    """Return the constant of DATE '…' or TIMESTAMP '…'. A time without a zone keeps none; the index sets it."""
    moment = read_time(content.strip(), None)
    if moment is None or (kind == "DATE" and isinstance(moment, datetime)):
        form = "2024-12-31" if kind == "DATE" else "2024-12-31 23:59:59"
        raise RuleSyntaxError(f"{quoted(content)} is not a {kind.lower()}", text, position, f"write {kind} '{form}'")
    if kind == "TIMESTAMP" and not isinstance(moment, datetime):
        return datetime(moment.year, moment.month, moment.day)
    return moment


# Types.


def coerce(value: Value, family: Family) -> Value | None:
    """Return a constant as a member of a family, or None if it has another type. Raises ValueError with a reason."""
    if family is Family.ANY or family_of(value) is family:
        return value
    if isinstance(value, str):
        if family is Family.VERSION:
            return Version(value)
        if family is Family.MAVEN:
            return MavenVersion(value)
        if family is Family.ADDRESS:
            return Network(value)
        if family is Family.TIME:
            moment = read_time(value, None)
            if moment is None:
                raise ValueError(f"{quoted(value)} is not a date or time such as 2024-12-31 or 2024-12-31 23:59:59")
            return moment
    return None


def _convert(constant: Constant, family: Family, operand: Operand, text: str) -> Value:
    if constant.value is None:
        raise AssertionError("NULL is handled before types are")
    if isinstance(constant.value, Interval):
        raise RuleTypeError("intervals are not compared", text, constant.position, _INTERVAL_HINT)
    try:
        value = coerce(constant.value, family)
    except ValueError as error:
        raise RuleTypeError(str(error), text, constant.position) from None
    if value is None:
        raise RuleTypeError(
            f"{_shown(operand)} gives a {family}, and this is a {family_of(constant.value)}", text, constant.position
        )
    if family is Family.ANY and isinstance(value, Version | Network):
        is_maven = isinstance(value, MavenVersion)
        function = "maven_version" if is_maven else "version" if isinstance(value, Version) else "cidr"
        hint = f"write {function}({_shown(operand)}) and a plain string"
        raise RuleTypeError(f"{_shown(operand)} is not a {family_of(value)}", text, constant.position, hint)
    return compared_key(value) if _is_collated(operand) and isinstance(value, str) else value


def _is_collated(item: Item) -> bool:
    return isinstance(item, Call) and item.function in (COLLATE, COLLATE_LIKE)


def _operand(item: Item, what: str, text: str, position: int) -> Operand:
    if isinstance(item, Attribute | Call):
        return item
    if isinstance(item, Constant):
        raise RuleSyntaxError(f"{what} needs an attribute to its left", text, position)
    raise RuleTypeError(f"{what} needs an attribute to its left, not a condition", text, position)


def _shown(operand: Operand) -> str:
    if isinstance(operand, Attribute):
        return ".".join(operand.path)
    return SIGN if is_any_text(operand) else f"{operand.function}()"


# Operands.


def call(name: str, items: Sequence[Item], text: str, position: int) -> Item:
    """Return a function of items: a derived attribute, a constant if all are constants, a condition, or REQUIRED(…)."""
    if name.lower() in SET_TESTS:
        return _set_test(name.lower(), items, text, position)
    if name.lower() in wholes.CONSTRUCTORS:
        return wholes.make_whole(name, items, text, position)
    if name.lower() == REQUIRED:
        if len(items) != 1:
            raise RuleSyntaxError(f"{name}() takes one condition, not {len(items)}", text, position)
        return Required(condition(items[0], text, position))
    if time_syntax.is_of_time(name, items):
        made = time_syntax.time_call(name, items, text, position)
        if isinstance(made, Constant):
            return made
        name, items = made
    function = lookup(name)
    if function is None:
        is_cast = name.lower() in ("cast", "try_cast")
        hint = "write CAST(x AS INT)" if is_cast else did_you_mean(name, (*names(), *SET_TESTS, REQUIRED))
        raise RuleSyntaxError(f"there is no function {name}", text, position, hint)
    if not function.accepts(len(items)):
        wanted = " or ".join(str(n) for n in range(1, 9) if function.accepts(n)) if not function.variadic else "more"
        raise RuleSyntaxError(f"{name}() takes {wanted} argument(s), not {len(items)}", text, position)
    if function.of_path and not isinstance(items[0], Attribute):
        raise RuleTypeError(f"{name}() takes an attribute", text, position)
    arguments: list[Operand | Value] = []
    constants: list[Value | None] = []
    for index, item in enumerate(items):
        parameter = function.parameter_at(index)
        if isinstance(item, Constant):
            if item.weighted:
                raise RuleSyntaxError("an argument takes no weight", text, item.position)
            if item.value is None:
                if function.whole:
                    raise RuleTypeError(f"{name}() takes no NULL", text, item.position)
                if function.nullable:
                    continue
                return Constant(None, 1.0, False, position)
            wanted = parameter.family
            if wanted is Family.ANY and function.result is Family.ANY and isinstance(items[0], Attribute | Call):
                wanted = result_family(items[0])  # a replacement has the family of the value
            value = _argument(item, wanted, name, parameter.name, text)
            arguments.append(value)
            constants.append(value)
        elif isinstance(item, Attribute | Call):
            if parameter.literal:
                raise RuleTypeError(f"the {parameter.name} of {name}() must be a constant", text, position)
            if _is_collated(item) and not (function.name in PATTERN_TESTS and isinstance(items[-1], Constant)):
                hint = "put COLLATE after the function, where its result is compared"
                raise RuleTypeError(f"{name}() takes no COLLATE", text, position, hint)
            found = result_family(item)
            if Family.ANY not in (found, parameter.family) and found is not parameter.family:
                message = f"{name}() takes a {parameter.family}, and {_shown(item)} gives a {found}"
                raise RuleTypeError(message, text, position)
            arguments.append(item)
            constants.append(None)
        else:
            raise RuleTypeError(f"{name}() takes values, not conditions", text, position)
    defaults = [p.default for p in function.parameters[len(items) :]]
    if function.check is not None and (fault := function.check((*constants, *defaults))) is not None:
        raise RuleTypeError(fault, text, position)
    if None in constants or function.name == "add_interval":
        if function.name in PATTERN_TESTS and constants[-1] is not None:
            return _constant_test(function.name, items, text, position)
        return Call(function.name, tuple(arguments))
    if function.whole or function.zoned or function.raw or any(map(_has_zone, constants)):
        raise RuleTypeError(f"{name}() needs an attribute", text, position)
    result = function.call(*constants, *defaults)
    assert not isinstance(result, tuple)  # only functions of a whole attribute return several values
    if isinstance(result, float) and math.isinf(result):
        raise RuleTypeError("this is too large for a double", text, position)
    return Constant(result, 1.0, False, position)


def _has_zone(value: Value | None) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _argument(item: Constant, family: Family, function: str, parameter: str, text: str) -> Value:
    assert item.value is not None
    try:
        value = coerce(item.value, family)
    except ValueError as error:
        raise RuleTypeError(str(error), text, item.position) from None
    if value is None:
        message = f"the {parameter} of {function}() is a {family}, and this is a {family_of(item.value)}"
        raise RuleTypeError(message, text, item.position)
    return value


def _set_test(name: str, items: Sequence[Item], text: str, position: int) -> Expression:
    operand = items[0]
    if not isinstance(operand, Attribute | Call) or len(items) < 2:
        raise RuleSyntaxError(f"{name}() takes an attribute and constants", text, position)
    constants = []
    for item in items[1:]:
        if not isinstance(item, Constant) or item.value is None or item.weighted or isinstance(item.value, Moment):
            raise RuleSyntaxError(f"{name}() takes constants after the attribute", text, position)
        constants.append(item)
    values = _one_family(constants, result_family(operand), operand, text)
    return SetTest(operand, name, values, 1.0, position)


def _one_family(constants: Sequence[Constant], family: Family, operand: Operand, text: str) -> tuple[Value, ...]:
    values = tuple([_convert(constant, family, operand, text) for constant in constants])
    first = family_of(values[0])
    for value, constant in zip(values, constants, strict=True):
        if family_of(value) is not first:
            raise RuleTypeError(
                f"a list has values of one type: {first}, and this is a {family_of(value)}", text, constant.position
            )
    return values


# Predicates.


def comparison(left: Item, op: str, right: Item, text: str, position: int) -> Expression:
    """Return a comparison of any two items. `!=` is the negation of `=`."""
    if op in ("!=", "<>"):
        return Not(comparison(left, "=", right, text, position))
    if op[-1] == "E":  # LIKE and its kin
        return _like_operand(left, op, right, text, position)
    op = "=" if op == "==" else op
    for item in (left, right):
        if isinstance(item, Whole):
            return wholes.compare_whole(left, op, right, text, position)
        if not isinstance(item, Attribute | Call | Constant):
            at = item.position if isinstance(item, Named) else position
            raise RuleTypeError("a condition cannot be compared", text, at, "join conditions with AND, OR or XOR")
    if isinstance(left, Constant) and isinstance(right, Constant):
        if not _has_moment(left, right):
            return _fold(left, op, right, text)
        if isinstance(left.value, Moment):
            left = time_syntax.operand_of(left.value)
        else:
            assert isinstance(right.value, Moment)
            right = time_syntax.operand_of(right.value)
    if isinstance(left, Constant):
        left, right, op = right, left, _MIRRORED[op]
    assert isinstance(left, Attribute | Call)
    family = result_family(left)
    if isinstance(right, Attribute | Call):
        other = result_family(right)
        if _is_collated(left) != _is_collated(right):  # one side is enough to say how both compare
            left, right = (o if _is_collated(o) else Call(COLLATE, (o, LOWER_CASE)) for o in (left, right))
        if Family.ANY not in (family, other) and family is not other:
            message = f"{_shown(left)} gives a {family} and {_shown(right)} a {other}: they never compare"
            raise RuleTypeError(message, text, position)
        return CompareOperands(left, op, right, 1.0, position)
    assert isinstance(right, Constant)
    if right.value is None:
        return IsNull(left, position) if op == "<=>" else Truth(None)
    value = _convert(right, family, left, text)
    if isinstance(value, Network) and op not in ("=", "<=>"):
        raise RuleTypeError("networks have no order", text, right.position, "use = or IN")
    if op == "<=>":
        return NullSafe(left, value, right.weight, position)
    return Compare(left, op, value, right.weight, position)


def _has_moment(left: Constant, right: Constant) -> bool:
    """Return whether constants compare differently from call to call."""
    return None not in (left.value, right.value) and (isinstance(left.value, Moment) or isinstance(right.value, Moment))


def _fold(left: Constant, op: str, right: Constant, text: str) -> Truth:
    if left.value is None or right.value is None:
        return Truth(left.value is right.value if op == "<=>" else None)
    family = family_of(left.value)
    if family is not family_of(right.value):
        message = f"a {family} and a {family_of(right.value)} never compare"
        raise RuleTypeError(message, text, right.position)
    if family is Family.INTERVAL:
        raise RuleTypeError("intervals are not compared", text, right.position, _INTERVAL_HINT)
    if _has_zone(left.value) != _has_zone(right.value):
        raise RuleTypeError("a time with a zone and one without compare only in an index", text, right.position)
    return Truth(HOLDS["=" if op == "<=>" else op](compare(left.value, right.value, UTC)))


def membership(left: Item, constants: list[Constant], text: str, position: int) -> Expression:
    """Return `left IN (constants)`."""
    given = [constant for constant in constants if constant.value is not None]
    has_null = len(given) < len(constants)
    if not given:
        return Truth(None)
    if isinstance(left, Constant) and isinstance(left.value, Moment):
        left = time_syntax.operand_of(left.value)
    if isinstance(left, Constant):
        if any(isinstance(constant.value, Moment) for constant in given):
            raise RuleSyntaxError("IN needs an attribute to its left", text, position)
        return _constant_membership(left, given, has_null, text)
    operand = _operand(left, "IN", text, position)
    values = _one_family(given, result_family(operand), operand, text)
    weights = tuple([c.weight for c in given]) if any(c.weight != 1.0 for c in given) else ()
    return In(operand, values, weights, has_null, position)


def _constant_membership(left: Constant, given: list[Constant], has_null: bool, text: str) -> Truth:
    if any(_fold(left, "=", constant, text).value for constant in given):
        return Truth(True)
    return Truth(None if has_null or left.value is None else False)


def between(left: Item, low: Constant, high: Constant, text: str, position: int) -> Expression:
    """Return `left BETWEEN low AND high`. A NULL bound is a comparison that is unknown."""
    for bound in (low, high):
        if bound.weighted:
            hint = "put it after the predicate: (x BETWEEN 1 AND 5)^2"
            raise RuleSyntaxError("a bound takes no weight", text, bound.position, hint)
    if isinstance(left, Constant) and isinstance(left.value, Moment):
        left = time_syntax.operand_of(left.value)
    if isinstance(left, Constant) or low.value is None or high.value is None:
        return And((comparison(left, ">=", low, text, position), comparison(left, "<=", high, text, position)))
    operand = _operand(left, "BETWEEN", text, position)
    first, last = _one_family((low, high), result_family(operand), operand, text)
    if isinstance(first, Network):
        raise RuleTypeError("networks have no order", text, low.position, "use = or IN")
    return Between(operand, first, last, 1.0, position)


def _string_operand(left: Item, what: str, text: str, position: int) -> Operand:
    operand = _operand(left, what, text, position)
    if result_family(operand) not in (Family.ANY, Family.STRING):
        raise RuleTypeError(
            f"{what} compares strings, and {_shown(operand)} gives a {result_family(operand)}", text, position
        )
    return operand


def like(
    left: Item, constants: list[Constant], every: bool, ignore_case: bool, escape: str, text: str, position: int
) -> Expression:
    """Return `left [I]LIKE pattern`, or LIKE ANY or ALL of several patterns."""
    operand = _string_operand(left, "LIKE", text, position)
    collated = isinstance(operand, Call) and _is_collated(operand)
    if collated and isinstance(operand, Call):
        operand, ignore_case = Call(COLLATE_LIKE, operand.arguments), False
    patterns = []
    for constant in constants:
        if constant.value is None and len(constants) == 1:
            return Truth(None)
        if not isinstance(constant.value, str):
            raise RuleTypeError("a LIKE pattern is a string", text, constant.position)
        if constant.weighted and len(constants) > 1:
            raise RuleSyntaxError("a pattern of a list takes no weight", text, constant.position)
        try:
            pattern = like_pattern(constant.value, escape)
            patterns.append(pattern_key(pattern) if collated else pattern)
            check_like(patterns[-1], ignore_case)
        except PatternTooLargeError as error:
            raise RuleLimitError(str(error), text, constant.position) from None
        except ValueError as error:
            raise PatternError(str(error), text, constant.position) from None
    weight = constants[0].weight
    return Like(operand, tuple(patterns), every and len(patterns) > 1, ignore_case, weight, position)


def _like_operand(left: Item, op: str, right: Item, text: str, position: int) -> Expression:
    """Return `left [NOT] [I]LIKE right`, where an attribute or a function has the pattern."""
    if op.startswith("NOT "):
        return Not(_like_operand(left, op.removeprefix("NOT "), right, text, position))
    if isinstance(right, Constant) and not isinstance(left, Constant):
        return like(left, [right], False, op == "ILIKE", "\\", text, position)
    return condition(call(op.lower(), [left, right], text, position), text, position)


def _constant_test(function: str, items: Sequence[Item], text: str, position: int) -> Expression:
    """Return the LIKE pattern of a function of an operand and a constant, such as contains(x, 'a')."""
    operand, constant = items
    assert isinstance(constant, Constant)
    assert isinstance(constant.value, str)
    pattern = pattern_of(function, constant.value) or constant.value
    constants = [Constant(pattern, 1.0, False, constant.position)]
    return like(operand, constants, False, function == "ilike", "\\", text, position)


def regular_expression(left: Item, constant: Constant, text: str, position: int) -> Expression:
    """Return `left RLIKE pattern`."""
    operand = _string_operand(left, "RLIKE", text, position)
    if constant.value is None:
        return Truth(None)
    if not isinstance(constant.value, str):
        raise RuleTypeError("a regular expression is a string", text, constant.position)
    pattern = constant.value
    if isinstance(operand, Call) and _is_collated(operand) and isinstance(operand.arguments[0], Attribute | Call):
        operand, pattern = operand.arguments[0], f"(?i){pattern}"
    try:
        check_regex(pattern)
    except PatternTooLargeError as error:
        raise RuleLimitError(str(error), text, constant.position) from None
    except MissingRe2Error as error:
        raise PatternError(str(error), text, constant.position) from None
    except ValueError as error:
        raise PatternError(f"RE2 refuses this regular expression: {error}", text, constant.position) from None
    return Rlike(operand, pattern, constant.weight, position)


def null_test(left: Item, text: str, position: int) -> Expression:
    """Return `left IS NULL`."""
    if isinstance(left, Constant):
        return Truth(left.value is None)
    return IsNull(_operand(left, "IS NULL", text, position), position)
