"""LIKE patterns and regular expressions."""

from __future__ import annotations

import re

import pytest

from ruledex.language.pattern import has_match, is_like, like_pattern
from ruledex.language.regex import compile_regex


@pytest.mark.parametrize(
    ("value", "pattern", "answer"),
    [
        ("abc", "abc", True),
        ("abc", "ab", False),
        ("abc", "a%", True),
        ("abc", "%c", True),
        ("abc", "_b_", True),
        ("abc", "__", False),
        ("", "%", True),
        ("", "_", False),
        ("a\nb", "a%b", True),
        ("a\nb", "a_b", True),
        ("😀", "_", True),
        ("100%", r"100\%", True),
        ("1000", r"100\%", False),
        ("a_b", r"a\_b", True),
        ("a\\b", r"a\\b", True),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
        ("(a)", "(a)", True),
        ("ABC", "abc", False),
    ],
)
def test_a_whole_text_is_like_a_pattern(value, pattern, answer):
    assert is_like(value, pattern, ignore_case=False) is answer


def test_case_is_ignored_in_all_alphabets():
    assert is_like("ÀÉÎ", "àé%", ignore_case=True)
    assert is_like("straße", "STRAß_", ignore_case=True)
    assert not is_like("straße", "STRASSE", ignore_case=True)


def test_another_escape_becomes_a_backslash():
    assert like_pattern("10!%!!\\", "!") == r"10\%!\\"
    assert like_pattern(r"10\%", "\\") == r"10\%"


@pytest.mark.parametrize("pattern", ["a\\", r"a\b"])
def test_an_escape_before_nothing_special_is_refused(pattern):
    with pytest.raises(ValueError, match="the escape"):
        like_pattern(pattern, "\\")


def test_regular_expressions_are_found_anywhere():
    assert has_match("xabcx", "a.c")
    assert not has_match("xabcx", "^a.c")
    assert has_match("日本", "^..$")


def test_regular_expressions_take_linear_time():
    assert not has_match("a" * 100_000, "(a+)+b")


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("(", "missing )"),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "invalid repetition size"),
        ("[z-a]", "invalid character class range"),
    ],
)
def test_what_re2_refuses_is_an_error_with_its_reason(regex, reason):
    with pytest.raises(ValueError, match=re.escape(reason)):
        compile_regex(regex)


def test_half_of_a_surrogate_pair_fits_no_pattern():
    assert not has_match("\ud800", ".")
    assert not is_like("\ud800", "%", ignore_case=False)
