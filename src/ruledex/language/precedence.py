"""The operators of the grammar and how tightly they bind."""

from __future__ import annotations

from typing import Final

from ruledex.language.tree import And, Branch, Or, Xnor, Xor

# How tightly operators bind, the loosest first.
OPEN, OR, XOR, AND, NOT, COMPARE, SUM, PRODUCT, NEGATIVE = range(9)
BRANCH: Final = {"AND": AND, "OR": OR, "XOR": XOR, "XNOR": XOR}
BRANCH_NODE: Final[dict[str, type[Branch]]] = {"AND": And, "OR": Or, "XOR": Xor, "XNOR": Xnor}
BINARY: Final = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT} | dict.fromkeys(
    ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"), COMPARE
)


class Operator:
    """An operator, or an open parenthesis, that waits on the stack for its right operand."""

    __slots__ = ("kind", "n_items", "position", "precedence")

    def __init__(self, precedence: int, kind: str, position: int, n_items: int = 2) -> None:
        self.precedence = precedence
        self.kind = kind
        self.position = position
        self.n_items = n_items
