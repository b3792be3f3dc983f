"""Finds where Spark would convert a text to the type of the column that it is compared with.

The type of a column is not part of a condition, so this says what depends on it: a text that reads as a number, a date
or a boolean is one in Spark if the column is, and stays a text here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ruledex.errors import RuleError
from ruledex.language.lambdas import is_of_element
from ruledex.language.parser import parse
from ruledex.language.text import path_text, string_text
from ruledex.language.tree import (
    Attribute,
    Between,
    Compare,
    Exists,
    Expression,
    In,
    NullSafe,
    predicates,
)

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}(?:-[0-9]{1,2})?")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9].*", re.DOTALL)
_BOOLEANS: Final = ("true", "false")


def converted_texts(tree: Expression) -> Iterator[tuple[int, str]]:
    """Yield the positions of predicates in which Spark may convert a text, and what to say of each."""
    for predicate in predicates(tree):
        if isinstance(predicate, Exists):
            yield from converted_texts(predicate.body)
            continue
        values: tuple[Any, ...] = ()
        match predicate:
            case Compare(Attribute(), _, value) | NullSafe(Attribute(), value):
                values = (value,)
            case Between(Attribute(), low, high):
                values = low, high
            case In(Attribute(), several):
                values = several
        for value in values:
            if isinstance(value, str) and (message := _message(value, path_text(_path_of(predicate)))):
                yield predicate.position, message
                break


def _path_of(predicate: Any) -> tuple[str, ...]:
    path: tuple[str, ...] = predicate.operand.path
    return path[1:] or path if is_of_element(path) else path


def _message(value: str, name: str) -> str:
    text, plain = string_text(value), value.strip()
    if _NUMBER.fullmatch(plain):
        return f"in a column of numbers Spark reads {text} as one; here it is a text: write {plain} if {name} is one"
    if plain.lower() in _BOOLEANS:
        return f"in a column of booleans Spark reads {text} as one; here it is a text: write {plain} if {name} is one"
    word = "DATE" if _DATE.fullmatch(plain) else "TIMESTAMP" if _TIME.fullmatch(plain) else ""
    if not word:
        return ""
    advice = f": write {word} {text}, or declare {name} in the schema" if _is_rule(f"x = {word} {text}") else ""
    return f"in a column of dates or times Spark reads {text} as one; here it is a text{advice}"


def _is_rule(text: str) -> bool:
    try:
        parse(text)
    except RuleError:
        return False
    return True
