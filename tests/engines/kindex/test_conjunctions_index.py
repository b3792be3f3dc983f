import numpy as np
import pytest

from ruledex.engines.kindex import conjunctions as conjunction_index
from ruledex.engines.kindex import hierarchy, posting_lists
from ruledex.engines.kindex.conjunctions import ConjunctionIndex
from ruledex.engines.kindex.matching import matching_conjunctions
from ruledex.errors import ArtifactError, RuledexError
from tests.contract.builder import make_program
from tests.contract.reference import Reference
from tests.contract.sizes import scaled
from tests.engines.programs import drawn_batch, drawn_program


def drawn_conjunctions(program, n_conjunctions, seed):
    rng = np.random.default_rng(seed)
    rows = [sorted({*rng.choice(program.n_literals, rng.integers(0, 5)).tolist()}) for _ in range(n_conjunctions)]
    return [list(row) for row in dict.fromkeys(map(tuple, rows))]


def built(program, rows):
    literals = np.array([literal for row in rows for literal in row], np.int32)
    return ConjunctionIndex.build(program, np.cumsum([0, *map(len, rows)]), literals)


def assert_finds(index, program, rows, batch):
    reference = Reference(program)
    scratch, out = index.new_scratch(batch), np.zeros(len(rows), np.int32)
    for number, event in enumerate(reference.events(batch)):
        begin, end = batch.offsets[number], batch.offsets[number + 1]
        n_found = matching_conjunctions(index.index, scratch, batch.cells, begin, end, out)
        expected = [i for i, row in enumerate(rows) if all(reference.holds(literal, event) for literal in row)]
        assert sorted(out[:n_found].tolist()) == expected


@pytest.fixture(params=["as given", "led and clustered", "shared"])
def shape(request, monkeypatch):
    """Small numbers in place of those from which on each arrangement is worth while."""
    if request.param == "led and clustered":
        monkeypatch.setattr(posting_lists, "N_LED", 3)
        monkeypatch.setattr(conjunction_index, "N_CLUSTERED", 1)
    monkeypatch.setattr(hierarchy, "N_SHARED", 1 if request.param == "shared" else 1 << 30)
    return request.param


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_all_true_conjunctions_are_found_once(shape, seed, several):
    program = drawn_program(40, seed)
    rows = drawn_conjunctions(program, scaled(300, 60), seed)
    index = built(program, rows)
    assert_finds(index, program, rows, drawn_batch(program, scaled(20, 4), seed, several))
    assert index.index.partition_opened.any() == (shape == "led and clustered")
    assert (len(index.index.links) > 0) == (shape == "shared")


def test_an_index_restored_from_its_arrays_finds_the_same():
    program = drawn_program(40, 1)
    rows = drawn_conjunctions(program, 60, 1)
    index = ConjunctionIndex.from_arrays(program, built(program, rows).arrays())
    assert_finds(index, program, rows, drawn_batch(program, 5, 1))


def test_a_missing_array_is_a_damaged_index():
    program = drawn_program(5)
    arrays = built(program, [[0]]).arrays()
    del arrays["entries"]
    with pytest.raises(ArtifactError, match="entries"):
        ConjunctionIndex.from_arrays(program, arrays)


def test_an_interval_over_two_domains_is_refused():
    program = make_program([2, 2], [(("in", (2, 3)), 0.0, None)])
    with pytest.raises(RuledexError, match="domain"):
        built(program, [[0]])


def test_the_presence_that_two_negations_need_counts_once():
    presence = 4
    negations = [("not in", presence, (1, 1)), ("not in", presence, (2, 2)), ("in", (presence, presence))]
    program = make_program([3, 1], [(("and", *negations), 0.0, None)])
    index = built(program, [program.children.tolist()])
    assert index.index.partition_size.tolist() == [1]


def test_weak_negations_leave_a_conjunction_without_size():
    program = make_program([3], [(("not in", 0, (1, 1)), 0.0, None)])
    assert built(program, [[program.n_positive]]).index.partition_size.tolist() == [0]
