"""Makes `exists(items, i -> …)` and `forall(items, i -> …)` of what the parser, or a structured rule, has read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ruledex.errors import RuleLimitError, RuleSyntaxError, RuleTypeError
from ruledex.language import build
from ruledex.language.any_text import is_any_text
from ruledex.language.build import Item
from ruledex.language.lambdas import MAX_LEVELS, for_all, lambda_of, levels_of, nodes_in
from ruledex.language.reader import OPEN, Operator
from ruledex.language.rule_checks import check_depth
from ruledex.language.tree import Attribute, Named, Required

LAMBDAS: Final = ("exists", "forall")  # not keywords: attributes may have these names


def open_lambda(operators: list[Operator], items: list[Item], starts: list[int], text: str, position: int) -> bool:
    """Take the last item as the variable of a lambda whose arrow stands at a position. Its body is the next item."""
    opened = operators[-1] if operators else None
    if opened is None or opened.precedence != OPEN or opened.kind.lower() not in LAMBDAS:
        hint = "write exists(items, i -> i.price > 5)"
        raise RuleSyntaxError("-> stands in exists() and forall() only", text, position, hint)
    variable = items[-1]
    if opened.n_items != 2 or opened.variable or not isinstance(variable, Attribute) or len(variable.path) > 1:
        raise _misused(opened.kind, text, opened.position)
    opened.variable = variable.path[0]
    del items[-1], starts[-1]
    return True


def call_with_lambda(name: str, variable: str, items: Sequence[Item], text: str, position: int) -> Item:
    """Return `name(array, variable -> body)`, with the array and the body as items, or another function of items."""
    if name.lower() not in LAMBDAS:
        return build.call(name, items, text, position)
    if len(items) != 2 or not variable:
        raise _misused(name, text, position)
    array, body = items
    if not isinstance(array, Attribute):
        raise RuleTypeError(f"{name}() takes an attribute that is an array", text, position)
    tree = build.condition(body, text, position)
    check_depth(tree, text)
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
    return for_all(made) if name.lower() == "forall" else made


def _misused(name: str, text: str, position: int) -> RuleSyntaxError:
    message = f"{name}() takes an array, and a condition on its elements after a name for them"
    return RuleSyntaxError(message, text, position, f"write {name}(items, i -> i.price > 5)")
