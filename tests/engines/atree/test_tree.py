import numpy as np
import pytest

from ruledex.engines.atree import layout
from ruledex.engines.atree.tree import Switches
from tests.contract.builder import make_program
from tests.contract.sizes import scaled
from tests.engines.atree.sets import release
from tests.engines.atree.trees import ChangingTree, abe_program
from tests.engines.programs import drawn_batch, drawn_program

SWITCHES = {
    "all": Switches(),
    "no sharing": Switches(sharing=False),
    "sharing alone": Switches(reorganisation=False, self_adjustment=False),
    "no reorganisation": Switches(reorganisation=False),
    "no self-adjustment": Switches(self_adjustment=False),
    "no zero suppression": Switches(zero_suppression=False),
    "nothing on demand": Switches(propagation_on_demand=False),
    "plain matching": Switches(zero_suppression=False, propagation_on_demand=False),
    "none": Switches(*[False] * 5),
}


def n_edges_of(tree):
    return int(tree.arrays.counts[layout.N_EDGES])


@pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES)
def test_a_tree_that_changes_at_random_stays_sound_and_answers_right(switches):
    for seed in range(scaled(6, 1)):
        rng = np.random.default_rng(seed)
        n_rules = scaled(60, 12)
        program = drawn_program(n_rules, seed, n_domains=3, n_cells=4)
        changing = ChangingTree(program, switches, rng.permutation(n_rules)[: n_rules // 2])
        changing.check()
        for step in range(scaled(12, 5)):
            pool = np.flatnonzero(changing.alive if rng.random() < 0.5 else ~changing.alive)
            chosen = rng.choice(pool, rng.integers(0, len(pool) + 1), replace=False)
            (changing.delete if len(pool) and changing.alive[pool[0]] else changing.insert)(chosen)
            changing.check()
            changing.assert_answers(drawn_batch(program, 3, step, several=bool(step % 2)))


@pytest.mark.parametrize("switches", SWITCHES.values(), ids=SWITCHES)
def test_nothing_is_left_when_all_rules_and_literals_are_gone(switches):
    program = drawn_program(scaled(200, 20), n_domains=3)
    changing = ChangingTree(program, switches)
    changing.delete(np.arange(program.n_rules))
    freed = release(changing.tree, changing.held)
    assert sorted(freed.tolist()) == changing.held.tolist()
    described = changing.tree.describe()
    assert (described["n_nodes"], described["n_edges"], described["n_levels"]) == (0, 0, 0)
    assert (changing.tree.arrays.table == -1).all()
    assert (changing.tree.arrays.centers[:, 0] == -1).all()


def test_the_order_of_insertion_changes_no_answer_and_hardly_the_number_of_edges():
    program = abe_program(scaled(3000, 60))
    rng = np.random.default_rng(0)
    batch = drawn_batch(program, 5)
    n_edges = []
    for number in range(20):
        changing = ChangingTree(program, rules=rng.permutation(program.n_rules))
        n_edges.append(n_edges_of(changing.tree))
        if number < 3:
            changing.assert_answers(batch)
    assert max(n_edges) < 1.02 * min(n_edges)


def test_a_tree_that_lost_half_of_its_rules_is_as_good_as_a_new_one():
    program = abe_program(scaled(3000, 60))
    order = np.random.default_rng(1).permutation(program.n_rules)
    half = len(order) // 2
    changing = ChangingTree(program)
    changing.delete(order[:half])
    fresh = ChangingTree(program, rules=np.sort(order[half:]))
    assert abs(n_edges_of(changing.tree) - n_edges_of(fresh.tree)) < 0.02 * n_edges_of(fresh.tree)
    assert changing.tree.describe()["n_nodes"] == fresh.tree.describe()["n_nodes"]
    changing.assert_answers(drawn_batch(program, 5))


def test_freed_room_is_used_again():
    program = abe_program(scaled(1000, 40))
    changing = ChangingTree(program)
    sizes = []
    for _ in range(5):
        changing.delete(np.arange(program.n_rules))
        changing.insert(np.arange(program.n_rules))
        sizes.append(changing.tree.n_bytes)
    assert sizes[1:] == [sizes[0]] * 4


def test_more_sharing_needs_fewer_edges():
    program = abe_program(scaled(2000, 60))
    names = ("no sharing", "sharing alone", "no self-adjustment", "all")
    n_edges = [n_edges_of(ChangingTree(program, SWITCHES[name]).tree) for name in names]
    assert n_edges == sorted(n_edges, reverse=True)
    assert n_edges[0] > n_edges[1] > n_edges[2] > n_edges[3]


def test_a_node_of_the_same_operation_counts_for_its_children():
    literals = [("in", (cell, cell)) for cell in range(1, 6)]
    nested = ("and", ("and", literals[0], ("and", literals[1], literals[2])), literals[3])
    flat = ("and", *literals[:4])
    program = make_program([5], [(nested, 0.0, None), (flat, 0.0, None), (("and", *literals[:2]), 0.0, None)])
    changing = ChangingTree(program)
    changing.check()
    assert changing.tree.describe()["n_inner_nodes"] == 2


def test_a_node_whose_children_turn_out_to_be_one_is_that_child():
    one, other = ("in", (1, 1)), ("in", (2, 2))
    same = ("or", ("or", one, other), one)
    program = make_program([5], [(("and", ("or", one, other), same), 0.0, None)])
    changing = ChangingTree(program)
    changing.check()
    assert changing.tree.describe()["n_inner_nodes"] == 1


def test_levels_far_above_one_another_are_made_room_for():
    tree: tuple[object, ...] = ("in", (1, 1))
    for level in range(scaled(300, 60)):
        tree = (("and", "or")[level % 2], tree, ("in", (2 + level % 3, 2 + level % 3)), ("in", (5 + level, 5 + level)))
    program = make_program([400], [(tree, 0.0, None)])
    changing = ChangingTree(program)
    changing.check()
    assert changing.tree.describe()["n_levels"] == 1 + scaled(300, 60)


def test_a_copy_shares_nothing():
    program = drawn_program(scaled(100, 20))
    changing = ChangingTree(program)
    before = changing.tree.copy()
    n_edges = n_edges_of(before)
    changing.delete(np.arange(program.n_rules))
    assert n_edges_of(before) == n_edges
    assert n_edges_of(changing.tree) == 0
