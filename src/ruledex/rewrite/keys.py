"""A name for each object of a tree that is the same for equal trees, and an order of such names.

A leaf's key is its text; a branch's is a digest of its children's keys, so that shared parts cost nothing
again. Two branches with one digest of 128 bits are taken for equal within one rule, where a collision would
need 2^64 parts; the Program compares structure.
"""

from __future__ import annotations

from hashlib import blake2b

from ruledex.language.text import operand_text, to_text
from ruledex.language.tree import (
    And,
    Expression,
    Operand,
    Or,
    Required,
    Xnor,
    Xor,
)


class Keys:
    """The keys of one rule's objects, each computed once."""

    def __init__(self) -> None:
        # The object is kept beside its key: an id is only its own while the object lives.
        self._known: dict[int, tuple[object, str]] = {}

    def of(self, node: Expression) -> str:
        """The key of a node. Leaves come before branches, in the order of their text."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = (node, self._compute(node))
        return known[1]

    def operand(self, operand: Operand) -> str:
        """The key of an operand: its text."""
        known = self._known.get(id(operand))
        if known is None:
            known = self._known[id(operand)] = (operand, operand_text(operand))
        return known[1]

    def _compute(self, node: Expression) -> str:
        if isinstance(node, And | Or | Xor | Xnor):
            joined = "\0".join([type(node).__name__, *map(self.of, node.children)])
            return "1" + blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        if isinstance(node, Required):  # stands where its child would
            return self.of(node.child)
        return f"0{to_text(node)}"
