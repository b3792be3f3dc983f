from functools import partial

import numpy as np
import pytest

from ruledex.engines.access import node_probabilities
from ruledex.engines.protocol import Statistics
from ruledex.engines.sparse import layout
from ruledex.engines.sparse.demand import choose_access
from ruledex.engines.sparse.engine import SparseEngine
from ruledex.engines.sparse.groups import FEWEST, MOST_KEYS, gain, group_by_keys
from tests.contract.agreement import assert_agrees
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program
from tests.engines.sparse.test_demand import (
    N_CELLS,
    all_events,
    drawn_tree,
    frequencies,
    literal,
    program_of,
)

RARE, KEYS = literal(0, 0), [literal(1, cell) for cell in range(3)]
FURTHER = [("and", literal(2, a), literal(3, b)) for a in range(N_CELLS) for b in range(N_CELLS)]
EXPECTED = frequencies(d0=0.01)


def flat(*trees):
    """An AND of literals and of the children of ANDs, as the normal form has it."""
    return ("and", *(child for tree in trees for child in (tree[1:] if tree[0] == "and" else (tree,))))


def grouped(program, statistics=EXPECTED, fewest=FEWEST):
    probability = node_probabilities(program, statistics)
    return group_by_keys(program, choose_access(program, probability), probability, fewest)


def n_groups(program, statistics=EXPECTED, fewest=FEWEST):
    return grouped(program, statistics, fewest)[0].n_nodes - program.n_nodes


def and_edges_from(engine, cell):
    """How many ANDs an atom of one cell leads to, groups among them."""
    (atom,) = np.flatnonzero((engine.index.atom_low == cell) & (engine.index.atom_high == cell))
    return int(engine.index.edge_offsets[2 * atom + 3] - engine.index.edge_offsets[2 * atom + 1])


@pytest.fixture
def groups_of_two(monkeypatch):
    """The engine as it is where all that share a key form a group."""
    monkeypatch.setattr(layout, "group_by_keys", partial(group_by_keys, fewest=2))


def test_members_of_one_access_child_are_looked_at_behind_the_key_that_they_share():
    program = program_of(*(flat(RARE, key, further) for key in KEYS for further in FURTHER))
    engine = SparseEngine.build(program, EXPECTED)
    assert and_edges_from(engine, 1) == len(KEYS)
    assert engine.describe()["n_and_edges"] > len(KEYS) * len(FURTHER)
    assert_agrees(engine, all_events(program))


def test_groups_are_divided_again():
    program = program_of(
        *(flat(RARE, key, literal(4, cell), further) for key in KEYS for cell in range(2) for further in FURTHER)
    )
    _, access, _ = grouped(program)
    assert access.level.max() > 2
    assert access.level.max() <= MOST_KEYS + 1
    assert_agrees(SparseEngine.build(program, EXPECTED), all_events(program))


def test_few_members_stay_as_they_are():
    program = program_of(*(flat(RARE, KEYS[0], further) for further in FURTHER[: FEWEST - 1]))
    probability = node_probabilities(program, EXPECTED)
    access = choose_access(program, probability)
    unchanged = group_by_keys(program, access, probability)
    assert unchanged[0] is program
    assert unchanged[1] is access


def test_a_key_that_is_nearly_always_true_is_none():
    program = program_of(*(flat(RARE, KEYS[0], literal(2, a), literal(3, a)) for a in range(N_CELLS)))
    often = frequencies(d0=0.01, d1=0.99, d2=0.02, d3=0.02)
    assert gain(N_CELLS, 0.99) < 0
    assert n_groups(program, often, 2) == 0
    assert n_groups(program, frequencies(d0=0.01, d1=0.05), 2) == 1


def test_a_condition_is_left_behind_the_last_key():
    """The AND of two literals is what a group of them would be."""
    program = program_of(flat(RARE, KEYS[0]), *(flat(RARE, KEYS[0], further) for further in FURTHER))
    children = grouped(program, fewest=2)[0].child_offsets
    assert np.diff(children).min() == 2
    assert_agrees(SparseEngine.build(program, EXPECTED), all_events(program))


def test_members_of_groups_are_found_by_nodes_above_them():
    parts = [flat(RARE, KEYS[0], further) for further in FURTHER]
    above = [(operation, part, literal(4, 0, 1)) for operation in ("and", "or") for part in parts[:6]]
    program = program_of(*parts, *above, ("or", *parts[3:9]), ("and", *parts[:2]))
    assert n_groups(program) > 0
    assert_agrees(SparseEngine.build(program, EXPECTED), all_events(program))


def test_keys_may_be_negations_and_lists(groups_of_two):
    keys = [("not in", 0, (6, 7)), literal(1, 0, 3), ("not in", 0, (9, 9))]
    program = program_of(*(flat(RARE, key, further) for key in keys for further in FURTHER))
    assert n_groups(program, frequencies(d0=0.01, d1=0.05)) > 0
    assert_agrees(SparseEngine.build(program, frequencies(d0=0.01, d1=0.05)), all_events(program))


def test_ors_on_demand_are_looked_at_behind_a_key():
    either = [("or", literal(2, a), literal(3, a)) for a in range(N_CELLS)]
    program = program_of(*(("and", RARE, KEYS[0], choice, literal(4, a)) for choice in either for a in range(3)))
    assert n_groups(program) > 0
    engine = SparseEngine.build(program, EXPECTED)
    assert engine.describe()["n_or_edges"] == 0
    assert_agrees(engine, all_events(program))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.usefixtures("groups_of_two")
def test_drawn_trees_agree_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    access, keys = [literal(0, 0), literal(0, 1)], [literal(1, 0), literal(1, 1, 2), ("not in", 0, (11, 12))]
    trees = [drawn_tree(rng, int(rng.integers(1, 4))) for _ in range(20)]
    chosen = [rng.choice(len(keys), int(rng.integers(1, 3)), replace=False) for _ in trees]
    members = [
        ("and", access[rng.integers(2)], *(keys[key] for key in some), tree)
        for tree, some in zip(trees, chosen, strict=True)
    ]
    program = program_of(*(flat(*tree[1:]) for tree in members), ("or", *members[:3]), ("and", *members[3:5]))
    rare = Statistics(frequencies(d0=0.01).cell_frequency * rng.random(program.n_cells))
    assert n_groups(program, rare, 2) > 0
    for statistics in (None, rare):
        assert_agrees(SparseEngine.build(program, statistics), all_events(program))


@pytest.mark.parametrize("several", [False, True])
def test_larger_programs_agree_with_the_reference(several, groups_of_two):
    program = drawn_program(scaled(500, 60))
    frequency = np.random.default_rng(1).random(program.n_cells) ** 4
    batch = drawn_batch(program, scaled(50, 5), several=several)
    assert_agrees(SparseEngine.build(program, Statistics(frequency)), batch)
