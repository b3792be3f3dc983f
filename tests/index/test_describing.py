"""Rules that are conjunctions of ranges."""

import pytest

from ruledex.index.describing import n_interval_rules
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.program.builder import ProgramBuilder


def counted(*texts):
    builder = ProgramBuilder(Schema())
    for text in texts:
        builder.add(parse(text))
    return n_interval_rules(builder.finish().program)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a BETWEEN 1 AND 5", True),
        ("a > 1 AND b <= 3 AND c = 4", True),
        ("a > 1 AND (b < 3 AND c < 4)", True),
        ("a IN (1, 3)", False),
        ("a > 1 OR b > 2", False),
        ("a > 1 AND (b < 3 OR c < 4)", False),
        ("a > 1 AND b != 3", False),
        ("TRUE", False),
        ("a BETWEEN 5 AND 1", False),
    ],
)
def test_each_conjunct_is_one_stretch_of_values(text, is_one):
    assert counted(text, "x IN (1, 2)") == is_one


def test_parts_that_rules_share_are_counted_with_each():
    assert counted("a > 1 AND b > 2", "a > 1 AND b > 2", "a > 1 AND b > 2 AND c > 3", "a > 1 AND b > 2 AND c != 3") == 3


def test_no_rules_are_none():
    assert counted() == 0
