"""Random queries of Elasticsearch match the same events as an evaluator that shares nothing with the reader says."""

from __future__ import annotations

import json
import os
import random
from datetime import UTC, datetime, timedelta

import pytest

from ruledex import evaluate, parse
from ruledex.formats import read
from tests.formats.elasticsearch_evaluator import Evaluator

N_QUERIES = int(os.environ.get("RULEDEX_FORMAT_CASES", "400"))
NOW = datetime(2024, 2, 29, 10, 30, 15, 250_000, tzinfo=UTC)
TYPES = {
    "k": "keyword",
    "o.k": "keyword",
    "n": "long",
    "d": "double",
    "b": "boolean",
    "t": "text",
    "ip": "ip",
    "at": "date",
    "need": "long",
    "items": "nested",
    "items.k": "keyword",
    "items.n": "long",
    "items.t": "text",
    "items.parts": "nested",
    "items.parts.n": "long",
}
KEYWORDS = ["a", "A", "ab", "abc", "b", "a b", "7", "a*c", "12", "é"]
WORDS = ["quick", "Brown", "fox", "the", "A1", "élan", "x_y"]
UNITS = ["y", "M", "w", "d", "h", "m", "s"]
SHARES = [0, 1, 2, -1, 3, "50%", "-50%", "75%", "1<50%", "2<-1 3<75%"]
REGEXPS = ["a", "a.*", "(a|b)+c?", "[a-b]{1,2}.?", "[^a]", '"a b"|"a*c"', "<1-20>", "@b@", "a#|b", "a\\*c", "<05-12>|7"]


def keyword(rng):
    return rng.choice(KEYWORDS)


def text(rng):
    return rng.choice(["", " ", ", ", "-"]).join(rng.choice(WORDS) + " " for _ in range(rng.randint(1, 4)))


def whole(rng):
    return rng.randint(-2, 8)


def double(rng):
    return rng.choice([0.5, 1.0, 1.5, 2, -1, 2.25])


