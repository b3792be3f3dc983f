"""Reads what follows an operand and changes it: `AS type` within CAST, `::type`, and `COLLATE name`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ruledex.errors import RuleSyntaxError, RuleTypeError, did_you_mean
from ruledex.language import build, time_syntax
from ruledex.language.build import Constant, Item
from ruledex.language.functions.casts import PREFIX, fold_cast
from ruledex.language.functions.collation import BINARY, COLLATE, LOWER_CASE
from ruledex.language.functions.registry import FUNCTIONS
from ruledex.language.reader import OPEN
from ruledex.language.scanner import scan, token_of
from ruledex.language.tree import Attribute, Call
from ruledex.language.value_types import Interval, Moment

if TYPE_CHECKING:
    from ruledex.language.parser import _Parser

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
