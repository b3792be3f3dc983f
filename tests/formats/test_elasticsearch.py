"""Queries mean what Elasticsearch makes of them. Each case: a query, an event, and whether it matches."""

from __future__ import annotations

import json

import pytest

from ruledex import Index, evaluate, parse
from ruledex.errors import InputError
from ruledex.formats import read, write
from tests.formats.answers import fault, holds

CASES = [
    ({"term": {"a": "x"}}, {"a": ["w", "x"]}, True),
    ({"term": {"a": 5}}, {"a": "5"}, False),
    ({"term": {"a.b": True}}, {"a": [{"b": False}, {"b": True}]}, True),
    ({"term": {"a": {"value": "X%", "case_insensitive": True}}}, {"a": "x%"}, True),
    ({"terms": {"a": ["x", 1], "boost": 2}}, {"a": 1}, True),
    ({"terms": {"a": []}}, {"a": 1}, False),
    ({"bool": {}}, {}, True),
    ({"bool": {"must_not": {"term": {"a": 1}}}}, {}, True),
    ({"bool": {"must_not": {"term": {"a": 1}}}}, {"a": [1, 2]}, False),
    ({"bool": {"should": [{"term": {"a": 1}}]}}, {}, False),
    ({"bool": {"should": [{"term": {"a": 1}}], "minimum_should_match": 0}}, {}, False),
    ({"bool": {"should": [{"term": {"a": 1}}], "filter": [{"match_all": {}}]}}, {}, True),
    ({"bool": {"should": [{"match_all": {}}] * 2, "minimum_should_match": 3}}, {}, False),
    ({"range": {"a": {"gt": 1, "lt": 5}}}, {"a": [0, 9]}, False),
    ({"range": {"a": {"gt": 1, "lt": 5}}}, {"a": [0, 4.5]}, True),
    ({"range": {"a": {"gte": "b", "lt": "c"}}}, {"a": "bb"}, True),
    ({"range": {"a": {"from": 1, "to": 3, "include_upper": False}}}, {"a": 3}, False),
    ({"range": {"a": {}}}, {"a": 3}, True),
    ({"range": {"a": {"lte": "2024-01-05"}}}, {"a": "2024-01-05T23:59:00Z"}, True),
    ({"range": {"a": {"gt": "2024-01-05"}}}, {"a": "2024-01-05T23:59:00Z"}, False),
    ({"range": {"a": {"gte": "05/01/2024", "format": "dd/MM/yyyy"}}}, {"a": "2024-01-05"}, True),
    ({"range": {"a": {"lt": "2024-01-05T00:30", "time_zone": "Asia/Kolkata"}}}, {"a": "2024-01-04T18:59:00Z"}, True),
    ({"exists": {"field": "a"}}, {"a": [None]}, False),
    ({"exists": {"field": "a"}}, {"a": ""}, True),
    ({"ids": {"values": ["1"]}}, {"_id": "1"}, True),
    ({"wildcard": {"a": "x\\**?"}}, {"a": "x*y"}, True),
    ({"wildcard": {"a": {"wildcard": "x*"}}}, {"a": "ax"}, False),
    ({"regexp": {"a": "x.y"}}, {"a": "x\ny"}, True),
    ({"regexp": {"a": "x"}}, {"a": "xy"}, False),
    ({"regexp": {"a": "^x$"}}, {"a": "^x$"}, True),
    ({"regexp": {"a": {"value": "a@b.#", "flags": "NONE"}}}, {"a": "a@bx#"}, True),
    ({"regexp": {"a": {"value": "[\\]a-c]+", "case_insensitive": True}}}, {"a": "A]b"}, True),
    ({"nested": {"path": "a", "query": {"term": {"b": 1}}}}, {"a": [{"c": 1}], "b": 1}, False),
    ({"match": {"a": "Zoë's café"}}, {"a": "the CAFÉ"}, True),
    ({"match": {"a": "cafe"}}, {"a": "café"}, False),
    ({"match": {"a": ""}}, {"a": "x"}, False),
    ({"match": {"a": {"query": "!", "zero_terms_query": "all"}}}, {}, True),
    ({"match_bool_prefix": {"a": {"query": "quick br", "operator": "and"}}}, {"a": "Brown, quick"}, True),
    ({"multi_match": {"query": "x", "fields": ["a^2", "b"]}}, {"b": "w x"}, True),
    ({"multi_match": {"query": "x"}}, {"deep": [{"b": "w x"}]}, True),
    ({"multi_match": {"query": "x y", "fields": ["a"], "type": "phrase"}}, {"a": "y x"}, False),
    ({"function_score": {"query": {"term": {"a": 1}}, "functions": [{"weight": 2}]}}, {"a": 1}, True),
    (
        {"terms_set": {"a": {"terms": ["x", "y"], "minimum_should_match_script": {"source": "params.num_terms"}}}},
        {"a": "x"},
        False,
    ),
]

