import pytest

from ruledex.encode.domain import Kind
from ruledex.encode.growing_literals import Mark, Negative, Positive, Stretch
from ruledex.encode.growing_rules import encode_rules
from ruledex.language.schema import Schema
from ruledex.language.value import Family

A = (False, "a")


def literals(*texts):
    meanings = encode_rules(Schema(), [(text, 0.0) for text in texts]).meanings
    return {*meanings.positives, *meanings.negatives}


def test_ends_of_stretches_are_constants():
    assert literals("a > 3") == {Positive((), (Stretch(A, Kind.EXACT, 3, False, None, False),))}
    assert literals("a BETWEEN 3 AND 5") == {Positive((), (Stretch(A, Kind.EXACT, 3, True, 5, True),))}
    assert literals("a < 'm'") == {Positive((), (Stretch(A, Kind.STRING, None, False, "m", False),))}


def test_a_list_is_a_point_for_each_of_its_values():
    (found,) = literals("a IN (7, 3)")
    assert found.stretches == tuple(Stretch(A, Kind.EXACT, value, True, value, True) for value in (3, 7))


def test_a_negative_literal_has_its_presence():
    positive = Positive((), (Stretch(A, Kind.EXACT, 3, True, 3, True),))
    assert literals("a != 3") == {positive, Negative(Mark(A, "present", Family.NUMBER), positive)}
    not_null = Positive((Mark(A, "not null"),), ())
    assert literals("a IS NULL") == {not_null, Negative(None, not_null)}


def test_a_pattern_is_a_mark_that_brings_its_predicate():
    meanings = encode_rules(Schema(), [("a LIKE 'x%y'", 0.0)]).meanings
    ((mark,),) = {literal.marks for literal in meanings.positives}
    assert mark.word == "key"
    assert meanings.predicates[mark][1] is Family.STRING


@pytest.mark.parametrize("text", ["a > 3 AND b = 'x'", "a NOT IN (1, 2) OR a IS NULL", "s LIKE '%x%' AND size(t) > 2"])
def test_the_same_rule_beside_others_means_the_same(text):
    alone = literals(text)
    together = literals("a = 1.5", "a < 7", text, f"a = {2**53} OR a = {2**53 + 1}", "s < 'k'")
    assert alone <= together
