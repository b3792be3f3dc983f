"""Walks a tree whose parts are shared: visits each object once, and keeps objects that do not change.

Expanding XOR makes one object a child of many. Every pass uses `bottom_up`, so its cost depends on the number of
objects, not on the size of the tree that they unfold to. A pass that changes nothing returns the very object that it
was given: this is how the pipeline knows that it is done.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator

from ruledex.language.tree import And, Expression, Or


def post_order(tree: Expression) -> Iterator[Expression]:
    """Yield each object of a tree once, children first. No recursion, because expanding XOR makes deep trees deeper."""
    seen: set[int] = set()
    pending: list[tuple[Expression, bool]] = [(tree, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, And | Or):
                pending.append((node, True))
                pending.extend([(child, False) for child in reversed(node.children)])
            else:
                yield node


def bottom_up(tree: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the tree with `change` applied to each object, children first. Everything but AND and OR is a leaf."""
    if not isinstance(tree, And | Or):
        return change(tree)
    done: dict[int, Expression] = {}
    for node in post_order(tree):
        if isinstance(node, And | Or):
            done[id(node)] = change(with_children(node, [done[id(child)] for child in node.children]))
        else:
            done[id(node)] = change(node)
    return done[id(tree)]


def with_children(node: And | Or, children: Iterable[Expression]) -> And | Or:
    """Return the node with these children, or the node itself if they are its own."""
    made = tuple(children)
    if len(made) == len(node.children) and all(map(operator.is_, made, node.children)):
        return node
    return type(node)(made)


def join_children(kind: type[And] | type[Or], children: Iterable[Expression]) -> Expression:
    """Return an AND or OR of children, or the child itself if there is one. `children` must not be empty."""
    made = tuple(children)
    return made[0] if len(made) == 1 else kind(made)
