"""The delta by itself: positions in the order of ids, in whatever order the tree has the rules, and removed rules."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex import Schema
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.engines.protocol import OutdatedError
from ruledex.index.live.delta import AddedRules, Delta


def new_rules(rules):
    rules = sorted(rules)
    texts = [text for _, text, _ in rules]
    scores = np.array([score for _, _, score in rules])
    ids = np.array([rule_id for rule_id, _, _ in rules], object if isinstance(rules[0][0], str) else np.int64)
    encoded = encode_rules(Schema(), [(text, score) for _, text, score in rules])
    return AddedRules(ids, texts, scores, np.zeros(len(ids), np.int64), encoded, [None] * len(ids), [None] * len(ids))


def rule(number):
    return number, f"a >= {number}", float(number)


def several():
    """Rules 20 to 1, in this order: the tree does not have them in the order of ids."""
    delta = Delta.empty(Schema()).change([], [], new_rules(map(rule, range(11, 21))))
    return delta.change([], [], new_rules(map(rule, range(1, 11))))


def matched(delta, event):
    with delta.reading() as reader:
        return sorted(reader.match_one(event))


def test_rules_are_numbered_in_the_order_of_ids():
    delta = several().change([], [], new_rules([(-1, "b = 1", 0.5)]))
    assert delta.ids.tolist() == [-1, *range(1, 21)]
    assert [delta.position(rule_id) for rule_id in (-1, 1, 20)] == [0, 1, 20]
    assert [delta.position(other) for other in (21, "1", None, True, 2**70)] == [None] * 5
    assert (delta.text(0), delta.static_score(0), delta.text(20)) == ("b = 1", 0.5, "a >= 20")
    assert delta.texts().to_pylist() == ["b = 1", *(f"a >= {number}" for number in range(1, 21))]
    assert delta.static_scores().tolist() == [0.5, *range(1, 21)]


def test_it_answers_by_numbers():
    delta, events = several(), [{"a": 20}, {"a": 2}, {}]
    with delta.reading() as reader:
        assert [sorted(reader.match_one(event)) for event in events] == [list(range(1, 21)), [1, 2], []]
        found = reader.match(events)
        assert [found.of(event).tolist() for event in range(3)] == [list(range(20)), [0, 1], []]
        assert reader.count(events).tolist() == [20, 2, 0]
        best = reader.top(events, 2, "static", None)
        assert [best.of(event).tolist() for event in range(3)] == [[19, 18], [1, 0], []]
        assert best.scores.tolist() == [20.0, 19.0, 2.0, 1.0]
        assert [dictionary.used_paths for dictionary in reader.dictionaries()] == [[("a",)]]


def test_ties_go_to_the_smaller_id():
    delta = several().change([], [(number, 7.0) for number in range(20)], None)
    with delta.reading() as reader:
        assert reader.top([{"a": 15}], 3, "static", None).rule.tolist() == [0, 1, 2]


def test_what_is_dropped_is_gone_and_scores_change():
    delta = several().change([0, 5], [(19, 40.0), (6, 50.0)], None)
    assert matched(delta, {"a": 7}) == [2, 3, 4, 5, 7]
    with delta.reading() as reader:
        assert reader.top([{"a": 20}], 2, "static", None).scores.tolist() == [50.0, 40.0]
        assert reader.describe()["tree"]["n_rules"] == 18
    empty = delta.change(list(range(18)), [], None)
    with empty.reading() as reader:
        assert (len(empty), reader.dictionaries(), reader.describe()) == (0, [], {"added": 0, "tree": {}})


def test_a_rule_that_is_put_again_is_the_new_one():
    delta = several()
    again = delta.change([delta.position(3)], [], new_rules([(3, "b = 1", 9.0)]))
    assert (len(again), again.text(2), again.static_score(2)) == (20, "b = 1", 9.0)
    assert matched(again, {"a": 3}) == [1, 2]
    assert matched(again, {"b": 1}) == [3]


def test_ids_may_be_strings():
    delta = Delta.empty(Schema()).change([], [], new_rules([("é", "a = 1", 0.0), ("b", "a = 1", 0.0)]))
    assert (delta.kind, delta.ids.tolist()) == ("string", ["b", "é"])
    assert [delta.position(rule_id) for rule_id in ("é", "c", 1)] == [1, None, None]
    assert matched(delta, {"a": 1}) == ["b", "é"]


def test_the_last_two_can_be_read_and_those_before_are_outdated():
    first = several()
    second = first.change([0], [], None)
    with first.reading() as reader:
        third = second.change([0], [], None)
        assert sorted(reader.match_one({"a": 3})) == [1, 2, 3]
    assert [matched(second, {"a": 3}), matched(third, {"a": 3})] == [[2, 3], [3]]
    fourth = third.change([0], [], None)
    assert matched(first, {"a": 3}) == [1, 2, 3]  # it was read when its place was wanted, and so was left alone
    with pytest.raises(OutdatedError):
        matched(second, {"a": 3})
    assert (matched(third, {"a": 3}), matched(fourth, {"a": 4})) == ([3], [4])
    assert (second.texts()[0].as_py(), second.static_score(0)) == ("a >= 2", 2.0)


def test_a_change_that_is_not_used_leaves_the_last_one_the_last():
    delta = several().change([0], [], None)
    delta.change([0, 1, 2], [], new_rules([(50, "a >= 0", 0.0)]))
    after = delta.change([], [], new_rules([(60, "a >= 0", 0.0)]))
    assert matched(delta, {"a": 3}) == [2, 3]
    assert (matched(after, {"a": 3}), after.text(19)) == ([2, 3, 60], "a >= 0")


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_changes_gives_the_rules_that_are_left(seed):
    generator = np.random.default_rng(seed)
    delta, left = Delta.empty(Schema()), {}
    for _ in range(40):
        gone = [number for number, rule_id in enumerate(delta.ids.tolist()) if generator.random() < 0.2]
        for number in gone:
            left.pop(int(delta.ids[number]))
        fresh = {int(i) for i in generator.integers(0, 60, generator.integers(1, 4))} - left.keys()
        rules = [(i, f"a >= {int(generator.integers(0, 5))}", float(generator.integers(0, 9))) for i in sorted(fresh)]
        delta = delta.change(gone, [], new_rules(rules) if rules else None)
        left |= {rule_id: (text, score) for rule_id, text, score in rules}
        assert delta.ids.tolist() == sorted(left)
        pairs = zip(delta.texts().to_pylist(), delta.static_scores().tolist(), strict=True)
        assert list(pairs) == [left[rule_id] for rule_id in sorted(left)]
        for value in range(3):
            wanted = [i for i, (text, _) in left.items() if value >= int(text.split()[-1])]
            assert matched(delta, {"a": value}) == sorted(wanted)


def test_the_log_forgets_what_nobody_has_any_longer():
    delta = Delta.empty(Schema()).change([], [], new_rules([rule(0)]))
    for number in range(1, 3000):
        delta = delta.change([0], [], new_rules([rule(number)]))
    assert (len(delta), delta.text(0)) == (1, "a >= 2999")
    assert len(delta.log) < 2000
