"""The delta by itself: numbers in the order of ids, layers that are joined, and what is dropped."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ruledex import Schema, parse
from ruledex.errors import RulesError
from ruledex.index.delta import Delta, NewRules
from ruledex.index.delta_layer import FEW_TREES


def new_rules(rules):
    rules = sorted(rules)
    texts = [text for _, text, _ in rules]
    scores = np.array([score for _, _, score in rules])
    ids = np.array([rule_id for rule_id, _, _ in rules], object if isinstance(rules[0][0], str) else np.int64)
    trees = [parse(text) for text in texts]
    return NewRules(ids, texts, scores, np.zeros(len(ids), np.int64), trees)


def rule(number):
    return number, f"a >= {number}", float(number)


def layered():
    """Rules 0 to 19 in one layer, and 20 in another."""
    delta = Delta.empty(Schema()).changed([], [], new_rules(map(rule, range(20))))
    return delta.changed([], [], new_rules([rule(20)]))


def test_rules_are_numbered_in_the_order_of_ids():
    delta = layered().changed([], [], new_rules([(-1, "b = 1", 0.5)]))
    assert delta.ids.tolist() == [-1, *range(21)]
    assert [delta.number(rule_id) for rule_id in (-1, 0, 20)] == [0, 1, 21]
    assert [delta.number(other) for other in (21, "1", None, True, 2**70)] == [None] * 5
    assert (delta.text(0), delta.static_score(0), delta.text(21)) == ("b = 1", 0.5, "a >= 20")
    assert delta.texts().to_pylist() == ["b = 1", *(f"a >= {number}" for number in range(21))]
    assert delta.static_scores().tolist() == [0.5, *range(21)]


def test_what_comes_is_joined_with_layers_that_are_not_much_larger():
    delta = layered()
    assert delta.describe() == {"added": 21, "layers": [20, 1]}
    assert delta.changed([], [], new_rules([rule(21)])).describe()["layers"] == [20, 2]
    assert delta.changed([], [], new_rules(map(rule, range(21, 21 + FEW_TREES)))).describe()["layers"] == [
        21 + FEW_TREES
    ]


def test_rules_that_come_one_by_one_lie_in_few_layers():
    delta = Delta.empty(Schema())
    for number in range(200):
        delta = delta.changed([], [], new_rules([rule(number)]))
        layers = delta.describe()["layers"]
        assert len(layers) <= 4
        assert all(one > other for one, other in pairwise(layers))
    assert sorted(delta.match_one({"a": 150})) == list(range(151))


def test_all_layers_answer_as_one():
    delta = layered()
    events = [{"a": 20}, {"a": 1}, {}]
    assert [sorted(delta.match_one(event)) for event in events] == [list(range(21)), [0, 1], []]
    found = delta.match(events)
    assert [found.of(event).tolist() for event in range(3)] == [list(range(21)), [0, 1], []]
    assert delta.count(events).tolist() == [21, 2, 0]
    best = delta.top(events, 2, "static", None)
    assert [best.of(event).tolist() for event in range(3)] == [[20, 19], [1, 0], []]
    assert best.scores.tolist() == [20.0, 19.0, 1.0, 0.0]


def test_what_is_dropped_is_gone_and_keeps_no_layer():
    delta = layered()
    smaller = delta.changed([0, 5], [(20, 40.0), (6, 50.0)], None)
    assert smaller.match_one({"a": 6}) == [1, 2, 3, 4, 6]
    assert smaller.top([{"a": 20}], 2, "static", None).scores.tolist() == [50.0, 40.0]
    assert delta.match_one({"a": 1}) == [0, 1]
    without = smaller.changed([18], [], None)
    assert (without.number(20), without.describe()["layers"]) == (None, [18])
    assert len(without.changed(list(range(18)), [], None).dictionaries) == 0


def test_a_rule_that_is_put_again_is_the_new_one():
    delta = layered()
    again = delta.changed([3], [], new_rules([(3, "b = 1", 9.0)]))
    assert (len(again), again.text(3), again.static_score(3)) == (21, "b = 1", 9.0)
    assert again.match_one({"a": 3}) == [0, 1, 2]
    assert again.match_one({"b": 1}) == [3]


def test_ids_may_be_strings():
    delta = Delta.empty(Schema()).changed([], [], new_rules([("é", "a = 1", 0.0), ("b", "a = 1", 0.0)]))
    assert (delta.kind, delta.ids.tolist()) == ("string", ["b", "é"])
    assert [delta.number(rule_id) for rule_id in ("é", "c", 1)] == [1, None, None]
    assert sorted(delta.match_one({"a": 1})) == ["b", "é"]


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
        delta = delta.changed(gone, [], new_rules(rules) if rules else None)
        left |= {rule_id: (text, score) for rule_id, text, score in rules}
        assert delta.ids.tolist() == sorted(left)
        pairs = zip(delta.texts().to_pylist(), delta.static_scores().tolist(), strict=True)
        assert list(pairs) == [left[rule_id] for rule_id in sorted(left)]
        for value in range(3):
            wanted = [i for i, (text, _) in left.items() if value >= int(text.split()[-1])]
            assert sorted(delta.match_one({"a": value})) == sorted(wanted)


def test_a_rule_that_is_none_is_found_when_all_are_compiled():
    delta = layered().changed([], [], NewRules(np.array([30]), ["a ="], np.zeros(1), np.zeros(1, np.int64)))
    with pytest.raises(RulesError, match="rule 30"):
        delta.compile()
    layered().compile()
