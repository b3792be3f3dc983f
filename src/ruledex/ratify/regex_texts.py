"""Texts that a regular expression matches, made from its parts and confirmed by RE2."""

from __future__ import annotations

import re
import warnings
from random import Random
from typing import Any, Final

from ruledex.language.pattern import has_match

_LONGEST_REPEAT: Final = 3  # more than the least number of times
_TRIES: Final = 12
_SAMPLE: Final = "aZ5_ -é"
# What RE2 writes in another way than Python.
_RESPELLED: Final = (
    ("\\z", "\\Z"),
    ("[:alpha:]", "a-zA-Z"),
    ("[:digit:]", "0-9"),
    ("[:alnum:]", "a-zA-Z0-9"),
    ("[:space:]", "\\s"),
    ("[:upper:]", "A-Z"),
    ("[:lower:]", "a-z"),
    ("[:word:]", "\\w"),
    ("\\pL", "[a-zA-Z]"),
    ("\\p{L}", "[a-zA-Z]"),
    ("\\pN", "[0-9]"),
    ("\\p{N}", "[0-9]"),
)
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": "07",
    "CATEGORY_NOT_DIGIT": "a-",
    "CATEGORY_SPACE": " \t",
    "CATEGORY_NOT_SPACE": "a0",
    "CATEGORY_WORD": "a_9",
    "CATEGORY_NOT_WORD": "- ",
}


def matching_texts(regex: str, generator: Random) -> list[str]:
    """Return some texts in which a regular expression of RE2 has a match; none if it is not understood here."""
    respelled = regex
    for of_re2, of_python in _RESPELLED:
        respelled = respelled.replace(of_re2, of_python)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a syntax that Python may give another meaning one day
            parsed = _parse(respelled)
        drawn = [_text(parsed, generator) for _ in range(_TRIES)]
    except (re.error, ValueError, OverflowError, RecursionError, ImportError):
        drawn = [regex, re.sub(r"[\\^$.*+?()\[\]{}|]", "", regex)]
    return [text for text in dict.fromkeys(drawn) if has_match(text, regex)]


def _parse(regex: str) -> Any:
    from re import _parser  # type: ignore[attr-defined]  # the only parser of its kind that Python brings

    return _parser.parse(regex)


def _text(parsed: Any, generator: Random) -> str:
    parts = []
    for operation, argument in parsed:
        name = str(operation)
        if name == "LITERAL":
            parts.append(chr(argument))
        elif name == "NOT_LITERAL":
            parts.append(next(c for c in _SAMPLE if ord(c) != argument))
        elif name == "ANY":
            parts.append(generator.choice(_SAMPLE))
        elif name == "IN":
            parts.append(_one_of(argument, generator))
        elif name == "BRANCH":
            parts.append(_text(generator.choice(argument[1]), generator))
        elif name == "SUBPATTERN":
            parts.append(_text(argument[-1], generator))
        elif name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            least, most, repeated = argument
            n_times = generator.randint(least, max(least, min(most, least + _LONGEST_REPEAT)))
            parts += [_text(repeated, generator) for _ in range(n_times)]
        elif name != "AT":  # an anchor needs no character; RE2 tells later whether its place is right
            raise ValueError(name)
    return "".join(parts)


def _one_of(choices: Any, generator: Random) -> str:
    is_negated = str(choices[0][0]) == "NEGATE"
    if is_negated:
        kept = [c for c in _SAMPLE + "xQ3#/\n" if not any(_has(choice, c) for choice in choices[1:])]
        return generator.choice(kept) if kept else "\x01"
    operation, argument = generator.choice(choices)
    name = str(operation)
    if name == "RANGE":
        return chr(generator.randint(*argument))
    return generator.choice(_CATEGORIES[str(argument)]) if name == "CATEGORY" else chr(argument)


def _has(choice: Any, character: str) -> bool:
    operation, argument = choice
    name = str(operation)
    if name == "RANGE":
        return bool(argument[0] <= ord(character) <= argument[1])
    if name == "CATEGORY":
        pattern = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(argument).rpartition("_")[2]]
        return (re.match(pattern, character) is not None) != ("_NOT_" in str(argument))
    return bool(argument == ord(character))
