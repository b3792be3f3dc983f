"""What the language says of a rule, for editors."""

from __future__ import annotations

import pytest

from ruledex import Schema
from ruledex.service.analysis import analyse_rule, completions_at, tokens_of
from ruledex.service.messages import AnalyseIn
from ruledex.service.problems import Problem
from ruledex.service.settings import Settings

PATHS = [("age",), ("device", "os"), ("odd name",)]


class _Request:
    settings = Settings(root="x")


def analysed(text, **more):
    return analyse_rule(AnalyseIn(text=text, **more), Schema(), PATHS, _Request())


def test_tokens_have_kinds_and_places():
    text = "-- why\nage >= 1.5 AND lower(`odd name`) IN ('a''b', r'\\d') OR version = true"
    assert [(token.kind, text[token.begin : token.end]) for token in tokens_of(text)] == [
        ("attribute", "age"),
        ("sign", ">="),
        ("number", "1.5"),
        ("keyword", "AND"),
        ("function", "lower"),
        ("sign", "("),
        ("attribute", "`odd name`"),
        ("sign", ")"),
        ("keyword", "IN"),
        ("sign", "("),
        ("string", "'a''b'"),
        ("sign", ","),
        ("string", "r'\\d'"),
        ("sign", ")"),
        ("keyword", "OR"),
        ("attribute", "version"),
        ("sign", "="),
        ("keyword", "true"),
    ]


@pytest.mark.parametrize("text", ["a = 'open", "a & b", "a = 1 /* open", "5x", "", "   "])
def test_tokens_of_what_cannot_be_read_end_with_the_rest(text):
    tokens = tokens_of(text)
    assert tokens == [] if not text.strip() else tokens[-1].kind == "error"
    if tokens:
        assert tokens[-1].end == len(text)


def test_a_sound_rule_has_a_tree_a_text_and_a_structured_form():
    found = analysed("NOT (age>1 and device.os='ios')")
    assert found.error is None
    assert found.text == "NOT (age > 1 AND device.os = 'ios')"
    assert found.tree["kind"] == "not"
    assert [child["text"] for child in found.tree["children"][0]["children"]] == ["age > 1", "device.os = 'ios'"]
    assert found.structured["op"] == "not"
    again = analyse_rule(AnalyseIn(rule=found.structured), Schema(), PATHS, _Request())
    assert again.text == found.text
    assert again.structured == found.structured


def test_an_error_has_its_place_and_a_suggestion():
    found = analysed("age = 1\nAN device.os = 'x'")
    assert (found.error.place.line, found.error.place.column) == (2, 1)
    assert "AND" in found.error.hint
    assert found.tree is None
    assert found.tokens


def test_lint_is_told_with_its_place():
    found = analysed("age = 1 AND age = 1")
    assert found.findings
    assert found.findings[0].severity in ("warning", "note")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ag", ["age"]),
        ("age > 1 AND dev", ["device.os"]),
        ("device.o", ["device.os"]),
        ("`od", ["`odd name`"]),
        ("subs", ["subset_of(", "substr(", "substring("]),
        ("age betw", ["BETWEEN"]),
        ("age = 'ag", []),
        ("zzz", []),
    ],
)
def test_completions_begin_as_the_text_does(text, expected):
    found = completions_at(text, len(text), Schema(), PATHS)
    assert [one.text for one in found] == expected
    for one in found:
        assert text[one.begin :].lower().replace("`", "") == one.text[: len(text) - one.begin].lower().replace("`", "")


def test_completions_at_the_start_offer_all_kinds():
    assert {one.kind for one in completions_at("", 0, Schema(), PATHS)} >= {"attribute", "function"}
    with pytest.raises(Problem):
        completions_at("a", 5, Schema(), PATHS)


def test_over_http_with_the_attributes_of_an_index(client):
    body = {"text": "a = 1 AND ", "index": "ads", "position": 10}
    found = client.ask("POST", "/v1/language/analyse", body).value
    assert found["error"]["code"] == "syntax"
    assert {"a", "b"} <= {one["text"] for one in found["completions"] if one["kind"] == "attribute"}
    declared = {"text": "d = 'x'", "schema": {"attributes": {"d": "integer"}}}
    assert client.ask("POST", "/v1/language/analyse", declared).value["error"]["code"] == "type"
    assert client.ask("POST", "/v1/language/analyse", {"text": "a", "index": "none"}).status == 404
    assert client.ask("POST", "/v1/language/analyse", {}).status == 422
    wrong = client.ask("POST", "/v1/language/analyse", {"rule": {"op": "what"}}).value
    assert wrong["error"]["message"].startswith("$")
