"""Checks that a tree which a format made is one that the parser could have made of its text.

Parsing the text again would say so, and takes longer than all the rest. Branches need no check, predicates on plain
attributes with plain constants need none either, and every other predicate is parsed once per text.
"""

from __future__ import annotations

import math
import re
from typing import Final

from ruledex import limits
from ruledex.errors import RuleError
from ruledex.language.lambdas import MAX_LEVELS, is_of_element
from ruledex.language.parser import parse
from ruledex.language.reader import check_text
from ruledex.language.text import tree_text
from ruledex.language.tree import (
    Attribute,
    Compare,
    Exists,
    Expression,
    In,
    IsNull,
    Like,
    Operand,
    Predicate,
    Value,
    predicates,
)
from ruledex.language.value import INT64_MAX, INT64_MIN

_NAME: Final = re.compile(r"[\w.:/@ -]+")  # in backticks where it has to be
_SOME_ARRAY: Final = Attribute(("a",))
_LONGEST_PATTERN: Final = 200  # characters of a LIKE, whose program is small for certain


class TreeCheck:
    """Checks trees. It remembers the texts of the predicates that were parsed."""

    def __init__(self) -> None:
        self._sound: set[str] = set()

    def check(self, tree: Expression, text: str) -> None:
        """Raise if the text of a tree is no rule."""
        try:
            check_text(text)
            for predicate in predicates(tree):
                if not _is_plain(predicate):
                    self._parse(predicate)
        except RuleError as error:
            message = f"$: in the language of ruledex this is no rule: {error.message}"
            raise type(error)(message, hint=error.hint) from None

    def _parse(self, predicate: Predicate) -> None:
        if isinstance(predicate, Exists) and predicate.level == 0 and predicate.operand != _SOME_ARRAY:
            inner = list(predicates(predicate.body))
            if inner and _is_plain_path(predicate.operand) and not any(isinstance(p, Exists) for p in inner):
                for part in inner:  # each by itself: rules share them more often than the whole
                    if not _is_plain(part):
                        self._parse(Exists(_SOME_ARRAY, part))
                return
        text = tree_text(predicate)
        if text not in self._sound:
            parse(text)
            self._sound.add(text)


def _is_plain(predicate: Predicate) -> bool:
    """Return whether nothing can be wrong with a predicate."""
    match predicate:
        case Compare(operand, op, value):
            kind = _kind(value)
            return kind is not None and (op == "=" or kind is not bool) and _is_plain_path(operand)
        case In(operand, values):
            kinds = {_kind(value) for value in values}
            return len(kinds) == 1 and None not in kinds and _is_plain_path(operand)
        case Like(operand, (pattern,)):
            is_short = len(pattern) <= _LONGEST_PATTERN
            return is_short and f"x{pattern.strip('%')}".isalnum() and _is_plain_path(operand)
        case IsNull(operand):
            return _is_plain_path(operand)
        case Exists(operand, body, level):
            inner = list(predicates(body))
            return level < MAX_LEVELS and bool(inner) and _is_plain_path(operand) and all(map(_is_plain, inner))
    return False


def _kind(value: Value) -> type | None:
    """Return the type of a constant whose text is surely read as the same."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, str):
        return str
    if isinstance(value, int):
        return int if INT64_MIN < value <= INT64_MAX else None
    return int if isinstance(value, float) and math.isfinite(value) else None


def _is_plain_path(operand: Operand) -> bool:
    if not isinstance(operand, Attribute) or len(operand.path) > min(limits.current().path_steps, 50):
        return False
    path = operand.path[1:] if operand.path and is_of_element(operand.path) else operand.path
    return bool(operand.path) and all(map(_NAME.fullmatch, path))
