"""LIKE patterns of any length take linear time, and use RE2 only if a plain search cannot do."""

from __future__ import annotations

import pytest

from ruledex import Index
from ruledex.dictionary.patterns import PatternMatcher
from ruledex.errors import RuleLimitError, RulesError
from ruledex.language.parser import parse
from ruledex.language.pattern import PatternPiece, is_like, pieces_of
from tests.language.test_regex import run_limited

LONG = 69_900


def test_pieces_lie_between_percent_signs_and_runs_between_underscores() -> None:
    assert pieces_of("a_b%%%_c%d__") == (
        (PatternPiece(3, ((0, "a"), (2, "b"))), PatternPiece(2, ((1, "c"),)), PatternPiece(3, ((0, "d"),))),
        False,
    )


def test_an_escaped_character_is_part_of_its_run() -> None:
    assert pieces_of(r"a\%\_b_\\%") == ((PatternPiece(6, ((0, "a%_b"), (5, "\\"))), PatternPiece(0, ())), False)


def test_only_a_piece_between_two_percent_signs_with_an_inner_underscore_needs_a_regular_expression() -> None:
    assert pieces_of("%a_b%").needs_regex
    for pattern in ("a_b%", "%a_b", "a_b", "%_ab_%", r"%a\_b%", "%__%", "a_b%c%d_e"):
        assert not pieces_of(pattern).needs_regex


@pytest.mark.parametrize(
    ("pattern", "fitting", "other"),
    [
        ("_" * LONG, "x" * LONG, "x" * (LONG - 1)),
        ("_" * LONG + "%", "é" * (LONG + 1), "é" * (LONG - 1)),
        ("%" + "_" * LONG + "%", "é" * LONG, "é" * (LONG - 1)),
        ("a_" * LONG, "ab" * LONG, "ab" * (LONG - 1) + "bb"),
        ("%" + "_a" * LONG, "ba" * (LONG + 1), "b" * 2 * LONG),
        ("%" + "_" * LONG + "a" * LONG + "_" * LONG + "%", "a" * 3 * LONG, "a" * (3 * LONG - 1)),
        ("%a_" * 9000 + "%", "ab" * 9000, "ab" * 8999),
        ("a%" * LONG, "ab" * LONG, "ab" * (LONG - 1)),
        ("a" * LONG, "a" * LONG, "a" * (LONG + 1)),
        ("a" * LONG + "%", "a" * (LONG + 1), "a" * (LONG - 1) + "b"),
    ],
)
@pytest.mark.parametrize("operator", ["LIKE", "ILIKE"])
def test_a_pattern_that_parses_can_be_matched_however_long_it_is(operator, pattern, fitting, other) -> None:
    predicate = parse(f"x {operator} '{pattern}'")
    matcher = PatternMatcher([(predicate, 7)])
    assert matcher.cells(fitting) == [7]
    assert matcher.cells(other) == []
    assert is_like(fitting, pattern, operator == "ILIKE")
    assert not is_like(other, pattern, operator == "ILIKE")


@pytest.mark.parametrize("before", ["", "(x) ", "lower(x) "], ids=["simple", "in parentheses", "of a function"])
def test_a_pattern_that_needs_too_large_a_program_is_refused_where_it_is_parsed(before: str) -> None:
    pattern = "%" + "a_" * LONG + "a%"
    parse("x = 1")  # so that the short way of the parser knows the name
    with pytest.raises(RuleLimitError, match="limit pattern_bytes"):
        parse(f"{before or 'x '}LIKE '{pattern}'")


LINEAR = """
from ruledex import Index
from ruledex.dictionary.patterns import PatternMatcher
from ruledex.language.parser import parse
from ruledex.language.pattern import is_like
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text
n = 2_000_000
for operator in ("LIKE", "ILIKE"):
    for pattern in ("A" * n, "%" + "É" * n, "_" * n, "Ab%" * (n // 50), "''" * (n // 10), r"\\\\%" * (n // 50)):
        predicate = parse(f"x {operator} '{pattern}'")
        assert from_structured(to_structured(predicate)) == predicate
        assert parse(tree_text(predicate)) == predicate
        matcher = PatternMatcher([(predicate, 7)])
        matcher.cells("a" * n)
        matcher.cells("É" * (n // 10))
        is_like("a" * n, predicate.patterns[0], operator == "ILIKE")
print("done")
"""


def test_a_pattern_takes_time_that_is_linear_in_its_length() -> None:
    ran = run_limited(LINEAR, 2500, 40)
    assert "done" in ran.stdout, ran.stderr[-2000:]


@pytest.mark.parametrize("rule", ["x LIKE '{}'", "y = 1 AND NOT x LIKE '{}'", "y = 1 OR x ILIKE ANY ('a', '{}')"])
def test_a_build_reports_a_pattern_over_a_limit_as_a_rule_that_cannot_be_used(rule: str) -> None:
    rules = [("good", "y = 1"), ("bad", rule.format("%" + "a_" * LONG + "a%"))]
    with pytest.raises(RulesError, match="limit pattern_bytes") as caught:
        Index.build(rules)
    assert [fault.rule_id for fault in caught.value.faults] == ["bad"]
