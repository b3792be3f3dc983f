"""Makes conditions of the values of Sigma rules.

Sigma takes every value for a text that is compared without regard to case. So the number 4624 is also the text '4624',
and the other way round: where a text could be that of a number or boolean, both are tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from sigma.exceptions import SigmaPlaceholderError, SigmaValueError
from sigma.types import (
    CompareOperators,
    Placeholder,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaRegularExpressionFlag,
    SigmaString,
    SigmaTimestampPart,
    SigmaType,
    SpecialChars,
    TimestampPart,
)

from ruledex.formats.conditions import all_of, any_of, is_present, negate, plain_like
from ruledex.language import build
from ruledex.language.any_text import ANY_TEXT
from ruledex.language.tree import (
    Attribute,
    Call,
    Compare,
    CompareOperands,
    Expression,
    In,
    IsNull,
    Like,
    Not,
    Operand,
    Or,
    Value,
)
from ruledex.language.value import INT64_MAX, INT64_MIN
from ruledex.language.value_types import Network

_OPERATORS: Final = {
    CompareOperators.LT: "<",
    CompareOperators.LTE: "<=",
    CompareOperators.GT: ">",
    CompareOperators.GTE: ">=",
}
_PARTS: Final = {
    TimestampPart.MINUTE: "minute",
    TimestampPart.HOUR: "hour",
    TimestampPart.DAY: "day",
    TimestampPart.WEEK: "weekofyear",
    TimestampPart.MONTH: "month",
    TimestampPart.YEAR: "year",
}
_FLAGS: Final = {
    SigmaRegularExpressionFlag.IGNORECASE: "i",
    SigmaRegularExpressionFlag.MULTILINE: "m",
    SigmaRegularExpressionFlag.DOTALL: "s",
}
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_FRACTION: Final = re.compile(r"-?[0-9]+\.[0-9]+(?:[eE]-?[0-9]+)?", re.ASCII)
_OF_NUMBERS: Final = frozenset("0123456789+-.eE")  # what the texts of numbers consist of
_BOOLEANS: Final = ("true", "false")
_OF_SCALARS: Final = "0123456789+-.truefals"  # and of booleans
_PLAIN: Final = " -_/:;,<>=@#%&!~`'\""  # signs that mean themselves in a regular expression


def field_condition(value: SigmaType, spellings: Sequence[Attribute]) -> Expression:
    """Return that a field has a value. `spellings` are the ways in which an event may write the name of the field."""
    match value:
        case SigmaNull():
            return all_of(map(IsNull, spellings))
        case SigmaExists():
            found = any_of(map(is_present, spellings))
            return found if value.exists else negate(found)
        case SigmaExpansion():
            return any_value(field_condition(each, spellings) for each in value.values)
        case SigmaCompareExpression() if value.op is CompareOperators.NEQ:
            return negate(field_condition(value.number, spellings))
    return any_value(_condition(value, operand) for operand in spellings)


def _condition(value: SigmaType, operand: Attribute) -> Expression:
    match value:
        case SigmaString():
            return _text(value, operand)
        case SigmaTimestampPart():
            return Compare(Call(_PARTS[value.timestamp_part], (operand,)), "=", value.number)
        case SigmaNumber():
            return _number(value.number, operand)
        case SigmaBool():
            return any_of((Compare(operand, "=", value.boolean), Like(operand, (str(value).lower(),), False, True)))
        case SigmaRegularExpression():
            return _regular_expression(value, operand, is_field=True)
        case SigmaCIDRExpression():
            return Compare(Call("cidr", (operand,)), "=", Network(str(value.network)))
        case SigmaCompareExpression():
            return _ordered(value, operand)
    raise SigmaValueError(f"a field cannot be compared with a value of {type(value).__name__}")


def keyword_condition(value: SigmaType) -> Expression:
    """Return that some text of the event has a keyword in it."""
    match value:
        case SigmaString():
            pattern = _pattern(value)
            pattern = pattern if _starts_open(value) else f"%{pattern}"
            pattern = pattern if value.endswith(SpecialChars.WILDCARD_MULTI) else f"{pattern}%"
            return Like(ANY_TEXT, (pattern,), False, not isinstance(value, SigmaCasedString))
        case SigmaNumber():
            return Like(ANY_TEXT, (f"%{plain_like(str(value.number))}%",), False, True)
        case SigmaRegularExpression():
            return _regular_expression(value, ANY_TEXT, is_field=False)
        case SigmaExpansion():
            return any_value(map(keyword_condition, value.values))
    raise SigmaValueError(f"a keyword is a text, a number or a regular expression, not {type(value).__name__}")


def _starts_open(value: SigmaString) -> bool:
    return value.startswith(SpecialChars.WILDCARD_MULTI)


def looks_for_numbers(value: SigmaType) -> bool:
    """Return whether a keyword could be found in the text of a number, which keywords do not see."""
    if isinstance(value, SigmaExpansion):
        return any(map(looks_for_numbers, value.values))
    return isinstance(value, SigmaNumber) or (isinstance(value, SigmaString) and _may_be_number(value))


# Texts.


def _text(value: SigmaString, operand: Attribute) -> Expression:
    pattern = _pattern(value)
    if pattern == "%":
        return Not(IsNull(operand))
    any_case = not isinstance(value, SigmaCasedString)
    if value.contains_special():
        found: Expression = Like(operand, (pattern,), False, any_case)
        return Like(_as_text(operand), (pattern,), False, any_case) if _may_be_number(value) else found
    text = "".join(part for part in value.s if isinstance(part, str))
    same = any_case and text.lower() != text.upper()
    found = Like(operand, (pattern,), False, True) if same else Compare(operand, "=", text)
    if _INTEGER.fullmatch(text) and text != "-0" and INT64_MIN <= int(text) <= INT64_MAX:
        return any_of((Compare(operand, "=", int(text)), found))
    if text.lower() in _BOOLEANS and (any_case or text.islower()):
        return any_of((Compare(operand, "=", text.lower() == "true"), found))
    if _FRACTION.fullmatch(text):
        return Like(_as_text(operand), (pattern,), False, True) if same else Compare(_as_text(operand), "=", text)
    return found


def _pattern(value: SigmaString) -> str:
    """Return the LIKE pattern of a text with wildcards."""
    parts = []
    for part in value.s:
        if isinstance(part, Placeholder):
            raise SigmaPlaceholderError(
                f"the placeholder %{part.name}% has no values: a processing pipeline has to replace it"
            )
        if isinstance(part, str):
            parts.append(plain_like(part))
        else:
            parts.append("%" if part is SpecialChars.WILDCARD_MULTI else "_")
    return "".join(parts)


def _may_be_number(value: SigmaString) -> bool:
    """Return whether the text of some number or boolean may fit."""
    plain = [part for part in value.s if isinstance(part, str)]
    return all(_OF_NUMBERS.issuperset(part) for part in plain) or any(
        all(part.lower() in name for part in plain) for name in _BOOLEANS
    )


def _as_text(operand: Operand) -> Call:
    return Call("cast_string", (operand,))


def _number(number: int | float, operand: Attribute) -> Expression:
    text = str(number)
    same_text = Compare(operand, "=", text) if "e" not in text else Like(operand, (text,), False, True)
    if isinstance(number, int) and not INT64_MIN <= number <= INT64_MAX:
        return any_of((Compare(operand, "=", float(number)), same_text))
    return any_of((Compare(operand, "=", number), same_text))


def _ordered(value: SigmaCompareExpression, operand: Attribute) -> Expression:
    op, number = _OPERATORS[value.op], value.number.number
    if isinstance(value.number, SigmaTimestampPart):
        return Compare(Call(_PARTS[value.number.timestamp_part], (operand,)), op, number)
    as_number = Call("cast_double", (operand,))
    if abs(number) < 2**53:
        return Compare(as_number, op, number)
    # A double does not tell such numbers apart. Integers of the event compare exactly.
    if not INT64_MIN <= number <= INT64_MAX:
        number = float(number)
    return any_of((Compare(operand, op, number), Compare(as_number, op, float(number))))


# Regular expressions.


def _regular_expression(value: SigmaRegularExpression, operand: Operand, is_field: bool) -> Expression:
    if value.contains_placeholder():
        _pattern(value.regexp)  # which says which
    expression = value.regexp.to_plain_regex()
    flags = "".join(sorted(_FLAGS[flag] for flag in value.flags))
    if is_field and _fits_numbers(expression):
        operand = _as_text(operand)
    pattern = f"(?{flags}){expression}" if flags else expression
    return build.regular_expression(operand, build.Constant(pattern, 1.0, False, 0), "", 0)


_STEP: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\(\?[a-zA-Z]+\)|.", re.DOTALL)


def _fits_numbers(expression: str) -> bool:
    """Return whether the text of a number or boolean may match. False is certain, True is not.

    It is certain if a sign that such texts do not have stands in the expression by itself: outside of groups and
    classes, and not before a quantifier that makes it optional.
    """
    steps = _STEP.findall(expression)
    depth = 0
    is_certain = False
    for step, following in zip(steps, [*steps[1:], ""], strict=True):
        depth += (step == "(") - (step == ")")
        if depth == 0 and step == "|":
            return True
        sign = step[1] if step[0] == "\\" and not step[1].isalnum() else step
        is_sign = len(sign) == 1 and (sign.isalnum() or step != sign or sign in _PLAIN)
        if depth == 0 and is_sign and following not in ("?", "*", "{") and sign.lower() not in _OF_SCALARS:
            is_certain = True
    return not is_certain


# Other fields.


def same_as_field(value: SigmaFieldReference, left: Sequence[Attribute], right: Sequence[Attribute]) -> Expression:
    """Return that a field has the value of another one, or has it at its start, its end or somewhere in it."""
    pairs = [(one, other) for one in left for other in right]
    lower = [[Call("lower", (_as_text(operand),)) for operand in pair] for pair in pairs]
    if value.starts_with or value.ends_with:
        name = (
            "contains" if value.starts_with and value.ends_with else "startswith" if value.starts_with else "endswith"
        )
        return any_of(Compare(Call(name, (one, other)), "=", True) for one, other in lower)
    same_numbers = [CompareOperands(one, "=", other) for one, other in pairs]
    return any_of((*same_numbers, *(CompareOperands(one, "=", other) for one, other in lower)))


# Several values.


def any_value(conditions: Iterable[Expression]) -> Expression:
    """Return the OR of conditions, where those that compare the same operand are one predicate."""
    found = any_of(conditions)
    if not isinstance(found, Or):
        return found
    groups: dict[tuple[object, ...], list[Expression]] = {}
    for child in found.children:
        groups.setdefault(_kind(child), []).append(child)
    return any_of(_joined(group) for group in groups.values())


def _kind(condition: Expression) -> tuple[object, ...]:
    match condition:
        case Compare(operand, "=", bool() | int() | str() as value):
            return "equal", operand, type(value)
        case In(operand, values, (), False) if len({type(value) for value in values}) == 1:
            return "equal", operand, type(values[0])
        case Like(operand, _, False, ignore_case):
            return "like", operand, ignore_case
    return ("other", id(condition))


def _joined(group: list[Expression]) -> Expression:
    first = group[0]
    if len(group) == 1:
        return first
    if isinstance(first, Like):
        patterns = dict.fromkeys(p for each in group if isinstance(each, Like) for p in each.patterns)
        return Like(first.operand, tuple(patterns), False, first.ignore_case)
    assert isinstance(first, Compare | In)
    values: dict[Value, None] = {}
    for each in group:
        values |= dict.fromkeys(
            each.values if isinstance(each, In) else (each.value,) if isinstance(each, Compare) else ()
        )
    return In(first.operand, tuple(values))
