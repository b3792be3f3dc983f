"""What a text must be before anything is read in it: Unicode, and not endless."""

from __future__ import annotations

from ruledex import limits
from ruledex.errors import RuleLimitError, RuleSyntaxError, quoted


def checked_text(rule: str | bytes) -> str:
    """The text, or an error that says what is wrong with it as a whole. Bytes are UTF-8."""
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
