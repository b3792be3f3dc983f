import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex.compiled.constants import AND, OR
from ruledex.program import sharing
from ruledex.program.sharing import InnerNodes, in_ranges, share_parts

N_LITERALS = 6


def inner_nodes(*nodes, levels=None):
    """Nodes as (operation, children); all on one level unless the number on each is given."""
    sizes = [len(children) for _, children in nodes]
    return InnerNodes(
        np.array([operation for operation, _ in nodes], np.uint8),
        np.cumsum([0, *sizes]).astype(np.int32),
        np.array([child for _, children in nodes for child in sorted(children)], np.int32),
        (N_LITERALS + np.cumsum([0, *(levels or [len(nodes)])])).astype(np.int32),
    )


def lists(inner):
    return [
        (int(inner.node_op[i]), inner.children[inner.child_offsets[i] : inner.child_offsets[i + 1]].tolist())
        for i in range(len(inner.node_op))
    ]


def shared(*nodes, levels=None):
    inner, number = share_parts(inner_nodes(*nodes, levels=levels), N_LITERALS)
    return lists(inner), number.tolist(), inner.level_offsets.tolist()


def literals_below(nodes, node, operation):
    """What a node means: its children, those of its own operation replaced by theirs, each as often as it is met."""
    if node < N_LITERALS:
        return [node]
    own, children = nodes[node - N_LITERALS]
    if own != operation:
        return [(own, tuple(sorted(literals_below(nodes, node, own), key=repr)))]
    return [below for child in children for below in literals_below(nodes, child, operation)]


def meaning(nodes, node):
    operation = nodes[node - N_LITERALS][0]
    return operation, tuple(sorted(literals_below(nodes, node, operation), key=repr))


def test_a_node_takes_another_in_place_of_the_children_that_both_have():
    nodes, number, levels = shared((AND, [0, 1, 2]), (AND, [1, 2]))
    assert nodes == [(AND, [1, 2]), (AND, [0, 6])]
    assert number == [1, 0]
    assert levels == [6, 7, 8]


def test_a_node_of_the_other_operation_is_no_part():
    nodes, number, levels = shared((AND, [0, 1, 2]), (OR, [1, 2]))
    assert nodes == [(AND, [0, 1, 2]), (OR, [1, 2])]
    assert number == [0, 1]
    assert levels == [6, 8]


def test_the_largest_part_is_taken_and_no_child_covered_twice():
    nodes, number, _ = shared((OR, [0, 1, 2, 3, 4]), (OR, [0, 1]), (OR, [1, 2, 3]), (OR, [0, 4]))
    whole = nodes[number[0]][1]
    assert sorted(whole) == sorted(6 + number[part] for part in (2, 3))


def test_a_part_may_itself_have_parts():
    nodes, number, levels = shared((AND, [0, 1, 2, 3]), (AND, [0, 1, 2]), (AND, [0, 1]))
    assert nodes == [(AND, [0, 1]), (AND, [2, 6]), (AND, [3, 7])]
    assert number == [2, 1, 0]
    assert levels == [6, 7, 8, 9]


def test_no_nodes_stay_no_nodes():
    assert shared() == ([], [], [6])


@st.composite
def programs(draw):
    """Distinct nodes on two levels, the upper over literals and nodes of the lower with the other operation."""
    chosen = st.tuples(st.sampled_from([AND, OR]), st.sets(st.integers(0, N_LITERALS - 1), min_size=2))
    lower = draw(st.lists(chosen, max_size=12, unique_by=lambda node: (node[0], frozenset(node[1]))))
    upper = []
    for _ in range(draw(st.integers(0, 12))):
        operation = draw(st.sampled_from([AND, OR]))
        below = [N_LITERALS + i for i, (other, _) in enumerate(lower) if other != operation]
        if below:
            some = draw(st.sets(st.sampled_from(below), min_size=1))
            more = draw(st.sets(st.integers(0, N_LITERALS - 1), min_size=1))
            if (operation, some | more) not in upper:
                upper.append((operation, some | more))
    return [*lower, *upper], [len(lower), len(upper)]


@given(programs())
def test_nodes_mean_what_they_meant_and_come_behind_their_children(program):
    nodes, levels = program
    before = lists(inner_nodes(*nodes, levels=levels))
    after, number, offsets = shared(*nodes, levels=levels)
    assert sum(len(children) for _, children in after) <= sum(len(children) for _, children in before)
    assert sorted(number) == list(range(len(nodes)))
    level_of = {N_LITERALS + i: int(np.searchsorted(offsets, N_LITERALS + i, "right")) for i in range(len(nodes))}
    for old, new in enumerate(number):
        assert meaning(after, N_LITERALS + new) == meaning(before, N_LITERALS + old)
        below = [level_of.get(child, 0) for child in after[new][1]]
        assert level_of[N_LITERALS + new] == 1 + max(below)
        assert after[new][1] == sorted(set(after[new][1]))


# Loops by several threads.

SIZES = ([], [0], [5], [1] * 40, [30, 1, 1, 1, 1, 1, 1], [0, 0, 0, 40], [40, 0, 0, 0], [10, 20, 0, 7, 3])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("n_cores", [1, 2, 3, 50])
def test_each_list_is_in_one_range(monkeypatch, sizes, n_cores):
    monkeypatch.setattr(sharing, "FEWEST_PER_THREAD", 10)
    monkeypatch.setattr(sharing, "n_cores", lambda: n_cores)
    done, lock = np.zeros(len(sizes), int), threading.Lock()

    def run(first, last):
        with lock:
            done[first:last] += 1

    in_ranges(run, 7 + np.cumsum([0, *sizes]))
    assert done.tolist() == [1] * len(sizes)


def test_what_a_range_raises_is_raised(monkeypatch):
    monkeypatch.setattr(sharing, "FEWEST_PER_THREAD", 1)
    monkeypatch.setattr(sharing, "n_cores", lambda: 2)

    def run(first, last):
        if last == 10:
            raise ValueError("a range")

    with pytest.raises(ValueError, match="a range"):
        in_ranges(run, np.arange(11))
