"""Trees written as Spark SQL. tests/oracle shows that they mean the same."""

from __future__ import annotations

import pytest

from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.spark_text import to_spark
from ruledex.language.tree import And, Attribute, Bound, In, Not, Weak, Within


@pytest.mark.parametrize(
    ("rule", "sql"),
    [
        ("a = 5", "`a` = 5L"),
        ("a = -9223372036854775808", "`a` = -9223372036854775808L"),
        ("a = 1.50", "`a` = 1.50BD"),
        ("a = 1e300", "`a` = 1e+300D"),
        ("a", "`a` = TRUE"),
        ("a = 'it''s \\\\ \\u0000'", "`a` = 'it\\'s \\\\ \\u0000'"),
        ("a = DATE '2024-02-29'", "`a` = DATE '2024-02-29'"),
        ("a = TIMESTAMP '2024-02-29 10:30:00Z'", "`a` = TIMESTAMP '2024-02-29 10:30:00+00:00'"),
        ("a.`b``c` != 1", "NOT `a`.`b``c` = 1L"),
        ("a IN (1^2, NULL)", "`a` IN (1L, NULL)"),
        ("(a BETWEEN 1 AND 2)^3", "`a` BETWEEN 1L AND 2L"),
        ("a <=> 1", "`a` <=> 1L"),
        ("a <=> b", "`a` <=> `b`"),
        ("a LIKE '10\\\\%'", "`a` LIKE '10\\\\%'"),
        ("a NOT ILIKE ALL ('x', 'y')", "NOT `a` ILIKE ANY ('x', 'y')"),
        ("a RLIKE '\\\\d'", "`a` RLIKE '\\\\d'"),
        ("a IS NOT NULL", "NOT `a` IS NULL"),
        ("a XOR b", "(`a` = TRUE) != (`b` = TRUE)"),
        ("a XNOR b XNOR c", "((`a` = TRUE) = (`b` = TRUE)) = (`c` = TRUE)"),
        ("(a OR b) AND c", "(`a` = TRUE OR `b` = TRUE) AND `c` = TRUE"),
        ("NOT (a AND b)", "NOT (`a` = TRUE AND `b` = TRUE)"),
        ("TRUE OR NULL", "TRUE OR CAST(NULL AS BOOLEAN)"),
        ("substring(a, 2) = 'x'", "substring(`a`, 2, 2147483647) = 'x'"),
        ("a + 1 > 2", "try_add(`a`, 1L) > 2L"),
    ],
)
def test_constants_are_typed_and_weights_dropped(rule, sql):
    assert to_spark(parse(rule)) == sql


def test_what_rewrites_make_is_written_out():
    number = Attribute(("n",))
    within = Within(number, (7,), (Bound(None, False, 1, True), Bound(2, True, 3, False)))
    weak = Weak(In(number, (1,)))
    assert to_spark(within) == "`n` = 7L OR (`n` <= 1L) OR (`n` >= 2L AND `n` < 3L)"
    assert to_spark(weak) == "`n` IS NULL OR NOT `n` IN (1L)"
    assert to_spark(And((Not(within), weak))) == f"NOT ({to_spark(within)}) AND ({to_spark(weak)})"


@pytest.mark.parametrize(
    "rule", ["version(a) < '1.2'", "cidr(a) = '10.0.0.0/8'", "subset_of(a, 1)", "b = 1 OR NOT set_equals(a, 'x')"]
)
def test_what_spark_has_no_word_for_is_refused(rule):
    with pytest.raises(RuleError, match="Spark SQL has no"):
        to_spark(parse(rule))
