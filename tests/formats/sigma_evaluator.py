"""Evaluates Sigma rules over pySigma's own condition trees, with true and false alone. It knows nothing of ruledex.

It is the independent reference of the tests and of tools/conformance.py: slow, and as the specification reads.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sigma.conditions import ConditionAND, ConditionFieldEqualsValueExpression, ConditionNOT, ConditionOR
from sigma.rule import SigmaRule
from sigma.types import (
    CompareOperators,
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
    SigmaString,
    SigmaTimestampPart,
    SpecialChars,
)


def sigma_holds(rule: dict[str, Any], event: dict[str, Any]) -> bool:
    """Return whether one of the conditions of a rule is true of an event."""
    return any(evaluate_tree(tree, event) for tree in sigma_trees(rule))


def sigma_trees(rule: dict[str, Any]) -> list[Any]:
    """Return pySigma's trees of the conditions of a rule."""
    return [condition.parsed for condition in SigmaRule.from_dict(rule).detection.parsed_condition]


def evaluate_tree(node: Any, event: dict[str, Any]) -> bool:
    """Return whether a tree of pySigma is true of an event."""
    if isinstance(node, ConditionAND):
        return all(evaluate_tree(part, event) for part in node.args)
    if isinstance(node, ConditionOR):
        return any(evaluate_tree(part, event) for part in node.args)
    if isinstance(node, ConditionNOT):
        return not evaluate_tree(node.args[0], event)
    if isinstance(node, ConditionFieldEqualsValueExpression):
        return field_holds(node.field, node.value, event)
    return keyword_holds(node.value, event)


# Fields.


def field_holds(field: str, value: Any, event: dict[str, Any]) -> bool:
    found = lookup(event, field)
    scalars = [v for each in found for v in elements(each) if v is not None]
    if isinstance(value, SigmaExists):
        return bool(found) == value.exists
    if isinstance(value, SigmaNull):
        return not scalars
    if isinstance(value, SigmaExpansion):
        return any(field_holds(field, each, event) for each in value.values)
    if isinstance(value, SigmaFieldReference):
        others = [v for each in lookup(event, value.field) for v in elements(each) if v is not None]
        return any(refers(value, one, other) for one in scalars for other in others)
    return any(value_holds(value, each) for each in scalars)


def lookup(event: dict[str, Any], field: str) -> list[Any]:
    """Return all values of a field: as a flat name, and as a path into objects."""
    found = [event[field]] if field in event else []
    if "." not in field:
        return found
    level: list[Any] = [event]
    for step in field.split("."):
        below: list[Any] = []
        for each in level:
            below += [part[step] for part in elements(each) if isinstance(part, dict) and step in part]
        level = below
    return found + level


def elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def value_holds(value: Any, given: Any) -> bool:
    if isinstance(given, dict):
        return isinstance(value, SigmaString) and value.s == [SpecialChars.WILDCARD_MULTI]
    if isinstance(value, SigmaString):
        return pattern_of(value).fullmatch(text_of(given)) is not None
    if isinstance(value, SigmaTimestampPart):
        return part_of(value, given) == value.number
    if isinstance(value, SigmaNumber):
        return given == value.number if is_number(given) else text_of(given).lower() == str(value.number)
    if isinstance(value, SigmaBool):
        return text_of(given).lower() == str(value.boolean).lower()
    if isinstance(value, SigmaRegularExpression):
        return expression_of(value).search(text_of(given)) is not None
    if isinstance(value, SigmaCIDRExpression):
        try:
            return isinstance(given, str) and ipaddress.ip_address(given) in value.network
        except ValueError:
            return False
    assert isinstance(value, SigmaCompareExpression)
    number = part_of(value.number, given) if isinstance(value.number, SigmaTimestampPart) else number_of(given)
    if number is None:
        return value.op is CompareOperators.NEQ
    bound = value.number.number
    return {
        CompareOperators.LT: number < bound,
        CompareOperators.LTE: number <= bound,
        CompareOperators.GT: number > bound,
        CompareOperators.GTE: number >= bound,
        CompareOperators.NEQ: number != bound,
    }[value.op]


def number_of(given: Any) -> float | None:
    try:
        return float(given)
    except ValueError:
        return None


def part_of(value: SigmaTimestampPart, given: Any) -> int | None:
    try:
        time = datetime.fromisoformat(given)
    except (TypeError, ValueError):
        return None
    time = time.astimezone(UTC) if time.tzinfo else time
    name = value.timestamp_part.name.lower()
    return time.isocalendar().week if name == "week" else getattr(time, name)


def refers(value: SigmaFieldReference, one: Any, other: Any) -> bool:
    if isinstance(one, dict) or isinstance(other, dict):
        return False
    left, right = text_of(one).lower(), text_of(other).lower()
    if value.starts_with and value.ends_with:
        return right in left
    if value.starts_with:
        return left.startswith(right)
    if value.ends_with:
        return left.endswith(right)
    return left == right or (is_number(one) and is_number(other) and one == other)


# Patterns.


def pattern_of(value: SigmaString) -> re.Pattern[str]:
    return _pattern(tuple(value.s), isinstance(value, SigmaCasedString))


@cache
def _pattern(parts: tuple[Any, ...], is_cased: bool) -> re.Pattern[str]:
    signs = {SpecialChars.WILDCARD_MULTI: ".*", SpecialChars.WILDCARD_SINGLE: "."}
    expression = "".join(re.escape(part) if isinstance(part, str) else signs[part] for part in parts)
    return re.compile(expression, re.DOTALL | (0 if is_cased else re.IGNORECASE))


def expression_of(value: SigmaRegularExpression) -> re.Pattern[str]:
    flags = 0
    for flag in value.flags:
        flags |= value.sigma_to_python_flags[flag]
    return re.compile(value.regexp.to_plain_regex(), flags)


# Keywords.


def keyword_holds(value: Any, event: Any) -> bool:
    if isinstance(value, SigmaExpansion):
        return any(keyword_holds(each, event) for each in value.values)
    if isinstance(value, SigmaNumber):
        return any(str(value.number) in text.lower() for text in texts_in(event))
    search = expression_of(value) if isinstance(value, SigmaRegularExpression) else pattern_of(value)
    return any(search.search(text) for text in texts_in(event))


def texts_in(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_in(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_in(each)]
    return [value] if isinstance(value, str) else []
