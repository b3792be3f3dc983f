"""An index with changes answers as one that was built of the rules it has."""

from __future__ import annotations

import os
from collections import UserDict
from typing import Any, cast

import numpy as np
import orjson
import pyarrow as pa
import pytest

from ruledex import Schema, parse, score
from ruledex.engines.registry import PLACES
from ruledex.errors import EventError, RuledexError
from ruledex.index import Index
from ruledex.index.build import CompiledPart, build_program, join_parts
from ruledex.index.identities import identities_of
from ruledex.index.state import BuiltState, TextsInMemory, matcher_of
from tests.index.live.model import Model, assert_same
from tests.index.samples import EVENTS, PLAIN, every_kind

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events

COME = [
    (4, "country = 'IN' AND zone IN (1, 2)", 1.5),
    (8, "age >= 18^3 AND NOT name LIKE 'b%'"),
    (11, "price IS NULL OR price < 10", 0.25),
    (-2, "interests = 'nba'^2 OR country = 'FR'", -1.0),
]
MORE_EVENTS = [*EVENTS, {"zone": 2, "country": "IN", "age": 19}, {"price": 3}, {"interests": ["nba"], "age": 40}]


def changed(index):
    """Some of every change, to an index of PLAIN; and the model of it."""
    model = Model(PLAIN)
    index.add(COME)
    model.put(COME)
    index.remove([7, 11])
    model.remove([7, 11])
    replacing = [(3, "zone = 2 OR age > 60", 4.0), (8, "age < 21"), (2, "name LIKE 'a%'", 0.5)]
    index.update(replacing)
    model.put(replacing)
    for rule_id, value in ((5, 9.0), (4, 2.5), (3, 1.0), (9, -3.5)):
        index.set_score(rule_id, value)
        model.set_score(rule_id, value)
    return model


@pytest.mark.parametrize("engine", PLACES)
def test_changes_are_seen_by_everything_with_every_engine(engine):
    index = Index.build(PLAIN, engine)
    model = changed(index)
    assert index.engine == engine
    assert_same(index, model, MORE_EVENTS)


def test_an_index_of_string_ids_changes_too():
    index = Index.build([(f"rule {rule[0]}", *rule[1:]) for rule in PLAIN], "sparse")
    model = Model([(f"rule {rule[0]}", *rule[1:]) for rule in PLAIN])
    come = [(f"rule {rule[0]}", *rule[1:]) for rule in COME]
    index.add(come)
    model.put(come)
    index.remove(["rule 7", "rule 11"])
    model.remove(["rule 7", "rule 11"])
    assert_same(index, model, MORE_EVENTS)


def test_an_index_of_several_shards_changes_too():
    rules = sorted(PLAIN)
    parts = []
    for rest in range(2):
        places = np.arange(rest, len(rules), 2, dtype=np.int32)
        mine = [rules[place] for place in places]
        built = build_program([rule[1] for rule in mine], np.array([(*rule, 0.0)[2] for rule in mine]), Schema())
        parts.append(CompiledPart(built.program, built.dictionary, places))
    shards, dictionary = join_parts(parts, "sparse")
    one = Index.build(PLAIN, "sparse")
    ids = identities_of(pa.array([rule[0] for rule in rules]))
    texts = TextsInMemory(pa.array([rule[1] for rule in rules], pa.large_string()))
    one._state = BuiltState(
        shards, dictionary, type(cast(Any, one._state).encoder)(dictionary), matcher_of(shards), ids, texts, None
    )
    model = changed(one)
    assert_same(one, model, MORE_EVENTS)
    one.compact()
    assert_same(one, model, MORE_EVENTS)


def test_every_kind_of_rule_can_come_and_go():
    rules, events = every_kind()
    index = Index.build(rules[::2], "sparse")
    index.add(rules[1::2])
    wanted = Model(rules)
    assert list(index.match_batch(events)) == [wanted.match(event) for event in events]
    index.remove([rule_id for rule_id, _ in rules[::2]])
    wanted.remove([rule_id for rule_id, _ in rules[::2]])
    assert list(index.match_batch(events)) == [wanted.match(event) for event in events]
    index.remove([rule_id for rule_id, _ in rules[1::2]])
    assert (len(index), list(index), index.match(events[0]), index.count(events[:2]).tolist()) == (0, [], [], [0, 0])


def test_events_may_come_in_any_form():
    index = Index.build(PLAIN, "sparse")
    model = changed(index)
    rows = [{"country": e.get("country"), "age": e.get("age"), "zone": e.get("zone")} for e in MORE_EVENTS]
    wanted = [model.match(row) for row in rows]
    table = pa.Table.from_pylist(rows)
    for events in (
        table,
        table.to_batches()[0],
        table.to_pandas(),
        pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        (orjson.dumps(row) for row in rows),
        iter(rows),
        [UserDict(row) for row in rows],
    ):
        assert list(index.match_batch(events)) == wanted
    assert index.count(iter(rows)).tolist() == [len(ids) for ids in wanted]
    assert index.match(orjson.dumps(rows[0])) == wanted[0]
    best = index.top_batch(table, 3, weights=iter([{"country": 7.0}] * len(rows)))
    assert best.scores.tolist() == index.top_batch(rows, 3, weights=[{"country": 7.0}] * len(rows)).scores.tolist()


