"""Checks of rules against each other, and the linter that runs all checks."""

from __future__ import annotations

from ruledex import Schema, parse
from ruledex.language.structured import to_structured
from ruledex.lint import Finding, Linter, Severity, lint_rules


def check(*rules: tuple[str, str], schema: Schema | None = None) -> list[Finding]:
    linter = Linter(schema or Schema())
    return [finding for rule_id, text in rules for finding in linter.check_text(rule_id, text)]


def test_a_duplicate_names_the_first_rule_that_it_equals() -> None:
    findings = check(
        ("r1", "a = 1 AND b = 2"), ("r2", "b = 2^3 AND a = 1"), ("r3", "2 = b AND a IN (1)"), ("r4", "a = 1")
    )
    assert [(f.rule_id, f.code) for f in findings] == [("r2", "duplicate"), ("r3", "duplicate")]
    assert all("rule r1" in f.message for f in findings)


def test_rules_that_are_never_true_are_not_duplicates_of_each_other() -> None:
    assert [f.code for f in check(("r1", "FALSE"), ("r2", "a = NULL"))] == ["never-true", "never-true"]


def test_an_id_that_stands_twice_is_an_error_even_if_its_rule_is_bad() -> None:
    findings = check(("r1", "a = 1"), ("r1", "b = 2"), ("r1", "b ="))
    assert [(f.code, f.severity) for f in findings[:2]] == [("repeated-id", Severity.ERROR)] * 2
    assert findings[2].code == "syntax"


def test_an_undeclared_attribute_of_two_types_is_noted_once_for_each_new_type() -> None:
    findings = check(
        ("r1", "a = 1"), ("r2", "a = 'x'"), ("r3", "a = 'y'"), ("r4", "lower(a) = 'z'"), ("r5", "a = TRUE")
    )
    assert [(f.rule_id, f.code) for f in findings] == [("r2", "type-never-fits"), ("r5", "type-never-fits")]
    assert "a string here and as a number in rule r1" in findings[0].message


def test_a_time_and_a_string_agree_since_json_writes_times_as_strings() -> None:
    assert check(("r1", "a = '2024-01-01'"), ("r2", "a > DATE '2023-01-01'")) == []


def test_a_declared_attribute_is_an_error_of_type_instead() -> None:
    schema = Schema.of_mapping({"attributes": {"a": "integer"}})
    (finding,) = check(("r1", "a = 1"), ("r2", "b = 2 AND a = 'x'"), schema=schema)
    assert (finding.rule_id, finding.code, finding.severity, finding.position) == ("r2", "type", Severity.ERROR, 10)


def test_a_bad_rule_is_one_finding_with_its_position_and_hint() -> None:
    (finding,) = check(("r1", "a = 1 AND b BETWEN 1 AND 2"))
    assert (finding.code, finding.position) == ("syntax", 12)
    assert "BETWEEN" in finding.suggestion


def test_bytes_that_are_not_utf_8_are_a_finding() -> None:
    (finding,) = Linter(Schema()).check_text("r1", b"a = '\xff'")
    assert (finding.code, finding.position) == ("syntax", 5)


def test_a_structured_rule_is_checked_as_its_text_is() -> None:
    linter = Linter(Schema())
    assert linter.check_text("r1", "a = 1 AND b = 2") == []
    (finding,) = linter.check_structured("r2", to_structured(parse("b = 2 AND a = 1")))
    assert finding.code == "duplicate"
    (bad,) = linter.check_structured("r3", {"op": "="})
    assert (bad.code, bad.message[:2]) == ("syntax", "$:")


def test_lint_rules_takes_trees() -> None:
    rules = [(f"r{i}", parse("a = 1"), "a = 1") for i in range(3)]
    assert [f.rule_id for f in lint_rules(rules, Schema())] == ["r1", "r2"]


def test_long_nested_and_xor_rules_are_checked_without_an_error_of_python() -> None:
    deep = "a = 1"
    for i in range(60):
        deep = f"({deep} {'AND' if i % 2 else 'OR'} a{i} = {i})"
    chain = " XOR ".join(f"a{i} = 1" for i in range(100))
    assert [f.code for f in check(("r1", deep), ("r2", chain))] == []


def test_a_notebook_shows_findings_as_a_table():
    findings = Linter(Schema()).check_text("<b>", "a = 1 AND a != 1")
    shown = findings._repr_html_()
    assert "1 findings" in shown
    assert '<td style="text-align: left">never-true</td>' in shown
    assert "&lt;b&gt;" in shown
    assert findings[0]._repr_html_() == shown
