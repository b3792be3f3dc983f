"""What the language says of a rule, for editors."""

from __future__ import annotations

import pytest

from ruledex import Index, Schema
from ruledex.service.analysis import Words, analyse_rule, completions_at, tokens_of
from ruledex.service.messages import AnalyseIn
from ruledex.service.problems import Problem
from ruledex.service.vocabulary import IndexVocabulary, count_event_values

PATHS = [("age",), ("device", "os"), ("odd name",)]


WORDS = Words(paths=PATHS)


def analysed(text, words=WORDS, **more):
    return analyse_rule(AnalyseIn(text=text, **more), words, 65_536)


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
    again = analyse_rule(AnalyseIn(rule=found.structured), WORDS, 65_536)
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
    found = completions_at(text, len(text), WORDS)
    assert [one.text for one in found] == expected
    for one in found:
        assert text[one.begin :].lower().replace("`", "") == one.text[: len(text) - one.begin].lower().replace("`", "")


def test_completions_at_the_start_offer_all_kinds():
    assert {one.kind for one in completions_at("", 0, WORDS)} >= {"attribute", "function"}
    with pytest.raises(Problem):
        completions_at("a", 5, WORDS)


@pytest.fixture(scope="module")
def index():
    rules = [
        (1, "country = 'IN' AND age >= 18"),
        (2, "country IN ('IN', 'DE', 'it''s') OR device.os = 'ios'"),
        (3, "country <=> 'DE' AND age BETWEEN 5 AND 18 AND `odd name` = 'x'"),
        (4, "country = 'IN' AND seen > DATE '2024-01-01' AND vip"),
        (5, "@grown"),
    ]
    return Index.build(rules, "scan", definitions={"grown": "age >= 21", "odd one": "age < 0"})


@pytest.fixture(scope="module")
def words(index):
    vocabulary = IndexVocabulary(index)
    events = [{"country": "FR", "age": 7, "device": {"os": "android"}}] * 5 + [{"country": ["IN", "x" * 200, None]}]
    values = [count_event_values(events), vocabulary.values]
    return Words(Schema(definitions=index.definitions), vocabulary.schema, vocabulary.paths, values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("country = '", ["'FR'", "'IN'", "'DE'", "'it''s'"]),
        ("country = 'i", ["'IN'", "'it''s'"]),
        ("age > 1 AND country != '", ["'FR'", "'IN'", "'DE'", "'it''s'"]),
        ("country IN (", ["'FR'", "'IN'", "'DE'", "'it''s'"]),
        ("country NOT IN ('IN', 'f", ["'FR'"]),
        ("country IN ('IN', 5, ", ["'FR'", "'IN'", "'DE'", "'it''s'"]),
        ('country = "d', ['"DE"']),
        ('country = "it', ['"it\'s"']),
        ("device.os = '", ["'android'", "'ios'"]),
        ("`odd name` = ", ["'x'"]),
        ("age >= 1", ["18"]),
        ("age >= '", []),
        ("lower(country) = '", []),
        ("x.country = '", []),
        ("country LIKE '", []),
        ("f(1, country, '", []),
        ("country = 'IN' AND '", []),
    ],
)
def test_values_are_completed_where_a_value_is_expected(words, text, expected):
    found = [one for one in completions_at(text, len(text), words) if one.kind == "value"]
    assert [one.text for one in found] == expected
    if "'" in text[-2:]:
        assert len(found) == len(completions_at(text, len(text), words))


def test_a_quote_that_the_editor_has_closed_stays_one(words):
    text = "country = 'F' AND age > 1"
    (found,) = completions_at(text, text.index("F") + 1, words)
    assert text[: found.begin] + found.text + text[text.index("F") + 1 :] == "country = 'FR' AND age > 1"


def test_named_conditions_are_completed(words):
    assert [one.text for one in completions_at("age > 1 AND @", 13, words)] == ["@grown", "@`odd one`"]
    assert [one.text for one in completions_at("@odd", 4, words)] == ["@`odd one`"]


@pytest.mark.parametrize(
    ("text", "code", "place", "hint"),
    [
        ("age > 1 AND lowr(city) = 'x'", "syntax", 12, "lower"),
        ("age > 1 AND\n city = 'x", "syntax", 20, "'"),
        ('city = "x', "syntax", 7, '"'),
        ("`odd = 1", "syntax", 0, "`"),
        ("age = 1 AND @gron", "definition", 12, "@grown"),
        ("age = 1 AND level = 'x'", "type", 12, "number"),
        ("since LIKE 'x%'", "type", 0, "="),
        ("since > 'soon'", "type", 0, "2024"),
        ("age = 1 AN age = 2", "syntax", 8, "AND"),
        ("age BETWEN 1 AND 2", "syntax", 4, "BETWEEN"),
        ("age == 3 && vip", "syntax", 9, "AND"),
        ("(age = 3", "syntax", 0, ")"),
        ("age = 3)", "syntax", 7, "("),
        ("length(level) = 3", "type", 0, "string"),
        ("substr(city) = 'x'", "syntax", 0, ""),
        ("city RLIKE '('", "pattern", 11, ""),
    ],
)
def test_each_fault_has_its_place_and_a_suggestion(words, text, code, place, hint):
    declared = Schema.of_mapping(
        {"attributes": {"level": "integer", "since": "date"}, "definitions": {"grown": "TRUE"}}
    )
    error = analysed(text, words._replace(schema=declared)).error
    assert error is not None
    assert (error.code, error.place.position) == (code, place)
    assert error.place.line == text.count("\n", 0, place) + 1
    assert hint in error.hint
    assert error.hint or not hint
    assert error.message


def test_types_that_other_rules_imply_are_a_finding_and_no_error(words):
    found = analysed("vip AND age = 'x'", words)
    assert found.error is None
    (finding,) = found.findings
    assert (finding.code, finding.severity, finding.place.position) == ("type", "warning", 8)
    assert "number" in finding.message
    assert analysed("country = 'XX' AND age < 3", words).findings == []


def test_a_large_index_gives_the_values_of_some_rules():
    index = Index.build([(i, f"a = {i % 7} AND b = 'v{i}'") for i in range(3_000)], "scan")
    values = IndexVocabulary(index).values
    assert sum(values["a",].values()) == 1_000
    assert values["a",].keys() == {str(i) for i in range(7)}


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


def test_values_of_rules_and_events_are_completed_over_http(client, own):
    assert client.put(own, 8, "town = 'Rome'").status == 201
    for _ in range(3):
        client.match(own, {"town": "Riga", "size": 3})
    text = "a = 1 AND town = 'r"
    found = client.ask("POST", "/v1/language/analyse", {"text": text, "index": own, "position": len(text)}).value
    assert [(one["text"], one["kind"], one["begin"]) for one in found["completions"]] == [
        ("'Riga'", "value", 17),
        ("'Rome'", "value", 17),
    ]
    assert client.ask("PUT", f"/v1/indexes/{own}/definitions/adult", {"text": "age >= 18"}).status == 200
    found = client.ask("POST", "/v1/language/analyse", {"text": "@ad", "index": own, "position": 3}).value
    assert [one["text"] for one in found["completions"]] == ["@adult"]
