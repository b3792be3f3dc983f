"""Comparisons, truth and regular expressions as JavaScript has them, which JsonLogic, Mongo and GrowthBook take over.

A text that names a number compares as that number, true as 1, and what is missing as 0. Only two texts compare as
texts.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ruledex.formats.conditions import (
    FALSE,
    all_of,
    any_of,
    has_no_value,
    is_array,
    is_empty_array,
    negate,
    number,
    string,
)
from ruledex.formats.writing import cannot_say
from ruledex.language.structured_parts import Place
from ruledex.language.tree import Attribute, Call, Compare, Expression, IsNull, Operand, Predicate
from ruledex.language.value import HOLDS

_NUMBER: Final = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


def as_number(operand: Operand) -> Operand:
    """Return the number that an operand is, or that its text names."""
    return Call("cast_double", (operand,))


def is_empty_text(operand: Operand) -> Expression:
    """Return that an operand is the empty text. A schema may declare it as anything else."""
    return Compare(Call("cast_string", (operand,)), "=", "")


def is_truthy(operand: Operand, empty_array: bool) -> Expression:
    """Return that a value counts as true: all but null, false, 0 and the empty text, and maybe the empty array."""
    falsy = (Compare(operand, "=", False), Compare(operand, "=", 0), Compare(operand, "=", ""))
    truthy = negate(any_of((has_no_value(operand) if empty_array else IsNull(operand), *falsy)))
    if not isinstance(operand, Attribute):
        return truthy
    array = is_array(operand)  # whatever its elements are
    return any_of((truthy, array if empty_array else all_of((array, negate(is_empty_array(operand))))))


def compare_number(operand: Operand, op: str, expected: int | float) -> Expression:
    """Return a comparison with a number, in which what is missing, and the empty text, count as 0."""
    if not isinstance(operand, Attribute):
        return Compare(operand, op, expected)
    made: Expression = Compare(as_number(operand), op, expected)
    return any_of((made, IsNull(operand), is_empty_text(operand))) if constants_compare(0, op, expected) else made


def compare_order(operand: Operand, op: str, expected: Any, place: Place) -> Expression:
    """Return a comparison by < <= > or >= with a constant."""
    if isinstance(expected, str) and not isinstance(operand, Attribute):  # a function, which gives a number
        found = number_of(expected)
        return FALSE if found is None else Compare(operand, op, found)
    if isinstance(expected, str):
        text: Expression = Compare(operand, op, string(expected, place, "a value"))
        bound = number_of(expected)
        if bound is None:
            return text
        missing = IsNull(operand) if constants_compare(0, op, bound) else FALSE
        named = [Compare(operand, "=", truth) for truth in (False, True) if constants_compare(int(truth), op, bound)]
        return any_of((text, Compare(operand, op, bound), *named, missing))
    if expected is None or isinstance(expected, bool):
        expected = int(expected or 0)
    return compare_number(operand, op, number(expected, place, "what is compared with"))


def number_of(text: str) -> float | None:
    """Return the number that a text names, or None. The empty text is 0."""
    if not text.strip():
        return 0.0
    return float(text) if _NUMBER.fullmatch(text) else None


def constants_compare(value: float | str, op: str, expected: float | str) -> bool:
    """Return whether two constants compare so."""
    return HOLDS[op]((value > expected) - (value < expected))  # type: ignore[operator]  # both are of one type


def ordered_constants(left: Any, op: str, right: Any) -> bool:
    """Return whether two constants compare so, of whichever types they are."""
    if isinstance(left, str) and isinstance(right, str):
        return constants_compare(left, op, right)
    numbers = [number_of(value) if isinstance(value, str) else float(value or 0) for value in (left, right)]
    return None not in numbers and constants_compare(numbers[0] or 0.0, op, numbers[1] or 0.0)


def equal_constants(left: Any, right: Any, strict: bool) -> bool:
    """Return whether two constants are equal: by ===, or by ==, which converts them."""
    kinds = {"number" if type(value) in (int, float) else type(value).__name__ for value in (left, right)}
    if strict or len(kinds) == 1 or None in (left, right):
        return len(kinds) == 1 and bool(left == right)
    return ordered_constants(left, "<=", right) and ordered_constants(left, ">=", right)


def text_in_javascript(value: Any) -> str | None:
    """Return the text that JavaScript looks for in a text, or None if it depends on how a number is written."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else None


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
