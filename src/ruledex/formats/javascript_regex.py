"""Regular expressions that mean in JavaScript what they mean in RE2."""

from __future__ import annotations

import re
from typing import Final

from ruledex.formats.writing import cannot_say
from ruledex.language.tree import Predicate

_SPECIAL: Final = frozenset("\\.+*?()|[]{}^$")
_ANY: Final = r"[\s\S]"
_TOKEN: Final = re.compile(r"\\(.)|(\[)|(\])|(\(\?:?)|(.)", re.DOTALL)
_SAME: Final = frozenset("dDwWbBtnrfv" + "".join(_SPECIAL) + "/-\"'#&,:;<=>@`~!% ")
_SPACES: Final = r"\t\n\f\r "  # what \s is in RE2; JavaScript has more


def like_regex(parts: list[tuple[str, bool]], ignore_case: bool) -> str:
    """Return a regular expression for the parts of a LIKE pattern."""
    if not parts:
        return "^$"
    made = ["" if parts[0] == ("%", True) else "^"]
    for at, (text, is_wildcard) in enumerate(parts):
        if not is_wildcard:
            made += [_any_case(character) if ignore_case else _escaped(character) for character in text]
        elif text == "_":
            made.append(_ANY)
        elif 0 < at < len(parts) - 1:
            made.append(f"{_ANY}*")
    return "".join(made) + ("" if parts[-1] == ("%", True) else "$")


def _escaped(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character


def _any_case(character: str) -> str:
    """Return a class of the characters that are this one in lower case."""
    lower = character.lower()
    others = {c for c in (character, lower, lower.upper(), "\u212a") if len(c) == 1 and c.lower() == lower}
    return _escaped(character) if len(others) < 2 else f"[{''.join(sorted(others))}]"


def plain_regex(pattern: str, part: Predicate, system: str) -> tuple[str, bool]:
    """Return a regular expression of RE2 for JavaScript, and whether it ignores case. Raises if it uses RE2's own."""
    ignores_case = pattern.startswith("(?i)")
    made: list[str] = []
    in_class = False
    text = pattern.removeprefix("(?i)")
    for match in _TOKEN.finditer(text):
        escaped, opens, closes, group, plain = match.groups()
        found = match[0]
        if escaped is not None:
            if escaped == "s":
                found = _SPACES if in_class else f"[{_SPACES}]"
            elif escaped == "S" and not in_class:
                found = f"[^{_SPACES}]"
            elif escaped not in _SAME or (in_class and escaped in "bB"):
                raise _own(part, system, found)
        elif opens and not in_class:
            in_class = True
            if text[match.end() : match.end() + 2].removeprefix("^").startswith("]"):
                raise _own(part, system, "[]")
        elif opens:
            if text[match.end() : match.end() + 1] in (":", "."):
                raise _own(part, system, "[[:")
            found = "\\["
        elif closes:
            in_class = False
        elif group == "(?" and not in_class:
            raise _own(part, system, text[match.start() : match.start() + 4])
        elif plain == "." and not in_class:
            found = r"[^\n]"
        made.append(found)
    return "".join(made), ignores_case


def _own(part: Predicate, system: str, found: str) -> Exception:
    return cannot_say(part, system, f"may not read {found} in a regular expression as RE2 does")
