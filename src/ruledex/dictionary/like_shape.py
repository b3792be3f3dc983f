"""A LIKE pattern taken apart: a word that a text must have, where, and a test of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ruledex.dictionary.regex_literals import LONGEST_WORD
from ruledex.dictionary.word_trie import (
    END,
    INSIDE,
    START,
    WHOLE,
)
from ruledex.language.like_pieces import fits, pieces_of
from ruledex.language.pattern import like_to_regex
from ruledex.language.programs import compile_regex

# Whether a text satisfies a pattern: the text, without half surrogates, and the same in UTF-8, which RE2 reads.
Test: TypeAlias = Callable[[str, bytes], bool]


class Shape(NamedTuple):
    """What tells whether a text is LIKE a pattern."""

    word: str  # a text that is LIKE it has this word; empty where it need have none
    use: int  # where the word must stand: INSIDE, START, END, WHOLE
    decides: bool  # whether the word there is all that the pattern asks for
    test: Test


def like_shape(pattern: str) -> Shape:
    """Take a pattern with backslash as its escape apart."""
    pieces, needs_regex = pieces_of(pattern)
    test = _regex_test(pattern) if needs_regex else lambda text, _: fits(text, pieces)
    runs = [run for piece in pieces for _, run in piece.runs]
    word = max(runs, key=len, default="")
    if len(word) > LONGEST_WORD or any(piece.length != sum(len(run) for _, run in piece.runs) for piece in pieces):
        # Parts of long words are looked for, and words beside an _; what stands around them is the test's to say.
        return Shape(word[:LONGEST_WORD], INSIDE, False, test)
    if len(pieces) == 1:
        return Shape(word, WHOLE, bool(word), test)
    if pieces[0].length == len(word):
        use = START
    else:
        use = END if pieces[-1].length == len(word) and all(p.length < len(word) for p in pieces[:-1]) else INSIDE
    return Shape(word, use, len(runs) == 1, test)


def _regex_test(pattern: str) -> Test:
    def is_like(_: str, text: bytes) -> bool:
        return compile_regex(regex).fullmatch(text) is not None

    regex = like_to_regex(pattern)
    return is_like
