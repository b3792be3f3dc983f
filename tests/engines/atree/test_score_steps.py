import numpy as np

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import FALSE_BY, LEAF, STEP_BITS
from ruledex.engines.atree.score_steps import (
    copy_intervals,
    copy_steps,
    count_root_steps,
    rename_literals,
    write_steps,
)
from tests.engines.atree.sets import literals

AND, OR = 0, 1
# Node 3 is 0 OR 1, node 4 is 2 AND node 3.
PROGRAM = 3, *(read_only(np.array(column, kind)) for column, kind in (
    ([OR, AND], np.uint8), ([0, 2, 4], np.int32), ([0, 1, 2, 3], np.int32),
))  # fmt: skip


def step(operation, number):
    return number << STEP_BITS | operation


def test_a_rule_without_a_program_gets_that_of_its_root():
    root = read_only(np.array([4, 1, -1], np.int32))
    stacks, lengths = np.empty((2, 4), np.int32), np.array([0, 2, 0])
    count_root_steps(*PROGRAM, root, stacks, lengths)
    assert lengths.tolist() == [5, 2, 0]
    given = read_only(np.array([step(LEAF, 0), step(LEAF, 2)], np.int32))
    offsets, out = np.array([0, 5, 7, 7]), np.empty(7, np.int32)
    write_steps(*PROGRAM, root, stacks, read_only(np.array([0, 0, 2, 2], np.int32)), given, offsets, out)
    expected = [step(LEAF, 2), step(LEAF, 0), step(LEAF, 1), step(OR, 2), step(AND, 2)]
    assert out.tolist() == [*expected, *given.tolist()]


def test_literals_are_renamed_and_other_steps_are_not():
    code = read_only(np.array([step(LEAF, 1), step(AND, 1), step(FALSE_BY, 0)], np.int32))
    out = np.empty(3, np.int32)
    rename_literals(code, read_only(np.array([7, 9], np.int32)), out)
    assert out.tolist() == [step(LEAF, 9), step(AND, 1), step(FALSE_BY, 7)]


def test_programs_and_intervals_are_copied_one_behind_the_other():
    heap, out = np.arange(20, dtype=np.int32), np.empty(5, np.int32)
    copy_steps(heap, np.array([3, 10], np.int32), read_only(np.array([1, 0], np.int32)), np.array([0, 2, 5]), out)
    assert out.tolist() == [10, 11, 3, 4, 5]
    tree = literals(4)
    low, high = np.empty(2, np.int32), np.empty(2, np.int32)
    some = read_only(np.array([3, 1], np.int32))
    copy_intervals(tree.arrays.nodes, tree.arrays.heap, some, np.array([0, 1, 2], np.int32), low, high)
    assert (low.tolist(), high.tolist()) == ([3, 1], [3, 1])
