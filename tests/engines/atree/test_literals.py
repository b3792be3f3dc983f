"""Buckets of intervals against looking at every interval."""

import numpy as np

from ruledex.engines.atree.match import next_event, true_literals
from ruledex.engines.atree.matcher import TreeMatcher
from ruledex.engines.atree.packing import NO_SCOPES
from ruledex.engines.atree.tree import GrowingTree, LiteralIntervals, Switches
from tests.contract.sizes import scaled
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import hold

LARGEST = 2**31 - 2


def drawn_intervals(rng, n_literals, largest):
    """Literals of one to four intervals, disjoint within a literal."""
    rows = []
    for _ in range(n_literals):
        ends = np.unique(rng.integers(0, largest, 2 * rng.integers(1, 5)))
        rows.append(np.repeat(ends[:1], 2).reshape(1, 2) if len(ends) % 2 else ends.reshape(-1, 2))
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    flat = np.concatenate(rows).astype(np.int32)
    return LiteralIntervals(offsets, flat[:, 0].copy(), flat[:, 1].copy())


def found(tree, cells):
    matcher = TreeMatcher(tree.index(), 0, 0, False, NO_SCOPES)
    scratch = matcher._scratch().match
    cells = np.array(sorted({*cells}), np.int32)
    n_found = true_literals(matcher.index, scratch, next_event(scratch), cells)
    return sorted(scratch.queue[:n_found].tolist())


def expected(nodes, intervals, cells):
    return sorted(
        node
        for node, first, last in zip(nodes, intervals.offsets, intervals.offsets[1:], strict=False)
        if any(
            low <= cell <= high
            for cell in cells
            for low, high in zip(intervals.low[first:last], intervals.high[first:last], strict=True)
        )
    )


def test_the_literals_of_cells_are_found_whatever_their_intervals():
    for seed, largest in enumerate((8, 300, LARGEST)):
        rng = np.random.default_rng(seed)
        intervals = drawn_intervals(rng, scaled(300, 30), largest)
        tree = GrowingTree(Switches())
        nodes = tree.add_literals(intervals).tolist()
        hold(tree, np.array(nodes, np.int32))
        check_tree(tree, nodes)
        for _ in range(20):
            cells = [
                *rng.integers(0, largest, 2).tolist(),
                int(rng.choice(intervals.low)),
                int(rng.choice(intervals.high)),
            ]
            assert found(tree, cells) == expected(nodes, intervals, cells)


def test_moved_literals_are_found_where_they_are_now():
    rng = np.random.default_rng(3)
    before, after = (drawn_intervals(rng, scaled(200, 20), 500) for _ in range(2))
    tree = GrowingTree(Switches())
    nodes = tree.add_literals(before)
    hold(tree, nodes)
    tree.move_literals(nodes, after)
    check_tree(tree, nodes.tolist())
    for cell in range(0, 500, 7):
        assert found(tree, [cell]) == expected(nodes.tolist(), after, [cell])


def test_a_negative_literal_is_true_with_its_presence_and_without_its_positive_one():
    tree = GrowingTree(Switches())
    (positive,) = tree.add_literals(LiteralIntervals(*(np.array(a, np.int32) for a in ([0, 1], [5], [9])))).tolist()
    presence = LiteralIntervals(*(np.array(a, np.int32) for a in ([0, 1], [2], [2])))
    (negative,) = tree.add_literals(presence, np.array([positive], np.int32)).tolist()
    assert found(tree, [2]) == [negative]
    assert found(tree, [2, 7]) == [positive]
    assert found(tree, [3]) == []
