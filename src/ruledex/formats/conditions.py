"""Builds the trees that all formats need. Other systems know only true and false, so their NOT is IS NOT TRUE here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ruledex.errors import RuleLimitError, RuleSyntaxError
from ruledex.language.lambdas import lambda_of
from ruledex.language.structured_parts import Place, json_text
from ruledex.language.text import operand_text
from ruledex.language.tree import (
    And,
    Attribute,
    Call,
    Compare,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Not,
    Operand,
    Or,
    Truth,
    Value,
    Xnor,
    Xor,
)
from ruledex.language.value import INT64_MAX, INT64_MIN

TRUE: Final = Truth(True)
FALSE: Final = Truth(False)
_LEAVES: Final = (Compare, In, Like, IsNull)
_OUTLINE_STEPS: Final = 8
_MOST_NODES: Final = 100_000  # of a rule, written out
_MOST_BRANCHES: Final = 20_000  # some systems' conditions double with each level here, and nobody writes so many
ELEMENT: Final = "\ue000element"  # the first step of the attributes of an element, until `some_element` binds it


def all_of(conditions: Iterable[Expression]) -> Expression:
    """Return the AND of conditions: TRUE if there are none."""
    return _joined(And, conditions, TRUE, FALSE)


def any_of(conditions: Iterable[Expression]) -> Expression:
    """Return the OR of conditions: FALSE if there are none."""
    return _joined(Or, conditions, FALSE, TRUE)


def _joined(branch: type[And] | type[Or], given: Iterable[Expression], neutral: Truth, ending: Truth) -> Expression:
    parts: list[Expression] = []
    leaves: set[Expression] = set()  # the predicates among them: there may be thousands
    branches: dict[Any, list[Expression]] = {}  # the others, which may be too deep to hash, by their outlines
    for condition in given:
        if isinstance(condition, Truth) and condition == ending:
            return ending
        for part in condition.children if isinstance(condition, branch) else (condition,):
            if isinstance(part, _LEAVES):
                if part not in leaves:
                    leaves.add(part)
                    parts.append(part)
            elif part != neutral:
                alike = branches.setdefault(_outline(part), [])
                if part not in alike:
                    alike.append(part)
                    parts.append(part)
    _grow(len(parts) - len(leaves))
    return branch(tuple(parts)) if len(parts) > 1 else parts[0] if parts else neutral


def _outline(part: Expression) -> Any:
    """Return what equal conditions have in common, without looking at all of them."""
    outline: list[Any] = []
    for _ in range(_OUTLINE_STEPS):
        outline.append(type(part))
        match part:
            case And(children) | Or(children):
                outline.append(len(children))
                part = children[0]
            case Not(child) | Is(child):
                part = child
            case _ if isinstance(part, _LEAVES):
                outline.append(part)
                break
            case _:
                break
    return tuple(outline)


_grown: ContextVar[int | None] = ContextVar("grown", default=None)  # conditions made for the rule that is being read


@contextmanager
def bounded_growth() -> Iterator[None]:
    """Refuse what grows beyond all bounds inside a `with`: the conditions of one rule."""
    token = _grown.set(0)
    try:
        yield
    finally:
        _grown.reset(token)


def _grow(n_branches: int) -> None:
    grown = _grown.get()
    if grown is None:
        return
    if grown + n_branches > _MOST_BRANCHES:
        raise RuleLimitError(f"the rule needs more than {_MOST_BRANCHES:,} nested conditions here")
    _grown.set(grown + n_branches)


def check_written_size(tree: Expression) -> None:
    """Raise if a tree has too many nodes when it is written out. Parts of it may stand in many places."""
    sizes: dict[int, int] = {}
    pending = [tree]
    while pending:
        node = pending[-1]
        below = node.children if isinstance(node, And | Or | Xor | Xnor) else ()
        below = (node.child,) if isinstance(node, Not | Is) else (node.body,) if isinstance(node, Exists) else below
        missing = [child for child in below if id(child) not in sizes]
        if missing:
            pending += missing
            continue
        pending.pop()
        sizes[id(node)] = 1 + sum(sizes[id(child)] for child in below)
    if sizes[id(tree)] > _MOST_NODES:
        raise RuleLimitError(f"written out, the rule has {sizes[id(tree)]:,} conditions, over {_MOST_NODES:,}")


def negate(condition: Expression) -> Expression:
    """Return what is true where the condition is false or unknown."""
    match condition:
        case Truth(value):
            return Truth(value is not True)
        case Not(Is(child, True)):
            return Is(child, True)
        case Is() | IsNull():
            return Not(condition)
        case Not(IsNull() as child):
            return child
    return Not(Is(condition, True))


def equal(operand: Operand, values: Sequence[Value]) -> Expression:
    """Return that an operand has one of the values, which may be of several types."""
    by_type: dict[str, dict[Value, Value]] = {}
    for value in values:
        kind = "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
        by_type.setdefault(kind, {}).setdefault(value, value)
    return any_of(
        Compare(operand, "=", next(iter(group))) if len(group) == 1 else In(operand, tuple(group))
        for group in by_type.values()
    )


def has_text(operand: Operand) -> Expression:
    """Return that an operand has a value that is a string."""
    return Like(operand, ("%",))


def has_number(operand: Operand) -> Expression:
    """Return that an operand has a value that is a number."""
    return Or((Compare(operand, ">=", 0), Compare(operand, "<", 0)))


def has_boolean(operand: Operand) -> Expression:
    """Return that an operand has a value that is a boolean."""
    return In(operand, (False, True))


def has_scalar(operand: Operand) -> Expression:
    """Return that an operand has a value that is neither null nor a struct."""
    return any_of((has_text(operand), has_number(operand), has_boolean(operand)))


def has_no_value(operand: Operand) -> Expression:
    """Return that an operand is absent or null. An empty array is neither."""
    return all_of((IsNull(operand), negate(is_empty_array(operand))))


def is_present(operand: Operand) -> Expression:
    """Return that an operand is in the event, even if it is null."""
    return Compare(Call("present", (operand,)), "=", True)


def is_null_value(operand: Operand) -> Expression:
    """Return that an operand is in the event, and null or an array of nulls."""
    return all_of((is_present(operand), has_no_value(operand)))


def is_array(operand: Operand) -> Expression:
    """Return that an operand is an array. `typeof` would not tell one of mixed types from an object that holds one."""
    return Like(Call("whole", (operand,)), ("[%",))


def is_object(operand: Operand) -> Expression:
    """Return that an operand is an object."""
    return Like(Call("whole", (operand,)), ("{%",))


def some_element(array: Operand, body: Callable[[], Expression]) -> Expression:
    """Return that a condition on `ELEMENT` is true of some element of an array, or of the only value if it is none."""
    if not isinstance(array, Attribute):
        raise RuleSyntaxError(f"the elements of {operand_text(array)} cannot be asked for: it is no attribute")
    return lambda_of(array, ELEMENT, body(), 0)


def is_empty_array(operand: Operand) -> Expression:
    """Return that an operand is an array without elements."""
    return Compare(Call("size", (operand,)), "=", 0)


def plain_like(text: str) -> str:
    """Return a LIKE pattern that only this text matches."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def string(given: Any, place: Place, what: str) -> str:
    """Return a string of a document. Raises if it is something else, or not Unicode."""
    if not isinstance(given, str):
        raise RuleSyntaxError(f"{place}: {what} is a string, not {json_text(given)}")
    try:
        given.encode()
    except UnicodeEncodeError:
        raise RuleSyntaxError(f"{place}: this string has half of a surrogate pair") from None
    return given


def number(given: Any, place: Place, what: str) -> int | float:
    """Return a number of a document that is finite and, if it is whole, fits 64 bits."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise RuleSyntaxError(f"{place}: {what} is a number, not {json_text(given)}")
    if isinstance(given, float) and not math.isfinite(given):
        raise RuleSyntaxError(f"{place}: {what} is a finite number, not {given}")
    if isinstance(given, int) and not INT64_MIN <= given <= INT64_MAX:
        return float(given) if abs(given) < 1e300 else _too_large(place)
    return given


def _too_large(place: Place) -> float:
    raise RuleSyntaxError(f"{place}: this number is too large")
