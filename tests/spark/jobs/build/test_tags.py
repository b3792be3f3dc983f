"""Tags of rules in Spark: structs, maps and JSON are built as a process builds them, and filter a match."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ruledex import Index
from ruledex.errors import InputError, RuleError
from ruledex.spark import build_index, match

STRUCTS = "id bigint, expr string, about struct<tenant: string, level: int, until: timestamp>"
UNTIL = datetime(2026, 12, 31, 12, tzinfo=UTC)
ROWS = [
    (1, "a = 1", ("x", 3, UNTIL)),
    (2, "a > 0", ("y", None, None)),
    (3, "b = 1", None),
    (4, "a < 9", ("x", 1, None)),
    (4, "a < 9", ("x", 1, None)),
]
TAGS = {1: {"tenant": "x", "level": 3, "until": UNTIL}, 2: {"tenant": "y"}, 3: {}, 4: {"tenant": "x", "level": 1}}


def tags_by_id(root):
    return {rule.id: rule.tags for rule in Index.open(root).rules()}


@pytest.mark.parametrize("shards", [1, 2])
def test_a_build_keeps_tags_and_a_match_filters_by_them(spark, tmp_path, shards):
    report = build_index(spark.createDataFrame(ROWS, STRUCTS), tmp_path, tags="about", shards=shards)
    assert (report.n_rules, report.n_copies) == (4, 1)
    assert tags_by_id(tmp_path) == TAGS
    assert {rule.id: rule.tags for rule in Index.open(tmp_path, trust=False).rules()} == TAGS
    events = spark.createDataFrame([(1, 1), (5, 1)], "a int, b int")

    def asked(column, **options):
        return {row.a: row[column] for row in match(events, tmp_path, where="tenant = 'x'", **options).collect()}

    assert asked("rules") == {1: [1, 4], 5: [4]}
    assert asked("n_rules", count=True) == {1: 2, 5: 1}
    assert asked("rules", top=1) == {1: [1], 5: [4]}
    with pytest.raises(RuleError, match="the rule ends here"):
        match(events, tmp_path, where="tenant =")


def test_maps_and_texts_and_what_is_wrong_with_them(spark, tmp_path):
    maps = [(1, "a = 1", {"tenant": "x"}), (2, "a = 2", {}), (3, "a = 3", None)]
    build_index(spark.createDataFrame(maps, "id int, expr string, tags map<string, string>"), tmp_path, tags="tags")
    assert tags_by_id(tmp_path) == {1: {"tenant": "x"}, 2: {}, 3: {}}
    texts = [(1, "a = 1", '{"n": 1}'), (2, "a = 2", "n"), (3, "a = 1", '{"n": 1}'), (3, "a = 1", '{"n": 2}')]
    frame = spark.createDataFrame(texts, "id int, expr string, tags string")
    report = build_index(frame, tmp_path, tags="tags")
    assert tags_by_id(tmp_path) == {1: {"n": 1}}
    wrong = sorted((row.id, row.error.partition(":")[0]) for row in report.quarantine.collect())
    differ = (3, "rules with this id differ in text, score or tags")
    assert wrong == [(2, "tags are a mapping of names to values, or JSON of one; this is not JSON"), differ, differ]
    with pytest.raises(InputError, match="the column 'id' holds int; tags are structs or maps"):
        build_index(frame, tmp_path, tags="id")
