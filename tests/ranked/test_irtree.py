from itertools import chain

import numpy as np
import pytest

from ruledex.errors import RuledexError
from ruledex.ranked.interval_tree import NO_NODE
from ruledex.ranked.irtree import IRTree
from ruledex.ranked.irtree_kernels import CHUNKS, ENTRIES, NODES
from tests.contract.sizes import scaled

from .reference import drawn, pairs, queries, stabbed


def nodes_below(index, root):
    found = []
    waiting = [int(root)] if root != NO_NODE else []
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += [int(child) for child in (index.left[node], index.right[node]) if child != NO_NODE]
    return found


def chunks_of(index, node):
    return range(index.first_chunk[node], index.first_chunk[node] + index.n_chunks[node])


def entries_of(index, chunk):
    return range(index.chunk_start[chunk], index.chunk_start[chunk] + index.chunk_count[chunk])


def levels_of(index, node):
    """The extents of a node from its chunks up, each level's with the entries below."""
    branching = int(index.branching[0])
    extents = [tuple(index.chunk_ends[2 * chunk : 2 * chunk + 2]) for chunk in chunks_of(index, node)]
    below = [list(entries_of(index, chunk)) for chunk in chunks_of(index, node)]
    yield list(zip(extents, below, strict=True))
    start = int(index.first_upper[node])
    while len(below) > branching:
        groups = range(0, len(below), branching)
        below = [list(chain(*below[group : group + branching])) for group in groups]
        ends = index.upper[2 * start : 2 * (start + len(below))].reshape(-1, 2)
        yield list(zip(map(tuple, ends), below, strict=True))
        start += len(below)


def assert_sound(tree):
    """All that must hold of the arrays, whatever was inserted and removed."""
    index = tree.index
    branching = int(index.branching[0])
    for node in nodes_below(index, index.roots[0]):
        entries = [entry for chunk in chunks_of(index, node) for entry in entries_of(index, chunk)]
        ranks = [(-index.score[index.ids[entry]], index.ids[entry]) for entry in entries]
        assert ranks == sorted(ranks)
        assert all(
            1 <= index.chunk_count[chunk] <= min(branching, index.chunk_capacity[chunk])
            for chunk in chunks_of(index, node)
        )
        children = [child for child in (index.left[node], index.right[node]) if child != NO_NODE]
        assert index.size[node] == len(entries) + sum(index.size[child] for child in children)
        if np.isnan(index.pivot[node]):
            assert index.n_chunks[node] <= 1
            assert not children
        else:
            ends = index.ends.reshape(-1, 2)[entries]
            assert (ends[:, 0] <= index.pivot[node]).all()
            assert (ends[:, 1] >= index.pivot[node]).all()
        for level in levels_of(index, node):
            for extent, below in level:
                ends = index.ends.reshape(-1, 2)[below]
                assert extent == (ends[:, 0].min(), ends[:, 1].max())


def test_no_extent_of_a_node_with_a_pivot_has_a_hole():
    given = drawn(scaled(3000, 300), seed=3, n_values=50)
    arguments, ends = given.arguments()
    index = IRTree.build(*arguments, **ends, branching=4).index
    n_looked_at = 0
    for node in nodes_below(index, index.roots[0]):
        if np.isnan(index.pivot[node]):
            continue
        for level in levels_of(index, node):
            for (low, high), below in level:
                for query in queries(50):
                    if low <= query <= high:
                        held = index.ends.reshape(-1, 2)[below]
                        assert ((held[:, 0] <= query) & (query <= held[:, 1])).any()
                        n_looked_at += 1
    assert n_looked_at > 100


