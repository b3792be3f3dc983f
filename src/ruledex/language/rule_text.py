"""Checks the text of a rule before it is parsed: it must be Unicode, and not too long."""

from __future__ import annotations

from ruledex import limits
from ruledex.errors import RuleLimitError, RuleSyntaxError, quoted


def checked_text(rule: str | bytes) -> str:
    """Return the text. Bytes are decoded as UTF-8. Raises RuleError if the text as a whole is wrong."""
    if isinstance(rule, bytes):
        rule = _decoded(rule)
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


def _decoded(rule: bytes) -> str:
    try:
        return rule.decode("utf-8")
    except UnicodeDecodeError as error:
        position = len(rule[: error.start].decode("utf-8"))
        raise RuleSyntaxError("the text is not UTF-8", rule.decode("utf-8", "replace"), position) from None
