import numpy as np

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import LEAF, STEP_BITS
from ruledex.engines.atree import layout
from ruledex.engines.atree.heap import empty_heap
from ruledex.engines.atree.rules import NewScores, RulesToLoad, ScoreHeap
from ruledex.engines.atree.tree import GrowingTree, LiteralIntervals, Switches
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import new_rules


def leaf(literal):
    return literal << STEP_BITS | LEAF


def scored_tree(n_literals, sets, programs):
    """A tree of rules, each with a score program that looks at some literals, which are held by nothing else."""
    tree = GrowingTree(Switches())
    cells = np.arange(n_literals, dtype=np.int32)
    nodes = tree.add_literals(LiteralIntervals(np.arange(n_literals + 1, dtype=np.int32), cells, cells))
    assert nodes.tolist() == cells.tolist()
    n_rules = len(sets)
    scores = ScoreHeap(np.zeros(n_rules), np.zeros(n_rules, np.int32), np.zeros(n_rules, np.int32), empty_heap(1000))
    offsets = np.cumsum([0, *map(len, programs)])
    code = np.array([leaf(literal) for program in programs for literal in program], np.int32)
    new = NewScores(read_only(np.arange(1.0, n_rules + 1)), read_only(offsets), read_only(code))
    tree.reserve_rules(n_rules)
    gone = tree.insert_scored(RulesToLoad(*map(read_only, new_rules(n_literals, sets))), scores, new)
    return tree, scores, gone


def program_of(scores, rule):
    return scores.heap[scores.start[rule] :][: scores.length[rule]].tolist()


def test_scores_are_kept_and_count_as_uses():
    tree, scores, gone = scored_tree(4, [{0, 1}, {1, 2}], [[0, 1, 3], [3]])
    assert (gone.tolist(), scores.static_score.tolist()) == ([], [1.0, 2.0])
    assert [program_of(scores, rule) for rule in (0, 1)] == [[leaf(0), leaf(1), leaf(3)], [leaf(3)]]
    check_tree(tree, [0, 1, 3, 3])


def test_literals_that_nothing_uses_are_taken_out_again():
    tree, _, gone = scored_tree(5, [{0, 1}], [[3]])
    assert sorted(gone.tolist()) == [2, 4]
    check_tree(tree, [3])


def test_a_rule_goes_with_its_scores_and_with_what_only_they_looked_at():
    tree, scores, _ = scored_tree(5, [{0, 1}, {1, 2}], [[0, 3], [1, 4]])
    gone = tree.delete_scored(read_only(np.array([0], np.int32)), scores)
    assert sorted(gone.tolist()) == [0, 3]
    assert (scores.length.tolist(), program_of(scores, 1)) == ([0, 2], [leaf(1), leaf(4)])
    check_tree(tree, [1, 4])
    assert sorted(tree.delete_scored(read_only(np.array([1], np.int32)), scores).tolist()) == [1, 2, 4]
    assert tree.arrays.counts[layout.N_NODES] == 0