def time(rng):
    moment = NOW + timedelta(
        days=rng.choice([0, 0, -1, 1, -7, 28, -60]),
        hours=rng.randint(-12, 12),
        seconds=rng.randint(-60, 60),
        milliseconds=rng.randint(-300, 300),
    )
    if rng.random() < 0.3:
        moment = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return rng.choice([moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"), moment.date().isoformat()])


MAKERS = {
    "keyword": keyword,
    "long": whole,
    "double": double,
    "boolean": lambda rng: rng.random() < 0.5,
    "text": text,
    "ip": lambda rng: f"10.0.{rng.randint(0, 2)}.{rng.randint(0, 3)}",
    "date": time,
}


def some_values(rng, kind):
    """Return a value of a type as documents have it: alone, in an array, with nulls, or missing."""
    make = MAKERS[kind]
    choice = rng.random()
    if choice < 0.55:
        return make(rng)
    if choice < 0.65:
        return rng.choice([None, [], [None]])
    return [make(rng) if rng.random() < 0.9 else None for _ in range(rng.randint(1, 3))]


def an_event(rng):
    event = {name: some_values(rng, TYPES[name]) for name in ("k", "n", "d", "b", "t", "ip", "at", "need")}
    event["o"] = rng.choice([{"k": some_values(rng, "keyword")}, [{"k": keyword(rng)}, {"k": keyword(rng)}, {}]])
    event["_id"] = keyword(rng)
    event["items"] = [
        {
            "k": some_values(rng, "keyword"),
            "n": some_values(rng, "long"),
            "t": some_values(rng, "text"),
            "parts": [{"n": whole(rng)} for _ in range(rng.randint(0, 2))],
        }
        for _ in range(rng.randint(0, 3))
    ]
    if len(event["items"]) == 1 and rng.random() < 0.5:
        event["items"] = event["items"][0]
    return {name: value for name, value in event.items() if rng.random() < 0.85}


def a_date(rng):
    base = rng.choice(["now", "now", time(rng) + "||", time(rng) + "||"])
    steps = "".join(
        rng.choice([f"/{rng.choice(UNITS)}", f"{rng.choice('+-')}{rng.randint(1, 40)}{rng.choice(UNITS)}"])
        for _ in range(rng.randint(0, 3))
    )
    if rng.random() < 0.3:
        return rng.choice([time(rng), "2024-02", "2024", "2024-02-29T10", "2024-02-29T10:30", "2024-02-29T10:30:15"])
    return base + steps if base == "now" or steps else base.removesuffix("||")


def bounds(rng, kind):
    make = a_date if kind == "date" else MAKERS[kind]
    made = {}
    if rng.random() < 0.7:
        made[rng.choice(["gt", "gte"])] = make(rng)
    if rng.random() < 0.7 or not made:
        made[rng.choice(["lt", "lte"])] = make(rng)
    if rng.random() < 0.1 and kind != "date":
        return {"from": make(rng), "include_lower": rng.random() < 0.5, "to": make(rng)}
    if kind == "date" and rng.random() < 0.2 and not any(str(v).startswith("now") for v in made.values()):
        made["time_zone"] = rng.choice(["+01:00", "-05:00"])
    return made


def a_leaf(rng, prefix):
    fields = {
        "": {"keyword": ["k", "o.k", "k.keyword"], "long": ["n"], "double": ["d"], "text": ["t"]},
        "items.": {"keyword": ["items.k"], "long": ["items.n"], "text": ["items.t"], "double": ["items.n"]},
        "items.parts.": {"keyword": ["items.k"], "long": ["items.parts.n"], "text": ["t"], "double": ["n"]},
    }[prefix]
    kind = rng.choice(list(fields))
    if prefix == "" and rng.random() < 0.35:
        kind = rng.choice(["date", "boolean", "ip"])
    name = {"date": "at", "boolean": "b", "ip": "ip"}.get(kind) or rng.choice(fields[kind])
    if TYPES.get(name) == "long":
        kind = "long"
    word = rng.choice(WORDS).lower()
    simple = [{"exists": {"field": name}}]
    if kind == "text":
        share = {"minimum_should_match": rng.choice(SHARES[1:])} if rng.random() < 0.3 else {}
        return rng.choice(
            [
                {"match": {name: text(rng)}},
                {"match": {name: {"query": text(rng), "operator": rng.choice(["and", "or"]), **share}}},
                {"match_phrase": {name: f"{rng.choice(WORDS)} {rng.choice(WORDS)}"}},
                {"match_phrase_prefix": {name: f"{rng.choice(WORDS)} {word[:2]}"}},
                {"term": {name: word}},
                {"prefix": {name: word[:2]}},
                {"wildcard": {name: f"{word[0]}*{word[-1]}"}},
                {"multi_match": {"query": text(rng), "fields": [name], "operator": rng.choice(["and", "or"])}},
                {"query_string": {"query": query_text(rng), "fields": [name]}},
                *simple,
            ]
        )
    make = MAKERS[kind]
    value = make(rng) if kind != "ip" else rng.choice([make(rng), "10.0.1.0/24", "10.0.0.2/31"])
    simple += [{"term": {name: value}}, {"terms": {name: [value, make(rng)]}}]
    if kind not in ("ip", "boolean"):
        simple += [{"range": {name: bounds(rng, kind)}}] * 3
    if kind == "keyword":
        any_case = {"case_insensitive": rng.random() < 0.5}
        terms = [keyword(rng) for _ in range(rng.randint(1, 4))]
        share = rng.choice([{"minimum_should_match": rng.choice(SHARES)}, {"minimum_should_match_field": "need"}])
        simple += [
            {"term": {name: {"value": value, **any_case}}},
            {"prefix": {name: {"value": value[:1], **any_case}}},
            {"wildcard": {name: {"value": rng.choice(["a*", "*b*", "?", "a\\*?", "*", "A?"]), **any_case}}},
            {"regexp": {name: rng.choice(REGEXPS)}},
        ]
        if prefix == "":
            simple += [{"terms_set": {name: {"terms": terms, **share}}}, {"ids": {"values": terms}}]
    if kind == "long":
        simple.append({"term": {name: str(value)}})
    return rng.choice(simple)


def query_text(rng):
    clauses = [rng.choice(["", "", "+", "-"]) + rng.choice(["", "t:"]) + rng.choice(WORDS) for _ in range(3)]
    return " ".join(clauses[: rng.randint(1, 3)])


def a_query(rng, depth=3, prefix=""):
    choice = rng.random()
    if depth == 0 or choice < 0.3:
        return a_leaf(rng, prefix)
    below = [a_query(rng, depth - 1, prefix) for _ in range(rng.randint(0, 3))]
    if choice < 0.8:
        body = {}
        for query in below:
            body.setdefault(rng.choice(["must", "filter", "should", "should", "must_not"]), []).append(query)
        if "should" in body and rng.random() < 0.6:
            body["minimum_should_match"] = rng.choice(SHARES)
        if len(body.get("must", [])) == 1:
            body["must"] = body["must"][0]
        return {"bool": body}
    if choice < 0.9 and prefix != "items.parts.":
        path = "items.parts" if prefix else "items"
        return {"nested": {"path": path, "query": a_query(rng, depth - 1, path + ".")}}
    first = below[0] if below else {"match_all": {}}
    return rng.choice(
        [
            {"dis_max": {"queries": below}},
            {"constant_score": {"filter": first, "boost": 2}},
            {"boosting": {"positive": first, "negative": {"match_none": {}}, "negative_boost": 0.5}},
        ]
    )


@pytest.mark.parametrize("start", range(0, N_QUERIES, 200))
def test_random_queries_match_what_the_evaluator_says(start):
    rng = random.Random(f"elasticsearch {start}")
    evaluator = Evaluator(TYPES, NOW)
    queries = {i: a_query(rng) for i in range(start, min(start + 200, N_QUERIES))}
    found = read(queries, "elasticsearch", mapping=TYPES)
    assert found.faults == []
    n_true = 0
    for rule in found:
        tree = parse(rule.text)
        for _ in range(4):
            event = an_event(rng)
            expected = evaluator.matches(queries[rule.id], event)
            n_true += expected
            got = evaluate(tree, event, now=NOW) is True
            assert got == expected, f"{json.dumps(queries[rule.id])}\n{rule.text}\n{json.dumps(event)}"
    assert n_true > len(queries)  # of four events per query
