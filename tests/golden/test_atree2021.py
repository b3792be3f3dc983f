"""The worked examples of a-tree2021: expression ids, Table 2, reorganisation, self-adjustment, and matching."""

from __future__ import annotations

import numpy as np
import pytest

from live_tree import LiveTree
from ruledex.compiled.constants import AND, OR
from ruledex.engines.atree import layout
from ruledex.engines.atree.plain import (
    FALSE,
    TRUE,
    UNKNOWN,
    combine_truth,
)
from tests.contract.builder import make_program
from tests.engines.atree.check import check_live, check_tree
from tests.engines.atree.trees import ChangingTree

P = [None, *(("in", (cell, cell)) for cell in range(1, 11))]
FIRST = ("and", ("or", P[1], P[2], P[3]), P[4], ("or", P[5], P[6]))
SECOND = ("and", ("or", P[5], P[6]), ("or", P[7], P[8]))


class Drawn:
    """Expressions of the paper in a tree; nodes are named by the predicates below them."""

    def __init__(self, *expressions, before=()):
        self.program = make_program([1] * 10, [(tree, 0.0, None) for tree in (*before, *expressions)])
        self.changing = ChangingTree(self.program, rules=np.arange(len(before) or self.program.n_rules))
        self.n_before = len(before)

    def insert_rest(self):
        self.changing.insert(np.arange(self.n_before, self.program.n_rules))
        self.changing.check()

    def children(self, rule):
        """The children of a rule's node, each as the set of predicates below it."""
        tree = self.changing.tree.arrays
        node = tree.rules[rule, layout.ROOT]
        start = tree.nodes[node, layout.BLOCK]
        return {self.below(tree.heap[start + layout.ROW * row]) for row in range(tree.nodes[node, layout.N_DOWN])}

    def below(self, node):
        tree = self.changing.tree.arrays
        if node < self.program.n_literals:
            return frozenset({int(self.program.interval_low[node])})
        start = tree.nodes[node, layout.BLOCK]
        rows = range(tree.nodes[node, layout.N_DOWN])
        return frozenset().union(*(self.below(tree.heap[start + layout.ROW * row]) for row in rows))

    def level(self, rule):
        tree = self.changing.tree.arrays
        return int(tree.nodes[tree.rules[rule, layout.ROOT], layout.LEVEL])

    @property
    def counts(self):
        described = self.changing.tree.describe()
        return described["n_inner_nodes"], described["n_edges"]


def sets(*members):
    return {frozenset(numbers) for numbers in members}


def test_figure_4_shares_the_subexpression_of_both():
    drawn = Drawn(FIRST, SECOND)
    drawn.changing.check()
    assert drawn.counts == (5, 3 + 2 + 3 + 2 + 2)
    assert drawn.children(0) == sets([1, 2, 3], [4], [5, 6])
    assert drawn.children(1) == sets([5, 6], [7, 8])
    assert (drawn.level(0), drawn.level(1)) == (3, 3)


def test_section_4_2_1_the_order_of_subexpressions_does_not_matter():
    other = ("and", P[4], ("or", P[3], P[2], P[1]), ("or", P[6], P[5]))
    drawn = Drawn(FIRST, other)
    assert drawn.counts[0] == 3
    assert drawn.changing.tree.arrays.rules[0, layout.ROOT] == drawn.changing.tree.arrays.rules[1, layout.ROOT]


def test_section_4_2_1_sums_and_products_of_ids_would_take_different_expressions_for_one():
    """Were the id of P1 1 and so on, both ANDs would sum to 5, and both ORs multiply to 12."""
    drawn = Drawn(("and", P[1], P[4]), ("and", P[2], P[3]), ("or", P[2], P[6]), ("or", P[3], P[4]))
    roots = drawn.changing.tree.arrays.rules[:4, layout.ROOT].tolist()
    assert len(set(roots)) == 4
    drawn.changing.check()


def test_equal_hashes_are_not_taken_for_equal_expressions():
    drawn = Drawn(("and", P[1], P[4]), ("and", P[2], P[3]))
    tree = drawn.changing.tree.arrays
    one, other = tree.rules[:2, layout.ROOT].tolist()
    atoms = np.array([1, 2], np.int32)  # the literals of P2 and P3
    key = int(tree.nodes[other, layout.KEY])
    table = np.full_like(tree.table, -1)
    table[key & (len(table) - 1)] = one
    tree.nodes[one, layout.KEY] = key
    assert layout.find(tree.nodes, tree.heap, table, AND, atoms, 2, key) == -1


