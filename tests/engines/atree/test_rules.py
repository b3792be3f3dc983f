import numpy as np
import pytest

from ruledex.compiled.arrays import read_only
from ruledex.compiled.constants import ALWAYS, NEVER
from ruledex.engines.atree import layout
from ruledex.engines.atree.rules import NOT_MADE, RulesToLoad, delete_scored, insert_rules
from ruledex.engines.atree.tree import Switches
from tests.engines.atree.check import check_tree
from tests.engines.atree.sets import atoms_of, delete, literals, new_rules, no_scores


def drawn_sets(n_sets, n_literals, seed=0):
    rng = np.random.default_rng(seed)
    return [{*rng.choice(n_literals, rng.integers(2, 6), replace=False).tolist()} for _ in range(n_sets)]


def frozen_rules(rules):
    return RulesToLoad(*map(read_only, rules))


@pytest.mark.parametrize("switches", [Switches(), Switches(sharing=False)], ids=["shared", "not shared"])
def test_rules_go_on_where_the_room_ended(switches):
    n_literals, sets = 12, drawn_sets(30, 12)
    tree = literals(n_literals, switches)
    rules = frozen_rules(new_rules(n_literals, sets))
    tree.reserve_rules(len(sets))
    node_of, n_done, n_stops = np.full(len(sets), NOT_MADE, np.int32), 0, 0
    while n_done < len(sets):
        n_done = insert_rules(tree.arrays, switches.bits, rules, node_of, n_done)
        if n_done < len(sets):
            tree._enlarge()
            n_stops += 1
    assert n_stops > 0
    check_tree(tree, range(n_literals))
    assert [atoms_of(tree, root) for root in tree.arrays.rules[: len(sets), layout.ROOT].tolist()] == sets


def test_rules_of_one_set_are_one_node():
    tree = literals(3)
    tree.insert(new_rules(3, [{0, 1}, {1, 0}, {0, 1, 2}]))
    roots = tree.arrays.rules[:3, layout.ROOT].tolist()
    assert roots[0] == roots[1] != roots[2]
    assert tree.arrays.nodes[roots[0], layout.USES] == 3


def test_rules_that_are_constants_have_no_node():
    tree = literals(2)
    rules = new_rules(2, [{0, 1}])._replace(
        root=np.array([ALWAYS, NEVER, 1, 2], np.int32), rule=np.arange(4, dtype=np.int32)
    )
    tree.insert(rules)
    check_tree(tree, range(2))
    assert tree.arrays.rules[:4, layout.ROOT].tolist() == [ALWAYS, NEVER, 1, 2]
    assert (
        delete_scored(tree.arrays, no_scores(tree), tree.switches.bits, read_only(np.arange(4, dtype=np.int32)), 0) == 4
    )
    check_tree(tree, range(2))
    assert tree.arrays.counts[layout.ALWAYS_RULE] == layout.NO_RULE


def test_any_order_of_deletion_leaves_a_sound_tree():
    sets = drawn_sets(40, 8)
    for seed in range(3):
        tree = literals(8)
        tree.insert(new_rules(8, sets))
        for part in np.array_split(np.random.default_rng(seed).permutation(40).astype(np.int32), 5):
            delete(tree, part)
            check_tree(tree, range(8))
        assert tree.arrays.counts[layout.N_EDGES] == 0
