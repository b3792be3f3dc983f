"""Makes the two trees of a rule, by passes in a fixed order.

A *match tree* says where a rule is true and takes every Boolean rewrite. A *score tree* gives the score of a true rule,
and takes only the rewrites that keep scores.
"""

from __future__ import annotations

from typing import Final

from ruledex.language.schema import Schema
from ruledex.language.tree import And, Expression, Or, Truth, without_required
from ruledex.rewrite.literals import rewrite_literals
from ruledex.rewrite.merge import Merger
from ruledex.rewrite.negation import expand_xor, push_not
from ruledex.rewrite.settle import has_is, settle
from ruledex.rewrite.simplify import FALSE, absorb, flatten, fold_constants, order_for_score, sort_children
from ruledex.rewrite.walk import NodeKeys, bottom_up

_UNDECLARED: Final = Schema()


def match_tree(tree: Expression, schema: Schema = _UNDECLARED) -> Expression:
    """Return the canonical tree of where a rule is true. It may share parts: walk it with `walk.bottom_up`."""
    # Passes over the whole tree, which bring it into the form that the others need.
    tree = without_required(tree)
    tree = rewrite_literals(settle(tree) if has_is(tree) else expand_xor(push_not(tree)), schema)
    keys = NodeKeys()
    merger = Merger(schema, keys)
    return bottom_up(tree, lambda node: simplify_node(node, merger, keys))


def simplify_node(node: Expression, merger: Merger, keys: NodeKeys) -> Expression:
    """Return a node whose children are simple, after the passes over one node until none changes it.

    Each pass creates work for the others, and none makes a node larger than its children together.
    """
    if isinstance(node, Truth):
        return FALSE if node.value is None else node  # unknown is not true
    while isinstance(node, And | Or):
        before = node
        node = fold_constants(flatten(node), keys)
        if isinstance(node, And | Or):
            node = merger.merge(node)
        if isinstance(node, And | Or):
            node = absorb(sort_children(node, keys), keys)
        if node is before:
            break
    return node


def score_tree(tree: Expression) -> Expression:
    """Return the canonical tree of what a rule scores."""
    return order_for_score(push_not(tree), NodeKeys())
