"""Lint looks at the conditions of lambdas."""

from __future__ import annotations

import pytest

from ruledex import Schema, parse
from ruledex.lint import lint_rule

SCHEMA = Schema.of_mapping(
    {"attributes": {"items.price": "double", "items.kind": "string", "limit": "int", "items.tags": "string"}}
)


def findings(text):
    tree = SCHEMA.bind_named(parse(text), text)
    return [
        (each.code, text[each.position :][:12], each.message, each.suggestion)
        for each in lint_rule("r", tree, text, SCHEMA)
    ]


@pytest.mark.parametrize(
    ("text", "code", "at", "message"),
    [
        (
            "limit = 1 AND exists(items, i -> i.price BETWEEN 3 AND 2)",
            "never-true",
            "i.price BETW",
            "the condition of exists() is true of no element",
        ),
        (
            "forall(items, i -> i.kind = 'a' AND FALSE)",
            "never-true",
            "i.kind",
            "the condition of forall() is true of no element",
        ),
        (
            "exists(items, i -> i.kind = 'a' OR TRUE)",
            "always-true",
            "exists",
            "the condition of exists() is true of every element",
        ),
        (
            "exists(items, i -> i.prise > 3)",
            "misspelt-attribute",
            "i.prise",
            "the schema declares no attribute i.prise",
        ),
        (
            "exists(items, i -> i.price > limitt)",
            "misspelt-attribute",
            "limitt",
            "the schema declares no attribute limitt",
        ),
        (
            "exists(items, i -> exists(i.tags, t -> t = 'x' AND t != 'x'))",
            "never-true",
            "t = 'x'",
            "the condition of exists() is true of no element",
        ),
        (
            "size(filter(items, i -> i.kind = 'a' AND i.prise < 3)) > 1",
            "misspelt-attribute",
            "i.prise",
            "the schema declares no attribute i.prise",
        ),
    ],
)
def test_conditions_of_elements_are_checked_as_rules_are(text, code, at, message):
    found = [one for one in findings(text) if one[0] == code and one[2] == message]
    assert len(found) == 1, findings(text)
    assert found[0][1].startswith(at), found


def test_contradictions_and_parts_that_change_nothing_are_found():
    (found,) = findings("limit = 1 AND exists(items, i -> i.price > 3 AND i.price < 2)")
    assert found[0] == "needs-several-values"
    assert found[3] == "write exists() twice if two elements are meant"
    (found,) = findings("exists(items, i -> i.kind = 'a' AND limit = 3 AND i.kind = 'a')")
    assert found[0] == "adds-nothing"
    assert found[1].startswith("i.kind = 'a'")


@pytest.mark.parametrize(
    "text",
    [
        "exists(items, i -> i.price > limit AND i.kind = 'a')",
        "exists(items, i -> i.kind != 'a') AND limit = 3",
        "limit = 2 AND forall(items, i -> i.price > 3 OR exists(i.tags, t -> t LIKE 'x%'))",
        "size(filter(items, i -> i.price > 3)) > 1",
    ],
)
def test_sound_lambdas_have_no_findings(text):
    assert findings(text) == []


def test_without_a_schema_names_are_not_judged():
    text = "exists(items, i -> i.prise > 3)"
    assert lint_rule("r", parse(text), text) == []
