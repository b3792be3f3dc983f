"""Nested ANDs and ORs joined. Keeps all three truth values, and the score.

(a AND b) AND c  =  a AND b AND c         (a OR b) OR c  =  a OR b OR c
"""

from __future__ import annotations

from ruledex.language.tree import And, Expression, Not, Or, Xnor, Xor
from ruledex.rewrite.walk import bottom_up, with_children


def flatten(tree: Expression) -> Expression:
    """The same rule with no AND directly below an AND, and no OR below an OR."""
    return bottom_up(tree, _flattened)


def _flattened(node: Expression) -> Expression:
    if not isinstance(node, And | Or) or not any(type(child) is type(node) for child in node.children):
        return node
    children: list[Expression] = []
    for child in node.children:
        if isinstance(child, And | Or) and type(child) is type(node):
            children += child.children
        else:
            children.append(child)
    return with_children(node, children)


def flatten_for_score(tree: Expression) -> Expression:
    """The same below XOR and XNOR, which score trees keep, and whose own chains keep their order."""
    match tree:
        case Xor(children) | Xnor(children):
            return type(tree)(tuple(flatten_for_score(child) for child in children))
        case Not():
            return tree
        case And(children) | Or(children):
            return _flattened(with_children(tree, map(flatten_for_score, children)))
    return tree