@pytest.mark.parametrize("branching", [2, 3, 16])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_inserted_removed_and_rescored_is_found_as_if_built_so(branching, seed):
    rng = np.random.default_rng(seed)
    given = drawn(scaled(600, 60), seed, n_scores=40)
    n_first = given.n // 3 * (seed > 0)
    arguments, ends = given.part(0, n_first).arguments()
    tree = IRTree.build(*arguments, **ends, branching=branching)
    removed = set()
    n_known = n_first
    while n_known < given.n:
        n_more = int(rng.integers(1, 30))
        arguments, ends = given.part(n_known, n_known + n_more).arguments()
        ids = tree.insert(*arguments, **ends)
        assert ids.tolist() == list(range(n_known, n_known + len(ids)))
        n_known += len(ids)
        for identity in rng.integers(0, n_known, 8).tolist():
            if identity not in removed:
                if rng.random() < 0.5:
                    tree.remove(identity)
                    removed.add(identity)
                else:
                    given.score[identity] = rng.integers(0, 40) / 2
                    tree.set_score(identity, given.score[identity])
        assert_sound(tree)
        known = given.part(0, n_known)
        for query in rng.choice(queries(), 12).tolist():
            assert list(tree.stab(query)) == stabbed(known, query, removed)
            assert pairs(tree.stab_top(query, 5)) == stabbed(known, query, removed)[:5]
    again = IRTree.from_arrays(tree.arrays())
    tree.compact()
    assert_sound(tree)
    for query in queries():
        assert list(tree.stab(query)) == list(again.stab(query)) == stabbed(given, query, removed)


def test_a_tree_that_grew_in_one_direction_stays_shallow():
    n = scaled(20_000, 400)
    tree = IRTree.build([], [], [], branching=4)
    tree.insert(np.arange(n), np.arange(n), np.zeros(n))
    assert tree.width(is_point=True) < 4 * np.log2(n)
    assert [identity for identity, _ in tree.stab(n // 2)] == [n // 2]
    assert_sound(tree)


def test_a_tree_that_shrank_gives_its_memory_back():
    n = 4000
    tree = IRTree.build(np.zeros(n), np.ones(n), np.arange(n))
    for identity in range(n - 10):
        tree.remove(identity)
    assert tree.index.used[ENTRIES] < n
    assert [identity for identity, _ in tree.stab(1)] == list(range(n - 1, n - 11, -1))


def test_an_interval_that_holds_nothing_keeps_its_id_through_changes():
    tree = IRTree.build([1, 2], [1, 3], [1, 2], left_open=[True, False])
    tree.set_score(0, 7)
    assert pairs(tree.stab_top(2, 5)) == [(1, 2.0)]
    tree.remove(0)
    for known in (tree, IRTree.from_arrays(tree.arrays())):
        with pytest.raises(RuledexError, match="no interval with the id 0"):
            known.remove(0)
    assert tree.insert(0, 9, 1).tolist() == [2]
    assert pairs(tree.stab_top(2, 5)) == [(1, 2.0), (2, 1.0)]


@pytest.mark.parametrize("identity", [-1, 2])
def test_an_unknown_id_is_an_error(identity):
    tree = IRTree.build([1, 2], [1, 3], [1, 2])
    with pytest.raises(RuledexError, match="no interval"):
        tree.set_score(identity, 1)
    with pytest.raises(RuledexError, match="no interval"):
        tree.remove(identity)


def test_a_score_that_is_not_finite_changes_nothing():
    tree = IRTree.build([1], [1], [1])
    with pytest.raises(RuledexError, match="finite"):
        tree.set_score(0, np.inf)
    assert pairs(tree.stab_top(1, 5)) == [(0, 1.0)]


def test_a_change_leaves_the_stored_arrays_as_they_were():
    tree = IRTree.build([1, 2], [5, 6], [1, 2])
    stored = {name: array.copy() for name, array in tree.arrays().items()}
    changed = IRTree.from_arrays(tree.arrays())
    changed.insert(0, 9, 5)
    changed.remove(0)
    for name, array in tree.arrays().items():
        assert np.array_equal(array, stored[name], equal_nan=True)


def test_all_entries_are_in_use_after_a_build():
    given = drawn(500, seed=1)
    arguments, ends = given.arguments()
    tree = IRTree.build(*arguments, **ends)
    index = tree.index
    assert index.used[ENTRIES] == len(index.ids)
    assert index.used[CHUNKS] == len(index.chunk_start)
    assert index.used[NODES] == len(nodes_below(index, index.roots[0]))
