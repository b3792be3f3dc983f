"""Named conditions: a rule with names means what it does with the conditions written in their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruledex import Index, Schema, evaluate, parse, score, to_text
from ruledex.errors import DefinitionError, RuleLimitError, RulesError, RuleSyntaxError, SchemaError
from ruledex.language.definitions import names_in_text, users_of, write_out
from ruledex.language.structured import from_structured, to_structured
from ruledex.language.text import tree_text
from ruledex.language.tree import And, Is, Named, Not, Or, Xor, predicates
from ruledex.limits import set_limits
from tests.strategies import events, trees


def defined(**definitions):
    return Schema().with_definitions(definitions)


# Writing names.


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("@adults", "@adults"),
        ("@adults and not @`two words`", "@adults AND NOT @`two words`"),
        ("@größe OR @`a``b`", "@größe OR @`a``b`"),
        ("(@a AND @and) IS NOT TRUE", "(@a AND @and) IS NOT TRUE"),
        ("@a IS UNKNOWN", "@a IS UNKNOWN"),
        ("REQUIRED(@a) AND x = '@b'", "REQUIRED(@a) AND x = '@b'"),
        ("@a /* @b */ XOR @c -- @d", "@a XOR @c"),
    ],
)
def test_names_are_read_and_written(rule, text):
    tree = parse(rule)
    assert to_text(tree) == text
    assert parse(text) == tree
    assert from_structured(to_structured(tree)) == tree


def test_names_are_found_in_texts_but_not_in_strings_and_comments():
    text = "@a AND x = '@no' AND `@no` = 1 -- @no\nOR NOT @`b c` /* @no */ OR y LIKE \"@no\""
    assert names_in_text(text) == {"a", "b c"}
    assert names_in_text("x = 'a@b'") == names_in_text("x = 1") == set()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("@a = 1", "a condition cannot be compared"),
        ("x IN (@a)", "only a constant is allowed here"),
        ("@a IN (1)", "IN needs an attribute to its left, not a condition"),
        ("lower(@a) = 'x'", "lower() takes values, not conditions"),
        ("(@a)^2", "a named condition takes no weight"),
        ("@ a", "unexpected character '@'"),
        ("@a.b", "found '.', expected an operator"),
        ("@1a", "unexpected character '@'"),
    ],
)
def test_what_is_no_use_of_a_name_is_refused(rule, message):
    with pytest.raises(Exception, match="line 1") as raised:
        parse(rule)
    assert message in str(raised.value)


@pytest.mark.parametrize("document", [{"named": ""}, {"named": 5}, {"named": "\ud800"}, {"named": "a", "op": "and"}])
def test_structured_names_are_checked(document):
    with pytest.raises(RuleSyntaxError, match=r"\$"):
        from_structured(document)


# Meaning.


def test_a_name_stands_for_its_condition():
    schema = defined(adults="age >= 18", members="@adults AND is_member")
    assert evaluate(parse("@members"), {"age": 20, "is_member": True}, schema) is True
    assert evaluate(parse("NOT @members"), {"age": 17}, schema) is True
    assert evaluate(parse("@members"), {"age": 20}, schema) is None
    assert score(parse("@members AND (x = 1)^3"), {"age": 20, "is_member": True, "x": 1}, schema=schema) == 5


def test_a_test_of_a_name_takes_a_weight():
    schema = defined(adults="age >= 18", present="(x IS NOT NULL)^2")
    rule = parse("(@adults IS TRUE)^5 AND @present")
    assert score(rule, {"age": 20, "x": 1}, schema=schema) == 7
    index = Index.build([(1, to_text(rule)), (2, "NOT @present")], definitions=schema.definitions)
    assert index.top({"age": 20, "x": 1}, 2) == [(1, 7.0)]
    assert index.match({"age": 20}) == [2]


def test_constants_of_definitions_get_the_declared_types():
    schema = Schema.of_mapping({"attributes": {"seen": "timestamp"}, "definitions": {"new": "seen > '2024-01-01'"}})
    assert evaluate(parse("@new"), {"seen": "2024-01-01T00:00:01Z"}, schema) is True
    with pytest.raises(RulesError, match=r"rule '@new': line 1, column 1: the schema declares seen as"):
        Schema.of_mapping({"attributes": {"seen": "timestamp"}, "definitions": {"new": "seen > 5"}})


@given(trees(2), trees(2), trees(2), st.lists(events(), min_size=1, max_size=5))
def test_a_rule_with_names_is_as_true_as_the_rule_written_out(first, second, third, found):
    schema = defined(first=tree_text(first), second=tree_text(Or((Named("first"), second))))
    named = And((Or((Named("second"), third)), Xor((Not(Named("first")), Is(Named("second"), None), third))))
    either = Or((first, second))
    written = And((Or((either, third)), Xor((Not(first), Is(either, None), third))))
    assert schema.bind(named) == written
    assert write_out(schema.bind_named(named)) == written
    for event in found:
        assert evaluate(named, event, schema) is evaluate(written, event)
        assert score(named, event, schema=schema) == score(written, event)


def test_predicates_of_a_condition_that_is_written_out_are_where_its_name_is():
    schema = defined(a="x = 1 AND @b", b="y = 2")
    rule = "z = 3 OR @a"
    tree = write_out(schema.bind_named(parse(rule), rule))
    assert [predicate.position for predicate in predicates(tree)] == [0, 9, 9]


def test_conditions_are_shared_by_the_rules_that_use_them():
    schema = defined(a="x = 1 AND y = 2")
    one, other = schema.bind(parse("@a OR z = 1")), schema.bind(parse("@a OR z = 2"))
    assert one.children[0] is other.children[0]


# Errors.


def test_an_unknown_name_is_an_error_with_its_place_and_a_suggestion():
    rule = "x = 1 AND @adult"
    with pytest.raises(DefinitionError, match="there is no definition @adult; did you mean @adults") as raised:
        defined(adults="age >= 18").bind(parse(rule), rule)
    assert (raised.value.position, raised.value.code) == (10, "definition")
    with pytest.raises(DefinitionError, match="definitions are given with the rules"):
        evaluate(parse("@adults"), {})


def test_a_definition_that_needs_itself_shows_the_way_around():
    with pytest.raises(RulesError) as raised:
        defined(a="x = 1 OR @b", b="@c AND y = 1", c="NOT @a", d="@a", e="@e")
    assert [(fault.rule_id, fault.error.message) for fault in raised.value.faults] == [
        ("@c", "@a needs itself: @a → @b → @c → @a"),
        ("@e", "@e needs itself: @e → @e"),
    ]


def test_every_invalid_definition_is_reported_once():
    with pytest.raises(RulesError) as raised:
        defined(a="x =", b="@a", c="REQUIRED(x = 1)", d="@nobody", good="x = 1")
    assert [fault.rule_id for fault in raised.value.faults] == ["@a", "@c", "@d"]
    with pytest.raises(RulesError, match="a definition is a text, not 5"):
        defined(a=5)
    with pytest.raises(RulesError, match="has a text as its name, not 1"):
        Schema().with_definitions({1: "x"})
    with pytest.raises(Exception, match="definitions are conditions by name"):
        Schema().with_definitions(["a"])


def test_two_conditions_of_one_name_are_an_error():
    schema = defined(a="x = 1")
    assert schema.with_definitions({"a": "x = 1", "b": "y"}).definitions == {"a": "x = 1", "b": "y"}
    with pytest.raises(SchemaError, match="@a is defined twice"):
        schema.with_definitions({"a": "x = 2"})


def test_a_rule_that_becomes_too_large_is_refused():
    doubling = {f"d{n + 1}": f"(@d{n} AND y = {n}) OR (@d{n} AND z = {n})" for n in range(40)}
    with pytest.raises(RulesError, match="over the limit expanded_characters of 1,048,576"):
        Schema().with_definitions({"d0": "x = 1"} | doubling)
    schema = defined(a="x = 1 AND y = 2")
    before = set_limits(expanded_characters=50)
    try:
        assert schema.bind(parse("@a OR @a")) is not None
        with pytest.raises(RuleLimitError, match="expanded_characters of 50"):
            schema.bind(parse("@a OR @a OR @a OR @a"))
    finally:
        set_limits(expanded_characters=before.expanded_characters)


def test_a_rule_that_becomes_too_deep_is_refused():
    schema = defined(a="NOT (z = 1 AND " * 100 + "x = 1" + ")" * 100)
    with pytest.raises(RuleLimitError, match="deep, over the limit of 256"):
        schema.bind(parse("NOT (z = 1 AND " * 60 + "@a" + ")" * 60))


# Which definitions need which.


def test_users_are_those_that_need_a_name_directly_or_not():
    definitions = {"a": "x = 1", "b": "@a", "c": "@b OR @d", "d": "y = '@a'"}
    assert users_of(["a"], definitions) == {"a", "b", "c"}
    assert users_of(["d"], definitions) == {"d", "c"}


def test_a_schema_with_definitions_travels_as_a_mapping():
    schema = Schema.of_mapping({"definitions": {"b": "@a", "a": "x = 1"}})
    assert schema.to_mapping() == {"time_zone": "UTC", "attributes": {}, "definitions": {"a": "x = 1", "b": "@a"}}
    assert Schema.of_mapping(schema.to_mapping()) == schema
    assert "definitions" not in Schema().to_mapping()
    assert schema.with_inferred([parse("y = 1")]).definitions == schema.definitions
