import numpy as np
import pytest

from ruledex.compiled.constants import AND, CONSTANT, IS_TRUE, LEAF, OR, STEP_BITS
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.errors import RulesError
from ruledex.language.parser import parse
from ruledex.language.schema import Schema


def steps_of(encoded, rule):
    first, last = encoded.score_offsets[rule : rule + 2]
    return [(int(step) & 7, int(step) >> STEP_BITS) for step in encoded.score_code[first:last]]


def test_every_rule_has_its_score_program():
    encoded = encode_rules(Schema(), [("a = 1 AND (b = 2 OR c = 3)", 0.0), ("a = 1", 2.0), ("TRUE", 0.0)])
    assert np.diff(encoded.program.score_offsets)[:2].tolist() == [0, 0]
    assert sorted(operation for operation, _ in steps_of(encoded, 0)) == [AND, OR, LEAF, LEAF, LEAF]
    assert steps_of(encoded, 0)[-1] == (AND, 2)
    assert [operation for operation, _ in steps_of(encoded, 1)] == [LEAF]
    assert steps_of(encoded, 2) == [(CONSTANT, IS_TRUE)]


def test_programs_that_a_rule_has_are_kept():
    encoded = encode_rules(Schema(), [("a = 1^2 AND b = 2", 0.0), ("a = 1 XOR b = 2", 0.0)])
    program = encoded.program
    assert np.array_equal(np.diff(encoded.score_offsets), np.diff(program.score_offsets))
    assert np.array_equal(encoded.score_code, program.score_code)


def test_texts_and_trees_may_be_mixed():
    rules = ["a = 1", "b > 2", "c IS NULL", "a = 1 OR b > 2"]
    mixed = [(parse(text) if place % 2 else text, float(place)) for place, text in enumerate(rules)]
    encoded = encode_rules(Schema(), mixed)
    assert encoded.program.static_score.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert len(encoded.program.root) == 4


def test_all_faults_are_reported_with_their_places():
    schema = Schema.of_mapping({"attributes": {"a": {"type": "string"}}})
    rules = [("a = = 1", 0.0), (parse("b = 1"), 0.0), (parse("a > 1"), 0.0), ("c =", 0.0)]
    with pytest.raises(RulesError) as caught:
        encode_rules(schema, rules)
    assert [fault.line for fault in caught.value.faults] == [1, 3, 4]
