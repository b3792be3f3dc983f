"""`sparse` and a growing tree that are asked together answer as they do apart."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ruledex.engines.atree.live import Deletion, Insertion, TreeVersion
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.engines.atree.tree import Switches
from ruledex.engines.inputs import ALL_ALIVE
from ruledex.engines.joint import JointMatcher
from ruledex.index import Index
from ruledex.language.schema import Schema


def rule(chance: random.Random) -> str:
    literals = [f"a{chance.randrange(90)} {chance.choice(['=', '>', '<', '!='])} {chance.randrange(9)}" for _ in "123"]
    return f"{literals[0]} OR {literals[1]} AND {literals[2]}"


def test_together_and_apart_are_the_same_over_changes_and_large_events():
    chance = random.Random(5)
    state: Any = Index.build(((number, rule(chance)) for number in range(60)), "sparse")._state
    alive = np.array([chance.random() < 0.8 for _ in range(60)], np.uint8)
    version = TreeVersion.empty(Schema(), Switches())
    for step in range(6):
        new = [(rule(chance), 0.0) for _ in range(4)]
        changes = [Insertion(encode_rules(Schema(), new), [f"{step} {number}" for number in range(4)])]
        version = version.changed(*changes, *([Deletion(np.array([step], np.int32))] if step else []))
        replica = version.replica
        for n_attributes in (3, 20, 90):
            event = {f"a{name}": chance.randrange(9) for name in chance.sample(range(90), n_attributes)}
            rows = replica.match(replica.encoder.encode_one(event)).rule.tolist()
            assert replica.one_event.match_one(replica.encoder.cells_of(event)) == rows
            found = state.match_one(event)
            cells = replica.encoder_with(state.encoder).cells_of(event)
            for admitted, wanted in ((ALL_ALIVE, found), (alive, found[alive[found] != 0])):
                together = JointMatcher(state.engine, admitted).match_one(replica.one_event, cells)
                assert (together[0].tolist(), together[1]) == (wanted.tolist(), rows)
    assert all(isinstance(replica.labels[row], str) for row in rows)
