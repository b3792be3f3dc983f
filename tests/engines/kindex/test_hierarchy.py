import numpy as np

from ruledex.compiled.constants import EVERY
from ruledex.engines.kindex import hierarchy
from ruledex.engines.kindex.hierarchy import make_hierarchy, make_sources, with_shared_sets
from ruledex.engines.protocol import Statistics
from tests.contract.builder import make_program

HAS_A, HAS_B = 11, 12


def program_of(*trees):
    return make_program([10, 1, 1], [(tree, 0.0, None) for tree in trees])


def test_each_domain_has_a_tree_of_its_own():
    made, n_nodes = make_hierarchy(program_of(("in", (1, 1))))
    assert made.domain_offsets.tolist() == [0, 1, 11, 12, 13]
    assert made.domain_nodes.tolist() == [0, 1, 1 + 10 + 3 + 1, 16, 17]
    assert n_nodes == 17


def test_a_presence_that_is_also_a_literal_is_the_same_source():
    program = program_of(("and", ("in", (HAS_A, HAS_A)), ("not in", HAS_A, (1, 1)), ("not in", HAS_B, (2, 2))))
    sources = make_sources(program, None)
    of_presence = dict(zip(program.negative_presence.tolist(), sources.presence.tolist(), strict=True))
    literal = program.interval_low.tolist().index(HAS_A)
    assert of_presence[HAS_A] == literal
    assert of_presence[HAS_B] >= program.n_positive
    begin = sources.key_offsets[sources.every]
    assert sources.keys[begin] == EVERY


def test_sources_know_how_often_events_are_in_them():
    program = program_of(("in", (1, 2), (5, 5)))
    assert np.isclose(make_sources(program, None).probability[0], 0.5 * 3 / 10)
    frequency = np.zeros(program.n_cells)
    frequency[[1, 5]] = 0.2, 0.1
    assert np.isclose(make_sources(program, Statistics(frequency)).probability[0], 0.3)


def test_a_set_that_is_used_often_has_one_key_and_links_that_lead_to_it():
    program = program_of(("in", (1, 1), (3, 3)), ("in", (2, 2), (4, 4)), ("in", (7, 7)))
    plain = make_sources(program, None)
    uses = np.zeros(plain.n_sources, np.int64)
    uses[[0, 2]] = hierarchy.N_SHARED
    shared = with_shared_sets(plain, uses)
    assert shared.n_nodes == plain.n_nodes + 1
    of_source = [shared.keys[shared.key_offsets[i] : shared.key_offsets[i + 1]].tolist() for i in range(3)]
    before = [plain.keys[plain.key_offsets[i] : plain.key_offsets[i + 1]].tolist() for i in range(3)]
    assert of_source == [[plain.n_nodes], before[1], before[2]]
    linked = np.flatnonzero(np.diff(shared.link_offsets)).tolist()
    assert linked == before[0]
    assert shared.links.tolist() == [plain.n_nodes] * 2
