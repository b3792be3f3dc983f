import numpy as np

from ruledex.engines.access import order_children


def test_each_node_s_children_are_sorted_and_ties_keep_their_order():
    offsets = np.array([0, 3, 3, 7])
    children = np.array([0, 1, 2, 0, 1, 2, 3], np.int32)
    probability = np.array([0.5, 0.1, 0.5, 0.0])
    out = np.zeros(7, np.int32)
    order_children(offsets, children, probability, out)
    assert out.tolist() == [1, 0, 2, 3, 1, 0, 2]
