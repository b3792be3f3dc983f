"""The fuzz target: whatever the bytes are, a rule or a `RuleError`; and a rule's text is the same rule again."""

from __future__ import annotations

from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.text import tree_text


def read(content: bytes) -> bool:
    """Parse bytes and print what they are. True if they are a rule; raises whatever must never be raised."""
    try:
        tree = parse(content)
    except RuleError as error:
        str(error)  # the message, with its excerpt, must be printable whatever the text
        return False
    text = tree_text(tree)
    assert parse(text) == tree, text
    assert hash(parse(text)) == hash(tree), text
    return True
