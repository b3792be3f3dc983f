"""Counters of rules, pairs and events are those of a plain loop over the events."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import combinations

import pytest

from ruledex import Index
from ruledex.errors import ArtifactError, RuledexError
from ruledex.spark import coverage

RULES = [(n, f"a % {n} = 0") for n in range(2, 9)] + [(50, "a = -1"), (60, "a >= 0 AND b = 'x'")]
EVENTS = [{"a": a, "b": "x" if a % 5 == 0 else None} for a in range(1, 300)]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("coverage")
    Index.build(RULES).save(root)
    return str(root)


@pytest.fixture(scope="module")
def events(spark):
    return spark.createDataFrame([(event["a"], event["b"]) for event in EVENTS], "a bigint, b string").repartition(3)


@pytest.fixture(scope="module")
def found(root):
    index = Index.open(root)
    return [index.match(event) for event in EVENTS]


def test_every_rule_has_its_number_of_matches(root, events, found):
    matches = Counter(rule for rules in found for rule in rules)
    rows = coverage(root, events).rules.collect()
    assert sorted((row.rule, row.matches) for row in rows) == [(rule, matches[rule]) for rule, _ in RULES]


def test_rules_that_are_never_true_and_events_without_a_rule(root, events, found):
    counted = coverage(root, events).persist()
    try:
        assert [row.rule for row in counted.never_true.collect()] == [50]
        assert counted.totals() == (len(EVENTS), sum(map(len, found)), sum(not rules for rules in found))
    finally:
        counted.unpersist()


def test_counters_that_are_kept_have_partitions_by_the_number_of_rules(spark, root, events, monkeypatch):
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        counted = coverage(root, events).persist()
        assert counted.counters.rdd.getNumPartitions() == 1
        counted.unpersist()
        monkeypatch.setattr(sys.modules[coverage.__module__], "RULES_PER_PARTITION", len(RULES))
        counters = coverage(root, events).counters
        assert counters.rdd.getNumPartitions() == 2
        plan = counters._jdf.queryExecution().executedPlan().toString().split("Initial Plan")[-1]
        assert plan.count("Exchange hashpartitioning(") == 1  # the sums need no other
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_pairs_of_named_rules(root, events, found):
    named = [60, 2, 3, 8, 50]
    pairs = Counter(pair for rules in found for pair in combinations([r for r in rules if r in named], 2))
    rows = coverage(root, events, named).pairs.collect()
    assert {(row.rule, row.other): row.matches for row in rows} == dict(pairs)


def test_pairs_of_rules_that_are_drawn_depend_on_the_seed_alone(root, events):
    first, again, other = (
        sorted(map(tuple, coverage(root, events.repartition(n), 4, seed=seed).pairs.collect()))
        for n, seed in ((1, 1), (4, 1), (1, 5))
    )
    assert first == again
    assert first != other
    assert len({rule for row in first for rule in row[:2]}) <= 4


def test_ids_may_be_strings_and_events_may_be_none(spark, tmp_path):
    Index.build([("b", "a = 1"), ("a", "a > 0")]).save(tmp_path)
    events = spark.createDataFrame([(1,), (2,), (None,)], "a int")
    assert sorted(map(tuple, coverage(tmp_path, events).rules.collect())) == [("a", 2), ("b", 1)]
    none = coverage(tmp_path, events.limit(0))
    assert sorted(map(tuple, none.rules.collect())) == [("a", 0), ("b", 0)]
    assert none.totals() == (0, 0, 0)


def test_what_cannot_be_counted_is_an_error(spark, root, events, tmp_path):
    with pytest.raises(RuledexError, match="no rule 999"):
        coverage(root, events, [2, 999])
    with pytest.raises(RuledexError, match="at most 500 rules, not for 501"):
        coverage(root, events, 501)
    with pytest.raises(ArtifactError):
        coverage(tmp_path / "nowhere", events)
    stream = spark.readStream.format("rate").load()
    with pytest.raises(RuledexError, match="are a stream"):
        coverage(root, stream)


def test_now_is_one_time_in_all_tasks(spark, tmp_path):
    Index.build([(1, "seen > now() - INTERVAL 1 DAY"), (2, "seen <= now()")]).save(tmp_path)
    rows = [(f"2024-05-{day:02}T12:00:00",) for day in range(1, 11)]
    seen = spark.createDataFrame(rows, "seen string").repartition(3)
    counted = {row.rule: row.matches for row in coverage(tmp_path, seen, now="2024-05-05T13:00:00").rules.collect()}
    assert counted == {1: 6, 2: 5}
    counted = {row.rule: row.matches for row in coverage(tmp_path, seen).rules.collect()}
    assert counted == {1: 0, 2: 10}
    with pytest.raises(RuledexError, match="tomorrow"):
        coverage(tmp_path, seen, now="tomorrow")
