"""Walking a tree whose parts are shared: each object is visited once, and what does not change stays itself.

Expanding XOR makes one object a child of many. Every pass works through `bottom_up`, so that its cost is in
the number of objects, not in the size of the tree they unfold to, and so that a pass which changes nothing
returns the very object it was given: that is how the pipeline knows that it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ruledex.language.tree import And, Expression, Or


def bottom_up(tree: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The tree with `change` applied to each object, children first. Below AND and OR, all counts as a leaf."""
    done: dict[int, Expression] = {}

    def visit(node: Expression) -> Expression:
        result = done.get(id(node))
        if result is None:
            result = change(with_children(node, map(visit, node.children)) if isinstance(node, And | Or) else node)
            done[id(node)] = result
        return result

    return visit(tree)


def with_children(node: And | Or, children: Iterable[Expression]) -> And | Or:
    """The node with these children; itself where they are its own."""
    made = tuple(children)
    if len(made) == len(node.children) and all(a is b for a, b in zip(made, node.children, strict=True)):
        return node
    return type(node)(made)


def joined(kind: type[And] | type[Or], children: Iterable[Expression]) -> Expression:
    """AND or OR of any number of children: one stands for itself; `children` must not be empty."""
    made = tuple(children)
    return made[0] if len(made) == 1 else kind(made)
