"""REQUIRED(…): where it is allowed, how it is written, and that it changes neither truth nor score of a rule."""

import json

import pytest

from ruledex.errors import RuleError, RuleSyntaxError
from ruledex.explain import explain
from ruledex.index import Index
from ruledex.language.parser import parse
from ruledex.language.reference import score_of, truth_of
from ruledex.language.rule_checks import check_required, parts_of
from ruledex.language.schema import Schema
from ruledex.language.spark_text import to_spark
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text
from ruledex.language.tree import And, Attribute, Compare, Not, Or, Required, Truth, predicates, without_required
from ruledex.rewrite.pipeline import match_tree, score_tree

A, B, C = (Compare(Attribute((name,)), "=", 1) for name in "abc")

WRITTEN = {
    "REQUIRED(a = 1)": Required(A),
    "REQUIRED(a = 1) AND b = 1": And((Required(A), B)),
    "REQUIRED(a = 1 AND b = 1) AND c = 1": And((Required(And((A, B))), C)),
    "REQUIRED(a = 1 OR b = 1) AND c = 1": And((Required(Or((A, B))), C)),
    "REQUIRED(a != 1) AND b = 1": And((Required(Not(A)), B)),
    "REQUIRED(a = 1) AND b = 1 OR c = 1": Or((And((Required(A), B)), C)),
    "REQUIRED(a = 1) OR c = 1": Or((Required(A), C)),
    "a = 1 AND (b = 1 AND REQUIRED(c = 1))": And((A, And((B, Required(C))))),
    "REQUIRED(TRUE)": Required(Truth(True)),
}

MISPLACED = [
    "NOT REQUIRED(a = 1)",
    "a = 1 AND (b = 1 OR REQUIRED(c = 1))",
    "a = 1 XOR REQUIRED(b = 1)",
    "REQUIRED(a = 1 AND REQUIRED(b = 1))",
    "REQUIRED(REQUIRED(a = 1))",
    "a = 1 OR b = 1 AND (c = 1 OR REQUIRED(a = 2) AND b = 2)",
]


@pytest.mark.parametrize(("text", "tree"), WRITTEN.items())
def test_it_is_read_and_written(text, tree):
    assert parse(text) == tree
    assert tree_text(tree) == text


@pytest.mark.parametrize("tree", WRITTEN.values(), ids=tree_text)
def test_its_structured_form_gives_it_back(tree):
    document = json.loads(json.dumps(to_structured(tree)))
    assert from_structured(document) == tree


def test_its_structured_form_has_a_child():
    assert to_structured(Required(A)) == {"op": "required", "child": to_structured(A)}
    with pytest.raises(RuleSyntaxError, match="children"):
        from_structured({"op": "required", "child": True, "children": []})


def test_case_does_not_matter_and_a_bare_attribute_is_a_condition():
    assert (
        parse("required(flag)")
        == parse("Required( flag = TRUE )")
        == Required(Compare(Attribute(("flag",)), "=", True))
    )


def test_an_attribute_may_have_the_name():
    assert parse("required = 1 AND required.by = 2") == parse("`required` = 1 AND `required`.by = 2")


@pytest.mark.parametrize("text", MISPLACED)
def test_it_is_refused_where_it_says_nothing(text):
    with pytest.raises(RuleSyntaxError, match="REQUIRED has no effect here") as refused:
        parse(text)
    assert "conjunct of the rule" in str(refused.value)


def test_the_structured_form_is_refused_there_too():
    with pytest.raises(RuleSyntaxError, match=r"^\$: REQUIRED has no effect here"):
        from_structured({"op": "not", "child": to_structured(Required(A))})


def test_the_error_points_at_what_stands_inside():
    text = "a = 1 AND (b = 1 OR REQUIRED(c = 1))"
    with pytest.raises(RuleSyntaxError) as refused:
        parse(text)
    assert refused.value.position == text.index("c = 1")


@pytest.mark.parametrize("text", ["REQUIRED()", "REQUIRED(a = 1, b = 1)", "REQUIRED(a = 1)^2", "REQUIRED(5)"])
def test_it_takes_one_condition_and_no_weight(text):
    with pytest.raises(RuleError):
        parse(text)


@pytest.mark.parametrize("tree", WRITTEN.values(), ids=tree_text)
def test_truth_score_and_what_spark_is_told_are_those_of_the_rule_without_it(tree):
    plain = without_required(tree)
    assert "REQUIRED" not in tree_text(plain)
    assert to_spark(tree) == to_spark(plain)
    assert match_tree(tree) == match_tree(plain)
    for event in ({}, {"a": 1}, {"a": 1, "b": 1}, {"b": 1, "c": 1}, {"a": 2, "c": 1}, {"a": 2, "b": 1}):
        assert truth_of(tree, event) is truth_of(plain, event)
        assert score_of(tree, event) == score_of(plain, event)


def test_the_score_tree_keeps_it_in_the_place_of_its_child():
    assert score_tree(parse("REQUIRED(NOT (b = 1 OR a = 1)) AND c = 1")) == And((C, Required(And((Not(A), Not(B))))))
    assert score_tree(parse("REQUIRED(b = 1) AND a = 1")) == And((A, Required(B)))


def test_a_tree_without_it_is_returned_as_it_is():
    tree = parse("a = 1 AND (b = 1 OR NOT c = 1)")
    assert without_required(tree) is tree
    check_required(tree, "")


def test_parts_are_those_of_nested_branches_of_one_kind():
    assert parts_of(parse("a = 1 AND (b = 1 AND c = 1)"), And) == [A, B, C]
    assert parts_of(parse("a = 1 AND (b = 1 AND c = 1)"), Or) == [parse("a = 1 AND (b = 1 AND c = 1)")]


def test_predicates_and_the_schema_see_what_stands_inside():
    assert list(predicates(parse("REQUIRED(a = 1) AND b = 1"))) == [A, B]
    schema = Schema.of_mapping({"attributes": {"seen": {"type": "timestamp"}}})
    bound = schema.bind(parse("REQUIRED(seen > '2024-12-31') AND b = 1"), "")
    assert bound == schema.bind(parse("REQUIRED(seen > DATE '2024-12-31') AND b = 1"), "")


def test_an_explanation_passes_it_over():
    text = "REQUIRED(a = 1) AND b = 1"
    explanation = explain(parse(text), text, {"a": 2, "b": 1}, Schema())
    assert explanation.truth is False
    assert [clause.text for clause in explanation.clause.leaves()] == ["a = 1", "b = 1"]


def test_an_index_matches_and_ranks_as_without_it():
    index = Index.build([(1, "REQUIRED(a = 1)"), (2, "REQUIRED(a = 1 OR b = 1) AND c = 1^2"), (3, "REQUIRED(a != 1)")])
    assert index.match({"a": 1, "c": 1}) == [1, 2]
    assert index.match({"a": 2}) == [3]
    assert index.top({"a": 1, "c": 1}, 3) == [(2, 3.0), (1, 1.0)]
