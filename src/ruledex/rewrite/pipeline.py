"""Makes the two trees of a rule, by passes in a fixed order.

A *match tree* says where a rule is true and takes every Boolean rewrite. A *score tree* gives the score of a true rule,
and takes only the rewrites that keep scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ruledex.language.schema import Schema
from ruledex.language.tree import And, Expression, Or, Truth, without_required
from ruledex.rewrite.absorb import absorb
from ruledex.rewrite.expand_xor import expand_xor
from ruledex.rewrite.flatten import flatten, flatten_for_score
from ruledex.rewrite.fold import FALSE, fold_constants
from ruledex.rewrite.keys import NodeKeys
from ruledex.rewrite.literals import literals
from ruledex.rewrite.merge import Merger
from ruledex.rewrite.push_not import push_not
from ruledex.rewrite.sort import sort_children, sort_for_score
from ruledex.rewrite.walk import bottom_up

Pass: TypeAlias = Callable[[Expression, Schema, NodeKeys], Expression]
NodePass: TypeAlias = Callable[[And | Or, Merger, NodeKeys], Expression]

# Passes over a whole tree, which bring it into the form that the others need.
PREPARE: Final[tuple[Pass, ...]] = (
    lambda tree, _schema, _keys: without_required(tree),
    lambda tree, _schema, _keys: push_not(tree),
    lambda tree, _schema, _keys: expand_xor(tree),
    lambda tree, schema, _keys: literals(tree, schema),
)

# Passes over a node whose children are done, repeated until nothing changes. Each creates work for the others, and
# none makes a node larger than its children together.
SIMPLIFY: Final[tuple[NodePass, ...]] = (
    lambda node, _merger, _keys: flatten(node),
    lambda node, _merger, keys: fold_constants(node, keys),
    lambda node, merger, _keys: merger.merge(node),
    lambda node, _merger, keys: sort_children(node, keys),
    lambda node, _merger, keys: absorb(node, keys),
)

SCORE: Final[tuple[Pass, ...]] = (
    lambda tree, _schema, _keys: push_not(tree),
    lambda tree, _schema, _keys: flatten_for_score(tree),
    lambda tree, _schema, keys: sort_for_score(tree, keys),
)

_UNDECLARED: Final = Schema()


def match_tree(tree: Expression, schema: Schema = _UNDECLARED) -> Expression:
    """Return the canonical tree of where a rule is true. It may share parts: walk it with `walk.bottom_up`."""
    keys = NodeKeys()
    for rewrite in PREPARE:
        tree = rewrite(tree, schema, keys)
    merger = Merger(schema, keys)
    return bottom_up(tree, lambda node: _simplified(node, merger, keys))


def _simplified(node: Expression, merger: Merger, keys: NodeKeys) -> Expression:
    if isinstance(node, Truth):
        return FALSE if node.value is None else node  # unknown is not true
    while isinstance(node, And | Or):
        before: Expression = node
        for rewrite in SIMPLIFY:
            node = rewrite(node, merger, keys)
            if not isinstance(node, And | Or):
                return node
        if node is before:
            break
    return node


def score_tree(tree: Expression, schema: Schema = _UNDECLARED) -> Expression:
    """Return the canonical tree of what a rule scores."""
    keys = NodeKeys()
    for rewrite in SCORE:
        tree = rewrite(tree, schema, keys)
    return tree
