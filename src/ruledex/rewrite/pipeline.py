"""The two trees of a rule and the passes that make them, in order.

A *match tree* answers where a rule is true and takes every Boolean rewrite. A *score tree* gives what a true rule
scores, and takes only what keeps scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ruledex.language.schema import Schema
from ruledex.language.tree import Expression
from ruledex.rewrite.absorb import absorb
from ruledex.rewrite.expand_xor import expand_xor
from ruledex.rewrite.flatten import flatten, flatten_for_score
from ruledex.rewrite.fold import fold
from ruledex.rewrite.keys import Keys
from ruledex.rewrite.literals import literals
from ruledex.rewrite.merge import merge
from ruledex.rewrite.push_not import push_not
from ruledex.rewrite.sort import sort, sort_for_score

Pass: TypeAlias = Callable[[Expression, Schema, Keys], Expression]

# Once, to bring a tree into the form that the others take.
PREPARE: Final[tuple[Pass, ...]] = (
    lambda tree, _schema, _keys: push_not(tree),
    lambda tree, _schema, _keys: expand_xor(tree),
    lambda tree, schema, _keys: literals(tree, schema),
)

# Again and again until nothing changes: each makes work for the others, and none makes a tree larger.
SIMPLIFY: Final[tuple[Pass, ...]] = (
    lambda tree, _schema, _keys: flatten(tree),
    lambda tree, _schema, keys: fold(tree, keys),
    lambda tree, schema, keys: merge(tree, schema, keys),
    lambda tree, _schema, keys: sort(tree, keys),
    lambda tree, _schema, keys: absorb(tree, keys),
)

SCORE: Final[tuple[Pass, ...]] = (
    lambda tree, _schema, _keys: push_not(tree),
    lambda tree, _schema, _keys: flatten_for_score(tree),
    lambda tree, _schema, keys: sort_for_score(tree, keys),
)

_UNDECLARED: Final = Schema()


def match_tree(tree: Expression, schema: Schema = _UNDECLARED) -> Expression:
    """The canonical tree of where a rule is true. Its parts may be shared objects: walk it with `walk.bottom_up`."""
    keys = Keys()
    for rewrite in PREPARE:
        tree = rewrite(tree, schema, keys)
    while True:
        before = tree
        for rewrite in SIMPLIFY:
            tree = rewrite(tree, schema, keys)
        if tree is before:
            return tree


def score_tree(tree: Expression, schema: Schema = _UNDECLARED) -> Expression:
    """The canonical tree of what a rule scores."""
    keys = Keys()
    for rewrite in SCORE:
        tree = rewrite(tree, schema, keys)
    return tree
