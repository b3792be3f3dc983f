"""Tags of rules: every form that they come in, what is refused, and where they are kept."""

from __future__ import annotations

import copy
import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ruledex import Index, limits
from ruledex.errors import ArtifactError, InputError, RuleError, RulesError
from ruledex.index.tags import NO_TAGS, TagSets, column_texts, tags_of, tags_text
from ruledex.sources import Columns

TAGGED = [(1, "a = 1", 0.5, {"tenant": "a", "n": 1}), (2, "a = 2", 0.0, None), (3, "b = 1", 0.0, {"tenant": "b"})]
TAGS = {1: {"tenant": "a", "n": 1}, 2: {}, 3: {"tenant": "b"}}
VALUES: dict[str, Any] = {
    "text": "ü",
    "yes": True,
    "whole": 2**63 - 1,
    "double": 0.1,
    "decimal": Decimal("9.90"),
    "day": date(2026, 12, 31),
    "naive": datetime(2026, 12, 31, 12, 0, 0, 5),
    "zoned": datetime(2026, 12, 31, 12, tzinfo=timezone(timedelta(hours=2))),
    "several": ["a", 1, date(2026, 1, 1)],
    "inner": {"name": "x", "since": date(2026, 1, 1)},
}


def tags_by_id(index):
    return {rule.id: rule.tags for rule in index.rules()}


def test_values_come_back_as_they_were_given():
    assert tags_of(tags_text(VALUES)) == VALUES
    assert tags_of(tags_text(tags_text(VALUES))) == VALUES
    assert tags_text({"b": 1, "a": None}) == tags_text('{"b": 1}') == '{"b":1}'
    assert tags_text(None) is None
    assert tags_text({}) == NO_TAGS
    assert tags_of(tags_text({"n": np.int32(3), "days": np.array([1, 2])})) == {"n": 3, "days": [1, 2]}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([1], "tags are a mapping"),
        ("tenant", "this is not JSON"),
        ("[1]", "tags are a mapping"),
        ({"": 1}, "the name of a tag"),
        ({1: 1}, "the name of a tag"),
        ({"$date": 1}, "the name of a tag"),
        ('{"until": {"$date": "tomorrow"}}', "has the \\$date 'tomorrow'; write"),
        ({"until": {"$timestamp": 5}}, "has the \\$timestamp 5; write"),
        ({"price": {"$decimal": "cheap"}}, "has the \\$decimal 'cheap'; write"),
        ({"price": {"$decimal": "NaN"}}, "a number is finite"),
        ({"until": {"$date": "2026-12-31", "$decimal": "1"}}, "the name of a tag"),
        ({"x": 2**63}, "more than 64 bits"),
        ({"x": float("nan")}, "a number is finite"),
        ({"x": b"bytes"}, "of the type bytes"),
        ({"x": "\ud800"}, "cannot be written as JSON"),
    ],
)
def test_what_is_not_tags_is_a_fault_of_its_rule(given, problem):
    with pytest.raises(RuleError, match=problem):
        tags_text(given)
    with pytest.raises(RulesError, match="1 of 2 rules"):
        Index.build([(1, "a = 1"), (2, "a = 2", 0.0, given)])
    skipped = Index.build([(1, "a = 1"), (2, "a = 2", 0.0, given)], on_error="skip")
    assert len(skipped) == 1
    assert skipped.faults[0].rule_id == 2


def nested(depth):
    return {"x": nested(depth - 1)} if depth else 1


def test_tags_are_bounded():
    with pytest.raises(RuleError, match="nested deeper"):
        tags_text(nested(100))
    for depth in (20, 500, 900, 100_000):
        with pytest.raises(RuleError, match=r"nested deeper|this is not JSON"):
            tags_text('{"x":' * depth + "1" + "}" * depth)
    with pytest.raises(RuleError, match="over the limit rule_characters"):
        tags_text({"x": "a" * limits.current().rule_characters})


def struct_table():
    tags = pa.array([row[3] for row in TAGGED], pa.struct({"tenant": pa.string(), "n": pa.int32()}))
    return pa.table({"id": [1, 2, 3], "expr": [row[1] for row in TAGGED], "score": [0.5, 0.0, 0.0], "tags": tags})


def map_table():
    rows = [[("tenant", "a")], None, [("tenant", "b")]]
    tags = pa.array(rows, pa.map_(pa.string(), pa.string()))
    return pa.table({"id": [1, 2, 3], "expr": [row[1] for row in TAGGED], "tags": tags})


def test_every_form_of_rules_takes_tags(tmp_path):
    mappings = [{"id": i, "expr": e, "score": s, "tags": t} for i, e, s, t in TAGGED]
    assert tags_by_id(Index.build(TAGGED)) == tags_by_id(Index.build(mappings)) == TAGS
    assert tags_by_id(Index.build(struct_table())) == TAGS
    assert tags_by_id(Index.build(map_table())) == {1: {"tenant": "a"}, 2: {}, 3: {"tenant": "b"}}
    pq.write_table(struct_table(), tmp_path / "rules.parquet")
    (tmp_path / "rules.jsonl").write_text("\n".join(map(json.dumps, mappings)))
    (tmp_path / "rules.csv").write_text(
        'id,expr,tags\n1,a = 1,"{""tenant"": ""a"", ""n"": 1}"\n2,a = 2,\n3,b = 1,"{""tenant"": ""b""}"\n'
    )
    for name in ("rules.parquet", "rules.jsonl"):
        assert tags_by_id(Index.build(str(tmp_path / name))) == TAGS
    assert tags_by_id(Index.build(str(tmp_path / "rules.csv"))) == {str(i): tags for i, tags in TAGS.items()}
    renamed = struct_table().rename_columns(["id", "expr", "score", "about"])
    assert tags_by_id(Index.build(renamed, columns=Columns(tags="about"))) == TAGS
    assert tags_by_id(Index.build(renamed)) == {1: {}, 2: {}, 3: {}}


