"""LiveTree against a dict of rules and the reference evaluator."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from live_tree import LiveTree
from ruledex import Schema, evaluate, parse, to_text
from ruledex.engines.atree.live import FEW, Deletion, Insertion, TreeVersion
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.engines.atree.tree import Switches
from ruledex.engines.protocol import OutdatedError
from ruledex.errors import RuledexError, RulesError
from ruledex.language.reference import score_of
from ruledex.workloads import workload
from tests.contract.sizes import COMPILED, scaled
from tests.engines.atree.check import check_live, check_replica
from tests.engines.atree.test_tree import SWITCHES
from tests.strategies import SINGLE, events, trees

# Strategies of whole trees have long names, which hypothesis writes down and then complains about.
pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")

N_STEPS = int(os.environ.get("RULEDEX_ATREE_STEPS", scaled(2000, 80)))
STEPS_AN_EXAMPLE = 40
STATIC = st.sampled_from([0.0, 0.0, 1.0, 2.5, -1.0])


# Made once: hypothesis tells strategies apart by what they are, not by what they draw.
NEW_RULES = st.lists(st.tuples(trees(3), STATIC, st.booleans()), min_size=1, max_size=4)
SOME_EVENTS = st.lists(events(), min_size=1, max_size=3)


def expected_of(tree, given_events, schema=None):
    """For each event the rows of its rules, by the reference."""
    schema = schema or Schema()
    rules = {row: parse(tree.rule(row)[0]) for row in sorted(tree._rules)}
    return [[row for row, parsed in rules.items() if evaluate(parsed, event, schema) is True] for event in given_events]


def answers_of(found):
    return [found.of(event).tolist() for event in range(found.n_events)]


class Changes(RuleBasedStateMachine):
    """Random insertions, deletions and questions; after each step all invariants hold."""

    @initialize(name=st.sampled_from(sorted(SWITCHES)), is_single=st.booleans())
    def begin(self, name, is_single):
        self.schema = Schema.of_mapping(SINGLE) if is_single else Schema()
        self.tree = LiveTree(self.schema, **SWITCHES[name]._asdict())
        self.rules: dict[int, Any] = {}  # type: ignore[assignment]  # the name is the base class's, too

    @rule(data=st.data())
    def insert(self, data):
        drawn = data.draw(NEW_RULES)
        given = [(to_text(tree) if as_text else tree, static) for tree, static, as_text in drawn]
        rows = self.tree.insert(given)
        assert not {*rows} & {*self.rules}
        assert len({*rows}) == len(rows)
        self.rules |= {row: (tree, static) for row, (tree, static, _) in zip(rows, drawn, strict=True)}

    @precondition(lambda self: bool(getattr(self, "rules", None)))
    @rule(data=st.data())
    def delete(self, data):
        rows = data.draw(st.lists(st.sampled_from(sorted(self.rules)), min_size=1, unique=True))
        self.tree.delete(rows)
        for row in rows:
            del self.rules[row]

    @precondition(lambda self: len(getattr(self, "rules", ())) > 3)
    @rule()
    def delete_all(self):
        self.tree.delete(list(self.rules))
        self.rules.clear()

    @rule(data=st.data())
    def match(self, data):
        given = data.draw(SOME_EVENTS)
        bound = {row: self.schema.bind(tree, "") for row, (tree, _) in sorted(self.rules.items())}
        expected = [[row for row, tree in bound.items() if evaluate(tree, e, self.schema) is True] for e in given]
        assert answers_of(self.tree.match(given)) == expected

    @rule(data=st.data(), k=st.integers(0, 4), weight=st.sampled_from([None, {"a": 2.0, "s": 0.5}]))
    def top(self, data, k, weight):
        event = data.draw(SOME_EVENTS)[0]
        found = self.tree.top([event], k, "sum", None if weight is None else [weight])
        ranks = []
        for row, (tree, static) in self.rules.items():
            bound = self.schema.bind(tree, "")
            if evaluate(bound, event, self.schema) is True:
                ranks.append((-static - score_of(bound, event, weight or {}, self.schema), row))
        expected = sorted(ranks)[:k]
        assert found.rule.tolist() == [row for _, row in expected]
        assert found.scores.tolist() == pytest.approx([-rank for rank, _ in expected])

    @invariant()
    def is_sound(self):
        if hasattr(self, "tree"):
            check_live(self.tree)
            assert len(self.tree) == len(self.rules)


Changes.TestCase.settings = settings(
    max_examples=max(1, N_STEPS // STEPS_AN_EXAMPLE),
    stateful_step_count=STEPS_AN_EXAMPLE,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestChanges = Changes.TestCase


RULES = [
    "a = 1 AND s = 'x'",
    "a > 3 OR b NOT IN (1, 2)",
    "a IS NULL",
    "s LIKE 'x%' AND NOT (a < 2 XOR b > 5)",
    "a BETWEEN 1 AND 5",
    "TRUE",
    "FALSE",
    "a % 2 = 1",
    "a = 1.5 OR a < 2.5",
    "a < b",
    "device.os = 'ios' AND subset_of(tags, 'p', 'q')",
]
EVENTS = [
    {"a": 1, "s": "x"},
    {"a": 4, "tags": ["p"], "device": {"os": "ios"}},
    {"b": 3},
    {},
    {"a": [1, 7], "b": 6, "s": "xy"},
    {"a": 1.5, "b": 2, "tags": []},
]


def tree_of(rules, **switches):
    tree = LiveTree(**switches)
    tree.insert([(text, 0.0) for text in rules])
    return tree


def test_constants_that_come_later_cut_what_is_there():
    tree = tree_of(["a > 10", "a < 20"])
    for constant in (15, 12, 17, 10, 20, 13.5, 16):
        tree.insert([(f"a = {constant}", 0.0), (f"a <= {constant}", 0.0)])
        check_live(tree)
        given = [{"a": value} for value in (5, 10, 11, 12, 13.5, 15, 16, 17, 20, 25)]
        assert answers_of(tree.match(given)) == expected_of(tree, given)


def test_exact_constants_that_are_one_double_are_told_apart():
    tree = tree_of([f"a = {2**53}", "a > 1"])
    given = [{"a": value} for value in (2**53, 2**53 + 1, 2**53 + 2, float(2**53))]
    rows = tree.insert([(f"a = {2**53 + 1}", 0.0), (f"a < {2**53 + 1}", 0.0)])
    check_live(tree)
    assert answers_of(tree.match(given)) == expected_of(tree, given)
    tree.delete(rows)
    assert answers_of(tree.match(given)) == expected_of(tree, given)


def test_many_constants_of_one_attribute_come_in_any_order():
    rng = np.random.default_rng(5)
    tree = LiveTree()
    n_constants = scaled(4000, 150)
    for chunk in np.array_split(rng.permutation(n_constants), 20):
        tree.insert([(f"a >= {constant}", 0.0) for constant in chunk.tolist()])
    tree.insert([(f"b = {constant}", 0.0) for constant in range(n_constants)])
    check_live(tree)
    for value in (-1, 0, n_constants // 2, n_constants):
        assert len(tree.match([{"a": value}]).rule) == min(max(value + 1, 0), n_constants)
        assert len(tree.match([{"b": value}]).rule) == (0 <= value < n_constants)


def test_rows_of_a_table_answer_as_mappings_do():
    tree = tree_of(RULES)
    rows: list[dict[str, Any]] = [
        {"a": 1, "s": "x", "b": None},
        {"a": 4, "s": None, "b": 3},
        {"a": None, "s": "xy", "b": None},
    ]
    mappings = [{name: value for name, value in row.items() if value is not None} for row in rows]
    for _ in range(3):
        found = tree.match_arrow(pa.Table.from_pylist(rows))
        assert answers_of(found) == answers_of(tree.match(mappings)) == expected_of(tree, mappings)
        tree.delete([min(tree._rules)])
        tree.insert([("a = 4 AND s IS NULL", 0.0), ("b BETWEEN 2 AND 2.5", 0.0)])


def test_a_rule_that_is_none_stops_all_and_changes_nothing():
    tree = tree_of(RULES)
    with pytest.raises(RulesError) as caught:
        tree.insert([("a = 7", 0.0), ("a = = 7", 0.0), ("b = 8", 0.0), ("b >", 1.0)])
    assert [fault.line for fault in caught.value.faults] == [2, 4]
    assert len(tree) == len(RULES)
    check_live(tree)


def test_rows_that_hold_no_rule_cannot_be_deleted():
    tree = tree_of(RULES)
    for rows, message in (([99], "row 99"), ([1, 1], "twice")):
        with pytest.raises(RuledexError, match=message):
            tree.delete(rows)
    assert len(tree) == len(RULES)
    with pytest.raises(RuledexError, match="row 99"):
        tree.rule(99)


def test_rows_are_given_again():
    tree = tree_of(RULES)
    tree.delete([2, 5])
    assert sorted(tree.insert([("a = 1", 0.0), ("a = 2", 0.0), ("a = 3", 0.0)])) == [2, 5, len(RULES)]
    assert tree.rule(2)[0].startswith("a = ")


def test_an_unknown_switch_is_refused():
    with pytest.raises(RuledexError, match="speed"):
        LiveTree(speed=True)


def test_static_scores_and_the_order_of_ties_may_be_given():
    tree = tree_of(["a = 1", "a < 5", "a > 0"])
    event = [{"a": 1}]
    assert tree.top(event, 3).rule.tolist() == [0, 1, 2]
    assert tree.top(event, 3, order=np.array([3, 2, 1])).rule.tolist() == [2, 1, 0]
    found = tree.top(event, 2, static_score=np.array([0.0, 1.0, 5.0]))
    assert (found.rule.tolist(), found.scores.tolist()) == ([2, 1], [6.0, 2.0])


@pytest.mark.parametrize("switches", [{}, {"sharing": False}, {"zero_suppression": False}], ids=str)
def test_large_changes_are_copied_and_small_ones_made_again(switches):
    n_rules = scaled(3 * FEW, 60)
    drawn = list(workload("abe", seed=2, n_expressions=n_rules).rules(n_rules))
    given = list(workload("abe", seed=2, n_expressions=n_rules).events(scaled(5, 1)))
    tree = LiveTree(**switches)
    rows = tree.insert([(text, 0.0) for _, text in drawn])
    for begin in range(0, n_rules // 2, n_rules // 6):
        tree.delete(rows[begin : begin + 10])
        tree.insert([(text, 0.0) for _, text in drawn[begin : begin + 10]])
    assert answers_of(tree.match(given)) == expected_of(tree, given)
    if COMPILED:
        check_live(tree)


def test_memory_is_given_back_when_all_rules_are_gone():
    n_rules = int(os.environ.get("RULEDEX_ATREE_ROUND", scaled(5000, 40)))
    rules = [(text, 0.0) for _, text in workload("abe", seed=4, n_expressions=n_rules).rules(n_rules)]
    tree = LiveTree()
    encoded = tree.encode(rules)
    empty = tree.describe()["bytes"]
    full = []
    for number in range(20 if COMPILED else 3):
        rows = tree.insert_encoded(rules, encoded)
        full.append(tree.describe()["bytes"])
        np.random.default_rng(number).shuffle(rows)
        tree.delete(rows[: n_rules // 2])
        tree.delete(rows[n_rules // 2 :])
        assert len(tree) == 0
        assert tree.describe()["bytes"] <= 1.05 * empty
        assert tree.describe()["n_attributes"] == 0
    assert max(full) <= 1.05 * min(full)


def test_readers_see_each_change_whole_while_writers_write():
    """Each rule of a pair says the opposite of the other; a change replaces a pair, so one of each is always true."""
    tree = LiveTree()
    n_pairs, n_changes = 8, scaled(150, 15)
    pairs = [tree.insert([(f"a > {pair}", 0.0), (f"a <= {pair}", 0.0)]) for pair in range(n_pairs)]
    stop, faults = threading.Event(), []

    def read():
        rng = np.random.default_rng(threading.get_ident() % 1000)
        while not stop.is_set():
            found = tree.match([{"a": int(value)} for value in rng.integers(0, 60, 3)])
            sizes = np.diff(found.offsets)
            if not (sizes == sizes[0]).all() or sizes[0] not in (n_pairs, n_pairs + 1):
                faults.append(sizes.tolist())

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for change in range(n_changes):
            bound = 10 + change % 50
            pairs.append(tree.insert([(f"a > {bound}", 0.0), (f"a <= {bound}", 0.0)]))
            tree.delete(pairs.pop(0))
        stop.set()
        for reader in readers:
            reader.result()
    assert not faults
    check_live(tree)


def test_a_reader_that_stays_does_not_block_a_writer():
    tree = tree_of(RULES)
    with tree._reading() as replica:
        before = replica.n_rules
        for number in range(4):
            tree.insert([(f"a = {100 + number}", 0.0)])
        assert replica.n_rules == before
    assert len(tree) == len(RULES) + 4
    assert answers_of(tree.match(EVENTS)) == expected_of(tree, EVENTS)


def test_a_copy_answers_also_after_a_change_that_brings_nothing_new():
    tree = tree_of([*RULES, *RULES])
    with tree._reading():
        tree.delete([0])
        tree.delete([1])  # is made to a copy, since the other one is read
    assert answers_of(tree.match(EVENTS)) == expected_of(tree, EVENTS)


def test_a_version_whose_replica_was_changed_is_outdated_and_a_change_that_is_not_used_does_no_harm():
    first = TreeVersion.empty(Schema(), Switches())
    encoded = [encode_rules(Schema(), [(f"a > {number}", 0.0)]) for number in range(4)]
    second = first.changed(Insertion(encoded[0]))
    third = second.changed(Insertion(encoded[1]))
    with pytest.raises(OutdatedError), first.reading():
        pass
    third.changed(Insertion(encoded[2]), Deletion(np.array([0], np.int32)))  # made to the replica of the second
    with pytest.raises(OutdatedError), second.reading():
        pass
    fourth = third.changed(Insertion(encoded[3]))
    with third.reading() as old, fourth.reading() as new:
        assert (old.n_rules, new.n_rules) == (2, 3)
        batch = new.encoder.encode([{"a": 2}, {"a": 4}])
        assert answers_of(new.match(batch)) == [[0, 1], [0, 1, 2]]
        assert new.count(batch).tolist() == [2, 3]
        check_replica(new)
