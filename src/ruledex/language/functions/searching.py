"""Functions that look for one text in another, and those that cut, pad and replace parts of a text.

A test against a constant is no function but a LIKE pattern (`pattern_of`), so that it is tested together with
all other patterns of its attribute. Only a test against another attribute is computed per event.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from ruledex import limits
from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.functions.text import is_int32
from ruledex.language.pattern import check_like, is_like, like_pattern
from ruledex.language.regex import MissingRe2Error, check_regex, compile_capturing
from ruledex.language.value import Family

_PATTERNS: Final = {"contains": "%{}%", "startswith": "{}%", "endswith": "%{}"}
PATTERN_TESTS: Final = (*_PATTERNS, "like", "ilike")  # with a constant these are LIKE patterns


def pattern_of(function: str, part: str) -> str | None:
    """Return the LIKE pattern that tests the same as a function with a constant, or None for other functions."""
    form = _PATTERNS.get(function)
    if form is None:
        return None
    return form.format(part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_"))


def _like(text: str, pattern: str) -> bool | None:
    """Return whether a text is LIKE a pattern that came with the event, or None if that is not a pattern."""
    return _fits(text, pattern, ignore_case=False)


def ilike(text: str, pattern: str) -> bool | None:
    """Return whether a text is ILIKE a pattern that came with the event, or None if that is not a pattern."""
    return _fits(text, pattern, ignore_case=True)


def _fits(text: str, pattern: str, ignore_case: bool) -> bool | None:
    try:
        pattern = like_pattern(pattern, "\\")
        check_like(pattern, ignore_case)
        return is_like(text, pattern, ignore_case)
    except ValueError:  # an escape before nothing, half of a surrogate pair, or a limit
        return None


def instr(text: str, part: str) -> int:
    """Return where a part begins, counted from 1, or 0 if the text does not have it."""
    return text.find(part) + 1


def lpad(text: str, length: int, pad: str) -> str:
    """Return the text with padding in front of it, or its first characters if it is longer."""
    return _padding(text, length, pad) + text[: max(length, 0)]


def rpad(text: str, length: int, pad: str) -> str:
    """Return the text with padding behind it, or its first characters if it is longer."""
    return text[: max(length, 0)] + _padding(text, length, pad)


def _padding(text: str, length: int, pad: str) -> str:
    n_missing = length - len(text)
    return (pad * (n_missing // len(pad) + 1))[:n_missing] if pad and n_missing > 0 else ""


def _check_padding(constants: Constants) -> str | None:
    length, most = constants[1], limits.current().concat_characters
    if not is_int32(length):
        return "the length that a text is padded to must be a whole number of 32 bits"
    if isinstance(length, int) and length > most:
        return f"a text of {length:,} characters is over the limit concat_characters of {most:,}"
    return None


def replaced(text: str, search: str, replacement: str) -> str | None:
    """Return the text with each occurrence of a part replaced, or None if that exceeds the limit concat_characters."""
    if not search:
        return text
    growth = len(replacement) - len(search)
    if growth > 0 and len(text) + text.count(search) * growth > limits.current().concat_characters:
        return None
    return text.replace(search, replacement)


def regexp_extract(text: str, pattern: str, group: int) -> str | None:
    """Return what a group of the first match holds, or '' if nothing matches or the group takes no part in it."""
    try:
        found = _capturing(pattern).search(text)
    except UnicodeEncodeError:  # half of a surrogate pair, which no pattern can match
        return None
    return "" if found is None else found.group(group) or ""


@lru_cache(maxsize=128)
def _capturing(pattern: str) -> Any:
    return compile_capturing(pattern)


limits.forget_when_changed(_capturing.cache_clear)


def _check_regexp_extract(constants: Constants) -> str | None:
    pattern, group = constants[1:]
    if not isinstance(pattern, str):
        return "the pattern of regexp_extract must be a string"
    try:
        check_regex(pattern)
        n_groups = _capturing(pattern).groups
    except MissingRe2Error as error:
        return str(error)
    except ValueError as error:
        return f"RE2 refuses this regular expression: {error}"
    if isinstance(group, int) and not isinstance(group, bool) and 0 <= group <= n_groups:
        return None
    return f"the group of regexp_extract must be a whole number from 0 to {n_groups}, the groups of the pattern"


_TEXT = Parameter("x", Family.STRING)
_PART = Parameter("part", Family.STRING)
_LENGTH = Parameter("length", Family.NUMBER, literal=True)
_PAD = Parameter("pad", Family.STRING, default=" ")


def _test(name: str, call: Any, second: Parameter, summary: str, example: str, spark: str) -> Function:
    return Function(
        name=name,
        parameters=(_TEXT, second),
        result=Family.BOOLEAN,
        call=call,
        summary=summary,
        example=example,
        spark=spark,
    )


FUNCTIONS: tuple[Function, ...] = (
    _test(
        "contains",
        str.__contains__,
        _PART,
        "Whether the string has a part; with a constant it is a `LIKE` pattern.",
        "contains(title, brand)",
        "contains({0}, {1})",
    ),
    _test(
        "startswith",
        str.startswith,
        _PART,
        "Whether the string starts with another; with a constant it is a `LIKE` pattern.",
        "startswith(path, home)",
        "startswith({0}, {1})",
    ),
    _test(
        "endswith",
        str.endswith,
        _PART,
        "Whether the string ends with another; with a constant it is a `LIKE` pattern.",
        "endswith(host, domain)",
        "endswith({0}, {1})",
    ),
    _test(
        "like",
        _like,
        Parameter("pattern", Family.STRING),
        "Whether the string fits a pattern that another attribute has, written `x LIKE pattern`; unknown if that is "
        "not a pattern.",
        "path LIKE allowed",
        "({0} LIKE {1})",
    ),
    _test(
        "ilike",
        ilike,
        Parameter("pattern", Family.STRING),
        "The same without regard to case, written `x ILIKE pattern`.",
        "path ILIKE allowed",
        "({0} ILIKE {1})",
    ),
    Function(
        name="instr",
        parameters=(_TEXT, _PART),
        result=Family.NUMBER,
        call=instr,
        summary="Where a part begins in the string (1 is the first character), or 0 if it is not in it.",
        example="instr(email, '@') > 1",
        spark="instr({0}, {1})",
    ),
    Function(
        name="lpad",
        parameters=(_TEXT, _LENGTH, _PAD),
        result=Family.STRING,
        call=lpad,
        summary="The string filled in front with a padding (spaces by default) to so many characters, or cut to them.",
        example="lpad(code, 5, '0') = '00042'",
        spark="lpad({0}, {1}, {2})",
        check=_check_padding,
    ),
    Function(
        name="rpad",
        parameters=(_TEXT, _LENGTH, _PAD),
        result=Family.STRING,
        call=rpad,
        summary="The string filled behind with a padding (spaces by default) to so many characters, or cut to them.",
        example="rpad(code, 4, 'x') = 'abxx'",
        spark="rpad({0}, {1}, {2})",
        check=_check_padding,
    ),
    Function(
        name="ltrim",
        parameters=(_TEXT,),
        result=Family.STRING,
        call=lambda text: text.lstrip(" "),
        summary="The string without spaces in front; tabs and line ends stay.",
        example="ltrim(name) != ''",
        spark="ltrim({0})",
    ),
    Function(
        name="rtrim",
        parameters=(_TEXT,),
        result=Family.STRING,
        call=lambda text: text.rstrip(" "),
        summary="The string without spaces at its end; tabs and line ends stay.",
        example="rtrim(name) = 'Ada'",
        spark="rtrim({0})",
    ),
    Function(
        name="replace",
        parameters=(_TEXT, Parameter("search", Family.STRING), Parameter("replacement", Family.STRING, default="")),
        result=Family.STRING,
        call=replaced,
        summary="The string with every occurrence of a part replaced (or removed, without a replacement); unknown if "
        "it exceeds the limit `concat_characters`.",
        example="replace(phone, '-') = '5550100'",
        spark="replace({0}, {1}, {2})",
    ),
    Function(
        name="regexp_extract",
        parameters=(
            _TEXT,
            Parameter("pattern", Family.STRING, literal=True),
            Parameter("group", Family.NUMBER, literal=True, default=1),
        ),
        result=Family.STRING,
        call=regexp_extract,
        summary="What a group (1 by default, 0 for the whole) of the first match of an expression of RE2 holds; empty "
        "if nothing matches.",
        example="regexp_extract(url, '//([^/]+)/', 1) = 'example.com'",
        spark="regexp_extract({0}, {1}, {2})",
        check=_check_regexp_extract,
    ),
)
