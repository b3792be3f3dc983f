"""Checks of a whole rule after it was parsed: how deep it nests, and where REQUIRED stands."""

from __future__ import annotations

from ruledex.errors import RuleLimitError, RuleSyntaxError
from ruledex.language.tree import (
    MAX_DEPTH,
    And,
    Expression,
    Is,
    Not,
    Or,
    Required,
    Weighed,
    Xnor,
    Xor,
    depth_of,
    predicates,
)


def check_nesting(tree: Expression, text: str) -> None:
    """Raise if a tree nests deeper than functions that walk it may recurse."""
    depth = depth_of(tree)
    if depth > MAX_DEPTH:
        raise RuleLimitError(f"the rule nests {depth:,} deep, over the limit of {MAX_DEPTH}", text)


def check_required(tree: Expression, text: str) -> None:
    """Raise if REQUIRED is used where it has no effect.

    It has one around a conjunct of the rule, or of a branch of its outermost OR: relaxed matching (docs/ranking.md)
    gives up conjuncts of these two kinds only.
    """
    for branch in parts_of(tree, Or):
        for conjunct in parts_of(branch, And):
            misplaced = _first_required(conjunct.child if isinstance(conjunct, Required) else conjunct)
            if misplaced is not None:
                position = min((p.position for p in predicates(misplaced)), default=0)
                hint = "put it around a conjunct of the rule, or of a branch of its outermost OR"
                raise RuleSyntaxError("REQUIRED has no effect here", text, position, hint)


def parts_of(tree: Expression, kind: type[And] | type[Or]) -> list[Expression]:
    """Return the children of an AND or OR, with nested ones of the same kind opened, or else the tree itself."""
    parts, pending = [], [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, kind):
            pending.extend(reversed(part.children))
        else:
            parts.append(part)
    return parts


def _first_required(tree: Expression) -> Required | None:
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Required):
            return part
        if isinstance(part, And | Or | Xor | Xnor):
            pending.extend(reversed(part.children))
        elif isinstance(part, Not | Is | Weighed):
            pending.append(part.child)
    return None
