"""The structured form: converted both ways without loss, valid by the JSON Schema, and as strict as text."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, seed, settings

from ruledex import RuleError, parse
from ruledex.errors import PatternError, RuleLimitError, RuleSyntaxError, RuleTypeError
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.tree import MAX_DEPTH, Attribute, Bound, Expression, Truth, Within
from tests.strategies import examples, wild_trees

DOCUMENT = Path(__file__).parents[2] / "docs" / "structured.md"
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)]

RULES = [
    "TRUE",
    "NOT FALSE",
    "NULL OR flag",
    "country IN ('IN', 'US') AND age BETWEEN 18 AND 35 AND NOT (device.os = 'ios' AND version(app) < '4.10.2')",
    "(gender = 'M' AND category = 'sports'^2.5) OR (gender = 'F' AND category NOT IN ('finance', NULL))",
    "is_member AND (subset_of(x, 'nfl', 'nba') XOR user_id % 4 = 1) XNOR superset_of(x, 1) XOR set_equals(y, 2)",
    "email RLIKE '.*@example\\\\.com' AND image ILIKE ANY ('%\\\\\\\\cmd.exe', '%powershell%') AND phone IS NULL",
    "x LIKE ALL ('a%', '%b') OR NOT (x LIKE 'c\\\\_'^3)",
    "a = 1 AND a = 1.0 AND a = 1D AND a = 9223372036854775808 AND a = -9223372036854775808 AND a = TRUE",
    "x IN (1^2, 2, NULL) OR x <=> 1 OR (a <=> b)^4 OR (x BETWEEN 1 AND 2)^0.5 OR subset_of(x, 1)^2",
    "seen < TIMESTAMP '2024-01-01 01:02:03.5+05:30' OR seen = TIMESTAMP '2024-01-01' OR d >= DATE '2024-02-29'",
    "cidr(ip) IN ('10.0.0.0/8', '::1') AND version(app) BETWEEN '1' AND '2.0-rc.1'",
    "`odd name`.`with ``tick`.x > abs(-y) + 2 * z AND date_diff(due, '2024-01-01') > 1.50",
    "x BETWEEN NULL AND 3 OR version(x) = '1.2' OR substring(s, 2) = 'é\\u2028' OR round(p, 2) = 1e300",
]


@cache
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(resources.files("ruledex.language").joinpath("rule.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def assert_kept(tree: Expression) -> None:
    document = json.loads(json.dumps(to_structured(tree), allow_nan=False))
    validator().validate(document)
    assert from_structured(document) == tree


@pytest.mark.parametrize("text", RULES)
def test_a_rule_comes_back_from_its_structured_form_the_same(text: str) -> None:
    assert_kept(parse(text))


@seed(20240201)
@settings(max_examples=examples(150), deadline=None, database=None)
@given(wild_trees(3))
def test_every_tree_that_can_be_written_comes_back_the_same_and_is_valid(tree: Expression) -> None:
    assert_kept(tree)


def test_types_of_equal_constants_are_kept_apart() -> None:
    documents = [to_structured(parse(f"x = {constant}"))["value"] for constant in ("1", "1.0", "1D", "TRUE", "'1'")]
    assert documents == [1, {"decimal": "1.0"}, {"double": 1.0}, True, "1"]
    assert [type(d) for d in documents] == [int, dict, dict, bool, str]


@pytest.mark.parametrize("document", EXAMPLES, ids=range(len(EXAMPLES)))
def test_every_example_of_the_documentation_is_valid_and_is_a_rule(document: Any) -> None:
    validator().validate(document)
    assert_kept(from_structured(document))


def test_the_documentation_shows_the_text_of_its_first_example() -> None:
    text = "country IN ('IN', 'US') AND age BETWEEN 18 AND 35 AND device.os != 'ios'"
    assert from_structured(EXAMPLES[0]) == parse(text)
    assert f"`{text}`" in DOCUMENT.read_text()


X = {"attribute": "x"}

REFUSED: list[tuple[Any, type[RuleError], str, str]] = [
    (5, RuleSyntaxError, "$", "a condition is an object"),
    ([], RuleSyntaxError, "$", "a condition is an object"),
    ({}, RuleSyntaxError, "$", "has an op"),
    ({"op": 3}, RuleSyntaxError, "$.op", "no op 3"),
    ({"op": ["and"]}, RuleSyntaxError, "$.op", "no op a list"),
    ({"op": "betwen"}, RuleSyntaxError, "$.op", "did you mean between"),
    ({"op": "and"}, RuleSyntaxError, "$", "'children' is missing"),
    ({"op": "and", "children": [True]}, RuleSyntaxError, "$.children", "at least 2"),
    ({"op": "or", "children": {"a": 1}}, RuleSyntaxError, "$.children", "expected a list"),
    ({"op": "not", "child": True, "children": []}, RuleSyntaxError, "$", "no field 'children'"),
    ({"op": "and", "children": [True, {"op": "not", "child": 7}]}, RuleSyntaxError, "$.children[1].child", "not 7"),
    ({"op": "=", "operand": X, "valeu": 1}, RuleSyntaxError, "$", "did you mean value"),
    ({"op": "=", "operand": X}, RuleSyntaxError, "$", "'value' is missing"),
    ({"op": "=", "operand": "x", "value": 1}, RuleSyntaxError, "$.operand", "not an operand"),
    ({"op": "=", "operand": {"attribute": ""}, "value": 1}, RuleSyntaxError, "$.operand.attribute", "ends here"),
    ({"op": "=", "operand": {"attribute": 1}, "value": 1}, RuleSyntaxError, "$.operand.attribute", "a string"),
    ({"op": "=", "operand": {"attribute": "a + 1"}, "value": 1}, RuleSyntaxError, "$.operand.attribute", "path"),
    ({"op": "=", "operand": {"attribute": "a = 1"}, "value": 1}, RuleSyntaxError, "$.operand.attribute", "attribute"),
    ({"op": "=", "operand": X, "value": 1.5}, RuleSyntaxError, "$.value", '{"double": 1.5}'),
    ({"op": "=", "operand": X, "value": 2**63}, RuleSyntaxError, "$.value", "64 bits"),
    ({"op": "=", "operand": X, "value": {"decimal": 1.5}}, RuleSyntaxError, "$.value.decimal", "expected a string"),
    ({"op": "=", "operand": X, "value": {"decimal": "1,5"}}, RuleSyntaxError, "$.value.decimal", "not a decimal"),
    ({"op": "=", "operand": X, "value": {"decimal": "1" * 39}}, RuleSyntaxError, "$.value.decimal", "38 digits"),
    ({"op": "=", "operand": X, "value": {"double": math.nan}}, RuleSyntaxError, "$.value.double", "finite"),
    ({"op": "=", "operand": X, "value": {"double": 10**400}}, RuleSyntaxError, "$.value.double", "finite"),
    ({"op": "=", "operand": X, "value": {"double": True}}, RuleSyntaxError, "$.value.double", "a number"),
    ({"op": "=", "operand": X, "value": {"date": "2024-02-30"}}, RuleSyntaxError, "$.value.date", "not a date"),
    ({"op": "=", "operand": X, "value": {"version": "one"}}, RuleTypeError, "$.value.version", "not a version"),
    ({"op": "=", "operand": X, "value": {"network": "here"}}, RuleTypeError, "$.value.network", "not an address"),
    ({"op": "=", "operand": X, "value": {"money": 1}}, RuleSyntaxError, "$.value", "one key"),
    ({"op": "=", "operand": X, "value": "\ud800"}, RuleSyntaxError, "$.value", "surrogate"),
    ({"op": "=", "operand": X, "value": 1, "weight": -1}, RuleSyntaxError, "$.weight", "a weight is"),
    ({"op": "=", "operand": X, "value": 1, "weight": math.inf}, RuleSyntaxError, "$.weight", "a weight is"),
    ({"op": "=", "operand": X, "value": 1, "weight": True}, RuleSyntaxError, "$.weight", "a weight is"),
    ({"op": "=", "operand": X, "value": None, "weight": 2}, RuleSyntaxError, "$.weight", "takes no weight"),
    ({"op": "in", "operand": X, "values": []}, RuleSyntaxError, "$.values", "at least 1"),
    ({"op": "in", "operand": X, "values": [1, "a"]}, RuleTypeError, "$", "one type"),
    ({"op": "in", "operand": X, "values": [1, 2], "weights": [1]}, RuleSyntaxError, "$.weights", "2 values"),
    ({"op": "in", "operand": X, "values": [1], "weights": ["1"]}, RuleSyntaxError, "$.weights[0]", "a weight is"),
    ({"op": "like", "operand": X, "patterns": ["a\\b"]}, PatternError, "$", "escape"),
    ({"op": "like", "operand": X, "patterns": [1]}, RuleTypeError, "$", "a string"),
    ({"op": "like", "operand": X, "patterns": ["a"], "every": 1}, RuleSyntaxError, "$.every", "true or false"),
    ({"op": "rlike", "operand": X, "pattern": "("}, PatternError, "$", "RE2 refuses"),
    ({"op": "set_equals", "operand": X, "values": [None]}, RuleSyntaxError, "$", "constants"),
    (
        {"op": "=", "operand": {"function": "yaer", "arguments": [X]}, "value": 1},
        RuleSyntaxError,
        "$.operand",
        "did you mean year",
    ),
    (
        {"op": "=", "operand": {"function": "year", "arguments": [X]}, "value": "a"},
        RuleTypeError,
        "$",
        "year() gives a number",
    ),
    (
        {"op": "=", "operand": {"function": "abs", "arguments": [{"function": "lower", "arguments": [X]}]}, "value": 1},
        RuleTypeError,
        "$.operand",
        "takes a number",
    ),
    (
        {"op": "=", "operand": {"function": "subset_of", "arguments": [X, 1]}, "value": True},
        RuleTypeError,
        "$.operand",
        "is a condition",
    ),
    ({"op": "=", "operand": {"function": 1, "arguments": [X]}, "value": 1}, RuleSyntaxError, "$.operand.function", ""),
    (
        {"op": "=", "operand": {"function": "abs", "arguments": []}, "value": 1},
        RuleSyntaxError,
        "$.operand",
        "takes 1 argument",
    ),
]


@pytest.mark.parametrize(("document", "kind", "path", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_fault_is_named_with_its_path(document: Any, kind: type[RuleError], path: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        from_structured(document)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("wrap", [lambda d: {"op": "not", "child": d}, lambda d: {"op": "or", "children": [d, True]}])
def test_deep_nesting_is_refused_at_once_and_the_deepest_that_text_allows_is_read(wrap: Any) -> None:
    document: Any = True
    for _ in range(MAX_DEPTH - 1):
        document = wrap(document)
    assert to_structured(from_structured(document)) == document
    with pytest.raises(RuleLimitError):
        from_structured(wrap(document))
    for _ in range(100_000):
        document = wrap(document)
    with pytest.raises(RuleLimitError):
        from_structured(document)


def test_deep_functions_are_refused_as_well() -> None:
    operand: Any = X
    for _ in range(MAX_DEPTH * 2):
        operand = {"function": "abs", "arguments": [operand]}
    with pytest.raises(RuleLimitError):
        from_structured({"op": "=", "operand": operand, "value": 1})


def test_a_document_may_change_after_it_was_read() -> None:
    document = {"op": "in", "operand": X, "values": [1, 2], "weights": [1, 2]}
    tree = from_structured(document)
    document["values"].append(3)  # type: ignore[attr-defined]
    assert tree == parse("x IN (1, 2^2)")


def test_what_rewrites_make_has_no_structured_form() -> None:
    with pytest.raises(TypeError, match="rewrites"):
        to_structured(Within(Attribute(("x",)), (), (Bound(1, True, None, False),)))


def test_constants_by_themselves_are_conditions_where_they_are_truths() -> None:
    assert [from_structured(d) for d in (True, False, None)] == [Truth(True), Truth(False), Truth(None)]
