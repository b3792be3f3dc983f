"""Patterns answered together, beside the reference that tries them one by one."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ruledex import Schema
from ruledex.dictionary.patterns import MAX_PLAIN_WORDS, PatternMatcher, like_shape
from ruledex.dictionary.regex_literals import Word, required_words
from ruledex.language.reference import satisfies
from ruledex.language.regex import compile_regex
from ruledex.language.tree import Attribute, Like, Rlike
from tests.strategies import examples

X = Attribute(("x",))
LETTERS = "abAB%_\\k\u212asſσςΣİßé\n\0 .😀"

like_patterns = st.lists(
    st.one_of(st.sampled_from(["%", "%", "_", r"\%", r"\_", r"\\", "ab", "Σ"]), st.sampled_from("abABéßİ\n\0 .😀%_")),
    max_size=7,
).map("".join)
PIECES = ["a", "b", "ab", "A", "k", "s", "é", "ß", "😀", ".", "^", "$", "{", "a{,2}"]
PIECES += ["[ab]", "[^a]", "[[:alpha:]b]", "[]a]"]
ESCAPES = [r"\.", r"\d", r"\b", r"\n", r"\x61", r"\Qa.\E", r"\pL", r"[\]a]", "\0"]
regexes = st.recursive(
    st.sampled_from([*PIECES, *ESCAPES]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join),
        st.builds(
            "{}({}){}".format, inner, inner, st.sampled_from(["", "*", "+", "?", "{2}", "{0,1}", "{1,2}?", "{00}"])
        ),
        st.builds("(?{}:{}){}".format, st.sampled_from(["", "i", "s", "i-s", "-i"]), inner, inner),
        st.builds("(?{}){}".format, st.sampled_from(["i", "s", "-i", "im", "U"]), inner),
        st.builds("(?P<name>{}){}".format, inner, inner),
    ),
    max_leaves=8,
)
values = st.one_of(
    st.text(st.sampled_from(LETTERS), max_size=12),
    st.text(max_size=12),
    st.just("a\ud800b"),
    st.text("abAB", max_size=6),
)


def compiles(regex):
    try:
        compile_regex(regex)
    except ValueError:
        return False
    return True


likes = st.builds(
    Like, st.just(X), st.lists(like_patterns, min_size=1, max_size=3).map(tuple), st.booleans(), st.booleans()
)
rlikes = st.builds(Rlike, st.just(X), regexes.filter(compiles))


def same_as_reference(predicates, value):
    keys = [(predicate, 10 + i) for i, predicate in enumerate(predicates)]
    expected = [cell for predicate, cell in keys if satisfies(value, predicate, Schema())]
    found = PatternMatcher(keys).cells(value)
    assert sorted(found) == expected, [predicate for predicate, cell in keys if (cell in found) != (cell in expected)]


@given(st.lists(st.one_of(likes, rlikes), min_size=1, max_size=12), values)
@settings(max_examples=examples(600))
@example([Like(X, ("%ΑΣ%",), False, True)], "xασx")
@example([Like(X, ("%ΑΣ",), False, True)], "xας")
@example([Like(X, ("i%",), False, True)], "İx")
@example([Rlike(X, "(?i)ask")], "a\u017f\u212a")
@example([Like(X, ("%",)), Like(X, ("",))], "")
@example([Like(X, ("a%a",)), Like(X, ("%a%a%",))], "a")
@example([Like(X, ("ab%bc",))], "abc")
def test_a_matcher_answers_as_the_reference_does(predicates, value):
    same_as_reference(predicates, value)


@given(st.lists(st.one_of(likes, rlikes), min_size=1, max_size=6), st.integers(0, 2**32), st.lists(values, max_size=5))
@settings(max_examples=60)
def test_a_matcher_of_many_patterns_answers_as_the_reference_does(predicates, seed, given_values):
    random_ = random.Random(seed)
    for _ in range(2 * MAX_PLAIN_WORDS):
        word = "".join(random_.choices("abAB", k=random_.randint(1, 4)))
        form = random_.choice(["{}", "{}%", "%{}", "%{}%", "{}%a", "%{}_"])
        predicates = [*predicates, Like(X, (form.format(word),), False, random_.random() < 0.5)]
    for value in [*given_values, "aabBAb", "abab", ""]:
        same_as_reference(predicates, value)


@given(regexes.filter(compiles), values)
@settings(max_examples=examples(600))
def test_a_matching_text_has_one_of_the_words_that_an_expression_requires(regex, value):
    words = required_words(regex)
    try:
        matches = compile_regex(regex).search(value) is not None
    except UnicodeEncodeError:
        return
    if matches and words is not None:
        lowered = value.encode().lower().decode()
        assert any(word.text in (lowered if word.ignore_case else value) for word in words)


@pytest.mark.parametrize(
    ("regex", "words"),
    [
        ("foo.*barbaz", {"barbaz"}),
        ("(foo|bar)+x", {"foo", "bar"}),
        (r"^C:\\Windows\\.*\.exe$", {"C:\\Windows\\"}),
        ("abc?", {"ab"}),
        ("(?i)powershell", {"power"}),
        ("x{0,3}yy", {"yy"}),
    ],
)
def test_the_words_of_common_expressions_are_found(regex, words):
    assert {word.text for word in required_words(regex)} == words


@pytest.mark.parametrize("regex", ["[a-z]+|foo", "a*", ".", "", "(?i)s", "(a|)b*", r"\x{61}"])
def test_an_expression_that_may_match_anything_requires_no_word(regex):
    assert required_words(regex) is None


def test_a_word_under_the_flag_i_ignores_case():
    assert required_words("a(?i:BC)") == frozenset({Word("bc", True)})


def test_an_escaped_wildcard_is_a_character():
    assert like_shape(r"50\%%").word == "50%"


def test_more_hits_than_the_first_buffer_holds_are_all_found():
    keys = [(Like(X, (f"%{'a' * n}%",)), n) for n in range(1, 200)]
    assert sorted(PatternMatcher(keys).cells("a" * 150)) == list(range(1, 151))


def test_words_that_end_at_the_same_places_take_no_memory_for_each_place():
    matcher = PatternMatcher([(Like(X, (f"%{'a' * n}%",)), n) for n in range(1, 120)])
    text = "a" * 30_000
    matcher.cells(text)
    tracemalloc.start()
    try:
        assert sorted(matcher.cells(text)) == list(range(1, 120))
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
