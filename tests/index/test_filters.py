"""Filters over tags: an index with a filter answers as an index of the rules that satisfy it."""

from __future__ import annotations

import random
import sys
import threading
import warnings
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.engines.registry import PLACES
from ruledex.errors import RuledexError, RuledexWarning, RuleSyntaxError
from ruledex.index import filters
from ruledex.index.filters import compile_filter
from ruledex.language.parser import parse
from ruledex.language.reference import truth_of
from ruledex.language.schema import Schema

TENANTS = ["a", "b", "c", None]
CONDITIONS = [
    "tenant = 'a'",
    "tenant IS NULL OR tenant IN ('b', 'c')",
    "team.size > 3 AND NOT tenant = 'c'",
    "(until > TIMESTAMP '2026-02-01 00:00:00') IS NOT FALSE",
    "labels = 'x'",
    "TRUE",
    "tenant = 'nobody'",
    "* = 'x'",
    "lower(tenant) = 'a' OR abs(team.size) = 5",
]


def tags_for(chosen, number):
    tags = {"tenant": chosen.choice(TENANTS), "team": {"size": chosen.randrange(6)}}
    if number % 3:
        tags["until"] = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)
    if number % 4 == 0:
        tags["labels"] = chosen.sample(["x", "y", "z"], 2)
    return tags


def rules_for(seed, numbers):
    chosen = random.Random(seed)
    rules = []
    for number in numbers:
        text = f"a {chosen.choice(['=', '>', '<'])} {chosen.randrange(5)} OR b = {chosen.randrange(3)}^2"
        rules.append((number, text, chosen.randrange(4) / 2, tags_for(chosen, number)))
    return rules


def events_for(seed, n_events):
    chosen = random.Random(seed)
    return [{"a": chosen.randrange(6), "b": chosen.randrange(4)} for _ in range(n_events)]


def satisfying(rules, where):
    tree = parse(where)
    return [rule for rule in rules if truth_of(tree, rule[3]) is True]


def assert_same(index, rules, events, where, engine="auto"):
    alone = Index.build(satisfying(rules, where), engine)
    assert [index.match(event, where=where) for event in events] == [alone.match(event) for event in events]
    assert list(index.match_batch(events, where=where)) == list(alone.match_batch(events))
    assert list(index.match_batch(pa.Table.from_pylist(events), where=where)) == list(alone.match_batch(events))
    assert index.match(events[0], as_array=True, where=where).tolist() == alone.match(events[0])
    assert index.count(events, where=where).tolist() == alone.count(events).tolist()
    for k in (1, 3):
        assert [index.top(event, k, where=where) for event in events] == [alone.top(event, k) for event in events]
        found, expected = (of.top_batch(events, k, "product", **asked) for of, asked in
                           ((index, {"where": where}), (alone, {})))  # fmt: skip
        assert list(found) == list(expected)
        assert found.scores.tolist() == expected.scores.tolist()


@pytest.mark.parametrize("engine", list(PLACES))
def test_every_engine_answers_for_the_admitted_rules_alone(engine):
    rules, events = rules_for(1, range(40)), events_for(2, 12)
    index = Index.build(rules, engine)
    for where in CONDITIONS[:4]:
        assert_same(index, rules, events, where, engine)


@pytest.mark.parametrize("where", CONDITIONS)
def test_a_changed_index_answers_for_the_admitted_rules_alone(where, tmp_path):
    rules, events = rules_for(3, range(0, 60, 2)), events_for(4, 10)
    index = Index.build(rules)
    index.save(tmp_path)
    by_id = {rule[0]: rule for rule in rules}
    assert_same(index, rules, events, where)
    for seed in range(3):
        put = rules_for(10 + seed, random.Random(seed).sample(range(70), 9))
        index.upsert(put)
        by_id |= {rule[0]: rule for rule in put}
        gone = random.Random(seed).sample(sorted(by_id), 5)
        index.remove(gone)
        for rule_id in gone:
            del by_id[rule_id]
        first = min(by_id)
        index.set_score(first, 9.0)
        by_id[first] = (*by_id[first][:2], 9.0, by_id[first][3])
        assert_same(index, list(by_id.values()), events, where)
    assert_same(Index.open(tmp_path), list(by_id.values()), events, where)
    index.compact()
    assert_same(index, list(by_id.values()), events, where)


def test_relaxed_matching_takes_a_filter():
    rules, events = rules_for(5, range(30)), events_for(6, 6)
    index = Index.build(rules[:20])
    index.add(rules[20:])
    for where in CONDITIONS[:3]:
        alone = Index.build(satisfying(rules, where))
        for event in events:
            assert index.top(event, 4, mode="relaxed", where=where) == alone.top(event, 4, mode="relaxed")


