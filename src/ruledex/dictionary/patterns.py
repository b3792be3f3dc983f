"""Test thousands of patterns (LIKE, ILIKE, RLIKE) on one attribute together.

Each distinct pattern is an *atom*. Most atoms have a word that a value must contain to satisfy them, and one automaton
finds the words of all atoms in a value at once. For the plain forms (`abc`, `abc%`, `%abc`, `%abc%`) the word in its
place is the answer. Other atoms are tested one by one if their word is there, and those without a word always are.

Words are looked for in three readings of a value: as it is (LIKE, RLIKE), in lower case (ILIKE), and with ASCII letters
lowered (RLIKE under (?i)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from ruledex.dictionary.regex_literals import LONGEST_WORD, required_words
from ruledex.dictionary.word_trie import END, INSIDE, START, WHOLE, WordTrie, hits, word_trie
from ruledex.language.pattern import fits, like_to_regex, pieces_of
from ruledex.language.regex import compile_regex
from ruledex.language.tree import Like, Rlike

# Whether a text satisfies a pattern: the text, without half surrogates, and the same in UTF-8, which RE2 reads.
Test: TypeAlias = Callable[[str, bytes], bool]

# Looking for so few words one by one takes less time than a call of the automaton.
MAX_PLAIN_WORDS: Final = 48


class Reading(IntEnum):
    """The forms of a value in which words are looked for."""

    AS_IS = 0
    LOWER = 1
    ASCII_LOWER = 2


class PatternMatcher:
    """Finds the cells of the patterns that a value satisfies. Immutable."""

    def __init__(self, keys: Iterable[tuple[Like | Rlike, int]]) -> None:
        self._by_pattern: dict[tuple[str, str], _Atom] = {}
        self._words = [_Words() for _ in Reading]
        self._wordless: list[_Atom] = []
        self._n_needed: dict[int, int] = {}  # of the cell of a LIKE ALL, its number of distinct patterns
        for predicate, cell in keys:
            self._add(predicate, cell)
        for words in self._words:
            words.finish()
        self._lowers = any(atom.lowers for atom in self._by_pattern.values())

    def cells(self, value: str) -> list[int]:
        """Return the cells of all patterns that the value satisfies, in any order, without duplicates."""
        try:
            text = value.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which no pattern can name
            return []
        as_is, lower, ascii_lower = self._words
        found = dict.fromkeys(self._wordless, False)
        as_is.collect(text, found)
        if ascii_lower:
            ascii_lower.collect(text.lower(), found)
        lowered, lowered_text = value, text
        if self._lowers:
            lowered = value.lower()
            lowered_text = lowered.encode()
            lower.collect(lowered_text, found)
        cells: set[int] = set()
        n_found: dict[int, int] = {}
        for atom, decided in found.items():
            if decided or (atom.test(lowered, lowered_text) if atom.lowers else atom.test(value, text)):
                cells.update(atom.cells)
                for cell in atom.cells_of_all:
                    n_found[cell] = n_found.get(cell, 0) + 1
        cells.update(cell for cell, n in n_found.items() if n == self._n_needed[cell])
        return list(cells)

    def _add(self, predicate: Like | Rlike, cell: int) -> None:
        if isinstance(predicate, Rlike):
            self._regex_atom(predicate.pattern).cells.append(cell)
            return
        atoms = {self._like_atom(pattern, predicate.ignore_case) for pattern in predicate.patterns}
        every = predicate.every and len(atoms) > 1
        if every:
            self._n_needed[cell] = len(atoms)
        for atom in atoms:
            (atom.cells_of_all if every else atom.cells).append(cell)

    def _like_atom(self, pattern: str, ignore_case: bool) -> _Atom:
        kind = "ILIKE" if ignore_case else "LIKE"
        known = self._by_pattern.get((kind, pattern))
        if known is None:
            shape = like_shape(pattern.lower() if ignore_case else pattern)
            known = self._by_pattern[kind, pattern] = _Atom(shape.test, ignore_case)
            if shape.word:
                words = self._words[Reading.LOWER if ignore_case else Reading.AS_IS]
                words.add(shape.word, shape.use, known, shape.decides)
            else:
                self._wordless.append(known)
        return known

    def _regex_atom(self, regex: str) -> _Atom:
        known = self._by_pattern.get(("RLIKE", regex))
        if known is None:
            known = self._by_pattern["RLIKE", regex] = _Atom(_search_test(regex), False)
            required = required_words(regex)
            for text, ignore_case in required or ():
                self._words[Reading.ASCII_LOWER if ignore_case else Reading.AS_IS].add(text, INSIDE, known, False)
            if required is None:
                self._wordless.append(known)
        return known


class _Atom:
    """One distinct pattern, and the cells of the predicates that have it."""

    __slots__ = ("cells", "cells_of_all", "lowers", "test")

    def __init__(self, test: Test, lowers: bool) -> None:
        self.test = test
        self.lowers = lowers  # whether the test is of the value in lower case
        self.cells: list[int] = []  # of predicates that this pattern alone makes true
        self.cells_of_all: list[int] = []  # of predicates that need other patterns too


class _Words:
    """The words to look for in one reading of values, and the atoms that need each of them."""

    def __init__(self) -> None:
        self._atoms: dict[tuple[bytes, int], dict[_Atom, bool]] = {}
        self._trie: WordTrie | None = None
        self._numbers: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._atoms)

    def add(self, word: str, use: int, atom: _Atom, decides: bool) -> None:
        """Add a word in a place that an atom needs, or that decides it."""
        self._atoms.setdefault((word.encode(), use), {})[atom] = decides

    def finish(self) -> None:
        """Make the automaton, after all words were added."""
        uses: dict[bytes, int] = {}
        for word, use in self._atoms:
            uses[word] = uses.get(word, 0) | use
        self._numbers = list(uses)
        if len(self._atoms) > MAX_PLAIN_WORDS:
            self._trie = word_trie(self._numbers, list(uses.values()))

    def collect(self, text: bytes, found: dict[_Atom, bool]) -> None:
        """Add to `found` the atoms of the words in a text: True if the word decides the atom."""
        for place in self._found(text):
            for atom, decides in self._atoms[place].items():
                found[atom] = decides or found.get(atom, False)

    def _found(self, text: bytes) -> Iterator[tuple[bytes, int]]:
        if self._trie is not None:
            numbers = self._numbers
            for number, use in hits(self._trie, text):
                yield numbers[number], use
            return
        for place in self._atoms:
            word, use = place
            if word in text and (
                use == INSIDE
                or (use == START and text.startswith(word))
                or (use == END and text.endswith(word))
                or text == word
            ):
                yield place


def _search_test(regex: str) -> Test:
    def has_match(_value: str, text: bytes) -> bool:
        return compile_regex(regex).search(text) is not None

    return has_match


class Shape(NamedTuple):
    """How to find out whether a text is LIKE a pattern."""

    word: str  # every text that is LIKE the pattern has this word; may be empty
    use: int  # where the word must stand: INSIDE, START, END, WHOLE
    decides: bool  # whether the word in that place is all that the pattern asks for
    test: Test


def like_shape(pattern: str) -> Shape:
    """Return the shape of a pattern whose escape is the backslash."""
    pieces, needs_regex = pieces_of(pattern)
    test = _regex_test(pattern) if needs_regex else lambda text, _: fits(text, pieces)
    runs = [run for piece in pieces for _, run in piece.runs]
    word = max(runs, key=len, default="")
    if len(word) > LONGEST_WORD or any(piece.length != sum(len(run) for _, run in piece.runs) for piece in pieces):
        # Of a long word, and of words beside an _, a part is looked for; the test decides about the rest.
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
