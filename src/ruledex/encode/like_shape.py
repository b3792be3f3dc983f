"""A LIKE pattern taken apart: the words that a text must have, where, and a test of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ruledex.kernels.word_trie import END, INSIDE, START, WHOLE
from ruledex.language.pattern import compile_regex, like_to_regex

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
    pieces, has_underscore = _pieces(pattern)
    if has_underscore:
        # A run of plain characters is looked for anywhere; what stands around it is RE2's to say.
        word = max((run for piece in pieces for run in piece), key=len)
        return Shape(word, INSIDE, False, _regex_test(pattern))
    texts = ["".join(piece) for piece in pieces]
    if len(texts) == 1:
        return Shape(texts[0], WHOLE, bool(texts[0]), lambda text, _: text == texts[0])
    places = [START, *[INSIDE] * (len(texts) - 2), END]
    word, use = max(zip(texts, places, strict=True), key=lambda placed: len(placed[0]))
    return Shape(word, use, bool(word) and sum(map(bool, texts)) == 1, _sequence_test(texts))


def _pieces(pattern: str) -> tuple[list[list[str]], bool]:
    """The pieces between the % of a pattern, each as its runs between the _ of it."""
    pieces, has_underscore = [[""]], False
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            pieces.append([""])
        elif character == "_":
            pieces[-1].append("")
            has_underscore = True
        else:
            pieces[-1][-1] += next(characters, "") if character == "\\" else character
    return pieces, has_underscore


def _sequence_test(pieces: list[str]) -> Test:
    """Whether the first piece starts a text, the last one ends it, and the others lie in between in order."""
    first, *middle, last = pieces
    middle = [piece for piece in middle if piece]

    def is_like(text: str, _: bytes) -> bool:
        at, end = len(first), len(text) - len(last)
        if at > end or not (text.startswith(first) and text.endswith(last)):
            return False
        for piece in middle:
            found = text.find(piece, at, end)  # the leftmost leaves the most room for those that follow
            if found < 0:
                return False
            at = found + len(piece)
        return True

    return is_like


def _regex_test(pattern: str) -> Test:
    def is_like(_: str, text: bytes) -> bool:
        return compile_regex(regex).fullmatch(text) is not None

    regex = like_to_regex(pattern)
    return is_like
