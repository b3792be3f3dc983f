"""Comparison without regard to case: `x COLLATE UTF8_LCASE`, as in Spark 4.

A collated operand has, for each string, the key by which Spark compares it, and constants become keys when a rule is
parsed. So a comparison, IN and LIKE are indexed as those of any other derived attribute. Spark compares by the lower
case of each character, and tests patterns as Java's regular expressions do, which is coarser: there are two keys.
"""

from __future__ import annotations

from typing import Final

from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.value import Family

COLLATE: Final = "collate"
COLLATE_LIKE: Final = "collate_like"
LOWER_CASE: Final = "UTF8_LCASE"
BINARY: Final = "UTF8_BINARY"


def compared_key(text: str, _: str = LOWER_CASE) -> str:
    """Return what a string is compared by: the lower case of each character by itself; both small sigmas are one."""
    # The lower case of a whole text depends on context only where a capital sigma ends a word.
    return text.lower().replace("ς", "σ")


def pattern_key(text: str, _: str = LOWER_CASE) -> str:
    """Return what a string or a pattern is tested by: the one-character lower case of the upper case of each."""
    if text.isascii():
        return text.lower()
    return "".join(map(_pattern_character, text))


def _pattern_character(character: str) -> str:
    upper = character.upper()
    if len(upper) > 1:  # such as SS: Java takes a capital of one character, or none
        title = character.title()
        upper = title if len(title) == 1 else character
    return upper.lower()[0]  # of the dotted capital I, only the i


def _check(constants: Constants) -> str | None:
    return None if constants[1] == LOWER_CASE else f"the collations are {LOWER_CASE} and {BINARY}, which is the default"


_PARAMETERS: Final = (Parameter("x", Family.STRING), Parameter("collation", Family.STRING, literal=True))

FUNCTIONS: tuple[Function, ...] = (
    Function(
        name=COLLATE,
        parameters=_PARAMETERS,
        result=Family.STRING,
        call=compared_key,
        summary="The string, compared without regard to case, written `x COLLATE UTF8_LCASE`.",
        example="city COLLATE UTF8_LCASE = 'Paris'",
        spark="({0} COLLATE UTF8_LCASE)",
        check=_check,
    ),
    Function(
        name=COLLATE_LIKE,
        parameters=_PARAMETERS,
        result=Family.STRING,
        call=pattern_key,
        summary="The same for patterns: what `x COLLATE UTF8_LCASE LIKE …` tests.",
        example="city COLLATE UTF8_LCASE LIKE 'New %'",
        spark="({0} COLLATE UTF8_LCASE)",
        check=_check,
    ),
)