@pytest.mark.parametrize("event", [b"{", "[1]", 5, None])
def test_what_is_no_event_is_refused(event):
    index = Index.build(PLAIN, "scan")
    index.add(COME)
    with pytest.raises(EventError, match="event"):
        index.match(event)
    with pytest.raises(EventError, match="put it into a list"):
        index.match_batch({"a": 1})
    assert (len(index.match_batch([])), index.count([]).tolist(), len(index.top_batch([], 3))) == (0, [], 0)


def test_the_event_s_weights_count_in_what_has_come():
    index = Index.build([(2, "country = 'US'^2")], "sparse")
    index.add([(1, "country IN ('US'^3, 'IN')"), (3, "age > 3")])
    event = {"country": "US", "age": 4}
    weights = {"country": {"US": 5.0}, "age": 2.5}
    rules = {1: "country IN ('US'^3, 'IN')", 2: "country = 'US'^2", 3: "age > 3"}
    ranks = {rule_id: score(parse(text), event, weights) for rule_id, text in rules.items()}
    assert index.top(event, 3, weights=weights) == sorted(ranks.items(), key=lambda pair: -pair[1])


def test_encoded_events_answer_as_long_as_nothing_has_come():
    index = Index.build(PLAIN, "sparse")
    batch = cast(Any, index._state).encoder.encode(EVENTS)
    index.remove([3])
    assert list(index.match_batch(batch)) == list(index.match_batch(EVENTS))
    index.add(COME)
    with pytest.raises(EventError, match="give the events"):
        index.match_batch(batch)


def test_explanations_schema_and_paths_follow():
    schema = Schema.of_mapping({"attributes": {"day": "date"}})
    index = Index.build([(1, "a = 1"), (2, "b = 'x'")], "scan", schema=schema)
    index.add([(3, "day > '2024-01-01' AND length(c) > 2")])
    index.update([(1, "a = 'one'")])
    assert index.explain(3, {"day": "2024-05-01", "c": "abc"}).truth is True
    assert index.why_not({"a": 1}, 1).truth is None
    assert index.why_not({"a": "one"}, 1) is None
    assert index.explain(2, {"b": "x"}).truth is True
    assert index.paths == [("a",), ("b",), ("c",), ("day",)]
    kinds = {name: kind["type"] for name, kind in index.schema.to_mapping()["attributes"].items()}
    assert kinds == {"day": "date", "a": "any", "b": "string", "c": "string"}
    index.remove([3])
    with pytest.raises(RuledexError, match="no rule 3 in this index"):
        index.explain(3, {})
    with pytest.raises(RuledexError, match="ids of this index are integers"):
        index.rule("3")
    index.remove([2])
    with pytest.raises(RuledexError, match="no rule 2 in this index"):
        index.rule(2)


def test_an_index_describes_its_changes():
    index = Index.build(PLAIN, "scan")
    assert index.describe()["changes"] == {"added": 0, "removed": 0}
    changed(index)
    told = index.describe()
    assert orjson.loads(orjson.dumps(told)) == told
    assert (told["rules"], told["changes"]["added"], told["changes"]["removed"]) == (8, 5, 3)


def test_a_reader_keeps_what_it_began_with():
    index = Index.build(PLAIN, "sparse")
    index.add(COME)
    model = Model([*PLAIN, *COME])

    def events_while_it_changes():
        for number, event in enumerate(MORE_EVENTS):
            if number == 1:
                index.remove([4, 3])
                index.update([(5, "TRUE")])
                index.compact()
            yield event

    changed_rules = iter(index)
    found = index.match_batch(events_while_it_changes())
    assert list(found) == [model.match(event) for event in MORE_EVENTS]
    assert [rule_id for rule_id, _ in changed_rules] == sorted(model.rules)


def test_what_comes_and_goes_again_leaves_the_version_itself():
    index = Index.build(PLAIN, "scan")
    before = index._state
    index.add(COME)
    index.remove([rule[0] for rule in COME])
    assert index._state is before


def test_a_state_that_was_changed_twice_before_it_could_be_asked_gives_way_to_the_newest():
    index = Index.build(PLAIN, "sparse")
    index.add(COME)
    old, asked = index._state, []

    def question(state):
        asked.append(state)
        if len(asked) == 1:
            index.remove([COME[0][0]])
            index.remove([COME[1][0]])
        return state.match({})

    assert index._ask(question) == index.match({})
    assert (asked[0] is old, asked[1] is index._state, len(asked)) == (True, True, 2)


def test_rules_that_come_one_by_one_lie_in_one_tree():
    index = Index.build([], "scan")
    for number in range(150):
        index.add([(number, f"a = {number % 7} AND b > {number}")])
    assert index.describe()["changes"]["tree"]["n_rules"] == 150
    assert index.match({"a": 3, "b": 100}) == [number for number in range(100) if number % 7 == 3]
    index.remove(range(100))
    assert index.describe()["changes"]["tree"]["n_rules"] == 50


def test_changing_needs_a_folder_and_its_current_version(tmp_path):
    version = Index.build(PLAIN, "scan").save(tmp_path)
    index = Index.open(tmp_path, version)
    for change in (lambda: index.add(COME), lambda: index.remove([3]), lambda: index.set_score(3, 1), index.compact):
        with pytest.raises(RuledexError, match="cannot be changed"):
            change()
    url = f"memory://live-{os.getpid()}"
    Index.build(PLAIN, "scan").save(url)
    with pytest.raises(RuledexError, match="opened from a URL"):
        Index.open(url).add(COME)
