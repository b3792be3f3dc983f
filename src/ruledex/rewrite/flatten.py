"""Joins nested ANDs and ORs. Keeps all three truth values, and the score.

(a AND b) AND c  =  a AND b AND c         (a OR b) OR c  =  a OR b OR c
"""

from __future__ import annotations

from ruledex.language.tree import And, Expression, Not, Or, Required, Xnor, Xor
from ruledex.rewrite.walk import with_children


def flatten(node: And | Or) -> And | Or:
    """Return the node with the children of those children that have its own kind."""
    if not any(type(child) is type(node) for child in node.children):
        return node
    children: list[Expression] = []
    for child in node.children:
        if isinstance(child, And | Or) and type(child) is type(node):
            children += child.children
        else:
            children.append(child)
    return with_children(node, children)


def flatten_for_score(tree: Expression) -> Expression:
    """Do the same, also below XOR and XNOR, which score trees keep. Their own chains keep their order."""
    match tree:
        case Xor(children) | Xnor(children):
            return type(tree)(tuple(flatten_for_score(child) for child in children))
        case Not():
            return tree
        case Required(child):
            return Required(flatten_for_score(child))
        case And(children) | Or(children):
            return flatten(with_children(tree, map(flatten_for_score, children)))
    return tree
