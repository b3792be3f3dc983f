"""Tokens and constants."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ruledex.errors import RuleSyntaxError
from ruledex.language.scanner import read_name, read_number, read_string, scan, token_of
from ruledex.language.value import INT64_MAX, INT64_MIN


def tokens(text: str) -> list[tuple[str | None, str]]:
    found, position = [], 0
    while (match := scan(text, position)).lastgroup != "end":
        found.append((match.lastgroup, token_of(match)[0]))
        position = match.end()
    return found


def test_a_rule_is_cut_into_words_numbers_strings_and_signs():
    assert tokens("a.b>=1.5 AND`c d`<=>'x'") == [
        ("word", "a"),
        ("sign", "."),
        ("word", "b"),
        ("sign", ">="),
        ("number", "1.5"),
        ("word", "AND"),
        ("quoted", "`c d`"),
        ("sign", "<=>"),
        ("string", "'x'"),
    ]


def test_blanks_and_comments_are_no_tokens():
    assert tokens(" \t\n-- to the end\n a /* any\nlines */ = -- last") == [("word", "a"), ("sign", "=")]


def test_words_may_be_of_any_alphabet():
    assert tokens("größe_2 имя 価格") == [("word", "größe_2"), ("word", "имя"), ("word", "価格")]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("007", 7),
        ("7L", 7),
        (str(INT64_MAX), INT64_MAX),
        (str(INT64_MAX + 1), -INT64_MIN),
        (str(INT64_MAX + 2), Decimal(INT64_MAX + 2)),
        ("1.50", Decimal("1.50")),
        (".5", Decimal("0.5")),
        ("5.", Decimal("5")),
        ("12BD", Decimal(12)),
        ("1e3", 1000.0),
        ("1.5E-2", 0.015),
        ("2d", 2.0),
        ("2.5D", 2.5),
        ("9" * 38, Decimal("9" * 38)),
    ],
)
def test_numbers_have_the_types_that_spark_gives_them(text, value):
    number = read_number(text, text, 0)
    assert (type(number), number) == (type(value), value)


@pytest.mark.parametrize("text", ["9" * 39, "0." + "1" * 39, "9223372036854775809L", "1.5L", "1e999"])
def test_numbers_beyond_their_type_are_refused(text):
    with pytest.raises(RuleSyntaxError):
        read_number(text, text, 0)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("'it''s'", "it's"),
        (r"'it\'s'", "it's"),
        ('"say ""hi"""', 'say "hi"'),
        (r"'a\nb\tc\\d'", "a\nb\tc\\d"),
        (r"'\u00e9\U0001F600'", "é😀"),
        (r"'\uD83D\uDE00'", "😀"),
        (r"'\101\0'", "A\0"),
        (r"'100\%\_'", r"100\%\_"),
        (r"'\q'", "q"),
        (r"r'\d+\.'", r"\d+\."),
        ('R"it\'s"', "it's"),
        ("'line\nbreak'", "line\nbreak"),
        ("''", ""),
    ],
)
def test_strings_have_the_escapes_of_spark_sql(text, content):
    assert read_string(text, text, 0) == content


@pytest.mark.parametrize("text", [r"'\uD83D'", r"'\U00110000'"])
def test_escapes_that_are_no_character_are_refused(text):
    with pytest.raises(RuleSyntaxError):
        read_string(text, text, 0)


def test_a_doubled_backtick_is_one():
    assert read_name("`a``b c`") == "a`b c"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'open", "this string is never closed"),
        ('"open', "this string is never closed"),
        ("r'open", "this string is never closed"),
        ("`open", "this quoted name is never closed"),
        ("/* open", "this comment is never closed"),
        ("12abc", "this is not a number"),
        ("a = 1 & b = 2", "unexpected character '&'; write AND"),
        ("a; b", "unexpected character ';'"),
        ("a\0", "unexpected character '\\x00'"),
    ],
)
def test_what_is_no_token_is_refused_with_a_reason(text, message):
    with pytest.raises(RuleSyntaxError) as caught:
        tokens(text)
    assert message in str(caught.value)
