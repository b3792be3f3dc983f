import numpy as np

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import AND, FALSE_BY, LEAF, STEP_BITS
from ruledex.engines.atree.scores import copy_intervals, copy_steps, rename_literals
from tests.engines.atree.sets import literals


def step(operation, number):
    return number << STEP_BITS | operation


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
