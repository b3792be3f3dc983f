"""Writes a tree as a Spark SQL condition, for a table with one column per attribute and single values.

Constants are written with their types (`5L`, `1.5BD`, `1.5D`), so that Spark compares what the rule compares. Functions
are written by the templates of their registry. Weights are dropped, since they do not affect truth.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import reduce

from ruledex.errors import RuleError
from ruledex.language.any_text import is_any_text
from ruledex.language.functions.registry import function_of
from ruledex.language.functions.text import INT32_MAX, INT32_MIN
from ruledex.language.lambdas import with_variable
from ruledex.language.time_syntax import interval_text, moment_text
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Bound,
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
    Node,
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
)
from ruledex.language.value_types import Interval, Moment

# How tightly a text binds. A text that binds too loosely for its place gets parentheses, and no other does: Spark's
# parser looks ahead to the end of each pair, and takes seconds for rules full of them.
_OR, _AND, _NOT, _LEAF = range(4)


def to_spark(tree: Expression) -> str:
    """Return a tree as a Spark SQL condition. Raises `RuleError` for what Spark cannot express.

    XOR and XNOR become `!=` and `=` of two conditions, which are also unknown if a side is unknown.
    """
    return _write(tree)[0]


def _write(tree: Expression) -> tuple[str, int]:
    match tree:
        case Truth(value):
            return "CAST(NULL AS BOOLEAN)" if value is None else str(value).upper(), _LEAF
        case Not(child):
            return f"NOT {_within(child, _NOT)}", _NOT
        case Is(child, truth):
            return f"({to_spark(child)}) IS {'UNKNOWN' if truth is None else str(truth).upper()}", _LEAF
        case Untrue(literal):
            return f"({to_spark(literal)}) IS NOT TRUE", _LEAF
        case Required(child) | Weighed(child):
            return _write(child)
        case Named():
            return _write(tree.condition)
        case And(children):
            return " AND ".join(_within(child, _AND) for child in children), _AND
        case Or(children):
            return " OR ".join(_within(child, _OR) for child in children), _OR
        case Xor(children):
            return reduce("({}) != ({})".format, map(to_spark, children)), _LEAF
        case Xnor(children):
            return reduce("({}) = ({})".format, map(to_spark, children)), _LEAF
        case Weak(predicate):
            assert not isinstance(predicate, CompareOperands)
            return f"{_operand(predicate.operand)} IS NULL OR NOT {_within(predicate, _NOT)}", _OR
        case Within():
            return _predicate(tree), _OR
    return _predicate(tree), _LEAF


def _within(child: Expression, least: int) -> str:
    text, tightness = _write(child)
    return text if tightness >= least else f"({text})"


def _predicate(predicate: Predicate) -> str:
    match predicate:
        case CompareOperands(left, op, right):
            return f"{_operand(left)} {op} {_operand(right)}"
        case Exists(array):
            variable, body = with_variable(predicate)
            return f"exists({_operand(array)}, `{variable}` -> {to_spark(body)})"
        case SetTest(_, test):
            raise RuleError(
                f"Spark SQL has no {test}()", hint="it compares the values as a set, and a column has one value per row"
            )
    operand = _operand(predicate.operand)
    match predicate:
        case Compare(_, op, value):
            return f"{operand} {op} {_constant(value)}"
        case NullSafe(_, value):
            return f"{operand} <=> {_constant(value)}"
        case In(_, values, _, has_null):
            return f"{operand} IN ({', '.join([*map(_constant, values), *['NULL'] * has_null])})"
        case Between(_, low, high):
            return f"{operand} BETWEEN {_constant(low)} AND {_constant(high)}"
        case Like(_, patterns, every, ignore_case):
            word = "ILIKE" if ignore_case else "LIKE"
            if len(patterns) == 1:
                return f"{operand} {word} {_string(patterns[0])}"
            return f"{operand} {word} {'ALL' if every else 'ANY'} ({', '.join(map(_string, patterns))})"
        case Rlike(_, pattern):
            return f"{operand} RLIKE {_string(pattern)}"
        case IsNull():
            return f"{operand} IS NULL"
        case Within(_, values, bounds):
            parts = [f"{operand} = {_constant(value)}" for value in values]
            return " OR ".join(parts + [_bound(operand, bound) for bound in bounds])


def _bound(operand: str, bound: Bound) -> str:
    ends = []
    if bound.low is not None:
        ends.append(f"{operand} {'>=' if bound.low_closed else '>'} {_constant(bound.low)}")
    if bound.high is not None:
        ends.append(f"{operand} {'<=' if bound.high_closed else '<'} {_constant(bound.high)}")
    return f"({' AND '.join(ends)})"


def _operand(operand: Operand) -> str:
    if isinstance(operand, Attribute):
        return ".".join("`" + name.replace("`", "``") + "`" for name in operand.path)
    if is_any_text(operand):
        raise RuleError("Spark SQL has no * for any field", hint="it looks at every text of an event, in all columns")
    function = function_of(operand)
    arguments = []
    for index, argument in enumerate(operand.arguments):
        if isinstance(argument, Attribute | Call):
            arguments.append(_operand(argument))
        elif isinstance(argument, Exists):
            arguments.append(f"filter({_predicate(argument).removeprefix('exists(')}")
        elif function.name == ".":
            arguments.append("`" + str(argument).replace("`", "``") + "`")
        else:
            assert not isinstance(argument, Node)
            # Where Spark wants a literal, it wants an INT and takes no BIGINT for it.
            is_typed = function.typed and INT32_MIN <= argument <= INT32_MAX if type(argument) is int else False
            is_plain = is_typed or (function.parameter_at(index).literal and type(argument) is int)
            arguments.append(str(argument) if is_plain else _constant(argument))
    defaults = [parameter.default for parameter in function.parameters[len(arguments) :]]
    arguments += [str(d) if isinstance(d, int) else _constant(d) for d in defaults if d is not None]
    text = function.spark_text(arguments)
    if text is None:
        raise RuleError(f"Spark SQL has no {function.name}()")
    return text


def _constant(value: Value) -> str:
    """Return a constant with the type that it has in the rule."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return f"{value}L"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, float):
        return f"{value!r}D"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, Interval):
        return interval_text(value)
    if isinstance(value, Moment):
        return moment_text(value)
    assert isinstance(value, date), value  # versions and networks are only compared with functions that Spark lacks
    return f"DATE '{value.isoformat()}'"


_ESCAPES = str.maketrans({"'": "\\'", "\\": "\\\\", "\0": "\\u0000"})


def _string(text: str) -> str:
    return f"'{text.translate(_ESCAPES)}'"
