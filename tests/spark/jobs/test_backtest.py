"""What two versions of an index find, rule by rule, beside a plain loop over the events."""

from __future__ import annotations

import json
from collections import defaultdict

import pytest

from ruledex import Index
from ruledex.errors import RuledexError
from ruledex.spark import backtest

OLD = [(1, "a > 100"), (2, "a % 7 = 0"), (3, "b = 'x'"), (4, "a < 0"), (5, "a >= 0")]
NEW = [(1, "a > 150"), (3, "b = 'x'"), (4, "a < 50 OR c.d = 1"), (5, "a >= 0 "), (9, "a % 11 = 0")]
CHANGES = {1: "changed", 2: "removed", 3: "same", 4: "changed", 5: "changed", 9: "added"}
EVENTS = [{"a": a, "b": "x" if a % 5 == 0 else None, "c": {"d": a % 3}} for a in range(200)]


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("backtest")
    Index.build(OLD).save(folder / "old")
    Index.build(NEW).save(folder / "new")
    return str(folder / "old"), str(folder / "new")


@pytest.fixture(scope="module")
def events(spark):
    rows = [(event["a"], event["b"], (event["c"]["d"],)) for event in EVENTS]
    return spark.createDataFrame(rows, "a bigint, b string, c struct<d:int>").repartition(3)


@pytest.fixture(scope="module")
def truth(roots):
    """For each rule the events of the old index, and those of the new one."""
    found = [defaultdict(set), defaultdict(set)]
    for root, of_rule in zip(roots, found, strict=True):
        index = Index.open(root)
        for event in EVENTS:
            for rule in index.match(event):
                of_rule[rule].add(event["a"])
    return found


def test_each_rule_has_what_it_gains_loses_and_keeps(roots, events, truth):
    old, new = truth
    rows = {row.rule: row for row in backtest(*roots, events, key="a").collect()}
    assert {rule: row.change for rule, row in rows.items()} == CHANGES
    for rule, row in rows.items():
        gained, lost = new[rule] - old[rule], old[rule] - new[rule]
        assert (row.gained, row.lost, row.kept) == (len(gained), len(lost), len(new[rule] & old[rule]))
        assert len(row.gained_events) == min(3, len(gained))
        assert len(row.lost_events) == min(3, len(lost))
        assert set(row.gained_events) <= gained
        assert set(row.lost_events) <= lost


def test_examples_are_events_as_json_where_no_column_is_named(roots, events, truth):
    old, new = truth
    rows = {row.rule: row for row in backtest(*roots, events, examples=2).collect()}
    shown = [json.loads(text) for text in rows[4].gained_events]
    assert len(shown) == 2
    assert all(event in EVENTS for event in shown)
    assert all(event["a"] in new[4] - old[4] for event in shown)
    assert all(not row.lost_events for row in backtest(*roots, events, examples=0).collect())


def test_a_variant_is_shown_as_what_it_holds(spark, tmp_path):
    Index.build([(1, "v.a = 1")]).save(tmp_path / "old")
    Index.build([(1, "v.a = 2")]).save(tmp_path / "new")
    events = spark.sql("""SELECT parse_json('[{"a":1}]') AS v UNION ALL SELECT parse_json('{"a":[2]}')""")
    (row,) = backtest(tmp_path / "old", tmp_path / "new", events).collect()
    assert [json.loads(text) for text in row.gained_events + row.lost_events] == [{"v": {"a": [2]}}, {"v": [{"a": 1}]}]


def test_versions_of_one_index_are_compared(spark, tmp_path, events):
    before = Index.build([("r", "a < 10")]).save(tmp_path)
    Index.build([("r", "a < 12"), ("s", "a < 0")]).save(tmp_path)
    (first, second) = backtest(tmp_path, tmp_path, events, key="a", old_version=before).orderBy("rule").collect()
    assert tuple(first)[:5] == ("r", "changed", 2, 0, 10)
    assert sorted(first.gained_events) == [10, 11]
    assert tuple(second) == ("s", "added", 0, 0, 0, [], [])


def test_an_index_beside_itself_gains_and_loses_nothing(roots, events, truth):
    rows = backtest(roots[0], roots[0], events).collect()
    assert {row.rule: (row.change, row.gained, row.lost, row.kept) for row in rows} == {
        rule: ("same", 0, 0, len(truth[0][rule])) for rule, _ in OLD
    }
    assert {row.kept for row in backtest(*roots, events.limit(0)).collect()} == {0}


def test_what_cannot_be_compared_is_an_error(roots, events, tmp_path):
    Index.build([("text", "a = 1")]).save(tmp_path)
    with pytest.raises(RuledexError, match="integer ids, and those of the other have string ids"):
        backtest(roots[0], tmp_path, events)
    with pytest.raises(RuledexError, match="no column 'nowhere'"):
        backtest(*roots, events, key="nowhere")
    with pytest.raises(RuledexError, match="examples is -1"):
        backtest(*roots, events, examples=-1)


def test_both_versions_are_asked_as_of_the_same_time(spark, tmp_path):
    Index.build([(1, "seen > now() - INTERVAL 1 DAY")]).save(tmp_path / "old")
    Index.build([(1, "seen > now() - INTERVAL 3 DAYS")]).save(tmp_path / "new")
    rows = [(f"2024-05-{day:02}T12:00:00",) for day in range(1, 11)]
    seen = spark.createDataFrame(rows, "seen string").repartition(3)
    (row,) = backtest(tmp_path / "old", tmp_path / "new", seen, now="2024-05-05T13:00:00").collect()
    assert (row.gained, row.lost, row.kept) == (2, 0, 6)
