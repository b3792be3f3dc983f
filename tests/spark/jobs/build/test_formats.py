"""Rules of other systems in Spark: workers convert them, and quarantine what cannot be converted as it was written."""

from __future__ import annotations

import json

import pytest

from ruledex import Index
from ruledex.errors import InputError, RulesError
from ruledex.explain import Original
from ruledex.formats.growthbook import feature_values
from ruledex.spark import build_index

PATTERNS = {1: {"source": ["shop"]}, 2: {"total": [{"numeric": [">", 100]}]}, 4: {"source": [{"prefix": "sh"}]}}


@pytest.mark.parametrize("shards", [1, 2])
def test_a_build_converts_rules_and_keeps_what_was_written(spark, tmp_path, shards):
    texts = {number: json.dumps(pattern) for number, pattern in PATTERNS.items()} | {3: '{"source": "shop"}', 5: "{"}
    frame = spark.createDataFrame([*texts.items(), (4, texts[4])], "id bigint, pattern string")
    report = build_index(frame, tmp_path, expr="pattern", format="eventbridge", shards=shards)
    assert (report.n_rules, report.n_copies) == (3, 1)
    index = Index.open(tmp_path)
    assert index.match({"source": "shop", "total": 500}) == [1, 2, 4]
    for trusted in (index, Index.open(tmp_path, trust=False)):
        assert {i: trusted.rule(i).original for i in PATTERNS} == {
            i: Original("eventbridge", pattern) for i, pattern in PATTERNS.items()
        }
    refused = {row.id: row for row in report.quarantine.collect()}
    assert refused[3].text == '{"source": "shop"}'
    assert refused[3].error.startswith("$.source: a field takes a list of values")
    assert refused[5].error.startswith("$: this is not JSON")
    assert {row.code for row in refused.values()} == {"syntax"}
    with pytest.raises(RulesError, match="a field takes a list of values"):
        build_index(frame, tmp_path, expr="pattern", format="eventbridge", on_error="raise")


def test_definitions_and_tags_of_a_format_are_kept(spark, tmp_path):
    condition = json.dumps({"user": {"$inGroup": "beta"}})
    frame = spark.createDataFrame([(1, condition, 2.0)], "id int, expr string, score double")
    options = {"saved_groups": {"beta": ["ann"]}}
    build_index(frame, tmp_path / "conditions", format="mongo", format_options=options)
    index = Index.open(tmp_path / "conditions")
    assert index.definitions == {"beta of user": "user = 'ann'"}
    assert index.match({"user": "ann"}) == [1]
    assert index.rule(1).static_score == 2.0
    features = json.dumps({"features": {"f": {"defaultValue": 0, "rules": [{"force": 1, "condition": {"a": 1}}]}}})
    frame = spark.createDataFrame([("file", features)], "id string, expr string")
    build_index(frame, tmp_path / "features", format="growthbook")
    assert feature_values(Index.open(tmp_path / "features"), {"a": 1}) == {"f": 1}


def test_what_a_format_does_not_have_is_an_error(spark, tmp_path):
    frame = spark.createDataFrame([(1, "{}")], "id int, expr string")
    with pytest.raises(InputError, match="did you mean eventbridge"):
        build_index(frame, tmp_path, format="eventbrige")
    with pytest.raises(InputError, match="has no option 'dots'"):
        build_index(frame, tmp_path, format="eventbridge", format_options={"dots": True})
    with pytest.raises(InputError, match="ids of its own, which are texts"):
        build_index(frame, tmp_path, format="growthbook")
