"""Rules of a new version that look at columns which a running stream does not read."""

from __future__ import annotations

import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructType, VariantType

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.spark import match, pins
from ruledex.spark.jobs.match.plan import StreamPlan
from ruledex.spark.jobs.match.stream import _fit
from tests.spark.operating.test_metrics import run, stream  # noqa: F401  # a fixture

TEXT, NUMBER = StringType(), LongType()
SCHEMA = (
    StructType()
    .add("n", NUMBER)
    .add("country", TEXT)
    .add("device", StructType().add("os", TEXT).add("app", TEXT))
    .add("items", ArrayType(StructType().add("price", NUMBER)))
    .add("v", VariantType())
)


def fit(tmp_path, rules, planned, sets_aside=True):
    """A version as a query that reads these paths can use it."""
    Index.build(rules).save(tmp_path)
    plan = StreamPlan("integer", SCHEMA.json(), planned, sets_aside)
    return _fit(plan, str(tmp_path), Index.open(tmp_path).version, None)


def test_rules_on_other_columns_are_set_aside_and_all_others_are_asked(tmp_path):
    rules = [
        (1, "n = 1"),
        (2, "country IS NULL"),  # would be true of every event if it were asked
        (3, "n = 1 OR country = 'IN'"),
        (4, "device.app = 'x' OR n = 1"),
        (5, "device.os = 'ios' OR n = 1"),
        (6, "n = 1 AND lower(country) = 'in'"),
        (7, "exists(items, i -> i.price > 1) OR n = 1"),
        (8, "items.price > 1 OR n = 1"),
        (9, "nobody IS NULL"),  # no event has it, whatever a query reads
        (10, "n < length(country)"),
    ]
    found = fit(tmp_path, rules, (("n",), ("device", "os")))
    assert found.n_set_aside == 7
    assert "7 rules are set aside until a restart (2, 3, 4, 6, 7, …)" in found.reason
    event = {"n": 1, "device": {"os": "ios"}}
    assert found.opened.match(event) == [1, 5, 9]
    assert found.opened.count([event]).tolist() == [3]
    assert sorted(rule for rule, _ in found.opened.top(event, 10)) == [1, 5, 9]
    assert list(found.opened.match_batch([event])) == [[1, 5, 9]]
    assert found.opened.count([event], where="TRUE").tolist() == [3]
    assert Index.open(tmp_path).match(event) == [rule for rule, _ in rules if rule not in (6, 10)]


def test_in_several_shards_too_and_nothing_is_set_aside_if_all_is_read(tmp_path):
    rules = [(number, f"n = {number}" if number % 3 else "country = 'IN'") for number in range(30)]
    found = fit(tmp_path / "some", rules, (("n",),))
    assert (found.n_set_aside, found.opened.match({"n": 4})) == (10, [4])
    found = fit(tmp_path / "all", rules, (("n",), ("country",)))
    assert (found.n_set_aside, found.reason) == (0, None)


@pytest.mark.parametrize("rule", ["* LIKE '%x%'", "device IS NULL", "v.a.b = 1"])
def test_a_version_is_refused_if_its_rules_cannot_be_told_apart(tmp_path, rule):
    planned = (("n",), ("device", "os"), ("v", "c"))
    with pytest.raises(RuledexError, match="which the running query does not read: restart the query"):
        fit(tmp_path, [(1, "n = 1"), (2, rule)], planned)


def test_without_the_option_the_version_is_refused(tmp_path):
    with pytest.raises(RuledexError, match="its rules look at country, which the running query does not read"):
        fit(tmp_path, [(1, "country = 'IN'")], (("n",),), sets_aside=False)


def test_a_stream_takes_up_a_version_without_the_rules_and_pins_and_metrics_say_so(
    spark,
    stream,  # noqa: F811
    tmp_path,
):
    index = tmp_path / "index"
    Index.build([(1, "n >= 0")]).save(index)
    second = Index.build([(1, "n >= 0"), (2, "other = 1"), (3, "n = 1"), (4, "other IS NULL")])
    metrics, rows = run(stream, index, tmp_path, [lambda: second.save(index)], on_unread="set_aside")
    assert rows == [(0, [1]), (1, [1, 3])]
    assert [(each["refused"], each["set_aside"], each["matches"]) for each in metrics] == [(0, 0, 1), (0, 2, 2)]
    assert [each["version"] for each in metrics][1] == second.version
    told = (
        "its rules look at other, which the running query does not read: 2 rules are set aside until a restart (2, 4)"
    )
    assert metrics[1]["reason"] == told
    last = pins(spark, index).orderBy("time").collect()[-1]
    assert (last.version, last.refused, last.reason, last.n_refused) == (second.version, None, told, 0)


def test_what_to_do_with_such_rules_is_one_of_two(spark, tmp_path):
    Index.build([(1, "n = 1")]).save(tmp_path)
    with pytest.raises(RuledexError, match="on_unread must be 'refuse' or 'set_aside', not 'drop'"):
        match(spark.range(1), tmp_path, on_unread="drop")
