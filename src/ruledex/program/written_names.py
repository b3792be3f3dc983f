"""Writes named conditions out in the texts of rules, so that compiled code can read these rules too.

    @members AND a = 1   becomes   (NOT NOT (age >= 18 AND is_member)) AND a = 1

The two negations cancel, and keep what is in parentheses a condition: where the language does not allow a name, such as
`@verified = 1`, the text that replaces it is not allowed either, and the parser then reads the rule as it was written.
A definition that is one predicate keeps its name, which the table of predicates knows as it does any other predicate.
"""

from __future__ import annotations

from ruledex import limits
from ruledex.language.scanner import TOKEN, read_name
from ruledex.language.schema import Schema
from ruledex.language.text import tree_text
from ruledex.language.tree import PREDICATES, Is, Not

_LAMBDA = "->"  # a name may not be used inside one, though its condition may


class NameWriter:
    """Writes the definitions of a schema into texts. Each is made into text once."""

    def __init__(self, schema: Schema) -> None:
        self._definitions = schema.bound_definitions
        self._written: dict[str, str] = {}

    def write_out(self, rule: bytes) -> bytes | None:
        """Return a rule with its named conditions written out, or None if the parser has to read it."""
        try:
            text = rule.decode("utf-8")
        except UnicodeDecodeError:
            return None
        if "@" not in text or _LAMBDA in text:
            return None
        pieces: list[str] = []
        at, done, n_characters = 0, 0, len(text)
        while (match := TOKEN.match(text, at)) is not None and match.lastgroup != "end":
            at = match.end()
            if match.lastgroup == "named":
                name = read_name(match["named"])
                if name not in self._definitions:
                    return None
                n_characters += self._definitions[name].n_characters
                if written := self._text_of(name):
                    pieces += [text[done : match.start("named")], written]
                    done = at
        if match is None or not pieces or n_characters > limits.current().expanded_characters:
            return None
        return "".join([*pieces, text[done:]]).encode("utf-8")

    def _text_of(self, name: str) -> str:
        """Return what replaces a name; nothing if the name stays."""
        if name not in self._written:
            tree = self._definitions[name].tree
            literal = tree.child if isinstance(tree, Not) else tree
            is_one = isinstance(literal, (*PREDICATES, Is))
            self._written[name] = "" if is_one else f"(NOT NOT ({tree_text(tree)}))"
        return self._written[name]
