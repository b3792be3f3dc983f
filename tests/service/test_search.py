"""Search among rules: by id, text, attribute and tag, in pages of bounded work."""

from __future__ import annotations

import random
from datetime import date
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pytest

from ruledex import Index
from ruledex.artifact import ArtifactWriter, locate, open_version
from ruledex.index import RuleReader, stored_texts
from ruledex.service import search
from ruledex.service.search import RuleQuery, has_tag, search_rules

RULES = [
    ("adults", "age >= 18", 1.0, {"tenant": "acme", "labels": ["eu", "beta"]}),
    ("india", "country = 'IN' AND @grown", 0.0, {"tenant": "other", "until": date(2026, 12, 31)}),
    ("items", "exists(items, i -> i.price > 5 AND Age < 3)", 0.0, {"tenant": "acme", "level": 3, "on": True}),
    ("odd", "`odd name` = 'AGE' OR device.os = 'ios'", 0.0),
    ("über", "NOT (lower(city) LIKE 'ÄRA%')", 0.0, {"a:b": "c:d"}),
    ("young", "NOT @grown", 0.0),
]


@pytest.fixture(scope="module")
def index():
    return Index.build(RULES, definitions={"grown": "age > 17"})


def found(index, after=None, limit=100, **query):
    result = search_rules(RuleReader(index), RuleQuery(**query), after, limit)
    assert result.next is None
    assert result.matched == (len(result.rules) if after is None else None)
    return [rule[0] for rule in result.rules]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"text": "AGE"}, ["adults", "items", "odd"]),
        ({"text": "ära"}, ["über"]),
        ({"text": "%' "}, []),
        ({"text": "(lower("}, ["über"]),
        ({"id": "OU"}, ["young"]),
        ({"id": "d"}, ["adults", "india", "odd"]),
        ({"attribute": "age"}, ["adults", "india", "young"]),
        ({"attribute": "Age"}, ["items"]),
        ({"attribute": "items"}, ["items"]),
        ({"attribute": "i.price"}, []),
        ({"attribute": "price"}, []),
        ({"attribute": "device.os"}, ["odd"]),
        ({"attribute": "device"}, []),
        ({"attribute": "odd name"}, ["odd"]),
        ({"attribute": "`odd name`"}, ["odd"]),
        ({"attribute": "@grown"}, ["india", "young"]),
        ({"attribute": "@other"}, []),
        ({"attribute": "a = 1 OR"}, []),
        ({"tags": ("tenant",)}, ["adults", "india", "items"]),
        ({"tags": ("tenant:acme",)}, ["adults", "items"]),
        ({"tags": ("tenant:acme", "labels:eu")}, ["adults"]),
        ({"tags": ("until:2026-12-31",)}, ["india"]),
        ({"tags": ("level:3", "on:true")}, ["items"]),
        ({"tags": ("a:b:c:d",)}, ["über"]),
        ({"tags": ("tenant:ac",)}, []),
        ({"text": "age", "id": "i", "tags": ("tenant:acme",)}, ["items"]),
    ],
)
def test_rules_that_fit(index, query, expected):
    assert found(index, **query) == expected


def test_a_tag_is_a_name_or_a_value():
    assert has_tag({"a": {"$decimal": "9.90"}}, "a:9.90")
    assert has_tag({"a": {"b": 1}}, 'a:{"b":1}')
    assert not has_tag({}, "")
    assert not has_tag({"a": "b"}, ":b")


@pytest.fixture
def changed(tmp_path, monkeypatch):
    """A saved index of small parts with changes, and its rules as a dict."""
    draw = random.Random(3)
    rules = {i: (f"a = {i % 7} AND b > {i}", float(i), {"t": str(i % 5)} if i % 3 else {}) for i in range(0, 600, 2)}
    Index.build([(i, *rule) for i, rule in rules.items()]).save(tmp_path / "index")
    monkeypatch.setattr(stored_texts, "ROW_GROUP", 64)
    monkeypatch.setattr(search, "_PIECE", 50)
    index = Index.open(tmp_path / "index")
    for rule_id in draw.sample(sorted(rules), 120):
        index.remove([rule_id])
        del rules[rule_id]
    for rule_id in draw.sample(range(1, 700, 2), 80):
        index.add([(rule_id, f"c = {rule_id}", 0.5, {"t": "new"})])
        rules[rule_id] = (f"c = {rule_id}", 0.5, {"t": "new"})
    index.set_score(min(rules), 77.0)
    rules[min(rules)] = (rules[min(rules)][0], 77.0, rules[min(rules)][2])
    return index, rules


