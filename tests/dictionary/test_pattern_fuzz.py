"""Patterns drawn at random, answered together as an index does, beside plain RE2 and a plain definition of LIKE.

`RULEDEX_PATTERN_PAIRS` is the number of pairs of a pattern and a text of its own.
"""

from __future__ import annotations

import os
import random

import pytest
import re2

from ruledex.dictionary.patterns import MAX_PLAIN_WORDS, PatternMatcher
from ruledex.language.pattern import is_like, like_pattern, like_to_regex
from ruledex.language.tree import Attribute, Like, Rlike
from tests.dictionary.pattern_drawing import like_with_texts, regex_with_texts

X = Attribute(("x",))
PAIRS = int(os.environ.get("RULEDEX_PATTERN_PAIRS", "20000"))
GROUP = 2 * MAX_PLAIN_WORDS  # patterns of one matcher: enough for the automaton
TEXTS = 5  # of each pattern


def plain(regex):
    """RE2 with none of our options but silence, or None where it refuses the expression."""
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(regex, options)
    except re2.error:
        return None


def assert_same(group, answer):
    """Each pattern on its own texts, and all patterns on some of the texts; alone and together with the others."""
    keys = [(predicate, cell) for cell, (predicate, _, _) in enumerate(group)]
    together = PatternMatcher(keys)
    for cell, (predicate, known, texts) in enumerate(group):
        alone = PatternMatcher([(predicate, 0)])
        for i, text in enumerate(texts):
            right = answer(known, text)
            assert bool(alone.cells(text)) == right, (predicate, text)
            if i:
                continue
            found = together.cells(text)
            assert (cell in found) == right, (predicate, text)
            if cell % 8 == 0:
                assert sorted(found) == [other for other, (_, k, _) in enumerate(group) if answer(k, text)], text


@pytest.mark.parametrize("part", range(4))
def test_regular_expressions_drawn_at_random_match_as_plain_re2_does(part):
    drawn = random.Random(f"regexes {part}")
    done = 0
    while done < PAIRS // 4:
        group = []
        while len(group) < GROUP:
            regex, texts = regex_with_texts(drawn)
            program = plain(regex)
            if program is not None:
                group.append((Rlike(X, regex), program, texts))
                done += len(texts)
        assert_same(group, lambda program, text: program.search(text) is not None)


def is_like_by_definition(text, tokens):
    """Whether a text fits the tokens (a character, "%" as None, "_" as True), by all the ways there are."""
    reached = {0}
    for token in tokens:
        if token is None:
            reached = set(range(min(reached), len(text) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(text) and (token is True or text[at] == token)}
    return len(text) in reached


def tokens_of(pattern, escape):
    characters = iter(pattern)
    wildcards = {"%": None, "_": True}
    return [next(characters) if c == escape else wildcards.get(c, c) for c in characters]


@pytest.mark.parametrize("ignore_case", [False, True], ids=["LIKE", "ILIKE"])
def test_like_patterns_drawn_at_random_fit_as_defined(ignore_case):
    drawn = random.Random(f"likes {ignore_case}")
    done = 0
    while done < PAIRS // 2:
        group = []
        while len(group) < GROUP:
            pattern, escape, texts = like_with_texts(drawn)
            if ignore_case and escape.lower() != escape:
                continue
            stored = like_pattern(pattern, escape)
            lowered = pattern.lower() if ignore_case else pattern
            group.append((Like(X, (stored,), False, ignore_case), (tokens_of(lowered, escape), stored), texts))
            done += len(texts)

        def answer(known, text):
            tokens, stored = known
            lowered = text.lower() if ignore_case else text
            right = is_like_by_definition(lowered, tokens)
            assert is_like(text, stored, ignore_case) == right, (stored, text)
            regex = like_to_regex(stored.lower() if ignore_case else stored)
            assert (plain(regex).fullmatch(lowered) is not None) == right, (stored, text)
            return right

        assert_same(group, answer)


BEFORE = ["a", "xa", "(ab)", "[ab]", r"\.", "a|b", "(?:a|b)", "b(?i:a)"]


@pytest.mark.parametrize("flags", ["(?i)", "(?-i)", "(?s)", "(?i)(?-i)", "(?m-s)"])
@pytest.mark.parametrize("quantifier", ["*", "?", "{0}", "{0,1}", "{0,}", "*?", "+", "{1,2}"])
def test_a_quantifier_behind_flags_repeats_what_stands_before_them(flags, quantifier):
    repeated = [f"{before}{flags}{quantifier}" for before in BEFORE]
    for regex in [*repeated, *(f"({regex}c)" for regex in repeated)]:
        program = plain(regex)
        if program is None:
            continue
        matcher = PatternMatcher([(Rlike(X, regex), 7)])
        for text in ("", "a", "b", "c", "x", "xc", "ac", "AC", ".", "ab", "abc"):
            assert bool(matcher.cells(text)) == (program.search(text) is not None), (regex, text)


@pytest.mark.parametrize("start", ["[", "[^"])
@pytest.mark.parametrize(
    "body", ["]abc[:", "]ab[:c", "]", "]]", "a[:", "a[:x:", "]a[:alpha:]", "][:^digit:]b", "]-a", "]\\]a"]
)
@pytest.mark.parametrize("rest", ["]", "]x", "]]", "]+b"])
def test_a_class_that_begins_with_a_bracket_is_read_as_re2_reads_it(start, body, rest):
    regex = start + body + rest
    try:
        compiled = re2.compile(regex)
    except re2.error:
        return
    matcher = PatternMatcher([(Rlike(Attribute(("x",)), regex), 0)])
    for text in ["a", "]", ":", "[", "ax", "]x", "zx", "abc[:]", "]b", "a]", "-", "1b", "", "ab[:c]x", "b]]"]:
        assert bool(matcher.cells(text)) == bool(compiled.search(text)), (regex, text)
