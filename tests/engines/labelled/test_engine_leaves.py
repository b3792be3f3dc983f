import numpy as np

from ruledex.engines.labelled.engine import BLOCK_BITS, gather_leaves, write_rules
from ruledex.engines.labelled.interval import IntervalEngine
from ruledex.engines.protocol import Statistics
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled

A, B, C = (("in", (cell, cell)) for cell in range(1, 4))
ALL_ALIVE = np.zeros(0, np.uint8)


def gathered(engine, batch, first_event, room):
    """The event that comes next, and the true leaves of each event before it."""
    n_leaves, n_conjunctions = len(engine.annotations.conjunction_of), engine.conjunctions.n_conjunctions
    marks = np.zeros((n_leaves >> 6) + 1, np.uint64), np.zeros((n_leaves >> BLOCK_BITS) + 1, np.uint8)
    leaf_offsets, leaves = np.zeros(batch.n_events + 1, np.int64), np.zeros(room, np.int32)
    true = np.zeros((n_conjunctions >> 6) + 1, np.uint64)
    after = gather_leaves(
        tuple(engine.conjunctions.index),
        tuple(engine.conjunctions.new_scratch(batch)),
        tuple(engine.annotations),
        marks,
        np.zeros(n_conjunctions, np.int32),
        true,
        np.zeros(n_leaves, np.int32),
        batch.offsets,
        batch.cells,
        first_event,
        leaf_offsets,
        leaves,
    )
    assert not marks[0].any()
    assert not marks[1].any()
    assert not true.any()
    return after, [leaves[leaf_offsets[i] : leaf_offsets[i + 1]].tolist() for i in range(after - first_event)]


def test_leaves_ascend_over_all_expressions():
    n_rules = scaled(5000, 200)
    trees = [("or", ("and", B, ("in", (4 + i, 4 + i))), A, C) for i in range(n_rules)]
    program = make_program([n_rules + 3], [(tree, 0.0, None) for tree in trees])
    engine = IntervalEngine.build(program)
    after, (of_a, of_nothing, of_both) = gathered(engine, make_batch(program, [{1}, set(), {1, 3}]), 0, 10 * n_rules)
    assert after == 3
    assert len(of_a) == n_rules
    assert of_nothing == []
    assert len(of_both) == 2 * n_rules
    assert of_both == sorted(set(of_both))
    assert set(of_a) < set(of_both)
    assert engine.annotations.expression_of[of_a].tolist() == list(range(n_rules))


def test_events_are_taken_as_long_as_all_leaves_would_fit():
    program = make_program([3], [(("or", A, ("and", B, C)), 0.0, None), (A, 0.0, None)])
    engine = IntervalEngine.build(program)
    batch = make_batch(program, [{1}, {2}, {2, 3}, {1, 2, 3}])
    n_leaves = len(engine.annotations.annotations)
    assert n_leaves == 3
    after, found = gathered(engine, batch, 0, n_leaves)
    assert after == 1
    assert len(found[0]) == 2
    after, found = gathered(engine, batch, 1, n_leaves + 1)
    assert (after, [len(leaves) for leaves in found]) == (4, [0, 1, 3])


def test_an_expression_is_found_through_its_rarest_part_with_all_its_true_leaves():
    tree = ("and", ("or", A, B), ("or", C, ("in", (4, 4)), ("in", (5, 5))))
    program = make_program([5], [(tree, 0.0, None), (("or", A, C), 0.0, None)])
    frequency = np.array([1.0, 0.1, 0.1, 0.9, 0.9, 0.9])
    engine = IntervalEngine.build(program, Statistics(frequency))
    assert engine.annotations.is_tested.tolist() == [1, 0]
    batch = make_batch(program, [{3, 4}, {2}, {1, 3, 5}])
    _, found = gathered(engine, batch, 0, 100)
    expressions = [engine.annotations.expression_of[leaves].tolist() for leaves in found]
    assert expressions == [[1], [0], [0, 0, 0, 1, 1]]


def test_rules_of_expressions_ascend_and_the_dead_are_left_out():
    rule_offsets, rules = np.array([0, 2, 3, 5], np.int32), np.array([1, 6, 0, 2, 4], np.int32)
    true_offsets, true = np.array([0, 2, 2, 3]), np.array([0, 2, 1], np.int32)

    def written(alive):
        offsets, out, marks = np.array([9, 0, 0, 0]), np.zeros(5, np.int32), np.zeros(1, np.uint64)
        n_written = write_rules(rule_offsets, rules, marks, alive, true_offsets, true, 3, offsets, out)
        assert not marks.any()
        return offsets.tolist(), out[:n_written].tolist()

    assert written(ALL_ALIVE) == ([9, 13, 13, 14], [1, 2, 4, 6, 0])
    assert written(np.array([0, 1, 1, 1, 0, 1, 1], np.uint8)) == ([9, 12, 12, 12], [1, 2, 6])
