"""Checks where REQUIRED(…) is used: around a conjunct of the rule, or of a branch of its outermost OR.

It has a meaning only there, because relaxed matching (docs/ranking.md) gives up conjuncts of these two kinds only.
"""

from __future__ import annotations

from ruledex.errors import RuleSyntaxError
from ruledex.language.tree import And, Expression, Not, Or, Required, Xnor, Xor, predicates


def check_required(tree: Expression, text: str) -> None:
    """Raise if REQUIRED is used where it has no effect."""
    for branch in parts_of(tree, Or):
        for conjunct in parts_of(branch, And):
            misplaced = _first_required(conjunct.child if isinstance(conjunct, Required) else conjunct)
            if misplaced is not None:
                position = min((p.position for p in predicates(misplaced)), default=0)
                hint = "put it around a conjunct of the rule, or of a branch of its outermost OR"
                raise RuleSyntaxError("REQUIRED has no effect here", text, position, hint)


def without_required(tree: Expression) -> Expression:
    """Return the same condition without REQUIRED. A tree that has none is returned as it is."""
    if isinstance(tree, Required):
        return tree.child
    if isinstance(tree, And | Or):
        children = [without_required(child) for child in tree.children]
        if any(new is not old for new, old in zip(children, tree.children, strict=True)):
            return type(tree)(tuple(children))
    return tree


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
        elif isinstance(part, Not):
            pending.append(part.child)
    return None
