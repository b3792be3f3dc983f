"""Makes `exists(items, i -> …)` and `forall(items, i -> …)` of what the parser, or a structured rule, has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError
from ruledex.language import build
from ruledex.language.any_text import is_any_text
from ruledex.language.build import Constant, Item
from ruledex.language.functions.arrays import FIELD, FILTER, PLACE
from ruledex.language.functions.registry import function_of
from ruledex.language.lambdas import MAX_LEVELS, for_all, lambda_of, levels_of, nodes_in
from ruledex.language.reader import OPEN, Operator
from ruledex.language.rule_checks import check_nesting
from ruledex.language.scanner import read_name, scan, token_of
from ruledex.language.tree import MAX_DEPTH, Attribute, Call, Exists, Named, Required

if TYPE_CHECKING:
    from ruledex.language.parser import _Parser

LAMBDAS: Final = ("exists", "forall")
WITH_LAMBDA: Final = (*LAMBDAS, FILTER)  # not keywords: attributes may have these names


def open_lambda(operators: list[Operator], items: list[Item], starts: list[int], text: str, position: int) -> bool:
    """Take the last item as the variable of a lambda whose arrow stands at a position. Its body is the next item."""
    opened = operators[-1] if operators else None
    if opened is None or opened.precedence != OPEN or opened.kind.lower() not in WITH_LAMBDA:
        hint = "write exists(items, i -> i.price > 5)"
        raise RuleSyntaxError("-> stands in exists(), forall() and filter() only", text, position, hint)
    variable = items[-1]
    if opened.n_items != 2 or opened.variable or not isinstance(variable, Attribute) or len(variable.path) > 1:
        raise _misused(opened.kind, text, opened.position)
    opened.variable = variable.path[0]
    del items[-1], starts[-1]
    return True


def call_with_lambda(name: str, variable: str, items: Sequence[Item], text: str, position: int) -> Item:
    """Return `name(array, variable -> body)`, with the array and the body as items, or another function of items."""
    if name.lower() not in WITH_LAMBDA:
        if name.lower() == "array_contains":
            return _contains(name, items, text, position)
        return build.call(name, items, text, position)
    if len(items) != 2 or not variable:
        raise _misused(name, text, position)
    array, body = items
    if not isinstance(array, Attribute):
        raise RuleTypeError(f"{name}() takes an attribute that is an array", text, position)
    tree = build.condition(body, text, position)
    check_nesting(tree, text)
    for part in nodes_in(tree):
        if isinstance(part, Required):
            raise RuleSyntaxError("REQUIRED has no effect on elements", text, position, f"put it around {name}()")
        if isinstance(part, Named) or is_any_text(part):
            shown = f"@{part.name}" if isinstance(part, Named) else "*"
            message = f"{shown} is about the whole event, not about an element"
            raise RuleSyntaxError(message, text, position, f"write it outside of {name}()")
    if levels_of(tree) >= MAX_LEVELS:
        message = f"lambdas lie more than {MAX_LEVELS} deep inside of each other"
        raise RuleLimitError(message, text, position)
    made = lambda_of(array, variable, tree, position)
    if name.lower() == FILTER:
        return Call(FILTER, (made,))  # type: ignore[arg-type]
    return for_all(made) if name.lower() == "forall" else made


def filter_of(name: str, items: Sequence[Item], text: str, position: int) -> Item:
    """Return the filter of an array by a lambda that is given as `exists(array, …)`."""
    if len(items) != 1 or not isinstance(items[0], Exists):
        raise _misused(name, text, position)
    return Call(FILTER, (items[0],))  # type: ignore[arg-type]


def _contains(name: str, items: Sequence[Item], text: str, position: int) -> Item:
    """Return `array_contains(array, constant)`: `exists` with an equality has Spark's meaning of it."""
    if len(items) != 2 or not isinstance(items[0], Attribute) or not isinstance(items[1], Constant):
        hint = "write exists(tags, t -> t = x) for another attribute x"
        raise RuleSyntaxError(f"{name}() takes an attribute that is an array, and a constant", text, position, hint)
    element = Attribute(("element",))
    return lambda_of(items[0], "element", build.comparison(element, "=", items[1], text, position), position)


def read_access(parser: _Parser, sign: str, start: int) -> bool:
    """Read a place in brackets, or the field of an element after a dot. Returns False: an operator may follow."""
    item, text = parser.items[-1], parser.text
    is_array = isinstance(item, Attribute) or (isinstance(item, Call) and function_of(item).raw)
    if not is_array or (sign == "." and isinstance(item, Attribute)):
        parser._unexpected(sign, start, "an operator such as AND, = or IN")
    match = scan(text, parser.position)
    token, at = token_of(match)
    if sign == ".":
        if match.lastgroup not in ("word", "quoted"):
            parser._unexpected(token, at, "a name after the dot")
        parser.position = match.end()
        name = read_name(token) if match.lastgroup == "quoted" else token
        made = build.call(FIELD, [item, Constant(name, 1.0, False, at)], text, at)
    else:
        is_negative = match["sign"] == "-"
        match = scan(text, match.end()) if is_negative else match
        if match.lastgroup != "number" or not match["number"].isdigit():
            raise RuleSyntaxError("a place in an array is a whole number", text, at, "write items[0].price")
        place = -int(match["number"]) if is_negative else int(match["number"])
        parser.position = match.end()
        parser._expect("]")
        made = build.call(PLACE, [item, Constant(place, 1.0, False, at)], text, start)
    parser.items[-1] = made
    parser.n_nested += 1
    if parser.n_nested >= MAX_DEPTH:
        check_nesting(made, text)  # type: ignore[arg-type]  # an operand, before it is too deep to be looked at
    return False


def _misused(name: str, text: str, position: int) -> RuleSyntaxError:
    message = f"{name}() takes an array, and a condition on its elements after a name for them"
    return RuleSyntaxError(message, text, position, f"write {name}(items, i -> i.price > 5)")
