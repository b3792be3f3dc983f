import numpy as np
import pytest

from ruledex.engines.access import node_probabilities
from ruledex.engines.protocol import Statistics
from ruledex.engines.sparse.demand import MOST_CONDITIONS, MOST_COPIES, choose_access
from ruledex.engines.sparse.engine import SparseEngine
from tests.contract.agreement import assert_agrees
from tests.contract.builder import make_batch, make_program
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program

N_DOMAINS, N_CELLS = 6, 5


def literal(domain, *cells):
    """That an attribute has one of some values, counted from 0."""
    return ("in", *((1 + N_CELLS * domain + cell,) * 2 for cell in cells))


def program_of(*trees):
    return make_program([N_CELLS] * N_DOMAINS, [(tree, 0.0, None) for tree in trees])


def frequencies(**by_domain):
    """Statistics in which all cells of a domain are alike; `d2=0.01` sets those of the domain 2."""
    frequency = np.full(1 + N_CELLS * N_DOMAINS, 0.15)
    for name, value in by_domain.items():
        begin = 1 + N_CELLS * int(name[1:])
        frequency[begin : begin + N_CELLS] = value
    return Statistics(frequency)


def all_events(program):
    """Every event that has a value of each of the first four attributes or lacks it, with the others drawn."""
    rng = np.random.default_rng(0)
    values = [None, 0, 1, 2]
    events = []
    for number in range(len(values) ** 4):
        chosen = [values[number // len(values) ** domain % len(values)] for domain in range(4)]
        chosen += [int(value) for value in rng.integers(N_CELLS, size=N_DOMAINS - 4)]
        events.append({1 + N_CELLS * d + value for d, value in enumerate(chosen) if value is not None})
    return make_batch(program, events[:: scaled(1, 8)])


def drawn_tree(rng, depth):
    """ANDs and ORs in any order, also below their own kind, as sharing makes them."""
    if depth == 0 or rng.random() < 0.2:
        domain = int(rng.integers(N_DOMAINS))
        cells = sorted(rng.choice(N_CELLS, int(rng.integers(1, 3)), replace=False).tolist())
        if rng.random() < 0.15:
            return ("not in", 0, *literal(domain, *cells)[1:])
        return literal(domain, *cells)
    n_children = int(rng.integers(2, 4))
    return (("and", "or")[rng.integers(2)], *(drawn_tree(rng, depth - 1) for _ in range(n_children)))


def doubling_program(operation, depth):
    """An AND of a rare literal and a node whose paths to three literals double with each level below it."""
    program = program_of(("and", literal(5, 0), (operation, *(literal(domain, 0) for domain in range(3)))))
    first = program.n_literals
    rare, *below = np.argsort([-program.interval_low[: program.n_positive]])[0].tolist()
    operations, children, levels = [], [], [first]
    for _ in range(depth):
        begin = first + len(operations)
        children += [sorted(pair) for pair in (below[:2], below[1:], [below[0], below[2]])]
        operations += [{"and": 0, "or": 1}[operation]] * 3
        below = [begin, begin + 1, begin + 2]
        levels.append(begin + 3)
    operations.append(0)
    children.append(sorted([rare, below[0]]))
    levels.append(first + len(operations))
    return program._replace(
        node_op=np.array(operations, program.node_op.dtype),
        child_offsets=np.arange(0, 2 * len(children) + 1, 2, dtype=np.int32),
        children=np.array(children, np.int32).reshape(-1),
        level_offsets=np.array(levels, np.int32),
        root=np.array([first + len(operations) - 1], np.int32),
    )


EITHER = ("or", literal(1, 0), literal(2, 1))
RARE = literal(0, 0)


def test_an_or_beside_a_rarer_literal_is_not_told_of_its_children():
    program = program_of(("and", RARE, EITHER, ("or", literal(3, 0, 1), literal(4, 0))))
    engine = SparseEngine.build(program, frequencies(d0=0.01))
    assert engine.describe()["n_or_edges"] == 0
    assert engine.describe()["n_verified_late"] == 0
    assert_agrees(engine, all_events(program))


def test_an_or_that_is_rarer_than_all_literals_leads_to_its_parents():
    program = program_of(*(("and", literal(0, cell), EITHER) for cell in range(N_CELLS)))
    engine = SparseEngine.build(program, frequencies(d0=0.2, d1=0.001, d2=0.001))
    assert engine.describe()["n_or_edges"] == 2
    assert_agrees(engine, all_events(program))


def test_an_or_that_is_a_rule_itself_keeps_its_bit():
    program = program_of(EITHER, ("and", RARE, EITHER))
    assert not choose_access(program, node_probabilities(program, frequencies(d0=0.01))).on_demand.any()
    assert_agrees(SparseEngine.build(program, frequencies(d0=0.01)), all_events(program))


def test_ors_inside_of_ors_are_asked_together():
    program = program_of(("and", RARE, ("or", EITHER, literal(3, 0))), ("and", literal(0, 1), EITHER))
    engine = SparseEngine.build(program, frequencies(d0=0.01))
    assert engine.describe()["n_or_edges"] == 0
    assert_agrees(engine, all_events(program))


def test_an_and_behind_a_rare_literal_does_not_wait_for_the_and_that_it_shares():
    shared = ("and", literal(1, 0), literal(2, 1))
    program = program_of(shared, ("and", RARE, shared), ("and", literal(0, 1), ("and", shared, literal(3, 0))))
    engine = SparseEngine.build(program, frequencies(d0=0.0001))
    assert engine.describe()["n_verified_late"] == 0
    assert_agrees(engine, all_events(program))


@pytest.mark.parametrize("seed", range(12))
def test_trees_of_every_shape_agree_with_the_reference(seed):
    rng = np.random.default_rng(seed)
    program = program_of(*(drawn_tree(rng, int(rng.integers(1, 6))) for _ in range(30)))
    frequency = rng.random(program.n_cells) ** float(rng.integers(1, 6))
    for statistics in (None, Statistics(frequency)):
        assert_agrees(SparseEngine.build(program, statistics), all_events(program))


@pytest.mark.parametrize("operation", ["and", "or"])
def test_nodes_that_share_again_and_again_are_not_written_out(operation):
    """Written out, the deeper tree would have 2^40 leaves; the reference visits all paths, so it gets the other."""
    program = doubling_program(operation, 40)
    index = SparseEngine.build(program, frequencies(d5=0.001)).index
    most = (MOST_CONDITIONS + MOST_COPIES) * program.n_nodes
    assert len(index.and_rest) + len(index.verify_slots) < most
    program = doubling_program(operation, 9)
    assert_agrees(SparseEngine.build(program, frequencies(d5=0.001)), all_events(program))


def test_an_or_of_many_parents_and_children_is_written_once():
    many = ("or", *(literal(domain, cell) for domain in range(1, 4) for cell in range(3)))
    program = program_of(*(("and", literal(0, a), literal(4, b), many) for a in range(5) for b in range(5)))
    engine = SparseEngine.build(program, frequencies(d0=0.00001))
    assert engine.describe()["n_or_edges"] == 9 + 2 * 25  # to the OR; to ANDs that wait for it, and from these to rules
    assert_agrees(engine, all_events(program))


def test_arrays_of_before_there_were_ors_on_demand_are_read():
    program = drawn_program(scaled(200, 20))
    arrays = dict(SparseEngine.build(program).arrays())
    arrays["others"] = arrays.pop("and_rest")
    assert_agrees(SparseEngine.from_arrays(program, arrays), drawn_batch(program, 5))
