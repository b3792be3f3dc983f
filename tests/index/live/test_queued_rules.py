"""Rules on their way to the tree: whoever asks finds all of them, from the recent rules or from the tree."""

from __future__ import annotations

from random import Random

import pytest

from ruledex import Index, limits
from ruledex.engines.protocol import OutdatedError
from ruledex.index.live.queued_rules import MOST_QUEUED
from tests.index.live.model import Model, assert_same, assert_same_answers

BASE = [(number, f"a = {number % 5} AND b > {number % 7}") for number in range(20)]
EVENTS = [{"a": 1, "b": 3}, {"a": 2, "b": 8.5, "s": "x"}, {"a": [1, 2], "b": 9}, {"s": "x"}]


def plain_rule(chance):
    name, value = chance.choice("abc"), chance.randrange(6)
    return chance.choice([f"{name} = {value}", f"{name} >= {value} XOR s = 'x'", f"NOT ({name} < {value} AND b = 1)"])


def waiting(index):
    return index._state.delta.waiting


def test_single_events_need_no_tree():
    index, model = Index.build(BASE), Model(BASE)
    for number in range(100, 100 + MOST_QUEUED - 1):
        rule = (number, f"a >= {number % 4} OR s = 'x'")
        index.add([rule])
        model.put([rule])
        assert index.match(EVENTS[0]) == model.match(EVENTS[0])
    assert (waiting(index).n_queued, waiting(index).is_all_recent) == (MOST_QUEUED - 1, True)
    assert [index.match(event) for event in EVENTS] == [model.match(event) for event in EVENTS]
    assert_same(index, model, EVENTS)


def test_many_of_them_are_put_into_the_tree():
    index, model = Index.build(BASE), Model(BASE)
    for number in range(100, 100 + MOST_QUEUED):
        assert waiting(index).n_queued == (number - 100) if number > 100 else True
        index.add([(number, f"b = {number % 9}")])
        model.put([(number, f"b = {number % 9}")])
    assert (waiting(index).n_queued, waiting(index).queue, waiting(index).is_all_recent) == (0, None, True)
    assert_same(index, model, EVENTS)


def test_one_that_cannot_wait_brings_all_into_the_tree():
    index, model = Index.build(BASE), Model(BASE)
    for number, text in enumerate(["a = 1", "b > 3", "a IS NULL", "b = 8.5", "s = 'x'"], 100):
        index.add([(number, text)])
        model.put([(number, text)])
        if number == 101:
            assert_same_answers(index, model, EVENTS)
    assert (waiting(index).n_queued, waiting(index).is_all_recent) == (2, False)
    assert [index.match(event) for event in EVENTS] == [model.match(event) for event in EVENTS]
    assert_same(index, model, EVENTS)


@pytest.mark.parametrize("engine", ["auto", "sparse", "scan"])
@pytest.mark.parametrize("seed", range(4))
def test_any_changes_in_any_order(seed, engine):
    chance = Random(seed)
    index, model = Index.build(BASE, engine), Model(BASE)
    for step in range(250):
        number, score = chance.randrange(60), float(chance.randrange(5))
        if number in model.rules and chance.random() < 0.3:
            index.remove([number])
            model.remove([number])
        elif number in model.rules and chance.random() < 0.3:
            index.set_score(number, score)
            model.set_score(number, score)
        else:
            rule = (number, plain_rule(chance) if chance.random() < 0.95 else "a IS NULL OR b = 2", score)
            index.upsert([rule])
            model.put([rule])
        event = chance.choice(EVENTS)
        assert index.match(event) == model.match(event)
        if step % 40 == 39:
            assert_same(index, model, EVENTS)


def test_a_reader_that_needs_the_tree_leaves_the_others_alone():
    index = Index.build(BASE)
    index.add([(100, "a = 1")])
    first = index._state
    index.add([(101, "a = 1")])
    second = index._state
    assert second.counts([{"a": 1}]).tolist() == [2]  # base rules need b
    with pytest.raises(OutdatedError):
        first.counts([{"a": 1}])
    assert first.match({"a": 1}) == [100]
    index.add([(102, "a = 1")])
    assert [state.counts([{"a": 1}]).tolist() for state in (index._state, second)] == [[3], [2]]
    assert second.match({"a": [1]}) == [100, 101]


def test_a_limit_that_was_lowered_meanwhile_changes_nothing():
    index = Index.build(BASE)
    index.add([(100, "a = 1 AND (b = 1 OR b = 2)")])
    with limits.limited(rule_characters=5):
        assert index.count([{"a": 1, "b": 2}]).tolist() == [2]


def test_filters_and_tags_of_rules_that_wait():
    index = Index.build(BASE)
    index.add([(100, "a = 1")])
    index.add([{"id": 101, "expr": "a = 1", "tags": {"tenant": "t"}}])
    assert index.match({"a": 1}) == [100, 101]
    assert index.match({"a": 1}, where="tenant = 't'") == [101]
    index.update([(101, "a = 2")])
    assert index.match({"a": 2}, where="tenant = 't'") == [101]
