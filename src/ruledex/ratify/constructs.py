"""The constructs of the language that a rule uses, by name, for reports on what was covered."""

from __future__ import annotations

from typing import Final

from ruledex.language.any_text import is_any_text
from ruledex.language.lambdas import nodes_in
from ruledex.language.tree import (
    Attribute,
    Between,
    Call,
    Compare,
    CompareOperands,
    Exists,
    Expression,
    In,
    Is,
    IsNull,
    Like,
    Node,
    Not,
    NullSafe,
    Or,
    Rlike,
    SetTest,
    Xnor,
    Xor,
)
from ruledex.language.value_types import Moment

_NAMES: Final[dict[type, str]] = {
    Between: "BETWEEN",
    Exists: "exists()",
    In: "IN",
    Is: "IS TRUE",
    IsNull: "IS NULL",
    Not: "NOT",
    NullSafe: "<=>",
    Or: "OR",
    Rlike: "RLIKE",
    Xnor: "XNOR",
    Xor: "XOR",
}


def constructs_of(tree: Expression) -> set[str]:
    """Return the names of the constructs in a rule, those inside of lambdas included."""
    return {name for node in nodes_in(tree) if (name := _name(node)) is not None} | _of_values(tree)


def _name(node: Node) -> str | None:
    match node:
        case Compare(_, op):
            return "=" if op == "=" else "< <= > >="
        case CompareOperands():
            return "attribute against attribute"
        case Like(_, _, _, ignore_case):
            return "ILIKE" if ignore_case else "LIKE"
        case SetTest(_, test):
            return f"{test}()"
        case Call(function):
            if is_any_text(node):
                return "*"
            return f"{function}()" if function.isidentifier() else function
    return _NAMES.get(type(node))


def _of_values(tree: Expression) -> set[str]:
    found = set()
    for node in nodes_in(tree):
        if isinstance(node, Attribute) and len(node.path) > 1:
            found.add("path of several steps")
        constants = [getattr(node, name, None) for name in ("value", "low", "high")] + list(getattr(node, "values", ()))
        if any(isinstance(constant, Moment) for constant in constants):
            found.add("now()")
    return found
