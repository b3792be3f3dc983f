"""Reads a whole simple predicate with one match. Most rules consist of simple predicates.

`name = 'x'`, `age > 18`, `age BETWEEN 18 AND 35`, `country IN ('IN', 'US')`, `user_id % 4 = 1`, with the parentheses
before it, and the parentheses and the AND or OR after it. Anything else in a rule (comments, escapes, weights,
functions) does not match, and the parser reads it token by token. Both ways give the same tree.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from ruledex import limits
from ruledex.language.scanner import NAME
from ruledex.language.tree import Attribute, Between, Call, Compare, Expression, In, IsNull, Like, Not, Operand

_INTEGER: Final = r"-?+[0-9]{1,18}+(?![\w.])"
_NUMBER: Final = r"-?+[0-9]{1,18}+(?:\.[0-9]{1,18}+)?+(?![\w.])"
_TEXT: Final = r"'[^'\\]*+'"

# At most eight parentheses at once: thousands before something that is not simple must not be read thousands of times.
# The sign of arithmetic takes no second sign behind it, since two minus signs start a comment.
_SIMPLE: Final = re.compile(
    rf"""\s*+(\({{0,8}}+)
    ({NAME}(?:\.{NAME})*+)\s*+
    (?: (?:([%*+/-])\s*+([0-9]{{1,18}}+)(?![\w.])\s*+)?+
        (=|<=?|>=?|!=)\s*+({_NUMBER}|{_TEXT})
      | (NOT\s++)?+
        (?: IN\s*+\(\s*+({_INTEGER}(?:\s*+,\s*+{_INTEGER})*+|{_TEXT}(?:\s*+,\s*+{_TEXT})*+)\s*+\)
          | BETWEEN\b\s*+(?:({_NUMBER})\s*+AND\b\s*+({_NUMBER})|({_TEXT})\s*+AND\s*+({_TEXT}))
          | (I?LIKE)\s*+({_TEXT})
        )
      | IS\s++(NOT\s++)?+NULL\b
    )
    \s*+(\)*+)\s*+(?:(AND|OR)\b|\Z)""",
    re.VERBOSE | re.IGNORECASE,
)
match_simple: Final = _SIMPLE.match
NAME_GROUP: Final = 2
CLOSED_GROUP: Final = _SIMPLE.groups - 1

# Attributes of earlier rules. They are immutable and shared, and their names are not keywords.
_ATTRIBUTES: dict[str, Attribute] = {}
limits.forget_when_changed(_ATTRIBUTES.clear)  # the limit path_steps
# This many names of that length and depth take at most about 90 MB.
_MAX_ATTRIBUTES: Final = 100_000
_LONGEST_NAME: Final = 100  # characters
_MAX_STEPS: Final = 8


def shared_attribute(path: tuple[str, ...]) -> Attribute:
    """Return the attribute of a path of plain names that are not keywords. Simple predicates may use it from now on."""
    attribute = Attribute(path)
    name = ".".join(path)
    if len(_ATTRIBUTES) < _MAX_ATTRIBUTES and len(name) <= _LONGEST_NAME and len(path) <= _MAX_STEPS:
        return _ATTRIBUTES.setdefault(name, attribute)
    return attribute


def simple_predicate(groups: tuple[str | Any, ...], start: int) -> Expression | None:
    """Return the predicate that `match_simple` found, or None if the parser has to read it.

    `start` is where its name starts. The first group and the last two are for the parser.
    """
    _, name, sign, second, op, constant, negated, listed, low, high, first, last, like, pattern, is_not, _, _ = groups
    attribute = _ATTRIBUTES.get(name)
    if attribute is None:
        return None
    if op:
        is_text = constant[0] == "'"
        operand: Operand = attribute
        if sign:
            if is_text:
                return None  # arithmetic gives numbers; the parser reports the position of the text
            operand = Call(sign, (attribute, int(second)))
        value = constant[1:-1] if is_text else int(constant) if constant.isdigit() else _number(constant)
        if op == "!=":
            return Not(Compare(operand, "=", value, 1.0, start))
        return Compare(operand, op, value, 1.0, start)
    predicate: Expression
    if listed:
        # Values contain no quotes here, so every second part of a split at quotes is a value.
        values = listed.split("'")[1::2] if listed[0] == "'" else map(int, listed.split(","))
        predicate = In(attribute, tuple(values), (), False, start)
    elif low:
        predicate = Between(attribute, _number(low), _number(high), 1.0, start)
    elif first:
        predicate = Between(attribute, first[1:-1], last[1:-1], 1.0, start)
    elif like:
        if "_" in pattern and pattern.count("%") > 1:
            return None  # its program may exceed a limit; the parser reports the position
        predicate = Like(attribute, (pattern[1:-1],), False, len(like) == len("ILIKE"), 1.0, start)
    else:
        predicate = IsNull(attribute, start)
        negated = is_not
    return Not(predicate) if negated else predicate


def _number(digits: str) -> int | Decimal:
    return Decimal(digits) if "." in digits else int(digits)