def test_typed_values_are_taken_as_json_writes_them_wherever_rules_come_from(tmp_path):
    typed = {
        "until": {"$date": "2026-12-31"},
        "at": [{"$timestamp": "2026-12-31T12:00:00Z"}, "x"],
        "inner": {"price": {"$decimal": "9.90"}},
    }
    expected = {
        "until": date(2026, 12, 31),
        "at": [datetime(2026, 12, 31, 12, tzinfo=UTC), "x"],
        "inner": {"price": Decimal("9.90")},
    }
    row = {"id": 1, "expr": "a = 1", "tags": typed}
    (tmp_path / "rules.jsonl").write_text(json.dumps(row) + "\n")
    given = [[row], [(1, "a = 1", 0.0, typed)], [(1, "a = 1", 0.0, json.dumps(typed))], str(tmp_path / "rules.jsonl")]
    for rules in given:
        index = Index.build(rules)
        assert index.rule(1).tags == expected
        index.update([(1, "a = 2", 0.0, typed)])
        assert index.rule(1).tags == expected
        assert index.match({"a": 2}, where="until >= DATE '2026-12-31'") == [1]


def test_a_column_that_cannot_hold_tags():
    with pytest.raises(InputError, match="the column 'tags' holds int64; tags are a mapping"):
        Index.build(pa.table({"id": [1], "expr": ["a = 1"], "tags": [5]}))
    texts, faults = column_texts(pa.chunked_array([['{"a": 1}', "x", None, "x"]]), "tags")
    assert texts.to_pylist() == ['{"a":1}', None, None, None]
    assert [row for row, _ in faults] == [1, 3]
    assert column_texts(pa.chunked_array([pa.nulls(2)]), "tags")[0].null_count == 2


def test_changes_keep_tags_unless_others_are_given(tmp_path):
    index = Index.build(TAGGED)
    index.save(tmp_path)
    index.update([(1, "a = 7"), (3, "b = 7", 0.0, {"tenant": "c"})])
    index.upsert([(2, "a = 8", 0.0, {"tenant": "d"}), (4, "a = 9", 0.0, {"tenant": "e"}), (5, "a = 1")])
    expected = {1: TAGS[1], 2: {"tenant": "d"}, 3: {"tenant": "c"}, 4: {"tenant": "e"}, 5: {}}
    assert tags_by_id(index) == tags_by_id(Index.open(tmp_path)) == expected
    index.update([(4, "a = 10"), (3, "b = 8", 0.0, {})])
    expected[3] = {}
    assert index.rule(3).text == "b = 8"
    for other in (index, Index.open(tmp_path), copy.deepcopy(index)):
        assert tags_by_id(other) == expected
    index.remove([1])
    index.add([(1, "a = 1")])
    expected[1] = {}
    assert tags_by_id(Index.open(tmp_path)) == expected
    index.compact()
    for other in (index, Index.open(tmp_path), Index.open(tmp_path, trust=False), copy.deepcopy(index)):
        assert tags_by_id(other) == expected


def test_an_index_without_tags_is_stored_as_before(tmp_path):
    Index.build([(1, "a = 1")]).save(tmp_path / "plain")
    (table,) = (tmp_path / "plain").rglob("rules.parquet")
    assert pq.read_schema(table).names == ["id", "shape", "pieces", "score"]
    Index.build(TAGGED).save(tmp_path / "tagged")
    (table,) = (tmp_path / "tagged").rglob("rules.parquet")
    assert pq.read_schema(table).names == ["id", "shape", "pieces", "score", "tags"]


def test_stored_tags_that_are_damaged_are_an_error():
    with pytest.raises(ArtifactError, match="are damaged"):
        tags_of("[1]")


def test_columns_of_one_type_only():
    sets = TagSets.of(pa.array([tags_text(VALUES), tags_text({"text": "a", "yes": 1}), None]))
    assert sets.table(["text"]).to_pydict() == {"text": ["ü", "a", None]}
    assert sets.table(["zoned"])["zoned"].to_pylist()[0] == VALUES["zoned"].astimezone(UTC)
    assert sets.table(["text", "yes"]) is None
    assert sets.table(["several"]) is None


def test_a_changed_definition_keeps_the_tags_of_its_rules():
    rules = [(1, "@adult AND a = 1", 0.0, {"tenant": "a"}), (2, "@adult", 0.0, {"tenant": "b"}), (3, "b = 1")]
    index = Index.build(rules, definitions={"adult": "age >= 18"})
    index.define("adult", "age >= 21")
    assert tags_by_id(index) == {1: {"tenant": "a"}, 2: {"tenant": "b"}, 3: {}}
    assert index.match({"age": 30, "a": 1}, where="tenant = 'a'") == [1]
    assert index.match({"age": 20, "a": 1}, where="tenant = 'a'") == []