QUERY_STRINGS = [
    ("quick AND brown OR fox", {"t": "fox"}, False),  # fox is optional beside what must be
    ("quick OR brown AND fox", {"t": "quick"}, False),
    ("quick brown", {"t": "brown"}, True),
    ("+quick -brown", {"t": "quick brown"}, False),
    ("NOT quick", {}, True),
    ("fox (NOT quick)", {}, False),  # a group of nothing but negations matches nothing
    ('"quick brown"^3 || fox', {"t": "quick brown"}, True),
    ('"quick brown"', {"t": "brown quick"}, False),
    ("qu?c* && !fox", {"t": "Quick"}, True),
    ("n:[1 TO 5}", {"n": 5}, False),
    ("n:[1 TO 5}", {"n": 1}, True),
    ("n:>=2.5", {"n": 3}, True),
    ("n:7 flag:true", {"flag": True}, True),
    ("n:(7 OR 8)", {"n": 8}, True),
    ("at:[2024-01-01 TO 2024-01-31]", {"at": "2024-01-31T12:00:00Z"}, True),
    ("code:/[ab]{2}/", {"code": "ab"}, True),
    ("_exists_:n", {"n": None}, False),
    ("n:*", {"n": 0}, True),
    ("*:*", {}, True),
    ("a\\:b", {"t": "a b"}, True),
    ("", {}, False),
]

SIMPLE = [
    ("quick + brown | fox", {"t": "fox"}, True),
    ("quick -fox", {"t": "x"}, True),  # or is the default, also before a negation
    ("quick + -fox", {"t": "quick fox"}, False),
    ('"brown fox" | qui*', {"t": "quick"}, True),
    ("(quick | slow) + fox", {"t": "slow fox"}, True),
    ("", {"t": "x"}, False),
]


@pytest.mark.parametrize(("query", "event", "expected"), CASES, ids=str)
def test_a_query_matches_as_elasticsearch_says(query, event, expected):
    assert holds("elasticsearch", query, event) is expected


@pytest.mark.parametrize(("text", "event", "expected"), QUERY_STRINGS, ids=str)
def test_a_query_string_is_read_as_lucene_does(text, event, expected):
    assert holds("elasticsearch", {"query_string": {"query": text, "default_field": "t"}}, event) is expected


@pytest.mark.parametrize(("text", "event", "expected"), SIMPLE, ids=str)
def test_a_simple_query_string_is_read_from_the_left(text, event, expected):
    assert holds("elasticsearch", {"simple_query_string": {"query": text, "fields": ["t"]}}, event) is expected


def test_query_strings_take_the_operator_and_the_number_of_words_that_are_needed():
    def asked(event, **options):
        return holds("elasticsearch", {"query_string": {"query": "a b c", "default_field": "t", **options}}, event)

    assert not asked({"t": "a b"}, default_operator="AND")
    assert asked({"t": "a b"}, minimum_should_match=2)
    assert not asked({"t": "a"}, minimum_should_match=2)


