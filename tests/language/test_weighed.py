"""A weight after IS NULL, IS TRUE and its kin, or a negation: what scores 0 by itself scores the weight."""

from __future__ import annotations

from random import Random

import pytest

from ruledex import Index
from ruledex.engines.registry import PLACES
from ruledex.errors import RuleSyntaxError
from ruledex.language.parser import parse
from ruledex.language.reference import score_of, truth_of
from ruledex.language.spark_text import to_spark
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text

EVENTS = [{}, {"x": 1}, {"x": [1, 2], "y": "a"}, {"x": 2, "y": "b"}, {"y": None, "z": True}]
WEIGHTS = {"x": {1: 0.5, 2: 3.0}, "y": 2.0, "z": 4.0}


@pytest.mark.parametrize(
    ("rule", "event", "score"),
    [
        ("(x IS NOT NULL)^2", {"x": 5}, 2.0),
        ("(x IS NOT NULL)^2", {"x": [1, 2]}, 6.0),  # the value with the largest weight of the event
        ("(y IS NOT NULL)^2", {"y": "a"}, 4.0),
        ("x IS NOT NULL", {"x": 5}, 0.0),
        ("(x IS NOT NULL)^1", {"x": 5}, 1.0),
        ("(x IS NOT NULL)^0", {"x": 5}, 0.0),
        ("(x IS NULL)^3", {"y": "a"}, 3.0),
        ("(x IS NULL)^3", {"x": 1}, None),
        ("(x NOT IN (1, 2))^3", {"x": 4}, 3.0),
        ("(y NOT LIKE 'a%')^0.5 AND (x IS NULL)^2", {"y": "b"}, 2.5),
        ("(y != 'a')^2 OR (x = 1)^9", {"x": 1, "y": "b"}, 4.5),
        ("((x = 1 OR y = 'a') IS NOT TRUE)^2", {}, 2.0),
        ("((x = 1) IS UNKNOWN)^2 AND (z IS FALSE)^3", {"z": False}, 5.0),
        ("((x IS NULL)^2)^3", {}, 6.0),
        ("NOT (x IS NULL)^2", {"x": 1}, 0.0),
        ("NOT (x != 1)^2", {"x": 1}, 0.5),  # as NOT x != 1: x = 1, with the weight of the event
        ("(x IS NULL)^2 XOR (y IS NULL)^3", {"x": 1}, 3.0),
        ("subset_of(x, 1)^2 AND (NOT subset_of(y, 'a'))^5", {"x": 1, "y": "b"}, 7.0),
        ("(NOT x < y)^2", {"x": 3, "y": 1}, 2.0),
        ("(* IS NOT NULL)^2", {"y": "a"}, 2.0),
    ],
)
def test_it_scores_its_weight_where_it_is_true(rule, event, score):
    tree = parse(rule)
    assert score_of(tree, event, WEIGHTS) == score
    assert truth_of(tree, event) is (score is not None)
    assert parse(tree_text(tree)) == tree
    assert from_structured(to_structured(tree)) == tree
    found = Index.build([(7, rule)]).top(event, 1, weights=WEIGHTS)
    assert found == ([] if score is None else [(7, score)])
    assert "^" not in to_spark(parse("(x IS NOT NULL)^2"))


def test_the_structured_form_has_the_weight_beside_the_test():
    written = to_structured(parse("(x IS NOT NULL)^2"))
    assert written == {"op": "not", "child": {"op": "is_null", "operand": {"attribute": "x"}}, "weight": 2.0}
    assert from_structured({"op": "is_null", "operand": {"attribute": "x"}, "weight": 2}) == parse("(x IS NULL)^2")
    with pytest.raises(RuleSyntaxError, match="no field"):
        from_structured({"op": "required", "child": True, "weight": 2})


def test_conditions_of_several_predicates_take_none():
    for rule in ("(a AND b)^2", "(NOT (a OR b))^2", "TRUE^2", "(REQUIRED(a))^2"):
        with pytest.raises(RuleSyntaxError, match="weight"):
            parse(rule)


PARTS = (
    "(x IS NOT NULL)^2",
    "(x IS NULL)^0.25",
    "(y NOT IN ('a', 'c'))^3",
    "((x = 1 AND y = 'a') IS NOT TRUE)^4",
    "(z IS TRUE)^0.5",
    "(y IS NOT NULL)^0",
    "x = 1",
    "y = 'b'^2",
    "z",
)


def drawn_rules() -> list[tuple[int, str]]:
    random = Random(9)
    rules = []
    for number in range(40):
        chosen = random.sample(PARTS, random.randint(1, 3))
        rules.append((number, random.choice((" AND ", " OR ", " XOR ")).join(chosen)))
    return rules


@pytest.mark.parametrize("engine", list(PLACES))
def test_every_engine_scores_as_the_reference_does(engine, tmp_path):
    rules = drawn_rules()
    index = Index.build(rules[:25], engine=engine)
    index.save(tmp_path)
    index = Index.open(tmp_path)
    index.add(rules[25:])
    trees = [parse(rule) for _, rule in rules]
    for event in EVENTS:
        scores = [(number, score_of(tree, event, WEIGHTS)) for number, tree in enumerate(trees)]
        true = [(number, score) for number, score in scores if score is not None]
        expected = sorted(true, key=lambda found: (-found[1], found[0]))
        found = index.top(event, len(rules), weights=WEIGHTS)
        assert found == expected
        assert index.match(event) == [number for number, _ in true]


def test_relaxed_ranking_may_give_up_a_conjunct_with_a_weight():
    index = Index.build([(1, "(x IS NOT NULL)^2 AND y = 'a'"), (2, "x IS NOT NULL AND y = 'a'")])
    assert index.top({"y": "a"}, 5, mode="relaxed") == [(1, 1.0)]
    assert index.top({"x": 1}, 5, mode="relaxed") == [(1, 2.0)]


def test_an_explanation_shows_the_test_without_its_weight():
    explained = Index.build([(1, "(x IS NOT NULL)^2 AND NOT (y IS NULL)^3")]).explain(1, {"x": 1})
    assert explained.truth is False
    assert "x IS NOT NULL   x is 1" in str(explained)
