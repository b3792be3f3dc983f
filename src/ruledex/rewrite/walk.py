"""What all passes share: walking a tree whose parts are shared, and keys that are the same for equal trees.

Expanding XOR makes one object a child of many. Every pass uses `bottom_up`, so its cost depends on the number of
objects, not on the size of the tree that they unfold to. A pass that changes nothing returns the very object that it
was given: this is how the pipeline knows that it is done.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

from ruledex.language.text import operand_text, tree_text
from ruledex.language.tree import And, Expression, Operand, Or, Required, Xnor, Xor


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


class NodeKeys:
    """The keys of one rule's objects, each computed once. Equal trees have equal keys.

    The key of a leaf is its text. The key of a branch is a digest of its children's keys, so shared parts are computed
    once. Within one rule, two branches with the same digest of 128 bits are taken to be equal; a collision would need
    2^64 parts. The Program compares structure.
    """

    def __init__(self) -> None:
        # The object is kept beside its key: an id is unique only while the object lives.
        self._known: dict[int, tuple[object, str]] = {}

    def of(self, node: Expression) -> str:
        """Return the key of a node. Leaves come before branches, in the order of their text."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, self._compute(node))
        return known[1]

    def operand(self, operand: Operand) -> str:
        """Return the key of an operand: its text."""
        known = self._known.get(id(operand))
        if known is None:
            known = self._known[id(operand)] = (operand, operand_text(operand))
        return known[1]

    def _compute(self, node: Expression) -> str:
        if isinstance(node, And | Or | Xor | Xnor):
            joined = "\0".join([type(node).__name__, *map(self.of, node.children)])
            return "1" + blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        if isinstance(node, Required):  # sorted like its child
            return self.of(node.child)
        return f"0{tree_text(node)}"