def test_section_4_2_2_an_expression_is_organised_around_what_is_there():
    """P1 OR P2 OR P3 OR P4 as (P1 OR P2 OR P3) OR P4: the third of Figure 5."""
    drawn = Drawn(("or", P[1], P[2], P[3], P[4]), before=[FIRST, SECOND])
    drawn.insert_rest()
    assert drawn.children(2) == sets([1, 2, 3], [4])
    assert drawn.counts == (6, 12 + 2)


def test_section_4_2_2_a_predicate_may_be_covered_twice():
    """P1 AND P2 AND P3 AND P4 as (P1 AND P2 AND P3) AND (P3 AND P4)."""
    before = [("and", P[1], P[2], P[3]), ("and", P[3], P[4])]
    drawn = Drawn(("and", P[1], P[2], P[3], P[4]), before=before)
    drawn.insert_rest()
    assert drawn.children(2) == sets([1, 2, 3], [3, 4])


def test_section_4_2_3_what_is_there_is_organised_around_a_new_expression():
    drawn = Drawn(("and", ("or", P[1], P[2], P[3]), P[4]), before=[FIRST, SECOND])
    drawn.insert_rest()
    assert drawn.children(0) == sets([1, 2, 3, 4], [5, 6])
    assert drawn.children(2) == sets([1, 2, 3], [4])
    # Two links of the first expression became one; the new node has two.
    assert drawn.counts == (6, 12 - 1 + 2)
    assert (drawn.level(0), drawn.level(2)) == (4, 3)


def test_section_4_2_4_deletion_undoes_it():
    drawn = Drawn(("and", ("or", P[1], P[2], P[3]), P[4]), before=[FIRST, SECOND])
    before = drawn.counts
    drawn.insert_rest()
    drawn.changing.delete([2])
    drawn.changing.check()
    assert drawn.counts == before
    assert drawn.children(0) == sets([1, 2, 3], [4], [5, 6])
    assert drawn.level(0) == 3


def test_section_4_2_4_a_node_is_kept_as_long_as_something_uses_it():
    drawn = Drawn(FIRST, SECOND)
    drawn.changing.delete([0])
    drawn.changing.check()
    assert drawn.counts == (3, 6)
    drawn.changing.delete([1])
    assert drawn.counts == (0, 0)
    check_tree(drawn.changing.tree, drawn.changing.held.tolist())


@pytest.mark.parametrize(
    ("operation", "one", "other", "result"),
    [
        (AND, UNKNOWN, TRUE, UNKNOWN),
        (AND, UNKNOWN, FALSE, FALSE),
        (OR, UNKNOWN, TRUE, TRUE),
        (OR, UNKNOWN, FALSE, UNKNOWN),
        (AND, TRUE, TRUE, TRUE),
        (OR, FALSE, FALSE, FALSE),
    ],
)
def test_table_2(operation, one, other, result):
    assert combine_truth(operation, 2, [one, other].count(TRUE), [one, other].count(FALSE)) == result


@pytest.mark.parametrize("operator", ["NOT {0}", "{0} XOR {1}", "{0} XNOR {1}"])
def test_table_2_not_xor_and_xnor_of_unknown_are_unknown(operator):
    for switches in ({}, {"zero_suppression": False}):
        tree = LiveTree(**switches)
        text = operator.format("x = 1", "y = 1")
        tree.insert([(text, 0.0), (f"NOT ({text})", 0.0)])
        assert tree.match([{}, {"y": 1}, {"y": 2}]).rule.tolist() == []


def test_section_5_2_1_negations_are_pushed_into_predicates():
    tree = LiveTree()
    tree.insert([("NOT (age > 60 OR weight > 100)", 0.0)])
    given = [{"age": 60, "weight": 100}, {"age": 61, "weight": 100}, {"age": 60}]
    assert np.diff(tree.match(given).offsets).tolist() == [1, 0, 0]


@pytest.mark.parametrize("on_demand", [True, False])
def test_section_5_3_the_event_matches_s3_and_s6(on_demand):
    """Figure 6 is not in the text; these six expressions have the nodes, levels and answers that Section 5.3 tells."""
    p = [None, *(f"p{number} = 1" for number in range(1, 9))]
    s1 = f"({p[1]} OR {p[2]} OR {p[3]}) AND {p[4]}"
    texts = [
        s1,
        f"({s1}) OR ({p[5]} AND {p[6]} AND {p[2]})",
        f"{p[1]} OR {p[2]} OR {p[3]} OR ({p[4]} AND {p[5]})",
        f"{p[5]} AND {p[6]}",
        f"{p[2]} AND {p[3]}",
        f"NOT ({p[7]} OR {p[8]})",
    ]
    tree = LiveTree(propagation_on_demand=on_demand)
    slots = tree.insert([(text, 0.0) for text in texts])
    check_live(tree)
    assert tree.match([{"p1": 1, "p7": 0, "p8": 0}]).rule.tolist() == [slots[2], slots[5]]
