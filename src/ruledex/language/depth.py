"""Limits how deep a tree may nest, because functions that walk a tree recurse and the stack is finite."""

from __future__ import annotations

from typing import Final

from ruledex.language.tree import BRANCHES, Call, CompareOperands, Expression, Node, Not, Required, Truth, Weak

MAX_DEPTH: Final = 256


def depth_of(tree: Expression) -> int:
    """Return the number of nodes on the longest path down, including operands. Works without recursion."""
    deepest = 0
    pending: list[tuple[Node, int]] = [(tree, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        below: tuple[object, ...]
        if isinstance(node, BRANCHES):
            below = node.children
        elif isinstance(node, Not | Required):
            below = (node.child,)
        elif isinstance(node, Weak):
            below = (node.predicate,)
        elif isinstance(node, Call):
            below = node.arguments
        elif isinstance(node, CompareOperands):
            below = (node.left, node.right)
        elif isinstance(node, Truth) or not hasattr(node, "operand"):
            continue
        else:
            below = (node.operand,)
        pending.extend((child, depth + 1) for child in below if isinstance(child, Node))
    return deepest
