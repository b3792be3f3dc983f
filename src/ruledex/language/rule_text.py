"""What a text must be before anything is read in it: Unicode, and not endless."""

from __future__ import annotations

from typing import Final

from ruledex.errors import RuleLimitError, RuleSyntaxError

MAX_LENGTH: Final = 16 * 1024 * 1024


def checked_text(rule: str | bytes) -> str:
    """The text, or an error that says what is wrong with it as a whole. Bytes are UTF-8."""
    if isinstance(rule, bytes):
        rule = _decoded(rule)
    elif not rule.isascii():
        try:
            rule.encode("utf-8")
        except UnicodeEncodeError as error:
            shown = rule.encode("utf-8", "replace").decode()
            raise RuleSyntaxError("the text is not Unicode: half of a surrogate pair", shown, error.start) from None
    if len(rule) > MAX_LENGTH:
        raise RuleLimitError(f"the rule has {len(rule):,} characters, over the limit of {MAX_LENGTH:,}", rule[:200])
    return rule


def _decoded(rule: bytes) -> str:
    try:
        return rule.decode("utf-8")
    except UnicodeDecodeError as error:
        position = len(rule[: error.start].decode("utf-8"))
        raise RuleSyntaxError("the text is not UTF-8", rule.decode("utf-8", "replace"), position) from None
