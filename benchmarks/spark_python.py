"""Rules as Python conditions, as somebody writes them who has no index: compiled by Python, asked one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ruledex.language.parser import parse
from ruledex.language.text import path_text
from ruledex.language.tree import (
    And,
    Attribute,
    Between,
    Compare,
    Expression,
    In,
    Not,
    Or,
    Predicate,
    Xnor,
    Xor,
)

Condition = Callable[[Mapping[str, Any]], bool]


def python_text(tree: Expression, negated: bool = False) -> str:
    """A condition on the mapping `e`, which is true where the rule is: what is missing makes neither side true."""
    match tree:
        case Not(child):
            return python_text(child, not negated)
        case And(children) | Or(children):
            word = " and " if isinstance(tree, And) != negated else " or "
            return f"({word.join(python_text(child, negated) for child in children)})"
        case Xor(children) | Xnor(children):
            *rest, last = children
            first = type(tree)(tuple(rest)) if len(rest) > 1 else rest[0]
            # One side alone is true, or of an XNOR both or none; what is unknown is neither true nor false.
            is_same = isinstance(tree, Xnor) != negated
            pairs = ((False, not is_same), (True, is_same))
            return f"({' or '.join(f'({python_text(first, a)} and {python_text(last, b)})' for a, b in pairs)})"
    name, test = _test(tree)
    return f"((x := e[{name!r}]) is not None and {'not ' if negated else ''}({test}))"


def _test(predicate: Predicate) -> tuple[str, str]:
    assert isinstance(predicate, Compare | In | Between), predicate
    assert isinstance(predicate.operand, Attribute)
    name = path_text(predicate.operand.path)
    match predicate:
        case Compare(_, op, value):
            return name, f"x {'==' if op == '=' else op} {value!r}"
        case In(_, values):
            return name, f"x in {set(values)!r}"
        case Between(_, low, high):
            return name, f"{low!r} <= x <= {high!r}"
    raise AssertionError(predicate)


def compiled(texts: Sequence[str]) -> list[Condition]:
    """One function a rule."""
    return [eval(f"lambda e: {python_text(parse(text))}") for text in texts]
