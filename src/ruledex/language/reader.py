"""What a parser of rule texts stands on: how tightly operators bind, and a text with the position read up to."""

from __future__ import annotations

from typing import Final, NoReturn

from ruledex.errors import RuleSyntaxError, did_you_mean
from ruledex.language import build
from ruledex.language.scanner import read_number, scan, token_of

# How tightly operators bind, the loosest first.
OPEN, OR, XOR, AND, NOT, COMPARE, SUM, PRODUCT, NEGATIVE = range(9)
BRANCH: Final = {"AND": AND, "OR": OR, "XOR": XOR, "XNOR": XOR}
BINARY: Final = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "DIV": PRODUCT} | dict.fromkeys(
    ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"), COMPARE
)
TRUTHS: Final = {"TRUE": True, "FALSE": False, "UNKNOWN": None}  # what IS tests for


class Operator:
    """An operator, or an open parenthesis, that waits on the stack for its right operand."""

    __slots__ = ("kind", "n_items", "position", "precedence", "variable")

    def __init__(self, precedence: int, kind: str, position: int, n_items: int = 2) -> None:
        self.precedence = precedence
        self.kind = kind
        self.position = position
        self.n_items = n_items
        self.variable = ""  # of the lambda that a function was given


class TextReader:
    """A text and the position up to which it is read."""

    __slots__ = ("position", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def _weight(self) -> float | None:
        """Read and return the number after a `^`, or return None if there is no `^`."""
        match = scan(self.text, self.position)
        if match["sign"] != "^":
            return None
        number = scan(self.text, match.end())
        self.position = number.end()
        if number.lastgroup != "number":
            if number["sign"] == "-":
                raise RuleSyntaxError("a weight is not negative", self.text, number.end() - 1)
            self._unexpected(*token_of(number), "a weight, such as ^2.5")
        weight = float(read_number(number["number"], self.text, number.start("number")))
        return build.check_weight(weight, self.text, number.start("number"))

    def _expect(self, wanted: str) -> None:
        """Read a sign or a keyword that must stand here."""
        match = scan(self.text, self.position)
        self.position = match.end()
        token, start = token_of(match)
        if token.upper() != wanted:
            self._unexpected(token, start, wanted, did_you_mean(token, (wanted,)))

    def _unexpected(self, token: str, position: int, expected: str, hint: str = "") -> NoReturn:
        """Raise the error of a token that cannot stand where it does."""
        found = f"found {token[:40]!r}" if token else "the rule ends here"
        raise RuleSyntaxError(f"{found}, expected {expected}", self.text, position, hint)
