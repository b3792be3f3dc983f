"""Coverage of an index by recent events: what it says equals what the reference says."""

from __future__ import annotations

import json
import random
import threading

import numpy as np
import pytest

from ruledex import Index, evaluate, parse
from ruledex.service.coverage import make_coverage
from tests.service.serving import NDJSON

EVENTS = [{"a": number % 4, "b": number % 3, "c": "x"} for number in range(60)]


def reference(rules, events):
    trees = {rule_id: parse(text) for rule_id, text in rules.items()}
    return {rule_id: sum(bool(evaluate(tree, event)) for event in events) for rule_id, tree in trees.items()}


@pytest.mark.parametrize("is_changed", [False, True])
def test_rules_are_counted_as_the_reference_does(is_changed):
    draw = random.Random(2)
    rules = {i: f"a = {draw.randrange(5)} AND b >= {draw.randrange(4)}" for i in range(80)} | {
        90: "c = 'x'",
        91: "d = 1",
    }
    index = Index.build(list(rules.items()))
    if is_changed:
        index.remove([0, 5, 90])
        index.add([(95, "c = 'x' OR a = 0"), (96, "a = 1")])
        index.update([(7, "a = 2 OR b = 0")])
        rules = {i: text for i, text in rules.items() if i not in (0, 5, 90)}
        rules |= {95: "c = 'x' OR a = 0", 96: "a = 1", 7: "a = 2 OR b = 0"}
    counts = reference(rules, EVENTS)
    found, reader = make_coverage(index, EVENTS)
    assert reader.is_of(index)
    assert (found.events, found.rules, found.matches) == (60, len(rules), sum(counts.values()))
    assert found.never.rules == sorted(i for i, count in counts.items() if count == 0)
    assert found.never.count == len(found.never.rules)
    assert found.always.rules == sorted(i for i, count in counts.items() if count == 60)
    for bucket in found.histogram:
        assert bucket.rules == sum(bucket.at_least <= count < bucket.below for count in counts.values())
    assert [bucket.at_least for bucket in found.histogram] == [0, 1, 2, 5, 10, 20, 50]
    assert found.histogram[-1].below == 61
    per_event = [sum(bool(evaluate(parse(text), event)) for text in rules.values()) for event in EVENTS]
    assert (found.per_event.min, found.per_event.max) == (min(per_event), max(per_event))
    assert found.per_event.median == np.median(per_event)


def test_rules_with_one_condition_are_told(tmp_path):
    rules = [
        (1, "a = 1 AND b = 2"),
        (2, "b = 2 AND a = 1"),
        (3, "NOT NOT (a = 1 AND b = 2)"),
        (4, "c = 1"),
        (5, "d = 1"),
    ]
    rules += [(6, "d = 1"), (7, "FALSE"), (8, "a = 1 AND a = 2"), (9, "e = 1")]
    Index.build(rules).save(tmp_path / "index")
    index = Index.open(tmp_path / "index")
    assert make_coverage(index, [])[0].duplicates == [[1, 2, 3], [5, 6]]
    index.remove([3, 5])
    index.add([(0, "e = 1"), (10, "c = 1"), (11, "b = 2 AND a = 1"), (12, "f = 1"), (13, "f = 1"), (14, "g = 1")])
    found, _ = make_coverage(index, [])
    assert found.duplicates == [[1, 2, 11], [0, 9], [4, 10], [12, 13]]
    assert found.duplicate_groups == 4
    assert (found.events, found.histogram, found.never.count) == (0, [], 0)


def test_events_with_very_many_matches_are_cut():
    index = Index.build([(i, "a >= 0") for i in range(50)])
    found, _ = make_coverage(index, EVENTS, most_matches=220)
    assert (found.events, found.matches, found.always.count) == (4, 200, 50)
    assert make_coverage(index, EVENTS, most_matches=1)[0].events == 1


def test_lists_are_cut_and_counts_are_not():
    index = Index.build([(i, f"a = {i // 2 + 100}") for i in range(500)])
    found, _ = make_coverage(index, EVENTS)
    assert (found.never.count, len(found.never.rules)) == (500, 100)
    assert (found.duplicate_groups, len(found.duplicates)) == (250, 100)


def test_over_http(client, own):
    path = f"/v1/indexes/{own}/coverage"
    empty = client.ask("GET", path).value
    assert (empty["events"], empty["rules"], empty["duplicates"]) == (0, 2, [])
    client.build(own, [(1, "a = 1"), (2, "a = 1 AND b = 2"), (3, "1 = a"), (4, "c = 'x'")])
    lines = "\n".join(map(json.dumps, EVENTS))
    assert client.ask("POST", f"/v1/indexes/{own}/count", lines, content_type=NDJSON).status == 200
    answer = client.ask("GET", path).value
    assert (answer["events"], answer["matches"], answer["always"]) == (60, 15 + 5 + 15 + 60, {"count": 1, "rules": [4]})
    assert answer["duplicates"] == [[1, 3]]
    assert answer["histogram"][0] == {"from": 0, "to": 1, "rules": 0}


def test_many_who_ask_at_once_share_an_answer(service, own):
    answers = []

    def ask():
        opened = service.client()
        answers.append(opened.ask("GET", f"/v1/indexes/{own}/coverage"))
        opened.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {answer.status for answer in answers} == {200}
    assert {answer.value["rules"] for answer in answers} == {2}
