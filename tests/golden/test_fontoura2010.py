"""The worked examples of fontoura2010: Figures 2 to 6, Table 1 and the walk-through of Section 3.3.

The figures' drawings are not in the text; their trees and labels are, in words, and are taken from there.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest

from ruledex.engines.labelled.dewey import DeweyStack, evaluate_expression, label_leaves
from ruledex.engines.labelled.interval import label, match_intervals
from tests.program.trees import broken_invariants, holds, leaves_of, trees_of

# Figures 2 and 5: (A AND B) OR C OR (D AND E AND F), below an artificial AND for the Dewey IDs.
TREE = ("or", ("and", "A", "B"), "C", ("and", "D", "E", "F"))
NAMES = "ABCDEF"
SUBSETS = [set(chosen) for n in range(1, 7) for chosen in combinations(NAMES, n)]
M = 10


def dewey_labels(tree):
    trees = trees_of(tree)
    n_leaves = len(leaves_of(tree))
    leaves, lengths, labels = np.zeros(n_leaves, np.int32), np.zeros(n_leaves, np.int32), np.zeros(100, np.uint8)
    n_bytes = label_leaves(trees, 1, np.zeros((3, 10), np.int64), leaves, lengths, labels)
    return np.cumsum([0, *lengths]).astype(np.int32), labels[:n_bytes]


def text_of(components):
    """The paper's way to write an ID; each component here is one byte."""
    return ".".join(f"{int(c) >> 1}{'*' if c & 1 else ''}" for c in components)


def new_stack():
    return DeweyStack(np.zeros(9, np.int64), np.zeros(9, np.uint8), np.zeros(9, np.int64), np.zeros(9, np.uint8))


def evaluate_all(offsets, labels, leaves, stack):
    one_expression = np.zeros(len(NAMES), np.int32)
    found, n_read = evaluate_expression(
        one_expression, offsets, labels, np.array(leaves, np.int32), 0, len(leaves), *stack
    )
    assert n_read == len(leaves)
    return found


def is_true_by_dewey(tree, true):
    offsets, labels = dewey_labels(tree)
    leaves = [place for place, name in enumerate(leaves_of(tree)) if name in true]
    return evaluate_all(offsets, labels, leaves, new_stack())


def labelled(tree, m):
    """The interval of each leaf by its name."""
    trees = trees_of(tree)
    n_nodes = len(trees.kind)
    left_leaves, begin, end = np.zeros((3, n_nodes), np.int32)
    label(trees, 0, m, left_leaves, begin, end)
    places = np.flatnonzero(trees.kind == 2)
    return {name: (int(begin[place]), int(end[place])) for name, place in zip(leaves_of(tree), places, strict=True)}


def matched_by(intervals, true, m=M):
    """The array `matched` after MATCH on the intervals of some leaves, in the order of where they begin."""
    begin, end = np.array(sorted(intervals[name] for name in true), np.int32).reshape(-1, 2).T.copy()
    leaves = np.arange(len(begin), dtype=np.int32)
    matched, expressions, true_offsets = np.zeros(m + 2, np.int64), np.zeros(1, np.int32), np.zeros(2, np.int64)
    match_intervals(
        np.zeros(len(begin), np.int32),
        np.array([0, m], np.int32),
        begin,
        end,
        matched,
        np.array([0, len(leaves)]),
        leaves,
        1,
        true_offsets,
        expressions,
    )
    assert true_offsets.tolist() == [0, matched[m]]
    return matched[: m + 1].tolist()


def test_figure_2_dewey_ids():
    offsets, labels = dewey_labels(TREE)
    ids = [text_of(labels[first:last]) for first, last in pairwise(offsets)]
    assert dict(zip(NAMES, ids, strict=True)) == {
        "A": "1*.1.1",
        "B": "1*.1.2*",
        "C": "1*.2",
        "D": "1*.3.1",
        "E": "1*.3.2",
        "F": "1*.3.3*",
    }


