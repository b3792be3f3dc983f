"""Index.ratify: finds a damaged index, agrees with a sound one, and reports what it covered."""

from __future__ import annotations

from typing import Any

import pytest

from ruledex import Index, Schema
from ruledex.index.state import Shard, matcher_of
from tests.index.samples import PLAIN

RULES = [(n, f"a = {n} AND b > {n % 7}") for n in range(40)]
RULES += [(100, "name LIKE 'x%' OR NOT b IN (1, 2)"), (101, "exists(items, i -> i.price > 5)")]


def damaged(index: Index, array: str, at: int, change: int) -> Index:
    """Flip one entry of an array that the engine answers from."""
    state: Any = index._state
    (shard,) = state.shards
    flipped = getattr(shard.program, array).copy()
    flipped[at] += change
    program = shard.program._replace(**{array: flipped})
    engine = type(shard.engine).build(program)
    shards = (Shard(program, engine),)
    return Index(state._replace(shards=shards, engine=matcher_of(shards)), [])


@pytest.mark.parametrize("engine", ["scan", "sparse", "auto", "batch", "atree", "dnf", "cnf", "dewey", "interval"])
def test_a_sound_index_agrees_with_the_reference(engine):
    report = Index.build(RULES, engine).ratify(150, sample=None)
    assert report.passed
    assert (report.n_rules, report.n_events, report.n_pairs) == (42, 150, 42 * 150)
    assert report.n_rules_true >= 35
    assert "agrees" in str(report)


@pytest.mark.parametrize(("array", "at", "change"), [("interval_low", 5, -1), ("interval_high", 10, 1), ("root", 3, 1)])
def test_a_damaged_array_is_found(array, at, change):
    index = damaged(Index.build(RULES, "scan"), array, at, change)
    report = index.ratify(600, sample=None)
    assert not report.passed
    difference = report.differences[0]
    assert difference.answer is not difference.reference
    assert (difference.explanation.truth is True) is difference.reference
    shown = str(report)
    assert f"rule {difference.rule}" in shown
    assert "differences" in shown
    assert "the rule is" in shown
    assert "the reference says" in report._repr_html_()
    assert report.to_dict()["differences"][0]["event"] == difference.event


def test_a_wrong_answer_of_one_method_only_is_found(monkeypatch):
    index = Index.build(RULES, "scan")
    monkeypatch.setattr(type(index._state), "match", lambda *_: [])
    report = index.ratify(100, sample=5)
    assert {difference.asked for difference in report.differences} == {"match"}


def test_changes_and_definitions_are_ratified_too():
    index = Index.build([(1, "@adults AND country = 'IN'")], definitions={"adults": "age >= 18"})
    index.add([(2, "@adults OR vip"), (3, "seen > now() - INTERVAL 2 HOURS")])
    index.remove([1])
    index.define("adults", "age >= 21")
    report = index.ratify(120, now="2024-05-06T07:08:09Z")
    assert report.passed
    assert report.n_rules_true == 2
    assert "now()" in report.constructs


def test_a_sample_is_drawn_by_the_seed():
    index = Index.build(RULES, "scan")
    first, again = (index.ratify(20, seed=7, sample=10).to_dict() | {"seconds": 0} for _ in range(2))
    assert first == again
    assert first["rules"] == 10


def test_progress_is_told():
    told = []
    Index.build(RULES[:3], "scan").ratify(5, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_an_index_without_rules_agrees():
    report = Index.build([], "scan").ratify(5)
    assert (report.passed, report.n_pairs) == (True, 0)


def test_what_no_event_shows_is_told():
    report = Index.build([(1, "sha2(email, 256) = 'x'"), (2, "a = 1")], "scan").ratify(40)
    assert report.uncovered == ["sha2()"]
    assert "sha2()" in str(report)


def test_many_differences_are_counted_but_not_all_kept(monkeypatch):
    index = Index.build(RULES, "scan")
    monkeypatch.setattr(type(index._state), "match", lambda state, _: list(state.identities))
    report = index.ratify(100, sample=None)
    assert report.n_differences > len(report.differences) == 100
    assert "more differences" in str(report)


def test_declared_types_and_samples_of_other_tests_agree():
    schema = Schema.of_mapping({"attributes": {"seen": "timestamp", "age": {"type": "integer", "single": True}}})
    rules = [(1, "seen >= '2024-01-01'"), (2, "age > 3 AND age < 5"), (3, "NOT age = 4 OR seen IS NULL")]
    assert Index.build(rules, "sparse", schema=schema).ratify(150).passed
    assert Index.build(PLAIN, "sparse").ratify(100).passed
