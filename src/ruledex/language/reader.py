"""What a parser of rule texts stands on: how tightly operators bind, and a checked text, read up to a position."""

from __future__ import annotations

from typing import Final, NoReturn

from ruledex import limits
from ruledex.errors import RuleLimitError, RuleSyntaxError, did_you_mean, quoted
from ruledex.language import build
from ruledex.language.scanner import read_number, scan, token_of

# How tightly operators bind, the loosest first.
OPEN, OR, XOR, AND, NOT, COMPARE, SUM, PRODUCT, NEGATIVE = range(9)
BRANCH: Final = {"AND": AND, "OR": OR, "XOR": XOR, "XNOR": XOR}
BINARY: Final = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "DIV": PRODUCT} | dict.fromkeys(
    ("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"), COMPARE
)
TRUTHS: Final = {"TRUE": True, "FALSE": False, "UNKNOWN": None}  # what IS tests for


def check_text(rule: str | bytes) -> str:
    """Return the text. Bytes are decoded as UTF-8. Raises RuleError if the text as a whole is wrong."""
    if isinstance(rule, bytes):
        rule = _decode(rule)
    elif not isinstance(rule, str):
        raise RuleSyntaxError(f"a rule is a text, not {quoted(rule)}")
    elif not rule.isascii():
        try:
            rule.encode("utf-8")
        except UnicodeEncodeError as error:
            shown = rule.encode("utf-8", "replace").decode()
            raise RuleSyntaxError("the text is not Unicode: half of a surrogate pair", shown, error.start) from None
    most = limits.current().rule_characters
    if len(rule) > most:
        message = f"the rule has {len(rule):,} characters, over the limit rule_characters of {most:,}"
        raise RuleLimitError(message, rule[:200])
    return rule


def _decode(rule: bytes) -> str:
    try:
        return rule.decode("utf-8")
    except UnicodeDecodeError as error:
        position = len(rule[: error.start].decode("utf-8"))
        raise RuleSyntaxError("the text is not UTF-8", rule.decode("utf-8", "replace"), position) from None


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
    """A text and the position up to which it is read. Raises RuleError if the text as a whole is wrong."""

    __slots__ = ("position", "text")

    def __init__(self, text: str | bytes) -> None:
        self.text = check_text(text)
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
