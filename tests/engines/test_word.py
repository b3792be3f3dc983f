import numpy as np
import pytest

from ruledex.engines import word as module
from ruledex.engines.auto import AutoEngine
from ruledex.engines.word import RuleWord
from tests.contract.builder import make_batch, make_program
from tests.contract.reference import Reference
from tests.contract.sizes import scaled

from .programs import drawn_batch, drawn_program


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_word_finds_what_the_reference_finds(seed, several):
    program = drawn_program(40, seed)
    word = RuleWord.of(program)
    assert word is not None
    batch = drawn_batch(program, scaled(60, 20), seed, several)
    for event, expected in enumerate(Reference(program).matches(batch)):
        cells = batch.cells[batch.offsets[event] : batch.offsets[event + 1]].tolist()
        assert word.match(cells) == expected
        assert word.match(cells[::-1]) == expected


def test_what_depends_on_one_operand_takes_one_bit():
    either = ("or", ("in", (1, 1)), ("in", (3, 3)))
    program = make_program([4, 4], [(either, 0.0, None), (("and", either, ("in", (6, 6))), 0.0, None)])
    word = RuleWord.of(program)
    assert word is not None
    assert word.n_bits == 1 + 2
    assert [word.match(cells) for cells in ([0], [0, 1], [0, 2, 6], [0, 3, 6])] == [[], [0], [], [0, 1]]


def test_constants_are_rules_too():
    program = make_program([2], [("always", 0.0, None), ("never", 0.0, None), (("in", (1, 1)), 0.0, None)])
    word = RuleWord.of(program)
    assert word is not None
    assert word.match([0]) == [0]
    assert word.match([0, 1]) == [0, 2]


def test_there_is_no_word_of_many_rules_or_of_large_ones(monkeypatch):
    program = drawn_program(30)
    word = RuleWord.of(program)
    assert word is not None
    for limit, value in (("MOST_RULES", 29), ("MOST_BITS", word.n_bits - 1), ("MOST_LEVELS", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, value)
            assert RuleWord.of(program) is None
            engine = AutoEngine.build(program)
            assert engine.describe()["word"] is None
    assert AutoEngine.build(program).describe()["word"]["bits"] == word.n_bits


def test_changes_are_forgotten_when_they_are_many(monkeypatch):
    monkeypatch.setattr(module, "_MOST_KNOWN", 3)
    program = drawn_program(20)
    word = RuleWord.of(program)
    assert word is not None
    batch = drawn_batch(program, 20)
    expected = Reference(program).matches(batch)
    for event, rules in enumerate(expected):
        assert word.match(batch.cells[batch.offsets[event] : batch.offsets[event + 1]].tolist()) == rules
    assert len(word._known) <= 3


def test_an_empty_program_has_an_empty_word():
    program = make_program([2], [])
    word = RuleWord.of(program)
    assert word is not None
    batch = make_batch(program, [{1}])
    assert word.match(batch.cells.tolist()) == []
    assert np.array_equal(AutoEngine.build(program).match_one([0, 1]), np.empty(0, np.int32))
