"""Sorts children, so that equal expressions become equal trees. Keeps all three truth values, and the score."""

from __future__ import annotations

from ruledex.language.tree import And, Expression, Or, Required, Xnor, Xor
from ruledex.rewrite.keys import NodeKeys
from ruledex.rewrite.walk import with_children


def sort_children(node: And | Or, keys: NodeKeys) -> And | Or:
    """Return the node with its children in the order of their keys."""
    return with_children(node, sorted(node.children, key=keys.of))


def sort_for_score(tree: Expression, keys: NodeKeys) -> Expression:
    """Do the same below XOR and XNOR too. Their own children stay in order, because the score depends on it."""
    match tree:
        case Xor(children) | Xnor(children):
            return type(tree)(tuple(sort_for_score(child, keys) for child in children))
        case And(children) | Or(children):
            return sort_children(with_children(tree, (sort_for_score(child, keys) for child in children)), keys)
        case Required(child):
            return Required(sort_for_score(child, keys))
    return tree