def test_section_3_3_an_and_without_its_last_child_is_false_and_the_expression_true():
    offsets, labels = dewey_labels(TREE)
    stack = new_stack()
    # After 1*.1.1 alone, EVALUATEAND at 1*.1 has met no marked child, and so is false.
    assert not evaluate_all(offsets, labels, [0], stack)
    assert (stack.result[2], stack.last_explored[2], stack.last_child[2]) == (1, 1, 0)
    assert evaluate_all(offsets, labels, [0, 3, 4, 5], stack)
    assert (stack.result[2], stack.last_explored[2], stack.last_child[2]) == (1, 3, 1)
    assert [stack.result[1], stack.result[0], stack.last_child[0]] == [1, 1, 1]


def test_section_3_2_a_skipped_child_makes_an_and_false():
    offsets, labels = dewey_labels(TREE)
    stack = new_stack()
    assert not evaluate_all(offsets, labels, [3, 5], stack)
    assert (stack.result[2], stack.last_child[2]) == (0, 1)


@pytest.mark.parametrize("true", SUBSETS, ids=lambda true: "".join(sorted(true)))
def test_dewey_evaluation_of_figure_2_on_all_leaves(true):
    assert is_true_by_dewey(TREE, true) == holds(TREE, true)


def test_figure_3_children_of_an_or_have_its_interval():
    assert labelled(("or", "A", "B"), M) == {"A": (1, M), "B": (1, M)}


def test_figure_4_children_of_an_and_cut_its_interval():
    assert labelled(("and", "A", "B"), M) == {"A": (1, 1), "B": (2, M)}


def test_figure_5_intervals():
    intervals = labelled(TREE, M)
    assert intervals == {"A": (1, 1), "B": (2, 10), "C": (1, 10), "D": (1, 4), "E": (5, 5), "F": (6, 10)}
    assert broken_invariants(TREE, intervals) == set()


def test_table_1_the_matched_array_step_by_step():
    intervals = labelled(TREE, M)
    assert [matched_by(intervals, "ADEF"[:n]) for n in range(1, 5)] == [
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1],
    ]


def test_section_4_1_intervals_that_overlap_do_not_cover():
    # B and D together reach from 1 to 10, and overlap.
    assert matched_by(labelled(TREE, M), "BD")[M] == 0


@pytest.mark.parametrize("true", SUBSETS, ids=lambda true: "".join(sorted(true)))
def test_interval_evaluation_of_figure_5_on_all_leaves(true):
    assert matched_by(labelled(TREE, M), true)[M] == holds(TREE, true)
    assert matched_by(labelled(TREE, len(NAMES)), true, len(NAMES))[len(NAMES)] == holds(TREE, true)


def test_figure_6_the_invalid_labelling_is_refused():
    # B and E are no first children of an AND, and begin at the same place: Invariant 3 forbids it.
    invalid = {"A": (1, 4), "B": (5, 10), "C": (1, 10), "D": (1, 4), "E": (5, 5), "F": (6, 10)}
    assert broken_invariants(TREE, invalid) == {3}
    assert matched_by(invalid, "BD")[M] == 1
    assert not holds(TREE, "BD")
    valid = labelled(TREE, M)
    assert valid["B"][0] != valid["E"][0]
    assert matched_by(valid, "BD")[M] == 0


def test_theorem_3_what_is_no_first_child_begins_behind_the_leaves_to_its_left():
    tree = ("and", ("or", "A", ("and", "B", "C")), "D", ("or", "E", ("and", "F", ("or", "G", "H"), "I"), "J"))
    intervals = labelled(tree, 30)
    left_leaves = {name: place for place, name in enumerate("ABCDEFGHIJ")}
    assert broken_invariants(tree, intervals) == set()
    for name in "CDEGI":
        assert intervals[name][0] == left_leaves[name] + 1
