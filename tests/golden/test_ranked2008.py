"""ranked-pubsub2008: the ten intervals of Figures 2 to 5, and Examples 1 to 5.

The text that there is has no pictures. Interval 9 is given in Example 2, intervals 3, 6 and 7 by the blocks of Example
5, 1 by Examples 4 and 5, the left ends of 4 and 10 by Examples 5 and 1; the other ends are chosen so that all that the
text says of them is true. Neighbours do not share their common end in the examples, so intervals are [left, right).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from ruledex.ranked.index import STRUCTURES
from ruledex.ranked.interval_tree import NO_NODE, ScoredIntervalTree
from ruledex.ranked.intervals import closed_intervals, entries_of
from ruledex.ranked.irtree import IRTree
from ruledex.ranked.rtree import ScoredRTree
from ruledex.ranked.segment_tree import ScoredSegmentTree
from ruledex.ranked.sopt_rtree import SOPTRTree, arrangement, edges_between

INTERVALS = {
    1: (30, 55),
    2: (65, 100),
    3: (45, 55),
    4: (65, 90),
    5: (0, 30),
    6: (0, 30),
    7: (75, 100),
    8: (75, 90),
    9: (10, 45),
    10: (10, 100),
}
LEFT, RIGHT = np.array(list(INTERVALS.values())).T
SCORE = -np.arange(1, 11)  # interval 1 has the best score, and so on


def build(structure, **options):
    return structure.build(LEFT, RIGHT, SCORE, right_open=True, **options)


def named(ids):
    """The figures count from 1."""
    return [int(identity) + 1 for identity in ids]


def edges(names):
    ends = np.array([INTERVALS[name] for name in names], float)
    ends[:, 1] = np.nextafter(ends[:, 1], 0)
    found = edges_between(ends.reshape(-1))
    names = list(names)
    return {(names[s], names[t]) for s, t in zip(found.sources.tolist(), found.targets.tolist(), strict=True)}


def test_there_are_nine_distinct_end_points():
    assert sorted({*LEFT.tolist(), *RIGHT.tolist()}) == [0, 10, 30, 45, 55, 65, 75, 90, 100]


def test_example_1_partitions_the_intervals_at_the_root_and_at_its_children():
    index = build(ScoredIntervalTree, most_unsplit=1).index

    def of_node(node):
        return set(named(index.ids[index.list_offsets[node] : index.list_offsets[node + 1]]))

    root = index.roots[0]
    assert of_node(root) == {1, 3, 10}
    assert of_node(index.left[root]) == {5, 6, 9}
    assert of_node(index.right[root]) == {2, 4, 7, 8}
    assert len(index.pivot) == 3
    assert all(
        side[child] == NO_NODE for side in (index.left, index.right) for child in (index.left[root], index.right[root])
    )
    assert set(named(i for i, _ in build(ScoredIntervalTree).stab(50))) == {1, 3, 10}


def test_example_2_stores_interval_9_in_two_nodes_of_four_levels():
    tree = build(ScoredSegmentTree)
    index = tree.index
    assert index.cuts.tolist() == [0, 10, 30, 45, 55, 65, 75, 90, 100]
    assert tree.width(is_point=True) == 5  # one more than the levels, for a heap's numbering
    lists = [
        named(index.ids[first:last])
        for first, last in zip(index.list_offsets[:-1], index.list_offsets[1:], strict=True)
    ]
    n_leaves = len(lists) // 2
    assert n_leaves == 8
    # The leaves of [10, 30) and [30, 45) are the second and the third.
    assert [node for node, held in enumerate(lists) if 9 in held] == [n_leaves + 1, n_leaves + 2]


@pytest.mark.parametrize("query", [76, 82.5, 89])
def test_example_2_finds_what_holds_a_point_between_75_and_90(query):
    for structure in STRUCTURES.values():
        assert named(i for i, _ in build(structure).stab(query)) == [2, 4, 7, 8, 10]


def test_example_3_has_leaves_of_at_most_four_and_a_root_of_their_bounds():
    index = build(ScoredRTree, branching=4).index
    assert index.level_starts.tolist() == [0, 3]
    extents = index.extents.reshape(-1, 2)
    assert extents[:, 0].tolist() == [30, 0, 10]
    assert extents[:, 1].tolist() == np.nextafter([100, 100, 100], 0).tolist()
    # Every node needs to be visited for 35, though two of the three hold an interval that has it.
    assert ((extents[:, 0] <= 35) & (extents[:, 1] >= 35)).all()
    assert named(i for i, _ in build(ScoredRTree, branching=4).stab(35)) == [1, 9, 10]


def test_figure_4_visits_every_node_of_the_scored_r_tree_for_90():
    extents = build(ScoredRTree, branching=4).index.extents.reshape(-1, 2)
    assert ((extents[:, 0] <= 90) & (extents[:, 1] >= 90)).all()


def test_example_4_has_the_edges_1_3_and_1_9_and_a_way_from_1_to_10():
    found = edges(INTERVALS)
    assert {edge for edge in found if edge[0] == 1} == {(1, 3), (1, 9)}
    assert (3, 10) in found
    assert len(found) <= 3 * len(INTERVALS)


def test_figure_5_arranges_the_intervals_from_the_left_as_far_as_scores_allow():
    entries = entries_of(closed_intervals(LEFT, RIGHT, SCORE, right_open=True))
    assert named(entries.ids[arrangement(entries.ends)]) == [5, 6, 1, 9, 3, 2, 4, 7, 8, 10]
    assert named(build(SOPTRTree).index.ids) == [5, 6, 1, 9, 3, 2, 4, 7, 8, 10]


def blocks_seen_by(names):
    """The visible blocks of a set of intervals, by an interval more that meets exactly one of them at a time."""
    cuts = [0, 10, 30, 45, 55, 65, 75, 90, 100]
    seen = []
    for low, high in pairwise(cuts):
        INTERVALS[11] = (low, high)
        (source,) = {s for s, t in edges([*names, 11]) if t == 11} or {None}
        del INTERVALS[11]
        if seen and seen[-1][2] == source:
            low = seen.pop()[0]
        seen.append((low, high, source))
    return seen


def test_example_5_sees_the_blocks_of_intervals_1_to_7():
    assert blocks_seen_by(range(1, 8)) == [
        (0, 30, 6),
        (30, 45, 1),
        (45, 55, 3),
        (55, 65, None),
        (65, 75, 4),
        (75, 100, 7),
    ]


def test_example_5_interval_10_hides_the_end_at_30():
    assert (30 in {low for low, _, _ in blocks_seen_by(range(1, 9))}) is True
    assert (30 in {low for low, _, _ in blocks_seen_by(range(1, 11))}) is False


def test_section_3_1_indexes_each_nodes_intervals_with_an_r_tree():
    index = build(IRTree, branching=2).index
    nodes = {}
    for node in range(len(index.pivot)):
        chunks = range(index.first_chunk[node], index.first_chunk[node] + index.n_chunks[node])
        nodes[node] = [
            named(index.ids[index.chunk_start[c] : index.chunk_start[c] + index.chunk_count[c]]) for c in chunks
        ]
    root = index.roots[0]
    assert nodes[root] == [[1, 3], [10]]
    assert nodes[index.left[root]] == [[5, 6], [9]]
    assert nodes[index.right[root]] == [[2, 4], [7, 8]]
