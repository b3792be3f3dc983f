import numpy as np
import pytest

from ruledex.ranked.interval_tree import NO_NODE, select, skeleton_of
from tests.contract.sizes import scaled


def drawn_ends(n, width, seed):
    rng = np.random.default_rng(seed)
    low = rng.integers(0, 1000, n)
    return np.stack([low, low + rng.integers(0, width, n)], axis=1).astype(float)


@pytest.mark.parametrize("most", [1, 4, 40])
@pytest.mark.parametrize("width", [1, 30, 3000])
def test_intervals_hang_on_the_node_whose_pivot_they_hold_and_below_it_they_are_on_its_sides(most, width):
    ends = drawn_ends(scaled(1000, 80), width, most)
    nodes, order, depth = skeleton_of(ends.reshape(-1), most)
    assert sorted(order.tolist()) == list(range(len(ends)))
    below = {}
    for node in range(len(nodes.pivot) - 1, -1, -1):
        own = order[nodes.first[node] : nodes.last[node]].tolist()
        assert own == sorted(own)
        children = {side: getattr(nodes, side)[node] for side in ("left", "right")}
        pivot = nodes.pivot[node]
        if np.isnan(pivot):
            assert len(own) <= most
            assert set(children.values()) == {NO_NODE}
        else:
            assert ((ends[own, 0] <= pivot) & (pivot <= ends[own, 1])).all()
        below[node] = own
        for side, child in children.items():
            if child != NO_NODE:
                assert (
                    (ends[below[child], 1] < pivot).all() if side == "left" else (ends[below[child], 0] > pivot).all()
                )
                below[node] = below[node] + below[child]
    assert len(below[0]) == len(ends)
    assert depth <= np.log2(len(ends)) + 1


def test_without_intervals_there_is_no_node():
    nodes, order, depth = skeleton_of(np.empty(0), 3)
    assert len(nodes.pivot) == len(order) == depth == 0


@pytest.mark.parametrize("n_distinct", [1, 2, 7, 1000])
@pytest.mark.parametrize("n", [1, 2, 3, 50, 501])
def test_what_is_selected_is_what_sorting_puts_there(n, n_distinct):
    values = np.random.default_rng(n).integers(0, n_distinct, n).astype(float)
    for place in {0, n // 2, n - 1}:
        beyond = np.append(values, -1.0)
        assert select(beyond, n, place) == np.sort(values)[place]
        assert np.array_equal(np.sort(beyond[:n]), np.sort(values))