REFUSED = [
    (["x"], "$: a query is an object of one key"),
    ({"term": {"a": 1}, "range": {}}, "$: a query is an object of one key"),
    (
        {"query": {"bool": {"must": [{"fuzzy": {"a": "x"}}]}}},
        "$.query.bool.must[0].fuzzy: the query 'fuzzy' is not known",
    ),
    ({"bool": {"musst": []}}, "$.bool.musst: bool has no parameter 'musst' here; did you mean must?"),
    (
        {"bool": {"should": [{"match_all": {}}], "minimum_should_match": "x%"}},
        "$.bool.minimum_should_match: 'x%' is no",
    ),
    ({"term": {"a": None}}, "$.term.a: a value is a string, a number or a boolean, not null"),
    ({"term": {"a": {"values": 1}}}, "$.term.a.values: a has no parameter 'values' here; did you mean value?"),
    ({"term": {"a": 1, "b": 2}}, "$.term: term names one field, not 2"),
    ({"terms": {"a": {"index": "i", "id": "1", "path": "p"}}}, "$.terms.a: a list of values is expected"),
    ({"range": {"a": {"gte": "now-1x"}}}, "$.range.a.gte: '-1x' is not date math"),
    ({"range": {"a": {"gte": "2024-13-01||/d"}}}, "$.range.a.gte: '2024-13-01' is not a date"),
    ({"range": {"a": {"gte": "x", "format": "w"}}}, "$.range.a.format: the date format 'w' is not known here"),
    ({"range": {"a": {"gte": "2024-01-01", "time_zone": "Mars"}}}, "$.range.a.time_zone: there is no time zone 'Mars'"),
    ({"range": {"a": {"gt": 1, "lt": "x"}}}, "$.range.a: the bounds are a string and a number"),
    ({"regexp": {"a": "~x"}}, "$.regexp.a: character 1 of the regular expression: RE2 has no complement"),
    ({"regexp": {"a": "x&y"}}, "$.regexp.a: character 2 of the regular expression: RE2 has no intersection"),
    (
        {"regexp": {"a": {"value": "x", "flags": "INTERVALS"}}},
        "$.regexp.a.flags: there is no flag 'INTERVALS'; did you",
    ),
    ({"regexp": {"a": "(x"}}, "$.regexp.a: RE2 refuses this regular expression"),
    ({"match": {"a": {"query": "x", "fuzziness": "AUTO"}}}, "$.match.a.fuzziness: similar words cannot be said"),
    ({"match": {"a": {"query": "x", "analyzer": "german"}}}, "$.match.a.analyzer: the only analyser here"),
    ({"match_phrase": {"a": {"query": "x y", "slop": 2}}}, "$.match_phrase.a.slop: words with others between"),
    ({"multi_match": {"query": "x", "fields": ["a*"]}}, "$.multi_match.fields[0]: a name with a star"),
    ({"query_string": {"query": "a AND (b", "default_field": "t"}}, "$.query_string.query: column 7: this ( is not"),
    ({"query_string": {"query": "roam~", "default_field": "t"}}, "$.query_string.query: column 5: similar words"),
    (
        {"query_string": {"query": "AND b", "default_field": "t"}},
        "$.query_string.query: column 1: nothing stands before",
    ),
    ({"simple_query_string": {"query": "ab~2", "fields": ["t"]}}, "$.simple_query_string.query: column 3: similar"),
    ({"nested": {"query": {"match_all": {}}}}, "$.nested.path: a path is a string, not null"),
    ({"script": {"script": "x"}}, "$.script: the query 'script' is not known here; it cannot be said"),
    (
        {"bool": {"should": [{"term": {"a": i}} for i in range(40)], "minimum_should_match": 20}},
        "$.bool: at least 20 of 40 has more than 1,024 combinations",
    ),
]


