import numpy as np
import pytest

from ruledex.compiled.constants import EVERY
from ruledex.engines.kindex.conjunctions import ConjunctionIndex
from ruledex.engines.kindex.matching import matching_conjunctions
from tests.contract.builder import make_batch, make_program

A, B = 1, 6  # two domains of five cells
HAS_A = 11
LITERALS = [
    ("in", (A, A + 1)),
    ("in", (A + 1, A + 4)),
    ("in", (B, B)),
    ("not in", HAS_A, (A, A)),
    ("not in", EVERY, (B, B)),
]


@pytest.fixture(scope="module")
def program():
    return make_program([5, 5, 1], [(literal, 0.0, None) for literal in LITERALS])


def found_by(program, conjunctions, *events):
    """For each event the positions of the conjunctions that are true, each a set of places in LITERALS."""
    rows = [sorted(int(program.root[place]) for place in row) for row in conjunctions]
    offsets = np.cumsum([0, *map(len, rows)])
    literals = np.array([literal for row in rows for literal in row], np.int32)
    index = ConjunctionIndex.build(program, offsets, literals)
    batch = make_batch(program, events)
    scratch, out = index.new_scratch(batch), np.zeros(len(rows), np.int32)
    answers = []
    for event in range(len(events)):
        begin, end = batch.offsets[event], batch.offsets[event + 1]
        n_found = matching_conjunctions(index.index, scratch, batch.cells, begin, end, out)
        answers.append(sorted(out[:n_found].tolist()))
    return answers


def test_all_predicates_must_be_there(program):
    assert found_by(program, [[0, 2], [1, 2], [0]], {A, B}, {A + 1, B}, {B}) == [[0, 2], [0, 1, 2], []]


def test_two_values_of_one_predicate_are_one_predicate(program):
    assert found_by(program, [[0, 2]], {A, A + 1}, {A, A + 1, B}) == [[], [0]]


def test_two_values_may_be_two_predicates_of_one_attribute(program):
    assert found_by(program, [[0, 1]], {A, A + 4}, {A + 1}, {A}) == [[0], [0], []]


def test_a_violated_negation_rejects(program):
    assert found_by(program, [[0, 3], [0, 4]], {A, HAS_A}, {A + 1, HAS_A}, {A + 1, B}) == [[1], [0, 1], []]


def test_without_positive_predicates_the_list_z_is_enough(program):
    assert found_by(program, [[4], []], set(), {B}, {A}) == [[0, 1], [1], [0, 1]]


def test_nothing_is_found_among_no_conjunctions(program):
    assert found_by(program, [], {A, B}, set()) == [[], []]
