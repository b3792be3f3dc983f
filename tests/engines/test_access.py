import numpy as np
import pytest

from ruledex.engines.access import (
    MANY_CHILDREN,
    children_by_probability,
    domain_boundaries,
    node_probabilities,
    order_children,
)
from ruledex.engines.protocol import Statistics
from tests.contract.builder import make_program

A, B, HAS_A = ("in", (1, 2)), ("in", (5, 5)), 9
SIZES = [4, 4, 1]


def probability_of(tree, frequencies=None):
    program = make_program(SIZES, [(tree, 0.0, None)])
    statistics = None if frequencies is None else Statistics(np.array(frequencies, np.float64))
    return node_probabilities(program, statistics)[program.root[0]]


def test_statistics_add_up_over_a_literal_s_cells():
    assert probability_of(A, [1, 0.1, 0.2, 0, 0, 0, 0, 0, 0, 0.5]) == pytest.approx(0.3)


def test_a_negation_is_what_is_left_of_presence():
    assert probability_of(("not in", HAS_A, (1, 2)), [1, 0.1, 0.2, 0, 0, 0, 0, 0, 0, 0.5]) == pytest.approx(0.2)
    assert probability_of(("not in", 0, (1, 2)), [1, 0.1, 0.2, 0, 0, 0, 0, 0, 0, 0.5]) == pytest.approx(0.7)


def test_and_multiplies_and_or_complements():
    frequencies = [1, 0.1, 0.2, 0, 0, 0.4, 0, 0, 0, 0.5]
    assert probability_of(("and", A, B), frequencies) == pytest.approx(0.12)
    assert probability_of(("or", A, B), frequencies) == pytest.approx(1 - 0.7 * 0.6)


def test_without_statistics_a_wider_literal_is_taken_to_be_true_more_often():
    assert probability_of(("in", (1, 3))) > probability_of(("in", (1, 1)))


def test_boundaries_that_a_program_leaves_out_are_added():
    program = make_program(SIZES, [])._replace(domain_offsets=np.array([5, 9], np.int32))
    assert domain_boundaries(program).tolist() == [0, 1, 5, 9, 10]


@pytest.mark.parametrize("n_children", [3, MANY_CHILDREN + 1])
def test_children_that_are_rarely_true_come_first_and_ties_keep_their_order(n_children):
    literals = [("in", (cell, cell)) for cell in range(1, n_children + 1)]
    program = make_program([n_children], [(("and", *literals), 0.0, None), (("or", *literals[:2]), 0.0, None)])
    probability = np.round(np.random.default_rng(2).random(program.n_nodes), 1)
    ordered = children_by_probability(program, probability)
    for begin, end in zip(program.child_offsets[:-1], program.child_offsets[1:], strict=True):
        children = program.children[begin:end].tolist()
        assert ordered[begin:end].tolist() == sorted(children, key=lambda child: (probability[child], child))


def test_each_node_s_children_are_sorted_and_ties_keep_their_order():
    offsets = np.array([0, 3, 3, 7])
    children = np.array([0, 1, 2, 0, 1, 2, 3], np.int32)
    probability = np.array([0.5, 0.1, 0.5, 0.0])
    out = np.zeros(7, np.int32)
    order_children(offsets, children, probability, out)
    assert out.tolist() == [1, 0, 2, 3, 1, 0, 2]