def test_many_distinct_tags_are_evaluated_as_columns(monkeypatch):
    rules, events = rules_for(7, range(50)), events_for(8, 4)
    monkeypatch.setattr(filters, "_MANY", 0)
    monkeypatch.setattr(filters, "_PIECE", 7)
    for where in CONDITIONS:
        compile_filter.cache_clear()
        assert_same(Index.build(rules), rules, events, where)
    compile_filter.cache_clear()


def test_times_of_tags_are_in_the_zone_of_the_index():
    schema = Schema(time_zone="Asia/Kolkata")
    rules = [(1, "TRUE", 0.0, {"at": datetime(2026, 1, 1)}), (2, "TRUE", 0.0, {"at": datetime(2026, 1, 1, tzinfo=UTC)})]
    index = Index.build(rules, schema=schema)
    assert index.match({}, where="at = TIMESTAMP '2026-01-01 00:00:00'") == [1]
    assert index.match({}, where="at = TIMESTAMP '2026-01-01 05:30:00'") == [2]


def test_a_filter_is_compiled_and_evaluated_once(monkeypatch):
    compile_filter.cache_clear()
    index = Index.build(rules_for(1, range(9)))
    calls = []
    admits = filters.TagFilter._admits

    def counted(self, tags):
        calls.append(len(tags))
        return admits(self, tags)

    monkeypatch.setattr(filters.TagFilter, "_admits", counted)
    for _ in range(3):
        index.match({"a": 1}, where="tenant = 'a'")
    assert len(calls) == 1
    index.add([(100, "a = 1", 0.0, {"tenant": "a"})])
    index.match({"a": 1}, where="tenant = 'a'")
    index.add([(101, "a = 1", 0.0, {"tenant": "a"})])
    assert 101 in index.match({"a": 1}, where="tenant = 'a'")
    assert calls[1:] == [1, 0]  # the base is not asked again, and equal tags are known
    assert compile_filter.cache_info().misses == 1


def test_few_filters_are_kept(monkeypatch):
    monkeypatch.setattr(filters, "_MOST_BYTES", 1)
    index = Index.build(rules_for(1, range(9)))
    for number in range(20):
        index.match({"a": 1}, where=f"team.size = {number}")
    (views,) = index._filtered.values()
    assert len(views._views) == len(views._admitted) == 4
    assert list(views._views) == [f"team.size = {number}" for number in range(16, 20)]
    monkeypatch.setattr(filters, "_MOST_REMEMBERED", 2)
    index.add(rules_for(2, range(100, 110)))
    assert_same(index, rules_for(1, range(9)) + rules_for(2, range(100, 110)), events_for(1, 3), "team.size = 2")


def test_a_filter_that_is_no_condition():
    index = Index.build(rules_for(1, range(3)))
    with pytest.raises(RuleSyntaxError, match="the rule ends here"):
        index.match({}, where="tenant =")
    with pytest.raises(RuledexError, match="where is a condition over the rules' tags"):
        index.match({}, where=5)  # type: ignore[call-overload]
    with pytest.raises(RuledexError, match="where is a condition"):
        index.count([{}], where=["tenant"])


def test_a_tag_that_no_rule_has_is_warned_of():
    index = Index.build(rules_for(1, range(3)))
    with pytest.warns(RuledexWarning, match="has the tag 'tenants'; did you mean tenant\\?") as told:
        assert index.match({"a": 1}, where="tenants = 'a'") == []
    assert told[0].filename == __file__
    index.add([(100, "a = 1", 0.0, {"region": "x"})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert index.match({"a": 1}, where="region = 'x'") == [100]
    with pytest.warns(RuledexWarning, match="did you mean region"):
        index.match({"a": 1}, where="regions = 'x'")
    with pytest.warns(RuledexWarning, match="no rule of it has tags"):
        assert Index.build([(1, "a = 1")]).match({"a": 1}, where="tenant IS NULL") == [1]


def test_readers_with_filters_beside_a_writer():
    index = Index.build([(number, "a = 1", 0.0, {"tenant": "a"}) for number in range(50)])
    stop, wrong = threading.Event(), []

    def read(where):
        while not stop.is_set():
            found = index.match({"a": 1}, where=where)
            if any((rule_id % 2 == 1 and rule_id >= 100) is (where == "tenant = 'a'") for rule_id in found):
                wrong.append(found)

    readers = [threading.Thread(target=read, args=(where,)) for where in ("tenant = 'a'", "tenant = 'b'")]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    for reader in readers:
        reader.start()
    for number in range(100, 160):
        index.add([(number, "a = 1", 0.0, {"tenant": "b" if number % 2 else "a"})])
        index.match({"a": 1}, where="tenant = 'a'")
    stop.set()
    for reader in readers:
        reader.join()
    sys.setswitchinterval(interval)
    assert not wrong