@pytest.mark.parametrize(("query", "message"), REFUSED, ids=str)
def test_what_cannot_be_said_is_refused_with_its_place(query, message):
    assert fault("elasticsearch", query).startswith(message)


# Mappings.

MAPPING = {
    "shop": {
        "mappings": {
            "properties": {
                "title": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
                "size": {"type": "integer"},
                "day": {"type": "date", "format": "yyyy/MM/dd||epoch_second"},
                "items": {"type": "nested", "properties": {"price": {"type": "float"}}},
                "place": {"type": "geo_point"},
                "name": {"type": "alias", "path": "title"},
                "open": {"type": "boolean"},
                "user": {"properties": {"ip": {"type": "ip"}}},
            }
        }
    }
}
MAPPED = [
    ({"term": {"title": "sale"}}, {"title": "Big Sale!"}, True),
    ({"term": {"title.raw": "sale"}}, {"title": "Big Sale!"}, False),
    ({"match": {"title.raw": "Big Sale!"}}, {"title": "Big Sale!"}, True),
    ({"match": {"name": "SALE"}}, {"title": "Big Sale!"}, True),
    ({"term": {"size": "5"}}, {"size": 5}, True),
    ({"term": {"size": 5.5}}, {"size": 5.5}, False),
    ({"range": {"size": {"gt": 4.5, "lt": "6"}}}, {"size": [1, 5]}, True),
    ({"range": {"day": {"gte": "2024/01/05"}}}, {"day": "2024-01-05"}, True),
    ({"term": {"day": 86400}}, {"day": "1970-01-02"}, True),
    ({"term": {"open": "false"}}, {"open": False}, True),
    ({"term": {"user.ip": "10.0.0.0/8"}}, {"user": {"ip": "10.1.2.3"}}, True),
    ({"nested": {"path": "items", "query": {"range": {"items.price": {"gt": 1}}}}}, {"items": {"price": 2}}, True),
]


@pytest.mark.parametrize(("query", "event", "expected"), MAPPED, ids=str)
def test_a_mapping_says_what_values_are(query, event, expected):
    assert holds("elasticsearch", query, event, mapping=MAPPING) is expected


def test_a_mapping_may_be_a_file_or_plain_names(tmp_path):
    (tmp_path / "mapping.json").write_text(json.dumps(MAPPING))
    query = {"term": {"size": "5"}}
    for mapping in (str(tmp_path / "mapping.json"), {"size": "long"}, {"properties": {"size": {"type": "long"}}}):
        assert read({1: query}, "elasticsearch", mapping=mapping)[0].text == "size = 5"


def test_fields_that_are_not_visible_never_match_and_a_note_says_so():
    (rule,) = read({1: {"term": {"items.price": 5}}}, "elasticsearch", mapping=MAPPING)
    assert rule.text == "FALSE"
    message = "items.price matches only in a nested query of the path items"
    assert str(rule.notes[0]) == f"$.term.items.price: {message}"


@pytest.mark.parametrize(
    ("query", "event", "expected"),
    [
        ({"exists": {"field": "items"}}, {"items": [{"sku": "a"}]}, False),
        ({"query_string": {"query": "_exists_:items"}}, {"items": [{"sku": "a"}]}, False),
        ({"nested": {"path": "items", "query": {"exists": {"field": "items"}}}}, {"items": [{"sku": "a"}]}, True),
        ({"nested": {"path": "items", "query": {"exists": {"field": "items"}}}}, {"items": [{}, {"sku": None}]}, False),
        ({"exists": {"field": "o"}}, {"o": {}}, False),
        ({"exists": {"field": "o"}}, {"o": {"a": None, "in": {}}}, False),
        ({"exists": {"field": "o"}}, {"o": {"in": {"b": 1}}}, True),
        ({"exists": {"field": "o"}}, {"o": {"parts": [{"n": 1}]}}, False),
        ({"range": {"o": {}}}, {"o": {}}, False),
    ],
)
def test_an_object_has_a_value_if_a_field_in_it_has(query, event, expected):
    mapping = {"items": "nested", "items.sku": "keyword", "o": "object", "o.a": "long", "o.in.b": "long"}
    mapping |= {"o.parts": "nested", "o.parts.n": "long"}
    (rule,) = read({"r": query}, "elasticsearch", mapping=mapping)
    assert evaluate(parse(rule.text), event) is expected
    assert all("only in a nested query" in note.message for note in rule.notes)


