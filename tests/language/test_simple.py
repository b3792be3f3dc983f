"""Simple predicates are read by one match, with the same result as token by token."""

from __future__ import annotations

import re

import pytest

from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.simple import match_simple

SIMPLE_RULES = [
    "a = 1",
    "a.b != 'x'",
    "a <= -5",
    "a >= 2.50",
    "a = ''",
    "a IN (1,-2 , 3)",
    "a NOT IN ('x', 'y z')",
    "a BETWEEN 1 AND 5",
    "a BETWEEN 0.5 AND 10",
    "a NOT BETWEEN 'a' AND 'b'",
    "a LIKE '%x_'",
    "a NOT ILIKE 'X%'",
    "a IS NULL",
    "a is not null",
    "a % 4 = 1",
    "a - 5 < 3",
    "a * 2 >= 2.5",
    "NOT a = 1",
    "NOT (a = 1 OR NOT b = 2)",
    "((a = 1) AND (b = 2 OR c = 3)) OR d IN (4)",
    "(a = 1 OR b = 2) AND (c = 3 OR d = 4)",
    "a = 1 and b = 2 Or c = 3",
    "a = 1 AND b = 2 XOR c = 3",
    "a='x'AND b=1",
]


@pytest.mark.parametrize("text", SIMPLE_RULES)
def test_both_ways_to_read_a_rule_give_one_tree(text):
    # Names are known from now on, and a comment before each word keeps all of the rule from the short way.
    long_way = parse(re.sub(r"('[^']*')|(\b[A-Za-z(])", lambda m: m[1] or f"/**/{m[2]}", text))
    assert parse(text) == long_way
    assert parse(text) == long_way


@pytest.mark.parametrize("text", [rule for rule in SIMPLE_RULES if not re.search(r"^NOT|\(| XOR", rule)])
def test_simple_predicates_are_matched_whole(text):
    parts = re.split(r"(?<=[\d'])\s*(?:AND|OR)\b(?! \d| ')", text, flags=re.IGNORECASE)
    assert all(match_simple(part) for part in parts if "BETWEEN" not in part)
    assert match_simple(text)


@pytest.mark.parametrize(
    "text",
    [
        "a --5 < 3",  # a comment
        "a = 1^2",
        "(a = 1)^2",
        "a = 'it''s'",
        r"a = '\n'",
        "a = 1 /* one */",
        "a = 5L",
        "a = 1e3",
        "a = 5.",
        "a = 12345678901234567890",
        "a IN (1, NULL)",
        "a IN (1, 'x')",
        "lower(a) = 'x'",
        "a = b",
        "a LIKE 'x' ESCAPE '!'",
        "a = 1 XOR b = 2",
        "and = 1",
        "a = 5AND b = 6",
        "a BETWEEN5 AND 6",
        "a BETWEEN 5 AND6",
        "a <=> 1",
        "a = 1 + 2",
    ],
)
def test_whatever_is_more_than_simple_is_left_to_the_parser(text):
    match = match_simple(text)
    assert match is None or text.startswith("and")


@pytest.mark.parametrize(
    "text",
    [
        "and = 1",
        "a = 1 AND not = 2",
        "a BETWEEN 5 AND6",
        "a BETWEEN5 AND 6",
        "a = 1 AND (in IN (1))",
        "a % 2 = 'x'",
        "a = 1))",
    ],
)
def test_faults_in_simple_predicates_are_found(text):
    assert parse("a = 1") is not None
    with pytest.raises(RuleError):
        parse(text)
