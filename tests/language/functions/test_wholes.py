from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import RuleError
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("x = array(1, 2)", [1, 2], True),
        ("x = array(1, 2)", [2, 1], False),
        ("x = array(1, 2)", [1, 2, 2], False),
        ("x = array(1, 2)", (1.0, Decimal("2.00")), True),
        ("x = array(1, NULL)", [1, None], True),
        ("x = array('a', TRUE)", ["a", True], True),
        ("x = array('1')", [1], False),
        ("x = array(1)", [True], False),
        ("x = array(0.1)", [0.1], True),
        ("x = array(DATE '2024-01-01')", [date(2024, 1, 1)], True),
        ("x = array('2024-01-01')", [date(2024, 1, 1)], False),
        ("x != array(1, 2)", [1], True),
        ("x = array()", [], True),
        ("x = array()", [None], False),
        ("x != array()", [1], True),
        ("x = array()", None, None),
        ("x <=> array()", None, False),
        ("x = array(array(), 1)", [[], 1], True),
        ("whole(x) = '[1,2]'", [1, 2.0], True),
        ("x = '[1,2]'", [1, 2], None),
        ("x = '[1,2]'", "[1,2]", True),
        ("x = array(1)", 1, None),
        ("x = array(1)", None, None),
        ("x <=> array(1)", None, False),
        ("x = array(array(1), array('a', 2))", [[1], ["a", 2]], True),
        ("x = named_struct('a', 1, 'b', 'y')", {"a": 1, "b": "y"}, True),
        ("x = named_struct('a', 1, 'b', 'y')", {"b": "y", "a": 1}, False),
        ("x = named_struct('a', NULL)", {"a": None}, True),
        ("x = array(named_struct('a', 1))", [{"a": 1}], True),
        ("x.y = array('\\\\', '\\'')", {"y": ["\\", "'"]}, True),
    ],
)
def test_whole_arrays_and_objects_are_equal(rule, value, expected):
    tree = parse(rule)
    assert truth_of(tree, {"x": value}) is expected
    assert parse(tree_text(tree)) == tree
    assert from_structured(to_structured(tree)) == tree
    assert Index.build([(1, rule)]).match({"x": value}) == ([1] if expected else [])


@pytest.mark.parametrize(
    "rule",
    [
        "x < array(1)",
        "array(1, 2)",
        "array(1) AND x = 1",
        "lower(x) = array('a')",
        "size(array(1)) = 1",
        "x = named_struct('a')",
        "x = named_struct('a', 1, 'a', 2)",
        "x = named_struct(1, 2)",
        "x = array(y)",
        "x = array(1^2)",
        "x = array(TIMESTAMP '2024-01-01 00:00:00')",
    ],
)
def test_what_is_refused(rule):
    with pytest.raises(RuleError):
        parse(rule)


def test_arrow_tables_saved_and_live_rules_answer_alike(tmp_path):
    rules = {"list": "x = array(1, 2)", "struct": "s = named_struct('a', 1, 'b', NULL)", "other": "x != array(1, 2)"}
    table = pa.table({"x": [[1, 2], [2, 1], None], "s": [{"a": 1, "b": None}, {"a": 1, "b": "c"}, None]})
    expected = [["list", "struct"], ["other"], []]
    index = Index.build(rules.items())
    index.save(tmp_path)
    grown = Index.build([])
    grown.add(rules.items())
    for each in (index, Index.open(tmp_path), grown):
        assert list(each.match_batch(table)) == expected
        assert [each.match(row) for row in table.to_pylist()] == expected