def test_exists_of_a_field_without_a_type_has_a_note():
    (rule,) = read({"r": {"exists": {"field": "o"}}}, "elasticsearch")
    assert str(rule.notes[0]).startswith("$.exists.field: an object without values counts as a value of o; a mapping")
    assert read({"r": {"exists": {"field": "o"}}}, "elasticsearch", mapping={"o": "long"})[0].notes == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"term": {"place": "x"}}, "$.term.place: place is of type geo_point"),
        ({"term": {"size": "x"}}, "$.term.size: 'x' is not a number, as the mapping says it is"),
        ({"term": {"open": 3}}, "$.term.open: open is true or false, not 3"),
        ({"prefix": {"size": "1"}}, "$.prefix.size: size is of type integer, and patterns are for strings"),
        ({"range": {"title": {"gt": "a"}}}, "$.range.title: title is of type text"),
        ({"regexp": {"title": "a"}}, "$.regexp.title: a regular expression is for keywords"),
    ],
    ids=str,
)
def test_a_query_that_contradicts_the_mapping_is_refused(query, message):
    assert fault("elasticsearch", query, mapping=MAPPING).startswith(message)


@pytest.mark.parametrize("mapping", ["missing.json", 7, {"a": 7}, {"properties": {"a": {"type": 7}}}], ids=str)
def test_what_is_no_mapping_is_an_error(mapping):
    with pytest.raises(InputError):
        read({}, "elasticsearch", mapping=mapping)


def test_without_arrays_ranges_are_two_comparisons():
    query = {1: {"range": {"a": {"gt": 1, "lt": 5}}}}
    assert read(query, "elasticsearch")[0].text == "exists(a, i -> i > 1 AND i < 5)"
    assert read(query, "elasticsearch", arrays=False)[0].text == "a > 1 AND a < 5"


# Files.


def test_the_answer_of_a_search_is_read(tmp_path):
    hits = [{"_index": "q", "_id": "one", "_source": {"query": {"term": {"a": 1}}, "tags": {"team": "x"}}}]
    (tmp_path / "dump.json").write_text(json.dumps({"took": 1, "hits": {"total": 1, "hits": hits}}))
    assert [(rule.id, rule.text, rule.tags) for rule in read(tmp_path / "dump.json", "elasticsearch")] == [
        ("one", "a = 1", {"team": "x"})
    ]


def test_bulk_files_are_read(tmp_path):
    lines = [{"index": {"_index": "q", "_id": "7"}}, {"query": {"term": {"a": 1}}}]
    lines += [{"create": {}}, {"query": {"term": {"a": 2}}}, {"query": {"term": {"a": 3}}}]
    (tmp_path / "bulk.ndjson").write_text("\n".join(map(json.dumps, lines)) + "\n")
    found = read(tmp_path / "bulk.ndjson", "elasticsearch")
    assert [(rule.id, rule.text) for rule in found] == [("7", "a = 1"), ("bulk:4", "a = 2"), ("bulk:5", "a = 3")]


def test_an_index_is_built_from_queries():
    queries = {
        "new": {"query": {"range": {"at": {"gte": "now-1d/d"}}}},
        "sale": {"query": {"match": {"title": "Sale"}}},
    }
    index = Index.build(queries, format="elasticsearch")
    event = {"title": "the sale", "at": "2024-02-28T00:00:00Z"}
    assert index.match(event, now="2024-02-29T10:00:00Z") == ["new", "sale"]
    assert index.match(event, now="2024-03-01T10:00:00Z") == ["sale"]


