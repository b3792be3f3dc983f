"""Gives each object of a tree a key that is the same for equal trees, and orders such keys.

The key of a leaf is its text. The key of a branch is a digest of its children's keys, so shared parts are computed
once. Within one rule, two branches with the same digest of 128 bits are taken to be equal; a collision would need 2^64
parts. The Program compares structure.
"""

from __future__ import annotations

from hashlib import blake2b

from ruledex.language.text import operand_text, to_text
from ruledex.language.tree import And, Expression, Operand, Or, Required, Xnor, Xor


class NodeKeys:
    """The keys of one rule's objects, each computed once."""

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
        return f"0{to_text(node)}"
