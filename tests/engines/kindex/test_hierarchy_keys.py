import numpy as np
import pytest

from ruledex.engines.kindex.hierarchy import ARITY, LEVEL_BITS, Hierarchy, write_interval_keys


def hierarchy_of(sizes):
    n_nodes = []
    for size in sizes:
        levels = [size]
        while levels[-1] > 1:
            levels.append(((levels[-1] - 1) >> LEVEL_BITS) + 1)
        n_nodes.append(sum(levels))
    return Hierarchy(np.cumsum([0, *sizes]).astype(np.int32), np.cumsum([0, *n_nodes]).astype(np.int32))


def keys_of(hierarchy, intervals):
    offsets = np.array([0, len(intervals)], np.int64)
    low, high = (np.array([pair[side] for pair in intervals], np.int32) for side in (0, 1))
    key_offsets = np.zeros(2, np.int64)
    n_keys = write_interval_keys(hierarchy, offsets, low, high, key_offsets, np.zeros(0, np.int32))
    keys = np.zeros(n_keys, np.int32)
    assert write_interval_keys(hierarchy, offsets, low, high, key_offsets, keys) == n_keys == key_offsets[1]
    return keys.tolist()


def nodes_above(hierarchy, cell):
    """The nodes of a cell, from the cell itself to the top of its tree."""
    domain = int(np.searchsorted(hierarchy.domain_offsets, cell, side="right")) - 1
    begin, end = hierarchy.domain_offsets[domain : domain + 2].tolist()
    node, within, size = int(hierarchy.domain_nodes[domain]), cell - begin, end - begin
    nodes = [node + within]
    while size > 1:
        node, within, size = node + size, within >> LEVEL_BITS, ((size - 1) >> LEVEL_BITS) + 1
        nodes.append(node + within)
    return nodes


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_each_cell_of_an_interval_has_one_key_above_it_and_no_other_cell_has_any(size):
    hierarchy = hierarchy_of([4, size, 3])
    for low in range(4, 4 + size):
        for high in range(low, 4 + size):
            keys = keys_of(hierarchy, [(low, high)])
            assert len(set(keys)) == len(keys)
            for cell in range(4 + size + 3):
                assert len({*keys} & {*nodes_above(hierarchy, cell)}) == (low <= cell <= high)


def test_a_single_cell_is_its_own_key():
    hierarchy = hierarchy_of([5, 7])
    assert [keys_of(hierarchy, [(cell, cell)]) for cell in (0, 4, 5, 11)] == [
        nodes_above(hierarchy, cell)[:1] for cell in (0, 4, 5, 11)
    ]


def test_a_whole_domain_is_one_key():
    hierarchy = hierarchy_of([1, 11])
    assert keys_of(hierarchy, [(1, 11)]) == nodes_above(hierarchy, 1)[-1:]


def test_a_wide_range_costs_a_logarithm():
    n_cells = 100_000
    hierarchy = hierarchy_of([n_cells])
    n_levels = len(nodes_above(hierarchy, 0))
    widest = max(len(keys_of(hierarchy, [(low, n_cells - 1 - low)])) for low in (1, 3, 777, 12_345))
    assert widest <= 2 * (ARITY - 1) * n_levels <= 60


def test_intervals_of_several_domains_are_one_set():
    hierarchy = hierarchy_of([4, 4])
    assert keys_of(hierarchy, [(0, 0), (2, 2), (4, 7)]) == [0, 2, nodes_above(hierarchy, 4)[-1]]
