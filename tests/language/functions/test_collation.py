from __future__ import annotations

from unicodedata import category

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.errors import RuleError
from ruledex.language.functions.collation import compared_key, pattern_key
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text

RULES = {
    "equal": "x COLLATE UTF8_LCASE = 'Straße'",
    "in": "x COLLATE utf8_lcase IN ('ABC', 'd')",
    "between": "x COLLATE UTF8_LCASE BETWEEN 'A' AND 'c'",
    "like": "x COLLATE UTF8_LCASE LIKE 'A%'",
    "unlike": "x COLLATE UTF8_LCASE NOT LIKE ALL ('A%', '_B')",
    "part": "contains(x COLLATE UTF8_LCASE, 'BC')",
    "regex": "x COLLATE UTF8_LCASE RLIKE '^ab'",
    "other": "x COLLATE UTF8_LCASE = y",
    "binary": "x COLLATE UTF8_BINARY = 'abc'",
}
EVENTS = [{"x": "aBC", "y": "AbC"}, {"x": "STRASSE"}, {"x": "STRAẞE"}, {"x": "D", "y": "d"}, {"x": "b"}, {"x": 5}, {}]


def test_case_does_not_count(tmp_path):
    trees = {name: parse(rule) for name, rule in sorted(RULES.items())}
    expected = [[name for name, tree in trees.items() if truth_of(tree, event)] for event in EVENTS]
    assert expected[0] == ["between", "in", "like", "other", "part", "regex"]
    assert expected[1:] == [["unlike"], ["equal", "unlike"], ["in", "other", "unlike"], ["between", "unlike"], [], []]
    index = Index.build(RULES.items())
    index.save(tmp_path)
    grown = Index.build([])
    grown.add(RULES.items())
    for each in (index, Index.open(tmp_path), grown):
        assert [each.match(event) for event in EVENTS] == expected
    table = pa.table({"x": ["aBC", "STRASSE", "STRAẞE", "D", "b"], "y": ["AbC", None, None, "d", None]})
    assert list(index.match_batch(table)) == expected[:5]


@pytest.mark.parametrize("rule", RULES.values())
def test_rules_are_printed_and_structured_without_loss(rule):
    tree = parse(rule)
    assert parse(tree_text(tree)) == tree
    assert from_structured(to_structured(tree)) == tree


@pytest.mark.parametrize(
    "rule",
    [
        "length(x COLLATE UTF8_LCASE) = 1",
        "x COLLATE UTF8 = 'a'",
        "'a' COLLATE UTF8_LCASE = x",
        "year(x) COLLATE UTF8_LCASE = 'a'",
        "x COLLATE",
        "x COLLATE UTF8_LCASE = 5",
        "(x = 'a') COLLATE UTF8_LCASE",
    ],
)
def test_what_is_refused(rule):
    with pytest.raises(RuleError):
        parse(rule)


def test_keys_tell_apart_the_characters_that_spark_tells_apart(spark):
    # Newer letters than all Pythons know, and those whose case Java 17 and Python know from different Unicodes.
    known = [chr(code) for code in range(1, 0x600) if category(chr(code)) not in ("Cn", "Cs")]
    pairs = [(c, other) for c in known for other in {c.lower(), c.upper(), c.swapcase(), "i", "σ"}]
    frame = spark.createDataFrame(pairs, "a STRING, b STRING")
    answers = frame.selectExpr("(a COLLATE UTF8_LCASE) = b", "a", "b").collect()
    wrong = [(a, b) for same, a, b in answers if same is not (compared_key(a) == compared_key(b))]
    assert wrong == []
    single = frame.where("length(b) = 1 AND b NOT IN ('_', '%', '\\\\')")
    answers = single.selectExpr("(a COLLATE UTF8_LCASE) LIKE b", "a", "b").collect()
    wrong = [(a, b) for same, a, b in answers if same is not (pattern_key(a) == pattern_key(b))]
    assert wrong == []
