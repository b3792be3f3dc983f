"""The definition of relaxed scores, case by case as docs/ranking.md has them."""

import pytest

from ruledex.language.parser import parse
from tests.relaxed.reference import relaxed_score

CASES = [
    # All that holds is added up; what does not hold is missing.
    ("a = 1 AND b = 2^3 AND c = 3", {"a": 1, "b": 2}, 4.0),
    ("a = 1 AND b = 2^3 AND c = 3", {"b": 2}, 3.0),
    ("a = 1 AND b = 2", {"a": 2, "b": 3}, None),
    ("a = 1 AND b = 2", {}, None),
    ("a = 1", {"a": 1}, 1.0),
    ("a = 1", {"a": 2}, None),
    # Nested ANDs are one; a conjunct that is an OR holds whole or not at all.
    ("a = 1 AND (b = 2 AND c = 3)", {"c": 3}, 1.0),
    ("a = 1 AND (b = 2^3 OR c = 3)", {"b": 2, "c": 3}, 3.0),
    ("a = 1 AND (b = 2 AND c = 3 OR d = 4)", {"a": 1, "b": 2}, 1.0),
    # The best branch of an OR.
    ("(a = 1 AND b = 2) OR c = 3^5", {"a": 1, "b": 2}, 2.0),
    ("(a = 1 AND b = 2) OR c = 3^5", {"a": 1, "b": 2, "c": 3}, 5.0),
    ("(a = 1 AND b != 2) OR c = 3", {"a": 1, "b": 2}, None),
    # What is negated must hold, and unknown is not enough.
    ("a = 1 AND b != 2", {"a": 1, "b": 2}, None),
    ("a = 1 AND b != 2", {"a": 1}, None),
    ("a = 1 AND b != 2", {"a": 1, "b": 3}, 1.0),
    ("a = 1 AND b != 2", {"b": 3}, None),
    ("a = 1 AND (b IS NULL OR b != 2)", {"a": 1}, 1.0),
    ("a = 1 AND NOT (b = 2 AND c = 3)", {"a": 1, "b": 2, "c": 3}, None),
    ("NOT (a != 1 OR b != 2)", {"a": 1}, 1.0),
    ("b != 2", {"b": 3}, 0.0),
    ("b != 2 AND c != 3", {"b": 3, "c": 3}, None),
    ("a IS NULL", {}, 0.0),
    ("a = 1 AND b IS NULL", {"a": 1, "b": 2}, None),
    ("a = 1 AND b IS NOT NULL", {"a": 1}, None),
    ("a = 1 AND (b != 2 OR c = 3)", {"a": 1, "b": 2}, 1.0),
    # What scores nothing must hold, for whatever reason.
    ("a = 1 AND (b = 2)^0", {"a": 1}, None),
    ("a = 1 AND (b = 2)^0", {"a": 1, "b": 2}, 1.0),
    ("a = 1 AND TRUE", {"a": 1}, 1.0),
    ("a = 1 AND TRUE", {"a": 2}, None),
    ("a = 1 AND FALSE", {"a": 1}, None),
    ("a = 1 AND b BETWEEN 5 AND 1", {"a": 1, "b": 3}, None),
    ("a = 1 AND b NOT IN (1, NULL)", {"a": 1, "b": 3}, None),
    ("TRUE", {}, 0.0),
    # REQUIRED must hold, and scores.
    ("REQUIRED(a = 1) AND b = 2", {"b": 2}, None),
    ("REQUIRED(a = 1) AND b = 2", {"a": 1}, 1.0),
    ("REQUIRED(a = 1^3 OR c = 3) AND b = 2", {"a": 1, "b": 2}, 4.0),
    ("(REQUIRED(a = 1) AND b = 2) OR c = 3", {"b": 2, "c": 3}, 1.0),
    # Several values, sets and exclusive ORs.
    ("a = 1 AND a = 2^2", {"a": [1, 2]}, 3.0),
    ("a IN (1^2, 2^5) AND b = 1", {"a": [1, 2]}, 5.0),
    ("subset_of(t, 'x', 'y') AND a = 1", {"t": ["x"]}, 1.0),
    ("(a = 1 XOR b = 2^4) AND c = 3", {"a": 2, "b": 2}, 4.0),
    ("(a = 1 XNOR b = 2) AND c = 3", {"a": 2, "b": 3}, 0.0),
]


@pytest.mark.parametrize(("text", "event", "expected"), CASES)
def test_a_rule_scores_what_its_conjuncts_that_hold_score(text, event, expected):
    assert relaxed_score(parse(text), event) == expected


def test_the_event_s_weights_count():
    tree = parse("a = 1^2 AND b IN (2, 3) AND c = 4")
    assert relaxed_score(tree, {"a": 1, "b": [2, 3]}, {"a": 5.0, "b": {3: 7.0}}) == 17.0
    assert relaxed_score(tree, {"a": 1}, {"a": 0.0}) == 0.0


def test_ends_that_are_crossed_as_integers_but_one_double_are_a_range():
    tree = parse(f"a BETWEEN {2**53 + 1} AND {2**53} AND b = 1")
    assert relaxed_score(tree, {"a": float(2**53)}) == 1.0
    assert relaxed_score(tree, {"b": 1}) == 1.0
