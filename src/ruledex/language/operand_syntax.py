"""Reads what makes or changes an operand: lambdas, places and fields of arrays, casts, and `COLLATE name`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError, did_you_mean
from ruledex.language import build, time_syntax
from ruledex.language.any_text import is_any_text
from ruledex.language.build import Constant, Item
from ruledex.language.functions.arrays import FIELD, FILTER, PLACE
from ruledex.language.functions.casts import PREFIX, fold_cast
from ruledex.language.functions.collation import BINARY, COLLATE, LOWER_CASE
from ruledex.language.functions.registry import FUNCTIONS, function_of
from ruledex.language.lambdas import MAX_LEVELS, for_all, lambda_of, levels_of, nodes_in
from ruledex.language.reader import OPEN, Operator
from ruledex.language.rule_checks import check_nesting
from ruledex.language.scanner import read_name, scan, token_of
from ruledex.language.tree import MAX_DEPTH, Attribute, Call, Exists, Named, Required
from ruledex.language.value_types import Interval, Moment

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


POSTFIXES: Final = ("AS", "COLLATE")
CASTS: Final = ("CAST", "TRY_CAST")
_TYPES: Final = {
    **{name.upper(): name for name in ("int", "bigint", "double", "decimal", "string", "boolean", "date", "timestamp")},
    "INTEGER": "int",
    "LONG": "bigint",
    "DEC": "decimal",
    "NUMERIC": "decimal",
}


def read_postfix(parser: _Parser, word: str, start: int, end: int) -> bool:
    """Read a postfix, which ends at `end`, and what belongs to it. Returns False: an operator may follow."""
    text = parser.text
    parser.n_nested += 1
    if word == "COLLATE":
        match = scan(text, end)
        parser.position = match.end()
        parser.items[-1] = collate(parser.items[-1], *token_of(match), text)
        return False
    if word == "AS":
        parser._reduce(OPEN + 1)
        opened = parser.operators[-1] if parser.operators else None
        if opened is None or opened.kind.upper() not in CASTS or opened.n_items > 1:
            raise RuleSyntaxError("AS stands in a cast only", text, start, "write CAST(x AS INT)")
        opened.kind = "("  # all that is left to do at the closing parenthesis
        parser.starts[-1] = opened.position
    name, sizes, parser.position = read_type(text, end)
    if word == "AS" and scan(text, parser.position)["sign"] != ")":
        raise RuleSyntaxError("a cast ends after its type", text, parser.position, "write CAST(x AS INT)")
    parser.items[-1] = cast(parser.items[-1], name, sizes, text, parser.starts[-1])
    return False


def collate(item: Item, name: str, start: int, text: str) -> Item:
    """Return an operand with a collation. UTF8_BINARY is how strings compare anyway."""
    if name.upper() not in (LOWER_CASE, BINARY):
        hint = did_you_mean(name.upper(), (LOWER_CASE, BINARY)) or f"the collations are {LOWER_CASE} and {BINARY}"
        raise RuleSyntaxError(f"there is no collation {name[:40]!r}", text, start, hint)
    if not isinstance(item, Attribute | Call):
        raise RuleSyntaxError("COLLATE stands after an attribute", text, start, "write x COLLATE UTF8_LCASE = 'a'")
    if name.upper() == BINARY:
        return item
    return build.call(COLLATE, [item, Constant(LOWER_CASE, 1.0, False, start)], text, start)


def read_cast(parser: _Parser, position: int, start: int) -> Constant:
    """Read `('1' AS INT)`, which follows CAST where only a constant may stand."""
    text = parser.text
    parser.position = scan(text, position).end()
    item = parser._constant()
    match = scan(text, parser.position)
    if token_of(match)[0].upper() != "AS":
        raise RuleSyntaxError("a cast names its type", text, match.start(), "write CAST('1' AS INT)")
    name, sizes, parser.position = read_type(text, match.end())
    made = cast(item, name, sizes, text, start)
    parser._expect(")")
    assert isinstance(made, Constant)
    return cast_constant(parser, made)


def cast_constant(parser: _Parser, item: Constant) -> Constant:
    """Return a constant after the casts behind it: `'2024-01-01'::DATE`."""
    while (match := scan(parser.text, parser.position))["sign"] == "::":
        name, sizes, parser.position = read_type(parser.text, match.end())
        made = cast(item, name, sizes, parser.text, item.position)
        assert isinstance(made, Constant)
        item = made
    return item


def read_type(text: str, position: int) -> tuple[str, list[int], int]:
    """Return the type that a text names at a position, its sizes in parentheses, and where it ends."""
    match = scan(text, position)
    token, start = token_of(match)
    name = _TYPES.get(token.upper())
    if name is None:
        hint = did_you_mean(token.upper(), _TYPES) or f"the types are {', '.join(_TYPES)}"
        raise RuleSyntaxError(f"there is no type {token[:40]!r} to cast to", text, start, hint)
    sizes: list[int] = []
    end = match.end()
    if name == "decimal" and scan(text, end)["sign"] == "(":
        separator = "("
        while separator != ")":
            number = scan(text, scan(text, end).end())
            if number.lastgroup != "number" or not number["number"].isdigit() or len(number["number"]) > 3:
                raise RuleSyntaxError("the digits of a DECIMAL are whole numbers", text, start, "write DECIMAL(10, 2)")
            sizes.append(int(number["number"]))
            end = number.end()
            separator = scan(text, end)["sign"] or ""
            if separator not in (",", ")") or (separator == "," and len(sizes) == 2):
                raise RuleSyntaxError("a DECIMAL has one or two numbers", text, start, "write DECIMAL(10, 2)")
        end = scan(text, end).end()
    return name, sizes, end


def cast(item: Item, name: str, sizes: list[int], text: str, position: int) -> Item:
    """Return an operand or a constant as another type."""
    if isinstance(item, Constant) and isinstance(item.value, Interval | Moment):
        item = time_syntax.cast_item(item.value, name, text, position)
        if isinstance(item, Constant):
            return item
    function = FUNCTIONS[f"{PREFIX}{name}"]
    if isinstance(item, Constant):
        if item.weighted:
            raise RuleSyntaxError("what is cast takes no weight", text, item.position)
        defaults = [10, 0] if name == "decimal" else []
        given = sizes + defaults[len(sizes) :]
        if function.check is not None and (fault := function.check((None, *given))) is not None:
            raise RuleTypeError(fault, text, position)
        try:
            value = None if item.value is None else fold_cast(function, item.value, *given)
        except ValueError as error:
            raise RuleTypeError(str(error), text, position) from None
        if isinstance(value, float) and math.isinf(value):
            raise RuleTypeError("this is too large for a double", text, position)
        return Constant(value, 1.0, False, position)
    if not isinstance(item, Attribute | Call):
        raise RuleTypeError("a condition cannot be cast", text, position, "cast the values that it tests")
    return build.call(function.name, [item, *(Constant(size, 1.0, False, position) for size in sizes)], text, position)
