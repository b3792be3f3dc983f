"""Values at, beside and between the constants of predicates."""

from __future__ import annotations

from datetime import UTC
from random import Random

import pytest

from ruledex.language.parser import parse
from ruledex.language.pattern import has_match, is_like
from ruledex.language.reference import truth_of
from ruledex.language.tree import predicates
from ruledex.ratify.near_values import matching_texts, near_values

REGEXES = [
    r"^[a-z]+@example\.(com|org)$",
    r"a{2,5}b?c*",
    r"\d{3}-\w+\s[^x]",
    r"(?i)powershell(\.exe)?",
    r"^$",
    r"[[:alpha:]]+\pL\z",
    r"x|y|(?:z{2})",
    r"[^\d\s]+",
    r".\.",
]


def near(text):
    (predicate,) = predicates(parse(text))
    return near_values(predicate, UTC, Random(0))


@pytest.mark.parametrize("regex", REGEXES)
def test_texts_match_their_regular_expression(regex):
    found = matching_texts(regex, Random(1))
    assert found
    assert all(has_match(text, regex) for text in found)


def test_a_number_has_its_neighbours():
    values = near("a > 5")
    assert {4, 5, 6, 5.5} <= set(values)
    assert any(5 < value < 5.0001 for value in values)


def test_what_is_between_two_constants_is_tried():
    assert 15 in near("a BETWEEN 10 AND 20")
    assert 150 in near("a IN (100, 200)")


def test_patterns_get_texts_that_fit_and_texts_that_do_not():
    texts = near(r"a LIKE 'x\\_%y_'")
    assert {is_like(text, r"x\_%y_", ignore_case=False) for text in texts} == {True, False}


@pytest.mark.parametrize(
    "text",
    [
        "a = TRUE",
        "a <=> 3",
        "a >= DATE '2024-02-29'",
        "a < TIMESTAMP '2024-02-29 12:00:00'",
        "a IN ('x', 'y')",
        "subset_of(a, 1, 2)",
        "a RLIKE '^ab+$'",
        "a ILIKE ALL ('%x%', 'y%')",
        "a > now() - INTERVAL 1 DAY",
        "a = 9223372036854775807",
        "a > 1e308",
        "a = 0.1D OR FALSE",
    ],
)
def test_near_values_show_both_truths(text):
    tree = parse(text)
    (predicate,) = predicates(tree)
    truths = {truth_of(tree, {"a": value}) for value in near_values(predicate, UTC, Random(0))}
    assert {True, False} <= truths
