"""The analyser of Elasticsearch's full-text queries: a text is its words in lower case.

A word is a longest run of letters, marks, digits and underscores, as `str.lower` and Unicode's categories say. All
other characters separate words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from itertools import groupby
from typing import Final

from ruledex.language.tree import Call, Expression, Operand, Rlike

_CHARACTER: Final = r"[\p{L}\p{M}\p{N}_]"
_OTHER: Final = r"[^\p{L}\p{M}\p{N}_]"
ONE: Final = "\ue001"  # the part of a pattern that stands for one character
_START: Final = f"(?:^|{_OTHER})"
_END: Final = f"(?:{_OTHER}|$)"


def words_of(text: str) -> list[str]:
    """Return the words of a text, in their order."""
    return ["".join(run) for is_word, run in groupby(text.lower(), _is_of_word) if is_word]


def _is_of_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LMN"


def has_word(operand: Operand, words: Iterable[str]) -> Expression:
    """Return that a text has one of some words."""
    given = list(words)
    return _found(operand, _START + (given[0] if len(given) == 1 else f"(?:{'|'.join(given)})") + _END)


def has_phrase(operand: Operand, words: list[str], is_prefix: bool = False) -> Expression:
    """Return that a text has words behind each other. Of a prefix, the last word is only a beginning."""
    return _found(operand, _START + f"{_OTHER}+".join(words) + ("" if is_prefix else _END))


def has_word_like(operand: Operand, pattern: list[str | None]) -> Expression:
    """Return that a text has a word of a pattern: texts, None for any characters, and ONE for one."""
    made = "".join(f"{_CHARACTER}*" if part is None else _CHARACTER if part == ONE else part for part in pattern)
    return _found(operand, _START + made + _END)


def _found(operand: Operand, pattern: str) -> Expression:
    return Rlike(Call("lower", (operand,)), pattern)
