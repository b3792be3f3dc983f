"""What literals mean, read off the table that they were entered in."""

import pytest

from ruledex.dictionary.meanings import Negative, OperandMark, Positive, Values
from ruledex.engines.atree.new_rules import encode_rules
from ruledex.language.parser import parse
from ruledex.language.schema import Schema
from ruledex.language.tree import Bound
from ruledex.language.value import Family
from ruledex.program.builder import ProgramBuilder
from ruledex.workloads import workload

A = (False, "a")


def literals(*texts):
    meanings = encode_rules(Schema(), [(text, 0.0) for text in texts]).meanings
    return dict(zip(meanings.keys, (*meanings.positives, *meanings.negatives), strict=True))


def positive(text):
    (found,) = literals(text).values()
    return found


def test_stretches_keep_their_constants():
    assert positive("a > 3") == Positive(None, Values(A, (), (Bound(3, False, None, False),)))
    assert positive("a BETWEEN 3 AND 5") == Positive(None, Values(A, (), (Bound(3, True, 5, True),)))
    assert positive("a < 'm'") == Positive(None, Values(A, (), (Bound(None, False, "m", False),)))


def test_a_stretch_that_holds_no_integer_keeps_both_of_its_constants():
    low, high = 2**53 + 1, 2**53
    assert positive(f"a BETWEEN {low} AND {high}") == Positive(None, Values(A, (), (Bound(low, True, high, True),)))


def test_a_list_keeps_each_of_its_values():
    assert positive("a IN (7, 3)") == Positive(None, Values(A, (3, 7), ()))


def test_a_negative_literal_has_its_presence():
    three = Positive(None, Values(A, (3,), ()))
    assert [*literals("a != 3").values()] == [three, Negative(OperandMark(A, "present", Family.NUMBER), three)]
    not_null = Positive(OperandMark(A, "not null"), None)
    assert [*literals("a IS NULL").values()] == [not_null, Negative(None, not_null)]


def test_a_stranger_is_outside_of_its_set():
    (found, *_) = literals("NOT subset_of(a, 1, 2)").values()
    assert found == Positive(None, Values(A, (1, 2), (), outside=True))


def test_a_pattern_is_a_mark_that_brings_its_predicate():
    meanings = encode_rules(Schema(), [("a LIKE 'x%y'", 0.0)]).meanings
    (mark,) = {literal.mark for literal in meanings.positives}
    assert mark.word == "key"
    assert meanings.predicates[mark][1] is Family.STRING


@pytest.mark.parametrize("text", ["a > 3 AND b = 'x'", "a NOT IN (1, 2) OR a IS NULL", "s LIKE '%x%' AND size(t) > 2"])
def test_the_same_rule_beside_others_means_the_same(text):
    alone = literals(text)
    together = literals("a = 1.5", "a < 7", text, f"a = {2**53} OR a = {2**53 + 1}", "s < 'k'")
    assert alone.items() <= together.items()


@pytest.mark.parametrize("pair", [("a = 1", "a = 1e0"), ("a = 1", "a = TRUE"), ("a = '1'", "a = 1")])
def test_constants_that_python_takes_for_one_are_two(pair):
    assert len(literals(*pair)) == 2


def test_a_program_without_cells_has_the_same_nodes():
    builders = [ProgramBuilder(Schema()) for _ in range(2)]
    for _, text in workload("abe", seed=3, n_expressions=200).rules(200):
        for builder in builders:
            builder.add(Schema().bind(parse(text), text))
    bare, whole = builders[0].finish_without_cells(), builders[1].finish(share=False).program
    for name in ("node_op", "child_offsets", "children", "root", "negative_of", "score_offsets", "score_code"):
        assert getattr(bare, name).tolist() == getattr(whole, name).tolist()
    assert (bare.n_literals, bare.n_positive) == (whole.n_literals, whole.n_positive)
