"""Index as a whole, against the reference evaluator."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruledex import Schema, parse, score, to_text
from ruledex.engines.registry import PLACES
from ruledex.errors import ArtifactError, BudgetError, EventError, RuledexError, RulesError
from ruledex.index import Index
from ruledex.language.reference import truth_of
from tests.index.samples import EVENTS, PLAIN, every_kind, expected
from tests.strategies import events, trees

pytestmark = pytest.mark.filterwarnings("ignore::ruledex.errors.RuledexWarning")  # bytes among the sample events

ENGINES = list(PLACES)


@pytest.fixture(params=["built", "opened"])
def index(request, tmp_path):
    made = Index.build(PLAIN)
    if request.param == "built":
        return made
    made.save(tmp_path / "index")
    return Index.open(tmp_path / "index")


# Matching.


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_matches_what_the_reference_does(engine, tmp_path):
    rules, given_events = every_kind()
    made = Index.build(rules, engine)
    made.save(tmp_path)
    opened = Index.open(tmp_path)
    assert opened.engine == engine
    wanted = [expected(rules, event) for event in given_events]
    assert list(made.match_batch(given_events)) == wanted
    assert list(opened.match_batch(given_events)) == wanted
    assert [opened.match(event) for event in given_events] == wanted
    assert opened.count(given_events).tolist() == [len(ids) for ids in wanted]


@given(
    rules=st.lists(trees(3), min_size=1, max_size=6, unique_by=to_text),
    given_events=st.lists(events(), min_size=1, max_size=4),
)
@settings(max_examples=60)
def test_an_index_of_any_rules_matches_what_the_reference_does(rules, given_events):
    index = Index.build([(f"rule {i:02}", to_text(rule)) for i, rule in enumerate(rules)], "sparse")
    for event, found in zip(given_events, index.match_batch(given_events), strict=True):
        assert found == [f"rule {i:02}" for i, rule in enumerate(rules) if truth_of(rule, event) is True]


def test_matches_ascend_by_id_whatever_the_order_of_the_rules(index):
    for event in EVENTS:
        assert index.match(event) == expected(PLAIN, event)


def test_an_event_may_be_json(index):
    for event in EVENTS:
        assert index.match(orjson.dumps(event)) == index.match(orjson.dumps(event).decode()) == expected(PLAIN, event)


@pytest.mark.parametrize("event", [b"{", "[1]", 5, None, [("a", 1)]])
def test_what_is_no_event_is_refused(index, event):
    with pytest.raises(EventError, match="event"):
        index.match(event)


def test_one_event_in_place_of_several_is_refused(index):
    with pytest.raises(EventError, match="put it into a list"):
        index.match_batch({"country": "IN"})


def test_tables_batches_and_frames_answer_as_mappings_do(index):
    rows = [{"country": e.get("country"), "age": e.get("age"), "name": e.get("name")} for e in EVENTS]
    table = pa.Table.from_pylist(rows)
    wanted = list(index.match_batch(rows))
    assert list(index.match_batch(table)) == wanted
    assert list(index.match_batch(table.to_batches()[0])) == wanted
    assert list(index.match_batch(table.to_pandas())) == wanted
    assert list(index.match_batch([orjson.dumps(row) for row in rows])) == wanted


def test_top_ranks_as_the_reference_does(index):
    for event in EVENTS:
        ranks = {
            rule[0]: (rule[2] if len(rule) > 2 else 0.0) + (score(parse(rule[1]), event) or 0.0)
            for rule in PLAIN
            if truth_of(parse(rule[1]), event) is True
        }
        wanted = sorted(ranks.items(), key=lambda pair: (-pair[1], pair[0]))
        assert index.top(event, 10) == wanted
        assert index.top(event, 2) == wanted[:2]
        found = index.top_batch([event], 2)
        assert list(zip(found[0], found.scores.tolist(), strict=True)) == wanted[:2]


def test_top_takes_the_events_weights_and_ranks(index):
    event = EVENTS[0]
    assert dict(index.top(event, 9, weights={"country": 10.0}))[3] == 20.0
    assert dict(index.top(event, 9, weights={"country": {"IN": 3.0}}))[3] == 6.0
    assert index.top(event, 1, rank="static") == [(7, 2.0)]
    table = pa.Table.from_pylist([{"country": "IN"}])
    assert index.top_batch(table, 1, weights=[{"country": 7.0}]).scores.tolist() == [14.0]
    with pytest.raises(RuledexError, match="rank"):
        index.top(event, 1, rank="best")


def test_an_index_of_no_rules_answers(tmp_path):
    Index.build([]).save(tmp_path)
    index = Index.open(tmp_path)
    assert (len(index), list(index), index.match({"a": 1}), index.top({}, 3)) == (0, [], [], [])
    assert list(index.match_batch([{}, {}])) == [[], []]
    assert index.describe()["rules"] == 0


def test_no_events_give_no_matches(index):
    assert (len(index.match_batch([])), index.count([]).tolist()) == (0, [])


# Building.


def test_statistics_and_samples_change_no_answer():
    rules, given_events = every_kind()
    plain = Index.build(rules, "sparse")
    sampled = Index.build(rules, "sparse", stats=given_events)
    assert list(plain.match_batch(given_events)) == list(sampled.match_batch(given_events))
    assert Index.build(rules, "sparse", stats=[]).match({}) == plain.match({})


BAD = [(1, "a ="), (2, "b = 1"), (2, "c = 1"), (3, "a = 1", float("inf")), ("x", "a = 1"), (4, "a LIKE")]


def test_all_bad_rules_are_reported_together():
    with pytest.raises(RulesError, match="5 of 6 rules") as caught:
        Index.build(BAD, "scan")
    faults = caught.value.faults
    assert [(fault.rule_id, fault.line) for fault in faults] == [(1, 1), (2, 3), (3, 4), ("x", 5), (4, 6)]
    assert [fault.error.code for fault in faults] == ["syntax", "rule", "rule", "rule", "syntax"]


def test_a_message_shows_the_first_twenty():
    with pytest.raises(RulesError) as caught:
        Index.build([(i, "a =") for i in range(50)], "scan")
    assert "and 30 more" in str(caught.value)
    assert str(caught.value).count("line 1, column 4") == 20
    assert len(caught.value.faults) == 50


def test_bad_rules_can_be_left_out():
    index = Index.build(BAD, "scan", on_error="skip")
    assert [rule_id for rule_id, _ in index] == [2]
    assert len(index.faults) == 5
    assert index.match({"a": 1, "b": 1, "c": 1}) == [2]


def test_rules_that_are_left_out_leave_nothing_behind():
    index = Index.build([(1, "zz = 5 AND b RLIKE '('"), (2, "a = 1")], "scan", on_error="skip")
    assert (index.paths, index.schema) == ([("a",)], Index.build([(2, "a = 1")], "scan").schema)


def test_a_rule_that_contradicts_the_schema_is_a_fault():
    schema = Schema.of_mapping({"attributes": {"age": "integer"}})
    with pytest.raises(RulesError, match="schema declares age"):
        Index.build([(1, "age = 'old'")], "scan", schema=schema)


def test_the_schema_is_part_of_the_index(tmp_path):
    schema = Schema.of_mapping(
        {"time_zone": "Asia/Kolkata", "attributes": {"seen": "timestamp", "n": {"type": "any", "single": True}}}
    )
    rules = [(1, "seen < '2024-03-10'"), (2, "n = 1"), (3, "country = 'IN' AND length(name) > 2")]
    Index.build(rules, "scan", schema=schema).save(tmp_path)
    index = Index.open(tmp_path)
    assert index.match({"seen": "2024-03-09T18:29:00Z", "n": [1, 2]}) == [1]
    assert index.match({"seen": "2024-03-09T18:31:00Z", "n": 1}) == [2]
    told = index.schema.to_mapping()["attributes"]
    assert {name: kind["type"] for name, kind in told.items()} == {
        "seen": "timestamp",
        "n": "any",
        "country": "string",
        "name": "string",
    }


def test_an_unknown_engine_or_way_to_go_on_is_refused():
    with pytest.raises(RuledexError, match="no engine 'fast'"):
        Index.build(PLAIN, "fast")
    with pytest.raises(RuledexError, match="on_error"):
        Index.build(PLAIN, on_error="ignore")  # type: ignore[call-overload]


# Looking.


def test_rules_are_there_by_id_and_in_order(index):
    texts = {rule[0]: rule[1] for rule in PLAIN}
    assert list(index) == sorted(texts.items())
    assert len(index) == len(PLAIN)
    assert index.rule(7) == (7, texts[7], 2.0)
    assert index.rule(3).static_score == 0.0
    assert 7 in index
    assert all(other not in index for other in (8, "7", True, None, 2**70))
    with pytest.raises(RuledexError, match="no rule 8"):
        index.rule(8)
    with pytest.raises(RuledexError, match="ids of this index are integers"):
        index.rule("7")


def test_a_rule_is_explained(index):
    explanation = index.explain(7, {"country": "IN", "age": 17})
    assert explanation.truth is False
    assert [change.words for change in explanation.changes] == ["age is 17, needs between 18 and 35"]
    assert index.why_not({"country": "IN", "age": 20}, 7) is None
    assert index.why_not(b'{"age": 20}', 7).changes[0].words == "country is missing, needs one of 'IN', 'US'"


def test_an_explanation_follows_the_schema():
    schema = Schema.of_mapping({"attributes": {"day": "date"}})
    index = Index.build([("r", "day > '2024-01-01'")], "scan", schema=schema)
    assert index.explain("r", {"day": "2024-05-01"}).truth is True


def test_an_index_describes_itself(index):
    told = index.describe()
    assert orjson.loads(orjson.dumps(told)) == told
    assert (told["rules"], told["ids"], told["engine"]["engine"]) == (6, "integer", "auto")
    assert told["version"] == index.version


def test_the_attributes_that_rules_look_at_are_told(index):
    names = {".".join(path) for path in index.paths}
    derived = {"app", "limit_price", "price"}  # of version(app), and of a comparison of two attributes
    assert names == {"age", "country", "device.os", "interests", "name", "phone", *derived}
    assert index.id_kind == "integer"


def test_options_are_the_engines_own():
    rules = [(7, "a = 1"), (9, "(a = 1 OR b = 2) AND (c = 3 OR d = 4) AND (e = 5 OR f = 6)")]
    with pytest.raises(BudgetError, match="DNF of rule 9 has at least 24 literals, over the budget of 10") as caught:
        Index.build(rules, "dnf", engine_options={"budget": 10, "overflow": "error"})
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.rule, again.position, str(again)) == (9, 1, str(caught.value))
    index = Index.build(rules, "dnf", engine_options={"budget": 10})
    assert index.describe()["engine"]["n_overflow"] == 1
    assert index.match({"a": 1, "c": 3, "f": 6}) == [7, 9]
    with pytest.raises(RuledexError, match="'dnf' has no option 'colour'; it has budget, overflow"):
        Index.build(rules, "dnf", engine_options={"colour": 1})
    with pytest.raises(RuledexError, match="'sparse' has no option 'budget'; it has none"):
        Index.build(rules, "sparse", engine_options={"budget": 1})


# On disk.


def test_what_is_saved_is_the_current_version(tmp_path):
    index = Index.build(PLAIN, "scan")
    assert index.version is None
    version = index.save(tmp_path)
    assert Index.open(tmp_path).version == index.version == version
    assert Index.build(PLAIN, "scan").save(tmp_path) == version


def test_another_engine_can_be_asked_for_on_opening(tmp_path):
    Index.build(PLAIN, "scan").save(tmp_path)
    index = Index.open(tmp_path, engine="sparse")
    assert index.engine == "sparse"
    assert [index.match(event) for event in EVENTS] == [expected(PLAIN, event) for event in EVENTS]


def test_an_opened_index_can_be_saved_elsewhere(tmp_path):
    version = Index.build(PLAIN).save(tmp_path / "a")
    assert Index.open(tmp_path / "a").save(tmp_path / "b") == version


def test_a_refresh_switches_to_what_was_published(tmp_path):
    first = Index.build([(1, "a = 1")], "scan").save(tmp_path)
    index = Index.open(tmp_path, engine="sparse")
    assert index.refresh() is False
    second = Index.build([(1, "a = 2"), (2, "a = 1")], "scan").save(tmp_path)
    assert index.match({"a": 1}) == [1]
    assert index.refresh() is True
    assert (index.match({"a": 1}), index.version, index.engine) == ([2], second, "sparse")
    assert Index.open(tmp_path, version=first).match({"a": 1}) == [1]


def test_a_broken_version_is_refused_and_the_old_one_stays(tmp_path):
    Index.build([(1, "a = 1")], "scan").save(tmp_path)
    index = Index.open(tmp_path)
    version = Index.build([(2, "a = 1")], "scan").save(tmp_path)
    file = next((tmp_path / "versions" / version).glob("arrays-*.bin"))
    file.chmod(0o600)
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(ArtifactError, match="cannot be used, this index stays"):
        index.refresh()
    assert index.match({"a": 1}) == [1]


def test_an_index_in_memory_has_nothing_to_refresh_from():
    with pytest.raises(RuledexError, match="nothing to refresh"):
        Index.build(PLAIN, "scan").refresh()


def test_readers_in_several_threads_get_the_same_answers(tmp_path):
    rules, given_events = every_kind()
    Index.build(rules).save(tmp_path)
    index = Index.open(tmp_path)
    wanted = [expected(rules, event) for event in given_events]
    wrong = []

    def read(shift):
        order = np.roll(np.arange(len(given_events)), shift).tolist()
        wrong.extend(i for i in order if index.match(given_events[i]) != wanted[i])
        wrong.extend(i for i in order if index.match_batch([given_events[i]])[0] != wanted[i])

    threads = [threading.Thread(target=read, args=(11 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_threads_are_given_when_an_index_is_opened_and_stay(tmp_path):
    events = [{"x": n % 10} for n in range(3000)]
    index = Index.build([(n, f"x = {n}") for n in range(10)], "batch")
    index.save(tmp_path)
    wanted = list(index.match_batch(events))

    def n_threads(index):
        return index.describe()["engine"]["threads"]

    assert n_threads(Index.open(tmp_path)) == 1
    opened = Index.open(tmp_path, threads=2)
    assert (n_threads(opened), list(opened.match_batch(events))) == (2, wanted)
    opened.remove([3])
    opened.compact()
    assert n_threads(opened) == 2
    index.refresh()
    assert n_threads(index) == 1
    index.save(tmp_path)
    opened.refresh()
    assert (n_threads(opened), opened.match({"x": 3})) == (2, [])
    opened.add([(30, "x = 3")])
    opened.save(tmp_path)
    assert (n_threads(opened), opened.match({"x": 3})) == (2, [30])
    untrusted = Index.open(tmp_path, trust=False, threads=2)
    assert (n_threads(untrusted), untrusted.match({"x": 4})) == (2, [4])
