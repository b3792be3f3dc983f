"""A base and recent rules are matched with one look-up per value, whatever an event holds."""

from __future__ import annotations

import json
from random import Random

import numpy as np

from ruledex import Index
from ruledex.dictionary.remembered import forget_all
from ruledex.index.live.recent_matching import RecentMatcher
from tests.index.live.model import Model

BASE = [(number, f"a{number % 9} = {number % 5} AND b != {number % 7}") for number in range(600)]
RECENT = [(1000, "b = 3"), (1001, "new = 'x' OR a1 > 2"), (1002, "NOT (b < 2 XOR a2 = 1)"), (50000, "text >= 'm'")]
VALUES = [None, float("nan"), 0, 1, 2, 3, True, 2.5, "x", "m", "l", [1, 2], [], {"a": 1}, np.int64(3)]


def changed():
    index, model = Index.build(BASE, "sparse"), Model(BASE)
    for rule in RECENT:
        index.add([rule])
        model.put([rule])
    index.remove([5, 7, 300])
    model.remove([5, 7, 300])
    return index, model


def test_answers_are_the_models():
    index, model = changed()
    assert isinstance(index._state._alone, RecentMatcher)
    chance = Random(1)
    names = [*(f"a{number}" for number in range(9)), "b", "new", "text", *(f"other{number}" for number in range(20))]
    for step in range(150):
        event = {name: chance.choice(VALUES) for name in chance.sample(names, chance.randint(0, len(names)))}
        plain = {name: value.item() if isinstance(value, np.int64) else value for name, value in event.items()}
        for _ in range(2):
            assert index.match(event) == model.match(plain)
        if step % 50 == 49:
            forget_all()


def test_texts_and_other_mappings_are_answered():
    index, model = changed()
    event = {"b": 3, "new": "x", "a1": 1}
    assert index.match(json.dumps(event)) == model.match(event)
