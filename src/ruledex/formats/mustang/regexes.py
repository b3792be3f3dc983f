"""Regular expressions of Java that match a whole text, as RE2 reads them."""

from __future__ import annotations

import re
from typing import Final

from ruledex.errors import RuleError
from ruledex.language import build
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Expression, Operand

_CLOSED: Final = re.compile(r"(?<!\\)(?:\\\\)*\$\Z")


def whole_match(operand: Operand, regex: str, place: Place, weight: float = 1.0) -> Expression:
    """Return that a regular expression matches all of a text. Raises what RE2 has against it, with the place."""
    body = regex.removeprefix("^")
    if "|" in body or "\\Q" in body:
        pattern = f"^(?:{regex})$"
    else:
        pattern = f"^{body}" if _CLOSED.search(body) else f"^{body}$"
    try:
        return build.regular_expression(operand, build.Constant(pattern, weight, False, 0), "", 0)
    except RuleError as error:
        raise type(error)(f"{place}: {error.message}", hint=error.hint) from None


def of_whole_match(pattern: str) -> str:
    """Return a regular expression that matches a whole text where a pattern matches somewhere in it."""
    opened, closed = pattern.startswith("^"), _CLOSED.search(pattern) is not None
    if pattern.startswith("^(?:") and pattern.endswith(")$") and _is_one_group(pattern[1:-1]):
        return pattern[4:-2]
    if "|" in pattern or "\\Q" in pattern or pattern.startswith("(?"):
        return f"(?s:.*)(?:{pattern})(?s:.*)"
    body = pattern[opened : len(pattern) - closed]
    return ("" if opened else "(?s:.*)") + body + ("" if closed else "(?s:.*)")


def _is_one_group(text: str) -> bool:
    """Return whether the first parenthesis is closed by the last one."""
    depth, escaped, in_class = 0, False, False
    for at, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
        elif character in "()":
            depth += 1 if character == "(" else -1
            if depth == 0 and at < len(text) - 1:
                return False
    return True
