"""The layout of nodes in a Program."""

from __future__ import annotations

import numpy as np
import pytest

from ruledex import Index
from ruledex.compiled.constants import ALWAYS, AND, LEAF, NEVER, OR, WEIGH
from ruledex.dictionary import dictionary
from ruledex.errors import RuledexError
from ruledex.program import layout, node_table
from ruledex.program.layout import ProgramNodes
from ruledex.program.node_table import ALWAYS_CODE, NEVER_CODE, NO_COMPLEMENT, add_node, empty_node_table
from ruledex.program.normalise import NormalRules
from ruledex.program.scores.compile import add_score, empty_score_table, pack_step
from ruledex.workloads import workload
from tests.program.rules import built, laid_out

FREE = np.full(8, NO_COMPLEMENT, np.int32)


def rules_of(*roots: int) -> NormalRules:
    n_rules = len(roots)
    return NormalRules(
        np.zeros(n_rules, np.uint8),
        np.array(roots, np.int32),
        np.zeros(n_rules, np.int64),
        np.zeros(n_rules, np.int32),
    )


def check(nodes: ProgramNodes, n_literals: int) -> None:
    """What every Program holds to."""
    n_nodes = n_literals + len(nodes.node_op)
    level = np.zeros(n_nodes, int)
    for number in range(len(nodes.node_op)):
        children = nodes.children[nodes.child_offsets[number] : nodes.child_offsets[number + 1]]
        assert len(children) > 1
        assert (np.diff(children) > 0).all()
        assert children[-1] < n_literals + number
        level[n_literals + number] = 1 + level[children].max()
    assert (np.diff(level[n_literals:]) >= 0).all()
    starts = n_literals + np.flatnonzero(np.diff(level[n_literals:], prepend=0))
    assert nodes.level_offsets.tolist() == [*starts.tolist(), n_nodes]
    assert nodes.root.max(initial=-1) < n_nodes
    assert nodes.score_offsets[-1] == len(nodes.score_code)


def test_nodes_stand_by_level_and_then_by_first_use() -> None:
    table = empty_node_table()
    table, unused = add_node(table, AND, np.array([6, 7]), FREE)
    table, late = add_node(table, AND, np.array([0, 1]), FREE)
    table, early = add_node(table, AND, np.array([2, 3]), FREE)
    table, high = add_node(table, OR, np.array([early, 4]), FREE)
    nodes = laid_out(table, empty_score_table(), rules_of(high, late, high), np.arange(8, dtype=np.int32))
    check(nodes, 8)
    assert unused < 0
    assert nodes.children.tolist() == [2, 3, 0, 1, 4, 8]
    assert nodes.node_op.tolist() == [AND, AND, OR]
    assert nodes.root.tolist() == [10, 9, 10]


def test_literals_and_constants_can_be_roots() -> None:
    order = np.array([2, 0, 1], np.int32)
    nodes = laid_out(empty_node_table(), empty_score_table(), rules_of(0, ALWAYS_CODE, NEVER_CODE, 2), order)
    assert nodes.root.tolist() == [2, ALWAYS, NEVER, 1]
    assert nodes.level_offsets.tolist() == [3]
    assert nodes.child_offsets.tolist() == [0]


def test_children_and_scores_follow_the_numbers_of_the_literals() -> None:
    table, wide = add_node(empty_node_table(), OR, np.arange(8), FREE)
    scores, _ = add_score(empty_score_table(), [(LEAF, 5), (WEIGH, 0)], [2.0])
    scores, start = add_score(scores, [(LEAF, 1), (LEAF, 2), (WEIGH, 0), (AND, 2)], [1.5])
    rules = rules_of(wide, wide)._replace(score_start=np.array([start, 0]), n_score_steps=np.array([4, 2], np.int32))
    order = np.array([7, 6, 5, 4, 3, 2, 1, 0], np.int32)
    nodes = laid_out(table, scores, rules, order)
    check(nodes, 8)
    assert nodes.children.tolist() == list(range(8))
    assert nodes.score_offsets.tolist() == [0, 4, 6]
    steps = [(LEAF, 6), (LEAF, 5), (WEIGH, 0), (AND, 2), (LEAF, 2), (WEIGH, 1)]
    assert nodes.score_code.tolist() == [pack_step(*each) for each in steps]
    assert nodes.score_weight.tolist() == [1.5, 2.0]


def test_the_layout_of_many_rules_holds_to_what_a_program_promises() -> None:
    rules = [rule for _, rule in workload("abe", seed=4, n_expressions=500).rules(500)]
    made = built([*rules, " OR ".join(f"a{i} = 1" for i in range(60))], n_chunks=2)
    check(made.nodes, len(made.literals))


def test_no_rules_have_no_nodes() -> None:
    nodes = laid_out(empty_node_table(), empty_score_table(), rules_of(), np.empty(0, np.int32))
    assert nodes.level_offsets.tolist() == [0]
    assert len(nodes.root) == 0


@pytest.mark.parametrize(
    ("module", "name", "most", "what"),
    [
        (layout, "_LARGEST", 100, "100 nodes"),
        (layout, "_LARGEST", 2000, "250 literals"),
        (node_table, "MAX_NODES", 10, "10 AND and OR nodes"),
        (dictionary, "MAX_CELLS", 100, "100 cells"),
    ],
)
def test_rules_that_are_too_many_for_the_numbers_of_an_index_are_refused(module, name, most, what, monkeypatch) -> None:
    rules = [(i, f"a{i} = {i} AND b{i} = 1") for i in range(200)]
    monkeypatch.setattr(module, name, most)
    with pytest.raises(RuledexError, match=f"at most {what}.*divide the rules among several"):
        Index.build(rules)
