"""Functions of strings. Lengths and positions count code points, as in Spark."""

from __future__ import annotations

import re
from typing import Final

from ruledex.language.functions.signature import Constants, Function, Parameter
from ruledex.language.tree import Value
from ruledex.language.value import Family
from ruledex.language.value_types import MavenVersion, Network, Version

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def is_int32(value: Value | None) -> bool:
    """Return whether a constant is a whole number of 32 bits."""
    return isinstance(value, int) and INT32_MIN <= value <= INT32_MAX


def substring(text: str, position: int, length: int) -> str:
    """Return the text from a position, counted from 1, or from the end if negative. 0 is the same as 1.

    Positions before the start of the text count towards the length: three characters from -5 of 'abc' are 'a'.
    """
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _check_substring(constants: Constants) -> str | None:
    if all(map(is_int32, constants[1:])):
        return None
    return "the position and length of substring must be whole numbers of 32 bits"


def split_part(text: str, delimiter: str, part: int) -> str:
    """Return a part by its number, counted from 1, or from the end if negative, or '' if there is no such part."""
    parts = text.split(delimiter) if delimiter else [text]
    index = part - 1 if part > 0 else len(parts) + part
    return parts[index] if 0 <= index < len(parts) else ""


def _check_split_part(constants: Constants) -> str | None:
    part = constants[2]
    return None if is_int32(part) and part != 0 else "the part of split_part must be a whole number other than 0"


def concat(*texts: str) -> str:
    """Return all texts, joined."""
    return "".join(texts)


def trim(text: str) -> str:
    """Return the text without spaces at its ends. Tabs and line ends stay, as in Spark."""
    return text.strip(" ")


_TEXT = Parameter("x", Family.STRING)


_IGNORED: Final = re.compile(r"^v|\+.*$", re.DOTALL)
_NUMBER: Final = re.compile(r"[0-9]+", re.ASCII)
_WIDTH: Final = 5


def version_key(text: str) -> str:
    """Return a text that compares as GrowthBook compares versions.

    Parts are cut at points and hyphens alike. Numbers are padded on the left, so that 9 is below 10. Three parts are a
    release, which a tilde puts above its pre-releases.
    """
    parts = re.split(r"[-.]", _IGNORED.sub("", text or "0"))
    if len(parts) == 3:
        parts.append("~")
    return "-".join(part.rjust(_WIDTH) if _NUMBER.fullmatch(part) else part for part in parts)


FUNCTIONS: tuple[Function, ...] = (
    Function(
        name="length",
        parameters=(_TEXT,),
        result=Family.NUMBER,
        call=len,
        summary="The number of characters (Unicode code points).",
        example="length(title) > 80",
        spark="length({0})",
    ),
    Function(
        name="lower",
        parameters=(_TEXT,),
        result=Family.STRING,
        call=str.lower,
        summary="The string in lower case.",
        example="lower(city) = 'paris'",
        spark="lower({0})",
    ),
    Function(
        name="upper",
        parameters=(_TEXT,),
        result=Family.STRING,
        call=str.upper,
        summary="The string in upper case.",
        example="upper(country) IN ('IN', 'US')",
        spark="upper({0})",
    ),
    Function(
        name="trim",
        parameters=(_TEXT,),
        result=Family.STRING,
        call=trim,
        summary="The string without spaces at both ends; tabs and line ends stay.",
        example="trim(name) != ''",
        spark="trim({0})",
    ),
    Function(
        name="substring",
        parameters=(
            _TEXT,
            Parameter("position", Family.NUMBER, literal=True),
            Parameter("length", Family.NUMBER, literal=True, default=INT32_MAX),
        ),
        result=Family.STRING,
        call=substring,
        summary="The string from a position (1 is the first character, -1 the last) to the end, or so many characters.",
        example="substring(phone, 1, 3) = '+91'",
        spark="substring({0}, {1}, {2})",
        check=_check_substring,
    ),
    Function(
        name="split_part",
        parameters=(
            _TEXT,
            Parameter("delimiter", Family.STRING, literal=True),
            Parameter("part", Family.NUMBER, literal=True),
        ),
        result=Family.STRING,
        call=split_part,
        summary="A part of the string between delimiters, by its number (1 is the first, -1 the last); empty if there "
        "is none.",
        example="split_part(email, '@', 2) = 'example.com'",
        spark="split_part({0}, {1}, {2})",
        check=_check_split_part,
    ),
    Function(
        name="concat",
        parameters=(_TEXT, Parameter("y", Family.STRING)),
        result=Family.STRING,
        call=concat,
        summary="Two or more strings joined.",
        example="concat(country, '-', region) = 'US-CA'",
        spark="concat({all})",
        variadic=True,
        joins=True,
    ),
    # Spark has none of these: versions and addresses have their own order.
    Function(
        name="version",
        parameters=(_TEXT,),
        result=Family.VERSION,
        call=Version.read,
        summary="The version that a string names, in the order of semantic versioning: `1.9` is below `1.10`.",
        example="version(app) < '4.10.2'",
        spark=None,
    ),
    Function(
        name="maven_version",
        parameters=(_TEXT,),
        result=Family.MAVEN,
        call=MavenVersion.read,
        summary="The version that a string names, in the order of Maven: `1-rc1` is below `1`, which equals `1.0` and "
        "`1.Final` and is below `1-sp` and `1-1`.",
        example="maven_version(artifact.version) >= '3.9.0-rc-1'",
        spark=None,
    ),
    Function(
        name="cidr",
        parameters=(_TEXT,),
        result=Family.ADDRESS,
        call=Network.read,
        summary="The IP address that a string names. It equals every network that contains it.",
        example="cidr(client) IN ('10.0.0.0/8', '2001:db8::/32')",
        spark=None,
    ),
    Function(
        name="version_key",
        parameters=(Parameter("x", Family.STRING),),
        result=Family.STRING,
        call=version_key,
        spark=None,
        summary=(
            "A text by which versions sort as in GrowthBook: points and hyphens both end a part, and three parts are a "
            "release. `ruledex convert --from mongo` writes it; in your own rules, use `version`."
        ),
        example="version_key(app) >= '    1-   10-    0-~'",
    ),
)
