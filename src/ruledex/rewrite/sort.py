"""Children in one order, so that equal expressions become equal trees. Keeps all three truth values, and the score."""

from __future__ import annotations

from ruledex.language.tree import And, Expression, Or, Xnor, Xor
from ruledex.rewrite.keys import Keys
from ruledex.rewrite.walk import bottom_up, with_children


def sort(tree: Expression, keys: Keys) -> Expression:
    """The same rule with the children of AND and OR in the order of their keys."""
    return bottom_up(tree, lambda node: _sorted(node, keys) if isinstance(node, And | Or) else node)


def _sorted(node: And | Or, keys: Keys) -> Expression:
    return with_children(node, sorted(node.children, key=keys.of))


def sort_for_score(tree: Expression, keys: Keys) -> Expression:
    """The same below XOR and XNOR too. Their own children stay: which side of a chain scores depends on their order."""
    match tree:
        case Xor(children) | Xnor(children):
            return type(tree)(tuple(sort_for_score(child, keys) for child in children))
        case And(children) | Or(children):
            return _sorted(with_children(tree, (sort_for_score(child, keys) for child in children)), keys)
    return tree
