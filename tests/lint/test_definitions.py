"""Lint of named conditions: their own mistakes once, users without them, and definitions that none uses."""

from __future__ import annotations

from ruledex import Schema, parse
from ruledex.lint import Linter, Severity, lint_rule


def linter(**definitions):
    return Linter(_schema(definitions))


def _schema(definitions):
    declared = {"attributes": {"x": {"type": "integer", "single": True}}, "definitions": definitions}
    return Schema.of_mapping(declared)


def codes(findings):
    return [(finding.rule_id, finding.code) for finding in findings]


def test_an_unknown_name_is_an_error_with_a_suggestion():
    (finding,) = linter(adults="x > 18").check_text("r1", "y = 1 AND @adult")
    assert (finding.code, finding.severity, finding.position) == ("definition", Severity.ERROR, 10)
    assert finding.suggestion == "did you mean @adults?"
    (finding,) = linter(adults="x > 18").check_structured("r1", {"named": "adult"})
    assert finding.code == "definition"


def test_a_definition_that_can_never_be_true_is_found_and_not_repeated_for_its_users():
    found = linter(never="x > 5 AND x < 3", fine="x > 5")
    assert codes(found.check_definitions()) == [("@never", "never-true")]
    assert codes(found.check_text("r1", "@never")) == []
    assert codes(found.check_text("r2", "@fine AND x < 3")) == [("r2", "never-true")]


def test_a_condition_that_only_excludes_is_a_good_definition():
    found = linter(others="y NOT IN ('a')")
    assert found.check_definitions() == []
    assert codes(found.check_text("r1", "@others")) == [("r1", "nearly-everything")]


def test_findings_in_a_named_condition_are_where_its_name_is():
    found = linter(a="z = 1 AND z = 1")
    assert codes(found.check_definitions()) == [("@a", "adds-nothing")]
    schema = _schema({"a": "z = 1 AND z = 1"})
    rule = "y = 2 OR @a"
    (finding,) = lint_rule("r1", schema.bind_named(parse(rule), rule), rule, schema)
    assert (finding.code, finding.position) == ("adds-nothing", 9)


def test_definitions_that_no_rule_needs_are_reported():
    found = linter(a="x = 1", b="@a OR x = 2", c="@b", d="@a")
    assert codes(found.unused_definitions()) == [(f"@{name}", "unused-definition") for name in "abcd"]
    found.check_text("r1", "@b")
    assert codes(found.unused_definitions()) == [("@c", "unused-definition"), ("@d", "unused-definition")]


def test_definitions_can_come_between_rules():
    found = linter(a="x = 1")
    assert codes(found.define({"b": "@a", "bad": "x =", "worse": "@bad", "a": "x = 2"})) == [
        ("@a", "definition"),
        ("@bad", "syntax"),
        ("@worse", "definition"),
    ]
    assert found.define({}) == []
    assert found.check_text("r1", "@b AND y = 1") == []
    assert found.unused_definitions() == []


def test_rules_with_the_same_condition_written_and_named_are_duplicates():
    found = linter(a="y = 1 AND z = 2")
    found.check_text("r1", "@a")
    assert codes(found.check_text("r2", "z = 2 AND y = 1")) == [("r2", "duplicate")]
