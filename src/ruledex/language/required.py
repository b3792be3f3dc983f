"""Where REQUIRED(…) may stand: around a conjunct of the rule, or of a branch of the OR that the rule is.

Only there does it say something. Relaxed matching (relaxed.py) gives up conjuncts of these two kinds and no others.
"""

from __future__ import annotations

from ruledex.errors import RuleSyntaxError
from ruledex.language.tree import (
    And,
    Expression,
    Not,
    Or,
    Required,
    Xnor,
    Xor,
    predicates,
)


def check_required(tree: Expression, text: str) -> None:
    """Refuse a tree in which REQUIRED stands where it says nothing."""
    for branch in parts_of(tree, Or):
        for conjunct in parts_of(branch, And):
            misplaced = _first_required(conjunct.child if isinstance(conjunct, Required) else conjunct)
            if misplaced is not None:
                position = min((p.position for p in predicates(misplaced)), default=0)
                hint = "put it around a conjunct of the rule, or of a branch of its outermost OR"
                raise RuleSyntaxError("REQUIRED says nothing here", text, position, hint)


def without_required(tree: Expression) -> Expression:
    """The same condition without the word; a tree that has none is returned as it is."""
    if isinstance(tree, Required):
        return tree.child
    if isinstance(tree, And | Or):
        children = [without_required(child) for child in tree.children]
        if any(new is not old for new, old in zip(children, tree.children, strict=True)):
            return type(tree)(tuple(children))
    return tree


def parts_of(tree: Expression, kind: type[And] | type[Or]) -> list[Expression]:
    """The children of an AND or OR, of those of its children that are one as well, and so on; else the tree itself."""
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
