"""What lint says of regular expressions, compared with RE2 and, through Spark, with Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ruledex.language.pattern import has_match
from ruledex.language.text import string_text
from ruledex.lint.regex_dialect import differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A pattern, and a value of which RE2 and Java say different things.
DIFFER = [
    ("a$", "a\n"),
    ("a$", "a\u2028"),
    ("^a.b$", "a\u2028b"),
    ("a.b", "a\rb"),
    ("a.b", "a\u0085b"),
    ("a.b", "a\u2029b"),
    ("(?m)^b", "a\rb"),
    ("(?m)^b", "a\u0085b"),
    ("(?m)^b", "a\u2029b"),
    ("(?m)a$", "a\u2028b"),
    ("\\bcaf\\b", "café"),
    ("a\\Bé", "aé"),
    ("a\\sb", "a\x0bb"),
    ("a\\Sb", "a\x0bb"),
    ("a[\\s,]b", "a\x0bb"),
    ("a\\vb", "a\nb"),
    ("a[\\v]b", "a\u2028b"),
    ("(?U)é\\b", "é."),
    ("(?i)é", "É"),
    ("(?i)k", "\u212a"),
    ("(?i)masse", "ma\u017fse"),
    ("^[a-z&&[^b]]$", "c"),
    ("^[a[bc]]$", "b"),
    ("^[[:alpha:]]$", "z"),
]
ALIKE = [
    ("^(billing|payments)(-eu)?\\z", "payments-eu"),
    ("(?s)a.b", "a\u2028b"),
    ("\\w+@\\w+\\.com", "ana@example.com"),
    ("^\\w\\z", "é"),
    ("\\d{3}", "\u0663\u0663\u0663"),
    ("[.$]", "\n"),
    ("\\.\\$", ".$"),
    ("\\Qa.b$\\E", "a.b$"),
    ("[\\[\\]]", "["),
    ("[^]a]", "b"),
    ("(?i)abc", "ABC"),
    ("\\pL+", "é"),
    ("(?:a|b)*?c", "abc"),
]


@pytest.mark.parametrize(("pattern", "value"), DIFFER)
def test_a_difference_is_found(pattern: str, value: str) -> None:
    found = differences(pattern)
    assert found
    assert all(0 <= difference.offset < len(pattern) for difference in found)


@pytest.mark.parametrize(("pattern", "value"), ALIKE)
def test_a_pattern_that_reads_alike_is_left_alone(pattern: str, value: str) -> None:
    assert differences(pattern) == []


def test_each_kind_is_told_once_at_its_first_place() -> None:
    found = differences("a.b.c$")
    assert [difference.offset for difference in found] == [1, 5]


def test_java_and_re2_differ_where_lint_says_so_and_agree_where_it_does_not(spark: SparkSession) -> None:
    cases = DIFFER + ALIKE
    columns = ", ".join(f"{string_text(value)} RLIKE {string_text(pattern)}" for pattern, value in cases)
    java = list(spark.sql(f"SELECT {columns}").collect()[0])
    re2 = [has_match(value, pattern) for pattern, value in cases]
    agree = [one == other for one, other in zip(java, re2, strict=True)]
    assert agree == [False] * len(DIFFER) + [True] * len(ALIKE)
