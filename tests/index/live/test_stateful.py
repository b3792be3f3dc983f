"""Random changes, questions, compactions and openings, against a dictionary of rules and the reference evaluator.

After every step the tree of the rules that came is checked as well: levels, use counts, reachable nodes, hash table.
2,000 steps here; `RULEDEX_LIVE_STEPS=200000` for more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from ruledex import to_text
from ruledex.errors import RulesError
from ruledex.index import Index
from ruledex.index.live.state import LiveState
from tests.engines.atree.check import check_replica
from tests.index.live.model import Model, assert_same, assert_same_answers
from tests.strategies import events, trees

STEPS = int(os.environ.get("RULEDEX_LIVE_STEPS", "800"))
STEPS_AN_EXAMPLE = 50
ENGINES = ("scan", "sparse", "auto", "interval")

NUMBERS = st.integers(0, 12)
SCORES = st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.5])
TREES = trees(2)
EVENTS = st.lists(events(), min_size=1, max_size=3)
FIXED = [{"a": 1, "b": [1, 2], "s": "x", "flag": True}, {"c": 2, "t": ["x", "xy"]}]


# Functions, since hypothesis writes out what a strategy is made of, and that of trees fills pages.
@st.composite
def rule_lists(draw):
    numbers = draw(st.lists(NUMBERS, min_size=1, max_size=4, unique=True))
    return [(number, to_text(draw(TREES)), draw(SCORES)) for number in numbers]


@st.composite
def event_lists(draw):
    return draw(EVENTS)


class Machine(RuleBasedStateMachine):
    """An index in a folder, another process's view of it, and the model of both."""

    n_steps = 0

    @initialize(rules=rule_lists(), engine=st.sampled_from(ENGINES), of_strings=st.booleans(), is_filled=st.booleans())
    def build(self, rules, engine, of_strings, is_filled):
        self.id_of = (lambda number: f"rule {number}") if of_strings else (lambda number: number - 5)
        given = self.named(rules) if is_filled else []
        self.root = Path(tempfile.mkdtemp())
        self.model = Model(given)
        self.index = Index.build(given, engine)
        self.index.save(self.root)
        self.other = Index.open(self.root)

    def named(self, rules):
        return [(self.id_of(number), text, score) for number, text, score in rules]

    @rule(rules=rule_lists())
    def add(self, rules):
        given = self.named(rules)
        there = [rule_id for rule_id, _, _ in given if rule_id in self.model.rules]
        if there:
            with pytest.raises(RulesError) as caught:
                self.index.add(given)
            assert {fault.rule_id for fault in caught.value.faults} == set(there)
            given = [one for one in given if one[0] not in there]
        self.index.add(given)
        self.model.put(given)

    @rule(rules=rule_lists())
    def update(self, rules):
        given = [one for one in self.named(rules) if one[0] in self.model.rules]
        self.index.update(given)
        self.model.put(given)

    @rule(numbers=st.lists(NUMBERS, max_size=4))
    def remove(self, numbers):
        ids = {self.id_of(number) for number in numbers}
        missing = ids - self.model.rules.keys()
        if missing:
            with pytest.raises(RulesError) as caught:
                self.index.remove(ids)
            assert {fault.rule_id for fault in caught.value.faults} == missing
        self.index.remove(ids - missing)
        self.model.remove(ids - missing)

    @rule(number=NUMBERS, score=SCORES)
    def set_score(self, number, score):
        if self.id_of(number) in self.model.rules:
            self.index.set_score(self.id_of(number), score)
            self.model.set_score(self.id_of(number), score)

    @rule(number=NUMBERS, score=SCORES)
    def let_another_process_change_it(self, number, score):
        """The other one has not looked at the folder for a while; what it changes is seen after a refresh."""
        self.other.refresh()
        if self.id_of(number) in self.model.rules:
            self.other.set_score(self.id_of(number), score)
            self.model.set_score(self.id_of(number), score)
            assert self.index.refresh() is True

    @rule(given=event_lists(), k=st.integers(0, 5), rank=st.sampled_from(["sum", "product", "static"]))
    def ask(self, given, k, rank):
        assert_same(self.index, self.model, given)
        assert [self.index.top(event, k, rank) for event in given] == [self.model.top(e, k, rank) for e in given]

    @rule()
    def compact(self):
        version = self.index.compact()
        assert self.index.describe()["changes"]["journal_records"] == 0
        assert self.index.version == version

    @rule()
    def reopen(self):
        self.index = Index.open(self.root)

    @rule()
    def refresh_the_other(self):
        self.other.refresh()
        assert_same(self.other, self.model, FIXED[:1])

    @invariant()
    def is_what_the_model_says(self):
        type(self).n_steps += 1
        if hasattr(self, "index"):
            if isinstance(self.index._state, LiveState):
                with self.index._state.delta.reading() as delta:
                    check_replica(delta._replica)
                    positions = delta._delta.rules.tree_positions.tolist()
                    assert delta._replica.n_rules == len(positions) == len(set(positions))
            assert_same_answers(self.index, self.model, [FIXED[self.n_steps % len(FIXED)]])

    def teardown(self):
        if hasattr(self, "root"):
            shutil.rmtree(self.root)


def test_an_index_is_its_rules_whatever_happens_to_it():
    Machine.n_steps = 0
    examples = STEPS // 30  # some end before their time, for want of entropy
    options = settings(max_examples=examples, stateful_step_count=STEPS_AN_EXAMPLE, database=None)
    run_state_machine_as_test(Machine, settings=options)
    assert Machine.n_steps >= STEPS