# Writing.

_ABSENT = {"bool": {"must_not": [{"exists": {"field": "b"}}]}}

WRITTEN = [
    ("a = 1 AND b IN ('x', 'y')", {"bool": {"filter": [{"term": {"a": 1}}, {"terms": {"b": ["x", "y"]}}]}}),
    ("(a = 1) IS NOT TRUE OR b IS NULL", {"bool": {"should": [{"bool": {"must_not": [{"term": {"a": 1}}]}}, _ABSENT]}}),
    ("a LIKE 'x*%_' OR a ILIKE '%y'", None),
    ("at BETWEEN now() - INTERVAL 1 DAY AND now()", {"range": {"at": {"gte": "now-1d", "lte": "now"}}}),
    ("at < TIMESTAMP '2024-02-29T10:30:00Z'", {"range": {"at": {"lt": "2024-02-29T10:30:00.000Z"}}}),
    ("exists(a, i -> i > 1 AND i < 5)", {"range": {"a": {"gt": 1, "lt": 5}}}),
    ("cidr(a) = '10.0.0.0/8'", {"term": {"a": "10.0.0.0/8"}}),
    ("cidr(a) IN ('10.0.0.0/8', '::1')", {"terms": {"a": ["10.0.0.0/8", "::1"]}}),
    (
        "cidr(a) != '10.0.0.0/8'",
        {"bool": {"filter": [{"exists": {"field": "a"}}], "must_not": [{"term": {"a": "10.0.0.0/8"}}]}},
    ),
    (
        "a BETWEEN TIMESTAMP '2024-01-03 00:00:00Z' AND TIMESTAMP '2024-01-05 23:59:59.999999Z'",
        {"range": {"a": {"gte": "2024-01-03T00:00:00.000Z", "lt": "2024-01-06T00:00:00.000Z"}}},
    ),
    ("a > TIMESTAMP '2024-01-05 23:59:59.999999Z'", {"range": {"a": {"gte": "2024-01-06T00:00:00.000Z"}}}),
    ("TRUE", {"match_all": {}}),
    ("a = 1 AND FALSE", {"match_none": {}}),
]


@pytest.mark.parametrize(("text", "document"), WRITTEN, ids=str)
def test_rules_are_written_as_queries_that_are_read_as_the_same_rules(text, document):
    (rule,) = write({1: text}, "elasticsearch")
    assert document is None or rule.document == document
    (found,) = read({1: rule.document}, "elasticsearch")
    assert write({1: found.text}, "elasticsearch")[0].document == rule.document


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("length(a) > 2", "Elasticsearch has no length(a)"),
        ("a < b", "Elasticsearch compares an attribute with constants only"),
        ("a RLIKE 'x'", "Elasticsearch has no such comparison"),
        ("`a.b` = 1", "Elasticsearch cannot name 'a.b' in a path"),
        ("a.keyword = 1", "takes the name keyword for the field before it"),
        ("at < TIMESTAMP '2024-02-29 10:30:00'", "does not know the time zone of the index"),
        ("at < now() - INTERVAL '0.5' SECOND", "counts from now in whole seconds"),
        ("NOT exists(a, i -> i.k = 1)", "takes an empty array for a missing one"),
        ("a < TIMESTAMP '2024-01-05 23:59:59.9995Z'", "has no parts of milliseconds"),
        ("lower(a) IN ('x', 'y')", "has no lower(a)"),
        ("exists(a, i -> i = 1 OR i = 2)", "tests plain elements by the bounds of one range only"),
    ],
    ids=str,
)
def test_what_elasticsearch_cannot_say_is_refused(text, message):
    written = write({1: text}, "elasticsearch")
    assert message in written.faults[0].error.message