@pytest.mark.parametrize("query", [RuleQuery(), RuleQuery(text="A = 3"), RuleQuery(tags=("t:2",), id="4")])
@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_pages_together_are_all_rules_that_fit(changed, query, limit):
    index, rules = changed
    expected = [
        (i, text, score, tags)
        for i, (text, score, tags) in sorted(rules.items())
        if query.text.lower() in text and query.id in str(i) and all(tags.get("t") == tag[2:] for tag in query.tags)
    ]
    for seconds in (60.0, 0.0001):  # with all the time, and with hardly any
        pages, after = [], None
        while True:
            page = search_rules(RuleReader(index), query, after, limit, seconds)
            pages += page.rules
            assert len(page.rules) <= limit
            if seconds > 1 and after is None:
                assert page.matched == len(expected if any(query) else rules)
            after = page.next
            if after is None:
                break
        assert pages == expected


def test_a_reader_keeps_what_it_began_with(changed):
    index, rules = changed
    reader = RuleReader(index)
    index.remove([max(rules)])
    assert len(reader) == len(rules)
    read = reader.read(0, 10**6)
    assert read.ids.to_pylist() == sorted(rules)
    assert reader.position_after(-(10**30)) == 0
    assert reader.position_after(10**30) == len(rules)
    assert reader.read(10**6, 10**7).ids.to_pylist() == []


def test_texts_of_several_shards_are_read_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_texts, "ROW_GROUP", 16)
    shards = [np.arange(shard, 500, 3, dtype=np.int32) for shard in range(3)]
    with ArtifactWriter(tmp_path / "texts") as writer:
        for number, positions in enumerate(shards):
            writer.table(f"rules-{number}", pa.table({"expr": [f"a = {at}" for at in positions]}))
        version = writer.publish({})
    texts = stored_texts.StoredRuleTexts(open_version(locate(tmp_path / "texts"), version), shards, 500)
    for asked in ([0, 1, 17, 30, 31, 32, 250, 499], [5], []):
        assert texts.take(np.array(asked, np.int64)).to_pylist() == [f"a = {at}" for at in asked]


def test_over_http(client, own):
    path = f"/v1/indexes/{own}/rules"
    rows = [{"id": i, "text": f"kind = 'K{i}'", "tags": {"tenant": "acme", "n": i}} for i in range(30, 40)]
    assert client.ask("PATCH", path, {"add": rows}).status == 200
    assert client.ask("PUT", f"/v1/indexes/{own}/definitions/odd%20one", {"text": "kind = 'x'"}).status == 200
    assert client.put(own, 99, "@`odd one` OR a = 2").status == 201

    def ids(query):
        answer = client.ask("GET", f"{path}?{query}")
        assert answer.status == 200, answer.data
        return [rule["id"] for rule in answer.value["rules"]], answer.value["matched"], answer.value["next"]

    assert ids("text=%3D%20%27k3") == (list(range(30, 40)), 10, None)
    assert ids("text=k3&limit=3") == ([30, 31, 32], 10, 32)
    assert ids("text=k3&limit=3&after=37") == ([38, 39], None, None)
    assert ids("id=3") == (list(range(30, 40)), 10, None)
    assert ids("tag=tenant:acme&tag=n:33") == ([33], 1, None)
    assert ids("tag=tenant&attribute=kind&limit=1") == ([30], 10, 30)
    assert ids("attribute=kind&id=99") == ([99], 1, None)
    assert ids("attribute=" + quote("@`odd one`")) == ([99], 1, None)
    assert ids("text=&id=&tag=") == ([1, 2, *range(30, 40), 99], 13, None)
    assert ids("tag=none") == ([], 0, None)
    assert client.ask("GET", f"{path}?text=a&text=b").code == "query"
    assert client.ask("GET", f"{path}?after=x").status == 404
